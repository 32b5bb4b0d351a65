"""Wrong versions of `alignbook.datasets.picture_folder`."""

MUTANTS = {
    "test_picture_folder.py": [
        ("a folder: as they lie in the file", "ImageOps.exif_transpose(picture)", "picture"),
        (
            "a folder: hidden files too",
            'for each in files\n            if each[0] != "." and',
            "for each in files\n            if",
        ),
        ("a folder: in any order", "return sorted(names)", "return names[::-1]"),
        (
            "a folder: names alone make the fingerprint",
            "[[name, hashes.get(name)] for name in names]",
            "[[name, None] for name in names]",
        ),
        (
            "a folder: rows of the bad ones",
            "images[len(kept)] = seen",
            "images[len(kept) + len(bad)] = seen",
        ),
        ("a folder: what is transparent is black", '"white"', '"black"'),
    ]
}
