"""Curves of training in the report: a page with the figure of every exhibit whose arms were trained."""

from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd

from alignbook.evidence.printed_tables import PAPERS
from alignbook.show import curves, figures
from alignbook.store import runs, verbatim
from alignbook.workbook import exhibits

SAYS = """\
# Curves of training

For every exhibit the arms that were trained for it. Left: the loss as a share of its trivial level, the
loss of a model whose scores are all equal; each point is the mean of a block of steps. Above 0.9 at the
end an arm did not train (‡), unless dev rose to five times what it was. Right: RSUM (the sum of six
recalls, %) on the first third of dev's images, at most 100, after each fifth of the steps; GSL and its
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

    What a notebook drew already stands in `out/figures`, and is taken from there.
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
        if shown := next((other for other, keys in drawn.items() if {*own.key} <= keys), None):
            parts.append(f"Its runs are among those of {shown}, above.")
            continue
        drawn[exhibit] = {*own.key}
        figure, name = curves.draw(points), f"{exhibit}-training"
        figures.make_plain(figure)
        figure.savefig(target / f"{name}.png", bbox_inches="tight", metadata={"Software": None})
        plt.close(figure)
        alt = verbatim.markdown(figures.describe(figure))
        parts.append(f"![{alt}]({name}.png)")
    if drawn:
        (target / "curves.md").write_text("\n\n".join(parts) + "\n", "utf-8")
    return bool(drawn)
