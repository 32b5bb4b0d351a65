"""Wrong versions of `alignbook.papers.gsl.show`."""

MUTANTS = {
    "test_gsl_show.py": [
        (
            "noise lines: with controls",
            "for each in NOISE if each in known.groups",
            "for each in known.groups",
        ),
        ("noise lines: all learnt", 'learnt.of_row(own["learnt"])', "learnt.LEARNT"),
    ]
}
