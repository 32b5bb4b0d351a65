"""Wrong versions of `alignbook.workbook.downloads`."""

MUTANTS = {
    "test_fetch.py": [
        (
            "transfer: plain HTTP is followed",
            'if parts.scheme == "https":',
            'if parts.scheme in ("https", "http"):',
        ),
        ("transfer: https may lead to this machine", " and first.hostname in LOCAL", ""),
        (
            "transfer: the last step alone is looked at",
            'url = urljoin(url, answer.headers["location"])\n                continue',
            'url = urljoin(url, answer.headers["location"])\n                return url, {}',
        ),
        (
            "transfer: begins anew each time",
            'if aside.exists() and not (state["resumes"]',
            'if aside.exists() and not (False and state["resumes"]',
        ),
        ("transfer: goes on with another file", " and _read(known) == state", ""),
        ("transfer: asks for a range where none is served", 'state["resumes"] and _read', "_read"),
        ("transfer: a no is asked again", "return 400 <= status < 500 and", "return False and"),
        ("transfer: too many is final", " and status not in (408, 429)", ""),
        ("transfer: a wrong hash gets its name", "if wanted and found != wanted:", "if False:"),
        (
            "transfer: what was seen counts before what is published",
            "source.sha256 or seen,",
            "seen or source.sha256,",
        ),
        (
            "transfer: what is wrong stays",
            "    if wrong:\n        aside.unlink()",
            "    if wrong:\n        pass",
        ),
        ("transfer: of any size", "elif not wanted and not 0.5 <=", "elif wanted and not 0.5 <="),
        ("transfer: no look at the room", "if octets > free:", "if False:"),
        ("transfer: a full disk is no answer", "if error.errno == errno.ENOSPC:", "if False:"),
    ]
}
