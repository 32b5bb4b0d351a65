"""Wrong versions of `alignbook.workbook.plan`."""

MUTANTS = {
    "test_plan.py": [
        (
            "the shortest first",
            "ready = [(-jobs[name][0], number[name], name)",
            "ready = [(jobs[name][0], number[name], name)",
        ),
        (
            "the sum of all jobs",
            "        now, _, ended = heapq.heappop(running)",
            "        now, _, ended = now - longest, i, heapq.heappop(running)[2]",
        ),
        ("seeds do not wait for trials", "{each for each in after if each in jobs}", "set()"),
        ("one more at a time than there are GPUs", "len(running) < gpus", "len(running) <= gpus"),
        (
            "what exhibits share counts again",
            "{key: found[key] for key in found if key not in known})\n    return made",
            "found)\n    return made",
        ),
        (
            "data sets share runs",
            "return {(data, paper, each.name): each for each in found}",
            'return {("", paper, each.name): each for each in found}',
        ),
    ]
}
