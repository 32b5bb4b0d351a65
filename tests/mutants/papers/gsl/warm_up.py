"""Wrong versions of `alignbook.papers.gsl.warm_up`."""

MUTANTS = {
    "test_coteaching.py": [
        # BiCro.
        ("BiCro: warm-up on 70 %", "share: float = 0.3", "share: float = 0.7"),
        (
            "BiCro: warm-up of no pair",
            "max(1, int(share * len(violations)))",
            "int(share * len(violations))",
        ),
        (
            "GSC: warm-up along the rows twice",
            "contrast(logits.T, look.image_ids)).mean()",
            "contrast(logits, look.image_ids)).mean()",
        ),
        # The frame.
        (
            "warm-up: not shared, its own losses",
            "loss=config.warm_up or method.warm_up",
            "loss=method.warm_up",
        ),
        (
            "warm-up: the bound's on all pairs",
            "truth=method.truth, **shared",
            "truth=False, **shared",
        ),
        (
            "warm-up: both networks on one batch",
            "[seed, epoch, k, 0], i))",
            "[seed, epoch, 0], i))",
        ),
        (
            "warm-up: one network alone",
            "sum(loss(look, config) for look in looks_at(step))",
            "loss(next(looks_at(step)), config)",
        ),
        (
            "warm-up: one epoch of many",
            "total = per_epoch * config.warm_up_epochs",
            "total = per_epoch",
        ),
        (
            "warm-up: losses exchanged",
            '"smallest": smallest, "contrast": both_ways',
            '"smallest": both_ways, "contrast": smallest',
        ),
        ("frame: both warm up on one batch", "[seed, epoch, k, 0]", "[seed, epoch, 0]"),
    ]
}
