"""Wrong versions of `alignbook.workbook.reports.tensorboard`."""

MUTANTS = {
    "test_report_curves.py": [
        ("all values at step 0", "step=int(step)", "step=0"),
        ("one folder for all seeds", "slug(line.arm) / str(line.seed)", "slug(line.arm)"),
    ]
}
