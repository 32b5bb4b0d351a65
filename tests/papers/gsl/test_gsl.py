"""GSL: Eq. 7–17 against by-hand examples and slow loops, and Algorithm 1 on top of them."""

import cmath
import contextlib
import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from alignbook.papers.gsl import coteaching, noisy_pairs, warm_up
from alignbook.papers.gsl import model as gsl
from alignbook.papers.gsl.identification import auc
from alignbook.papers.gsl.model import Anchors, Config, anchors, soft_labels, structure
from alignbook.papers.gsl.noisy_pairs import Look
from torch.nn import functional as F

CONFIG = Config()


def close(found, expected, atol=1e-9):
    expected = torch.as_tensor(expected, dtype=found.dtype)
    torch.testing.assert_close(found, expected, atol=atol, rtol=0)


def batch(seed=0, size=7, d=9):
    """Unit vectors of both modalities, scores, and which pairs are clean (0, 2, 3, 6)."""
    generator = torch.Generator().manual_seed(seed)
    images, captions = torch.randn(2, size, d, generator=generator, dtype=torch.float64) + 0.4
    scores = torch.rand(size, size, generator=generator, dtype=torch.float64)
    clean = torch.zeros(size, dtype=torch.bool)
    clean[[0, 2, 3, 6]] = True
    image_ids = torch.arange(size)
    return Look(scores, F.normalize(images, dim=1), F.normalize(captions, dim=1), image_ids), clean


# --- Eq. 7 ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("d", [1, 2, 5, 8])
def test_structure_is_amplitude_and_phase_from_the_sum(d):
    look, clean = batch(d=d)
    vectors = 3 * look.images
    rows = []
    for x in vectors.tolist():
        turn = -2j * math.pi / d
        spectrum = [
            sum(x[t] * cmath.exp(turn * f * t) for t in range(d)) / math.sqrt(d)
            for f in range(d // 2 + 1)
        ]
        scale = math.sqrt(sum(abs(z) ** 2 for z in spectrum) / len(spectrum)) * math.sqrt(2)
        angles = [cmath.phase(z) for z in spectrum]
        rows.append(
            [abs(z) for z in spectrum]
            + [scale * math.cos(a) for a in angles]
            + [scale * math.sin(a) for a in angles]
        )
    expected = torch.tensor(rows, dtype=torch.float64)
    centre = torch.stack([expected[i] for i in (0, 2, 3, 6)]).sum(0) / 4
    close(structure(vectors, clean), expected - centre)


def test_phases_are_as_large_as_amplitudes():
    look, clean = batch(d=8)
    found = structure(look.images, torch.zeros_like(clean))
    amplitude, phase = found[:, :5], found[:, 5:]
    close(phase.square().mean(1), amplitude.square().mean(1))
    assert (amplitude >= 0).all() and (phase < 0).any()


def test_a_transform_weighed_by_amplitude_is_the_cosine_again():
    """Parseval: why amplitude times phase is no arm of its own."""
    look, _ = batch(d=9)
    spectrum = torch.fft.rfft(look.images, dim=1, norm="ortho")
    twice = torch.full((5,), 2.0, dtype=torch.float64)
    twice[0] = 1  # d is odd: all but the first frequency stand for two
    close((spectrum * twice @ spectrum.conj().T).real, look.images @ look.images.T)


def test_the_centre_is_that_of_clean_pairs():
    look, clean = batch()
    found = structure(look.images, clean)
    close(found[clean].mean(0), torch.zeros(found.shape[1]))
    assert found[~clean].mean(0).abs().max() > 0.01
    raw = structure(look.images, torch.zeros_like(clean))
    close(found - raw, (found - raw)[:1].expand_as(raw))


@pytest.mark.parametrize("n", [0, 1])
def test_without_two_clean_pairs_nothing_is_centred(n):
    look, clean = batch()
    alone = torch.arange(7) < n
    close(structure(look.images, alone), structure(look.images, torch.zeros_like(clean)))
    assert structure(look.images, alone)[0].norm() > 0.5


def test_two_clean_pairs_are_centred():
    look, _ = batch()
    found = structure(look.images, torch.arange(7) < 2)
    close(found[0], -found[1])


def test_a_vector_of_zeros_has_no_phase():
    found = structure(torch.zeros(2, 4), torch.tensor([False, False]))
    assert torch.equal(found, torch.zeros(2, 9))
    flat = structure(torch.ones(1, 4), torch.tensor([False]))  # one frequency, the others' phase 0
    close(flat[0], [2, 0, 0, math.sqrt(8 / 3), 0, 0, 0, 0, 0], atol=1e-5)


def test_cosines_are_of_a_modality_with_itself():
    vectors = torch.tensor([[3.0, 0.0], [1.0, 1.0], [0.0, 0.0]])
    half = math.sqrt(0.5)
    close(gsl.cosines(vectors), [[1, half, 0], [half, 1, 0], [0, 0, 0]], atol=1e-6)


# --- Anchors -------------------------------------------------------------------------------------


def nearest(similar, clean, i):
    """The two clean pairs most similar to pair i, itself left out."""
    others = [j for j in range(len(clean)) if clean[j] and j != i]
    return sorted(others, key=lambda j: -similar[i][j])[:2]


def test_anchors_are_the_two_most_similar_clean_pairs_of_each_modality():
    look, clean = batch()
    images, captions = gsl.cosines(look.images), gsl.cosines(look.captions)
    found = anchors(images, captions, clean)
    assert found.index.shape == (7, 4) and found.valid.all()
    for i in range(7):
        assert found.index[i, :2].tolist() == nearest(images.tolist(), clean, i)
        assert found.index[i, 2:].tolist() == nearest(captions.tolist(), clean, i)
        assert clean[found.index[i]].all() and i not in found.index[i]
    assert not torch.equal(found.index[:, :2], found.index[:, 2:])


def test_anchors_of_the_whole_batch():
    images = torch.tensor(
        [[1.0, 0.9, 0.1, 0.2], [0.9, 1.0, 0.1, 0.2], [0.1, 0.1, 1.0, 0.7], [0.2, 0.2, 0.7, 1.0]]
    )
    captions = images.flip(0, 1)
    clean = torch.tensor([False, True, True, True])
    found = anchors(images, captions, clean, "batch")
    # Sums: images 2.2, 2.2, 1.9, 2.1; captions the other way round.
    assert found.index[:, :2].tolist() == [[1, 3], [0, 3], [1, 3], [1, 0]]
    assert found.valid[:, :2].tolist() == [[True, True], [False, True], [True, True], [True, False]]
    assert sorted(found.index[0, 2:].tolist()) == [2, 3] and found.valid[0].all()


@pytest.mark.parametrize("per", ["sample", "batch"])
def test_few_clean_pairs_leave_few_anchors(per):
    look, _ = batch()
    cosines = gsl.cosines(look.images)
    none = anchors(cosines, cosines, torch.zeros(7, dtype=torch.bool), per)
    assert not none.valid.any() and (none.index == 0).all()
    one = anchors(cosines, cosines, torch.arange(7) == 4, per)
    assert one.valid[[0, 1, 2, 3, 5, 6]].tolist() == [[True, False, True, False]] * 6
    assert not one.valid[4].any() and (one.index[one.valid] == 4).all()
    first = anchors(cosines, cosines, torch.arange(7) == 0, per)
    assert first.valid[1:].tolist() == [[True, False, True, False]] * 6
    single = anchors(torch.ones(1, 1), torch.ones(1, 1), torch.tensor([True]), per)
    assert single.index.shape == (1, 4) and not single.valid.any()


# --- Eq. 8–11 ------------------------------------------------------------------------------------


def test_labels_by_hand():
    """One noisy pair, two clean: S_T/S_I is 0.4/0.8 and 0.2/0.4, then 0.5 for all four anchors."""
    images = torch.tensor([[1.0, 0.8, 0.4], [0.8, 1.0, 0.9], [0.4, 0.9, 1.0]])
    captions = torch.tensor([[1.0, 0.4, 0.2], [0.4, 1.0, 0.3], [0.2, 0.3, 1.0]])
    clean = torch.tensor([False, True, True])
    chosen = anchors(images, captions, clean)
    found = soft_labels(images, captions, clean, chosen)
    close(found, [0.5, 1 / 3, 1 / 3], atol=1e-6)
    # The ratio to the two anchors cancels it: 0.8/0.4 by images, 0.4/0.2 by captions.
    found = soft_labels(images, captions, clean, chosen, two_anchor_ratio=True)
    close(found, [1.0, 1.0, 1.0], atol=1e-6)  # the clean ones have one anchor each


def slow_label(images, captions, chosen, i, two_anchor_ratio, clamp):
    def s(matrix, a):
        value = (1 + matrix[i][a]) / 2 if clamp == "shift" else matrix[i][a]
        return max(value, 1e-3)

    def likeness(r):
        return min(r, 1 / r)

    values = []
    for first in (0, 2):
        pair = [int(a) for a, v in zip(chosen.index[i], chosen.valid[i])][first : first + 2]
        if two_anchor_ratio:
            r_i = s(images, pair[0]) / s(images, pair[1])
            r_t = s(captions, pair[0]) / s(captions, pair[1])
            values.append(likeness(r_i / r_t))
        else:
            values += [likeness(s(captions, a) / s(images, a)) for a in pair]
    return sum(values) / len(values)


@pytest.mark.parametrize("two_anchor_ratio", [False, True])
@pytest.mark.parametrize("clamp", ["floor", "shift"])
def test_labels_from_the_formula(clamp, two_anchor_ratio):
    look, clean = batch(seed=3)
    images, captions = gsl.cosines(look.images - 0.2), gsl.cosines(look.captions - 0.2)
    assert (images < 0).any()
    chosen = anchors(images, captions, clean)
    found = soft_labels(
        images, captions, clean, chosen, clamp=clamp, two_anchor_ratio=two_anchor_ratio
    )
    s_i, s_t = images.tolist(), captions.tolist()
    for i in range(7):
        expected = slow_label(s_i, s_t, chosen, i, two_anchor_ratio, clamp)
        assert found[i].item() == pytest.approx(expected, abs=1e-12)
    assert ((found > 0) & (found <= 1)).all() and found.unique().numel() > 4


def test_a_label_of_few_anchors_is_their_mean():
    images = torch.tensor([[1.0, 0.8], [0.8, 1.0]])
    captions = torch.tensor([[1.0, 0.2], [0.2, 1.0]])
    clean = torch.tensor([False, True])
    chosen = anchors(images, captions, clean)
    close(soft_labels(images, captions, clean, chosen), [0.25, 1.0], atol=1e-6)
    # Two are needed for a ratio of two.
    found = soft_labels(images, captions, clean, chosen, two_anchor_ratio=True)
    close(found, [0.0, 1.0], atol=1e-6)


def test_without_anchors_clean_is_one_and_noisy_nought():
    look, clean = batch()
    cosines = gsl.cosines(look.images)
    none = Anchors(torch.zeros(7, 4, dtype=torch.int64), torch.zeros(7, 4, dtype=torch.bool))
    assert torch.equal(soft_labels(cosines, cosines, clean, none), clean.double())


def test_clean_labels_are_refined_or_stay_one():
    look, clean = batch(seed=5)
    images, captions = gsl.cosines(look.images), gsl.cosines(look.captions)
    chosen = anchors(images, captions, clean)
    refined = soft_labels(images, captions, clean, chosen)
    kept = soft_labels(images, captions, clean, chosen, refine_clean=False)
    assert (refined[clean] < 1).all() and (kept[clean] == 1).all()
    close(kept[~clean], refined[~clean])


def test_no_gradient_passes_labels():
    look, clean = batch()
    vectors = look.images.clone().requires_grad_()
    cosines = gsl.cosines(structure(vectors, clean))
    chosen = anchors(cosines, cosines, clean)
    assert cosines.requires_grad and not soft_labels(cosines, cosines, clean, chosen).requires_grad
    learnt = look._replace(images=vectors, captions=vectors)
    labels, chosen = gsl.correct(learnt, clean, CONFIG)
    assert not labels.requires_grad


def world(n=600, d=32, seed=0):
    """Clean pairs share a meaning; the captions of the noisy ones are shuffled among them."""
    random = np.random.default_rng(seed)
    topics = random.normal(size=(20, d))
    meaning = topics[random.integers(20, size=n)] + 0.5 * random.normal(size=(n, d))
    turn = np.linalg.qr(random.normal(size=(d, d)))[0]  # captions live in a space of their own
    images = meaning + 0.15 * random.normal(size=(n, d))
    captions = meaning @ turn + 0.15 * random.normal(size=(n, d))
    noisy_pairs = np.arange(n) >= 0.6 * n
    captions[noisy_pairs] = captions[np.roll(np.flatnonzero(noisy_pairs), 7)]
    return torch.tensor(images), torch.tensor(captions), torch.tensor(~noisy_pairs)


@pytest.mark.parametrize("clamp", ["floor", "shift"])
def test_labels_tell_clean_from_noisy(clamp):
    """The direct ratio nearly always, the ratio of two anchors less often: it cancels too much."""
    images, captions, clean = world()
    found = {}
    for two in (False, True):
        config = replace(CONFIG, two_anchor_ratio=two, clamp=clamp, eq7=False)
        look = Look(None, F.normalize(images, dim=1), F.normalize(captions, dim=1), None)
        found[two] = auc(gsl.correct(look, clean, config)[0].numpy(), clean.numpy())
    assert found[False] > 0.97 and found[True] < found[False] - 0.02


def test_as_printed_the_mean_of_ratios_tells_nothing():
    """(r + 1/r) / 2 is never below 1: clipped to [0, 1] every label would be 1."""
    r = torch.rand(1000).clamp(min=1e-3) * 3
    assert ((r + 1 / r) / 2 >= 1).all()


# --- Eq. 13, 15–17 -------------------------------------------------------------------------------


def prepared(seed=1):
    look, clean = batch(seed)
    images, captions = gsl.cosines(look.images), gsl.cosines(look.captions)
    return look, clean, images, captions, anchors(images, captions, clean)


@pytest.mark.parametrize("reduction", ["mean", "sum"])
def test_regularisers_from_the_formulas(reduction):
    look, _, images, captions, chosen = prepared()
    chosen.valid[1, 2:] = False
    chosen.valid[5] = False
    intra = gsl.l_intra(images, captions, chosen, reduction)
    inter = gsl.l_inter(look.scores, chosen, reduction)
    s = look.scores.tolist()
    for i in range(7):
        which = [int(a) for a, valid in zip(chosen.index[i], chosen.valid[i]) if valid]
        n = (len(which) or 1) if reduction == "mean" else 1
        expected = sum((images[i, a] - captions[i, a]) ** 2 for a in which) / n
        assert intra[i].item() == pytest.approx(float(expected), abs=1e-12)
        expected = sum((s[i][a] - s[a][i]) ** 2 for a in which) / n
        assert inter[i].item() == pytest.approx(expected, abs=1e-12)
    assert intra[5] == inter[5] == 0 < inter[1]


@pytest.mark.parametrize("sign, reduction", [(1, "mean"), (-1, "sum")])
def test_the_loss_from_the_formula(sign, reduction):
    """Margins by row for image to text, by column for text to image, negatives of other images."""
    config = replace(CONFIG, zeta=0.7, eta=0.3, margin=0.25, sign=sign, reduction=reduction)
    look, _, images, captions, chosen = prepared()
    look = look._replace(image_ids=torch.tensor([0, 1, 2, 3, 4, 0, 6]))
    look.scores[0, 5] = look.scores[5, 0] = 2.0
    labels = torch.linspace(0, 1, 7, dtype=torch.float64)
    found = gsl.l_sct(look, labels, chosen, config)
    intra = gsl.l_intra(images, captions, chosen, reduction)
    inter = gsl.l_inter(look.scores, chosen, reduction)
    s = look.scores.tolist()
    for i in range(7):
        margin = 0.25 * (10 ** float(labels[i]) - 1) / 9
        others = [j for j in range(7) if look.image_ids[j] != look.image_ids[i]]
        hinge = max(max(0, margin + s[i][j] - s[i][i]) for j in others)
        hinge += max(max(0, margin + s[j][i] - s[i][i]) for j in others)
        expected = hinge + 0.7 * float(intra[i]) + sign * 0.3 * float(inter[i])
        assert found[i].item() == pytest.approx(expected, abs=1e-12)
    whole = gsl.l_sct(look, None, chosen, config)
    close(whole, gsl.l_sct(look, torch.ones(7), chosen, config))
    assert (whole > found)[:5].any()


def test_the_regularisers_train_the_vectors():
    look, _, _, _, chosen = prepared()
    images, captions, scores = (
        x.clone().requires_grad_() for x in (look.images, look.captions, look.scores)
    )
    gsl.l_intra(gsl.cosines(images), gsl.cosines(captions), chosen).sum().backward()
    gsl.l_inter(scores, chosen).sum().backward()
    assert images.grad.abs().sum() > 0 and captions.grad.abs().sum() > 0
    assert scores.grad.abs().sum() > 0


# --- Algorithm 1 ---------------------------------------------------------------------------------


def test_anchors_are_chosen_before_equation_7(monkeypatch):
    look, clean = batch(seed=2)
    plain = anchors(gsl.cosines(look.images), gsl.cosines(look.captions), clean)
    labels, chosen = gsl.correct(look, clean, CONFIG)
    assert torch.equal(chosen.index, plain.index)
    images, captions = (gsl.cosines(structure(x, clean)) for x in (look.images, look.captions))
    close(labels, soft_labels(images, captions, clean, plain))
    mapped = anchors(images, captions, clean)
    assert not torch.equal(mapped.index, plain.index)
    without = gsl.correct(look, clean, replace(CONFIG, eq7=False))[0]
    close(without, soft_labels(gsl.cosines(look.images), gsl.cosines(look.captions), clean, plain))
    assert not torch.allclose(without, labels)


@pytest.mark.parametrize(
    "changes",
    [{"clamp": "shift"}, {"two_anchor_ratio": True}, {"refine_clean": False}, {"anchors": "batch"}],
)
def test_every_switch_reaches_the_labels(changes):
    look, clean = batch(seed=2)
    before, after = (gsl.correct(look, clean, c)[0] for c in (CONFIG, replace(CONFIG, **changes)))
    assert not torch.allclose(before, after)


class Step:
    """A step whose network's look is given; the first pairs are clean."""

    late = False

    def __init__(self, look, n_clean, config, kept=None):
        self.seen, self.config, self.kept = look, config, kept
        self.clean, self.noisy = np.arange(10, 10 + n_clean), np.arange(30, 37 - n_clean)
        self.corrected, self.noted = 0, None

    def rows(self):
        return np.concatenate((self.clean, self.noisy))

    def look(self, chosen):
        assert chosen.tolist() == self.rows().tolist()
        return self.seen

    def bank(self, chosen):
        return self.kept and self.kept.of(chosen)

    @contextlib.contextmanager
    def correcting(self):
        self.corrected += 1
        with torch.no_grad():
            yield

    def note(self, chosen, labels):
        self.noted = chosen.tolist(), labels

    def tell(self, loss):
        self.told = loss


@pytest.mark.parametrize("reduction, sign", [("mean", 1), ("sum", -1)])
def test_a_step_corrects_and_trains(reduction, sign):
    config = replace(CONFIG, reduction=reduction, sign=sign)
    look, _ = batch()
    step = Step(look, 4, config)
    loss = gsl.train(step)
    clean = torch.arange(7) < 4
    labels, chosen = gsl.correct(look, clean, config)
    per_pair = gsl.l_sct(look, labels, chosen, config)
    close(loss, per_pair.mean() if reduction == "mean" else per_pair.sum())
    close(step.told, per_pair[:4].mean() if reduction == "mean" else per_pair[:4].sum())
    assert step.corrected == 1 and step.noted[0] == [10, 11, 12, 13, 30, 31, 32]
    close(step.noted[1], labels)
    assert labels.max() < 1


def kept(size=11, d=9, seed=5):
    """A bank of eleven clean pairs, the second of them the mini-batch's pair 12."""
    generator = torch.Generator().manual_seed(seed)
    vectors = F.normalize(torch.randn(2, size, d, generator=generator).double() + 0.4, dim=2)
    return noisy_pairs.Bank(*vectors, torch.tensor([50, 12, *range(60, 60 + size - 2)]))


def test_anchors_of_the_bank_by_a_loop():
    """Two nearest of all clean pairs for each pair, not itself; Eq. 7's centre is the bank's."""
    look, _ = batch()
    clean, rows, bank = torch.arange(7) < 4, np.array([10, 11, 12, 13, 30, 31, 32]), kept()
    bank.images[1], bank.captions[1] = look.images[2], look.captions[2]  # of pair 12, as it is now
    labels, chosen = gsl.correct(look, clean, CONFIG, bank.of(rows))
    for k, (own, others) in enumerate(zip(look[1:3], bank[:2])):
        cosines = (own @ others.T).tolist()
        for i, row in enumerate(rows):
            may = [j for j in range(11) if bank.rows[j] != row]
            best = sorted(may, key=lambda j: -cosines[i][j])[:2]
            assert chosen.index[i, 2 * k : 2 * k + 2].tolist() == best
    assert chosen.valid.all()
    all_ones = torch.ones(11, dtype=torch.bool)
    s = []
    for own, others in zip(look[1:3], bank[:2]):
        centre = (structure(others, ~all_ones)).mean(0)  # without clean pairs none is taken off
        own, others = structure(own, torch.zeros(7, dtype=torch.bool)), structure(others, all_ones)
        s.append(gsl.cosines(own - centre, others))
    close(labels, soft_labels(*s, clean, chosen))
    plain = gsl.correct(look, clean, replace(CONFIG, eq7=False), bank.of(rows))[0]
    close(plain, soft_labels(*map(gsl.cosines, look[1:3], bank[:2]), clean, chosen))


def test_a_step_takes_labels_and_l_intra_from_the_bank_and_l_inter_from_the_batch():
    look, _ = batch()
    look = look._replace(images=look.images.clone().requires_grad_())
    step = Step(look, 4, replace(CONFIG, eta=0.5), kept())
    loss = gsl.train(step)
    clean, bank = torch.arange(7) < 4, kept().of(step.rows())
    labels, chosen = gsl.correct(look, clean, step.config, bank)
    near = anchors(gsl.cosines(look.images), gsl.cosines(look.captions), clean)
    intra = gsl.l_intra(*map(gsl.cosines, look[1:3], bank[:2]), chosen)
    hinge = noisy_pairs.hardest(look, noisy_pairs.soft_margin(labels, 0.2))
    close(loss, (hinge + intra + 0.5 * gsl.l_inter(look.scores, near)).mean())
    close(step.noted[1], labels)
    loss.backward()
    assert look.images.grad.abs().sum() > 0  # by L_intra alone: scores are given here


def test_noisy_pairs_stay_out_of_the_first_half_if_asked():
    look, _ = batch()
    half = Look(look.scores[:4, :4], look.images[:4], look.captions[:4], look.image_ids[:4])
    config = replace(CONFIG, noisy_out=True)

    def noted(late, config, seen):
        step = Step(seen, 4, config)
        step.late, step.rows_seen = late, []
        step.look = lambda chosen: step.rows_seen.append(chosen.tolist()) or seen
        gsl.train(step)
        assert step.rows_seen == [step.noted[0]]
        return step.noted[0]

    early = noted(False, config, half)
    assert early == [10, 11, 12, 13]
    assert noted(True, config, look) == noted(False, CONFIG, look) == [*early, 30, 31, 32]


def test_the_mixture_is_of_beta_distributions_unless_told():
    assert gsl.Config().mixture == "beta"
    assert gsl.MIXTURES == {
        "beta": gsl.mixtures.BetaMixture,
        "normal": gsl.mixtures.GaussianMixture,
    }
    with pytest.raises(ValueError, match="mixture"):
        gsl.Config(mixture="gamma")


def test_a_step_of_no_clean_pair_is_defined():
    look, _ = batch()
    step = Step(look, 0, CONFIG)
    loss = gsl.train(step)
    assert torch.equal(step.noted[1], torch.zeros(7).double())
    close(loss, noisy_pairs.hardest(look, 0.0).mean())


@pytest.mark.parametrize("per, kind", [("sample", "beta"), ("bank", "beta"), ("bank", "normal")])
def test_the_division_takes_its_anchors_from_l_w_and_its_losses_from_all_of_l_sct(
    monkeypatch, per, kind
):
    """Twelve pairs in two batches; pairs 4, 9 and 10 have a large L_w and so anchor nothing."""
    fits = []

    class Mixture:
        problem = "as told"

        def fit(self, losses):
            fits.append(np.array(losses))
            return self

        def posterior(self, losses):
            return np.where(losses < 0.45, 0.9, 0.6)

    monkeypatch.setitem(gsl.MIXTURES, kind, Mixture)
    generator = torch.Generator().manual_seed(0)
    looks = []
    for rows in ([7, 4, 0, 9, 2, 11], [1, 10, 3, 8, 6, 5]):
        vectors = F.normalize(torch.randn(2, 6, 5, generator=generator) + 0.5, dim=2)
        own = torch.tensor([0.0 if row in (4, 9, 10) else 0.6 for row in rows])
        scores = 0.3 * torch.rand(6, 6, generator=generator) + own.diag()
        looks.append((np.array(rows), Look(scores, *vectors, torch.arange(6))))
    config = replace(CONFIG, zeta=2.0, delta=0.7, anchors=per, mixture=kind)
    p, problem = gsl.divide(iter(looks), 12, config, None)
    first, found = np.empty((2, 12))
    for rows, look in looks:
        l_w = first[rows] = noisy_pairs.hardest(look, 0.2)
        images, captions = gsl.cosines(look.images), gsl.cosines(look.captions)
        chosen = anchors(images, captions, l_w < 0.45)
        found[rows] = gsl.l_sct(look, None, chosen, config)
    if per == "bank":
        vectors = torch.empty(2, 12, 5)
        for rows, look in looks:
            vectors[:, rows] = torch.stack((look.images, look.captions))
        clean = first < 0.45
        for rows, look in looks:
            for i, row in enumerate(rows):  # by a loop: S(I, I) and S(T, T) with all clean pairs
                others = [j for j in range(12) if clean[j] and j != row]
                s_i, s_t = (vectors[k, others] @ vectors[k, row] for k in range(2))
                near = [*s_i.argsort(descending=True)[:2], *s_t.argsort(descending=True)[:2]]
                intra = sum(float(s_i[a] - s_t[a]) ** 2 for a in near) / 4
                mine = anchors(
                    gsl.cosines(look.images),
                    gsl.cosines(look.captions),
                    torch.from_numpy(clean[rows]),
                )
                inter = float(gsl.l_inter(look.scores, mine)[i])
                found[row] = first[row] + 2.0 * intra + config.eta * inter
    assert np.flatnonzero(first > 0.45).tolist() == [4, 9, 10]
    np.testing.assert_allclose(fits, [first, found], atol=1e-6)
    assert (p == np.where(fits[1] < 0.45, 0.9, 0.6)).all()
    assert problem == "of L_w alone: as told; as told"  # neither mixture's is lost


def test_warm_up_is_l_w_or_mean_violations():
    look, _ = batch()

    def warmed(config):
        return warm_up.WARM_UPS[warm_up.warm_up_of(gsl.METHOD, config).loss](look, config)

    close(warmed(CONFIG), noisy_pairs.hardest(look, 0.2).mean())
    mean = warmed(replace(CONFIG, warm_up="mean"))
    close(mean, noisy_pairs.mean_violation(look, 0.2).mean())


def test_gsl_is_a_method_of_two_parts_that_divides():
    assert gsl.METHOD.parts and gsl.METHOD.divide is gsl.divide and not gsl.METHOD.truth
    assert gsl.METHOD.train is gsl.train and gsl.METHOD.warm_up == "hardest"


def test_compute_trains_by_it(monkeypatch):
    monkeypatch.setattr(coteaching, "fit", lambda *arguments: arguments)
    assert gsl.compute(CONFIG, ["inputs"], 3, "folder", "cpu") == (
        gsl.METHOD,
        CONFIG,
        ["inputs"],
        3,
        "folder",
        "cpu",
    )


# --- Config --------------------------------------------------------------------------------------


def test_the_presets_have_the_papers_sizes_and_differ_in_the_notes_loss():
    ours, notes = gsl.PRESETS["default"], gsl.PRESETS["notes"]
    assert (ours.zeta, ours.eta, ours.margin, ours.delta) == (1.0, 0.1, 0.2, 0.5)
    assert (ours.warm_up_epochs, ours.epochs, ours.batch, ours.learning_rate) == (10, 40, 128, 2e-4)
    assert (ours.dim, ours.sim_dim, ours.regions) == (1024, 256, 36)
    assert (ours.sign, ours.reduction) == (1, "mean")
    assert notes == replace(ours, sign=-1, reduction="sum")
    assert ours.eq7 and ours.refine_clean and not ours.two_anchor_ratio and ours.split == "peer"


@pytest.mark.parametrize(
    "changes",
    [
        {"clamp": "none"},
        {"anchors": "pair"},
        {"reduction": "median"},
        {"warm_up": "none"},
        {"sign": 0},
        {"split": "both"},
        {"delta": 1.5},
        {"batch": 1},
        {"epochs": 0},
        {"epoch_steps": -1},
        {"warm_up_epochs": -1},
    ],
)
def test_a_config_says_what_is_wrong_with_it(changes):
    ((name, value),) = changes.items()
    with pytest.raises(ValueError, match=f"{name} .*{value}"):
        Config(**changes)


def test_shapes_that_do_not_fit_are_refused():
    look, clean = batch()
    square = gsl.cosines(look.images)
    chosen = anchors(square, square, clean)
    for call, told in [
        (lambda: structure(look.images[0], clean), r"vectors must be \(B, d\), not \(9,\)"),
        (lambda: structure(look.images, clean[1:]), r"clean must be \(7,\) bool, not \(6,\)"),
        (lambda: structure(look.images, clean.float()), "float32"),
        (lambda: anchors(square[1:], square, clean), r"images must be \(7, 7\).*not \(6, 7\)"),
        (lambda: anchors(square, square[:, 1:], clean), r"captions must be \(7, 7\)"),
        (lambda: anchors(square, square, clean.long()), "clean must be"),
        (lambda: soft_labels(square[1:], square, clean, chosen), r"images must be \(7, 7\)"),
        (lambda: soft_labels(square, square[1:], clean, chosen), r"captions must be \(7, 7\)"),
        (lambda: soft_labels(square, square, clean.long(), chosen), "clean must be"),
        (lambda: soft_labels(square, square, clean, chosen, clamp="x"), "unknown clamp 'x'"),
        (lambda: anchors(square, square, clean, "x"), "unknown anchors 'x'"),
    ]:
        with pytest.raises(ValueError, match=told):
            call()
