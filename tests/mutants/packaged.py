"""Wrong versions of the packaged towers, of what they leave, and of what is learnt on top."""


def _of(file, *changes):
    test = "test_packaged.py"
    return [(name, f"backbones/{file}", snippet, wrong, test) for name, snippet, wrong in changes]


MUTANTS = [
    *_of(
        "packaged.py",
        ("pixels in [0, 1]", "return (pixels - 127) / 128", "return pixels / 255"),
        ("patches of stride 8", "STRIDE_16 = 4  # the stage", "STRIDE_16 = 2  # the stage"),
        (
            "the last map before its convolution",
            "found = network.bn2(network.conv_head(network.blocks[STRIDE_16 + 1 :](found)))",
            "found = network.blocks[STRIDE_16 + 1 :](found)",
        ),
        ("any file will do", "if digest != self.sha256:", "if not digest:"),
        (
            "padding is a word of the sentence",
            "return (states * real[..., None]).sum(1) / lengths[:, None]",
            "return states.mean(1)",
        ),
        (
            "batch normalisation learns",
            "return super().train(False)  # batch",
            "return super().train(mode)  # batch",
        ),
    ),
    *_of(
        "extraction.py",
        ("the least salient first", "descending=True, stable=True", "stable=True"),
        (
            "regions in the order of salience taken for places",
            "return np.take_along_axis(regions, order.argsort(1)[..., None], axis=1)",
            "return regions",
        ),
        (
            "captions' words in the order of their length",
            "firsts = ends[numbers] - own.numpy()",
            "firsts = ends[: len(numbers)] - own.numpy()",
        ),
        (
            "captions that fit count as cut",
            "int((uncut > lengths).sum())",
            "int((uncut >= lengths).sum())",
        ),
    ),
    *_of(
        "locked.py",
        (
            "captions of the first images",
            "return rows[images], rows[images] * each + captions % each",
            "return rows[images], images * each + captions % each",
        ),
        (
            "the first caption alone",
            "return rows[images], rows[images] * each + captions % each",
            "return rows[images], rows[images] * each",
        ),
        (
            "a box's cells column by column",
            "shares = (down[..., :, None] * across[..., None, :]).flatten(-2)",
            "shares = (across[..., :, None] * down[..., None, :]).flatten(-2)",
        ),
        (
            "every cell that a box touches counts whole",
            "return shares / shares.sum(-1, keepdim=True).clamp(min=1e-9)",
            "shares = (shares > 0).to(shares) / 1\n"
            "    return shares / shares.sum(-1, keepdim=True).clamp(min=1e-9)",
        ),
        (
            "marks are parts of a word",
            "inner[:, 0] = False  # without the two marks",
            "inner[:, 0] = True",
        ),
        ("the unknown word is zero", "found[1] = found[2:].mean(0)", "found[1] = 0"),
    ),
    *_of(
        "frozen_words.py",
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
    ),
]
