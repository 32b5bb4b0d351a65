"""Results as files in long form, made from the stored runs of the arms.

metrics.csv holds neither time nor revision: it is compared byte by byte between starts.
"""

import json
from dataclasses import replace

import numpy as np
import pandas as pd

from alignbook.core.names import BASE_MODEL, COLUMNS, row_and_target, slug
from alignbook.core.protocol import TUNING_SEED, Protocol
from alignbook.core.retrieval import KS
from alignbook.evidence import learnt
from alignbook.evidence.exhibit import Exhibit
from alignbook.evidence.statistics import t_interval
from alignbook.store import runs
from alignbook.workbook import chapters, exhibits, profiles

PROBE = "the right one of two scores higher; a tie is wrong"


def arm(book, exhibit: str, name: str) -> pd.DataFrame:
    """Tune an arm on dev and run it for every reporting seed; what is stored is only looked up.

    Returns
    -------
    DataFrame, a line a run: exhibit, arm, role ("trial" or "report"), seed, key.
    """
    columns = ["exhibit", "arm", "role", "seed", "key"]
    if name == BASE_MODEL:
        return pd.DataFrame([(exhibit, name, "report", 0, book.base().key)], columns=columns)
    if exhibit == "base-models":
        found = [(seed, book.measured(name, seed).key) for seed in book.base_seeds]
        return pd.DataFrame([(exhibit, name, "report", *each) for each in found], columns=columns)
    known = exhibits.EXHIBITS[exhibit]
    own, chapter = known.arm(name), chapters.arms_of(exhibit)
    candidates, changes = chapter.arms(exhibit, book.profile)[name]
    inputs = chapter.inputs(book, exhibit, name)
    chosen, trials = candidates[0], []
    if len(candidates) > 1 and not own.untuned(book.profile.name):
        tuned = getattr(chapter, "tuning_inputs", chapter.inputs)(book, exhibit, name)
        tried = [(config, TUNING_SEED) for config in candidates]
        trials = runs.several(tried, tuned, device=book.device)
        chosen = learnt.best(candidates, trials)
    chosen = replace(chosen, **changes)
    lines = [(exhibit, name, "trial", TUNING_SEED, run.key) for run in trials]
    seeds = book.seeds[:1] if own.single(book.profile.name) else seeds_of(book, known)
    wanted = [(chosen, seed if own.trained else 0) for seed in seeds]
    for seed, run in zip(seeds, runs.several(wanted, inputs, device=book.device), strict=True):
        if measured := getattr(chapter, "measured", None):
            run = measured(book, exhibit, name, run, inputs)
        lines.append((exhibit, name, "report", seed, run.key))
    return pd.DataFrame(lines, columns=columns)


def seeds_of(book, known: Exhibit) -> range:
    """Reporting seeds of an exhibit: the profile's, or more where it wants more and nobody said how
    many.
    """
    own = profiles.WORLD[book.profile.name].seeds == len(book.seeds)
    if book.profile.name == "smoke" or not own:
        return book.seeds
    return range(max(len(book.seeds), known.seeds))


def arms(book, exhibit: str) -> pd.DataFrame:
    """The runs of all arms of an exhibit, as `arm` lists them."""
    none = pd.DataFrame(columns=["exhibit", "arm", "role", "seed", "key"])
    found = [arm(book, exhibit, name) for name in exhibits.arms(exhibit, book.kind, book.profile)]
    return pd.concat(found, ignore_index=True) if found else none


def there(book, exhibit: str) -> pd.DataFrame:
    """The runs of an exhibit as its jobs listed them, nothing computed; none if one is missing, or of
    other code or settings.
    """
    folder, settings = book.out / "arms" / exhibit, book.out / "settings.json"
    files = [
        folder / f"{slug(name)}.csv" for name in exhibits.arms(exhibit, book.kind, book.profile)
    ]
    texts = {name: str for name in ("exhibit", "arm", "role", "key")}
    found = [
        pd.read_csv(file, dtype=texts)
        for file in files
        if file.exists() and file.stat().st_mtime >= settings.stat().st_mtime
    ]
    keys = {key for lines in found for key in lines.key}
    if (
        found
        and len(found) == len(files)
        and all(runs.is_stored(key) and runs.is_of_this_code(runs.stored(key)) for key in keys)
    ):
        return pd.concat(found, ignore_index=True)
    return pd.DataFrame(columns=["exhibit", "arm", "role", "seed", "key"])


def gather(book, listed: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """The results files of some arms, as `arm` lists them.

    Returns
    -------
    dict of DataFrame
        `metrics`: one row per exhibit, row, column and seed. `summary`: mean and 95 % t interval
        over seeds. `timings`: seconds and steps a run. `runs`: where each number comes from.
        `images`: the six recalls of each test image, its captions together, of the runs that kept
        their ranks.
    """
    listed = listed.sort_values(["exhibit", "arm", "role", "seed", "key"], kind="stable")
    numbers, timings, provenance, images = [], [], [], []
    for row in listed.itertuples():
        run = runs.stored(row.key)
        timings.append(_timing(row, run))
        provenance.append(_provenance(row, run))
        if row.role != "trial":
            state = learnt.of_run(run)
            lines = _recalls(book, row, run) + _asked(book, row, run)
            numbers += [(*line, state) for line in lines]
            images += _of_images(row, run)
    metrics = pd.DataFrame(numbers, columns=METRICS)
    none = pd.DataFrame(columns=["image", *COLUMNS[:6], "exhibit", "row", "target", "seed"])
    return {
        "metrics": metrics,
        "summary": summarise(metrics),
        "timings": pd.DataFrame(timings, columns=TIMINGS),
        "runs": pd.DataFrame(provenance, columns=PROVENANCE),
        "images": pd.concat(images, ignore_index=True) if images else none,
    }


METRICS = [
    "exhibit",
    "row",
    "column",
    "metric",
    "seed",
    "value",
    "n",
    "dataset",
    "profile",
    "split",
    "protocol",
    "learnt",
]
TIMINGS = ["exhibit", "row", "role", "seed", "run", "steps", "training_seconds", "seconds"]
PROVENANCE = [
    "exhibit",
    "row",
    "role",
    "seed",
    "run",
    "dev_rsum",
    "parameters",
    "checksum",
    "config",
    "versions",
    "code",
    "device",
    "finished",
]


def _timing(row, run) -> tuple:
    """A line of `TIMINGS`."""
    spent = run.metrics["steps"], run.metrics["training seconds"], run.record["seconds"]
    return row.exhibit, row.arm, row.role, row.seed, row.key, *spent


def _provenance(row, run) -> tuple:
    """A line of `PROVENANCE`."""
    found = run.metrics.get("dev RSUM"), run.metrics["parameters"], run.metrics["checksum"]
    said = json.dumps(run.config), json.dumps(run.record["versions"]), run.record["code"][:16]
    made = run.record["device"], run.record["finished"]
    return row.exhibit, row.arm, row.role, row.seed, row.key, *found, *said, *made


def _protocols(book, row, run) -> tuple[Protocol, Protocol]:
    """What an arm's recalls were measured on, and the same on domain B."""
    dataset = book.dataset()
    shown = run.config.get("test_images") or len(dataset.splits["test"])  # GSL: the first so many
    here = Protocol(dataset.name, "test", dataset.captions_per_image, images=shown)
    elsewhere = replace(here, dataset=f"{dataset.name} B")
    return (elsewhere if _is_on_b(book, row) else here), elsewhere


def _is_on_b(book, row) -> bool:
    target = row_and_target(row.arm)[1] or exhibits.EXHIBITS[row.exhibit].domain
    return book.kind == "world" and target in ("f30k", "B")


def _recalls(book, row, run) -> list[tuple]:
    """Lines of `METRICS`: the recalls on the test split, by folds where an exhibit has them."""
    (arm, target), (here, _) = row_and_target(row.arm), _protocols(book, row, run)
    versions = {f"{target} " if target else "": ("test", here)}
    if exhibits.EXHIBITS[row.exhibit].folds:
        versions = {"5K ": versions[""], "1K ": ("test 1K", replace(here, folds=5))}
    captions = here.images * here.captions_per_image
    queries = {"i2t": here.images, "t2i": captions, "RSUM": here.images + captions}
    lines = []
    for label, (prefix, how) in versions.items():
        for column in COLUMNS if f"{prefix} RSUM" in run.metrics else ():
            metric = f"{prefix} {column}"
            value, n = round(run.metrics[metric], 6), queries[column.split()[0]]
            where = how.dataset, book.profile.name, "test", f"{how} [{how.id}]"
            lines.append((row.exhibit, arm, label + column, metric, row.seed, value, n, *where))
    return lines


def _asked(book, row, run) -> list[tuple]:
    """Lines of `METRICS`: what a run asked besides, on domain B, probes and the like."""
    arm, _ = row_and_target(row.arm)
    _, elsewhere = _protocols(book, row, run)
    split, lines = run.metrics.get("asked of", "test"), []
    for metric, n in run.metrics.get("asked", {}).items():
        on_b = _is_on_b(book, row) or metric.startswith("B test ")
        name = elsewhere.dataset if on_b else book.dataset().name
        column = metric.removeprefix("test ").replace("B test", "B")
        how = run.metrics.get("how", PROBE)
        if column.removeprefix("B ") in COLUMNS:
            how = f"{elsewhere} [{elsewhere.id}]"
        value = round(run.metrics[metric], 6)
        where = name, book.profile.name, split, how
        lines.append((row.exhibit, arm, column, metric, row.seed, value, n, *where))
    return lines


def _of_images(row, run) -> list[pd.DataFrame]:
    """The recalls of each test image, where a run kept its ranks."""
    if not run.has("ranks_i2t"):
        return []
    found = image_recalls(run.array("ranks_i2t"), run.array("ranks_t2i"))
    arm, target = row_and_target(row.arm)
    return [found.assign(exhibit=row.exhibit, row=arm, target=target, seed=row.seed)]


def image_recalls(i2t, t2i) -> pd.DataFrame:
    """Recalls in percent of each test image as a query, and of its captions: image, six columns.

    Parameters
    ----------
    i2t : (N,) ranks of the images' best captions, from 1. t2i : (5·N,) of the captions' images.

    Examples
    --------
    >>> image_recalls(np.array([1, 9]), np.array([1, 20, 3, 1]))["t2i R@1"].tolist()
    [50.0, 50.0]
    """
    t2i = np.asarray(t2i).reshape(len(i2t), -1)
    found = {f"i2t R@{k}": 100.0 * (np.asarray(i2t) <= k) for k in KS}
    found |= {f"t2i R@{k}": 100.0 * (t2i <= k).mean(axis=1) for k in KS}
    return pd.DataFrame({"image": np.arange(len(i2t)), **found})


def summarise(metrics: pd.DataFrame) -> pd.DataFrame:
    """Mean over seeds and its 95 % t interval: exhibit, row, column, seeds, mean, low, high, learnt."""
    rows = []
    for which, lines in metrics.groupby(["exhibit", "row", "column"], sort=False):
        values = lines["value"].to_numpy()
        state = learnt.worst(lines["learnt"]) if "learnt" in lines else learnt.LEARNT
        rows.append((*which, len(values), *t_interval(values), state))
    return pd.DataFrame(
        rows, columns=["exhibit", "row", "column", "seeds", "mean", "low", "high", "learnt"]
    ).round(4)
