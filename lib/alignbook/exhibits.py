"""What the workbook shows: its notebooks, the papers' exhibits and the arms of each.

An exhibit is a table or figure of a paper (``chan-T3`` is CHAN's Table 3); an arm is one thing
that is trained and measured for it. Nothing is imported here, so the command line starts quickly.
"""

import difflib
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Notebook:
    """One file of notebooks/.

    ``needs`` names what has to stand before it runs ("data", "base"), ``exhibits`` the exhibits it
    shows, ``expected`` its own seconds on two cores by profile, training not counted.
    """

    needs: tuple[str, ...] = ()
    exhibits: tuple[str, ...] = ()
    expected: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Exhibit:
    """One table or figure: the module that defines its arms, the notebook that shows it."""

    module: str
    notebook: str
    arms: tuple[str, ...]


# The arm that is the base model itself: whole pictures against whole captions, trained once.
BASE_MODEL = "base-model"

NOTEBOOKS = {
    "02_data": Notebook(needs=("data",), expected={"smoke": 15, "laptop": 15}),
    "03_base_models": Notebook(needs=("base",), expected={"smoke": 20, "laptop": 25}),
    "11_chan_ablations": Notebook(
        needs=("base",), exhibits=("chan-T3",), expected={"smoke": 15, "laptop": 30}
    ),
}

EXHIBITS = {
    "chan-T3": Exhibit(
        module="alignbook.chan",
        notebook="11_chan_ablations",
        arms=(
            "cross-attention",
            "cross-attention-1/9",
            "visual-codebook",  # with LogSumExp pooling: also that row of the pooling part
            "textual-codebook",
            "max",
            "average",
            "sum",
            "softmax",
            "permuted",
            BASE_MODEL,
        ),
    ),
}


# Arms the paper lacks, run with the first seed only and without trials.
CONTROLS = ("permuted",)


def slug(arm: str) -> str:
    """An arm's name as a file name.

    >>> slug("cross-attention-1/9")
    'cross-attention-1-of-9'
    """
    return arm.replace("/", "-of-")


def chapter(notebook: str) -> str:
    """The word after a notebook's number: the chapter it belongs to.

    >>> chapter("11_chan_ablations")
    'chan'
    """
    return notebook.split("_")[1]


def resolve(targets: list[str] | tuple[str, ...]) -> list[str]:
    """Notebooks behind the targets of a command line, in reading order.

    Parameters
    ----------
    targets : list of str
        Notebooks (``11_chan_ablations``), chapters (``chan``) and exhibits (``chan-T3``);
        none at all means every notebook.

    Raises
    ------
    ValueError
        Names a target nobody knows, and what comes near it.

    Examples
    --------
    >>> resolve(["chan-T3"])
    ['11_chan_ablations']
    """
    chosen = set() if targets else set(NOTEBOOKS)
    for target in targets:
        name = target.removesuffix(".ipynb").removeprefix("notebooks/")
        if name in EXHIBITS:
            chosen.add(EXHIBITS[name].notebook)
        elif matching := [each for each in NOTEBOOKS if name in (each, chapter(each))]:
            chosen.update(matching)
        else:
            raise ValueError(_unknown(target))
    return [name for name in NOTEBOOKS if name in chosen]


def _unknown(target: str) -> str:
    known = [*NOTEBOOKS, *dict.fromkeys(map(chapter, NOTEBOOKS)), *EXHIBITS]
    lower = {name.lower(): name for name in known}
    near = [lower[name] for name in difflib.get_close_matches(target.lower(), lower, cutoff=0.5)]
    hint = f"did you mean {', '.join(near)}?" if near else f"there are: {', '.join(known)}"
    return f"unknown target {target!r}; {hint}"
