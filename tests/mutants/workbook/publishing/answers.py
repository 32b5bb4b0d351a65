"""Wrong versions of `alignbook.workbook.publishing.answers`."""

MUTANTS = {
    "test_answers.py": [
        (
            "earlier settings speak against all",
            "if one.earlier(claim) or not other.earlier(claim)]",
            "]",
        ),
        (
            "earlier settings never speak",
            "if one.earlier(claim) or not other.earlier(claim)]",
            "if not other.earlier(claim)]",
        ),
        (
            "an idle control is no matter",
            '"a control of four times the steps did not train" * (verdicts.IDLE in row.why)',
            '""',
        ),
        ("every claim's rerun", "        if line.claim == claim:", "        if True:"),
        ("pictures beside every answer", "if first.query_low < 0 < first.query_high:", "if True:"),
        ("what is open is told as decided", "if row.verdict in beside.DECIDED:", "if True:"),
        (
            "what more steps move is said twice",
            "elif not (told and lacks.startswith(start.EARLY[0])):",
            "else:",
        ),
        ("every rerun", ' and line["reading again"] != row.verdict', ""),
        ("every length of training", "told = steps and not 0.5", "told = steps or not 0.5"),
        (
            "a flipped sign passes",
            "_number(steps) / first.value",
            "abs(_number(steps) / first.value)",
        ),
        ("all that is simpler", "if values and values[0] >= values[1] and", "if values and"),
        ("against the mean of all targets", "values[0] >= values[1]", "values[0] >= first.value"),
        (
            "other exhibits' pictures",
            "one.metrics.exhibit.isin(asked)",
            "one.metrics.exhibit.ne(0)",
        ),
        ("the warm-up said twice", " and not 0 < left == seeds:", ":"),
        ("without a warm-up", ".step.min() < 0", ".step.min() < 99"),
        (
            "the last look",
            'looks.groupby("seed").value.idxmax()',
            'looks.groupby("seed").step.idxmax()',
        ),
        (
            "the other side's warm-up",
            "one.asked(claim).first.terms}",
            "one.asked(claim).second.terms}",
        ),
        ("the loss is a look", 'own[(own.curve == "dev") & (own.step >= 0)]', "own"),
        ("one recall as the sum of six", ' points" + " a recall" * (not own)', ' points"'),
        ("other profiles are silent", "not other.found(claim) or [", "other.found(claim) or ["),
        ("other profiles agree aloud", "== [row.verdict]", "== []"),
        ("other data is another profile", "if other.data == one.data and other", "if other"),
        (
            "the sides exchanged",
            '" minus ".join(exhibits.SIDES',
            '" minus ".join(exhibits.SIDES[claim][::-1] or exhibits.SIDES',
        ),
        (
            "the other side is replaced",
            "first=with_row(asked.first))",
            "second=with_row(asked.first))",
        ),
        ("seeds that both have", "np.mean([*values[term].values()])", "values[term][0]"),
        ("of all targets", "first=contrast.first.on(there)", "first=contrast.first"),
        ("the least alone", "(min(told), max(told))", "(min(told), min(told))"),
        ("any rows", "if _rows(each) == _rows(asked.contrasts[0])", "if each"),
        ("without a sign", '"+" * bool(value > 0)', '""'),
    ],
    "test_gallery.py": [
        (
            "the smallest speaks",
            "measured = [one for one in found if",
            "measured = [one for one in found[::-1] if",
        ),
        (
            "what had not learnt speaks",
            "        *(one for one in measured if _learnt(one, claim)),\n        *today,\n        *(one for one in today if _learnt(one, claim)),\n",
            "        *today,\n",
        ),
        ("who speaks alone is silent", "        *measured,\n", ""),
        ("an earlier method speaks", "        *today,\n", ""),
        ("what did not train speaks", "row.verdict != learnt.DID_NOT_TRAIN and", ""),
    ],
}
