"""Wrong versions of `alignbook.store.durable`."""

MUTANTS = {
    "test_durable.py": [
        (
            "the new seal before the new file",
            "_seal_of(path).unlink(missing_ok=True)\n    aside",
            "write(_seal_of(path), hashlib.sha256(octets).hexdigest())\n    aside",
        ),
        ("the old seal stays", "_seal_of(path).unlink(missing_ok=True)\n    aside", "aside"),
        ("one look at a seal", "!= expected and is_sound(path)", "is None"),
        (
            "aside: what can't be removed ends it",
            "ignore_errors=True)\n            with",
            ")\n            with",
        ),
        ("aside: one name on all machines", "-{_machine()}-{os", "-0123abcd-{os"),
        ("aside: another machine's numbers", "if told[1] == _machine()", "if True"),
        ("aside: another machine's at once", "< time.time() - DAY", "< time.time() + DAY"),
        (
            "aside: the folder's time alone",
            'for each in [path, *path.rglob("*")])',
            "for each in [path])",
        ),
        ("aside: one's own number lives", "return process == os.getpid()", "return False"),
        (
            "renamed before it is on the disk",
            "    settle(aside)\n    os.replace(aside, path)\n    _settle_one(Path(path).parent)",
            "    os.replace(aside, path)\n    settle(path)\n    _settle_one(Path(path).parent)",
        ),
        ("the name is not on the disk", "\n    _settle_one(Path(path).parent)", ""),
        (
            "files of a folder are not",
            '_settle_one, [path, *path.rglob("*")]',
            "_settle_one, [path]",
        ),
        (
            "sizes alone",
            "if found != expected and contents.hash_of(path) != expected:",
            "if False:",
        ),
        ("seals are not looked at", "return file.read() == digest.digest()", "return True"),
    ]
}
