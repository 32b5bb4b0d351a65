"""Wrong versions of `alignbook.evidence.rounding`."""

MUTANTS = {
    "test_print_checks.py": [
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
}
