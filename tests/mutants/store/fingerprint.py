"""Wrong versions of `alignbook.store.fingerprint`."""

MUTANTS = {
    "test_stale.py": [
        ("files that are no code don't count", "+ _files_named_in(nodes), tuple", ", tuple")
    ],
    "test_fingerprint.py": [
        ("docstrings are code", "if not _is_words(one)]", "]"),
        ("words of classes alone", '("body", "orelse", "finalbody")', '("body",)'),
        ("the body of a module passes", "and not isinstance(value, ast.Module)", ""),
        ("whatever it looks like", "return _look()[0]", 'return ""'),
        (
            "what is young is kept",
            "now == looks and changed < time.time() - contents.YOUNG",
            "now == looks",
        ),
        ("what changed meanwhile is kept", "now == looks and changed", "changed"),
        ("a hash whatever counts", ".get(counts)  #", '.get(counts, "")  #'),
        ("all by the name of what trains", 'bool: " and all"', 'bool: ""'),
        ("the last one alone", "known | {asked: found}", "{asked: found}"),
        ("code alone", 'if "__pycache__" not in file.parts', 'if file.suffix == ".py"'),
        ("bytecode too", 'if "__pycache__" not in file.parts', "if True"),
    ],
}
