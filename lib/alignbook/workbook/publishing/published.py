"""Reference results: what was computed once at length, for people who have not run anything.

``./run_all.sh publish`` puts the numbers of a results folder, its tables and figures into
``results/reference/<its name>/``, which belongs to the repository. Photographs, their captions and
weights stay where they are.
"""

import argparse
import gzip
import json
import math
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import pandas as pd

from alignbook import ROOT
from alignbook.show import figures
from alignbook.store import durable, verbatim
from alignbook.workbook import folders, start
from alignbook.workbook.publishing import (
    again,
    beside,
    compared,
    gallery,
    judged,
    kept_parts,
    parts,
    superseded,
)
from alignbook.workbook.publishing.reference_results import REFERENCE, test_sets
from alignbook.workbook.running.lent import MEASURED

NUMBERS = ("metrics", "summary", "timings", "runs")  # CSV files of a folder
VERDICTS = ("claims", "contrasts")  # of a whole one
START = ("machine", "processor", "cores", "seconds")  # what is told of each start
PACKED = ("runs", "curves")  # long ones that nobody reads by eye: a tenth of their size
MOST = 6_000_000  # bytes of all that is published of a data set
WIDE, COLOURS = 800, 128  # pixels of a figure, and its palette
WORDS = 5  # one after another: so much of a caption is not published


def numbers(book, exhibit: str) -> pd.DataFrame | None:
    """summary.csv of the published results on a workbook's data, one exhibit of it: each number from
    the first folder that has it (`beside.published`). None where there are none.

    `attrs["note"]` says which profiles they are of, and among how many images recalls are measured there.
    """
    found, profiles = [], []
    for folder in beside.published(book.kind, book.profile.name, REFERENCE):
        known = pd.read_csv(folder / "summary.csv")
        known = known[known.exhibit == exhibit]
        there = pd.concat(found)[compared.ROW].apply(tuple, axis=1) if found else []
        if len(new := known[~known[compared.ROW].apply(tuple, axis=1).isin(there)]):
            found.append(new)
            images = _images(folder, exhibit)
            rows = frozenset((exhibit, row) for row in new.row)
            said = [f"{images} test images" * bool(images)]
            said = ", ".join(
                filter(None, [*said, superseded.told(superseded.settings(folder, rows))])
            )
            profiles.append(_profile(folder) + f" ({said})" * bool(said))
    if not found:
        return None
    together = pd.concat(found, ignore_index=True)
    together.attrs["note"] = _note(profiles)
    return together


def differences(book, contrasts: pd.DataFrame) -> pd.DataFrame:
    """A table of contrasts with the published difference after the `value`, each from the first folder
    that has it, but for seconds, which are another machine's; the table itself where none has.

    `attrs["note"]` says which profiles they are of.
    """
    asked, known, profiles = [*zip(contrasts.claim, contrasts.contrast)], {}, []
    for folder in beside.published(book.kind, book.profile.name, REFERENCE):
        if (file := folder / "contrasts.csv").exists():
            told = (
                pd.read_csv(file)
                .query("unit != 's'")
                .set_index(["claim", "contrast"])
                .value.dropna()
            )
            new = {key: value for key, value in told.items() if key in asked and key not in known}
            known |= new
            said = superseded.told(superseded.of_contrasts(folder, new))
            profiles += [_profile(folder) + f" ({said})" * bool(said)] * bool(new)
    if not known:
        return contrasts
    table = contrasts.copy()
    place = table.columns.get_loc("value") + 1
    table.insert(place, "reference", [known.get(key, math.nan) for key in asked])
    table.attrs["note"] = _note(profiles)
    return table


def _profile(folder: Path) -> str:
    return f"of the {folder.name.rpartition('-')[2]} profile"


def _note(profiles: list[str]) -> str:
    return f"Reference: the published results {', or else '.join(profiles)}."


def _images(folder: Path, exhibit: str) -> str:
    """Among how many images an exhibit's recalls are measured, as in "1,000"; "" where none are."""
    if not (file := folder / "metrics.csv").exists():
        return ""
    told = pd.read_csv(file, usecols=["exhibit", "protocol"])
    counts = [int(count) for _, count in test_sets(told[told.exhibit == exhibit].protocol)]
    return " or ".join(f"{count:,}" for count in sorted({*counts}))


def verdicts(book) -> dict[str, str]:
    """What the published results on a workbook's data say of each claim, by its id: those of its profile
    or else of a larger one, for smoke of the largest, as long as they judged it.
    """
    found: dict[str, str] = {}
    for folder in beside.published(book.kind, book.profile.name, REFERENCE):
        if not (file := folder / "claims.csv").exists():
            continue
        told = pd.read_csv(file, keep_default_na=False)
        said = told[told.verdict.isin(start.SAID)]
        found = dict(zip(said.claim, said.verdict)) | found
    return found


def said(book) -> str:
    """How a results folder compares with the published one, in a sentence that leads there from the
    report; "" where there is none, or where its settings are others.
    """
    there = beside.published(book.kind, book.profile.name, REFERENCE)
    if not there or not (book.out / "metrics.csv").exists():
        return ""
    folder = there[0]
    link = f'<a href="../../{beside.PUBLISHED}/{folder.name}/">published reference</a>'
    if book.profile.name == "smoke":
        names = [each.name.rpartition("-")[2] for each in there]
        whose = f"the {' or else the '.join(names)} profile"
        return f"Tables and figures show the {link}, of {whose}, beside ours."
    if book.out.name != folder.name:
        return ""
    found = compared.compare(compared.metrics(book.out), compared.metrics(folder))
    return (
        f"Of {len(found)} numbers that the {link} has with several seeds too, "
        f"{found.outside.sum()} lie outside of where a rerun would lie (`./run_all.sh compare`)."
    )


# --- Publish -------------------------------------------------------------------------------------


def publish(out: Path, to: Path, private: bool, captions: Iterable[str] = ()) -> list[str]:
    """Put what may be shown of a results folder into `to`, anew; what was left out, and why.

    Of a folder that is not whole it is the papers' notebooks that are done: about.json names them, and
    claims are judged by them alone (`judged`). Others that are in `to` stay there (`kept_parts`).

    Parameters
    ----------
    private : pictures of the data must not be in it: they are photographs.
    captions : texts that must not be in it, those of photographs.

    Raises
    ------
    ValueError
        No paper's notebook of the folder is done, it is a smoke run's or of changed settings, it shows the
        reference that it would replace, or all that is published of these data would come to more
        than `MOST` bytes; or it would replace a whole run by a part, or one of other settings.
    """
    if problem := _problem(out, to):
        raise ValueError(f"{out}: {problem}")
    aside = to.with_name(f".{to.name}-new")
    shutil.rmtree(aside, ignore_errors=True)
    try:
        aside.mkdir(parents=True)
        said = set().union(*map(windows, captions))
        part, told = None if parts.is_whole(out) else parts.of_folder(out), about(out)
        kept = kept_parts.notebooks(to, part, told)
        left = [f"{name}: {why}" for name, why in _copy(out, aside, private, said, part)]
        durable.write(aside / "curves.csv", curves(out, part))
        if kept:
            kept_parts.add(to, aside, kept, (*NUMBERS, "curves"))
            told = kept_parts.told(to, told, kept)
        if part is not None:
            _judge_part(out, aside, to, kept)
            if told["notebooks"] == parts.ALL:
                _draw_verdicts(out, aside)
        durable.write(aside / "about.json", json.dumps(told, indent=1) + "\n")
        for name in PACKED:
            pack(aside / f"{name}.csv")
        data = to.name.partition("-")[0]
        others = [each for each in to.parent.glob(f"{data}-*") if each != to]
        size = sum(_size(each) for each in [aside, *others])
        if size > MOST:
            raise ValueError(
                f"{out}: {size / 1e6:.1f} MB with what else is published of {data}, "
                f"{MOST / 1e6:g} at most"
            )
        shutil.rmtree(to, ignore_errors=True)
        aside.replace(to)
    finally:
        shutil.rmtree(aside, ignore_errors=True)
    return left


def curves(out: Path, part: list[str] | None = None) -> str:
    """The points of all curves of training that a results folder's figures show, or those of some
    notebooks, as CSV: exhibit, arm, seed, curve, step, value.
    """
    files = sorted((out / "figures").glob("*-training.csv"))
    files = [path for path in files if part is None or parts.is_shown(path.stem, part)]
    drawn = {path.name.removesuffix("-training.csv"): pd.read_csv(path) for path in files}
    if not drawn:
        return ""
    points = pd.concat(drawn, names=["exhibit"]).reset_index("exhibit").drop(columns="state")
    return points.to_csv(index=False, float_format="%.5g")


def pack(file: Path) -> None:
    """Put a table in the place of itself, packed; the same text gives the same bytes."""
    packed = gzip.compress(file.read_bytes(), mtime=0)
    durable.write(file.with_name(f"{file.name}.gz"), packed)
    file.unlink()


def _problem(out: Path, to: Path) -> str:
    """What speaks against publishing a results folder, "" if nothing does."""
    said = folders.settings_of(out)
    name = f"{said['data'].partition('=')[0]}-{said['profile']}"
    if said["profile"] == "smoke" or out.name != name:
        return f"expected results/{name}, of a profile that decides something and its own settings"
    if not parts.is_whole(out):
        if not (part := parts.of_folder(out)):
            return "no notebook of a paper is done; ./run_all.sh goes on, then publish it"
        if wrong := parts.problem(out, part):
            return wrong
    for table in sorted((out / "tables").glob("*.md")):
        if re.search(rf"Reference: .*\b{said['profile']}\b", table.read_text(encoding="utf-8")):
            return (
                f"{table.name} shows the reference that this would replace; remove {to} and start "
                "./run_all.sh again, which makes tables and figures without it"
            )
    return ""


def _judge_part(out: Path, to: Path, before: Path, kept: list[str]) -> None:
    """Write the `VERDICTS` on the part of a results folder whose numbers are in `to` already, and on
    the notebooks that are kept of what was published `before`.
    """
    images = out / "images.parquet"
    claims, contrasts = judged.of_folder(to, images=images if images.exists() else None)
    if kept:
        contrasts = kept_parts.with_queries(contrasts, before)
    for name, table in zip(VERDICTS, (claims, contrasts), strict=True):
        durable.write(to / f"{name}.csv", table.to_csv(index=False, float_format="%.8g"))


def _draw_verdicts(out: Path, to: Path) -> None:
    """Make the table and figures of notebook 90 anew, from the `VERDICTS` that are in `to`."""
    from alignbook.workbook import workbook

    drawn = to / "drawn"
    judged.draw(workbook.load(out), to, drawn)
    shutil.copy2(drawn / "tables/claims.md", to / "tables/claims.md")
    for path in sorted((drawn / "figures").glob("*.png")):
        _shrink(path, to / "figures" / path.name)
    shutil.rmtree(drawn)


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def windows(text: str) -> set[tuple[str, ...]]:
    """Each `WORDS` words that follow one another in a text. Only letters count, a to z: tables
    write other characters differently, and put numbers between words.

    >>> sorted(windows("A dog. It's *wet*, 0.12 · it"))
    [('a', 'dog', 'it', 's', 'wet'), ('dog', 'it', 's', 'wet', 'it')]
    """
    words = re.findall("[a-z]+", text.lower())
    return set(zip(*(words[i:] for i in range(WORDS))))


def _copy(
    out: Path, to: Path, private: bool, said: set, part: list[str] | None
) -> Iterator[tuple[str, str]]:
    """Copy numbers, tables and figures; yields the names of those that may not be shown, and why.

    `said` are the windows of all captions that may not be; `part` the notebooks to which it is limited.
    """

    def own(paths: Iterable[Path]) -> list[Path]:
        return sorted(path for path in paths if part is None or parts.is_shown(path.stem, part))

    names = NUMBERS if part is not None else NUMBERS + VERDICTS
    files = [out / f"{name}.csv" for name in names]
    files += own(path for pattern in MEASURED for path in out.glob(pattern))
    files += own((out / "tables").glob("*.md"))
    for path in files:
        text, name = path.read_text(encoding="utf-8"), path.relative_to(out).as_posix()
        if part is not None and path.stem in NUMBERS:
            text = parts.rows(text, part)
        if private and (_quotes(name, text) or not said.isdisjoint(windows(text))):
            yield name, "captions"
            continue
        if name.startswith("tables/") and _without_ours(text):
            yield name, "no number of ours"
            continue
        (to / name).parent.mkdir(parents=True, exist_ok=True)
        durable.write(to / name, text)
    (to / "figures").mkdir()
    for path in own((out / "figures").glob("*.png")):
        numbers = path.with_suffix(".csv")
        drawn = numbers.read_text(encoding="utf-8") if numbers.exists() else ""
        if private and figures.shows_pictures(path):
            yield f"figures/{path.name}", "pictures"
        elif private and not said.isdisjoint(windows(drawn)):
            yield f"figures/{path.name}", "captions"
        elif re.match("label,mean,", drawn) and pd.read_csv(numbers)["mean"].isna().all():
            yield f"figures/{path.name}", "no number of ours"
        else:
            _shrink(path, to / "figures" / path.name)


def _without_ours(table: str) -> bool:
    r"""Whether a table in Markdown has no row, or none with a seed.

    >>> _without_ours("| a \\| b | seeds |\n| :- | ---: |\n| c | 0 |"), _without_ours("| a |\n| :- |")
    (True, True)
    >>> _without_ours("**a**\n\n| a | seeds |\n| :- | ---: |\n| c | 0 |\n| d | 3 |")
    False
    """
    lines = [line for line in table.splitlines() if line.startswith("|")]
    cells = [[each.strip() for each in re.split(r"(?<!\\)\|", line)] for line in lines]
    if not cells or "seeds" not in cells[0]:
        return 0 < len(cells) < 3
    return all(row[cells[0].index("seeds")] == "0" for row in cells[2:])


def _quotes(name: str, table: str) -> bool:
    """Whether a table holds parts of captions: the explorer's, and those with a column of phrases."""
    return name.startswith("tables/explorer-") or "| phrase " in table


def _shrink(path: Path, to: Path) -> None:
    """A figure as a small PNG of few colours."""
    from PIL import Image

    with Image.open(path) as image:
        image = image.convert("RGB")
        if image.width > WIDE:
            size = WIDE, round(image.height * WIDE / image.width)
            image = image.resize(size, Image.Resampling.LANCZOS)
        colours = 256 if figures.shows_pictures(path) else COLOURS  # a colour bar has many
        few = image.quantize(colours, Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE)
        few.save(to, optimize=True)  # which keeps the colours of small things


def version(root: Path) -> str:
    """The commit of a checkout, and whether its code differs from it; what is published anew was
    taken away before and counts as no difference.
    """

    def said(*words: str) -> str:
        return subprocess.run(["git", *words], cwd=root, capture_output=True, text=True).stdout

    code = "lib", "notebooks", "data", "Snakefile", "requirements.lock"
    changed = said("status", "--porcelain", "--", *code)
    return said("describe", "--always").strip() + "-dirty" * bool(changed)


def about(out: Path) -> dict:
    """Under which circumstances a results folder was made; no path of a folder is in it."""
    said, took = folders.settings_of(out), folders.starts_of(out)
    return {
        "data": said["data"].partition("=")[0],
        "profile": said["profile"],
        "notebooks": parts.ALL if parts.is_whole(out) else parts.of_folder(out),
        "seeds": said["seeds"],
        "set": {name: _without_place(value) for name, value in said["set"].items()},
        "version": version(ROOT),  # at which it was published
        "starts": [{name: each.get(name, "") for name in START} for each in took],
    }


def _without_place(value: str) -> str:
    """A setting's value; for a file or folder its name alone.

    >>> _without_place("coco=/a/b"), _without_place("openclip:ViT-B-32/openai")
    ('coco=b', 'openclip:ViT-B-32/openai')
    """
    before, mark, place = value.rpartition("=")
    return f"{before}{mark}{Path(place).name}" if place.startswith(("/", "~", ".")) else value


def publish_main(arguments: list[str]) -> int:
    """``publish [FOLDER] [--again]``; returns the exit code."""
    from alignbook.workbook import workbook

    parser = argparse.ArgumentParser(
        prog="run_all.sh publish",
        description="Put the numbers, tables and figures of a results folder, or of those notebooks of it "
        "that are done, into results/reference/, without pictures and captions of photographs.",
    )
    parser.add_argument("folder", nargs="?", type=Path, help="default: the newest results")
    parser.add_argument(
        "--again",
        action="store_true",
        help="the folder is another machine's: keep its primary contrasts beside those that are "
        "published under its name",
    )
    asked = parser.parse_args(arguments)
    try:
        out = (asked.folder or folders.newest(ROOT / "results")).resolve()
        if asked.again:
            print(again.said(again.keep(out, REFERENCE / out.name)))
            gallery.write()
            return 0
        book = workbook.load(out)
        captions = () if book.kind == "world" else _captions(book)
        left = publish(out, REFERENCE / out.name, book.kind != "world", captions)
        written = gallery.write()
    except (ValueError, OSError) as error:
        print(f"run_all.sh: {verbatim.message(error)}", file=sys.stderr)
        return 2
    for each in left:
        print(f"left out: {each}")
    for path in written:
        print(f"written: {path.relative_to(ROOT)}")
    print(f"published: {REFERENCE / out.name}")
    return 0


def _captions(book) -> list[str]:
    """All captions of the workbook's data."""
    dataset = book.dataset()
    return [each for split in dataset.splits for each in dataset.captions_of(split)]
