"""Wrong versions of `alignbook.papers.chan.model`."""

MUTANTS = {
    "test_chan.py": [
        (
            "the last step is measured",
            "best = training.take_best(model, outcome)",
            'best = {"best step": 0}',
        ),
        ("soft where hard is asked", 'if c.coding == "hard":', 'if c.coding != "hard":'),
        ("word lengths dropped", "word_lengths=word_lengths,", "word_lengths=None,"),
        ("λ dropped", "pooling=c.pooling, scale=c.scale", "pooling=c.pooling"),
        ("pooling dropped", "pooling=c.pooling, scale=c.scale", "scale=c.scale"),
        ("τ inverted", "temperature=c.temperature, **how", "temperature=1 / c.temperature, **how"),
        ("word vectors random", "text.vectors.weight.data.copy_(vectors)", "pass"),
        (
            "always divided by λ",
            'return scores if c.divided or c.pooling != "lse" else',
            "return scores if True else",
        ),
        (
            "mean pooling multiplied by λ too",
            'if c.divided or c.pooling != "lse" else',
            "if c.divided else",
        ),
        (
            "self-attention in spite of the switch",
            "attention=config.self_attention",
            "attention=True",
        ),
        ("learning rate falls late", "step < 0.6 * steps", "step < 0.8 * steps"),
        (
            "the hardest first",
            "early = step < config.all_violations",
            "early = step >= config.all_violations",
        ),
        (
            "captions as long as the longest of all",
            "some[:, : int(n.max())]",
            "some[:, : int(lengths.max())]",
        ),
        (
            "every part over the first captions",
            "slice(done, done + len(words))",
            "slice(0, len(words))",
        ),
        (
            "regions not dropped",
            "drop_regions(raw.to(device), config.region_drop)",
            "drop_regions(raw.to(device), 0.0)",
        ),
        ("gradients not clipped", "config.steps, config.clip)", "config.steps)"),
        ("test seen by a tuning seed", '"dev" if seed >= TUNING_SEED else "test"', '"test"'),
        ("captions not permuted", "if config.permute_captions:", "if False:"),
        ("folds of other sizes", "folds=5).named", "folds=1).named"),
        ("ranks exchanged", 'zip(("i2t", "t2i"), retrieval', 'zip(("t2i", "i2t"), retrieval'),
        ("dropped share kept", "regions.shape[1] * (1 - rate)", "regions.shape[1] * rate"),
        ("regions shuffled", ".sort(1).values", ""),
        (
            "the same regions dropped everywhere",
            "torch.rand(regions.shape[:2])",
            "torch.arange(regions.shape[1]).expand(regions.shape[:2])",
        ),
    ]
}
