"""Wrong versions of `alignbook.backbones.transfer`."""

MUTANTS = {
    "test_transfer.py": [
        (
            "transfer: captions exchanged",
            "caption_accuracy(right, wrong)",
            "caption_accuracy(wrong, right)",
        ),
        (
            "transfer: pictures exchanged",
            "image_accuracy(right, wrong, table.kind)",
            "image_accuracy(wrong, right, table.kind)",
        ),
        (
            "transfer: the true pictures twice",
            "base.embed_images(model, _blocks(negatives))",
            "base.embed_images(model, _blocks(pictures))",
        ),
    ]
}
