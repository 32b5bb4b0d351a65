"""Wrong versions of `alignbook.core.encoders`."""

MUTANTS = {
    "test_base.py": [
        ("the sum of both directions", "lengths).mean(0)", "lengths).sum(0)"),
        ("one direction only", "lengths).mean(0)", "lengths)[0]"),
        (
            "lengths ignored by the GRU",
            "self.vectors(ids), lengths)",
            "self.vectors(ids), lengths * 0 + ids.shape[1])",
        ),
        (
            "word dropout in evaluation too",
            "if self.training and self.word_dropout:",
            "if self.word_dropout:",
        ),
    ],
    "test_chan.py": [
        ("no residual around the attention", "return regions + context", "return context"),
        ("no attention", "return regions + context", "return regions"),
        (
            "attention over raw features scaled",
            "self.attention(regions, regions, regions",
            "self.attention(-regions, regions, regions",
        ),
    ],
}
