"""Wrong versions of `alignbook.store.shelf`."""

MUTANTS = {
    "test_shelf.py": [
        ("shelf: begins anew", "if not note.exists():", "if True:"),
        ("shelf: forgets what was filled", 'mode = "r+" if self.hashes', 'mode = "r+" if 0'),
        ("shelf: any batch is as it was", "known == [self._hash()]", "True"),
        ("shelf: the first hash for all", "self.hashes[self.at :][:1]", "self.hashes[:1]"),
        ("shelf: what is behind stays", "del self.hashes[self.at :]", "pass"),
        ("shelf: any note will do", "except ValueError:", "except KeyError:"),
        ("shelf: arrays are believed", "if not bad and isinstance", "if isinstance"),
        ("shelf: any shape fits", "and found.shape == shape", ""),
    ]
}
