"""Wrong versions of `alignbook.workbook.running.salvage`."""

MUTANTS = {
    "test_durable.py": [
        ("figures are not looked at", "if durable.fault(out, files):", "if False:"),
        ("the notebook stays done", "            done.unlink()\n", ""),
        (
            "what is altered is lost",
            "durable.set_aside(out / name, wrong, again)",
            "(out / name).unlink()",
        ),
        ("lists of lost runs stay", "if _is_lost(key)]:", "if False]:"),
        (
            "records are not looked for",
            'elif not any(_record(out, file, kind).exists() for kind in ("metadata", "incomplete")):',
            "elif False:",
        ),
        ("a notebook's times are removed", "* (not _stands_beside(file))", ""),
        ("a job's times stay without a record", " and file.stem not in EXHIBITS", ""),
        ("broken records stay", "            if not whole:\n                file.unlink()", ""),
        ("other code's runs are set aside", "runs.fault(key) != runs.OTHER and ", ""),
    ]
}
