"""Wrong versions of `alignbook.core.kernels.threads`."""

MUTANTS = {
    "test_kernels.py": [
        ("a block in common", "work(left)\n\n    try", "work(iter(blocks))\n\n    try"),
        ("operators of all threads", "torch.set_num_threads(1)", "torch.set_num_threads(before)"),
        ("gradients in a thread", "torch.no_grad():", "torch.enable_grad():"),
        (
            "inference mode is the caller's alone",
            "torch.inference_mode(inference)",
            "torch.inference_mode(False)",
        ),
        ("errors of a thread unseen", "done.result()", "done.exception()"),
        ("sums as they come", "while due in waiting:", "for due in [number]:"),
        ("one thread alone", "if threads < 2:", "if threads < 9:"),
        (
            "as many threads as there are",
            "ThreadPoolExecutor(most or threads)",
            "ThreadPoolExecutor(threads)",
        ),
        ("as many chunks as blocks are in one", "blocks[i : i + n]", "blocks[i : i + 1]"),
    ]
}
