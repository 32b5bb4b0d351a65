"""Wrong versions of `alignbook.backbones.frozen_words`."""

MUTANTS = {
    "test_packaged.py": [
        ("places from 0 on", "places = ids.cpu().numpy() - 1", "places = ids.cpu().numpy()"),
        ("padding has states", "found[places < 0] = 0", "pass"),
        (
            "a new caption begins where the stored ones do",
            "self.spans[text] = len(self), len(self) + length",
            "self.spans[text] = 0, length",
        ),
        (
            "padding is projected to the bias",
            "return self.project(self.places.states(ids)) * (ids > 0)[..., None]",
            "return self.project(self.places.states(ids))",
        ),
    ]
}
