"""Whether a run has learnt: its loss beside the level of knowing nothing, and its curve on dev.

An arm that has not learnt decides nothing: it wins no trial, and no claim rests on it.
"""

from collections.abc import Sequence

import numpy as np

from alignbook.store.runs import Run, is_stored, stored

ORDER = LEARNT, STILL_LEARNING, DID_NOT_TRAIN = "learnt", "still learning", "did not train"
SHARE = 0.9  # of the trivial loss, above which nothing was learnt, unless dev tells otherwise:
# times what dev had before the first step. A loss of hardest negatives stands near its trivial level
# wherever several captions fit a picture, however well the rest is ranked.
RISE = 5.0
LITTLE = 100.0  # of the 600 of RSUM, up to which dev tells nothing of the kind, however it rose
KEPT = 0.5  # of the best value on dev, below which the last one says that what was learnt was lost
GAIN = 0.02  # of the value on dev, above which the last fifth of the steps still taught something
LONGER = "-long"  # ends the name of a control: the arm of that name with four times the steps
MOVED = 0.05  # of an arm's value, by which such a control is higher if the arm had not learnt


def share(loss, trivial: float) -> float:
    """The mean loss of the last tenth of the steps, as a share of the trivial level.

    Parameters
    ----------
    loss : (steps,) float
        A value a step; with fewer than ten steps only the last counts.
    trivial : float
        The loss of scores that are all equal, in the same unit.

    Returns
    -------
    float; NaN without steps, or where the trivial level is not positive.

    Examples
    --------
    >>> share([4.0] * 18 + [1.0, 3.0], trivial=4.0)
    0.5
    """
    if not len(loss) or not trivial > 0:
        return float("nan")
    return float(np.mean(np.asarray(loss, float)[-max(1, len(loss) // 10) :]) / trivial)


def gain(dev) -> float:
    """What the last fifth of the steps added on dev, as a share of the value at the end.

    Parameters
    ----------
    dev : (L, 2) float
        Steps taken, and the value then. The value before the last fifth is the latest of those
        taken after at most four fifths of the steps.

    Returns
    -------
    float, negative where dev fell; NaN where no look was early enough.

    Examples
    --------
    >>> gain([(20, 50.0), (80, 90.0), (100, 100.0)])
    0.1
    """
    dev = np.asarray(dev, float).reshape(-1, 2)
    early = dev[dev[:, 0] <= 0.8 * dev[-1, 0]] if len(dev) else dev
    if not len(early) or not dev[-1, 1] > 0:
        return float("nan")
    return float((dev[-1, 1] - early[-1, 1]) / dev[-1, 1])


def rise(dev) -> float:
    """The last value on dev as a multiple of the one before the first step.

    NaN where nobody looked before the first step, where the value then was zero, or where the last
    one is `LITTLE`.

    Examples
    --------
    >>> rise([(0, 12.0), (50, 90.0), (100, 120.0)])
    10.0
    """
    dev = np.asarray(dev, float).reshape(-1, 2)
    if not len(dev) or dev[0, 0] != 0 or not dev[0, 1] > 0 or not dev[-1, 1] > LITTLE:
        return float("nan")
    return float(dev[-1, 1] / dev[0, 1])


def kept(dev) -> float:
    """The last value on dev as a share of the best one; NaN where that is not positive.

    Examples
    --------
    >>> kept([(0, 300.0), (50, 150.0), (100, 60.0)])
    0.2
    """
    dev = np.asarray(dev, float).reshape(-1, 2)
    if not len(dev) or not dev[:, 1].max() > 0:
        return float("nan")
    return float(dev[-1, 1] / dev[:, 1].max())


def of_run(run: Run) -> str:
    """The state of what a run trained, or of what was trained for what it measured."""
    return state(*measured(run))


def measured(run: Run) -> tuple[float, float, float, float]:
    """`share`, `gain`, `rise` and `kept` of what a run trained, NaN where nothing was; of several parts
    those of the one that learnt least.
    """
    found = map(_numbers, parts(run))
    return max(found, key=lambda each: ORDER.index(state(*each)), default=(float("nan"),) * 4)


def _numbers(own: Run) -> tuple[float, float, float, float]:
    trivial, dev = own.metrics.get("trivial loss", float("nan")), own.array("dev")
    return share(own.array("loss"), trivial), gain(dev), rise(whole_dev(own)), kept(dev)


def whole_dev(run: Run) -> np.ndarray:
    """The looks at dev `(L, 2)` of a trained run, those of the warm-up that it began with before them."""
    warm_ups = run.record["asked"] if "warm_up_epochs" in run.config else []
    return np.concatenate([*(stored(key).array("dev") for key in warm_ups), run.array("dev")])


def trained(run: Run) -> Run | None:
    """The run that was trained: what is shown may be what another run measured of it. Of several
    parts the first.
    """
    return next(iter(parts(run)), None)


def parts(run: Run) -> list[Run]:
    """The runs that were trained for what is shown: itself, or what it measured. A mean of matchers
    has several, which one module trained; other inputs were there before.
    """
    if run.has("loss"):
        return [run]
    found = [stored(key) for key in run.record["inputs"] if is_stored(key)]
    found = [each for each in found if each.has("loss")]
    return [each for each in found if each.record["module"] == found[0].record["module"]]


def best(candidates: Sequence, trials: Sequence[Sequence[Run]]):
    """The candidate whose trials have the largest mean RSUM on dev, of those that trained; a tie goes
    to the first. Where none trained, all of them count.

    Parameters
    ----------
    trials : the runs of each candidate, one a tuning seed.
    """
    allowed = [all(of_run(run) != DID_NOT_TRAIN for run in own) for own in trials]
    scores = [
        np.mean([run.metrics["dev RSUM"] for run in own]) if may or not any(allowed) else -np.inf
        for own, may in zip(trials, allowed)
    ]
    return candidates[int(np.argmax(scores))]


def of_row(states) -> str:
    """The state of a row by those of its seeds: it did not train if one of them did not, and is still
    learning if most of them are, as dev of a single seed is known to within some percent only.

    >>> of_row(["learnt", "learnt", "still learning"]), of_row(["learnt", "did not train"])
    ('learnt', 'did not train')
    """
    known = list(states)
    if DID_NOT_TRAIN in known:
        return DID_NOT_TRAIN
    return STILL_LEARNING if 2 * known.count(STILL_LEARNING) > len(known) else LEARNT


def state(
    loss_share: float,
    dev_gain: float,
    dev_rise: float = float("nan"),
    dev_kept: float = float("nan"),
) -> str:
    """What a run's `share`, `gain`, `rise` and `kept` say; a number that is missing says nothing.

    >>> state(0.95, 0.0), state(0.95, 0.0, 30.0), state(0.5, 0.0, 30.0, 0.3)
    ('did not train', 'learnt', 'did not train')
    >>> state(0.5, 0.1), state(0.5, 0.01)
    ('still learning', 'learnt')
    """
    if dev_kept < KEPT or loss_share > SHARE and not dev_rise > RISE:
        return DID_NOT_TRAIN
    return STILL_LEARNING if dev_gain > GAIN else LEARNT
