"""Wrong versions of `alignbook.papers.comalign.components.said`."""

MUTANTS = {
    "test_components_vectors.py": [
        ("all training images", "[: config.images or None]", "[:]"),
        ("dev says nothing", ', splits["dev"], splits["test"]])', ', splits["test"]])'),
        (
            "captions that aren't read say the first phrase",
            "places.shape[1]), -1, np.int32)",
            "places.shape[1]), 0, np.int32)",
        ),
        (
            "as many captions as images",
            "numbers = (rows_of(dataset, config)",
            "numbers = (np.arange(len(rows_of(dataset, config)))",
        ),
        (
            "the whole comes last",
            "[first, said.entities, said.relations]",
            "[said.entities, said.relations, first]",
        ),
        (
            "prepositions always",
            "kinds = config.prepositions, config.bare",
            "kinds = True, config.bare",
        ),
        (
            "bare nouns always",
            "kinds = config.prepositions, config.bare",
            "kinds = config.prepositions, True",
        ),
    ]
}
