"""GSL: cross-modal anchors against noisy correspondence; rebuilt, as we hold its supplement alone.

In the order of the method: the structure of vectors (Eq. 7), anchors, corrected labels (Eq. 8–11),
the semantic-constrained triplet loss (Eq. 13, 15–17), and Algorithm 1 on top of the co-teaching
that `coteaching` has for all methods. Tags are those of docs/README.md; we hold the supplement
only.

Everywhere a mini-batch holds B pairs: clean ones and noisy ones, as the division has it. S(I, T) is
the network's score; S(I, I) and S(T, T) are cosines of mean-pooled encoder outputs [A].
"""

import math
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple, cast

import numpy as np
import torch
from torch.nn import functional as F

from alignbook.core import losses
from alignbook.core.precision import in_float32
from alignbook.papers.gsl import coteaching, mixtures, noisy_pairs
from alignbook.papers.gsl.noisy_pairs import Bank, soft_margin, spread

LEAST = 1e-3  # of a cosine that others are divided by
BANK = 4096  # clean pairs that anchors are chosen from, at most [A]
MIXTURES = {"beta": mixtures.BetaMixture, "normal": mixtures.GaussianMixture}
KNOWN = {
    "mixture": tuple(MIXTURES),
    "clamp": ("floor", "shift"),
    "anchors": ("bank", "sample", "batch"),
    "reduction": ("mean", "sum"),
}


@dataclass(frozen=True)
class Config(coteaching.Config):
    """One arm of GSL, with the fields of `coteaching.Config`.

    The warm-up of its own is L_w (line 1) [S]; `warm_up` "mean" takes mean violations, as NCR does
    [X]: networks that have learnt little are held where all scores are the same by hardest
    negatives.
    """

    method: str = "gsl"  # [S]
    zeta: float = 1.0  # ζ, weight of L_intra [N]
    eta: float = 0.1  # η, weight of L_inter [N]
    sign: int = 1  # of L_inter [A]; the notes have −1
    reduction: str = "mean"  # over the batch and over the anchors [A]; the notes have "sum"
    eq7: bool = True  # similarities in the frequency domain [N], or of the vectors as they are
    two_anchor_ratio: bool = False  # compares R_I with R_T [N], or S_I with S_T [X]
    clamp: str = "floor"  # raises cosines to 1e-3 [A]; "shift" takes (1 + cos) / 2
    # Two for each pair, of all clean pairs as they were when the epoch began (line 4: "in D") [A],
    # or of the mini-batch's ("sample", line 13); or two for the whole "batch" (line 13 to the word).
    anchors: str = "bank"  # [A]
    mixture: str = "beta"  # over the losses (lines 6 and 7) [S], or "normal", as NCR's [X]
    noisy_out: bool = False  # noisy pairs stay out of the first half of the steps, as NCR's do [X]
    refine_clean: bool = True  # clean pairs get new labels (line 15) [S], or keep 1 (line 12)

    def __post_init__(self):
        super().__post_init__()
        for name in KNOWN:
            _known(name, getattr(self, name))
        if self.sign not in (1, -1):
            raise ValueError(f"sign must be 1 or -1, not {self.sign}")

    def compute(self, inputs, seed: int, folder: Path, device: str) -> dict:
        """What a run of it is: see `compute` below."""
        return compute(self, inputs, seed, folder, device)


# --- Structure of vectors (Eq. 7) ----------------------------------------------------------------


def structure(vectors: torch.Tensor, clean: torch.Tensor) -> torch.Tensor:
    """Eq. 7: amplitudes and phases of the vectors' discrete Fourier transform, [amplitude ‖ phase].

    [N] one-dimensional, over the dimensions, mean-centred. [A] orthonormal; of the F = d // 2 + 1
    frequencies that real numbers have. A phase φ is (cos φ, sin φ), (0, 0) where the amplitude is
    0, and all phases of a vector are scaled so that their root mean square is that of its
    amplitudes: as they are they would swamp them. Each entry is centred by its mean over the clean
    pairs. A clean pair that is alone isn't centred: nothing would be left of it.

    Parameters
    ----------
    vectors : (B, d) float
        Of one modality.
    clean : (B,) bool

    Returns
    -------
    (B, 3 F) float: F amplitudes, F cosines, F sines

    Raises
    ------
    ValueError
        For shapes that do not fit.

    Examples
    --------
    >>> structure(torch.tensor([[3.0, 1.0]]), torch.tensor([False]))      # (3 + 1, 3 − 1) / √2
    tensor([[2.8284, 1.4142, 3.1623, 3.1623, 0.0000, 0.0000]])
    """
    if vectors.ndim != 2 or not len(vectors):
        raise ValueError(f"vectors must be (B, d), not {tuple(vectors.shape)}")
    _mask(clean, len(vectors))
    spectrum = torch.fft.rfft(vectors, dim=1, norm="ortho")
    amplitude = spectrum.abs()
    turned = spectrum / amplitude.clamp(min=torch.finfo(vectors.dtype).tiny)
    phase = torch.cat((turned.real, turned.imag), dim=1)  # root mean square √½
    scale = amplitude.square().mean(1, keepdim=True).sqrt() * math.sqrt(2)
    both = torch.cat((amplitude, scale * phase), dim=1)
    return both - both[clean].mean(0) if clean.sum() > 1 else both


@in_float32
def cosines(vectors: torch.Tensor, others: torch.Tensor | None = None) -> torch.Tensor:
    """All of a modality with all others, `(B, D)` and `(M, D)` → `(B, M)`, or with one another; 0
    for a vector of zeros.
    """
    vectors = F.normalize(vectors, dim=1)
    return vectors @ (vectors if others is None else F.normalize(others, dim=1)).T


# --- Anchors (lines 4 and 13 of Algorithm 1) -----------------------------------------------------


class Anchors(NamedTuple):
    """Anchors of B pairs: which, `(B, 4) int64`, and whether there is one, `(B, 4) bool`.

    They are columns of the cosines they were chosen by. The first two are the most similar by their
    images, the last two by their captions; a pair may stand in both places.
    """

    index: torch.Tensor
    valid: torch.Tensor


def anchors(
    images: torch.Tensor, captions: torch.Tensor, clean: torch.Tensor, per: str = "sample"
) -> Anchors:
    """The two clean pairs of the mini-batch that are most similar, by either modality.

    To each pair, or to the pairs of the batch on the whole ("batch") [A]. No pair is its
    own anchor. They are chosen before Eq. 7 (lines 13, 14), by cosines `(B, B)`. Where there are
    too few clean pairs, anchors are missing.

    Raises
    ------
    ValueError
        For shapes that do not fit and an unknown `per`.

    Examples
    --------
    >>> cosines = torch.tensor([[1.0, 0.2, 0.5], [0.2, 1.0, 0.3], [0.5, 0.3, 1.0]])
    >>> found = anchors(cosines, cosines, torch.tensor([True, True, False]))
    >>> found.index[:, :2].tolist(), found.valid[:, :2].tolist()     # the third pair is noisy
    ([[1, 0], [0, 0], [0, 1]], [[True, False], [True, False], [True, True]])
    """
    _known("anchors", per)
    _fit_together(images, captions, clean)
    itself = torch.eye(len(clean), dtype=torch.bool, device=clean.device)
    barred = itself | ~clean
    if per != "batch":
        return nearest(images, captions, barred)
    likely = [
        similar.sum(0).expand(len(clean), -1).masked_fill(~clean, -math.inf)
        for similar in (images, captions)
    ]
    return _two_each(likely, barred)


def nearest(images: torch.Tensor, captions: torch.Tensor, barred: torch.Tensor) -> Anchors:
    """The two most similar by either modality that are not barred: cosines and `barred` `(B, M)`.

    >>> cosines = torch.tensor([[1.0, 0.2, 0.5]])
    >>> nearest(cosines, cosines, torch.tensor([[True, False, False]])).index
    tensor([[2, 1, 2, 1]])
    """
    return _two_each([each.masked_fill(barred, -math.inf) for each in (images, captions)], barred)


def _two_each(likely: list, barred: torch.Tensor) -> Anchors:
    """The two likeliest of each row, by images and by captions; among equal ones those that come
    first.

    −∞ is no anchor; two maxima take a tenth of a sort's time.
    """
    chosen, there = [], []
    for each in likely:
        for _ in range(2):
            value, best = each.max(dim=1, keepdim=True)
            chosen.append(best), there.append(value > -math.inf)
            each = each.scatter(1, best, -math.inf)
    index = torch.cat(chosen, dim=1)
    valid = torch.cat(there, dim=1) & ~barred.gather(1, index)
    return Anchors(index.masked_fill(~valid, 0), valid)


# --- Corrected labels (Eq. 8–11) -----------------------------------------------------------------


def ratios(
    images: torch.Tensor, captions: torch.Tensor, chosen: Anchors, clamp: str = "floor"
) -> torch.Tensor:
    """q(a) = S_T(n, a) / S_I(n, a) of each pair n and anchor a; cosines `(B, M)` → `(B, 4)`."""
    if clamp == "shift":
        images, captions = (1 + images) / 2, (1 + captions) / 2
    s_i = images.clamp(min=LEAST).gather(1, chosen.index)
    s_t = captions.clamp(min=LEAST).gather(1, chosen.index)
    return s_t / s_i


def of_two_anchors(ratio: torch.Tensor, valid: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """R_I / R_T, which is q(a₂) / q(a₁), by images and by captions, and whether both are there.

    `(B, 4)` → `(B, 2)`.
    """
    ratio = ratio[:, 1::2] / ratio[:, ::2]
    return ratio, torch.stack((valid[:, :2].all(1), valid[:, 2:].all(1)), dim=1)


@torch.no_grad()
def soft_labels(
    images: torch.Tensor,
    captions: torch.Tensor,
    clean: torch.Tensor,
    chosen: Anchors,
    *,
    two_anchor_ratio: bool = False,
    clamp: str = "floor",
    refine_clean: bool = True,
) -> torch.Tensor:
    """ŷ of each pair, in [0, 1]: does its caption lie to the anchors' captions as its image to
    their images?

    q(a) = S_T(n, a) / S_I(n, a); ŷ is the mean of min(q, 1/q) over the pair's anchors [X]. As the
    notes print Eq. 8–11, R_I = S_I(n, a₁) / S_I(n, a₂), R_T likewise, S_I2T = R_I / R_T for the two
    anchors chosen by images, S_T2I = R_T / R_I for those chosen by captions, and ŷ is their mean:
    never below 1 for the same anchors, as (r + 1/r) / 2 isn't. With `two_anchor_ratio` each ratio r
    counts as min(r, 1/r) [A]; how similar a pair is to its anchors cancels there.

    Parameters
    ----------
    images, captions : (B, M) float
        Cosines of structures, S_I and S_T, with those that anchors were chosen from.
    clean : (B,) bool
    chosen : Anchors
    two_anchor_ratio, clamp, refine_clean : see `Config`

    Returns
    -------
    (B,) float, without gradient
        Without an anchor (of either modality two, with `two_anchor_ratio`) a clean pair has 1, a
        noisy one 0.

    Raises
    ------
    ValueError
        For shapes that do not fit and an unknown `clamp`.

    Examples
    --------
    >>> images = torch.tensor([[1.0, 0.8, 0.4], [0.8, 1.0, 0.6], [0.4, 0.6, 1.0]])
    >>> captions = torch.tensor([[1.0, 0.4, 0.5], [0.4, 1.0, 0.6], [0.5, 0.6, 1.0]])
    >>> clean = torch.tensor([False, True, True])
    >>> soft_labels(images, captions, clean, anchors(images, captions, clean))
    tensor([0.6500, 1.0000, 1.0000])
    """
    _known("clamp", clamp)
    _fit_together(images, captions, clean, images.shape[-1])
    ratio, valid = ratios(images, captions, chosen, clamp), chosen.valid
    if two_anchor_ratio:
        ratio, valid = of_two_anchors(ratio, valid)
    likeness = torch.minimum(ratio, 1 / ratio)
    labels = _mean(likeness, valid)
    unknown = ~valid.any(1)
    if not refine_clean:
        unknown = unknown | clean
    return torch.where(unknown, clean.to(labels.dtype), labels).clamp(0, 1)


# --- The semantic-constrained triplet loss (Eq. 13, 15–17) ---------------------------------------


def l_intra(
    images: torch.Tensor, captions: torch.Tensor, chosen: Anchors, reduction: str = "mean"
) -> torch.Tensor:
    """Eq. 13: over the anchors a, (S(I_i, I_a) − S(T_i, T_a))²; cosines `(B, M)` → `(B,)`.

    Mean or sum over a pair's anchors; 0 without any.

    >>> images, captions = torch.tensor([[1.0, 0.5], [0.5, 1.0]]), torch.eye(2)
    >>> clean = torch.tensor([False, True])
    >>> l_intra(images, captions, anchors(images, captions, clean))
    tensor([0.2500, 0.0000])
    """
    apart = images.gather(1, chosen.index) - captions.gather(1, chosen.index)
    return _mean(apart.square(), chosen.valid, reduction)


def l_inter(scores: torch.Tensor, chosen: Anchors, reduction: str = "mean") -> torch.Tensor:
    """Eq. 15: over the anchors a, (S(I_i, T_a) − S(I_a, T_i))²; scores `(B, B)` → `(B,)`.

    >>> scores = torch.tensor([[0.9, 0.5], [0.2, 0.8]])
    >>> clean = torch.tensor([False, True])
    >>> l_inter(scores, anchors(torch.eye(2), torch.eye(2), clean))      # (0.5 − 0.2)²
    tensor([0.0900, 0.0000])
    """
    apart = scores.gather(1, chosen.index) - scores.T.gather(1, chosen.index)
    return _mean(apart.square(), chosen.valid, reduction)


def l_sct(
    look: noisy_pairs.Look,
    labels: torch.Tensor | None,
    chosen: Anchors,
    config: Config,
    bank: Bank | None = None,
    near: Anchors | None = None,
) -> torch.Tensor:
    """Eq. 16 for each pair: ℓ = L_w + ζ L_intra + σ η L_inter, `(B,)`.

    L_w (Eq. 17) is the hinge with the hardest negatives; its margin is the pair's soft one, in its
    row for image to text and in its column for text to image, or α where there are no `labels`.
    Where anchors are `chosen` in a `bank`, L_inter takes those `near` in the mini-batch: it needs
    the network's scores, which others have not [A].
    """
    among = look if bank is None else bank
    margin = config.margin if labels is None else soft_margin(labels, config.margin)
    l_w = losses.hardest_negative_hinge(
        look.scores, margin, image_ids=look.image_ids, reduction="none"
    )
    images, captions = cosines(look.images, among.images), cosines(look.captions, among.captions)
    intra = l_intra(images, captions, chosen, config.reduction)
    inter = l_inter(look.scores, near or chosen, config.reduction)
    return l_w + config.zeta * intra + config.sign * config.eta * inter


# --- Algorithm 1 ---------------------------------------------------------------------------------


def of_batch(look: noisy_pairs.Look, clean: torch.Tensor, config: Config) -> Anchors:
    """Anchors among the clean pairs of a mini-batch."""
    images, captions = cosines(look.images.detach()), cosines(look.captions.detach())
    return anchors(images, captions, clean, "batch" if config.anchors == "batch" else "sample")


def correct(
    look: noisy_pairs.Look, clean: torch.Tensor, config: Config, bank: Bank | None = None
) -> tuple[torch.Tensor, Anchors]:
    """Lines 13–15: labels `(B,)` of a mini-batch and the anchors of its pairs, without gradient.

    Anchors are of the `bank`, or without one of the mini-batch.
    """
    images, captions = look.images.detach(), look.captions.detach()
    if bank is None:
        chosen, among, anchoring = of_batch(look, clean, config), (images, captions), clean
    else:
        among, anchoring = bank[:2], torch.ones(len(bank.images), dtype=torch.bool).to(clean.device)
        chosen = nearest(*map(cosines, (images, captions), among), bank.own)
    s_i, s_t = (
        compared(own, others, anchoring, config.eq7)
        for own, others in zip((images, captions), among)
    )
    labels = soft_labels(
        s_i,
        s_t,
        clean,
        chosen,
        two_anchor_ratio=config.two_anchor_ratio,
        clamp=config.clamp,
        refine_clean=config.refine_clean,
    )
    return labels, chosen


def compared(vectors, others, clean: torch.Tensor, eq7: bool) -> torch.Tensor:
    """Cosines `(B, M)` of a modality's vectors with those that anchors are chosen from, of their
    structures where Eq. 7 holds; its centre is the mean of the `clean` ones of the others.
    """
    if not eq7:
        return cosines(vectors, others)
    mask = torch.cat((torch.zeros(len(vectors), dtype=torch.bool, device=clean.device), clean))
    return cosines(
        *structure(torch.cat((vectors, others)), mask).split(list(map(len, (vectors, others))))
    )


def train(step: coteaching.Step) -> torch.Tensor:
    """Lines 12–16: one mini-batch of clean and noisy pairs, scored by one network."""
    config = cast(Config, step.config)
    rows = step.clean if config.noisy_out and not step.late else step.rows()
    look, bank = step.look(rows), step.bank(rows)
    with step.correcting():
        clean = torch.zeros(len(rows), dtype=torch.bool, device=look.scores.device)
        clean[: len(step.clean)] = True
        labels, chosen = correct(look, clean, config, bank)
        near = of_batch(look, clean, config) if bank else chosen
    step.note(rows, labels)
    per_pair = l_sct(look, labels, chosen, config, bank, near)
    reduce = torch.mean if config.reduction == "mean" else torch.sum  # type: ignore[attr-defined]
    step.tell(reduce(per_pair[: len(step.clean)]) if len(step.clean) else reduce(per_pair))
    return reduce(per_pair)


def divide(looks, n: int, config: Config, record) -> tuple[np.ndarray, str]:
    """Lines 3–7: p(clean) of each of `n` pairs by L_SCT, and the mixture's problem or "".

    L_w alone says first which pairs are clean, and so may be anchors, by a mixture of its own [A]:
    Algorithm 1 chooses anchors before it divides.
    """
    looks, first = list(looks), np.empty(n)
    for rows, look in looks:
        first[rows] = noisy_pairs.hardest(look, config.margin).cpu()
    mixture = MIXTURES[config.mixture]
    likely, problem = coteaching.posterior(mixture(), first)
    found, kept = np.empty(n), bank_of(looks, likely > config.delta, config)
    for rows, look in looks:
        clean = torch.from_numpy(likely[rows] > config.delta).to(look.scores.device)
        near = chosen = of_batch(look, clean, config)
        bank = kept.of(rows) if kept else None
        if bank:
            chosen = nearest(*map(cosines, (look.images, look.captions), bank[:2]), bank.own)
        found[rows] = l_sct(look, None, chosen, config, bank, near).cpu()
    p, last = coteaching.posterior(mixture(), found)
    return p, "; ".join(filter(None, (problem and f"of L_w alone: {problem}", last)))


def bank_of(looks: list, clean: np.ndarray, config: Config) -> Bank | None:
    """The bank of the clean pairs, `(N,) bool`, as one network saw them; None if none is clean or no
    bank is kept.
    """
    rows = spread(np.flatnonzero(clean), BANK)
    if config.anchors != "bank" or not len(rows):
        return None
    d, like = looks[0][1].images.shape[1], looks[0][1].images
    vectors = torch.empty((2, len(clean), d), dtype=like.dtype, device=like.device)
    for chosen, look in looks:
        vectors[:, chosen] = torch.stack((look.images, look.captions))
    return Bank(*vectors[:, rows], torch.from_numpy(rows))


METHOD = coteaching.Method(  # line 1; see `Config.warm_up`
    "hardest",
    train,
    divide,
    parts=True,
    bank=lambda config: BANK if config.anchors == "bank" else 0,
)


def compute(config: Config, inputs, seed: int, folder: Path, device: str) -> dict:
    """Train one arm; leave its weights in `folder`, return its recalls (`coteaching.fit`)."""
    return coteaching.fit(METHOD, config, inputs, seed, folder, device)


# --- Shared ---------------------------------------------------------------------------------------


def _mean(values: torch.Tensor, valid: torch.Tensor, reduction: str = "mean") -> torch.Tensor:
    """Over the valid values of each row, `(B, A)` → `(B,)`; 0 where there are none."""
    total = values.masked_fill(~valid, 0).sum(1)
    return total / valid.sum(1).clamp(min=1) if reduction == "mean" else total


def _known(name: str, value: str) -> None:
    if value not in KNOWN[name]:
        raise ValueError(f"unknown {name} {value!r}; known: {', '.join(KNOWN[name])}")


def _mask(clean: torch.Tensor, size: int) -> None:
    if clean.dtype != torch.bool or clean.shape != (size,):
        raise ValueError(f"clean must be ({size},) bool, not {tuple(clean.shape)} {clean.dtype}")


def _fit_together(
    images: torch.Tensor, captions: torch.Tensor, clean: torch.Tensor, others: int | None = None
) -> None:
    """ValueError unless both are the cosines of as many pairs as may be clean, with one another or
    with so many others."""
    size = len(clean)
    wanted = size, size if others is None else others
    for name, each in (("images", images), ("captions", captions)):
        if each.shape != wanted:
            raise ValueError(
                f"{name} must be {wanted}, a row a pair and a column an anchor it may have, "
                f"not {tuple(each.shape)}"
            )
    _mask(clean, size)


# --- Presets: ours and the notes' ----------------------------------------------------------------

FULL = Config(dim=1024, sim_dim=256, batch=128, learning_rate=2e-4, warm_up_epochs=10, epochs=40)
PRESETS = {
    "default": FULL,
    "notes": replace(FULL, sign=-1, reduction="sum"),  # sums over the batch, L_inter subtracted
}
