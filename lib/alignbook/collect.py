"""Results as files in long form, made from the stored runs of the arms.

metrics.csv holds neither time nor revision: it is compared byte by byte between starts.
"""

import json
from pathlib import Path

import pandas as pd

from alignbook import runs
from alignbook.claims import t_interval
from alignbook.protocol import Protocol

COLUMNS = ("i2t R@1", "i2t R@5", "i2t R@10", "t2i R@1", "t2i R@5", "t2i R@10", "RSUM")


def arm_runs(files: list[Path]) -> pd.DataFrame:
    """The runs of some arms: exhibit, arm, role ("trial" or "report"), seed, key."""
    tables = [pd.read_csv(file).assign(exhibit=file.parent.name) for file in files]
    return pd.concat(tables, ignore_index=True)


def gather(book, arms: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """The results files of some arms, as `arm_runs` lists them.

    Returns
    -------
    dict of DataFrame
        `metrics`: one row per exhibit, row, column and seed. `summary`: mean and 95 % t interval
        over seeds. `timings`: seconds and steps a run. `runs`: where each number comes from.
    """
    listed = arms.sort_values(["exhibit", "arm", "role", "seed", "key"], kind="stable")
    dataset = book.dataset()
    metrics, timings, provenance = [], [], []
    for row in listed.itertuples():
        run = runs.stored(row.key)
        timings.append((row.exhibit, row.arm, row.role, row.seed, row.key, run.metrics["steps"],
                        run.metrics["training seconds"], run.record["seconds"]))
        provenance.append((row.exhibit, row.arm, row.role, row.seed, row.key,
                           run.metrics["dev RSUM"], run.metrics["parameters"],
                           run.metrics["checksum"], json.dumps(run.config),
                           json.dumps(run.record["versions"]), run.record["code"][:16],
                           run.record["device"], run.record["finished"]))
        if row.role == "trial":
            continue
        images = len(dataset.splits["test"])
        protocol = Protocol(dataset.name, "test", dataset.captions_per_image, images=images)
        for column in COLUMNS:
            n = images if column.startswith("i2t") else images * dataset.captions_per_image
            metrics.append((row.exhibit, row.arm, column, f"test {column}", row.seed,
                            round(run.metrics[f"test {column}"], 6), n, dataset.name,
                            book.profile.name, "test", str(protocol)))
    metrics = pd.DataFrame(metrics, columns=[
        "exhibit", "row", "column", "metric", "seed", "value", "n", "dataset", "profile", "split",
        "protocol",
    ])  # fmt: skip
    return {
        "metrics": metrics,
        "summary": summarise(metrics),
        "timings": pd.DataFrame(timings, columns=[
            "exhibit", "row", "role", "seed", "run", "steps", "training_seconds", "seconds",
        ]),
        "runs": pd.DataFrame(provenance, columns=[
            "exhibit", "row", "role", "seed", "run", "dev_rsum", "parameters", "checksum",
            "config", "versions", "code", "device", "finished",
        ]),
    }  # fmt: skip


def summarise(metrics: pd.DataFrame) -> pd.DataFrame:
    """Mean over seeds and its 95 % t interval: exhibit, row, column, seeds, mean, low, high."""
    rows = []
    for (exhibit, row, column), values in metrics.groupby(
        ["exhibit", "row", "column"], sort=False
    )["value"]:
        mean, low, high = t_interval(values.to_numpy())
        rows.append((exhibit, row, column, len(values), mean, low, high))
    return pd.DataFrame(
        rows, columns=["exhibit", "row", "column", "seeds", "mean", "low", "high"]
    ).round(4)
