"""Wrong versions of `alignbook.workbook.named_files`."""

MUTANTS = {
    "test_stale.py": [
        ("places are compared", "if k not in (*known, *HOW)}", "if k not in HOW}"),
        (
            "hashes are left out",
            'kept = {name: settings.get(name) for name in COMPARED} | {"files": known}',
            "kept = {name: settings.get(name) for name in COMPARED}",
        ),
        (
            "what can't be read counts as gone",
            "except (DataError, FileNotFoundError, NotADirectoryError):",
            "except (DataError, OSError):",
        ),
        (
            "a source's boxes count for nothing",
            "for each in chapter.OF_SOURCES}",
            "for each in ()}",
        ),
        ("a source has the target's boxes", "getattr(there, each)", "getattr(profile, each)"),
    ]
}
