"""GSL's Table 2: what a method's training costs in time, and where the time goes.

Every method is measured alone on the machine, in turn, on one thread, with the networks that it
trained: some steps of each phase, of which the median counts. A schedule's seconds are those times
the steps it has.
"""

import time
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
import torch

from alignbook.papers.gsl import coteaching, noisy_pairs, rivals, two_networks
from alignbook.papers.gsl import model as gsl
from alignbook.store import runs
from alignbook.store.stopwatch import alone, settle, timed

ROUNDS = 5  # steps of a phase, after one that isn't counted
DIVIDED = 256  # pairs that a division is timed on, at the least


@dataclass(frozen=True)
class Schedule:
    """Epochs of warm-up and after it in a method's public code; `source` says where from."""

    warm_up: int
    epochs: int
    source: str


SCHEDULES = {
    "gsl": Schedule(10, 40, "notes of the paper"),
    "ncr": Schedule(10, 40, "its code has 40 epochs; 10 before them is our assumption"),
    "bicro": Schedule(10, 40, "its code"),
    "gsc": Schedule(0, 60, "its code"),
}


def method_of(name: str) -> coteaching.Method:
    return gsl.METHOD if name == "gsl" else rivals.METHODS[name]


def measure(run, inputs: list, device: str) -> dict:
    """Seconds of a method's parts, both networks together.

    Returns
    -------
    dict: `warm-up`, a step; `early` and `late`, a step of the first and second half of the steps,
    correction included, and `early correction`, `late correction` the part of it; `plain`, a step of
    the same pairs as a late one, scored in the method's own parts, with the hardest negatives and
    nothing else; `division`, of one pair. `pairs` `N`, and the steps of an epoch `warm-up steps`,
    `steps` by the method's own schedule.
    """
    torch.set_num_threads(1)
    kind = gsl.Config if run.config["method"] == "gsl" else rivals.Config
    config = kind(**run.config)
    method = method_of(config.method)
    loss = coteaching.WARM_UPS[coteaching.warm_up_of(method, config).loss]
    dataset, feature_run, base_run, home, given = coteaching.Inputs(*inputs)
    networks, vocabulary = two_networks.load(run, dataset, feature_run, base_run, home)
    pairs = noisy_pairs.gather(config, dataset, feature_run, vocabulary, given)
    for network in networks.to(device):
        network.train()
    pair = two_networks.Pair(list(networks), len(pairs), method.record, config.epochs)
    pair.posterior[:] = torch.from_numpy(np.array(run.array("posterior")))
    pair.record[:] = torch.rand_like(pair.record)
    optimizer = torch.optim.Adam(pair.networks.parameters(), lr=0.0)
    everything, clock = np.arange(len(pairs)), Settled(pair.seconds, device)

    def stepped(loss_of):
        """Median seconds of a step of both networks, and those of its correction."""
        spent, corrected = [], []
        for i in range(ROUNDS + 1):
            before = pair.seconds.clone()
            settle(device)
            clock.turn("training")
            began = time.perf_counter()
            optimizer.zero_grad()
            (loss_of(0, i) + loss_of(1, i)).backward()
            torch.nn.utils.clip_grad_norm_(pair.networks.parameters(), config.clip)
            optimizer.step()
            settle(device)
            spent.append(time.perf_counter() - began)
            clock.turn(None)
            corrected.append(
                float((pair.seconds - before)[two_networks.PHASES.index("correction")])
            )
        return float(np.median(spent[1:])), float(np.median(corrected[1:]))

    def warm_up(k, i):
        chosen = noisy_pairs.draw(everything, config.batch, [k, 0], i)
        return loss(pairs.look(pair.networks[k], chosen), config)

    def chosen_of(k, i):
        judge = 1 - k if config.split == "peer" else k
        parts = everything, everything[:0]
        if method.parts:  # as many noisy ones as clean ones, however the division came out
            order = pair.posterior[judge].argsort(descending=True).numpy()
            parts = order[: len(order) // 2], order[len(order) // 2 :]
        return judge, [
            noisy_pairs.draw(part, config.batch, [k, j], i) for j, part in enumerate(parts)
        ]

    def train(k, i, late):
        judge, chosen = chosen_of(k, i)
        return method.train(coteaching.Step(config, k, judge, pair, pairs, *chosen, late, clock))

    def plain(k, i):
        parts = [part for part in chosen_of(k, i)[1] if len(part)]
        if config.method == "gsl":  # which scores all pairs of a step together
            parts = [np.concatenate(parts)]
        return sum(
            noisy_pairs.hardest(pairs.look(pair.networks[k], part), config.margin).mean()
            for part in parts
        )

    some = replace_index(pairs, max(DIVIDED, config.batch))

    def divide():
        for k, network in enumerate(pair.networks):
            record = pair.record[k][:, : len(some)].clone()
            method.divide(some.looks(network, config.batch, 0, 0), len(some), config, record)

    found = {"division": timed(divide, device)[0] / len(some), "warm-up": stepped(warm_up)[0]}
    for half, late in (("early", False), ("late", True)):
        found[half], found[f"{half} correction"] = stepped(lambda k, i: train(k, i, late))
    found |= {"plain": stepped(plain)[0], "pairs": len(pairs)}
    public = replace(config, epoch_steps=0)
    return found | {
        "warm-up steps": coteaching.steps_an_epoch(public, len(pairs), method.truth),
        "steps": coteaching.steps_an_epoch(public, len(pairs), method.truth, method.parts),
    }


class Settled(coteaching.Clock):
    """A clock that waits for what a GPU was given to do before it turns."""

    def __init__(self, seconds: torch.Tensor, device: str):
        super().__init__(seconds)
        self.device = device

    def turn(self, phase: str | None) -> None:
        settle(self.device)
        super().turn(phase)


def replace_index(pairs: noisy_pairs.Pairs, n: int) -> noisy_pairs.Pairs:
    """The first `n` pairs, at most all."""
    n = min(n, len(pairs))
    return replace(pairs, index=pairs.index[:n], ids=pairs.ids[:n], lengths=pairs.lengths[:n])


def table(book, listed: pd.DataFrame) -> pd.DataFrame:
    """`measure` of every method and seed of Table 2, kept and made as `stopwatch.alone` does.

    Parameters
    ----------
    listed : the runs of the exhibit, as `results.arms` lists them.
    """
    from alignbook.papers.gsl import arms

    def given(row, key):
        return runs.stored(key), arms.inputs(book, "gsl-T2", row), book.device

    return alone(book, listed, measure, given)


def costs(measured: pd.DataFrame) -> pd.DataFrame:
    """Seconds of every row and seed, from what `table` returns.

    `seconds` is the training by the method's own schedule: its public epochs over the pairs that
    are there. `warm-up`, `training` and `division` are its parts, `correction` a part of training,
    half of whose steps are early and half late. `at equal steps`: as many warm-up steps
    and later ones as NCR's schedule has, divided as often. `overhead` is the percent that division
    and correction add to the same steps with the plain triplet.
    """
    m = measured.set_index(["seed", "row"])
    base = m.xs("ncr", level="row")
    lines = []
    for (seed, row), line in m.iterrows():
        own, ncr = SCHEDULES[row], base.loc[seed]
        schedules = {
            "own": (own.warm_up * line["warm-up steps"], own.epochs * line["steps"], own.epochs),
            "equal": (
                SCHEDULES["ncr"].warm_up * ncr["warm-up steps"],
                SCHEDULES["ncr"].epochs * ncr["steps"],
                SCHEDULES["ncr"].epochs,
            ),
        }
        found = {}
        for name, (warm, steps, epochs) in schedules.items():
            parts = {
                "warm-up": warm * line["warm-up"],
                "training": steps * (line["early"] + line["late"]) / 2,
                "division": epochs * line["division"] * line["pairs"],
            }
            found[name] = parts
        mine = found["own"]
        epochs, steps = own.epochs, line["steps"]
        extra = line["late"] - line["plain"] + line["division"] * line["pairs"] / steps
        lines.append(
            {
                "exhibit": "gsl-T2",
                "row": row,
                "seed": seed,
                "seconds": sum(mine.values()),
                "at equal steps": sum(found["equal"].values()),
                **mine,
                "correction": epochs
                * steps
                * (line["early correction"] + line["late correction"])
                / 2,
                "overhead": 100 * extra / line["plain"],
            }
        )
    return pd.DataFrame(lines)


def with_metrics(metrics: pd.DataFrame, measured: pd.DataFrame) -> pd.DataFrame:
    """Metrics and, below them, `seconds` in the same form, for the claims about time.

    They stand in efficiency/ alone, as metrics.csv is compared byte by byte between starts.
    """
    found = costs(measured)[["exhibit", "row", "seed", "seconds"]]
    long = found.melt(["exhibit", "row", "seed"], var_name="column")
    return pd.concat([metrics, long], ignore_index=True)
