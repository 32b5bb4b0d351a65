"""Wrong versions of `alignbook.backbones.packaged`."""

MUTANTS = {
    "test_packaged.py": [
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
    ]
}
