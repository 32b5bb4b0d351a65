"""Wrong versions of the report, figures and the explorer; every one must fail its test file."""

MUTANTS = (
    [
        (name, f"workbook/{module}.py", snippet, replacement, "test_report.py")
        for name, module, snippet, replacement in [
            (
                "report: a failure is not named",
                "report_notebooks",
                "    if failure := execute.failure(path):",
                "    if failure := None:",
            ),
            (
                "report: an unfinished notebook is whole",
                "report_notebooks",
                'return "" if done else',
                'return "" if True else',
            ),
            ("report: never current", "report", "return stamp.exists() and", "return False and"),
            (
                "report: always current once built",
                "report",
                " and stamp.read_text() == made_from(out)",
                "",
            ),
            (
                "report: what runs hold doesn't count",
                "report",
                '"starts.json", "runs.csv")',
                '"starts.json")',
            ),
            (
                "report: the old one goes first",
                "report",
                '            aside = out / ".report"\n',
                '            aside = out / ".report"\n'
                '            shutil.rmtree(out / "report", ignore_errors=True)\n',
            ),
            (
                "report: places are shown",
                "report_notebooks",
                '        text = re.sub(rf"{re.escape(place)}',
                '        re.sub(rf"{re.escape(place)}',
            ),
            (
                "report: parameters are not folded",
                "report_notebooks",
                '[*tags, "hide-input"]',
                "[*tags]",
            ),
            (
                "report: views without a kernel",
                "report_notebooks",
                '.pop("application/vnd.jupyter.widget-view+json", None)',
                '.get("application/vnd.jupyter.widget-view+json", None)',
            ),
            (
                "report: figures as large as in print",
                "report_sphinx",
                'if "width" in said:',
                "if False:",
            ),
            (
                "report: no alt texts",
                "report_sphinx",
                '    app.connect("doctree-read", set_alts)\n',
                "",
            ),
            ("report: summaries are fetched", "report", '"html_show_search_summary": False,', ""),
            (
                "report: the index below the letter",
                "report_sphinx",
                r"{\\\1 \2\\hspace{0em}}",
                r"{\\\1 \2}",
            ),
            ("report: dots are unknown", "report_sphinx", 'tex.replace("…", r"\\ldots ")', "tex"),
            (
                "report: images' interval over seeds",
                "start",
                'interval(first, "query_")',
                "interval(first)",
            ),
            ("report: a decimal whatever the unit", "start", "DECIMALS.get(contrast.unit, 1)", "1"),
            (
                "report: links to a front page that is none",
                "report",
                'text.replace(f"({MAP}.ipynb)", "(index.ipynb)")',
                "text",
            ),
            ("report: claims among the others", "report_front", "if name != VERDICTS]", "if name]"),
            (
                "report: no label on the world",
                "report_front",
                "return run_tables.comparable(book) + smoke",
                'return "" + smoke',
            ),
            (
                "report: the oldest results",
                "report",
                "return max(found, key=found.get)",
                "return min(found, key=found.get)",
            ),
        ]
    ]
    + [
        (name, "show/figures.py", snippet, replacement, "test_figures.py")
        for name, snippet, replacement in [
            ("figures: shown twice", "plt.close(figure)  # else", "# else"),
            (
                "figures: no alt text",
                'metadata={"image/png": {"alt": alt, "width": width}}',
                "metadata={}",
            ),
            ("figures: laid out for each file", "    figure.set_layout_engine(None)", "    #"),
            ("figures: as large as in print", " * ON_SCREEN / IN_PRINT", ""),
            (
                "figures: files without words",
                '{"Date": None, "Description": alt}',
                '{"Date": None}',
            ),
            (
                "figures: nothing around what is drawn",
                '.padded(plt.rcParams["savefig.pad_inches"])',
                "",
            ),
            ("figures: a scale for each matrix", "vmin=low, vmax=high, ", ""),
            ("figures: another axis for each cost", "+ 2, 3.8), sharey=True)", "+ 2, 3.8))"),
            ("figures: other data beside", "data.to_csv(target", "data.iloc[1:].to_csv(target"),
        ]
    ]
    + [
        (
            "figures: another scale for each arm's map",
            "papers/covalign/show.py",
            "vmin=0, vmax=100 * most,",
            "",
            "test_figures.py",
        ),
        (
            "figures: endless alt text",
            "show/alt_texts.py",
            'textwrap.shorten(f"Figure: {what.rstrip(\'.\')}", LONGEST, placeholder=" …")',
            'f"Figure: {what}"',
            "test_figures.py",
        ),
        (
            "figures: another axis for each method",
            "papers/gsl/identified.py",
            "figsize=(3.5 * len(shares), 3.3), sharex=True,\n                                sharey=True,",
            "figsize=(3.5 * len(shares), 3.3),",
            "test_figures.py",
        ),
        (
            "dots: a mean for each seed",
            "show/figures.py",
            'data=seeds, x="values"',
            'data=seeds, x="value"',
            "test_results.py",
        ),
        (
            "dots: bars as long as the other bound",
            "show/figures.py",
            '2, **BUTT), xmin="low", xmax="high"',
            '2, **BUTT), xmin="low", xmax="value"',
            "test_results.py",
        ),
        (
            "figures: formulas",
            "show/figures.py",
            '        "text.parse_math": False,\n',
            "",
            "test_verbatim.py",
        ),
        (
            "verbatim: captions are HTML",
            "store/verbatim.py",
            "return escape(line(value))",
            "return line(value)",
            "test_verbatim.py",
        ),
        (
            "verbatim: orders are followed",
            "store/verbatim.py",
            "def html(value) -> str:",
            "def line(value):\n    return str(value)\n\n\ndef html(value) -> str:",
            "test_verbatim.py",
        ),
        (
            "verbatim: a message begins lines",
            "store/verbatim.py",
            'return re.sub(r"\\n(?!  )", "\\n  ", lines(value))',
            "return lines(value)",
            "test_verbatim.py",
        ),
        (
            "tables: dollars are looked for",
            "show/tables.py",
            """        .set_table_attributes('class="tex2jax_ignore mathjax_ignore"')\n""",
            "",
            "test_verbatim.py",
        ),
    ]
    + [
        (name, "show/run_tables.py", snippet, replacement, "test_results.py")
        for name, snippet, replacement in [
            (
                "forest: a figure for all papers",
                ".groupby([whose, shown.unit",
                ".groupby([whose * 0, shown.unit",
            ),
            (
                "forest: a figure for each column",
                'column.endswith("RSUM") else',
                'column == "RSUM" else',
            ),
            ("forest: a unit's decimals", "claims.DECIMALS.get(unit, 1)]", "1]"),
        ]
    ]
    + [
        (name, f"explorer/{module}.py", snippet, replacement, "test_explorer.py")
        for name, module, snippet, replacement in [
            (
                "explorer: a tie counts for it",
                "matching",
                ">= scores[own].max()",
                "> scores[own].max()",
            ),
            (
                "explorer: own ones first in a tie",
                "matching",
                "np.lexsort((own, -scores))",
                "np.lexsort((~own, -scores))",
            ),
            (
                "explorer: LogSumExp's shares without λ",
                "matching",
                "shares = (scale * scores).softmax(0)",
                "shares = scores.softmax(0)",
            ),
            (
                "explorer: the mixture's words not of unit length",
                "matching",
                "unit(omega @ unit(codewords))",
                "unit(omega @ codewords)",
            ),
            (
                "explorer: always divided by λ",
                "matching",
                "scores if config.divided or config.pooling",
                "scores if True or config.pooling",
            ),
            (
                "explorer: what other code made",
                "gallery",
                "runs.is_stored(key) and runs.is_of_this_code(runs.stored(key))",
                "runs.is_stored(key)",
            ),
        ]
    ]
    + [
        (name, f"explorer/{module}.py", snippet, replacement, "test_own_photographs.py")
        for name, module, snippet, replacement in [
            (
                "photographs: cells cut by pixels",
                "matching",
                "max(1, SIDE // cells) * cells if cells else SIDE",
                "SIDE",
            ),
            (
                "photographs: attention's length from its scores",
                "matching",
                "(_products(gallery) @ weights * weights)",
                "(weights * weights)",
            ),
            (
                "photographs: a rank without captions",
                "matching",
                "if gallery.each else None",
                "if True else None",
            ),
            (
                "photographs: the caption goes with the picture",
                "widget",
                "if same else captions.start",
                "if False else captions.start",
            ),
            (
                "photographs: features of any code",
                "own_photographs",
                "            and runs.is_of_this_code(run)\n",
                "",
            ),
            (
                "photographs: models of squashed ones",
                "own_photographs",
                '(profile.fit, profile.size) != ("crop", packaged.PIXELS)',
                "profile.size != packaged.PIXELS",
            ),
            (
                "photographs: other data are passed over",
                "own_photographs",
                'data != "world" or gallery',
                "gallery",
            ),
        ]
    ]
    + [
        (name, "datasets/picture_folder.py", snippet, replacement, "test_picture_folder.py")
        for name, snippet, replacement in [
            ("a folder: as they lie in the file", "ImageOps.exif_transpose(picture)", "picture"),
            (
                "a folder: hidden files too",
                'for each in files\n            if each[0] != "." and',
                "for each in files\n            if",
            ),
            ("a folder: in any order", "return sorted(names)", "return names[::-1]"),
            (
                "a folder: names alone make the fingerprint",
                "[[name, hashes.get(name)] for name in names]",
                "[[name, None] for name in names]",
            ),
            (
                "a folder: rows of the bad ones",
                "images[len(kept)] = seen",
                "images[len(kept) + len(bad)] = seen",
            ),
            ("a folder: what is transparent is black", '"white"', '"black"'),
        ]
    ]
    + [
        (name, "explorer/widget.py", snippet, replacement, "test_explorer.py")
        for name, snippet, replacement in [
            (
                "explorer: both sides show the left",
                "_side(name, galleries[name],",
                "_side(name, galleries[self.left],",
            ),
            (
                "explorer: a move that failed is kept",
                "                setattr(self, name, value)\n            return",
                "                pass\n            return",
            ),
            (
                "explorer: pictures that were found are whole",
                "_png(gallery, int(i), THUMBNAIL)",
                "_png(gallery, int(i))",
            ),
        ]
    ]
)
