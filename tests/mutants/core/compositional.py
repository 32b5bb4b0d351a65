"""Wrong versions of `alignbook.core.compositional`."""

MUTANTS = {
    "test_compositional.py": [
        ("a tie is right", "return positive > negative", "return positive >= negative"),
        ("scores exchanged", "return positive > negative", "return negative > positive"),
        (
            "infinite scores pass",
            "np.flatnonzero(~np.isfinite(scores))",
            "np.flatnonzero(np.isnan(scores))",
        ),
        (
            "macro average over items",
            "return float(np.mean(kept))",
            "return float(100 * _array(correct).mean())",
        ),
        (
            "a kind of exactly the least number is left out",
            "if count >= least and",
            "if count > least and",
        ),
        (
            "all: a mean of kinds",
            '{"all": float(100 * correct.mean())}',
            '{"all": float(np.mean(list(by_kind(correct, kinds).values())))}',
        ),
    ]
}
