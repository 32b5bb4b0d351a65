"""Wrong versions of `alignbook.workbook.fetch`."""

MUTANTS = {
    "test_fetch.py": [
        ("fetch: licences are accepted", "if accepted or not to_come:", "if True:"),
        ("fetch: off a terminal nobody is asked", "if not sys.stdin.isatty():", "if False:"),
        (
            "fetch: what was noted may change",
            'before = noted.get(source.place, {}).get("sha256", "")',
            'before = ""',
        ),
        ("fetch: what is there comes again", "if not all(is_there(", "if not all(not is_there("),
        ("fetch: an archive that is there comes again", "if not archive.exists():", "if True:"),
        (
            "fetch: all of an archive stays",
            "    shutil.rmtree(aside)\n    archive.unlink()",
            "    archive.unlink()",
        ),
        ("fetch: what fails is a success", "failed += 1", "failed += 0"),
    ]
}
