"""Wrong versions of `alignbook.workbook.packs.pack_archive`."""

MUTANTS = {
    "test_pack.py": [
        ("hashes are not compared", 'if digest.hexdigest() != entry["sha256"]:', "if False:"),
        (
            "missing members are no matter",
            "    if wanted:\n        raise",
            "    if False:\n        raise",
        ),
        ("links are taken", "if entry is None or not info.isreg():", "if entry is None:"),
        (
            "another result under a key is no matter",
            "    if apart:\n        raise",
            "    if False:\n        raise",
        ),
        (
            "runs that are there are replaced",
            'if not (store / key / "run.json").exists():',
            "if True:",
        ),
        (
            "a broken pack leaves its parts",
            "                shutil.rmtree(aside, ignore_errors=True)\n                with",
            "                with",
        ),
    ]
}
