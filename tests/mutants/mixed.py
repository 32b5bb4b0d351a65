"""Wrong versions of the mixed evaluation: a bound that doesn't hold, pairs that aren't seen to."""

TESTS = "test_bfloat16.py"

MUTANTS = [
    (name, "core/bfloat16.py", snippet, replacement, TESTS)
    for name, snippet, replacement in [
        ("applies to attention", 'config.coding == "hard" and ', ""),
        ("applies to every pooling", "and config.pooling in POOLINGS", ""),
        ("applies unasked", "return asked and", "return"),
        ("vectors not of length 1", "exact = unit(vectors)", "exact = vectors"),
        ("the mean member's error", 'offsets, "max")', 'offsets, "mean")'),
        ("blocks over each other", "done += len(exact)", "done += 0"),
        (
            "scores of other vectors",
            "coded = kernels.grouped_max(vectors, *codebooks)",
            "coded = kernels.grouped_max(vectors.roll(1, 0), *codebooks)",
        ),
        ("roles exchanged", "(words, regions) if visual", "(regions, words) if visual"),
        ("λ left at 10", "config.pooling, config.scale)", "config.pooling, 2.0)"),
        ("bound: rounding of the score forgotten", "rest += 2.0 **", "rest += 0.0 *"),
        (
            "bound: half of the score's rounding",
            "math.frexp(largest)[1] - 9",
            "math.frexp(largest)[1] - 10",
        ),
        ("bound: positive scores alone", "-float(coded.min()))", "0.0)"),
        ("bound: rounding of the sums forgotten", "rest = (4 * width", "rest = (0 * width"),
        ("bound: the last block's largest", "largest = max(largest, ", "largest = max("),
        ("bound: of the regions alone", "+ of_words * (1 + of_regions[:, None])", "+ 0 * of_words"),
        ("bound: of the words alone", "return of_regions[:, None] + of_words", "return of_words"),
        ("parts of captions over each other", "done = part.stop", "done = 0"),
        ("1/λ forgotten", "scores *= factor", "scores *= 1"),
        (
            "slack of the first images for all",
            "bound(of_regions[start:stop]",
            "bound(of_regions[:stop - start]",
        ),
        ("slack not scaled with the scores", "return factor * bound", "return 0.001 * bound"),
        (
            "nothing is sharpened",
            "if sharpen(scores, slack, exact, captions_per_image, folds) > MOST",
            "if False",
        ),
        ("pairs split differently", "columns[first : first + at_once]\n", "columns[: at_once]\n"),
        (
            "everything is left approximate",
            "captions_per_image, folds) > MOST:",
            "captions_per_image, folds) > 1:",
        ),
        ("parts over each other", "done += len(part)\n", "done += 0\n"),
        # What is scored once more.
        (
            "sharpen: items stay approximate",
            "scores[owner, captions] = exact(owner, captions)",
            "exact(owner, captions)",
        ),
        (
            "sharpen: worst of an image's captions",
            "matching.view(n, each).amax(1)",
            "matching.view(n, each).amin(1)",
        ),
        (
            "sharpen: negatives of other folds count",
            "rivals = fold[rows, None] == fold[owner]",
            "rivals = fold[rows, None] > -1",
        ),
        (
            "sharpen: perhaps ahead is surely ahead",
            "((block - far > best[rows, None]) & rivals)",
            "((block + far > best[rows, None]) & rivals)",
        ),
        (
            "sharpen: perhaps ahead is surely ahead of a caption",
            "((block - far > matching) & rivals)",
            "((block + far > matching) & rivals)",
        ),
        (
            "sharpen: lost at rank 2",
            "(ahead_of_image[rows, None] < KS[-1])",
            "(ahead_of_image[rows, None] < KS[0])",
        ),
        (
            "sharpen: captions lost at rank 2",
            "(ahead_of_caption < KS[-1])",
            "(ahead_of_caption < KS[0])",
        ),
        (
            "sharpen: nobody is lost",
            "(ahead_of_image[rows, None] < KS[-1])",
            "(ahead_of_image[rows, None] > -1)",
        ),
        (
            "sharpen: captions not looked at",
            "(open_image | open_caption) & ~own",
            "open_image & ~own",
        ),
        (
            "sharpen: images not looked at",
            "(open_image | open_caption) & ~own",
            "open_caption & ~own",
        ),
        (
            "sharpen: items scored twice",
            "(open_image | open_caption) & ~own",
            "(open_image | open_caption)",
        ),
        ("sharpen: nothing near", "if found:\n", "if found > 1:\n"),
        ("sharpen: never too many", "if found > MOST", "if found > 2"),
        (
            "sharpen: rows of the block",
            "here.nonzero() + torch.tensor([rows.start, 0]",
            "here.nonzero() + torch.tensor([0, 0]",
        ),
        (
            "sharpen: half as near",
            "(block - best[rows, None]).abs() <= far",
            "(block - best[rows, None]).abs() <= far / 2",
        ),
    ]
]
