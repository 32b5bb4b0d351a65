"""GPU hours reckoned from operations: what every paper's `hours` has in common.

An estimate, right within a factor of 3.
"""

SPEED = 1e13  # operations a second that a data-centre GPU reaches on these shapes, in float32
WORDS = 25  # of a caption, the longest of a batch
BERT_BASE = 85e6  # weights of a BERT-Base that every word passes


def of(trainings: int, steps: int, operations: float) -> float:
    """Hours of so many trainings of so many steps.

    >>> of(36, 1000, 1e12)
    1.0
    """
    return trainings * steps * operations / SPEED / 3600


def said(trainings: str, steps: int, operations: float) -> str:
    """The same in words.

    >>> said("36 trainings", 1000, 1e12)
    '36 trainings × 1,000 steps × 0.10 s, 1.0e+12 operations'
    """
    return (
        f"{trainings} × {steps:,} steps × {operations / SPEED:.2f} s, {operations:.1e} operations"
    )
