"""Wrong versions of `alignbook.papers.comalign.components.probes`."""

MUTANTS = {
    "test_components_check.py": [
        (
            "pictures of dev",
            'unseen = dataset.splits["test"].tolist()',
            'unseen = dataset.splits["dev"].tolist()',
        ),
        ("names as before 2017 alone", '.rpartition("_")[2]: row', '.partition("_")[2]: row'),
        ("lost items don't count", "int(rows.isna().sum())", "0"),
        ("lost pictures don't count", "lost + int((~there).sum())", "lost"),
        ("lost pictures of SVO don't count", "lost + int((~there).sum())", "int((~there).sum())"),
        ("a lost probe counts once", "lost = 2 * probes", "lost = probes"),
        ("attribution is a relation", 'kind = "attribution" if', 'kind = "relation" if'),
        ("the picture isn't cut", 'kept[["x0", "y0", "x1", "y1"]].to_numpy())', "None)"),
        ("pictures are no part of the key", 'glob("*/images/**/*")', 'glob("*/pictures/**/*")'),
        ("tables are no part of the key", "[*self.files, *sorted(", "[*sorted("),
        ("names with their folder", 'names[row].rpartition("/")[2]', "names[row]"),
    ]
}
