"""Results as files in long form, made from the stored runs of the arms.

metrics.csv holds neither time nor revision: it is compared byte by byte between starts.
"""

import json
from dataclasses import replace

import numpy as np
import pandas as pd

from alignbook.core.names import BASE_MODEL, COLUMNS, row_and_target, slug
from alignbook.core.protocol import Protocol
from alignbook.core.retrieval import KS
from alignbook.evidence import learnt
from alignbook.evidence.statistics import t_interval
from alignbook.store import runs
from alignbook.workbook import arm_runs, chapters, exhibits

LISTED = ["exhibit", "arm", "role", "seed", "key"]  # what is said of a run of an arm
TEXTS = {name: str for name in ("exhibit", "arm", "role", "key")}
SEEDS = "seeds"  # folder of a results folder: the runs that were bought, a file a paper
PROBE = "the right one of two scores higher; a tie is wrong"


def arm(book, exhibit: str, name: str, seeds: int = 0) -> pd.DataFrame:
    """Tune an arm on dev and run it for every reporting seed; what is stored is only looked up.

    Parameters
    ----------
    seeds : how many reporting seeds, 0 for the profile's own number: those of the first look.

    Returns
    -------
    DataFrame, a line a run: `LISTED`, the role being "trial" or "report".
    """
    if name == BASE_MODEL:
        return pd.DataFrame([(exhibit, name, "report", 0, _base_model(book).key)], columns=LISTED)
    if exhibit == "base-models":
        found = [(seed, book.measured(name, seed).key) for seed in book.base_seeds]
        return pd.DataFrame([(exhibit, name, "report", *each) for each in found], columns=LISTED)
    chapter = chapters.arms_of(exhibit)
    inputs = chapter.inputs(book, exhibit, name)
    chosen, tried = _chosen(book, exhibit, name)
    lines = [(exhibit, name, arm_runs.TRIAL, seed, run.key) for seed, run in tried]
    reported = range(seeds) if seeds else arm_runs.seeds(exhibit, name, book.profile)
    trained = exhibits.EXHIBITS[exhibit].arm(name).trained
    wanted = [(chosen, seed if trained else 0) for seed in reported]
    for seed, run in zip(reported, runs.several(wanted, inputs, **book.trained), strict=True):
        if measured := getattr(chapter, "measured", None):
            run = measured(book, exhibit, name, run, inputs)
        lines.append((exhibit, name, arm_runs.REPORT, seed, run.key))
    return pd.DataFrame(lines, columns=LISTED)


def _base_model(book) -> runs.Run:
    """The run of the base model with its recalls on the domains of exhibits.

    The world's own is trained and tested on domain W, and measured on A and B by a run of its own.
    """
    return book.base() if ":" in book.profile.base else book.measured()


def _chosen(book, exhibit: str, name: str) -> tuple:
    """The settings that dev chose for an arm, and its trials: pairs of a seed and a run."""
    chapter = chapters.arms_of(exhibit)
    candidates, changes = chapter.arms(exhibit, book.profile)[name]
    wanted = arm_runs.trials(exhibit, name, book.profile)
    if not wanted:
        return replace(candidates[0], **changes), []
    inputs = getattr(chapter, "tuning_inputs", chapter.inputs)(book, exhibit, name)
    tried = runs.several(wanted, inputs, **book.trained)
    each = book.profile.tuning_seeds
    grouped = [tried[i : i + each] for i in range(0, len(tried), each)]
    chosen = replace(learnt.best(candidates, grouped), **changes)
    return chosen, [(seed, run) for (_, seed), run in zip(wanted, tried)]


def train(book, one: arm_runs.Training, wait: bool = True) -> runs.Run:
    """One training of an arm, which `arm` will find stored. A reporting seed's comes after the
    trials: what dev chooses is asked of them. `wait` is that of `runs.get`.
    """
    if one.exhibit == "base-models":
        return book.measured(one.arm, one.number)
    chapter = chapters.arms_of(one.exhibit)
    which = one.exhibit, one.arm
    if one.role == arm_runs.TRIAL:
        config, seed = arm_runs.trials(*which, book.profile)[one.number]
        inputs = getattr(chapter, "tuning_inputs", chapter.inputs)(book, *which)
    else:
        (config, _), seed = _chosen(book, *which), one.number
        inputs = chapter.inputs(book, *which)
    return runs.get(config, seed, inputs, wait=wait, **book.trained)


def arms(book, exhibit: str, seeds: dict[tuple[str, str], int] | None = None) -> pd.DataFrame:
    """The runs of all arms of an exhibit, as `arm` lists them.

    Parameters
    ----------
    seeds : how many reporting seeds of what (exhibit, arm), where these are not the profile's; by
        default those that were bought for this results folder.
    """
    names = exhibits.arms(exhibit, book.kind, book.profile)
    found = [arm(book, exhibit, name, (seeds or {}).get((exhibit, name), 0)) for name in names]
    listed = pd.concat(found, ignore_index=True) if found else pd.DataFrame(columns=LISTED)
    return with_bought(book, listed) if seeds is None else listed


def with_bought(book, listed: pd.DataFrame) -> pd.DataFrame:
    """Some arms' runs of the first look, and those of the seeds that were bought for them.

    A run of other settings or code than the arm's first is left out: seeds are bought anew then.
    """
    buys = book.profile.seeds_most > book.profile.seeds  # otherwise a file is of an earlier start
    for paper in dict.fromkeys(map(exhibits.paper, listed.exhibit)) if buys else ():
        file = book.out / SEEDS / f"{paper}.csv"
        if file.exists():
            bought = pd.read_csv(file, dtype=TEXTS)
            bought = bought[bought.seed < book.profile.seeds_most]
            listed = pd.concat([listed, _of_now(listed, bought)])
    return listed.reset_index(drop=True)


def _of_now(listed: pd.DataFrame, bought: pd.DataFrame) -> pd.DataFrame:
    """Those of the bought runs that differ from an arm's listed runs by their seed alone."""
    reported = listed[listed.role == "report"]
    first = reported.drop_duplicates(["exhibit", "arm"]).set_index(["exhibit", "arm"])["key"]
    known = {*zip(reported.exhibit, reported.arm, reported.seed)}
    kept = []
    for line in bought.itertuples():
        of_arm = first.get((line.exhibit, line.arm))
        new = (line.exhibit, line.arm, line.seed) not in known
        kept.append(new and of_arm is not None and _same_but_seed(of_arm, line.key))
    return bought[np.array(kept, bool)]


def _same_but_seed(one: str, other: str) -> bool:
    """Whether two runs, by their keys, are stored, of the same settings and code, and of inputs that
    are the same or, again, runs that differ by their seed alone.
    """
    if not (runs.is_stored(one) and runs.is_stored(other)):
        return False
    first, second = (runs.stored(key).record for key in (one, other))
    if any(first[name] != second[name] for name in ("config", "code")):
        return False
    before, after = first["inputs"], second["inputs"]
    return len(before) == len(after) and all(
        a == b or _same_but_seed(a, b) for a, b in zip(before, after)
    )


def there(book, exhibit: str) -> pd.DataFrame:
    """The runs of an exhibit as its jobs listed them, nothing computed; none if one is missing, or of
    other code or settings.
    """
    folder, settings = book.out / "arms" / exhibit, book.out / "settings.json"
    files = [
        folder / f"{slug(name)}.csv" for name in exhibits.arms(exhibit, book.kind, book.profile)
    ]
    found = [
        pd.read_csv(file, dtype=TEXTS)
        for file in files
        if file.exists() and file.stat().st_mtime >= settings.stat().st_mtime
    ]
    keys = {key for lines in found for key in lines.key}
    if (
        found
        and len(found) == len(files)
        and all(runs.is_stored(key) and runs.is_of_this_code(runs.stored(key)) for key in keys)
    ):
        return with_bought(book, pd.concat(found, ignore_index=True))
    return pd.DataFrame(columns=LISTED)


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
            state, lines = learnt.of_run(run), _recalls(book, row, run)
            if (
                row.arm != BASE_MODEL or row.exhibit == "base-models"
            ):  # others show its recalls alone
                lines += _asked(book, row, run)
                images += _of_images(row, run)
            numbers += [(*line, state) for line in lines]
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
    "learnt",
    "config",
    "versions",
    "code",
    "device",
    "finished",
]


def trials(made: pd.DataFrame) -> pd.DataFrame:
    """What dev said of each candidate: exhibit, row, target, candidate, seed, dev_rsum, config.

    Parameters
    ----------
    made : runs.csv, as `gather` returns it. Candidates are numbered in the order of their settings.
        One that did not train was tried too, but has NaN on dev, as `learnt.best` passes it over;
        where none trained, all have their numbers.
    """
    own = made[made.role == "trial"]
    arms_ = ["exhibit", "row"]
    idle = (own.learnt == learnt.DID_NOT_TRAIN).groupby([*map(own.get, arms_), own.config])
    idle = idle.transform("any")
    none = idle.groupby([*map(own.get, arms_)]).transform("all")
    named = [row_and_target(arm) for arm in own.row]
    number = own.groupby(["exhibit", "row"])["config"].transform(lambda all_: pd.factorize(all_)[0])
    return pd.DataFrame(
        {
            "exhibit": own.exhibit,
            "row": [row for row, _ in named],
            "target": [target for _, target in named],
            "candidate": number.astype(int),
            "seed": own.seed,
            "dev_rsum": own.dev_rsum.astype(float).mask(idle & ~none),
            "config": own.config,
        }
    ).reset_index(drop=True)


def _timing(row, run) -> tuple:
    """A line of `TIMINGS`."""
    spent = run.metrics["steps"], run.metrics["training seconds"], run.record["seconds"]
    return row.exhibit, row.arm, row.role, row.seed, row.key, *spent


def _provenance(row, run) -> tuple:
    """A line of `PROVENANCE`."""
    found = run.metrics.get("dev RSUM"), run.metrics["parameters"], run.metrics["checksum"]
    found += (learnt.of_run(run),)
    said = json.dumps(run.config), json.dumps(run.record["versions"]), run.record["code"][:16]
    made = run.record["device"], run.record["finished"]
    return row.exhibit, row.arm, row.role, row.seed, row.key, *found, *said, *made


def _protocol(book, run, domain: str) -> Protocol:
    """What an arm's recalls were measured on; the world's domains but A are named."""
    dataset = book.dataset()
    shown = run.config.get("test_images") or len(dataset.splits["test"])  # GSL: the first so many
    name = dataset.name if domain == "A" else f"{dataset.name} {domain}"
    return Protocol(name, "test", dataset.captions_per_image, images=shown)


def _domain(book, row) -> str:
    """The domain that an arm was tested on; "A" for data that are not the world's."""
    target = row_and_target(row.arm)[1] or exhibits.EXHIBITS[row.exhibit].domain
    return {"coco": "A", "f30k": "B"}.get(target, target) if book.kind == "world" else "A"


def _recalls(book, row, run) -> list[tuple]:
    """Lines of `METRICS`: the recalls on the test split, by folds where an exhibit has them."""
    (arm, target), domain = row_and_target(row.arm), _domain(book, row)
    here, away = _protocol(book, run, domain), f"{domain} test"
    of_base = arm == BASE_MODEL and f"{away} RSUM" in run.metrics  # its own test is on W
    versions = {f"{target} " if target else "": (away if of_base else "test", here)}
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
    """Lines of `METRICS`: what a run asked besides, on other domains, probes and the like."""
    arm, _ = row_and_target(row.arm)
    split, lines = run.metrics.get("asked of", "test"), []
    for metric, n in run.metrics.get("asked", {}).items():
        domain, told, asked = metric.rpartition("test ")  # "B test RSUM", "test RSUM", "AUC"
        protocol = _protocol(book, run, domain.strip() or _domain(book, row))
        how = run.metrics.get("how", PROBE)
        if told and asked in COLUMNS:
            how = f"{protocol} [{protocol.id}]"
        column, value = domain + asked, round(run.metrics[metric], 6)
        where = protocol.dataset, book.profile.name, split, how
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
        state = learnt.of_row(lines["learnt"]) if "learnt" in lines else learnt.LEARNT
        rows.append((*which, len(values), *t_interval(values), state))
    return pd.DataFrame(
        rows, columns=["exhibit", "row", "column", "seeds", "mean", "low", "high", "learnt"]
    ).round(4)
