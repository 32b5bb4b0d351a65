"""Wrong versions of `alignbook.papers.gsl.model`."""

MUTANTS = {
    "test_gsl.py": [
        # Eq. 7.
        ("Eq. 7: not orthonormal", 'norm="ortho"', 'norm="backward"'),
        ("Eq. 7: all d frequencies", "torch.fft.rfft(", "torch.fft.fft("),
        (
            "Eq. 7: phases weighed by amplitude",
            "spectrum / amplitude.clamp(min=torch.finfo(vectors.dtype).tiny)",
            "spectrum",
        ),
        (
            "Eq. 7: undefined where there is no amplitude",
            "amplitude.clamp(min=torch.finfo(vectors.dtype).tiny)",
            "amplitude",
        ),
        ("Eq. 7: phases as they are", "scale * phase), dim=1)", "phase), dim=1)"),
        ("Eq. 7: phases smaller by √2", ".sqrt() * math.sqrt(2)", ".sqrt()"),
        (
            "Eq. 7: phases scaled by the mean amplitude",
            "amplitude.square().mean(1, keepdim=True).sqrt()",
            "amplitude.mean(1, keepdim=True)",
        ),
        (
            "Eq. 7: one scale for all pairs",
            "amplitude.square().mean(1, keepdim=True)",
            "amplitude.square().mean()",
        ),
        ("Eq. 7: centred by all pairs", "both[clean].mean(0)", "both.mean(0)"),
        (
            "Eq. 7: each vector centred by itself",
            "both[clean].mean(0)",
            "both.mean(1, keepdim=True)",
        ),
        (
            "Eq. 7: a clean pair alone is centred",
            "if clean.sum() > 1 else",
            "if clean.sum() > 0 else",
        ),
        (
            "cosines: of the dimensions",
            "F.normalize(vectors, dim=1)",
            "F.normalize(vectors, dim=0)",
        ),
        # Anchors.
        (
            "anchors: a pair is its own",
            "barred = itself | ~clean",
            "barred = (~clean).expand(len(clean), -1)",
        ),
        ("anchors: noisy pairs", "barred = itself | ~clean", "barred = itself"),
        (
            "anchors: the least similar",
            "value, best = each.max(dim=1, keepdim=True)",
            "value, best = each.nan_to_num(neginf=9.0).min(dim=1, keepdim=True)",
        ),
        (
            "anchors: the first twice",
            "each = each.scatter(1, best, -math.inf)",
            "each = each.clone()",
        ),
        (
            "anchors: one alone counts twice",
            "valid = torch.cat(there, dim=1) & ~barred",
            "valid = ~barred",
        ),
        (
            "bank: anchors of the mini-batch",
            "nearest(*map(cosines, (images, captions), among), bank.own)",
            "of_batch(look, clean, config)",
        ),
        (
            "bank: a pair is its own",
            "(images, captions), among), bank.own)",
            "(images, captions), among), bank.own & False)",
        ),
        (
            "bank: centred by the mini-batch",
            "mask = torch.cat((torch.zeros(len(vectors), dtype=torch.bool, device=clean.device), clean))",
            "mask = torch.arange(len(vectors) + len(others)) < len(vectors)",
        ),
        (
            "bank: L_intra in the mini-batch",
            "among = look if bank is None else bank",
            "among = look",
        ),
        (
            "bank: L_inter of the bank's columns",
            "l_inter(look.scores, near or chosen,",
            "l_inter(look.scores, chosen._replace(index=chosen.index % len(look.scores)),",
        ),
        (
            "bank: of all pairs when it divides",
            "rows = spread(np.flatnonzero(clean), BANK)",
            "rows = np.arange(len(clean))",
        ),
        (
            "noisy pairs never stay out",
            "if config.noisy_out and not step.late else",
            "if False else",
        ),
        (
            "noisy pairs stay out for ever",
            "if config.noisy_out and not step.late else",
            "if config.noisy_out else",
        ),
        (
            "the curve has noisy pairs in it",
            "reduce(per_pair[: len(step.clean)]) if len(step.clean) else",
            "",
        ),
        (
            "anchors: by images alone",
            "for similar in (images, captions)",
            "for similar in (images, images)",
        ),
        (
            "anchors: of the batch, noisy ones too",
            ".expand(len(clean), -1).masked_fill(~clean, -math.inf)",
            ".expand(len(clean), -1)",
        ),
        ("anchors: of the batch, by clean pairs alone", "similar.sum(0)", "similar[clean].sum(0)"),
        (
            "anchors: of the batch, a pair is its own",
            "valid = torch.cat(there, dim=1) & ~barred.gather(1, index)",
            "valid = torch.cat(there, dim=1)",
        ),
        # Eq. 8–11.
        ("Eq. 8: negative cosines of images", "images.clamp(min=LEAST)", "images"),
        (
            "Eq. 8: only images shifted",
            "(1 + images) / 2, (1 + captions) / 2",
            "(1 + images) / 2, captions",
        ),
        ("Eq. 8: always shifted", 'if clamp == "shift":', "if clamp:"),
        (
            "Eq. 8: captions and images by other anchors",
            "captions.clamp(min=LEAST).gather(1, chosen.index)",
            "captions.clamp(min=LEAST).gather(1, chosen.index.roll(2, 1))",
        ),
        (
            "Eq. 9: anchors of both modalities in one ratio",
            "ratio[:, 1::2] / ratio[:, ::2]",
            "ratio[:, 2:] / ratio[:, :2]",
        ),
        (
            "Eq. 9: a ratio of one anchor",
            "valid[:, :2].all(1), valid[:, 2:].all(1)",
            "valid[:, :2].any(1), valid[:, 2:].any(1)",
        ),
        ("Eq. 10: as printed", "torch.minimum(ratio, 1 / ratio)", "(ratio + 1 / ratio) / 2"),
        ("Eq. 10: captions may be closer", "torch.minimum(ratio, 1 / ratio)", "ratio.clamp(max=1)"),
        (
            "Eq. 11: missing anchors count",
            "labels = _mean(likeness, valid)",
            "labels = likeness.mean(1)",
        ),
        (
            "Eq. 11: a clean pair without anchors is noisy",
            "clean.to(labels.dtype), labels)",
            "torch.zeros_like(labels), labels)",
        ),
        (
            "line 15: clean pairs keep 1 where they don't",
            "if not refine_clean:",
            "if refine_clean:",
        ),
        ("line 15: noisy pairs are kept at 0", "unknown | clean", "unknown | ~clean"),
        ("labels pass a gradient", "@torch.no_grad()\n", ""),
        # Eq. 13, 15–17.
        (
            "Eq. 13: not squared",
            "captions.gather(1, chosen.index)\n    return _mean(apart.square()",
            "captions.gather(1, chosen.index)\n    return _mean(apart.abs()",
        ),
        (
            "Eq. 13: sum for difference",
            "images.gather(1, chosen.index) - captions",
            "images.gather(1, chosen.index) + captions",
        ),
        ("Eq. 15: along the row twice", "- scores.T.gather(", "- scores.gather("),
        (
            "Eq. 13–15: always the mean",
            '.clamp(min=1) if reduction == "mean" else total',
            ".clamp(min=1)",
        ),
        ("Eq. 13–15: without an anchor undefined", "valid.sum(1).clamp(min=1)", "valid.sum(1)"),
        (
            "Eq. 16: ζ and η exchanged",
            "config.zeta * intra + config.sign * config.eta * inter",
            "config.eta * intra + config.sign * config.zeta * inter",
        ),
        ("Eq. 16: σ left out", "config.sign * config.eta", "config.eta"),
        (
            "Eq. 17: the whole margin for all",
            "config.margin if labels is None else soft_margin(labels, config.margin)",
            "config.margin",
        ),
        (
            "Eq. 17: a margin in proportion",
            "soft_margin(labels, config.margin)",
            "labels * config.margin",
        ),
        (
            "Eq. 17: soft margin of rows alone",
            "look.scores, margin, image_ids",
            "look.scores, (margin, config.margin), image_ids",
        ),
        ("Eq. 17: all negatives", "losses.hardest_negative_hinge(", "losses.all_negatives_hinge("),
        ("Eq. 17: pairs of one image are negatives", "image_ids=look.image_ids", "image_ids=None"),
        # Algorithm 1.
        (
            "line 13: anchors after Eq. 7",
            "return anchors(images, captions, clean",
            "images, captions = (cosines(structure(x.detach(), clean)) for x in look[1:3])\n"
            "    return anchors(images, captions, clean",
        ),
        (
            "line 14: images alone",
            "compared(own, others, anchoring, config.eq7)",
            "compared(own, others, anchoring, config.eq7 and own is images)",
        ),
        ("line 14: Eq. 7 although off", "if not eq7:", "if False:"),
        ("line 1: mean violations", '    "hardest",\n    train,', '    "mean",\n    train,'),
        (
            "line 12: the last are clean",
            "clean[: len(step.clean)] = True",
            "clean[-len(step.clean) :] = True",
        ),
        ("line 12: all are clean", "clean[: len(step.clean)] = True", "clean[:] = True"),
        (
            "line 16: labels of no account",
            "per_pair = l_sct(look, labels,",
            "per_pair = l_sct(look, None,",
        ),
        (
            "line 16: always the mean",
            'torch.mean if config.reduction == "mean" else torch.sum',
            "torch.mean",
        ),
        (
            "line 16: clean pairs' labels aren't kept",
            "step.note(rows, labels)",
            "step.note(step.noisy, labels[len(step.clean) :])",
        ),
        (
            "line 4: anchors are noisy",
            "likely[rows] > config.delta",
            "likely[rows] <= config.delta",
        ),
        ("line 4: the first batch's division for all", "likely[rows] >", "likely[: len(rows)] >"),
        ("line 4: δ is a half", "likely[rows] > config.delta", "likely[rows] > 0.5"),
        (
            "line 6: division by L_w",
            "found[rows] = l_sct(look, None, chosen, config, bank, near).cpu()",
            "found[rows] = noisy_pairs.hardest(look, config.margin).cpu()",
        ),
        (
            "line 6: in the order of the batches",
            "found[rows] = l_sct",
            "found[np.sort(rows)] = l_sct",
        ),
        (
            "lines 6 and 7: always beta distributions",
            "mixture = MIXTURES[config.mixture]",
            'mixture = MIXTURES["beta"]',
        ),
        ("lines 6 and 7: normal distributions", 'mixture: str = "beta"', 'mixture: str = "normal"'),
        ("batches of one part", "    parts=True,\n    bank=", "    bank="),
        (
            "notes: L_inter added",
            'replace(FULL, sign=-1, reduction="sum")',
            'replace(FULL, reduction="sum")',
        ),
    ]
}
