"""Accuracies on compositional probes: ARO, SugarCrepe, SVO-Probes. Two scores, one question.

A probe is right where the matching pair scores strictly higher than the other: a tie is wrong, so
that a model that can't tell the two apart gets 0, not 100. Chance is 50.
"""

from __future__ import annotations

import numpy as np

LEAST_ATTRIBUTION = 25  # items an attribute pair must have to count in VG-Attribution's mean


def _names(text: str) -> frozenset[str]:
    return frozenset(name.strip() for name in text.split(","))


# What VG-Relation's mean leaves out. The list is ARO's: the notebook "Replicate ARO!" of its
# authors' repository, vision-language-models-are-bows, calls all of these "symmetric". A dozen
# are truly so, or too vague to have an order; the others are relations with few items, which the
# authors leave out because a handful of lucky answers would weigh as much as a thousand.
SYMMETRIC = _names("around, beside, by, near, next to, of, on the side of, with") | _names(
    "adjusting, attached to, between, bigger than, biting, boarding, brushing, chewing, cleaning, "
    "climbing, close to, coming from, coming out of, contain, crossing, dragging, draped over, "
    "drinking, drinking from, driving, driving down, driving on, eating from, eating in, "
    "enclosing, exiting, facing, filled with, floating in, floating on, flying, flying above, "
    "flying in, flying over, flying through, full of, going down, going into, going through, "
    "grazing in, growing in, growing on, guiding, hanging from, hanging in, hanging off, hanging "
    "over, higher than, holding onto, hugging, in between, jumping off, jumping on, jumping over, "
    "kept in, larger than, leading, leaning over, leaving, licking, longer than, looking in, "
    "looking into, looking out, looking over, looking through, lying next to, lying on top of, "
    "making, mixed with, mounted on, moving, on the back of, on the edge of, on the front of, on "
    "the other side of, opening, painted on, parked at, parked beside, parked by, parked in, "
    "parked in front of, parked near, parked next to, perched on, petting, piled on, playing, "
    "playing in, playing on, playing with, pouring, reaching for, reading, reflected on, riding "
    "on, running in, running on, running through, seen through, sitting behind, sitting beside, "
    "sitting by, sitting in front of, sitting near, sitting next to, sitting under, skiing down, "
    "skiing on, sleeping in, sleeping on, smiling at, sniffing, splashing, sprinkled on, stacked "
    "on, standing against, standing around, standing behind, standing beside, standing in front "
    "of, standing near, standing next to, staring at, stuck in, surrounding, swimming in, "
    "swinging, talking to, topped with, touching, traveling down, traveling on, tying, typing on, "
    "underneath, wading in, waiting for, walking across, walking by, walking down, walking next "
    "to, walking through, working in, working on, worn on, wrapped around, wrapped in"
)


def prefers(positive_scores, negative_scores) -> np.ndarray:
    """Where the matching pair scores strictly higher.

    Parameters
    ----------
    positive_scores, negative_scores : (N,) float array or tensor
        Score of each probe's matching and other pair.

    Returns
    -------
    numpy.ndarray
        ``(N,) bool``.

    Raises
    ------
    ValueError
        Shapes that don't fit, no probe, or a score that is NaN or infinite: a NaN is never
        greater, and an infinity hides an overflow.

    Examples
    --------
    >>> prefers([0.3, 0.2, 0.5], [0.1, 0.2, 0.6])
    array([ True, False, False])
    """
    positive, negative = _array(positive_scores), _array(negative_scores)
    if positive.ndim != 1 or positive.shape != negative.shape or not positive.size:
        raise ValueError(
            f"scores have shapes {positive.shape} and {negative.shape}, expected (N,) "
            "twice, one of each for a probe"
        )
    for which, scores in (("positive", positive), ("negative", negative)):
        if (wrong := np.flatnonzero(~np.isfinite(scores))).size:
            raise ValueError(
                f"item {wrong[0]}: its {which} score is {scores[wrong[0]]} "
                f"({wrong.size} such), expected a finite number"
            )
    return positive > negative


def caption_accuracy(positive_scores, negative_scores) -> float:
    """Percent of probes whose picture prefers the true caption; every item counts the same.

    SugarCrepe states it for each kind; ARO's numbers are `macro_average`.

    Parameters and errors as `prefers`.

    Examples
    --------
    >>> caption_accuracy([0.3, 0.2, 0.5, 0.4], [0.1, 0.2, 0.6, 0.3])    # the tie is wrong
    50.0
    """
    return float(100 * prefers(positive_scores, negative_scores).mean())


def macro_average(correct, kinds, least: int = 1, without=()) -> float:
    """Mean over kinds of the percent right within each kind: every kind counts the same.

    VG-Relation: ``macro_average(correct, kinds, without=SYMMETRIC)``; VG-Attribution:
    ``macro_average(correct, kinds, least=LEAST_ATTRIBUTION)``.

    Parameters
    ----------
    correct : (N,) bool
        As from `prefers`.
    kinds : (N,) str
        Relation, or pair of attributes, of each probe.
    least : int
        Kinds with fewer items are left out.
    without : collection of str
        Kinds left out.

    Raises
    ------
    ValueError
        Shapes that don't fit; or no kind is left.

    Examples
    --------
    >>> macro_average([True, True, True, False, False], ["on", "on", "on", "in", "near"],
    ...               without={"near"})
    50.0
    """
    accuracy = by_kind(correct, kinds)
    names, counts = np.unique(np.asarray(kinds, str), return_counts=True)
    kept = [
        accuracy[str(name)]
        for name, count in zip(names, counts, strict=True)
        if count >= least and name not in without
    ]
    if not kept:
        raise ValueError(
            f"none of {len(names)} kinds is left: each has fewer than {least} items "
            "or is to be left out"
        )
    return float(np.mean(kept))


def image_accuracy(positive_scores, negative_scores, kinds) -> dict[str, float]:
    """Percent of probes whose caption prefers the right picture: by kind, and over all items.

    This is SVO-Probes as a choice between two pictures. Its authors' own number asks of each
    picture by itself whether the sentence fits, which needs a threshold; don't mix the two.

    Returns
    -------
    dict
        Percent of each kind, sorted, then "all" (every item counts the same).

    Examples
    --------
    >>> kinds = ["verb", "verb", "object", "object"]
    >>> image_accuracy([0.9, 0.4, 0.7, 0.8], [0.1, 0.4, 0.2, 0.3], kinds)
    {'object': 100.0, 'verb': 50.0, 'all': 75.0}
    """
    correct = prefers(positive_scores, negative_scores)
    return by_kind(correct, kinds) | {"all": float(100 * correct.mean())}


def by_kind(correct, kinds) -> dict[str, float]:
    """Percent right within each kind, kinds sorted.

    Parameters and errors as `macro_average`.

    Examples
    --------
    >>> by_kind([True, False, True], ["on", "on", "in"])
    {'in': 100.0, 'on': 50.0}
    """
    correct, kinds = _array(correct), np.asarray(kinds, str)
    if correct.dtype != bool or correct.ndim != 1 or correct.shape != kinds.shape:
        raise ValueError(
            f"correct is {correct.dtype} {correct.shape} and kinds {kinds.shape}, "
            "expected bool (N,) and as many names"
        )
    return {str(kind): float(100 * correct[kinds == kind].mean()) for kind in np.unique(kinds)}


def _array(values) -> np.ndarray:
    """An array of a list, an array, or a tensor on any device."""
    if hasattr(values, "detach"):
        values = values.detach().cpu()
        values = values.double() if values.is_floating_point() else values  # numpy has no bfloat16
    return np.asarray(values)
