"""CoV-Align's setting that names files: the ViT whose patches it takes."""

from collections.abc import Sequence

WORDS = {"covalign_vit": ("base",)}  # what a setting says that names files, but for these words


def held(name: str, value: str, profile, data: str) -> str:
    """The ViT's label, which stands in results, and the hash of its files."""
    from alignbook.papers.covalign import two_towers

    source = two_towers.ViT(value)
    return f"{source.label} {source.key}"


def problem(name: str, profile, data: str, exhibits: Sequence[str] = ()) -> str:
    """What speaks against a profile's ViT, "" if nothing does; the paper profile's list says more."""
    if profile.covalign_vit == "base" or profile.name == "paper":
        return ""
    from alignbook.papers.covalign import two_towers

    try:
        two_towers.ViT(profile.covalign_vit).load(profile.size)
    except ValueError as error:
        return str(error)
    return ""
