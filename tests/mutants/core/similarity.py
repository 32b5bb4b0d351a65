"""Wrong versions of `alignbook.core.similarity`."""

MUTANTS = {
    "test_similarity.py": [
        # Unit vectors.
        (
            "cosine: axis of the norm",
            "vector_norm(x, dim=-1, keepdim=True)",
            "vector_norm(x, dim=0, keepdim=True)",
        ),
        ("cosine: not normalised", "scaled = x / norm", "scaled = x * 1"),
        (
            "cosine: zero vectors divided by a tiny number",
            "norm.masked_fill(norm < 1e-12, 1)",
            "norm.clamp(min=1e-12)",
        ),
        (
            "cosine: gradient along the vector stays",
            "addcmul(grad, scaled, along, value=-1)",
            "addcmul(grad, scaled, along, value=0)",
        ),
        (
            "cosine: gradient along the vector doubles",
            "addcmul(grad, scaled, along, value=-1)",
            "addcmul(grad, scaled, along, value=1)",
        ),
        ("cosine: gradient of a unit vector's size", "value=-1).div_(norm)", "value=-1)"),
        (
            "cosine: queries not normalised",
            "kernels.grouped_max(unit(vectors), ",
            "kernels.grouped_max(vectors, ",
        ),
        (
            "cosine: attending queries not normalised",
            "kernels.soft_coding(unit(vectors), ",
            "kernels.soft_coding(vectors, ",
        ),
        (
            "cosine: codewords not normalised",
            "vectors=unit(codebooks.vectors)",
            "vectors=codebooks.vectors",
        ),
        # Eq. 3 and the other poolings.
        (
            "Eq. 3: 1/scale forgotten",
            "return total.log() / scale + top",
            "return total.log() + top",
        ),
        ("Eq. 3: scale forgotten inside", ".mul_(scale).exp_()", ".exp_()"),
        (
            "Eq. 3: the maximum isn't added",
            "return total.log() / scale + top",
            "return total.log() / scale",
        ),
        (
            "Eq. 3: the maximum is scaled",
            "return total.log() / scale + top",
            "return (total.log() + top) / scale",
        ),
        (
            "Eq. 3: mean inside the logarithm",
            "return total.log() / scale",
            "return (total / lengths[:, None]).log() / scale",
        ),
        (
            "Eq. 3: the maximum isn't subtracted",
            "(scores - top[torch.repeat_interleave(lengths)])",
            "(scores * 1)",
        ),
        (
            "pooling: max is sum",
            'return _bags(scores, offsets, "max")',
            "return _bags(scores, offsets)",
        ),
        (
            "pooling: softmax not normalised",
            "_bags(weights * scores, offsets) / total",
            "_bags(weights * scores, offsets)",
        ),
        (
            "pooling: softmax of the weights alone",
            "_bags(weights * scores, offsets) / total",
            "_bags(weights, offsets) / total",
        ),
        ("pooling: sum is mean", 'return total if pooling == "sum" else', "return"),
        ("pooling: mean is sum", "else total / lengths[:, None]", "else total"),
        (
            "pooling: mean off by one",
            "else total / lengths[:, None]",
            "else total / (lengths[:, None] + 1)",
        ),
        (
            "pooling: sets begin a query late",
            "F.embedding_bag(each, scores, offsets[:-1], mode=mode)",
            "F.embedding_bag(each.roll(1), scores, offsets[:-1], mode=mode)",
        ),
        # Roles, lengths and blocks.
        (
            "roles: codebooks exchanged",
            '(words, regions) if codebook == "visual" else (regions, words)',
            '(regions, words) if codebook == "visual" else (words, regions)',
        ),
        (
            "roles: result not transposed",
            'return result.T if codebook == "visual" else result',
            "return result",
        ),
        ("lengths: zero is let through", "wrong = (lengths < 1)", "wrong = (lengths < 0)"),
        ("lengths: too long is let through", "(lengths > longest)", "(lengths > longest + 1)"),
        (
            "lengths: packed ones ignored",
            "if lengths is not None:\n            raise",
            "if False:\n            raise",
        ),
        (
            "lengths: an empty packed set is let through",
            "fragments.offsets.diff() < 1",
            "fragments.offsets.diff() < 0",
        ),
        ("blocks: too large", "ends[first] + BLOCK) - 1", "ends[first] + BLOCK)"),
        ("blocks: offsets of the whole", "here - here[0]", "here"),
        ("blocks: sets skipped", "        first = stop\n", "        first = stop + 1\n"),
        # Fine-grained matching.
        ("matching: x's mask for y", '_masked(y, y_mask, "y")', '_masked(y, None, "y")'),
        (
            "matching: sets without offsets of their own",
            "F.pad(mask.sum(1).cumsum(0), (1, 0))",
            "F.pad(mask.sum(1).flip(0).cumsum(0), (1, 0))",
        ),
        (
            "matching: half stays half",
            "x.vectors.to(dtype), x.offsets, y.vectors.to(dtype)",
            "x.vectors, x.offsets, y.vectors",
        ),
        ("precision: half stays half", "torch.promote_types(torch.float32, dtype)", "dtype"),
    ]
}
