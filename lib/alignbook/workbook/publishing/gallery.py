"""docs/gallery.md and the answers in README.md: what the reference results show, exhibit by exhibit.

``./run_all.sh publish`` writes both anew, as ``python -m alignbook.workbook.publishing.gallery`` does;
the tests see that they are current. Nothing is in them that is not in results/reference/ or in a notebook.
"""

import functools
import math
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pandas as pd

from alignbook import PACKAGE, ROOT
from alignbook.core.names import row_and_target
from alignbook.evidence import learnt
from alignbook.evidence.claims import load
from alignbook.evidence.printed_tables import PAPERS
from alignbook.evidence.verdicts import NOT_RUN, NOT_TESTABLE, VERDICTS
from alignbook.store import durable
from alignbook.store.fingerprint import code_hash, trains
from alignbook.workbook import exhibits, folders, start
from alignbook.workbook.publishing import again, answers, beside, parts, superseded
from alignbook.workbook.publishing.reference_results import Reference, references, table, test_sets

PAGE = "docs/gallery.md"
MADE = "<!-- made by ./run_all.sh publish -->"
BEGIN, END = "<!-- answers, made by ./run_all.sh publish -->", "<!-- end of the answers -->"
LEVELS = (
    "Where they stand: RSUM, six recalls in percent, summed, with the 95 % interval over seeds. It depends on "
    "how many pictures are searched, so the test set stands above each exhibit's arms. The row *permuted* "
    "was trained on captions of other pictures: its level is chance. *-long* is an arm with four times the "
    "steps. † still learning at its last step; ‡ did not train."
)
COUNTED = (
    "Of each data set the longest profile whose arms had learnt counts; where none had, the longest; those "
    "of today's settings before those of earlier ones."
)
WHOLE = {"world": "world A"}  # the data set of protocols that name no domain
MARK = {learnt.STILL_LEARNING: "†", learnt.DID_NOT_TRAIN: "‡"}
TESTABLE = {*VERDICTS} - {NOT_TESTABLE, "on paper only"}
# Ends of names of figures that are linked alone: of loss and dev, and drawings of a method.
ASIDE = ("-training", "-shapes", "-codebooks")
# What follows an exhibit's name in that of its table, where it has several: test set or its size.
SEVERAL = re.compile(r"-(coco|f30k|1K|5K|F5|rules)$")


# --- The answers in README.md ----------------------------------------------------------------------


def with_answers(readme: str, found: list[Reference]) -> str:
    """README.md with the answers between its two marks; ValueError unless it has them once."""
    if not readme.count(BEGIN) == readme.count(END) == 1:
        raise ValueError(f"README.md: expected {BEGIN} and {END} once each; put them back")
    before, _, rest = readme.partition(BEGIN)
    _, _, after = rest.partition(END)
    more = f"Every claim with its reservations, every table and figure: [the gallery]({PAGE})."
    if earlier := [one.label for one in found if _of_other_code(one)]:
        more += (
            f" Computed by earlier versions of the code, in part or whole: {'; '.join(earlier)}."
        )
    return f"{before}{BEGIN}\n{answers.in_sentences(found)}\n\n{more}\n{END}{after}"


# --- The page ------------------------------------------------------------------------------------


def page(found: list[Reference], notebooks: Path = ROOT / "notebooks") -> str:
    """docs/gallery.md: the answers, then each notebook's claims, figures and tables."""
    texts = parts.texts(notebooks)
    said = [
        MADE,
        "# Gallery",
        "Every table and figure of the four papers as the reference runs made them, with the verdict on "
        "each claim and the notebook that shows it. The numbers are of "
        f"{'; '.join(one.label for one in found)}. Compare only which method is better: values are "
        "comparable with the papers' on the papers' own data alone. Core-minutes count all trainings "
        "behind a claim, trials included; several claims may share a training. "
        "[What the verdicts mean](verdicts.md).",
        answers.in_table(found),
        answers.rests_on(found),
        "\n".join(f"- {one.label}: {_made(one)}" for one in found),
        _counted(found),
        *map(_again, found),
        _levels(found),
    ]
    shown = {name: _files(name, texts, found) for name in texts}
    for name, text in texts.items():
        claims = _claims(exhibits.NOTEBOOKS[name].shown, found)
        if not claims and not any(shown[name].values()):
            continue
        title = next(line for line in text.splitlines() if line.startswith("# "))[2:]
        said += [f"## {title}", f"[{name}](../notebooks/{name}.ipynb)", claims]
        said += [each for one in found for each in _pictures(one, shown[name][one.folder])]
    return "\n\n".join(filter(None, said)) + "\n"


def _counted(found: list[Reference]) -> str:
    """How many claims came to which verdict, on some data and on which, and where data disagree."""
    counts = {one.label: one.claims.verdict.value_counts() for one in found if len(one.claims)}
    names = [name for name in start.SAID if any(name in each for each in counts.values())]
    rows = [[name, *(str(each.get(name, 0)) for each in counts.values())] for name in names]
    speak = _by_data(found)
    held = beside.said(beside.together(speak)) if len(speak) > 1 else ""
    return "\n\n".join([table(["verdict", *counts], rows), *filter(None, (_decided(found), held))])


def _by_data(found: list[Reference]) -> dict[str, pd.DataFrame]:
    """Each data set's verdicts, by its name, each of the profile that speaks for it (`answers.largest`)."""
    speak = {}
    for data in dict.fromkeys(one.data for one in found):
        own = [one for one in found if one.data == data]
        lines = []
        for claim in dict.fromkeys(each for one in own for each in one.claims.claim):
            judged = [one for one in own if _verdict(one, claim) in start.SAID]
            for one in answers.largest(judged, claim):
                lines.append(one.claims[one.claims.claim == claim])
        speak[data] = pd.concat(lines) if lines else own[0].claims[:0]
    return speak


def _decided(found: list[Reference]) -> str:
    """How many claims are decided on some data, and what that leaves out."""
    counted = _by_data(found)
    speak = pd.concat(counted.values())
    decided = speak[speak.verdict.isin(beside.DECIDED)].claim.nunique()
    listed = pd.concat([one.claims for one in found])
    testable = listed[listed.verdict.isin(TESTABLE)].claim.nunique()
    said = f"Decided on some data: {decided} of {testable} claims that can be tested here."
    return " ".join((said, COUNTED, *_besides(found, counted)))


def _besides(found: list[Reference], counted: dict[str, pd.DataFrame]) -> Iterator[str]:
    """Claims that are within their band, that a profile which does not count decides otherwise, and
    that no data judged.
    """
    known = {(data, *line) for data in counted for line in _verdicts(counted[data], start.SAID)}
    small = [
        f"{row.claim} ({row.verdict} on {data})"
        for data, lines in counted.items()
        for row in lines[lines.verdict.isin(("reproduced", "contradicted"))].itertuples()
        if start.verdict_of(row) != row.verdict
    ]
    other = [
        f"{claim} ({verdict} on {one.label})"
        for one in found
        for claim, verdict in _verdicts(one.claims, beside.DECIDED)
        if one.found(claim) and (one.data, claim, verdict) not in known
    ]
    judged = {claim for one in found for claim, _ in _verdicts(one.claims, start.SAID)}
    asked = [claim for one in found for claim, _ in _verdicts(one.claims, TESTABLE)]
    for told, some in (
        ("In sign alone, within the claim's band", small),
        ("Other profiles decide otherwise", other),
        ("Judged on no data so far", [claim for claim in asked if claim not in judged]),
    ):
        if some:
            yield f"{told}: {', '.join(dict.fromkeys(some))}."


def _verdicts(claims: pd.DataFrame, some) -> list[tuple[str, str]]:
    """The claims that have some verdicts, each with its own."""
    own = claims[claims.verdict.isin(some)]
    return [*zip(own.claim, own.verdict)]


def _verdict(one: Reference, claim: str) -> str:
    """The verdict of a reference on a claim, "" where it lists none."""
    return "".join(one.claims[one.claims.claim == claim].verdict)


def _again(one: Reference) -> str:
    """A reference's primary contrasts beside those from elsewhere, "" where none were kept."""
    found = again.read(one.folder)
    if found.empty:
        return ""
    rows = [
        [
            row.claim,
            again.read_with(row, *again.READ),
            again.read_with(row, *again.READ_AGAIN),
            again.written(row, *again.APART),
        ]
        for _, row in found.iterrows()
    ]
    head = ["claim", one.label, "once more", "apart by"]
    return f"{again.said(found)}\n\n{table(head, rows)}"


def _levels(found: list[Reference]) -> str:
    """RSUM on test of the base models and of what the primary claims rest on, as a table."""
    names, lines = ["base-models", *exhibits.FIRST], {}
    for one in found:
        file = one.folder / "summary.csv"
        known = pd.read_csv(file) if file.exists() else pd.DataFrame(columns=["exhibit", "column"])
        known = known[known.exhibit.isin(names) & known.column.str.endswith("RSUM")]
        for row in known.sort_values("exhibit", key=lambda x: x.map(names.index)).itertuples():
            target = row.column.removesuffix("RSUM").strip()
            arm = f"{row.row} → {target}" if target else row.row
            lines.setdefault((row.exhibit, ""), {})[one.label] = _test_set(one, row.exhibit)
            lines.setdefault((row.exhibit, arm), {})[one.label] = _level(row)
    head = ["RSUM on test", "arm", *(one.label for one in found)]
    rows = [
        [
            which[0],
            which[1] or "*test pictures*",
            *(lines[which].get(one.label, "–") for one in found),
        ]
        for which in sorted(lines, key=lambda which: (names.index(which[0]), which[1] != ""))
    ]
    return "\n\n".join((LEVELS, table(head, rows))) if rows else ""


def _level(row) -> str:
    """A line of summary.csv: the mean with its mark, the interval and the seeds; what is the same for
    every seed is one model that they share.
    """
    level = f"{row.mean:.1f}{MARK.get(row.learnt, '')}"
    if row.seeds == 1:
        return f"{level}, 1 seed"
    if row.low == row.high:
        return f"{level}, one model"
    return f"{level} [{row.low:.1f}, {row.high:.1f}], {row.seeds} seeds"


def _test_set(one: Reference, exhibit: str) -> str:
    """How many pictures of which data an exhibit's arms are tested on."""
    told = test_sets(one.metrics[one.metrics.exhibit == exhibit].protocol)
    some = dict.fromkeys(f"{int(count):,} of {WHOLE.get(data, data)}" for data, count in told)
    return f"*{', '.join(some)}*" if some else "–"


def _made(one: Reference) -> str:
    """On what and in how long a reference was computed."""
    starts = one.about["starts"]
    hours = sum(each["seconds"] or 0 for each in starts) / 3600
    machines = dict.fromkeys(map(folders.machine_of, starts))
    took = f"{'; '.join(machines)}, {hours:.1f} hours, " if starts else ""
    changed = "".join(f", {name} = {value}" for name, value in one.about["set"].items())
    versions = one.about.get("versions", {})
    for version in dict.fromkeys(versions.values()):
        own = [name for name in versions if versions[name] == version]
        changed += f", notebooks {parts.numbers(own)} at {version}"
    if (made := one.about.get("notebooks", parts.ALL)) != parts.ALL:
        own = {paper: [name for name in made if parts.paper(name) == paper] for paper in PAPERS}
        told = [f"{PAPERS[paper]} ({parts.numbers(each)})" for paper, each in own.items() if each]
        changed += f"; so far only {', '.join(told)}"
    return f"{took}published at version {one.about['version']}{changed}{_of_other_code(one)}"


def _of_other_code(one: Reference) -> str:
    """How many of a reference's runs other code computed than this version's, "" where none."""
    file = parts.table(one.folder, "runs")
    made = pd.read_csv(file).drop_duplicates("run") if file.exists() else pd.DataFrame({"code": []})
    other = ~made.code.isin(_codes())
    return f"; {other.sum()} of {len(made)} runs are of other code than this version's" * any(other)


@functools.cache
def _codes() -> frozenset[str]:
    """The codes of all modules that may train, as runs.csv writes them."""
    files = (path.relative_to(PACKAGE).with_suffix("") for path in PACKAGE.rglob("[!_]*.py"))
    names = (".".join((PACKAGE.name, *path.parts)) for path in files)
    return frozenset(code_hash(name)[:16] for name in names if trains(name))


def _claims(shown: tuple[str, ...], found: list[Reference]) -> str:
    """The claims of some exhibits as a table: what is said, and each reference's verdict."""
    lines = {}
    for one in found:
        for row in one.claims[one.claims.exhibit.isin(shown)].itertuples():
            value = one.found(row.claim)
            said = start.verdict_of(row)
            if row.verdict in beside.DECIDED:
                said = f"**{said}**"
            elif row.verdict == NOT_RUN and row.claim in _of_other_data(one.about["data"]):
                said = "not made whole on these data" if value else "not made on these data"
            elif row.verdict == NOT_RUN and value:
                said = "run in part"
            if value and one.cost.get(row.claim, 0) >= 1:
                value += f", {one.cost[row.claim]:.0f} core-min"
            told = f"{said} {value}".strip() + start.doubts(row, one.contrast(row.claim)[0])
            if "seeds would" in told and 0.05 <= one.hours.get(row.claim, 0) < math.inf:
                told += f", {one.hours[row.claim]:.1f} core-hours more"
            if value and (before := superseded.told(one.earlier(row.claim))):
                told += f"; {before}"
            lines.setdefault(f"{row.says} `{row.claim}`", {})[one.label] = told
    head = ["claim", *(one.label for one in found)]
    rows = [[says, *(line.get(one.label, "–") for one in found)] for says, line in lines.items()]
    return table(head, rows)


@functools.cache
def _of_other_data(kind: str) -> frozenset[str]:
    """The claims that rest on an arm which no profile has on a kind of data."""
    made = {
        (exhibit, row_and_target(arm)[0])
        for exhibit in exhibits.EXHIBITS
        for arm in exhibits.arms(exhibit, kind)
    }
    return frozenset(
        claim.id
        for claim in load()
        if any((t.exhibit, t.row) not in made for each in claim.contrasts for t in each.terms)
    )


def _pictures(one: Reference, files: list[Path]) -> list[str]:
    """A reference's figures of the papers' chapters, the tables of exhibits and of what is drawn, folded,
    and links to its curves, other figures and tables.

    An exhibit is linked if a single one of its arms was made: there is nothing to compare.
    """
    drawn = [
        path
        for path in files
        if path.suffix == ".png"
        and path.stem.startswith(tuple(PAPERS))
        and not path.stem.endswith(ASIDE)
        and not _is_alone(one, parts.exhibit_of(path.stem))
    ]
    of_figures = {path.stem for path in drawn}  # a figure's numbers
    own = [
        path
        for path in files
        if path.suffix == ".md"
        and ((name := SEVERAL.sub("", path.stem)) in exhibits.EXHIBITS or path.stem in of_figures)
        and not _is_alone(one, name)
    ]
    said = [f"![{path.stem} on {one.label}]({_link(path)})" for path in drawn]
    said += [_folded(path, f"{path.stem} on {one.label}") for path in own]
    others = [path for path in files if path not in drawn + own]
    if others:
        links = ", ".join(f"[{path.stem}]({_link(path)})" for path in others)
        said.append(f"On {one.label}: {links}.")
    return said


def _folded(path: Path, title: str) -> str:
    """A table as a page shows it when its title is clicked, its columns not aligned."""
    text = re.sub(r"-{3,}", "--", re.sub(r" *\| *", "|", path.read_text(encoding="utf-8").strip()))
    return f"<details><summary>Table: {title}</summary>\n\n{text}\n\n</details>"


def _is_alone(one: Reference, exhibit: str) -> bool:
    """Whether a single one of several arms of an exhibit was made."""
    return bool(exhibit) and len(one.arms(exhibit)) == 1 < len(exhibits.EXHIBITS[exhibit].arms)


def _link(path: Path) -> str:
    return "../" + path.relative_to(path.parents[4]).as_posix()


def _files(name: str, texts: Mapping[str, str], found: list[Reference]) -> dict[Path, list[Path]]:
    """By folder, the published figures and tables that a notebook shows."""
    return {
        one.folder: [
            path
            for pattern in ("figures/*.png", "tables/*.md")
            for path in sorted(one.folder.glob(pattern))
            if parts.notebook_of(path.stem, texts) == name
        ]
        for one in found
    }


# --- Written -------------------------------------------------------------------------------------


def write(root: Path = ROOT) -> list[Path]:
    """Write both anew where there is a reference; returns the files that changed."""
    found, changed = references(root / "results/reference"), []
    if not found:
        return changed
    readme = root / "README.md"
    texts = {
        root / PAGE: page(found, root / "notebooks"),
        readme: with_answers(readme.read_text(encoding="utf-8"), found),
    }
    for path, text in texts.items():
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            durable.write(path, text)
            changed.append(path)
    return changed


if __name__ == "__main__":
    for path in write():
        print(path.relative_to(ROOT))
    sys.exit(0)
