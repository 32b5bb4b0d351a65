"""Names that rooms share: profiles, recall columns, targets, and how an arm is called.

Standard library only, so that the command line starts quickly.
"""

PROFILES = ("smoke", "laptop", "overnight", "gpu", "paper")  # from the shortest to the longest
COLUMNS = ("i2t R@1", "i2t R@5", "i2t R@10", "t2i R@1", "t2i R@5", "t2i R@10", "RSUM")
TARGETS = ("coco", "f30k")  # of rows whose heads are tested on data they never saw
LOOKS = (3, 5, 8, 12)  # paired seeds after which a claim is looked at
BASE_MODEL = "base-model"  # the arm that is the base model itself: whole pictures, whole captions


def row_and_target(arm: str) -> tuple[str, str]:
    """The row an arm is shown in, and the target its numbers are of, "" if there is only one.

    >>> row_and_target("clip+comalign → f30k"), row_and_target("chan")
    (('clip+comalign', 'f30k'), ('chan', ''))
    """
    row, _, target = arm.partition(" → ")
    return row, target


def slug(arm: str) -> str:
    """An arm's name as a file name.

    >>> slug("cross-attention-1/9"), slug("clip+fgm → f30k")
    ('cross-attention-1-of-9', 'clip+fgm-to-f30k')
    """
    return arm.replace("/", "-of-").replace(" → ", "-to-").replace(" ", "-")
