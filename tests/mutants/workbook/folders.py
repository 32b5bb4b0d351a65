"""Wrong versions of `alignbook.workbook.folders`."""

MUTANTS = {
    "test_command_line.py": [
        ("phrases: another parser's in the same folder", "- needed - taken", "- needed"),
        ("phrases: a parser that nobody asked for", '    taken &= {*settings["set"]}\n', ""),
    ]
}
