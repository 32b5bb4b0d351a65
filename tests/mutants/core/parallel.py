"""Wrong versions of `alignbook.core.parallel`."""

MUTANTS = {
    "test_parallel.py": [
        (
            "gather: the gradient of one rank's share alone",
            "return grad[ranks.rank()] * ranks.count()",
            "return grad[ranks.rank()]",
        ),
        (
            "gather: the gradient counts twice",
            "return grad[ranks.rank()] * ranks.count()",
            "return 2 * grad[ranks.rank()] * ranks.count()",
        ),
        (
            "gather: the gradient is dropped",
            "_Gather.apply(F.pad(x, missing))",
            "_Gather.apply(F.pad(x.detach(), missing))",
        ),
        (
            "gather: the first rank's gradient for all",
            "return grad[ranks.rank()] * ranks.count()",
            "return grad[0] * ranks.count()",
        ),
        (
            "gather: padding rows are kept",
            "torch.cat([each[:n] for each, n in",
            "torch.cat([each for each, n in",
        ),
        ("gradients: the sum over ranks", '"mean")', '"sum")'),
        (
            "part: the last rank has the first rows",
            "x.tensor_split(count)[rank] for x",
            "x.tensor_split(count)[count - 1 - rank] for x",
        ),
        (
            "part: every rank has the first rows",
            "x.tensor_split(count)[rank] for x",
            "x.tensor_split(count)[0] for x",
        ),
        ("part: all ranks draw the same", "if rank:", "if False:"),
        ("part: the first rank draws anew", "if rank:", "if True:"),
        ("part: every step draws the same", "[seed, step, rank]", "[seed, rank]"),
        (
            "columns: every rank computes the first",
            "torch.arange(columns).tensor_split(ranks.count())[ranks.rank()]",
            "torch.arange(columns).tensor_split(ranks.count())[0]",
        ),
        (
            "ranks begin with parameters of their own",
            "broadcast(x.detach(), 0)",
            "broadcast(x.detach().clone(), 0)",
        ),
    ]
}
