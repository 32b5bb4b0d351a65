"""Wrong versions of `alignbook.workbook.running.jobs`."""

MUTANTS = {
    "test_lent.py": [
        (
            "models are measured all the same",
            '    lent.take(book.out, f"efficiency/{exhibit}")\n',
            "",
        ),
        (
            "the kernels are measured all the same",
            'if not lent.take(book.out, "benchmarks/kernels"):',
            "if True:",
        ),
    ]
}
