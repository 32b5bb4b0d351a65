"""Wrong versions of `alignbook.papers.covalign.patches`."""

MUTANTS = {
    "test_patches.py": [
        (
            "directions: the least varied",
            "vectors.flip(1)[:, :components]",
            "vectors[:, :components]",
        ),
        ("directions: of any sign", "(axes * largest.sign()).float()", "axes.float()"),
        (
            "directions: not about the mean",
            "apart = (cells - mean).double()",
            "apart = cells.double()",
        ),
        ("finer: corners on corners", "align_corners=False", "align_corners=True"),
        ("finer: the nearest cell", 'mode="bilinear", align_corners=False', 'mode="nearest"'),
        (
            "finer: rows for columns",
            "cells.mT.unflatten(2, (own, own))",
            "cells.mT.unflatten(2, (own, own)).mT",
        ),
        (
            "patches: the last map by saliency",
            "extraction.in_places(seen, rows)",
            'seen.array("features")[rows]',
        ),
        ("patches: about no mean", "(last(rows) - mean) @ axes", "last(rows) @ axes"),
        (
            "patches: directions of the first images",
            'last(dataset.splits["train"][:SAMPLE])',
            "last(np.arange(6))",
        ),
    ]
}
