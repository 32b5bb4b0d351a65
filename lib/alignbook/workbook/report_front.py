"""The report's front page and its page of verdicts, in Markdown."""

import json
import re
from itertools import groupby
from pathlib import Path

import pandas as pd

from alignbook.evidence.claims import DECIMALS
from alignbook.evidence.printed_tables import PAPERS
from alignbook.show import run_tables, tables
from alignbook.store import progress, verbatim
from alignbook.workbook import exhibits, report_notebooks


def results(out: Path, name: str):
    """A table of the results folder, None if it is not there."""
    path = out / f"{name}.csv"
    return pd.read_csv(path, keep_default_na=False, na_values=[""]) if path.exists() else None


def title(book) -> str:
    """What the report is of."""
    return f"alignbook: {book.kind}, {book.profile.name} profile"


def announcement(book) -> str:
    """What stands above every page: whether numbers may be held against the papers'."""
    smoke = " The smoke profile checks that everything runs; it decides nothing."
    return run_tables.comparable(book) + smoke * (book.profile.name == "smoke")


def front(book, problems: dict[str, str], claims, contrasts, more: list[str] = ()) -> str:
    """The front page: in short, the verdicts, what was regenerated, when, on what, in how long.

    `more` are further pages, listed below the notebooks.
    """
    parts = [
        f"# {title(book)}",
        (
            "Four papers on matching images with text part by part, regenerated: every table and "
            "figure beside the print, and a verdict on every claim."
        ),
        f"**{announcement(book)}**",
    ]
    notebooks = list(problems)
    failed = [f"- {page(name)}: {wrong}" for name, wrong in problems.items() if wrong]
    missing = [name for name in exhibits.resolve([], book.kind) if name not in notebooks]
    if failed:
        parts += ["## Failed or unfinished", "\n".join(failed)]
    if claims is not None and contrasts is not None:
        parts += ["## In short", in_short(claims, contrasts), "## Verdicts"]
        parts += verdict_tables(claims, notebooks)
    parts += ["## What was regenerated", regenerated(book, notebooks)]
    if report_notebooks.has_api(book.out):
        parts += ['<a href="api/index.html">What the library holds</a>, function by function.']
    if missing:
        parts += [f"Not made so far: {', '.join(missing)}."]
    parts += ["## When and on what", circumstances(book)]
    groups = [("Verdicts", ["verdicts"])] if claims is not None and contrasts is not None else []
    groups += [(paper, list(names)) for paper, names in groupby(notebooks, chapter_title)]
    groups += [("Training", list(more))] if more else []
    for caption, names in groups:
        listed = "\n".join(names)
        parts.append(f"```{{toctree}}\n:hidden:\n:caption: {caption}\n\n{listed}\n```")
    return "\n\n".join(parts) + "\n"


def chapter_title(name: str) -> str:
    """The paper a notebook is about."""
    return PAPERS.get(exhibits.chapter(name), "All four papers")


def page(name: str, text: str = "") -> str:
    """A link to a notebook's page, by its title unless there is a text."""
    return f"[{text}]({name}.ipynb)"


def badge(verdict: str) -> str:
    """A verdict with its colour; the first word names it in the style sheet."""
    return f"[{verdict}]{{.verdict .{verdict.partition(' ')[0]}}}"


def in_short(claims, contrasts) -> str:
    """A line a paper: its question, the answer, and where it stands."""
    lines = []
    for claim, question in exhibits.QUESTIONS.items():
        own = contrasts[contrasts.claim == claim]
        if (claims.claim == claim).any() and len(own):
            first = own.iloc[0]
            lines.append(
                {
                    "question": f"[{question}](verdicts.md#{claim})",
                    "difference": first.contrast,
                    "value": value(first),
                    "over seeds": interval(first),
                    "over images": interval(first, "query_"),
                    "the claim is": badge(claims.set_index("claim").verdict[claim]),
                }
            )
    if not lines:
        return "None of the main questions was computed."
    return (
        "The first contrast of a claim for each paper; behind the link are the others. Points "
        "are of RSUM, the sum of six recalls in %, unless another number is named. A verdict is of "
        "the whole claim, after correction for all claims of its paper: an interval may leave "
        "out zero and the claim be undecided.\n\n" + table(pd.DataFrame(lines))
    )


def verdict_tables(claims, notebooks: list[str]) -> list[str]:
    """For each paper its claims with verdicts and links; before them how many of each."""
    counts = claims.verdict.value_counts()
    said = ", ".join(f"{n} {name}" for name, n in counts.items())
    parts = [f"{len(claims)} claims: {said}."]
    for paper, own in claims.groupby("paper", sort=False):
        shown = own.assign(
            says="[" + own.says + "](verdicts.md#" + own.claim + ")",
            exhibit=[place(exhibit, notebooks) for exhibit in own.exhibit],
            verdict=own.verdict.map(badge),
        )[["says", "exhibit", "verdict"]]
        parts += [f"### {PAPERS[paper]}", table(shown.rename(columns={"says": "claim"}))]
    return parts


def place(exhibit: str, notebooks: list[str]) -> str:
    """An exhibit's name, linked with the notebook that shows it if that was executed."""
    name = exhibits.EXHIBITS[exhibit].notebook if exhibit in exhibits.EXHIBITS else ""
    return page(name, exhibit) if name in notebooks else exhibit


def verdicts(claims, contrasts, notebooks: list[str]) -> str:
    """The page of verdicts: for each claim its contrasts with intervals, and what they come to."""
    parts = [
        "# Verdicts, claim by claim",
        (
            "A claim is cut into contrasts, A − B, one number a seed. *Over seeds*: the interval for "
            "what training again would change (95 %, or 90 % where a claim sets two bounds). *Over "
            "images*: the same for another test set of the kind. *p* is of this contrast alone, *Holm* "
            "after correction for all claims of the paper."
        ),
    ]
    if "90_claims" in notebooks:
        parts.append(f"How verdicts are reached: {page('90_claims')}.")
    for claim in claims.itertuples():
        own = contrasts[contrasts.claim == claim.claim]
        why = f" ({claim.why})" if isinstance(claim.why, str) else ""
        parts += [
            f"({claim.claim})=\n## {claim.claim}",
            f"> {claim.says}",
            f"{badge(claim.verdict)}{why}. {place(claim.exhibit, notebooks)}, test: {claim.test}.",
        ]
        if len(own):
            parts.append(
                table(
                    pd.DataFrame(
                        [
                            {
                                "contrast": each.contrast,
                                "value": value(each),
                                "over seeds": interval(each),
                                "over images": interval(each, "query_"),
                                "seeds": str(each.seeds),
                                "p": number(each.p, 4),
                                "Holm": number(each.holm, 4),
                                "reading": each.reading,
                            }
                            for each in own.itertuples()
                        ]
                    )
                )
            )
    return "\n\n".join(parts) + "\n"


def value(contrast) -> str:
    """A contrast's value with its unit."""
    sign = "" if contrast.unit == "×" or not contrast.value > 0 else "+"
    places = DECIMALS.get(contrast.unit, 1)
    return f"{sign}{number(contrast.value, places)} {contrast.unit}"


def interval(contrast, of: str = "") -> str:
    """A contrast's interval, over seeds or ("query_") over images; a dash if there is none."""
    places = DECIMALS.get(contrast.unit, 1)
    low, high = getattr(contrast, f"{of}low"), getattr(contrast, f"{of}high")
    return "–" if low != low else rf"\[{number(low, places)}, {number(high, places)}\]"


def number(value: float, decimals: int) -> str:
    """A number as tables show it."""
    return tables.written(value, decimals)


def table(frame) -> str:
    """A table of texts in Markdown."""
    return tables.markdown(frame.replace(r"\|", r"\\|", regex=True))


def regenerated(book, notebooks: list[str]) -> str:
    """A line a notebook: what it shows, when it ran, how long that and the training took."""
    timings, counted = results(book.out, "timings"), set()
    lines = []
    for name in notebooks:
        trained = 0.0
        if timings is not None:  # a run that several exhibits share counts for the first
            own = timings[timings.exhibit.isin(exhibits.NOTEBOOKS[name].exhibits)]
            own = own[~own.run.isin(counted)].drop_duplicates("run")
            whole = own[["seconds", "training_seconds"]].max(axis=1)  # of a base model, not of
            trained = own.seconds.where(own.exhibit != "base-models", whole).sum()  # its measuring
            counted |= set(own.run)
        ran = report_notebooks.papermill(book.out / "notebooks" / f"{name}.ipynb")
        lines.append(
            {
                "notebook": page(name),
                "exhibits": ", ".join(exhibits.NOTEBOOKS[name].shown) or "–",
                "executed (UTC)": (ran.get("end_time") or "–")[:16].replace("T", " "),
                "its seconds": ran.get("duration") or float("nan"),
                "runs": len(own) if trained else 0,
                "their core-seconds": trained,
            }
        )
    shown = pd.DataFrame(lines)
    total = shown[["its seconds", "runs", "their core-seconds"]].sum()
    in_all = {"notebook": "**in all**", "exhibits": "", "executed (UTC)": "", **total}
    shown.loc[len(shown)] = in_all
    return tables.markdown(shown.astype({"runs": int}), decimals=0)


def computed(out: Path) -> list[tuple[str, str]]:
    """On what and in how long the main job filled a results folder, if it did."""
    file = out / "starts.json"
    if not file.exists():
        return []
    starts = json.loads(file.read_text(encoding="utf-8"))
    machines = dict.fromkeys(f"{each['machine']}, {each['cores']} cores" for each in starts)
    took = progress.clock(sum(each["seconds"] for each in starts))
    again = f", in {len(starts)} starts" if len(starts) > 1 else ""
    return [("computed on", "; ".join(machines)), ("computed in", took + again)]


def circumstances(book) -> str:
    """Data, profile, seeds, machine class and versions."""
    said = [
        json.loads(path.read_text(encoding="utf-8")) for path in report_notebooks.executed(book.out)
    ]
    language = {each["metadata"].get("language_info", {}).get("version", "?") for each in said}
    settings = json.loads((book.out / "settings.json").read_text())
    lines = [
        ("data", describe_data(book)),
        ("profile", book.profile.name),
        ("seeds", f"{book.profile.seeds} a reported arm, unless its notebook says otherwise"),
        (
            "changed settings",
            ", ".join(f"{k}={without_folders(v)}" for k, v in settings["set"].items()) or "none",
        ),
        *computed(book.out),
        ("Python", ", ".join(sorted(language))),
    ]
    if (runs := results(book.out, "runs")) is not None:
        used = {name: n for text in runs.versions for name, n in json.loads(text).items()}
        lines += [
            ("devices", ", ".join(sorted(set(runs.device)))),
            ("packages", ", ".join(f"{name} {n}" for name, n in used.items())),
            ("runs finished", f"{min(runs.finished)} to {max(runs.finished)}"),
        ]
    frame = pd.DataFrame(lines, columns=["", "what"]).map(verbatim.markdown)
    return tables.markdown(frame) + (
        "\nThe same tables, figures and numbers lie as files in the folder above this report."
    )


def without_folders(value: str) -> str:
    """A setting that may name a file of this machine, with the file's name alone.

    Examples
    --------
    >>> [without_folders(each) for each in ("coco=/data/coco", "openclip:ViT-B-32/openai", "7")]
    ['coco=coco', 'openclip:ViT-B-32/openai', '7']
    """
    return re.sub("(^|[=:])/.*/", r"\1", value)


def describe_data(book) -> str:
    """The data set's name and its splits, as the first job left them."""
    path = book.out / "data.json"
    if not path.exists():
        return book.kind
    said = json.loads(path.read_text())
    splits = ", ".join(f"{number:,} {split}" for split, number in said["images"].items())
    return f"{book.kind}: images {splits}; {said['captions per image']} captions each"
