"""Wrong versions of the arithmetic with printed numbers and of the audit's comparisons."""

ARITHMETIC = [
    (name, "evidence/rounding.py", snippet, replacement)
    for name, snippet, replacement in [
        ("sum: a difference", "lambda a, b: a + b", "lambda a, b: a - b"),
        ("difference: exchanged", "lambda a, b: a - b", "lambda a, b: b - a"),
        (
            "difference: low from low",
            "for a, x in self.ends for b, y in other.ends",
            "for (a, x), (b, y) in zip(self.ends, other.ends)",
        ),
        ("quotient: exchanged", "Fraction(a) / b", "Fraction(b) / a"),
        ("quotient: a divisor around zero passes", "other.low <= 0 <= other.high", "False"),
        ("an open bound is lost", "(operation(a, b), x or y)", "(operation(a, b), x and y)"),
        ("the upper bound that is closed is lost", "(end[0], not end[1])", "(end[0], end[1])"),
        ("meets: open bounds count", "high and closed_high and not open_low", "high"),
        (
            "meets: points don't count",
            "low < high or (low == high and closed_high and not open_low)",
            "low < high",
        ),
        (
            "meets: the wider bounds",
            "max(self.ends[0], other.ends[0])",
            "min(self.ends[0], other.ends[0])",
        ),
        (
            "meets: the open one of two equal bounds is lost",
            "min((high, not open_) for high, open_ in",
            "min((high, open_) for high, open_ in",
        ),
        (
            "rounded: a whole unit",
            "self.value - unit / 2, self.value + unit / 2",
            "self.value - unit, self.value + unit",
        ),
        (
            "rounded: upwards only",
            "self.value - unit / 2, self.value + unit / 2",
            "self.value, self.value + unit / 2",
        ),
        (
            "truncated: up for negative numbers",
            "low = self.value - unit if self.value <= 0 else",
            "low = self.value if self.value < 0 else self.value - unit if self.value == 0 else",
        ),
        (
            "truncated: both ways",
            "low = self.value - unit if self.value <= 0 else self.value",
            "low = self.value - unit",
        ),
        ("truncated: the next unit belongs to it", "open_high=self.value >= 0", "open_high=False"),
        (
            "truncated: the print itself doesn't belong to it",
            "open_low=self.value <= 0",
            "open_low=True",
        ),
        ("decimals: as written, dropped zeros or not", "decimals or len(", "0 or len("),
        (
            "decimals: half of the unit's place",
            "Fraction(1, 10**self.decimals)",
            "Fraction(1, 10 ** (self.decimals + 1))",
        ),
        (
            "percent above: of the value",
            "return value / base * 100 - 100",
            "return base / value * -100 + 100",
        ),
        (
            "percent below: of the value",
            "return value / base * -100 + 100",
            "return base / value * 100 - 100",
        ),
        (
            "verdict: only one reading",
            "possible = [each for each in READINGS if",
            "possible = [each for each in READINGS[:1] if",
        ),
        (
            "verdict: readings mixed",
            "spans[each].meets(target[each])]",
            "any(spans[each].meets(other) for other in target.values())]",
        ),
        (
            "verdict: any rounding is a yes",
            'if Interval(exact, exact).meets(target["rounded"]):',
            "if possible:",
        ),
        (
            "verdict: the print must be exact",
            'if Interval(exact, exact).meets(target["rounded"]):',
            "if exact == number.value:",
        ),
        (
            "verdict: beyond includes the number",
            "Interval(number.value, math.inf, True, True)",
            "Interval(number.value, math.inf, False, True)",
        ),
        (
            "verdict: above for below",
            '"<": Interval(-math.inf, number.value, True, True)',
            '"<": Interval(number.value, math.inf, True, True)',
        ),
        ("written: cut off", "10**places + Fraction(1, 2)", "10**places + Fraction(0, 2)"),
        ("fits: the fraction below", "math.ceil(span.low", "math.floor(span.low"),
    ]
]

CHECKS = [
    (name, file, snippet, replacement)
    for file, mutants in {
        "evidence/print_checks.py": [
            (
                "decimals as each cell has them",
                "printed(cell.printed, cell.decimals)",
                "printed(cell.printed)",
            ),
            ("rows of gains taken for recalls", 'if not name.endswith("gain"):', "if True:"),
            (
                "highest: of itself too",
                "key.startswith(among) and key != name]",
                "key.startswith(among)]",
            ),
            ("highest: over the worst", "best = max(others", "best = min(others"),
            (
                "queries: rounding forgotten",
                "YES if full[0] else WITHIN",
                "WITHIN if full[0] else WITHIN",
            ),
            (
                "queries: truncation is no excuse",
                "WITHIN if full[1] else NO",
                "NO if full[1] else NO",
            ),
            (
                "recalls may fall",
                "each == sorted(each) for each in values",
                "True for each in values",
            ),
            ("formulas keep their markup", "text = text.replace(tex, sign)", "text = text"),
        ],
        "papers/chan/printed/__init__.py": [
            ("ensembles: whoever is listed", "and name not in starred]", "]"),
            ("ensembles: cited or not", "if str(n) in cited and", "if"),
            (
                "ensembles: stars of one table",
                'printed_tables.table("chan-T1"), printed_tables.table("chan-T2")',
                'printed_tables.table("chan-T1")',
            ),
            (
                "ways to reckon: near enough",
                "* 10**target.decimals * 2 <= 1]",
                "* 10**target.decimals <= 6]",
            ),
            ("ways to reckon: of the same figure", "written(elsewhere[way])", "written(ways[way])"),
        ],
        "papers/comalign/printed/__init__.py": [
            (
                "gain: of the base alone",
                "judge(exhibit, base + GAIN, column, number, difference, [new, old], how)",
                "judge(exhibit, base + GAIN, column, number, difference, [old, new], how)",
            ),
            (
                "CoCa may fall everywhere",
                'all(c.startswith("f30k t2i") for c in coca)',
                'any(c.startswith("f30k t2i") for c in coca)',
            ),
        ],
        "papers/covalign/printed/__init__.py": [
            ("drop: from the mark Default", "best = rsum[1, 1, 5]", "best = rsum[1, 1, 1]"),
            (
                "default: whatever is marked",
                "YES if fixed == {marked} else NO",
                "NO if fixed else YES",
            ),
            (
                "default: from the group that varies it",
                'if not name.startswith("Varying λ_c")}',
                'if name.startswith("Varying λ_c")}',
            ),
            ("drop: to the highest", 'lowest = min((row["RSUM"]', 'lowest = max((row["RSUM"]'),
            (
                "directions: one row suffices",
                "not (all(here) and all(others))",
                "not (any(here) and any(others))",
            ),
        ],
        "papers/gsl/printed/__init__.py": [
            ("labels: of noisy pairs", '"^c" not in refined', '"^n" not in refined'),
            (
                "time: less for more",
                "percent_below if seconds.value < base.value else percent_above",
                "percent_above if seconds.value < base.value else percent_below",
            ),
        ],
    }.items()
    for name, snippet, replacement in mutants
]
MUTANTS = [(*mutant, "test_print_checks.py") for mutant in ARITHMETIC + CHECKS]
