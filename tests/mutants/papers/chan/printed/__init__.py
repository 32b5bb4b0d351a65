"""Wrong versions of `alignbook.papers.chan.printed`."""

MUTANTS = {
    "test_print_checks.py": [
        ("ensembles: whoever is listed", "and name not in starred]", "]"),
        ("ensembles: cited or not", "if str(n) in cited and", "if"),
        (
            "ensembles: stars of one table",
            'printed_tables.table("chan-T1"), printed_tables.table("chan-T2")',
            'printed_tables.table("chan-T1")',
        ),
        (
            "ways to reckon: near enough",
            "* 10**target.decimals * 2 <= 1]",
            "* 10**target.decimals <= 6]",
        ),
        ("ways to reckon: of the same figure", "written(elsewhere[way])", "written(ways[way])"),
    ]
}
