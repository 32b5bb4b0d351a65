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
        ("boxes as the profile says", "places or book.profile.boxes", "book.profile.boxes"),
        ("detections by their kind", 'return "detections", ', 'return "instances", '),
    ]
}
