"""Wrong versions of `alignbook.papers.comalign.inference`."""

MUTANTS = {
    "test_comalign.py": [
        # Eq. 10, 11.
        ("Eq. 10: α2 without its terms", "a2 * sums.fine", "a2 * sums.base"),
        ("Eq. 10: α1 on text to image", "a1 * sums.i2t", "a1 * sums.t2i"),
        (
            "Eq. 10: α2 on the whole as well",
            "Sums(base, whole + i2t, t2i, whole + t2i)",
            "Sums(base, whole + i2t, whole + t2i, whole + t2i)",
        ),
        ("Eq. 11: image to text", "b1 * sums.t2i", "b1 * sums.i2t"),
        ("Eq. 11: not weighted", "b1 * sums.t2i", "sums.t2i"),
        (
            "Eq. 10: an absent term is 0",
            'torch.where(value.both, getattr(value, way), means[f"{term} {way}"])',
            "torch.where(value.both, getattr(value, way), 0.0)",
        ),
        (
            "Eq. 10: a term is absent where either has it",
            "self.images[:, None] & self.captions",
            "self.images[:, None] | self.captions",
        ),
        ("Eq. 10: not divided", "part / divisors[name] for", "part for"),
        (
            "looks: one weight of all",
            "((a1,) if one else WEIGHTS)",
            "((WEIGHTS[0],) if one else WEIGHTS)",
        ),
        (
            "Eq. 10: terms added for every weight anew",
            "    sums = added(parts, divisors)\n",
            "    sums = added(parts_of(base_similarity, found, means), divisors)\n",
        ),
        ("validation: means of all pairs", "float(s[at][present].mean())", "float(s[at].mean())"),
        (
            "validation: text to image divided by the images' maxima",
            'part.max(0 if name == "fine t2i" else 1)',
            "part.max(1)",
        ),
        ("validation: divided although not", "if divided else UNDIVIDED", "if True else UNDIVIDED"),
        ("validation: divided by 0", ".values.mean())) or 1.0", ".values.mean()))"),
        (
            "validation: weights by the other direction's recalls",
            "image_to_text(sums, *a), each).i2t.values()",
            "image_to_text(sums, *a), each).t2i.values()",
        ),
        ("validation: worst weights", "pairs[int(np.argmax(i2t))]", "pairs[int(np.argmin(i2t))]"),
        ("validation: worst β1", "WEIGHTS[int(np.argmax(t2i))]", "WEIGHTS[int(np.argmin(t2i))]"),
        (
            "validation: fixed weights chosen all the same",
            "    if weights:\n",
            "    if weights is None:\n",
        ),
        (
            "validation: captions of the wrong image",
            "// each\n    at =",
            "% len(base_similarity)\n    at =",
        ),
        (
            "recalls: one matrix for both",
            "retrieval.evaluate(i2t, each), retrieval.evaluate(t2i, each)",
            "retrieval.evaluate(i2t, each), retrieval.evaluate(i2t, each)",
        ),
    ]
}
