"""Wrong versions of `alignbook.store.stopwatch`."""

MUTANTS = {
    "test_chan_cost.py": [
        ("arms: trials are measured", 'listed[listed.role == "report"]', "listed"),
        (
            "order: row by row",
            'sort_values("seed", kind="stable")',
            'sort_values("arm", kind="stable")',
        ),
        (
            "kept: whatever the runs",
            'if found[["row", "seed", "run"]].values.tolist()',
            "if True or found.values.tolist()",
        ),
        ("kept: nothing", "if file.exists():", "if False:"),
    ],
    "test_stopwatch.py": [
        ("begun: forgotten", "lines if known == wanted", "[] if known == wanted"),
        (
            "begun: of any runs",
            "lines if known == wanted.values.tolist()[: len(known)] else []",
            "lines",
        ),
        (
            "begun: believed if it is damaged",
            "begun.exists() and durable.is_sound(begun)",
            "begun.exists()",
        ),
        ("begun: left behind", "each.unlink()", "each.exists()"),
        ("turns: once a seed", "max(times, len(own))", "len(own)"),
        ("turns: of the first seed alone", ") % len(own)]", ") * 0]"),
        ("turns: seeds beyond them are left out", "max(times, len(own))", "times"),
        ("turns: counted by seeds", ".assign(seed=range(len(own)))", ""),
        (
            "rounds: the warm-up counts",
            "spent, result = [], work()",
            "t = time.perf_counter(); result = work(); spent = [time.perf_counter() - t]",
        ),
        ("rounds: mean for median", "float(np.median(spent))", "float(np.mean(spent))"),
        (
            "memory: what stands, not the peak",
            'resident("VmHWM") - self.before',
            'resident("VmRSS") - self.before',
        ),
        ("memory: the peak is not reset", 'clear.write_text("5")', "clear.exists()"),
        (
            "memory: freed memory stays",
            "            give_back()\n            clear",
            "            clear",
        ),
    ],
}
