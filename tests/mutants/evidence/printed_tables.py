"""Wrong versions of `alignbook.evidence.printed_tables`."""

MUTANTS = {
    "test_printed_tables.py": [
        (
            "decimals of the cell, dropped zeros and all",
            'found.groupby("column").decimals.transform("max")',
            "found.decimals",
        ),
        (
            "decimals of the whole exhibit",
            'found.groupby("column").decimals.transform("max")',
            "found.decimals.max()",
        ),
        ("the fewest decimals of the column", 'transform("max")', 'transform("min")'),
        ("the point is a decimal", 'len(number[2] or ".") - 1', 'len(number[2] or "")'),
        (
            "the percent sign is a decimal",
            'len(number[2] or ".") - 1',
            'len(printed.partition(".")[2])',
        ),
        ("no signs", "float(number[1])", 'float(number[1].lstrip("-"))'),
        (
            "percents are fractions",
            "float(number[1])",
            'float(number[1]) / (100 if "%" in printed else 1)',
        ),
        (
            "the text is the number's, not the print's",
            "float(number[1]), printed,",
            "float(number[1]), str(float(number[1])),",
        ),
        ("something after the number", "re.fullmatch(", "re.match("),
        ("any mark", "not number or set(mark.split()) - MARKS", "not number"),
        ("a mark is one word", "set(mark.split()) - MARKS", "{mark} - MARKS - {''}"),
        ("a cell twice", "if tuple(key) in cells:", "if False:"),
        ("sections are one", "cells[tuple(key)] =", "cells[tuple(key[1:])] ="),
        ("any header", "if lines[:1] != [HEADER]:", "if False:"),
        (
            "more than five fields",
            "fields if len(fields) == len(HEADER) else HEADER",
            "fields[:5] if len(fields) >= len(HEADER) else HEADER",
        ),
        ("lines counted without the header", "enumerate(lines[1:], 2)", "enumerate(lines[1:], 1)"),
        (
            "whatever lies there is an exhibit",
            'sorted(path.stem for path in files("*-T*.csv"))',
            'sorted(path.stem for path in files("*.csv"))',
        ),
        (
            "any path",
            "if exhibit not in found:",
            "if not any(ROOMS.glob(f'*/printed/{exhibit}.csv')):",
        ),
        ("known exhibits are not named", "; there are: {', '.join(sorted(found))}", ""),
    ]
}
