"""Curves of training in the report: a page with the figure of every exhibit whose arms were trained."""

import hashlib
import shutil
from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd
from PIL import Image

from alignbook.evidence import learnt
from alignbook.evidence.printed_tables import PAPERS
from alignbook.show import curves, figures
from alignbook.show.alt_texts import describe
from alignbook.store import runs, verbatim
from alignbook.store.fingerprint import code_hash
from alignbook.workbook import exhibits

DRAWN_FROM = "Drawn from"  # of a figure's metadata
SAYS = """\
# Curves of training

For every exhibit the arms that were trained for it. Left: the loss as a share of its trivial level, the
loss of a model whose scores are all equal; each point is the mean of a block of steps. Above 0.9 at the
end an arm did not train (‡), unless dev rose to five times what it was and above 100. Right: RSUM (the
sum of six recalls, %) on dev, its first 300 images at most, for CHAN 1,000, after each fifth of the steps; GSL and its
rivals are measured after each epoch, on the dev images that the epoch is chosen by. An arm that ends
below half of its best did not train either; one whose last fifth of steps adds more than 2 % is still
learning (†). Steps before 0 are those of a warm-up, which is
a run of its own and may have another loss. The numbers: `figures/…-training.csv` in the results folder."""


def listed(out: Path) -> pd.DataFrame:
    """The reported runs of a results folder that are stored, in the workbook's order of exhibits and
    arms: exhibit, arm, role, seed, key.
    """
    made = pd.read_csv(out / "runs.csv", dtype={"row": str, "run": str})
    made = made.rename(columns={"row": "arm", "run": "key"})
    made = made[(made.role == "report") & made.key.map(runs.is_stored)]
    names = [(name, arm) for name, each in exhibits.EXHIBITS.items() for arm in each.names()]
    place = {which: i for i, which in enumerate(names)}
    order = [place.get(which, len(place)) for which in zip(made.exhibit, made.arm)]
    return made.assign(order=order).sort_values("order", kind="stable").drop(columns="order")


def write_page(out: Path, target: Path) -> bool:
    """Write the report's page `curves.md` and its figures to `target`; False where no run left curves.

    What a notebook or the last report drew of the same points is taken over. An exhibit that measures
    runs which another trained has their curves there.
    """
    if not (out / "runs.csv").exists():
        return False
    parts, chapter, drawn = [SAYS], "", {}
    for exhibit, own in listed(out).groupby("exhibit", sort=False):
        points = curves.table(own)
        if not len(points):
            continue
        if (its := exhibits.chapter(exhibits.EXHIBITS[exhibit].notebook)) != chapter:
            parts.append(f"## {PAPERS.get(its, 'Base models')}")
            chapter = its
        parts.append(f"### {exhibit}")
        trained = {run.key for run in map(learnt.trained, map(runs.stored, own.key)) if run}
        if shown := next((other for other, keys in drawn.items() if trained <= keys), None):
            parts.append(f"Its runs are among those of {shown}, above.")
            continue
        drawn[exhibit] = trained
        file = target / f"{exhibit}-training.png"
        if there := _drawn_before(out, file.name, points):
            shutil.copy(there, file)
        else:
            _draw(file, points)
        alt = verbatim.markdown(Image.open(file).info["Description"])
        parts.append(f"![{alt}]({file.name})")
    if drawn:
        (target / "curves.md").write_text("\n\n".join(parts) + "\n", "utf-8")
    return bool(drawn)


def _drawn_before(out: Path, name: str, points: pd.DataFrame) -> Path | None:
    """The file in which a notebook drew these points, or the last report by this code too.

    A start runs a notebook anew where the code of its figures changed.
    """
    by_notebook = out / "figures" / name
    numbers = by_notebook.with_suffix(".csv")
    same = numbers.exists() and numbers.read_text("utf-8") == points.to_csv(index=False)
    if same and "Description" in _said(by_notebook):
        return by_notebook
    by_report = out / "report" / "_images" / name
    return by_report if _said(by_report).get(DRAWN_FROM) == _stamp(points) else None


def _said(png: Path) -> dict:
    """A figure's metadata, nothing where it is missing or cut."""
    try:
        with Image.open(png) as image:
            image.load()
            return image.info
    except OSError:
        return {}


def _draw(file: Path, points: pd.DataFrame) -> None:
    figure = curves.draw(points)
    figures.make_plain(figure)
    said = {"Software": None, "Description": describe(figure), DRAWN_FROM: _stamp(points)}
    figure.savefig(file, bbox_inches=figures.tight(figure), metadata=said)
    plt.close(figure)


def _stamp(points: pd.DataFrame) -> str:
    """Hash of what a figure is drawn from: the points, and the code that draws them."""
    code = code_hash("alignbook.show.curves", counts=bool)
    return hashlib.sha256(f"{code}\n{points.to_csv(index=False)}".encode()).hexdigest()
