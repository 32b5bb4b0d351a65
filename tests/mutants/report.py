"""Wrong versions of the report, of figures and of the explorer; every one must fail its test file."""

MUTANTS = [
    (name, file, snippet, replacement, f"test_{file.removesuffix('_widget.py').removesuffix('.py')}.py")
    for name, file, snippet, replacement in [
        ("report: a failure is not named", "report.py", "    if failure := execute.failure(path):",
         "    if failure := None:"),
        ("report: always current once built", "report.py",
         " and stamp.read_text() == made_from(out)", ""),
        ("report: the old one goes first", "report.py", "            aside = out / \".report\"\n",
         "            aside = out / \".report\"\n"
         "            shutil.rmtree(out / \"report\", ignore_errors=True)\n"),
        ("report: images' interval over seeds", "report.py", 'interval(each, "query_"), "seeds"',
         'interval(each), "seeds"'),
        ("report: shared runs count twice", "report.py",
         "own[~own.run.isin(counted)].drop_duplicates(\"run\")", "own"),
        ("report: no alt texts", "report.py", '    app.connect("doctree-read", set_alts)\n', ""),
        ("figures: a scale for each matrix", "figures.py", "vmin=low, vmax=high)", ")"),
        ("figures: other data beside", "figures.py", "data.to_csv(target",
         "data.iloc[1:].to_csv(target"),
        ("explorer: a tie counts for it", "explorer.py", ">= scores[own].max()",
         "> scores[own].max()"),
        ("explorer: own ones first in a tie", "explorer.py", "np.lexsort((own, -scores))",
         "np.lexsort((~own, -scores))"),
        ("explorer: LogSumExp's shares without λ", "explorer.py",
         "shares = (scale * scores).softmax(0)", "shares = scores.softmax(0)"),
        ("explorer: the mixture's words not of unit length", "explorer.py",
         "unit(omega @ unit(codewords))", "unit(omega @ codewords)"),
        ("explorer: always divided by λ", "explorer.py",
         "scores if config.divided or config.pooling", "scores if True or config.pooling"),
        ("explorer: what other code made", "explorer.py",
         "runs.is_stored(key) and _is_of_this_code(runs.stored(key))", "runs.is_stored(key)"),
        ("explorer: both sides show the left", "explorer_widget.py",
         "lambda name: _side(name, galleries[name],", "lambda name: _side(name, galleries[self.left],"),
        ("explorer: a move that failed is kept", "explorer_widget.py",
         "                setattr(self, name, value)\n            return", "                pass\n            return"),
    ]
]  # fmt: skip
