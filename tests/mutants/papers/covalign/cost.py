"""Wrong versions of `alignbook.papers.covalign.cost`."""

MUTANTS = {
    "test_covalign_arms.py": [
        ("cost: encoding over the pairs compared", "(m.images * m.captions)", "m.pairs"),
        ("cost: of another arm", 'found.row == "patches"', 'found.row == "regions"'),
        ("cost: a step with towers in units of one without", "ratio.where(alike)", "ratio"),
        ("cost: weights move", "lr=0.0", "lr=0.1"),
        ("cost: all arms", "listed[listed.arm.isin(MEASURED)]", "listed"),
        ("cost: the whole split", "[: model.config.test_images or None]", ""),
    ]
}
