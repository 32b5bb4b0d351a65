"""Wrong versions of lending times; every one must fail its test file."""

TESTS = "test_lent.py"

MUTANTS = [
    (name, f"workbook/{module}.py", snippet, replacement, TESTS)
    for name, module, snippet, replacement in [
        ("lent times are taken again and again", "lent", "        file.unlink()", "        pass"),
        ("only one file is taken", "lent", 'glob(f"{name}*.csv")', 'glob(f"{name}.csv")'),
        ("all files are taken", "lent", 'glob(f"{name}*.csv")', 'glob(f"{name[:10]}*.csv")'),
        ("lent times are called ours", "lent", "times[MEASURED_ON] =", "_ ="),
        ("a machine is forgotten", "lent", "if MEASURED_ON not in times:", "if True:"),
        ("digits are rounded", "lent", ", dtype=str, keep_default_na=False", ""),
        (
            "models are measured all the same",
            "jobs",
            '    lent.take(book.out, f"efficiency/{exhibit}")\n',
            "",
        ),
        (
            "the kernels are measured all the same",
            "jobs",
            'if not lent.take(book.out, "benchmarks/kernels"):',
            "if True:",
        ),
    ]
]
