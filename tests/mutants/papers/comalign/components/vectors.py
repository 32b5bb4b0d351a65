"""Wrong versions of `alignbook.papers.comalign.components.vectors`."""

MUTANTS = {
    "test_components_check.py": [
        ("train alone will do", "files[0].is_file() and files[1].is_file()", "files[0].is_file()"),
        ("test is left out", '("train", "val", "test")]', '("train", "val")]'),
        (
            "photographs of their own folder",
            "if path.is_file()), folder)",
            "if path.is_file()), place)",
        ),
    ],
    "test_components_vectors.py": [
        ("phrases by length", "out[some] = vectors", "out[start : start + BATCH] = vectors"),
        ("phrases as they come", "np.argsort([len(phrase.split())", "np.argsort([0 * len(phrase)"),
    ],
}
