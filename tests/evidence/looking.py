"""What all claims that are worth another look want of their arms."""

from alignbook.evidence import sequential


def wanted(*asked, **more) -> dict[tuple[str, str], int]:
    """How many seeds an arm's next look takes, by exhibit and row; as `sequential.standing` takes them."""
    found: dict[tuple[str, str], int] = {}
    for each in sequential.standing(*asked, **more).values():
        found |= {arm: max(each.seeds, found.get(arm, 0)) for arm in each.arms}
    return found
