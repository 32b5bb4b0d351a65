"""Wrong versions of `alignbook.core.losses`."""

MUTANTS = {
    "test_losses.py": [
        # Eq. 9 with the hardest negative.
        (
            "Eq. 9: sign of the pair, image to text",
            "row_margin + candidates.max(dim=1).values - positive",
            "row_margin - candidates.max(dim=1).values + positive",
        ),
        (
            "Eq. 9: sign of the pair, text to image",
            "column_margin + candidates.max(dim=0).values - positive",
            "column_margin - candidates.max(dim=0).values + positive",
        ),
        (
            "Eq. 9: sign of the margin, image to text",
            "row_margin + candidates",
            "candidates - row_margin + 0 * candidates",
        ),
        (
            "Eq. 9: axes exchanged",
            "row_margin + candidates.max(dim=1)",
            "row_margin + candidates.max(dim=0)",
        ),
        (
            "Eq. 9: text to image is image to text again",
            "column_margin + candidates.max(dim=0)",
            "column_margin + candidates.max(dim=1)",
        ),
        (
            "Eq. 9: easiest negative",
            "row_margin + candidates.max(dim=1).values",
            "row_margin + similarity.masked_fill(~negative, math.inf).min(dim=1).values",
        ),
        (
            "Eq. 9: no hinge",
            "torch.relu(row_margin + candidates.max(dim=1).values - positive)",
            "(row_margin + candidates.max(dim=1).values - positive)",
        ),
        (
            "Eq. 9: the positive among the negatives",
            "candidates = similarity.masked_fill(~negative, -math.inf)",
            "candidates = similarity",
        ),
        (
            "Eq. 9: mask is a legal similarity",
            "candidates = similarity.masked_fill(~negative, -math.inf)",
            "candidates = similarity.masked_fill(~negative, 0)",
        ),
        (
            "Eq. 9: one direction only",
            "_reduce(image_to_text + text_to_image, reduction)",
            "_reduce(2 * image_to_text, reduction)",
        ),
        (
            "margins: a pair's directions exchanged, hardest",
            "row_margin, column_margin = _margins(margin, similarity)\n    positive = "
            "similarity.diagonal()\n    candidates",
            "column_margin, row_margin = _margins(margin, similarity)\n    positive = "
            "similarity.diagonal()\n    candidates",
        ),
        (
            "margins: one broadcast over rows and columns, all",
            "row_margin[:, None]",
            "row_margin[None, :]",
        ),
        (
            "margins: by row in both directions, all",
            "column_margin[None, :]",
            "column_margin[:, None]",
        ),
        # All negatives.
        (
            "all: positive by column in image to text",
            "similarity - positive[:, None]",
            "similarity - positive[None, :]",
        ),
        (
            "all: positive by row in text to image",
            "similarity - positive[None, :]",
            "similarity - positive[:, None]",
        ),
        (
            "all: axis of image to text",
            "image_to_text.masked_fill(~negative, 0).sum(dim=1)",
            "image_to_text.masked_fill(~negative, 0).sum(dim=0)",
        ),
        (
            "all: axis of text to image",
            "text_to_image.masked_fill(~negative, 0).sum(dim=0)",
            "text_to_image.masked_fill(~negative, 0).sum(dim=1)",
        ),
        ("all: the positive counts", "image_to_text.masked_fill(~negative, 0)", "image_to_text"),
        (
            "all: mean for sum",
            "image_to_text.masked_fill(~negative, 0).sum(dim=1)",
            "image_to_text.masked_fill(~negative, 0).mean(dim=1)",
        ),
        (
            "all: hardest only",
            "text_to_image.masked_fill(~negative, 0).sum(dim=0)",
            "text_to_image.masked_fill(~negative, 0).amax(dim=0)",
        ),
        # By pairs.
        # Negatives and reductions.
        (
            "negatives: pairs of one image kept",
            "image_ids[:, None] != image_ids[None, :]",
            "~torch.eye(size, dtype=torch.bool)",
        ),
        (
            "negatives: only pairs of one image",
            "image_ids[:, None] != image_ids[None, :]",
            "image_ids[:, None] == image_ids[None, :]",
        ),
        ("negatives: diagonal kept", "return ~torch.eye(size,", "return torch.ones(size, size,"),
        (
            "reduction: sum is mean",
            'per_pair.sum() if reduction == "sum"',
            'per_pair.mean() if reduction == "sum"',
        ),
        ("reduction: mean is sum", "else per_pair.mean()", "else per_pair.sum()"),
        (
            "reduction: mean over both directions",
            "else per_pair.mean()",
            "else per_pair.mean() / 2",
        ),
        # InfoNCE.
        (
            "InfoNCE: sign",
            "F.cross_entropy(logits, target) +",
            "-F.cross_entropy(logits, target) +",
        ),
        (
            "InfoNCE: one direction",
            "F.cross_entropy(logits.T, target)",
            "F.cross_entropy(logits, target)",
        ),
        (
            "InfoNCE: sum of the directions",
            "F.cross_entropy(logits.T, target)) / 2",
            "F.cross_entropy(logits.T, target))",
        ),
        ("InfoNCE: temperature multiplies", "similarity / temperature", "similarity * temperature"),
        ("InfoNCE: temperature forgotten", "similarity / temperature", "similarity"),
        ("InfoNCE: pairs of one image kept", ".masked_fill(other_pair, -math.inf)", ""),
        ("InfoNCE: the positive masked", "    other_pair.fill_diagonal_(False)\n", ""),
        (
            "InfoNCE: mask is a legal logit",
            ".masked_fill(other_pair, -math.inf)",
            ".masked_fill(other_pair, 0)",
        ),
        (
            "InfoNCE: target off by one",
            "target = torch.arange(len(similarity), device=similarity.device)",
            "target = torch.arange(len(similarity)).roll(1)",
        ),
        (
            "InfoNCE: sum over the batch",
            "(F.cross_entropy(logits, target) +",
            "(F.cross_entropy(logits, target, reduction='sum') +",
        ),
    ]
}
