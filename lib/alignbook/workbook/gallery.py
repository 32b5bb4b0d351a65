"""docs/gallery.md and the answers in README.md: what the reference results show, exhibit by exhibit.

``./run_all.sh publish`` writes both anew, as ``python -m alignbook.workbook.gallery`` does; the tests see
that they are current. Nothing is in them that is not in results/reference/ or in a notebook.
"""

import functools
import json
import sys
from collections.abc import Mapping
from pathlib import Path

import pandas as pd

from alignbook import PACKAGE, ROOT
from alignbook.core.names import PROFILES
from alignbook.evidence.families import NO_DIFFERENCE
from alignbook.evidence.printed_tables import PAPERS, REBUILT
from alignbook.evidence.verdicts import NOT_RUN, NOT_TESTABLE, VERDICTS
from alignbook.store import durable
from alignbook.store.fingerprint import code_hash, trains
from alignbook.workbook import again, beside, budget, exhibits, parts, start

REFERENCE = ROOT / "results/reference"
PAGE = "docs/gallery.md"
MADE = "<!-- made by ./run_all.sh publish -->"
BEGIN, END = "<!-- answers, made by ./run_all.sh publish -->", "<!-- end of the answers -->"
NAMES = {"world": "the synthetic world", "flickr8k": "Flickr8k"}
LEVELS = (
    "Where they stand: six recalls in percent, summed, with the 95 % interval over seeds. Captions that "
    "were permuted in training stand for chance."
)
TESTABLE = {*VERDICTS} - {NOT_TESTABLE, "on paper only"}
CURVES = "-training"  # ends the name of a figure of loss and dev


class Reference:
    """One published results folder: where it lies, what it is of, its verdicts and contrasts."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.about = json.loads((folder / "about.json").read_text(encoding="utf-8"))
        self.claims = pd.read_csv(folder / "claims.csv", keep_default_na=False)
        self.contrasts = pd.read_csv(folder / "contrasts.csv")
        timings = folder / "timings.csv"
        known = pd.read_csv(timings) if timings.exists() else None
        self.cost = {} if known is None else budget.core_minutes(known)
        asked = self.claims.assign(needed=pd.to_numeric(self.claims.needed, errors="coerce"))
        self.hours = {} if known is None else budget.to_decide(asked, known)

    @property
    def label(self) -> str:
        """Its data and profile, for reading."""
        data = self.about["data"]
        return f"{NAMES.get(data, data)}, {self.about['profile']} profile"

    def contrast(self, claim: str) -> tuple[pd.Series | None, str]:
        """A claim's contrast, None where none is measured, and which of several it is: the one that is
        least sure, or the surest where the claim is contradicted.
        """
        some = self.contrasts[(self.contrasts.claim == claim) & self.contrasts.value.notna()]
        if not len(some):
            return None, ""
        against = "contradicted" in self.claims[self.claims.claim == claim].verdict.to_list()
        some = some.sort_values("p", ascending=against, na_position="first", kind="stable")
        which = "surest" if against else "weakest"
        return some.iloc[0], f", the {which} of {len(some)}" * (len(some) > 1)

    def found(self, claim: str) -> str:
        """Its `contrast` with the interval and the seeds, "" where none is measured."""
        first, which = self.contrast(claim)
        return "" if first is None else start.found(first) + which


def references(root: Path = REFERENCE) -> list[Reference]:
    """The published folders: the world first, and each data set's largest profile last."""
    found = [Reference(path.parent) for path in root.glob("[!.]*/claims.csv")]
    return sorted(found, key=_place)


def _place(one: "Reference") -> tuple:
    data, profile = one.about["data"], one.about["profile"]
    return data != "world", data, PROFILES.index(profile)


# --- The answers ---------------------------------------------------------------------------------


def answers(found: list[Reference]) -> str:
    """Each paper's main question, and what came out on each data set: a table."""
    rows = []
    for claim, question in exhibits.QUESTIONS.items():
        rows.append([_asked(claim, question), *(_answer(one, claim) for one in found)])
    return _table(["question", *(f"on {one.label}" for one in found)], rows)


def _asked(claim: str, question: str) -> str:
    paper = exhibits.paper(claim)
    return f"*{PAPERS[paper]}*{REBUILT[paper]}: {question}"


def _answer(one: Reference, claim: str) -> str:
    """A verdict with its number; for an open one also what weighs most against it."""
    known = one.claims[one.claims.claim == claim]
    if not len(known):
        return "–"
    (row,) = known.itertuples()
    told = [f"**{start.verdict_of(row)}**", one.found(claim), start.lacks(row)]
    return "; ".join(filter(None, (*told, _elsewhere(one, claim))))


def _elsewhere(one: Reference, claim: str, turned: bool = False) -> str:
    """What another machine measured of a claim, "" where none did; `turned` where the difference
    beside it is told the other way round.
    """
    for _, line in again.read(one.folder).iterrows():
        if line.claim == claim:
            if turned:
                value, low, high = (f"{name} again" for name in ("value", "low", "high"))
                line[[value, low, high]] = -line[[value, high, low]].to_numpy(float)
            return f"once more elsewhere: {again.read_with(line, *again.READ_AGAIN)}"
    return ""


def in_sentences(found: list[Reference]) -> str:
    """Each paper's main question and what came out, a sentence a data set: a list."""
    lines = []
    for claim, question in exhibits.QUESTIONS.items():
        lines.append(f"- {_asked(claim, question)}")
        lines += [f"  - On {one.label}: {_told(one, claim)}." for one in _largest(found, claim)]
    return "\n".join(lines)


def _largest(found: list[Reference], claim: str) -> list[Reference]:
    """Of each data set the largest profile that measured a claim."""
    return [*{one.about["data"]: one for one in found if one.found(claim)}.values()]


def _told(one: Reference, claim: str) -> str:
    """Who is ahead of whom and by how much, where that is decided; what is open, where it is not."""
    first, which = one.contrast(claim)
    (row,) = one.claims[one.claims.claim == claim].itertuples()
    ahead, other = exhibits.SIDES[claim]
    turned = row.verdict in beside.DECIDED and first.value < 0
    if row.verdict in beside.DECIDED:
        if turned:
            ahead, other, first = other, ahead, first.copy()
            first[["value", "low", "high"]] = -first[["value", "high", "low"]].to_numpy()
        by = start.found(first).removeprefix("+")
        what = "" if row.verdict == NO_DIFFERENCE else "the paper's claim is "
        told = [f"{ahead} is ahead of {other} by {by}{which}"]
        told.append(f"{what}**{start.verdict_of(row)}**")
    else:
        told = [f"**{row.verdict}**, {ahead} less {other} is {start.found(first)}{which}"]
        told.append(start.lacks(row))
    return "; ".join(filter(None, (*told, _elsewhere(one, claim, turned))))


def with_answers(readme: str, found: list[Reference]) -> str:
    """README.md with the answers between its two marks; ValueError unless it has them once."""
    if not readme.count(BEGIN) == readme.count(END) == 1:
        raise ValueError(f"README.md: expected {BEGIN} and {END} once each; put them back")
    before, _, rest = readme.partition(BEGIN)
    _, _, after = rest.partition(END)
    more = f"Every claim with its reservations, every table and figure: [the gallery]({PAGE})."
    return f"{before}{BEGIN}\n{in_sentences(found)}\n\n{more}\n{END}{after}"


# --- The page ------------------------------------------------------------------------------------


def page(found: list[Reference], notebooks: Path = ROOT / "notebooks") -> str:
    """docs/gallery.md: the answers, then each notebook's claims, figures and tables."""
    texts = {name: _text(notebooks / f"{name}.ipynb") for name in exhibits.NOTEBOOKS}
    parts = [
        MADE,
        "# Gallery",
        "Every table and figure of the four papers as the reference runs made them, with the verdict on "
        "each claim and the notebook that shows it. Numbers of "
        f"{' and '.join(one.label for one in found)}: orders may be compared with the papers', values "
        "only on the papers' own data. Core-minutes are those of all trainings that a claim rests on, "
        "trials with them; claims share many. [What the verdicts mean](verdicts.md).",
        answers(found),
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
        parts += [f"## {title}", f"[{name}](../notebooks/{name}.ipynb)", claims]
        parts += [each for one in found for each in _pictures(one, shown[name][one.folder])]
    return "\n\n".join(filter(None, parts)) + "\n"


def _counted(found: list[Reference]) -> str:
    """How many claims came to which verdict, and where two references say otherwise."""
    judged = {one.label: one.claims for one in found if len(one.claims)}
    counts = {label: claims.verdict.value_counts() for label, claims in judged.items()}
    names = [name for name in start.SAID if any(name in each for each in counts.values())]
    rows = [[name, *(str(each.get(name, 0)) for each in counts.values())] for name in names]
    said = beside.said(beside.together(judged)) if len(judged) > 1 else ""
    return "\n\n".join(filter(None, [_table(["verdict", *judged], rows), _decided(found), said]))


def _decided(found: list[Reference]) -> str:
    """How many claims are decided on some data, by the largest profile that judged them there."""
    testable, decided = set(), set()
    for claim in dict.fromkeys(each for one in found for each in one.claims.claim):
        said = [_verdict(one, claim) for one in found]
        if {*said} & TESTABLE:
            testable.add(claim)
        largest = {one.about["data"]: said for one, said in zip(found, said) if said in start.SAID}
        if {*largest.values()} & {*beside.DECIDED}:
            decided.add(claim)
    return (
        f"Decided on some data: {len(decided)} of {len(testable)} claims that can be tested here."
    )


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
    return f"{again.said(found)}\n\n{_table(head, rows)}"


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
            between = f" [{row.low:.1f}, {row.high:.1f}]" * (row.seeds > 1)
            level = f"{row.mean:.1f}{between}, {row.seeds} seed{'s' * (row.seeds > 1)}"
            lines.setdefault((row.exhibit, arm), {})[one.label] = level
    head = ["RSUM on test", "arm", *(one.label for one in found)]
    rows = [
        [*which, *(lines[which].get(one.label, "–") for one in found)]
        for which in sorted(lines, key=lambda which: names.index(which[0]))
    ]
    return "\n\n".join((LEVELS, _table(head, rows))) if rows else ""


def _made(one: Reference) -> str:
    """On what and in how long a reference was computed."""
    starts = one.about["starts"]
    hours = sum(each["seconds"] or 0 for each in starts) / 3600
    machines = dict.fromkeys(f"{each['machine']}, {each['cores']} cores" for each in starts)
    took = f"{'; '.join(machines)}, {hours:.1f} hours, " if starts else ""
    changed = "".join(f", {name} = {value}" for name, value in one.about["set"].items())
    if (chapters := one.about.get("chapters", parts.ALL)) != parts.ALL:
        changed += f"; so far only {' and '.join(PAPERS[paper] for paper in chapters)}"
    return f"{took}published at version {one.about['version']}{changed}{_of_other_code(one)}"


def _of_other_code(one: Reference) -> str:
    """How many of a reference's runs other code computed than this version's, "" where none."""
    file = one.folder / "runs.csv"
    made = pd.read_csv(file).drop_duplicates("run") if file.exists() else pd.DataFrame({"code": []})
    other = ~made.code.isin(_codes())
    return f"; {other.sum()} of {len(made)} runs are of other code than this version's" * any(other)


@functools.cache
def _codes() -> frozenset[str]:
    """The codes of all modules that train, as runs.csv writes them."""
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
            elif row.verdict == NOT_RUN and value:
                said = "not run whole"
            if value and one.cost.get(row.claim, 0) >= 1:
                value += f", {one.cost[row.claim]:.0f} core-min"
            told = f"{said} {value}".strip() + start.doubts(row)
            if told.endswith("seeds would decide it") and one.hours.get(row.claim, 0) >= 0.05:
                told += f", {one.hours[row.claim]:.1f} core-hours more"
            lines.setdefault(row.says, {})[one.label] = told
    head = ["claim", *(one.label for one in found)]
    rows = [[says, *(line.get(one.label, "–") for one in found)] for says, line in lines.items()]
    return _table(head, rows)


def _table(head: list[str], rows: list[list[str]]) -> str:
    """A table in Markdown, "" without rows."""
    written = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(map(_cell, row))} |" for row in written) if rows else ""


def _cell(text: str) -> str:
    return text.replace("|", r"\|")


def _pictures(one: Reference, files: list[Path]) -> list[str]:
    """A reference's figures of exhibits, and links to its curves, other figures and tables."""
    figures = [path for path in files if path.suffix == ".png" and _exhibit_of(path.stem)]
    drawn = [path for path in figures if not path.stem.endswith(CURVES)]
    parts = [f"![{path.stem} on {one.label}]({_link(path)})" for path in drawn]
    others = [path for path in files if path not in drawn]
    if others:
        links = ", ".join(f"[{path.stem}]({_link(path)})" for path in others)
        parts.append(f"On {one.label}: {links}.")
    return parts


def _link(path: Path) -> str:
    return "../" + path.relative_to(path.parents[4]).as_posix()


def _files(name: str, texts: Mapping[str, str], found: list[Reference]) -> dict[Path, list[Path]]:
    """By folder, the published figures and tables that a notebook shows."""
    return {
        one.folder: [
            path
            for pattern in ("figures/*.png", "tables/*.md")
            for path in sorted(one.folder.glob(pattern))
            if notebook_of(path.stem, texts) == name
        ]
        for one in found
    }


def notebook_of(stem: str, texts: Mapping[str, str]) -> str:
    """The notebook that shows a figure or table: that of the exhibit it is named after, or else the
    first that names it, or how it begins, in its code.

    >>> notebook_of("chan-T3-differences", {}), notebook_of("claims-7", {"90_claims": 'f"claims-{i}"'})
    ('11_chan_ablations', '90_claims')
    """
    if exhibit := _exhibit_of(stem):
        return exhibits.EXHIBITS[exhibit].notebook
    for begin in _begins(stem):
        end = '"' if begin == stem else "-"
        for name, text in texts.items():
            if f'"{begin}{end}' in text:
                return name
    return ""


def _exhibit_of(stem: str) -> str:
    """The exhibit that a figure or table is named after, "" if none."""
    return next((each for each in _begins(stem) if each in exhibits.EXHIBITS), "")


def _begins(stem: str) -> list[str]:
    """A name, and how it begins, the longest first.

    >>> _begins("chan-T3-training")
    ['chan-T3-training', 'chan-T3', 'chan']
    """
    parts = stem.split("-")
    return ["-".join(parts[:count]) for count in range(len(parts), 0, -1)]


def _text(notebook: Path) -> str:
    """The lines of all cells of a notebook."""
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    return "\n".join("".join(cell["source"]) for cell in cells)


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
