"""GSL's Table 2: what a method's training costs in time, and where the time goes.

Every method is measured alone on the machine, in turn, on one thread, with the networks that it
trained: some steps of each phase, of which the median counts. A schedule's seconds are those times
the steps it has.
"""

import time
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import pandas as pd
import torch

from alignbook.evidence.entries import measurements
from alignbook.papers.gsl import coteaching, model, noisy_pairs, rivals, two_networks, warm_up
from alignbook.store import runs
from alignbook.store.stopwatch import alone, settle, timed

ROUNDS = 5  # steps of a phase, after one that isn't counted
DIVIDED = 256  # pairs that a division is timed on, at least


@dataclass(frozen=True)
class Schedule:
    """Epochs of warm-up and after it in a method's public code; `source` says where from.

    `predicts`: noisy pairs are predicted in every epoch, though they train in the second half alone.
    """

    warm_up: int
    epochs: int
    source: str
    predicts: bool = False


SCHEDULES = {
    "gsl": Schedule(10, 40, "notes of the paper"),
    "ncr": Schedule(5, 40, "its code, for Flickr30K", predicts=True),
    "bicro": Schedule(10, 40, "its code"),
    "gsc": Schedule(0, 60, "its code"),
}


def method_of(name: str) -> coteaching.Method:
    return model.METHOD if name == "gsl" else rivals.METHODS[name]


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
    bench = Bench(run, noisy_pairs.Inputs(*inputs), device)
    found = {"warm-up": bench.stepped(bench.warm_up)[0]}
    for half, late in (("early", False), ("late", True)):
        found[half], found[f"{half} correction"] = bench.stepped(partial(bench.train, late=late))
    method, n, public = bench.method, len(bench.pairs), replace(bench.config, epoch_steps=0)
    found |= {"plain": bench.stepped(bench.plain)[0], "division": bench.division(), "pairs": n}
    return found | {
        "warm-up steps": noisy_pairs.steps_an_epoch(public, n, method.truth),
        "steps": noisy_pairs.steps_an_epoch(public, n, method.truth, method.parts),
    }


class Bench:
    """A method's networks and pairs as its run left them, and the parts of it that are timed.

    Steps leave the networks as they are: the learning rate is 0.
    """

    def __init__(self, run, inputs: noisy_pairs.Inputs, device: str):
        kind = model.Config if run.config["method"] == "gsl" else rivals.Config
        self.config, self.device = kind(**run.config), device
        self.method = method_of(self.config.method)
        self.loss = warm_up.WARM_UPS[warm_up.warm_up_of(self.method, self.config).loss]
        dataset, features, base_run, home, given = inputs
        networks, vocabulary = two_networks.load(run, dataset, features, base_run, home)
        self.pairs = noisy_pairs.gather(self.config, dataset, features, vocabulary, given)
        for network in networks.to(device):
            network.train()
        n, config = len(self.pairs), self.config
        bank = min(self.method.bank(config), n), config.dim
        self.pair = two_networks.Pair(list(networks), n, self.method.record, 0, bank=bank)
        self.pair.posterior[:] = torch.from_numpy(np.array(run.array("posterior")))
        self.pair.record[:] = torch.rand_like(self.pair.record)
        self.optimizer = torch.optim.Adam(self.pair.networks.parameters(), lr=0.0, fused=True)
        self.everything = np.arange(n)
        for k in range(2) if bank[0] else ():
            self.fill_bank(k, self.drawn(k, 0)[0], self.pairs)
        self.clock = Settled(self.pair.seconds, device)

    def stepped(self, loss_of) -> tuple[float, float]:
        """Median seconds of a step of both networks, and those of its correction.

        `loss_of` network k in round i.
        """
        spent, corrected = [], []
        for i in range(ROUNDS + 1):
            before = self.pair.seconds.clone()
            settle(self.device)
            self.clock.turn("training")
            began = time.perf_counter()
            self.optimizer.zero_grad()
            (loss_of(0, i) + loss_of(1, i)).backward()
            torch.nn.utils.clip_grad_norm_(self.pair.networks.parameters(), self.config.clip)
            self.optimizer.step()
            settle(self.device)
            spent.append(time.perf_counter() - began)
            self.clock.turn(None)
            phases = self.pair.seconds - before
            corrected.append(float(phases[two_networks.PHASES.index("correction")]))
        return float(np.median(spent[1:])), float(np.median(corrected[1:]))

    def division(self) -> float:
        """Seconds of the division, a pair."""
        config, some = self.config, first_of(self.pairs, max(DIVIDED, self.config.batch))

        def divide():
            for k, network in enumerate(self.pair.networks):
                record = self.pair.record[k][:, : len(some)].clone()
                looks = some.looks(network, config.batch, 0, 0)
                self.method.divide(looks, len(some), config, record)
                if self.method.bank(config):
                    self.fill_bank(k, k, some)

        return timed(divide, self.device)[0] / len(some)

    def fill_bank(self, k: int, judge: int, pairs: noisy_pairs.Pairs) -> None:
        """Network k's bank of half of some pairs, those that a network holds for the cleanest."""
        likely = (-self.pair.posterior[judge, : len(pairs)]).argsort().numpy()
        clean = np.sort(likely[: max(1, len(pairs) // 2)])
        coteaching.fill_bank(self.pair, k, pairs, clean)

    def warm_up(self, k: int, i: int) -> torch.Tensor:
        """The loss of a step of the warm-up."""
        chosen = noisy_pairs.draw(self.everything, self.config.batch, [k, 0], i)
        return self.loss(self.pairs.look(self.pair.networks[k], chosen), self.config)

    def drawn(self, k: int, i: int) -> tuple[int, list]:
        """The judge of a step, and its pairs in the method's own parts."""
        judge = 1 - k if self.config.split == "peer" else k
        parts = self.everything, self.everything[:0]
        if self.method.parts:  # as many noisy ones as clean ones, however the division came out
            order = self.pair.posterior[judge].argsort(descending=True).numpy()
            parts = order[: len(order) // 2], order[len(order) // 2 :]
        return judge, [
            noisy_pairs.draw(part, self.config.batch, [k, j], i) for j, part in enumerate(parts)
        ]

    def train(self, k: int, i: int, late: bool) -> torch.Tensor:
        """The loss of a step of the method."""
        judge, chosen = self.drawn(k, i)
        step = coteaching.Step(
            self.config, k, judge, self.pair, self.pairs, *chosen, late, self.clock
        )
        return self.method.train(step)

    def plain(self, k: int, i: int) -> torch.Tensor:
        """The loss of the same pairs with the hardest negatives and nothing else."""
        parts = [part for part in self.drawn(k, i)[1] if len(part)]
        if self.config.method == "gsl":  # which scores all pairs of a step together
            parts = [np.concatenate(parts)]
        looks = (self.pairs.look(self.pair.networks[k], part) for part in parts)
        return sum(noisy_pairs.hardest(look, self.config.margin).mean() for look in looks)


class Settled(coteaching.Clock):
    """A clock that waits for what a GPU was given to do before it turns."""

    def __init__(self, seconds: torch.Tensor, device: str):
        super().__init__(seconds)
        self.device = device

    def turn(self, phase: str | None) -> None:
        settle(self.device)
        super().turn(phase)


def first_of(pairs: noisy_pairs.Pairs, n: int) -> noisy_pairs.Pairs:
    """The first `n` pairs, at most all."""
    n = min(n, len(pairs))
    return replace(pairs, index=pairs.index[:n], ids=pairs.ids[:n], lengths=pairs.lengths[:n])


def table(book, listed: pd.DataFrame) -> pd.DataFrame:
    """`measure` of every method of Table 2, kept and made as `stopwatch.alone` does.

    Parameters
    ----------
    listed : the runs of the exhibit, as `results.arms` lists them.
    """
    from alignbook.papers.gsl import arms

    def given(row, key):
        return runs.stored(key), arms.inputs(book, "gsl-T2", row), book.device

    return alone(book, listed, measure, given, times=measurements(book.profile.name))


def costs(measured: pd.DataFrame) -> pd.DataFrame:
    """Seconds of every row and turn, from what `table` returns.

    `seconds` is the training by the method's own schedule: its public epochs over the pairs that
    are there; `an epoch` is what one takes after the warm-up, on average. `warm-up`, `training` and `division` are its
    parts, `correction` a part of training, half of whose steps are early and half late. `at equal steps`: as many warm-up steps
    and later ones as NCR's schedule has, divided as often. `overhead` is the percent that division
    and correction add to the same steps with the plain triplet.
    """
    m = measured.set_index(["seed", "row"])
    base = m.xs("ncr", level="row")
    lines = []
    for (seed, row), line in m.iterrows():
        own, ncr = SCHEDULES[row], base.loc[seed]
        # What a late step corrects beyond an early one are the noisy pairs' predictions.
        predicting = own.predicts * (line["late correction"] - line["early correction"])

        def parts(of, counted, line=line, predicting=predicting) -> dict[str, float]:
            """Seconds of the parts of a schedule, with so many steps counted an epoch."""
            steps = of.epochs * counted["steps"]
            return {
                "warm-up": of.warm_up * counted["warm-up steps"] * line["warm-up"],
                "training": steps * (line["early"] + line["late"] + predicting) / 2,
                "division": of.epochs * line["division"] * line["pairs"],
            }

        mine, equal = parts(own, line), parts(SCHEDULES["ncr"], ncr)
        epochs, steps = own.epochs, line["steps"]
        extra = line["late"] - line["plain"] + line["division"] * line["pairs"] / steps
        lines.append(
            {
                "exhibit": "gsl-T2",
                "row": row,
                "seed": seed,
                "seconds": sum(mine.values()),
                "at equal steps": sum(equal.values()),
                **mine,
                "correction": epochs
                * steps
                * (line["early correction"] + line["late correction"] + predicting)
                / 2,
                "an epoch": (mine["training"] + mine["division"]) / epochs,
                "overhead": 100 * extra / line["plain"],
            }
        )
    return pd.DataFrame(lines)
