"""Wrong versions of the kernels on the CPU; every one must fail their tests."""

FILE, TESTS = "kernels/cpu.py", "test_kernels.py"

MUTANTS = [(name, FILE, snippet, replacement, TESTS) for name, snippet, replacement in [
    ("maximum is the last codeword's", "torch.maximum(best[here], scores, out=best[here])",
     "best[here] = scores.to(dtype)"),
    ("of equal codewords the last", "scores > best[here]", "scores >= best[here]"),
    ("place of the codeword off by one", "masked_fill_(scores > best[here], r)",
     "masked_fill_(scores > best[here], max(r - 1, 0))"),
    ("groups left in the order of their lengths", "return best[:, back], index[:, back]",
     "return best[:, order], index[:, order]"),
    ("places left in the order of the lengths", "index[:, back] if with_index", "index if with_index"),
    ("shorter groups get a longer one's codeword", "starts[lengths > r] + r",
     "starts[lengths >= r] + r - (lengths[lengths >= r] == r).long()"),
    ("blocks of queries overlap", "range(0, len(queries), TALL)", "range(0, len(queries), TALL + 1)"),
    ("blocks of groups skipped", "range(0, len(lengths), WIDE)", "range(0, len(lengths), WIDE + 1)"),
    ("backward: first codeword of every group", "offsets[:-1][full] + index[:, full]",
     "offsets[:-1][full] + 0 * index[:, full]"),
    ("backward: empty groups count", "full = offsets.diff() > 0", "full = offsets.diff() >= 0"),
    ("backward: codewords get it unweighted",
     "per_sample_weights=torch.from_numpy(by_codeword.data)",
     "per_sample_weights=torch.ones(len(by_codeword.data), dtype=queries.dtype)"),
    ("backward: queries get it unweighted", 'mode="sum", per_sample_weights=grad)',
     'mode="sum", per_sample_weights=torch.ones_like(grad))'),
]]
