"""What the notebooks show of an exhibit's runs: effort, trials, verdicts, lines of a figure."""

import numpy as np
import pandas as pd

from alignbook.evidence import claims, learnt, printed_tables, tuning_error
from alignbook.evidence.statistics import t_interval
from alignbook.show import tables
from alignbook.store import runs

MEASURED_ON = "measured on"  # column of times that are another machine's


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
    """What each arm cost: dev trials, parameters, steps, pairs seen, seconds of training a run; and
    whether it has learnt: its last losses beside their trivial level, and the last fifth's gain on
    dev, in percent, means over seeds.

    A run that counted its pairs itself says how many: batches may have two parts. A warm-up that
    runs share counts with each of them.
    """
    lines = []
    for arm, group in arms.groupby("arm", sort=False):
        listed = [runs.stored(key) for key in group[group.role == "report"].key]
        # a run that measures another has no batches of its own
        found = [run if "batch" in run.config else learnt.trained(run) or run for run in listed]
        metrics, config = found[0].metrics, found[0].config
        seconds = np.mean(
            [
                run.metrics["training seconds"] + run.metrics.get("warm-up seconds", 0)
                for run in found
            ]
        )
        steps = metrics["steps"] + metrics.get("warm-up steps", 0)
        pairs = metrics.get("samples") or (steps * config["batch"] * config.get("captions", 1))
        lines.append(
            (
                arm,
                int((group.role == "trial").sum()),
                len(found),
                metrics["parameters"],
                steps,
                pairs,
                seconds,
                *_learnt(listed),
            )
        )
    columns = ["arm", "dev trials", "seeds", "parameters", "steps", "pairs seen", "seconds a run"]
    return pd.DataFrame(lines, columns=[*columns, "loss, % of trivial", "gain, %", "state"])


def _learnt(found: list[runs.Run]) -> tuple[float, float, str]:
    """Mean share and gain of an arm's runs in percent, and the worst state."""
    shares, gains, *_ = zip(*map(learnt.measured, found))
    said = learnt.of_row(map(learnt.of_run, found))
    return 100 * np.mean(shares), 100 * np.mean(gains), said


def dot_lines(
    metrics: pd.DataFrame,
    printed: pd.DataFrame,
    rows: tuple,
    column: str = "RSUM",
    heading: str = "",
    reference: pd.DataFrame | None = None,
) -> pd.DataFrame:
    """One column of every line of a table for `figures.dots`, with a heading above each group:
    its name, or `heading` where it has none. The print's stars follow labels, and so do the marks
    of what did not train or was still learning. Rows that nobody has a number for are left out.
    `reference` is that of `tables.beside_paper`; its note becomes that of the lines.
    """
    means = {}
    if reference is not None:
        means = reference[reference.column == column].set_index("row")["mean"].to_dict()
    own = metrics[metrics.column == column]
    ours = own.groupby("row")["value"].apply(list)
    states = own.groupby("row").learnt.agg(learnt.of_row) if "learnt" in own else {}
    paper = printed[printed.column == column].set_index(["group", "row"])["value"]
    starred = printed_tables.ensembles(printed)
    lines, nothing = [], (np.nan, np.nan, np.nan, [], np.nan, np.nan)
    known = [row for row in rows if row[2] in ours or row[:2] in paper]
    for i, (group, label, arm) in enumerate(known):
        if not i or known[i - 1][0] != group:
            lines.append((group or heading, *nothing))
        values = ours.get(arm, [])
        interval = t_interval(values) if values else nothing[:3]
        star = tables.MARKS[tables.ENSEMBLE] if (group, label) in starred else ""
        others = paper.get((group, label), np.nan), means.get(arm, np.nan)
        mark = tables.MARKS.get(states.get(arm), "")
        lines.append((label + star + mark, *interval, values, *others))
    columns = ["label", "mean", "low", "high", "values", "paper", "reference"]
    found = pd.DataFrame(lines, columns=columns)
    if not means:
        return found.drop(columns="reference")
    found.attrs["note"] = reference.attrs.get("note", "")
    return found


def with_the_rest(printed: pd.DataFrame, rows: tuple) -> tuple:
    """Rows for `tables.beside_paper`: all that the paper prints, in its order, with our arm where
    there is one among `rows` (None elsewhere); then what is ours alone.
    """
    ours = {line[:2]: line[2] for line in rows}
    theirs = dict.fromkeys(zip(printed.group, printed.row))
    return tuple((*line, ours.get(line)) for line in theirs) + tuple(
        line for line in rows if line[:2] not in theirs
    )


def note_of(book, seeds: int = 0) -> str:
    """What stands by a table or figure of means: of how many seeds they are, and what may be
    compared. `seeds` is 0 where rows have different numbers of them.
    """
    several = f"Mean of {seeds} seeds, 95 % interval. "
    if not seeds:
        several = "Means over the seeds a row has, 95 % intervals. "
    return (several if (seeds or book.profile.seeds) > 1 else "One seed. ") + comparable(book)


def comparable(book) -> str:
    """Whether our numbers may be compared with the papers'."""
    if book.kind == "world":
        return "World numbers are not comparable with the paper's values: compare the order."
    if book.pretrained:
        return "Small pretrained towers, frozen, in the place of the paper's features: compare the order."
    if book.kind.startswith(("coco", "f30k", "flickr30k")):
        return "Values may be compared where the paper has the same data and split."
    return "Another data set than the paper's: compare the order."


def measured_on(times: pd.DataFrame) -> str:
    """The machine that measured some times, "" where it is this one."""
    return times[MEASURED_ON].iloc[0] if MEASURED_ON in times else ""


def measured_where(book, exhibit: str) -> str:
    """A sentence to follow others where an exhibit's times are another machine's, or ""."""
    where = measured_on(pd.read_csv(book.out / "efficiency" / f"{exhibit}.csv"))
    return f" Times measured on {where}." if where else ""


def with_costs(metrics: pd.DataFrame, costs: pd.DataFrame) -> pd.DataFrame:
    """Metrics and, below them, a paper's `cost.costs` in the same form: exhibit, row, column, seed,
    value.

    Claims about time and memory read both. They stand in efficiency/ alone, as metrics.csv is
    compared byte by byte between starts.
    """
    long = costs.melt(["exhibit", "row", "seed"], var_name="column").dropna(subset="value")
    return pd.concat([metrics, long], ignore_index=True)


def trials_table(
    arms: pd.DataFrame, shown: dict[str, str], measured: dict[str, str] | None = None
) -> pd.DataFrame:
    """What dev decided between, a line an arm and candidate: mean RSUM on dev and its standard
    deviation over tuning seeds. The chosen candidate is marked, and whether a setting of it is the
    least or largest that was tried. A control of more steps, "-long", shares its arm's lines.

    Parameters
    ----------
    arms : as `results.arms` lists them; those without trials are left out.
    shown : settings by which candidates differ, and their headings. What none varies is left out,
        and of an arm with several candidates what these don't vary.
    measured : further metrics of a trial whose mean is shown, and their headings.
    """
    lines: list[dict] = []
    of_another = arms.arm.str.removesuffix(learnt.LONGER).isin(arms.arm)
    longer = arms.arm.str.endswith(learnt.LONGER) & of_another
    for arm, group in arms[~longer].groupby("arm", sort=False):
        chosen = runs.stored(group[group.role == "report"].key.iloc[0]).config
        trials = [runs.stored(key) for key in group[group.role == "trial"].key]
        edge = tuning_error.at_edge([run.config for run in trials], chosen)
        tried = [tuple(run.config.get(name) for name in shown) for run in trials]
        varied = [len({*values}) > 1 or len({*tried}) < 2 for values in zip(*tried)]
        for settings in dict.fromkeys(tried):
            own = [run.metrics for run, of in zip(trials, tried) if of == settings]
            found = pd.DataFrame(own).reindex(columns=["dev RSUM", *(measured or {})])
            told = [value if of else np.nan for value, of in zip(settings, varied)]
            line = dict(zip(shown.values(), told)) | {"arm": arm, "sd": found["dev RSUM"].std()}
            line |= found.mean().rename(measured).to_dict()
            is_chosen = settings == tuple(chosen.get(name) for name in shown)
            lines.append(line | {"chosen": ("← at the edge" if edge else "←") * is_chosen})
    heads = ["dev RSUM", "sd", *(measured or {}).values(), "chosen"]
    table = pd.DataFrame(lines, columns=["arm", *shown.values(), *heads])
    table = table.replace({"τ": {0: np.nan}})  # hard coding has none
    for head in shown.values():
        if not pd.api.types.is_numeric_dtype(table[head]):  # yes and no
            table[head] = table[head].astype(object).fillna("–")
    same = [head for head in shown.values() if len(table) > 1 and table[head].nunique() < 2]
    return table.drop(columns=[*same, "sd"] if table.sd.isna().all() else same)


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
    return pd.DataFrame(
        {
            "claim": merged.claim,
            "what it says": merged.says,
            "exhibit": merged.exhibit,
            "test": merged.test,
            "the paper's own table": merged["its own table"],
            "ours": merged.verdict.replace("no difference", "no difference beyond the band"),
            "because": merged.why,
            "seeds": merged.seeds,
            "decided after": merged.took.astype(str).mask(merged.took == 0, ""),
            "seeds that would decide": enough.mask(merged.took > 0, ""),
        }
    )


def forest_groups(contrasts: pd.DataFrame, printed: pd.DataFrame) -> dict[tuple, pd.DataFrame]:
    """Lines for `figures.forest` by paper, what its axis shows, and decimals: contrasts under the
    name of their claim. The ends of a claimed range stand there unless they are 0, or a ratio of 1.

    Parameters
    ----------
    contrasts, printed : the second tables that `verdicts.judge` and `verdicts.on_paper` return.
    """
    paper = printed.set_index(["claim", "contrast"])["value"].rename("paper")
    whose = contrasts.claim.map(
        {claim.id: printed_tables.PAPERS[claim.paper] for claim in claims.load()}
    )
    lines = [
        (claim.id, each.label)
        + tuple(each.shown(end) if np.isfinite(end) and end else np.nan for end in each.bounds())
        for claim in claims.load()
        for each in claim.contrasts
    ]
    key = ["claim", "contrast"]
    ends = pd.DataFrame(lines, columns=[*key, "bottom", "top"]).drop_duplicates(key)
    shown = contrasts.join(paper, on=key).join(ends.set_index(key), on=key)
    kept = ["contrast", "value", "low", "high", "query_low", "query_high", "reading", "paper"]
    kept += ["bottom", "top"]
    groups, what = {}, shown.column.map(_kind)
    for (name, unit, of), group in shown.groupby([whose, shown.unit, what], sort=False):
        lines = []
        for claim, own in group.groupby("claim", sort=False):
            lines += [pd.DataFrame({"contrast": [claim]}), own[kept]]
        kind = "slope" if unit.endswith("doubling") else "difference"
        axis = f"{'ratio' if unit == '×' else kind} of {of}"
        axis += f", {unit}" * (unit != "×" and unit not in of)
        lines = pd.concat(lines, ignore_index=True).reindex(columns=kept)
        groups[name, axis, claims.DECIMALS.get(unit, 1)] = lines
    return groups


def _kind(column: str) -> str:
    """What numbers of a column have in common with others on one axis.

    >>> [_kind(name) for name in ("1K RSUM", "t2i R@5", "coco i2t R@1", "seconds", "")]
    ['RSUM', 'recalls', 'recalls on coco', 'seconds', 'several columns']
    """
    target = column.rpartition(" R@")[0].removesuffix("i2t").removesuffix("t2i").strip()
    if " R@" in column:
        return f"recalls on {target}" if target else "recalls"
    return "RSUM" if column.endswith("RSUM") else column or "several columns"


def preset_table(presets: dict, differences: dict[str, str]) -> pd.DataFrame:
    """The presets of a method side by side: a line a field in which any two differ, and why."""
    names = {key: ", ".join(key) for key in presets}
    fields = [
        field
        for field in vars(next(iter(presets.values())))
        if len({getattr(preset, field) for preset in presets.values()}) > 1
    ]
    return pd.DataFrame(
        [
            {"setting": field}
            | {names[k]: str(getattr(p, field)) for k, p in presets.items()}
            | {"why": differences.get(field, "")}
            for field in fields
        ]
    )
