"""What the notebooks show of an exhibit's runs: effort, trials, differences, lines of a figure."""

import numpy as np
import pandas as pd

from alignbook import runs


def check_trials(arms: pd.DataFrame, strict: bool) -> str:
    """Compare the trials of each arm: settings that are tried must train different models.

    Returns a line that says what was found; raises `runs.ArmsIdentical` if `strict` and two trials
    ended with the same parameters.
    """
    trials = arms[arms.role == "trial"].drop_duplicates("key")
    for name, group in trials.groupby("arm", sort=False):
        models = {f"{name}, trial {i}": runs.stored(k) for i, k in enumerate(group.key, 1)}
        try:
            runs.check_arms_differ(models)
        except runs.ArmsIdentical as error:
            if strict:
                raise
            return f"too few steps for the settings to matter: {error}"
    return f"{len(trials)} trials, within each arm all different"


def effort_table(arms: pd.DataFrame) -> pd.DataFrame:
    """What each arm cost: dev trials, parameters, steps, pairs seen, seconds of training a run."""
    lines = []
    for arm, group in arms.groupby("arm", sort=False):
        found = [runs.stored(key) for key in group[group.role == "report"].key]
        metrics, config = found[0].metrics, found[0].config
        seconds = np.mean([run.metrics["training seconds"] for run in found])
        pairs = metrics["steps"] * config["batch"] * config.get("captions", 1)
        lines.append((arm, int((group.role == "trial").sum()), len(found), metrics["parameters"],
                      metrics["steps"], pairs, seconds))  # fmt: skip
    columns = ["arm", "dev trials", "seeds", "parameters", "steps", "pairs seen", "seconds a run"]
    return pd.DataFrame(lines, columns=columns)


def dot_lines(metrics: pd.DataFrame, printed: pd.DataFrame, rows: tuple) -> pd.DataFrame:
    """RSUM of every line of a table for `figures.dots`, with a heading above each group."""
    from alignbook.claims import t_interval

    ours = metrics[metrics.column == "RSUM"].groupby("row")["value"].apply(list)
    paper = printed[printed.column == "RSUM"].set_index(["group", "row"])["value"]
    lines, nothing = [], (np.nan, np.nan, np.nan, [], np.nan)
    for i, (group, label, arm) in enumerate(rows):
        if not i or rows[i - 1][0] != group:
            lines.append((group, *nothing))
        values = ours.get(arm, [])
        interval = t_interval(values) if values else nothing[:3]
        lines.append((label, *interval, values, paper.get((group, label), np.nan)))
    return pd.DataFrame(lines, columns=["label", "mean", "low", "high", "values", "paper"])


def note_of(book) -> str:
    """What stands below a figure: how to read it, and what may be compared."""
    seeds = book.profile.seeds
    what = f"{seeds} seeds (dots), mean and 95 % interval. " if seeds > 1 else "One seed. "
    if book.data == "world":
        return what + "World numbers are not comparable with the paper's values: compare the order."
    return what + "Another data set than the paper's: compare the order."


def differences_table(metrics: pd.DataFrame, pairs: list[tuple[str, str]]) -> pd.DataFrame:
    """RSUM differences between arms, seed by seed: first, second, seeds, difference, interval."""
    from alignbook.claims import paired_difference

    values = metrics[metrics.column == "RSUM"].pivot(index="seed", columns="row", values="value")
    lines = []
    for first, second in pairs:
        both = values[[first, second]].dropna()
        mean, low, high = paired_difference(both[first], both[second])
        reading = "one seed: open" if np.isnan(low) else (
            f"{first} is higher" if low > 0 else f"{second} is higher" if high < 0 else "open"
        )
        lines.append((first, second, len(both), mean, low, high, reading))
    columns = ["first", "second", "seeds", "difference", "low", "high", "reading"]
    return pd.DataFrame(lines, columns=columns)


def trials_table(arms: pd.DataFrame) -> pd.DataFrame:
    """Settings and dev RSUM of every trial; the arm's chosen one is marked."""
    lines = []
    for arm, group in arms.groupby("arm", sort=False):
        chosen = runs.stored(group[group.role == "report"].key.iloc[0]).config
        for key in group[group.role == "trial"].key:
            run = runs.stored(key)
            c = run.config
            lines.append((arm, c["scale"], c["margin"], c["temperature"] or np.nan,
                          run.metrics["dev RSUM"], "←" if c == chosen else ""))  # fmt: skip
    columns = ["arm", "λ", "margin", "τ", "dev RSUM", "chosen"]
    return pd.DataFrame(lines, columns=columns)
