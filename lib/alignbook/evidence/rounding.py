"""A printed number stands for an interval of true values: arithmetic with these intervals, exactly.

57.9 may have been anything from 57.85 to 57.95 before it was rounded, or from 57.90 to just below
58.00 before it was cut off. What is derived from printed numbers (a sum, a gain, a percentage) is
right as long as some true values give it. All is computed with fractions, as 0.1 + 0.2 is 0.3.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

READINGS = ("rounded", "truncated")
YES, WITHIN, NO = "yes", "within rounding", "no"


@dataclass(frozen=True)
class Interval:
    """The values between two bounds; an open bound is not one of them.

    Examples
    --------
    >>> Interval(1, 2) - Interval(3, 5, open_high=True)
    Interval(low=-4, high=-1, open_low=True, open_high=False)
    """

    low: Fraction | float  # infinite, or a fraction
    high: Fraction | float
    open_low: bool = False
    open_high: bool = False

    @property
    def ends(self) -> tuple:
        return (self.low, self.open_low), (self.high, self.open_high)

    def _combine(self, other, operation: Callable) -> "Interval":
        """Bounds of the result: of an operation that rises or falls in each of its two values."""
        other = other if isinstance(other, Interval) else Interval(other, other)
        found = [(operation(a, b), x or y) for a, x in self.ends for b, y in other.ends]
        low, high = min(found), max(found, key=lambda end: (end[0], not end[1]))
        return Interval(low[0], high[0], low[1], high[1])

    def __add__(self, other) -> "Interval":
        return self._combine(other, lambda a, b: a + b)

    def __sub__(self, other) -> "Interval":
        return self._combine(other, lambda a, b: a - b)

    def __mul__(self, other) -> "Interval":
        return self._combine(other, lambda a, b: a * b)

    def __truediv__(self, other) -> "Interval":
        if isinstance(other, Interval) and other.low <= 0 <= other.high:
            raise ZeroDivisionError(f"the divisor may be zero: {other}")
        return self._combine(other, lambda a, b: Fraction(a) / b)

    def meets(self, other: "Interval") -> bool:
        """Whether some value lies in both."""
        low, open_low = max(self.ends[0], other.ends[0])
        high, closed_high = min((high, not open_) for high, open_ in (self.ends[1], other.ends[1]))
        return low < high or (low == high and closed_high and not open_low)


@dataclass(frozen=True)
class Printed:
    """A number as printed: its text, its exact value and the decimals it is printed with."""

    text: str
    value: Fraction
    decimals: int

    def read(self, reading: str) -> Interval:
        """The true values behind the print, "rounded" to the nearest or "truncated" towards zero.

        >>> printed("57.9").read("truncated") == Interval(Fraction("57.9"), 58, open_high=True)
        True
        """
        unit = Fraction(1, 10**self.decimals)
        if reading == "rounded":
            return Interval(self.value - unit / 2, self.value + unit / 2)
        low = self.value - unit if self.value <= 0 else self.value
        high = self.value + unit if self.value >= 0 else self.value
        return Interval(low, high, open_low=self.value <= 0, open_high=self.value >= 0)


def printed(text: str, decimals: int | None = None) -> Printed:
    """A number from its text, such as "3,670.46" or "46%".

    Parameters
    ----------
    decimals : where the print dropped zeros, how many it would have had.

    Examples
    --------
    >>> printed("50", decimals=2).read("rounded").high == Fraction("50.005")
    True
    """
    plain = text.removeprefix("<").removesuffix("%").replace(",", "")
    return Printed(text, Fraction(plain), decimals or len(plain.partition(".")[2]))


def written(value: Fraction, decimals: int = 0) -> str:
    """A value with at least these decimals, and up to two if it has more; halves are rounded up.

    >>> written(Fraction("3.5353")), written(Fraction("495.4"), 1), written(Fraction("-0.165"))
    ('3.54', '495.4', '-0.17')
    """
    places = max(decimals, 2)
    whole, part = divmod(math.floor(abs(value) * 10**places + Fraction(1, 2)), 10**places)
    digits = f"{part:0{places}}"
    digits = digits[:decimals] + digits[decimals:].rstrip("0")
    return f"{'-' * (value < 0)}{whole}{'.' * bool(digits)}{digits}"


# --- Formulas, of exact numbers and of intervals alike -------------------------------------------


def total(*numbers):
    """Sum of numbers, or of intervals."""
    return sum(numbers[1:], numbers[0])


def difference(first, second):
    return first - second


def percent_above(value, base):
    """By how many percent of the base the value is above it."""
    return value / base * 100 - 100


def percent_below(value, base):
    return value / base * -100 + 100


def same(number):
    return number


# --- The verdict ---------------------------------------------------------------------------------


def verdict(
    number: Printed, formula: Callable, inputs: list[Printed], relation: str = "="
) -> tuple[str, str, str]:
    """Recompute a printed number by a formula of others, and compare.

    Parameters
    ----------
    formula : takes the inputs in order, exact numbers or intervals alike, and each only once.
    relation : "=", or ">" and "<" where the formula's value is said to lie beyond `number`.

    Returns
    -------
    recomputed : str
        From the digits as printed.
    agrees : str
        "yes": the printed digits give it. "within rounding": they don't, but some true values do,
        every number having been rounded, or every one truncated. "no": none does.
    remark : str
        What rounding explains, or what it allows; empty with "yes".

    Examples
    --------
    >>> verdict(printed("10.1"), total, [printed("4.7"), printed("5.3")])
    ('10.0', 'within rounding', 'possible if all are rounded or all truncated')
    """
    beyond = {
        ">": Interval(number.value, math.inf, True, True),
        "<": Interval(-math.inf, number.value, True, True),
    }
    target = {each: beyond.get(relation) or number.read(each) for each in READINGS}
    spans = {each: formula(*(n.read(each) for n in inputs)) for each in READINGS}
    possible = [each for each in READINGS if spans[each].meets(target[each])]
    exact = formula(*(n.value for n in inputs))
    recomputed = written(exact, number.decimals)
    if Interval(exact, exact).meets(target["rounded"]):
        return recomputed, YES, ""
    if possible:
        return recomputed, WITHIN, f"possible if all are {' or all '.join(possible)}"
    low, high = min(each.low for each in spans.values()), max(each.high for each in spans.values())
    places = max(number.decimals, 1) + 1
    return recomputed, NO, f"rounding allows {float(low):.{places}f} to {float(high):.{places}f}"


def fits(number: Printed, whole: int, reading: str) -> bool:
    """Whether some number of hits out of `whole` queries, in percent, prints as this number.

    >>> fits(printed("78.59"), 1014, "truncated"), fits(printed("78.59"), 1000, "truncated")
    (True, False)
    """
    span = number.read(reading)
    nearest = Fraction(100 * math.ceil(span.low * whole / 100), whole)
    return Interval(nearest, nearest).meets(span)
