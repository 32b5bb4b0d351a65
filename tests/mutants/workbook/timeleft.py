"""Wrong versions of `alignbook.workbook.timeleft`."""

MUTANTS = {
    "test_live.py": [
        (
            "left: what was measured doesn't count",
            "* min(max(factor, overall / WRONG), overall * WRONG)",
            "",
        ),
        (
            "left: what is late ends at once",
            "rest = still(whole, gone)",
            "rest = max(whole - gone, 0.1 * whole)",
        ),
        (
            "left: what was kept counts as speed",
            "return sum(parts[kept:]) / sum(parts)",
            "return 1.0",
        ),
        (
            "left: what is done counts with what was kept",
            "sum(parts[kept:done]) / sum(parts[kept:])",
            "sum(parts[:done]) / sum(parts)",
        ),
        (
            "left: towers see nothing",
            'TOWERS * images if p.base == "photo-pretrained" else 0.0',
            "0.0",
        ),
        ("left: towers of any base", 'if p.base == "photo-pretrained" else 0.0', ""),
        ("left: nobody waits for anybody", "if job[2].isdisjoint(lacking)]", "]"),
    ]
}
