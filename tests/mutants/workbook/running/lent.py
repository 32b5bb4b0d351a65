"""Wrong versions of `alignbook.workbook.running.lent`."""

MUTANTS = {
    "test_lent.py": [
        ("lent times are taken again and again", "        durable.remove(file)", "        pass"),
        ("lent times are taken as they are", "        if not is_whole(file):", "        if False:"),
        (
            "nobody could tell lent times apart",
            "file.read_bytes(), sealed=True)",
            "file.read_bytes())",
        ),
        (
            "another's machine is believed",
            "if is_whole(about) else []",
            "if about.exists() else []",
        ),
        ("only one file is taken", 'glob(f"{name}*.csv")', 'glob(f"{name}.csv")'),
        ("all files are taken", 'glob(f"{name}*.csv")', 'glob(f"{name[:10]}*.csv")'),
        ("lent times are called ours", "times[MEASURED_ON] =", "_ ="),
        ("a machine is forgotten", "if MEASURED_ON not in times:", "if True:"),
        ("digits are rounded", ", dtype=str, keep_default_na=False", ""),
    ]
}
