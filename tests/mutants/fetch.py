"""Wrong versions of what fetches weights and data; every one must fail its test file."""

MUTANTS = [
    (*each, "test_fetch.py")
    for each in [
        (
            "transfer: plain HTTP is followed",
            "workbook/transfer.py",
            'if parts.scheme == "https":',
            'if parts.scheme in ("https", "http"):',
        ),
        (
            "transfer: https may lead to this machine",
            "workbook/transfer.py",
            " and first.hostname in LOCAL",
            "",
        ),
        (
            "transfer: the last step alone is looked at",
            "workbook/transfer.py",
            'url = urljoin(url, answer.headers["location"])\n                continue',
            'url = urljoin(url, answer.headers["location"])\n                return url, {}',
        ),
        (
            "transfer: begins anew each time",
            "workbook/transfer.py",
            'if aside.exists() and not (state["resumes"]',
            'if aside.exists() and not (False and state["resumes"]',
        ),
        (
            "transfer: goes on with another file",
            "workbook/transfer.py",
            " and _read(known) == state",
            "",
        ),
        (
            "transfer: asks for a range where none is served",
            "workbook/transfer.py",
            'state["resumes"] and _read',
            "_read",
        ),
        (
            "transfer: a no is asked again",
            "workbook/transfer.py",
            "return 400 <= status < 500 and",
            "return False and",
        ),
        (
            "transfer: too many is final",
            "workbook/transfer.py",
            " and status not in (408, 429)",
            "",
        ),
        (
            "transfer: a wrong hash gets its name",
            "workbook/transfer.py",
            "if wanted and found != wanted:",
            "if False:",
        ),
        (
            "transfer: what was seen counts before what is published",
            "workbook/transfer.py",
            "source.sha256 or seen,",
            "seen or source.sha256,",
        ),
        (
            "transfer: what is wrong stays",
            "workbook/transfer.py",
            "    if wrong:\n        aside.unlink()",
            "    if wrong:\n        pass",
        ),
        (
            "transfer: of any size",
            "workbook/transfer.py",
            "elif not wanted and not 0.5 <=",
            "elif wanted and not 0.5 <=",
        ),
        ("transfer: no look at the room", "workbook/transfer.py", "if octets > free:", "if False:"),
        (
            "transfer: a full disk is no answer",
            "workbook/transfer.py",
            "if error.errno == errno.ENOSPC:",
            "if False:",
        ),
        (
            "fetch: licences are accepted",
            "workbook/fetch.py",
            "if accepted or not to_come:",
            "if True:",
        ),
        (
            "fetch: off a terminal nobody is asked",
            "workbook/fetch.py",
            "if not sys.stdin.isatty():",
            "if False:",
        ),
        (
            "fetch: what was noted may change",
            "workbook/fetch.py",
            'before = noted.get(source.place, {}).get("sha256", "")',
            'before = ""',
        ),
        (
            "fetch: what is there comes again",
            "workbook/fetch.py",
            "if not all(is_there(",
            "if not all(not is_there(",
        ),
        (
            "fetch: an archive that is there comes again",
            "workbook/fetch.py",
            "if not archive.exists():",
            "if True:",
        ),
        (
            "fetch: all of an archive stays",
            "workbook/fetch.py",
            "    shutil.rmtree(aside)\n    archive.unlink()",
            "    archive.unlink()",
        ),
        ("fetch: what fails is a success", "workbook/fetch.py", "failed += 1", "failed += 0"),
    ]
]
