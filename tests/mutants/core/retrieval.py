"""Wrong versions of `alignbook.core.retrieval`."""

MUTANTS = {
    "test_retrieval.py": [
        ("recall: off by one, pessimistic", "c.above + c.tied < k", "c.above + c.tied <= k"),
        (
            "recall: off by one, optimistic",
            "recalls(lambda c, k: c.above < k)",
            "recalls(lambda c, k: c.above <= k)",
        ),
        ("recall: fraction for percent", "np.mean([100 * rule", "np.mean([1 * rule"),
        (
            "recall: pessimistic is optimistic",
            "lambda c, k: c.above + c.tied < k",
            "lambda c, k: c.above < k",
        ),
        (
            "recall: pessimistic with half of the tie",
            "lambda c, k: c.above + c.tied < k",
            "lambda c, k: c.above + c.tied / 2 < k",
        ),
        (
            "recall: directions exchanged",
            "for side in (0, 1))\n        return Recalls",
            "for side in (1, 0))\n        return Recalls",
        ),
        (
            "rsum: one direction",
            "sum(self.i2t.values()) + sum(self.t2i.values())",
            "2 * sum(self.i2t.values())",
        ),
        (
            "rsum: six times the mean of i2t and R@10",
            "sum(self.i2t.values()) + sum(self.t2i.values())",
            "sum(self.i2t.values()) + 3 * self.t2i[10]",
        ),
        (
            "ranks: from zero",
            "return 1 + images.above + images.tied, 1 +",
            "return images.above + images.tied, 1 +",
        ),
        ("ranks: captions optimistic", "1 + captions.above + captions.tied", "1 + captions.above"),
        ("median: optimistic", "1 + f[side].above + f[side].tied", "1 + f[side].above"),
        ("median: from zero", "1 + f[side].above + f[side].tied", "f[side].above + f[side].tied"),
        (
            "median: of the first fold",
            "+ f[side].tied for f in counts]",
            "+ f[side].tied for f in counts[:1]]",
        ),
        (
            "counts: sign, image to text",
            "count_nonzero(block > best[rows, None]",
            "count_nonzero(block < best[rows, None]",
        ),
        ("counts: sign, text to image", "(block > matching)", "(block < matching)"),
        (
            "counts: ties taken as above",
            "count_nonzero(block > best[rows, None]",
            "count_nonzero(block >= best[rows, None]",
        ),
        ("counts: worst own caption", "own[start:stop].max(axis=1)", "own[start:stop].min(axis=1)"),
        (
            "counts: first own caption",
            "best = own[start:stop].max(axis=1)",
            "best = own[start:stop, 0]",
        ),
        (
            "counts: an image ties with itself",
            "equal_image - own_equal, own_equal",
            "equal_image, own_equal",
        ),
        (
            "counts: only one own caption forgiven",
            "equal_image - own_equal, own_equal",
            "equal_image - 1, own_equal",
        ),
        ("counts: a caption ties with itself", "equal_caption - 1,", "equal_caption,"),
        ("counts: last block only", "above_caption += ", "above_caption[:] = "),
        ("counts: ties of the last block only", "equal_caption += ", "equal_caption[:] = "),
        (
            "own: a column late",
            "(start + i) * captions_per_image + np.arange(captions_per_image)",
            "((start + i) * captions_per_image + 1 + np.arange(captions_per_image)) % block.shape[1]",
        ),
        (
            "own: block offset forgotten",
            "block[i, (start + i) * captions_per_image",
            "block[i, i * captions_per_image",
        ),
        (
            "expected: optimistic",
            "expected=recalls(_chance_within)",
            "expected=recalls(lambda c, k: c.above < k)",
        ),
        (
            "expected: one place too many",
            "np.where(t < k - counts.above",
            "np.where(t <= k - counts.above",
        ),
        (
            "expected: one place too few",
            "np.where(t < k - counts.above",
            "np.where(t < k - 1 - counts.above",
        ),
        (
            "expected: own captions drawn with return",
            "np.maximum(counts.tied + counts.correct - t, 1)",
            "np.maximum(counts.tied + counts.correct, 1)",
        ),
        (
            "expected: one own caption",
            "np.maximum(counts.tied + counts.correct - t, 1)",
            "np.maximum(counts.tied + 1 - t, 1)",
        ),
        ("expected: failure for success", "return 1 - failure", "return failure"),
        ("folds: ignored", "size = len(own) // folds", "size = len(own)"),
        (
            "folds: among all captions",
            "start * captions_per_image, stop * captions_per_image)\n",
            "0, (stop - start) * captions_per_image)\n",
        ),
        (
            "folds: the last one only",
            "counts = [_count",
            "folds = [_count"
            "(similarity, own, start, start + size) for start in range(0, len(own), size)]\n"
            "    counts = folds[-1:] and [folds[-1] for _ in folds] or [_count",
        ),
        ("folds: a remainder is dropped", "if shape[0] % folds:", "if False:"),
        ("finite: infinities pass", "finite = np.isfinite(block)", "finite = ~np.isnan(block)"),
        ("finite: NaN passes", "finite = np.isfinite(block)", "finite = ~np.isinf(block)"),
        ("finite: wrong row named", "first = first or (start + row,", "first = first or (row,"),
        ("shape: columns not checked", "or shape[1] != captions_per_image * shape[0]", ""),
        (
            "half precision: rounded",
            "part.astype(np.float32) if part.dtype == np.float16 else part",
            "part.astype(np.float16)",
        ),
    ]
}
