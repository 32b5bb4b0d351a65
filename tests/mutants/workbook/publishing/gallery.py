"""Wrong versions of `alignbook.workbook.publishing.gallery`."""

MUTANTS = {
    "test_gallery.py": [
        (
            "all is of earlier code",
            "for one in found if _of_other_code(one)]:",
            "for one in found]:",
        ),
        ("what can't be had is testable", "listed[listed.verdict.isin(TESTABLE)]", "listed"),
        (
            "what the laptop said before",
            "for one in answers.largest(judged, claim):",
            "for one in judged:",
        ),
        (
            "what counts is told as decided otherwise",
            "(one.data, claim, verdict) not in known",
            "(one.data, claim, verdict) in known",
        ),
        ("a small one is as any", "start.verdict_of(row) != row.verdict", "False"),
        ("what was judged lacks", "if claim not in judged])", "if claim])"),
        ("one model as seeds", "if row.low == row.high:", "if False:"),
        ("the marks exchanged", 'learnt.STILL_LEARNING: "†"', 'learnt.LEARNT: "†"'),
        ("curves are drawn", "and not path.stem.endswith(ASIDE)", "and path"),
        ("single arms are drawn", "len(one.arms(exhibit)) == 1 <", "len(one.arms(exhibit)) == 0 <"),
        ("their tables too", "and not _is_alone(one, name)", ""),
        ("one table an exhibit", 'SEVERAL.sub("", path.stem)', "path.stem"),
        ("made wherever it is asked", "(t.exhibit, t.row) not in made", "t not in made"),
        ("the only arm there is", "== 1 < len(exhibits.EXHIBITS[exhibit].arms)", "== 1"),
        (
            "hours of the first start",
            'sum(each["seconds"] or 0 for each in starts)',
            'starts[0]["seconds"]',
        ),
        ("old answers stay", "_, _, after = rest.partition(END)", "after = rest"),
        (
            "written every time",
            'if not path.exists() or path.read_text(encoding="utf-8") != text:',
            "if True:",
        ),
    ]
}
