"""Wrong versions of `alignbook.show.kernel_benchmark`."""

MUTANTS = {
    "test_kernel_benchmark.py": [
        ("size: small for everybody", '["--size", "full"])', '["--size", "smoke"])'),
        ("size: a laptop starts it five times", ', "--starts", "1"', ""),
        ("size: a laptop takes all widths", ' "--widths", "256",', ""),
        ("failure: kept quiet", "if code := subprocess", "if 0 * subprocess"),
        ("table: measured every time", "if not _file(book).exists():", "if True:"),
        ("kept: the first file alone", "for file in files]", "for file in files[:1]]"),
        (
            "shown: rows without numbers",
            "(found.role == role) & found.ratio.notna()",
            "found.role == role",
        ),
        ("shown: widths mixed up", '    own = own.sort_values("d", kind="stable")\n', ""),
        (
            "shown: the median for the 20th percentile",
            "zip(own.ratio_20, own.ratio_80)",
            "zip(own.ratio, own.ratio_80)",
        ),
        (
            "verdict: rows without a bar are counted",
            'found[found.met != "-"], found',
            "found, found",
        ),
        ("codings: any quotient", '& found.row.str.endswith(" ÷ hard coding")', ""),
        ("figure: quotients and floors too", 'found.role.isin(["ours", "peer"])', "(found.d > 0)"),
        ("figure: all widths", "rows > rows.max() / 2", "rows > 0"),
        ("figure: bars begin at 0", "line.ratio - 1, left=1", "line.ratio - 1, left=0"),
        (
            "figure: peers in our colour",
            'line.role == "ours" else PEER',
            'line.role != "x" else PEER',
        ),
        ("figure: linear", 'set_xscale("log")', 'set_xscale("linear")'),
    ]
}
