"""Wrong versions of `alignbook.papers.comalign.inputs`."""

MUTANTS = {
    "test_components_check.py": [
        (
            "the source has the target's boxes",
            'book.on(spec, "boxes", comalign_source="")',
            'book.on(spec, comalign_source="")',
        ),
        (
            "the source has a source",
            'book.on(spec, "boxes", comalign_source="")',
            'book.on(spec, "boxes")',
        ),
        (
            "the base has learnt from the heads' pictures",
            "return home.base(recipe, dataset=others), others",
            "return home.base(recipe), others",
        ),
        (
            "captions are read by another base's data",
            "dataset=others), others",
            "dataset=others), None",
        ),
        ("less of a data set has its key", "splits=splits, fingerprint=told", "splits=splits"),
        ("the heads' alone are left", 'splits["train"][n:]', 'splits["train"][:n]'),
        ("the base has learnt from the target", "left_to_the_base(home)", "left_to_the_base(book)"),
        ("half of the target", "len(home.dataset()", "len(book.dataset()"),
        ("all pictures are never asked for", "if with_all or not", "if not"),
        ("heads take all", "return min(wanted or half, half)", "return wanted or half"),
        ("a named base too", '":" not in book.profile.base', "True"),
        ("the world's too", 'book.kind != "world" and', "True and"),
        ("boxes as the profile says", "places or book.profile.boxes", "book.profile.boxes"),
        ("detections by their kind", 'return "detections", ', 'return "instances", '),
    ]
}
