"""Wrong versions of `alignbook.workbook.running.timeleft`."""

MUTANTS = {
    "test_live.py": [
        (
            "left: what was measured doesn't count",
            "factor = min(max(factor, overall / WRONG), overall * WRONG)",
            "factor = 1",
        ),
        (
            "left: what is late ends at once",
            "rest = still(whole, gone)",
            "rest = max(whole - gone, 0.1 * whole)",
        ),
        (
            "left: what was kept counts as speed",
            "return 1 - up_to(kept, parts) / sum(parts)",
            "return 1.0",
        ),
        (
            "left: what is done counts with what was kept",
            "(up_to(done, parts) - before) / (sum(parts) - before)",
            "up_to(done, parts) / sum(parts)",
        ),
        ("left: any claim's seeds count", 'if line["claim"] in own]', "]"),
        (
            "left: towers see nothing",
            'TOWERS * images if p.base == "photo-pretrained" else 0.0',
            "0.0",
        ),
        (
            "left: trainings of a part say nothing",
            "+ (place - whole) * sum(parts[whole : whole + 1])",
            "",
        ),
        ("left: who shares runs trains them too", "unknown)[not alone])", "unknown)[alone])"),
        (
            "left: who is not asked for trains",
            'if not shown or row["exhibit"] in shown:',
            "if True:",
        ),
        ("left: the base model is made twice", "0.0 if one == made else ", ""),
        ("left: towers of any base", 'if p.base == "photo-pretrained" else 0.0', ""),
        (
            "left: what was stored is no sign of the rest",
            'return plan.seconds(words) * factor * (anew if words[0] in (*TRAINS, "buy") else 1)',
            "return plan.seconds(words) * factor",
        ),
        (
            "left: who found all stored is planned with",
            "max(seconds, found.get(job, 0.0))",
            "seconds",
        ),
        ("left: nobody waits for anybody", "if job[2].isdisjoint(lacking)]", "]"),
    ]
}
