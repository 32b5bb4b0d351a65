"""Wrong versions of the probes' readers and accuracies; every one must fail its test file."""

MUTANTS = [
    ("a tie is right", "compositional.py", "return positive > negative",
     "return positive >= negative", "test_compositional.py"),
    ("scores exchanged", "compositional.py", "return positive > negative",
     "return negative > positive", "test_compositional.py"),
    ("infinite scores pass", "compositional.py", "np.flatnonzero(~np.isfinite(scores))",
     "np.flatnonzero(np.isnan(scores))", "test_compositional.py"),
    ("macro average over items", "compositional.py", "return float(np.mean(kept))",
     "return float(100 * _array(correct).mean())", "test_compositional.py"),
    ("a kind of exactly the least number is left out", "compositional.py", "if count >= least and",
     "if count > least and", "test_compositional.py"),
    ("all: a mean of kinds", "compositional.py", '{"all": float(100 * correct.mean())}',
     '{"all": float(np.mean(list(by_kind(correct, kinds).values())))}', "test_compositional.py"),
    ("box: width for the right edge", "datasets/aro.py", "x, y, x + w, y + h, item,",
     "x, y, w, h, item,", "test_probes.py"),
    ("captions exchanged", "datasets/sugarcrepe.py", 'text(entry, "caption"),\n'
     '                             text(entry, "negative_caption")', 'text(entry, '
     '"negative_caption"),\n                             text(entry, "caption")',
     "test_probes.py"),
    ("a row too early", "datasets/svo.py", "kinds[0], *positive, *negative, item))",
     "kinds[0], *positive, *negative, len(rows)))", "test_probes.py"),
    ("the negative picture gets the sentence", "datasets/svo.py",
     'rows.append((probe["negative_image"], changed, probe["caption"], *rest))',
     'rows.append((probe["negative_image"], probe["caption"], changed, *rest))',
     "test_probes.py"),
    ("noise per image laid out as blocks", "datasets/noise_index.py",
     "np.repeat(index, captions // len(index))", "np.tile(index, captions // len(index))",
     "test_noise_index.py"),
    ("noise drawn with replacement", "datasets/noise_index.py",
     "index[random.permutation(chosen)]", "index[random.choice(chosen, len(chosen))]",
     "test_noise_index.py"),
]  # fmt: skip
