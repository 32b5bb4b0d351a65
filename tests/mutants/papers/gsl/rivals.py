"""Wrong versions of `alignbook.papers.gsl.rivals`."""

MUTANTS = {
    "test_coteaching.py": [
        # NCR.
        (
            "NCR: p by the whole mean violation",
            "mean_violation(look, margin) / 2).clamp",
            "mean_violation(look, margin)).clamp",
        ),
        ("NCR: p below 0", ".clamp(0, margin)", ".clamp(max=margin)"),
        (
            "NCR: p over the largest alone",
            "len(p) // 10 + 1).values.mean()",
            "len(p) // 10 + 1).values.max()",
        ),
        (
            "NCR: p undefined where nothing fits",
            "most.clamp(min=torch.finfo(p.dtype).tiny)",
            "most",
        ),
        ("NCR: w and p exchanged", "[w + (1 - w) * predicted(", "[(1 - w) + w * predicted("),
        (
            "NCR: clean pairs in the peer's eyes",
            "predicted(step.glance(step.network, step.clean)",
            "predicted(step.glance(step.peer, step.clean)",
        ),
        (
            "NCR: noisy pairs in its own eyes",
            "for each in step.pair.networks]",
            "for each in [step.network] * 2]",
        ),
        (
            "NCR: noisy pairs from the beginning",
            "if step.late and len(step.noisy):\n            parts.append(step.noisy)\n            p =",
            "if len(step.noisy):\n            parts.append(step.noisy)\n            p =",
        ),
        ("parts: whole margins", "soft_margin(y, step.config.margin)", "step.config.margin"),
        ("parts: the last alone", "return sum(found)", "return found[-1]"),
        (
            "BiCro: negative cosines",
            "product(look.captions, anchors.captions.T).clamp(min=1e-3)",
            "product(look.captions, anchors.captions.T)",
        ),
        (
            "BiCro: either modality's own nearest",
            "other.gather(1, index[:, None]).squeeze(1)",
            "other.max(1).values",
        ),
        (
            "BiCro: ratio of one direction",
            "append(torch.minimum(ratio, 1 / ratio))",
            "append(ratio.clamp(max=1))",
        ),
        ("BiCro: nearest by images alone", "return sum(halves) / 2", "return halves[0]"),
        (
            "BiCro: clean pairs in its own eyes",
            "seen = step.glance(step.peer, step.clean)",
            "seen = step.glance(step.network, step.clean)",
        ),
        (
            "BiCro: the worst for anchors",
            "len(step.clean) // 10 + 1).indices",
            "len(step.clean) // 10 + 1, largest=False).indices",
        ),
        ("BiCro: noisy labels below a half stay", "y * (y > 0.5)", "y"),
        # GSC.
        ("GSC: γ and β exchanged", "GAMMA, BETA = 0.01, 0.7", "GAMMA, BETA = 0.7, 0.01"),
        (
            "GSC: structures by the pair's own target",
            "images = product(look.images, look.images.T) * targets",
            "images = product(look.images, look.images.T) * targets[:, None]",
        ),
        ("GSC: structures not weighed", "GAMMA * (targets * apart).mean()", "GAMMA * apart.mean()"),
        (
            "GSC: structures compared down the columns",
            "F.cosine_similarity(images, captions, dim=1)",
            "F.cosine_similarity(images, captions, dim=0)",
        ),
        ("GSC: target the larger", "torch.minimum(record[", "torch.maximum(record["),
        (
            "GSC: targets begin with 0",
            "record[MEAN_CLEAN]).nan_to_num(1.0)",
            "record[MEAN_CLEAN]).nan_to_num(0.0)",
        ),
        (
            "GSC: unlike structures are clean",
            "posterior(mixtures.GaussianMixture(), 1 - cosine)",
            "posterior(mixtures.GaussianMixture(), cosine)",
        ),
        (
            "GSC: beta distributions",
            "posterior(mixtures.GaussianMixture(), 1 - cosine)",
            "posterior(mixtures.BetaMixture(), 1 - cosine)",
        ),
        (
            "GSC: unseen pairs are noisy",
            'p, problem = np.ones(n), ""',
            'p, problem = np.zeros(n), ""',
        ),
        (
            "GSC: old and new exchanged",
            "BETA * now.float() + (1 - BETA) * old",
            "(1 - BETA) * now.float() + BETA * old",
        ),
        (
            "GSC: averages begin with 0",
            "old = record[mean].nan_to_num(1.0)",
            "old = record[mean].nan_to_num(0.0)",
        ),
        ("GSC: rate falls once", "0.2 ** (4 * step // steps)", "0.2 ** (step // steps)"),
        (
            "division by the hardest negatives",
            "found[chosen] = mean_violation(look, config.margin)",
            "found[chosen] = hardest(look, config.margin)",
        ),
        (
            "NCR and BiCro: mixtures exchanged",
            "ncr, partial(by_mean_violation, mixtures.GaussianMixture)",
            "ncr, partial(by_mean_violation, mixtures.BetaMixture)",
        ),
        ("the bound of clean pairs sees all", "plain, truth=True)", "plain)"),
    ]
}
