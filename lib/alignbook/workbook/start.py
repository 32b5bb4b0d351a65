"""What notebook 00 shows: the main answers, what is installed and computed, and how far it is."""

import importlib.metadata
import json
import math
import platform
import re
import time
from pathlib import Path

import pandas as pd

from alignbook import ROOT
from alignbook.evidence import claims, learnt, statistics, verdicts
from alignbook.evidence.claims import DECIMALS
from alignbook.evidence.families import NO_DIFFERENCE
from alignbook.evidence.printed_tables import PAPERS, REBUILT
from alignbook.show import tables
from alignbook.workbook import exhibits, folders, profiles
from alignbook.workbook.publishing import beside
from alignbook.workbook.running import execute

MAP = "00_start_here"
SAID = (*verdicts.JUDGED, learnt.DID_NOT_TRAIN)  # verdicts that are counted
EARLY = (
    "four times the steps move",
    "four times the steps take it out of",
    "may turn, as the arm behind was still learning",
)  # no seeds decide these
DOUBTS = (*EARLY, "every seed gave the same", "not trained", "four times the steps")
DOUBTS += ("the control of four times", "still learning", "chosen at the edge")
DOUBTS += ("dev chose other settings",)
PACKAGES = ("torch", "numpy", "open_clip_torch", "transformers", "timm", "spacy", "jupyterlab")


def installed(device: str) -> pd.DataFrame:
    """Python, the packages that numbers depend on, and where models run: what, found."""
    found = [("Python", platform.python_version())]
    found += [(name, importlib.metadata.version(name)) for name in PACKAGES]
    return pd.DataFrame([*found, ("models run on", device)], columns=["what", "found"])


def computed(results: Path = ROOT / "results") -> pd.DataFrame:
    """What the main job has left, a line a results folder.

    Returns
    -------
    DataFrame
        results (`world-laptop`), notebooks ("12 of 26": finished, of those that these data have),
        numbers (rows of metrics.csv), the verdicts of its claims, and the day of the last notebook.
        No line where nothing is finished.
    """
    lines = []
    for folder in sorted(results.glob("*-*"), key=_place):
        done = [path for path in folder.glob("notebooks/*.done") if path.stem != MAP]
        if not done:
            continue
        all_of = len(_others(folder.name.partition("-")[0]))
        metrics, claims = folder / "metrics.csv", folder / "claims.csv"  # a start mends its own
        last = max(path.stat().st_mtime for path in done)
        judged = folders.is_whole(claims)
        said = pd.read_csv(claims).verdict.value_counts() if judged else {}
        lines.append(
            (
                folder.name,
                f"{len(done)} of {all_of}",
                len(pd.read_csv(metrics)) if folders.is_whole(metrics) else 0,
                ", ".join(f"{said[name]} {name}" for name in SAID if name in said) or "–",
                time.strftime("%Y-%m-%d", time.localtime(last)),
            )
        )
    return pd.DataFrame(lines, columns=["results", "notebooks", "numbers", "verdicts", "last"])


def in_short(book) -> str:
    """A line a paper, in Markdown: its question, the first contrast of the claim that answers it,
    and the verdict on the claim, as notebook 90 left them in the results folder; and the claim's
    verdicts on other data, with how many claims are decided there alike.
    """
    if not (book.out / "claims.csv").exists():
        return "No verdict so far: notebook 90 has not been run here."
    claims = pd.read_csv(book.out / "claims.csv", keep_default_na=False)
    claims = claims.set_index("claim", drop=False)
    contrasts = pd.read_csv(book.out / "contrasts.csv").drop_duplicates("claim").set_index("claim")
    lines, elsewhere = [], beside.table(book).set_index("claim")
    own = {"says", f"{book.kind}, {book.profile.name}"}
    others = [name for name in elsewhere if name not in own]
    for claim, question in exhibits.QUESTIONS.items():
        if claim in claims.index and claim in contrasts.index:
            first, said = contrasts.loc[claim], claims.loc[claim]
            page = f"{exhibits.EXHIBITS[said.exhibit].notebook}.ipynb"
            there = (book.out / "notebooks" / page).exists()
            lines.append(
                {
                    "question": f"[{question}]({page})" if there else question,
                    "difference": first.contrast,
                    "value": value(first),
                    "over seeds": interval(first),
                    "over images": interval(first, "query_"),
                    "the claim is": f"**{verdict_of(said)}**{doubts(said, first)}",
                }
                | {f"on {data}": _verdict(elsewhere, claim, data) for data in others}
            )
    if not lines:
        return "None of the main questions was computed."
    shown = tables.markdown(pd.DataFrame(lines).replace(r"\|", r"\\|", regex=True))
    return f"{shown}\n\n{beside.said(elsewhere.reset_index())}" if others else shown


def answers(claims: pd.DataFrame, contrasts: pd.DataFrame) -> list[str]:
    """A line a main question for the terminal: its paper, the verdict, the first contrast.

    Parameters
    ----------
    claims, contrasts : as `verdicts.judge` returns them. What was not judged is left out.
    """
    lines = []
    for row in claims[
        claims.claim.isin(exhibits.QUESTIONS) & claims.verdict.isin(SAID)
    ].itertuples():
        first = contrasts[contrasts.claim == row.claim].iloc[0]
        paper = exhibits.paper(row.exhibit)
        named = f"{PAPERS[paper]}{REBUILT[paper]}"
        question = exhibits.QUESTIONS[row.claim]
        said = f"{verdict_of(row)}: {first.contrast} {found(first)}"
        lines.append("; ".join(filter(None, (f"{named}: {question} {said}", lacks(row, first)))))
    return lines


def verdict_of(row) -> str:
    """A claim's verdict, with its band if it is that there is no difference, or one within it.

    >>> from types import SimpleNamespace as Row
    >>> verdict_of(Row(verdict="no difference", why="surely within ±4.8 %, the band named beforehand"))
    'no difference beyond ±4.8 %'
    >>> verdict_of(Row(verdict="reproduced", why="it holds; surely within ±4.8 %, the band named beforehand"))
    'reproduced in sign, within ±4.8 %'
    """
    band = re.search("surely within (±[^,]+)", row.why)
    beyond = " beyond" if row.verdict == NO_DIFFERENCE else " in sign, within"
    return f"{row.verdict}{beyond} {band[1]}" if band else row.verdict


def lacks(row, contrast=None) -> str:
    """What weighs most against an undecided claim, or what its contrasts say; "" for other verdicts.

    >>> from types import SimpleNamespace as Row
    >>> why = "not counted; four times the steps move a − b from 5.0 to 1.0; still learning: a"
    >>> lacks(Row(verdict="undecided", why=why, needed="15.0"))
    'four times the steps move a − b from 5.0 to 1.0'
    """
    if row.verdict != "undecided":
        return ""
    said = doubts(row, contrast).split("; ")
    return next((each for each in said if each.startswith(EARLY)), said[-1])


def found(contrast) -> str:
    """A contrast with its interval, where that is not of 95 % its level too, and its seeds, or
    measurements.

    >>> line = dict(claim="", unit="%", value=1.0, low=0.5, high=1.5, seeds=3)
    >>> found(pd.Series(line | {"level": 0.9})), found(pd.Series(line | {"level": 0.95}))
    ('+1.0 % [0.5, 1.5] (90 %), 3 seeds', '+1.0 % [0.5, 1.5], 3 seeds')
    """
    name = counted(contrast)
    seeds = f"one {name[:-1]}" if contrast.seeds == 1 else f"{contrast.seeds:.0f} {name}"
    between = interval(contrast).replace("\\", "")
    level = contrast.get("level", 0.95)
    of = f" ({100 * level:.0f} %)" * bool(level != 0.95)
    return f"{value(contrast)}{f' {between}{of}' * (between != '–')}, {seeds}"


def counted(row) -> str:
    """What the numbers of a claim are counted in."""
    measured = {each.id for each in claims.load() if each.measured}
    return "measurements" if getattr(row, "claim", "") in measured else "seeds"


def doubts(row, contrast=None) -> str:
    """What speaks against a claim's verdict, or what an undecided one lacks: where nothing else is known,
    what its contrasts say.

    Parameters
    ----------
    row : a line of claims.csv.
    contrast : its line of contrasts.csv. Where that needs more seeds than the claim, it is the claim's
        band that so many seeds would reach.

    >>> from types import SimpleNamespace as Row
    >>> doubts(Row(verdict="undecided", why="it points the other way", needed="15.0"))
    '; about 15 seeds would decide it'
    >>> doubts(Row(verdict="reproduced", why="it holds; still learning: chan-T3 max", needed="3.0"))
    '; still learning: chan-T3 max'
    >>> doubts(Row(verdict="undecided", why="not trained: four times the steps raise a", needed=math.nan))
    '; not trained: four times the steps raise a'
    >>> doubts(Row(verdict="undecided", why="dev chose other settings: a", needed=math.nan))
    '; dev chose other settings: a'
    >>> doubts(Row(verdict="undecided", why="2 of 4 contrasts point the right way", needed=math.nan))
    '; 2 of 4 contrasts point the right way'
    """
    if row.verdict not in verdicts.JUDGED:
        return ""
    said = [part for part in row.why.split("; ") if part.startswith(DOUBTS)]
    count = float(row.needed or "nan")
    if row.verdict == "undecided" and not math.isnan(count):
        said.append(_enough(count, row, contrast))
    if row.verdict == "undecided" and not said:
        said = row.why.split("; ")[:1]
    return "".join(f"; {each}" for each in said)


def _enough(count: float, row, contrast) -> str:
    """What so many seeds would do for an undecided claim."""
    if math.isinf(count):
        return f"more than {statistics.MOST_SEEDS} {counted(row)} would be needed"
    band = [each.same for each in claims.load() if each.id == getattr(row, "claim", "")]
    if contrast is not None and band and band[0] and contrast.needed > count:
        within = f"±{band[0].high:g} {band[0].unit}"
        return f"about {count:.0f} {counted(row)} would show that any difference is within {within}"
    return f"about {count:.0f} {counted(row)} would decide it"


def _verdict(elsewhere: pd.DataFrame, claim: str, data: str) -> str:
    return elsewhere.at[claim, data] if claim in elsewhere.index else "–"


def value(contrast) -> str:
    """A contrast's value with its unit."""
    sign = "" if contrast.unit == "×" or not contrast.value > 0 else "+"
    return f"{sign}{_number(contrast, 'value')} {contrast.unit}"


def interval(contrast, of: str = "") -> str:
    """A contrast's interval, over seeds or ("query_") over images; a dash if there is none."""
    if pd.isna(contrast[f"{of}low"]):
        return "–"
    return rf"\[{_number(contrast, f'{of}low')}, {_number(contrast, f'{of}high')}\]"


def _number(contrast, of: str) -> str:
    """A number of a contrast; with one more decimal where the value would be written as zero.

    >>> row = pd.Series({"unit": "points", "value": -0.04, "low": -0.125})
    >>> _number(row, "value"), _number(row, "low"), _number(row.replace(-0.04, 0.06), "low")
    ('−0.04', '−0.12', '−0.1')
    """
    decimals = DECIMALS.get(contrast.unit, 1)
    zero = 0 < abs(contrast.value) < 0.5 * 10**-decimals
    return tables.written(contrast[of], decimals + zero)


def circumstances(book) -> pd.DataFrame:
    """On what data and with which settings the results were made: what, found."""
    file, found = book.out / "data.json", book.kind
    if file.exists():
        said = json.loads(file.read_text(encoding="utf-8"))
        splits = ", ".join(f"{number:,} {split}" for split, number in said["images"].items())
        found += f": images {splits}; {said['captions per image']} captions each"
    file = book.out / "settings.json"
    changed = folders.settings_of(book.out)["set"] if file.exists() else {}
    lines = [
        ("data", found),
        ("seeds", _seeds(book.profile)),
        ("changed settings", ", ".join(f"{k}={v}" for k, v in changed.items()) or "none"),
    ]
    return pd.DataFrame(lines, columns=["what", "found"])


def _seeds(profile) -> str:
    """How many reporting seeds arms have."""
    if profile.seeds_most > profile.seeds:
        return f"{profile.seeds} a reported arm, and up to {profile.seeds_most} where they decide"
    return f"{profile.seeds} a reported arm"


def _place(folder: Path) -> tuple[str, int]:
    """Data sets by name, their profiles from the smallest to the largest."""
    (data, _, profile), known = folder.name.partition("-"), profiles.PROFILES
    return data, known.index(profile) if profile in known else len(known)


def _papermill(executed: Path) -> dict:
    """When a notebook was executed (UTC) and for how many seconds, as far as its copy says."""
    try:
        said = json.loads(executed.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return said.get("metadata", {}).get("papermill", {})


def _others(kind: str) -> list[str]:
    """The notebooks of a data set except the one that shows this."""
    return [name for name in exhibits.resolve([], kind) if name != MAP]


def notebooks(book) -> pd.DataFrame:
    """How far each notebook of a workbook's data is in its results folder.

    Returns
    -------
    DataFrame
        notebook, the exhibits it shows, whether it is there ("done", "not yet", or what stopped
        it), and when and for how long it ran.
    """
    lines = []
    for name in _others(book.kind):
        executed = book.out / "notebooks" / f"{name}.ipynb"
        state = "done" if executed.with_suffix(".done").exists() else "not yet"
        if state == "not yet" and executed.exists():
            state = execute.failure(executed) or state
        ran = _papermill(executed)
        when = (ran.get("end_time") or "–")[:16].replace("T", " ")
        shown = ", ".join(exhibits.NOTEBOOKS[name].shown) or "–"
        lines.append((name, shown, state, when, ran.get("duration") or float("nan")))
    columns = ["notebook", "exhibits", "here", "executed (UTC)", "its seconds"]
    return pd.DataFrame(lines, columns=columns)
