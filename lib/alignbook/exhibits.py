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
    shows, ``reads`` those of other notebooks that it takes numbers from, ``printed`` whether it
    takes the papers' numbers, ``expected`` its own seconds on two cores by profile, training not
    counted.
    """

    needs: tuple[str, ...] = ()
    exhibits: tuple[str, ...] = ()
    reads: tuple[str, ...] = ()
    printed: bool = False
    expected: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Exhibit:
    """One table or figure: the module that defines its arms, the notebook that shows it.

    ``arms`` are those in the world, ``photographs`` those elsewhere where they are others.
    """

    module: str
    notebook: str
    arms: tuple[str, ...]
    photographs: tuple[str, ...] = ()


# The arm that is the base model itself: whole pictures against whole captions, trained once.
BASE_MODEL = "base-model"

EXHIBITS = {
    "base-models": Exhibit(  # ours: no table of a paper
        module="alignbook.transfer",
        notebook="03_base_models",
        arms=("world-clip", "world-clip-large", "world-coca", "world-negclip"),
        photographs=(BASE_MODEL,),
    ),
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

NOTEBOOKS = {
    "01_reported_numbers": Notebook(printed=True, expected={"smoke": 10, "laptop": 10}),
    "02_data": Notebook(needs=("data",), expected={"smoke": 15, "laptop": 25}),
    "03_base_models": Notebook(
        needs=("base",), exhibits=("base-models",), expected={"smoke": 20, "laptop": 25}
    ),
    "11_chan_ablations": Notebook(
        needs=("base",), exhibits=("chan-T3",), printed=True,
        expected={"smoke": 15, "laptop": 30},
    ),
    "90_claims": Notebook(
        needs=("base",), reads=tuple(EXHIBITS), printed=True, expected={"smoke": 20, "laptop": 20}
    ),
}


# Table 3 as printed: (group, row, arm). The LSE row of the poolings is the visual codebook's run;
# the controls are ours and have nothing beside them.
CHAN_TABLE_3 = (
    ("Coding Types", "Cross-Attention", "cross-attention"),
    ("Coding Types", "Visual Codebook", "visual-codebook"),
    ("Coding Types", "Textual Codebook", "textual-codebook"),
    ("Pooling Types", "Max-Pooling", "max"),
    ("Pooling Types", "Average-Pooling", "average"),
    ("Pooling Types", "Sum-Pooling", "sum"),
    ("Pooling Types", "Softmax-Pooling", "softmax"),
    ("Pooling Types", "LSE-Pooling", "visual-codebook"),
    ("Controls (ours)", "Cross-Attention, τ = 1/9", "cross-attention-1/9"),
    ("Controls (ours)", "Captions permuted in training", "permuted"),
    ("Controls (ours)", "Base model, whole against whole", BASE_MODEL),
)

# Arms the paper lacks, run with the first seed only and without trials.
CONTROLS = ("permuted",)


def arms(exhibit: str, data: str) -> tuple[str, ...]:
    """The arms of an exhibit on a data set, by its name.

    >>> arms("base-models", "flickr8k")
    ('base-model',)
    """
    found = EXHIBITS[exhibit]
    names = found.arms if data == "world" else found.photographs or found.arms
    if data.endswith("precomp"):  # region features without pictures: nothing to train a base on
        names = tuple(name for name in names if name != BASE_MODEL)
    return names


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
