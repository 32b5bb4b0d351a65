"""Wrong versions of `alignbook.explorer.matching`."""

MUTANTS = {
    "test_explorer.py": [
        ("explorer: a tie counts for it", ">= scores[own].max()", "> scores[own].max()"),
        (
            "explorer: own ones first in a tie",
            "np.lexsort((own, -scores))",
            "np.lexsort((~own, -scores))",
        ),
        (
            "explorer: LogSumExp's shares without λ",
            "shares = (scale * scores).softmax(0)",
            "shares = scores.softmax(0)",
        ),
        (
            "explorer: the mixture's words not of unit length",
            "unit(omega @ unit(codewords))",
            "unit(omega @ codewords)",
        ),
        (
            "explorer: always divided by λ",
            "scores if config.divided or config.pooling",
            "scores if True or config.pooling",
        ),
    ],
    "test_own_photographs.py": [
        (
            "photographs: cells cut by pixels",
            "max(1, SIDE // cells) * cells if cells else SIDE",
            "SIDE",
        ),
        (
            "photographs: attention's length from its scores",
            "(_products(gallery) @ weights * weights)",
            "(weights * weights)",
        ),
        ("photographs: a rank without captions", "if gallery.each else None", "if True else None"),
    ],
}
