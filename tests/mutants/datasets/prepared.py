"""Wrong versions of `alignbook.datasets.prepared`."""

MUTANTS = {
    "test_precomp.py": [
        (
            "every fifth row read as every row",
            "(rows - self._ends[i] + images) * step",
            "rows - self._ends[i] + images",
        ),
        (
            "rows of a later file not counted from its own start",
            "(rows - self._ends[i] + images) * step",
            "rows * step",
        ),
        (
            "features that are no numbers are let through when read",
            "not np.isfinite(buffer).all()",
            "not np.isfinite(buffer).any()",
        ),
    ],
    "test_durable.py": [
        ("the list's seal is no matter", 'if meta["seal"] != fingerprint.key(said):', "if False:"),
        (
            "prepared files are believed",
            'wrong = durable.fault(folder, meta["files"])',
            'wrong = ""',
        ),
    ],
    "test_picture_folder.py": [
        ("all at once", "for _ in range(needed):", "for _ in range(0):"),
        ("room is never given back", "_free.release(needed)", "_free.release(1)"),
        ("half of what is needed is held by each", "    with _taking:", "    if True:"),
        ("nobody waits for room", "with room_for(picture.width * picture.height):", "if True:"),
        ("room for all a drafted picture has", 'if fit == "squash" and not box:', "if False:"),
        (
            "what a box shows is drafted too",
            'if fit == "squash" and not box:',
            'if fit == "squash":',
        ),
    ],
}
