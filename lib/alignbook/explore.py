"""What the notebooks show of an exhibit's runs: effort, trials, verdicts, lines of a figure."""

import numpy as np
import pandas as pd

from alignbook import ROOT, runs


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
    from alignbook.inference import t_interval

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


def note_of(book, seeds: int = 0) -> str:
    """What stands by a table or figure: how to read it, and what may be compared."""
    seeds = seeds or book.profile.seeds
    what = f"Mean of {seeds} seeds, 95 % interval. " if seeds > 1 else "One seed. "
    if book.kind == "world":
        return what + "World numbers are not comparable with the paper's values: compare the order."
    return what + "Another data set than the paper's: compare the order."


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


def verdict_table(verdicts: pd.DataFrame, on_paper: pd.DataFrame) -> pd.DataFrame:
    """Verdicts for reading: the claim, what the paper's own table says of it, what ours does, why.

    Parameters
    ----------
    verdicts, on_paper : the first tables that `verdicts.judge` and `verdicts.on_paper` return.
    """
    merged = verdicts.merge(on_paper[["claim", "holds", "contrasts", "on_paper"]], on="claim")
    of = merged.holds.astype(str) + " of " + merged.contrasts.astype(str)
    merged["its own table"] = merged.on_paper.where(
        (merged.contrasts < 2) | (merged.on_paper == "no table"), merged.on_paper + ": " + of
    )
    enough = merged.needed.map(
        lambda n: "" if np.isnan(n) else "over 200" if np.isinf(n) else f"{n:.0f}"
    )
    return pd.DataFrame({
        "claim": merged.says, "exhibit": merged.exhibit, "the paper's own table": merged[
            "its own table"], "ours": merged.verdict, "because": merged.why, "seeds": merged.seeds,
        "seeds that would decide": enough.mask(merged.verdict == "reproduced", ""),
    })  # fmt: skip


def forest_lines(contrasts: pd.DataFrame, printed: pd.DataFrame) -> pd.DataFrame:
    """Differences of RSUM for `figures.forest`, under the name of their claim, the paper's beside.

    Parameters
    ----------
    contrasts, printed : the second tables that `verdicts.judge` and `verdicts.on_paper` return.
    """
    paper = printed.set_index(["claim", "contrast"])["value"].rename("paper")
    shown = contrasts[(contrasts.unit == "points") & ~contrasts.contrast.str.contains(", ")]
    shown = shown.join(paper, on=["claim", "contrast"])
    kept = ["contrast", "value", "low", "high", "query_low", "query_high", "reading", "paper"]
    lines = []
    for claim, group in shown.groupby("claim", sort=False):
        lines += [pd.DataFrame({"contrast": [claim]}), group[kept]]
    return pd.concat(lines, ignore_index=True).reindex(columns=kept) if lines else shown[kept]


def budget_table(book, timings: pd.DataFrame) -> pd.DataFrame:
    """What was planned for the profile's exhibits, and what the runs took.

    Parameters
    ----------
    timings : as `collect.gather` returns it; a run that several arms share counts once.

    Returns
    -------
    DataFrame
        exhibit, planned runs, runs, planned core-seconds, core-seconds (of training), seconds a
        step planned and measured, and the ratio of the two; NaN for what is on one side only.
    """
    planned = pd.read_csv(ROOT / "data" / "budget.csv")
    planned = planned[(planned.profile == book.profile.name) & (planned.data == book.kind)]
    found = timings.drop_duplicates("run")
    found = found.groupby("exhibit", sort=False).agg(
        made=("run", "count"), spent=("training_seconds", "sum"), steps_made=("steps", "sum")
    )
    both = planned.set_index("exhibit").join(found, how="outer")
    each = both.spent / both.steps_made
    return pd.DataFrame({
        "exhibit": both.index, "runs planned": both.runs, "runs": both.made,
        "core-seconds planned": both.core_seconds, "core-seconds": both.spent,
        "seconds a step planned": both.seconds_a_step, "seconds a step": each,
        "measured / planned": each / both.seconds_a_step,
    }).reset_index(drop=True)  # fmt: skip
