"""Wrong versions of `alignbook.workbook.running.execute`."""

MUTANTS = {
    "test_execute.py": [
        ("kernels: tried once", "if not left:", "if True:"),
        ("kernels: tried whatever was wrong", "if NEVER_BEGAN not in str(error):", "if False:"),
        ("copies: written at every cell", ">= SECONDS", ">= 0"),
        (
            "copies: not written at the end",
            "                nb_man.save = save",
            "                pass",
        ),
    ]
}
