"""All that the workbook shows, from the catalogues of its chapters: exhibits, arms, notebooks."""

import difflib
from collections.abc import Iterable
from itertools import chain

import alignbook.papers.chan.catalogue
import alignbook.papers.comalign.catalogue
import alignbook.papers.covalign.catalogue
import alignbook.papers.gsl.catalogue
from alignbook.core.names import BASE_MODEL, row_and_target
from alignbook.evidence import entries
from alignbook.evidence.entries import Arm, Exhibit, Notebook, is_short

CATALOGUES = (  # in the order of the chapters
    alignbook.papers.chan.catalogue,
    alignbook.papers.comalign.catalogue,
    alignbook.papers.covalign.catalogue,
    alignbook.papers.gsl.catalogue,
)


def _all(part: str) -> dict:
    """One dictionary of what each catalogue calls by a name."""
    return {key: value for each in CATALOGUES for key, value in getattr(each, part).items()}


EXHIBITS = {
    "base-models": Exhibit(  # ours: no table of a paper
        "03_base_models",
        (
            Arm("world-clip", on=("world",)),
            *entries.arms(
                "world-clip-large", "world-coca", "world-negclip", on=("world",), later=("world",)
            ),
            Arm(BASE_MODEL, on=("photographs",)),
        ),
        domain="W",
    ),
    **_all("EXHIBITS"),
}
# Settings that may say "none" for what exhibits need; then those are not made.
COMPONENTS = tuple(dict.fromkeys(field for each in EXHIBITS.values() for field in each.needs))
# Rows of tables as printed: (group, row, arm).
ROWS = _all("ROWS")

# The question of each paper that most readers come with, by the claim that answers it.
QUESTIONS = _all("QUESTION")
SIDES = _all("SIDES")  # what the first contrast of that claim compares
INSTEAD = _all("INSTEAD")  # what simpler rows may stand in place of the first side, and their names
EXPECTED = 6  # reporting seeds of a claim that seeds are bought for, in the mean
# The exhibits that these claims rest on.
FIRST = tuple(each.FIRST for each in CATALOGUES)

VERDICTS = "90_claims"  # the notebook of the verdicts
_SHORT = {"smoke": 2, "laptop": 5}
NOTEBOOKS = {
    "00_start_here": Notebook(last=True, expected=_SHORT),
    # The first to run, which waits for the packages to be loaded.
    "01_reported_numbers": Notebook(printed=True, expected={"smoke": 6, "laptop": 5}),
    "02_data": Notebook(("data",), expected={"smoke": 4, "laptop": 25}),
    "03_base_models": Notebook(("base",), ("base-models",), expected={"smoke": 4, "laptop": 15}),
    **_all("NOTEBOOKS"),
    "50_kernels": Notebook(printed=True, data=("world",), expected=_SHORT),
    "60_explorer": Notebook(
        ("base",), reads=("chan-T3", "chan-T2"), expected={"smoke": 3, "laptop": 10}
    ),
    VERDICTS: Notebook(
        ("base",), reads=tuple(EXHIBITS), printed=True, expected={"smoke": 9, "laptop": 30}
    ),
}


def paper(exhibit: str) -> str:
    """The chapter an exhibit belongs to, "base" for the base models.

    >>> paper("chan-T3"), paper("base-models")
    ('chan', 'base')
    """
    return exhibit.partition("-")[0]


def begun() -> list[str]:
    """All exhibits in the order in which their jobs begin: base models, which others start from, then
    what the primary claims rest on, then all else. Papers come from the last on, as its seeds take
    least.

    >>> begun()[:3], begun()[5:7]
    (['base-models', 'gsl-F1', 'covalign-T6'], ['gsl-T1', 'gsl-T2'])
    """
    papers = [paper(each) for each in reversed(FIRST)]
    others = [name for name in EXHIBITS if paper(name) in papers]
    others.sort(key=lambda name: (name not in FIRST, papers.index(paper(name))))
    return [name for name in EXHIBITS if name not in others] + others


def with_seeds(some: Iterable[str], data: str, profile) -> list[str]:
    """Those of some exhibits that seeds are bought for: before overnight, primary claims'."""
    if profile.seeds_most <= profile.seeds:
        return []
    long = not is_short(profile.name)
    return [
        name
        for name in some
        if paper(name) != "base" and (long or name in FIRST) and arms(name, data, profile)
    ]


def arms(exhibit: str, data: str, profile=None) -> tuple[str, ...]:
    """The arms of an exhibit on a data set, by its name; none where it is not made.

    Nor is it made where something is lacking that it needs, as the profile says if it is given; nor
    are arms that come later than the profile.

    >>> arms("base-models", "flickr8k"), arms("chan-T1", "flickr8k")
    (('base-model',), ())
    >>> arms("comalign-TI", "coco")[:2]
    ('clip → coco', 'clip+comalign → coco')
    """
    found = EXHIBITS[exhibit]
    if found.data and data not in found.data or lacking(exhibit, data, profile):
        return ()
    kind = "features" if data.endswith("precomp") else "photographs"
    kind = "world" if data == "world" else kind
    names = found.names(kind, profile=profile.name if profile else "")
    elsewhere = {"world": "", "coco": "f30k"}.get(data, "coco")  # the target these data are not
    return tuple(name for name in names if row_and_target(name)[1] != elsewhere or not elsewhere)


def jobs(exhibit: str, data: str, profile=None, spread: str = "arm") -> list[tuple[str, ...]]:
    """The arms of an exhibit by the job that trains them, one after another: in `spread` "exhibit"
    all in one. Otherwise each has its own, except those that share a process, as `Arm.job` says; in
    "seed" other jobs have trained what it lists.

    >>> [len(job) for job in jobs("comalign-TI", "world")], len(jobs("chan-T1", "world"))
    ([17, 4, 4, 4], 13)
    >>> [len(job) for job in jobs("gsl-F1", "world")], len(jobs("gsl-T1", "world"))
    ([4, 4, 4, 4, 4, 4, 2, 2, 1, 1], 1)
    >>> [len(job) for job in jobs("covalign-T5", "world")], len(jobs("covalign-T6", "world"))
    ([5, 2, 3, 3], 1)
    """
    groups: dict[str, list[str]] = {}
    for name in arms(exhibit, data, profile):
        shared = (EXHIBITS[exhibit].arm(name).job or name) if spread in ("arm", "seed") else ""
        groups.setdefault(shared, []).append(name)
    return [tuple(group) for group in groups.values()]


def buyers(spread: str) -> range:
    """The numbers of the jobs that together buy seeds for a paper; in `spread` "seed", which a cluster
    has from overnight on, each may have a node of its own.

    They do not depend on the number of cores: otherwise a start with another number would find jobs
    left.
    """
    return range(8 if spread == "seed" else 2)


def lacking(exhibit: str, data: str, profile) -> list[str]:
    """The settings that say "none" for something the exhibit needs on these data.

    The world has all, except boxes where no detector is installed.
    """
    if profile is None:
        return []
    needs = [field for field in EXHIBITS[exhibit].needs if data != "world" or field == "boxes"]
    return [field for field in needs if getattr(profile, field) == "none"]


def chapter(notebook: str) -> str:
    """The word after a notebook's number: the chapter it belongs to.

    >>> chapter("11_chan_ablations")
    'chan'
    """
    return notebook.split("_")[1]


def resolve(targets: list[str] | tuple[str, ...], data: str = "world") -> list[str]:
    """Notebooks behind the targets of a command line, in reading order.

    Parameters
    ----------
    targets : list of str
        Notebooks (``11_chan_ablations``), chapters (``chan``) and exhibits (``chan-T3``);
        none at all means every notebook.
    data : str
        The data set's name; notebooks that are not made on it are left out.

    Raises
    ------
    ValueError
        Names a target nobody knows, and what comes near it; or targets that this data has not.

    Examples
    --------
    >>> resolve(["chan-T3"])
    ['11_chan_ablations']
    """
    chosen = set() if targets else set(NOTEBOOKS)
    for target in targets:
        name = target.removesuffix(".ipynb").removeprefix("notebooks/")
        if matching := [
            each
            for each, notebook in NOTEBOOKS.items()
            if name in (each, chapter(each), *notebook.shown)
        ]:
            chosen.update(matching)
        else:
            raise ValueError(_unknown(target))
    made_on = {name: _made_on(each) or (data,) for name, each in NOTEBOOKS.items()}
    made = [name for name in NOTEBOOKS if name in chosen and data in made_on[name]]
    if not made:
        where = dict.fromkeys(kind for name in chosen for kind in made_on[name])
        raise ValueError(
            f"{', '.join(targets)}: not made on {data} but on {', '.join(where)}; for "
            "the world start it without --data"
        )
    return made


def _made_on(notebook: Notebook) -> tuple[str, ...]:
    """The data sets that a notebook is made on, those of its exhibits; () where these are all."""
    of = [EXHIBITS[name].data for name in notebook.exhibits]
    return notebook.data or (tuple(dict.fromkeys(chain(*of))) if all(of) else ())


def _unknown(target: str) -> str:
    shown = [name for notebook in NOTEBOOKS.values() for name in notebook.shown]
    known = [*NOTEBOOKS, *dict.fromkeys(map(chapter, NOTEBOOKS)), *shown]
    lower = {name.lower(): name for name in known}
    near = [lower[name] for name in difflib.get_close_matches(target.lower(), lower, cutoff=0.5)]
    hint = f"did you mean {', '.join(near)}?" if near else f"there are: {', '.join(known)}"
    return f"unknown target {target!r}; {hint}"
