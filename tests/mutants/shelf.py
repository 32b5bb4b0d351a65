"""Wrong versions of what is filled batch by batch and of what is made aside."""

MUTANTS = [
    (name, f"store/{file}.py", snippet, replacement, f"test_{file}.py")
    for file, name, snippet, replacement in [
        ("shelf", "shelf: begins anew", "if not note.exists():", "if True:"),
        (
            "shelf",
            "shelf: forgets what was filled",
            'mode = "r+" if self.hashes',
            'mode = "r+" if 0',
        ),
        ("shelf", "shelf: any batch is as it was", "known == [self._hash()]", "True"),
        ("shelf", "shelf: the first hash for all", "self.hashes[self.at :][:1]", "self.hashes[:1]"),
        ("shelf", "shelf: what is behind stays", "del self.hashes[self.at :]", "pass"),
        ("shelf", "shelf: any note will do", "except ValueError:", "except KeyError:"),
        ("shelf", "shelf: arrays are believed", "if not bad and isinstance", "if isinstance"),
        ("shelf", "shelf: any shape fits", "and found.shape == shape", ""),
        (
            "durable",
            "the new seal before the new file",
            "_seal_of(path).unlink(missing_ok=True)\n    aside",
            "write(_seal_of(path), hashlib.sha256(octets).hexdigest())\n    aside",
        ),
        (
            "durable",
            "the old seal stays",
            "_seal_of(path).unlink(missing_ok=True)\n    aside",
            "aside",
        ),
        ("durable", "one look at a seal", "!= expected and is_sound(path)", "is None"),
        (
            "durable",
            "aside: what can't be removed ends it",
            "ignore_errors=True)\n            with",
            ")\n            with",
        ),
        ("durable", "aside: one name on all machines", "-{_machine()}-{os", "-0123abcd-{os"),
        ("durable", "aside: another machine's numbers", "if told[1] == _machine()", "if True"),
        (
            "durable",
            "aside: another machine's at once",
            "< time.time() - DAY",
            "< time.time() + DAY",
        ),
        (
            "durable",
            "aside: the folder's time alone",
            'for each in [path, *path.rglob("*")])',
            "for each in [path])",
        ),
        (
            "durable",
            "aside: one's own number lives",
            "return process == os.getpid()",
            "return False",
        ),
    ]
]
