"""Co-teaching: batches, losses, divisions, the rivals by slow loops, and whole small runs."""

import contextlib
import json
import math
from dataclasses import asdict, replace
from itertools import permutations
from types import SimpleNamespace

import numpy as np
import pytest
import safetensors.torch
import torch
from alignbook.core import retrieval, sgraf, training
from alignbook.core.sgraf import Encoded
from alignbook.papers.gsl import (
    cost,
    coteaching,
    identification,
    mixtures,
    noisy_pairs,
    rivals,
    two_networks,
    warm_up,
)
from alignbook.papers.gsl import model as gsl
from alignbook.papers.gsl.coteaching import Method, Step
from alignbook.papers.gsl.noisy_pairs import GivenNoise, Look, Pairs
from alignbook.papers.gsl.rivals import Config
from alignbook.papers.gsl.two_networks import Pair
from torch import nn
from torch.nn import functional as F

pytestmark = pytest.mark.filterwarnings("ignore:epoch .*, network")  # the mixtures' complaints


def close(found, expected, atol=1e-6):
    expected = torch.as_tensor(expected, dtype=found.dtype)
    torch.testing.assert_close(found, expected, atol=atol, rtol=0)


def look(size=6, seed=0, ids=None):
    generator = torch.Generator().manual_seed(seed)
    vectors = F.normalize(torch.randn(2, size, 5, generator=generator) + 0.5, dim=2)
    scores = torch.rand(size, size, generator=generator)
    return Look(scores, *vectors, torch.arange(size) if ids is None else torch.tensor(ids))


# --- Batches -------------------------------------------------------------------------------------


def test_a_pass_draws_every_pair_once_and_the_next_in_another_order():
    pool = np.arange(100, 112)
    passes = [
        np.concatenate([noisy_pairs.draw(pool, 4, [0, 1], i + 3 * t) for i in range(3)])
        for t in range(2)
    ]
    assert all(sorted(each) == list(range(100, 112)) for each in passes)
    assert passes[0].tolist() != passes[1].tolist()
    assert noisy_pairs.draw(pool, 4, [0, 1], 0).tolist() == passes[0][:4].tolist()
    assert noisy_pairs.draw(pool, 4, [0, 2], 0).tolist() != passes[0][:4].tolist()


def test_a_small_pool_comes_whole():
    assert sorted(noisy_pairs.draw(np.array([7, 9]), 5, [0], 3)) == [7, 9]
    assert len(noisy_pairs.draw(np.array([], np.int64), 5, [0], 3)) == 0
    for i in range(5):
        assert (
            len(noisy_pairs.draw(np.arange(9), 4, [0], i)) == 4
        )  # the ninth waits for another pass


@pytest.mark.parametrize(
    "method, expected",
    [
        ("ncr", (20, 12)),
        ("bicro", (20, 12)),
        ("gsc", (20, 20)),
        ("hardest", (20, 20)),
        ("mean", (20, 20)),
        ("clean", (12, 12)),
    ],
)
def test_an_epoch_is_a_pass_over_what_its_batches_are_drawn_from(method, expected):
    config, what = Config(method=method, noise=0.4, batch=5), rivals.METHODS[method]

    def found(**changes):  # of warm-up, and after it
        return tuple(
            noisy_pairs.steps_an_epoch(replace(config, **changes), 100, what.truth, parts)
            for parts in (False, what.parts)
        )

    assert found() == expected
    assert found(epoch_steps=3) == (3, 3) and found(batch=500) == (1, 1)
    whole = tuple(5 * steps // 7 for steps in expected)  # the rest of a pass comes in a later one
    assert found(batch=7) == whole


# --- Losses of pairs -----------------------------------------------------------------------------


def violations(seen, margin, i):
    """Hinges of pair i with every negative: along its row, and along its column."""
    s, size = seen.scores.tolist(), len(seen.scores)
    others = [j for j in range(size) if seen.image_ids[j] != seen.image_ids[i]]
    return (
        [max(0, margin + s[i][j] - s[i][i]) for j in others],
        [max(0, margin + s[j][i] - s[i][i]) for j in others],
    )


def test_the_margin_grows_with_the_label():
    found = noisy_pairs.soft_margin(torch.tensor([0.0, 0.25, 1.0]), 0.2)
    close(found, [0, 0.2 * (10**0.25 - 1) / 9, 0.2], 1e-7)


@pytest.mark.parametrize("wrong", [-0.01, 1.01, math.nan])
def test_a_label_beyond_is_refused(wrong):
    with pytest.raises(ValueError, match="label 1 is .* within 0..1"):
        noisy_pairs.soft_margin(torch.tensor([0.5, wrong]), 0.2)


def test_hinges_from_the_loop():
    seen = look(ids=[0, 1, 2, 0, 4, 5])
    seen.scores[0, 3] = 2.0
    found = [violations(seen, 0.2, i) for i in range(6)]
    mean = [(sum(rows) + sum(columns)) / 6 for rows, columns in found]
    close(noisy_pairs.mean_violation(seen, 0.2), mean)
    close(noisy_pairs.hardest(seen, 0.2), [max(rows) + max(columns) for rows, columns in found])


def test_contrast_from_the_formula():
    seen = look(ids=[0, 1, 2, 0, 4, 5])
    logits = 4 * seen.scores
    found = noisy_pairs.contrast(logits, seen.image_ids)
    for i in range(6):
        others = [j for j in range(6) if seen.image_ids[j] != seen.image_ids[i]]
        total = sum(math.exp(logits[i, j]) for j in [i, *others])
        assert found[i].item() == pytest.approx(-math.log(math.exp(logits[i, i]) / total), abs=1e-5)


def test_ncrs_prediction_from_the_formula():
    seen = look(size=21, seed=3)
    seen.scores.mul_(0.3).add_(torch.eye(21) * torch.linspace(-0.3, 0.3, 21))
    p = []
    for i in range(21):
        rows, columns = violations(seen, 0.2, i)
        p.append(min(max(0.2 - (sum(rows) + sum(columns)) / 21 / 2, 0), 0.2))
    best = sorted(p)[-3:]  # 21 // 10 + 1
    expected = [min(1, each / (sum(best) / 3)) for each in p]
    close(rivals.predicted(seen, 0.2), expected, 1e-5)
    assert min(expected) == 0 and 0.1 < sorted(expected)[14] < 1 and max(p) / (sum(best) / 3) > 1


def test_a_batch_of_which_nothing_fits_is_predicted_as_noise():
    seen = look()._replace(scores=1 - torch.eye(6))
    close(rivals.predicted(seen, 0.2), torch.zeros(6))


def test_bicro_warms_up_on_the_smallest_third():
    seen = look(size=7)
    smallest = noisy_pairs.mean_violation(seen, 0.2).sort().values[:2]  # int(0.3 · 7)
    close(warm_up.smallest(seen, Config()), smallest.mean())
    close(
        warm_up.smallest(look(size=2), Config()),
        noisy_pairs.mean_violation(look(size=2), 0.2).min(),
    )


def test_ncr_warms_up_on_all_violations():
    found = warm_up.all_violations(look(), Config(margin=0.3))
    close(found, noisy_pairs.mean_violation(look(), 0.3).mean())


def test_agreement_from_the_loop():
    seen, anchors = look(size=8), look(size=3, seed=1)
    anchors.captions[1] *= -1
    found = rivals.agreement(seen, anchors)

    def likeness(r):
        return min(r, 1 / r)

    for i in range(8):
        s_i = [max(1e-3, float(seen.images[i] @ a)) for a in anchors.images]
        s_t = [max(1e-3, float(seen.captions[i] @ a)) for a in anchors.captions]
        a, b = s_i.index(max(s_i)), s_t.index(max(s_t))
        expected = (likeness(s_i[a] / s_t[a]) + likeness(s_t[b] / s_i[b])) / 2
        assert found[i].item() == pytest.approx(expected, abs=1e-5)
    assert found.min() < 0.2 < found.max() <= 1


# --- Steps of the methods ------------------------------------------------------------------------


class Stage:
    """A step whose two networks see what they are told to: pairs 0…5 clean, 6…11 noisy."""

    def __init__(self, late=True, empty=False, record=None):
        self.config, self.late, self.record = Config(margin=0.2), late, record
        self.clean, self.noisy = np.arange(6), np.arange(6, 6 if empty else 12)
        self.network, self.peer = "own", "other"
        self.pair = SimpleNamespace(networks=["own", "other"])
        self.trained, self.noted, self.correcting_now = [], {}, False
        seen = {
            (who, start): look(seed=17 * len(who) + start)
            for who in ("own", "other")
            for start in (0, 6)
        }
        for s in seen.values():
            s.scores.add_(0.4 * torch.eye(6))
        self.seen = seen

    def look(self, chosen):
        assert not self.correcting_now
        self.trained.append(chosen.tolist())
        return self.seen["own", int(chosen[0])]

    def glance(self, network, chosen):
        assert self.correcting_now
        return self.seen[network, int(chosen[0])]

    def posterior(self, chosen):
        return torch.linspace(0.5, 1, 6)[chosen]

    @contextlib.contextmanager
    def correcting(self):
        self.correcting_now = True
        yield
        self.correcting_now = False

    def note(self, chosen, labels):
        self.noted[int(chosen[0])] = labels

    def tell(self, loss):
        self.told = loss


@pytest.mark.parametrize("late, empty", [(False, False), (True, False), (True, True)])
def test_ncr_corrects_labels_and_trains_each_part_by_itself(late, empty):
    step = Stage(late, empty)
    loss = rivals.ncr(step)
    w, p = torch.linspace(0.5, 1, 6), rivals.predicted(step.seen["own", 0], 0.2)
    clean = w + (1 - w) * p
    close(step.noted[0], clean)
    expected = noisy_pairs.hardest(step.seen["own", 0], noisy_pairs.soft_margin(clean, 0.2)).mean()
    close(step.told, expected)
    if late and not empty:
        ours, others = (rivals.predicted(step.seen[who, 6], 0.2) for who in ("own", "other"))
        assert not torch.allclose(ours, others)
        close(step.noted[6], (ours + others) / 2)
        margin = noisy_pairs.soft_margin((ours + others) / 2, 0.2)
        expected = expected + noisy_pairs.hardest(step.seen["own", 6], margin).mean()
    assert step.trained == [[0, 1, 2, 3, 4, 5], [6, 7, 8, 9, 10, 11]][: 1 + (late and not empty)]
    close(loss, expected)


@pytest.mark.parametrize("late, empty", [(False, False), (True, False), (True, True)])
def test_bicro_corrects_labels_in_the_peers_eyes(late, empty):
    step = Stage(late, empty)
    rivals.bicro(step)
    seen = step.seen["other", 0]
    best = rivals.predicted(seen, 0.2).argmax()  # 6 // 10 + 1
    anchors = seen._replace(images=seen.images[best][None], captions=seen.captions[best][None])
    expected = 0.5 + rivals.agreement(seen, anchors) / 2
    assert expected[best].item() == pytest.approx(1)
    close(step.noted[0], expected)
    assert len(expected.unique()) > 3
    if late and not empty:
        y = rivals.agreement(step.seen["other", 6], anchors)
        assert (y > 0.5).any() and (y <= 0.5).any()
        close(step.noted[6], torch.where(y > 0.5, y, 0.0))
    assert step.trained == [[0, 1, 2, 3, 4, 5], [6, 7, 8, 9, 10, 11]][: 1 + (late and not empty)]


def test_a_label_of_nought_leaves_a_margin_of_nought():
    step = Stage()
    seen = step.seen["own", 0]
    labels = torch.tensor([0.0, 1.0, 0.5, 0.0, 0.2, 0.9])
    loss = rivals.trained_with(step, [step.clean], [labels])
    total = 0
    for i in range(6):
        rows, columns = violations(seen, 0.2 * (10 ** float(labels[i]) - 1) / 9, i)
        total += max(rows) + max(columns)
    assert loss.item() == pytest.approx(total / 6, abs=1e-6)


def test_gsc_weighs_two_contrasts_and_remembers():
    record = torch.full((4, 12), torch.nan)
    targets = torch.tensor([0.2, 1.0, 0.6, 0.0, 0.9, 0.4])
    record[rivals.MEAN_PREDICTION, :6], record[rivals.MEAN_CLEAN, :6] = (targets, targets + 0.05)
    record[rivals.MEAN_CLEAN, 4], record[rivals.MEAN_PREDICTION, 4] = 0.9, 0.95
    step = Stage(record=record)
    loss = rivals.gsc(step)
    seen = step.seen["own", 0]
    close(step.noted[0], targets)
    rows = noisy_pairs.contrast(seen.scores / 0.07, seen.image_ids)
    columns = noisy_pairs.contrast(seen.scores.T / 0.07, seen.image_ids)
    total, structure = 0, []
    images, captions = (
        [[float(v[i] @ v[j] * targets[j]) for j in range(6)] for i in range(6)]
        for v in (seen.images, seen.captions)
    )
    for i in range(6):
        dots = [sum(a * b for a, b in zip(images[i], captions[j])) for j in range(6)]
        apart = -math.log(math.exp(dots[i]) / sum(map(math.exp, dots)))
        total += float(targets[i]) * (float(rows[i] + columns[i]) / 2 + 0.01 * apart)
        structure.append(dots[i] / math.hypot(*images[i]) / math.hypot(*captions[i]))
    assert loss.item() == pytest.approx(total / 6, abs=1e-5)
    close(record[rivals.PREDICTION, :6], (torch.exp(-rows) + torch.exp(-columns)) / 2)
    close(record[rivals.STRUCTURE, :6], structure)
    assert record[:, 6:].isnan().all()
    close(warm_up.both_ways(seen, Config()), (rows + columns).mean() / 2)


def test_gscs_targets_begin_with_one():
    record = torch.full((4, 3), torch.nan)
    assert rivals.targets_of(record).tolist() == [1, 1, 1]
    record[rivals.MEAN_PREDICTION] = torch.tensor([0.3, 0.8, 1])
    record[rivals.MEAN_CLEAN] = torch.tensor([0.5, 0.1, 1])
    close(rivals.targets_of(record), [0.3, 0.1, 1.0])


def test_gsc_divides_by_structure_and_moves_its_averages():
    random = np.random.default_rng(0)
    record = torch.full((4, 400), torch.nan)
    structure = np.concatenate([random.normal(0.9, 0.03, 200), random.normal(0.3, 0.05, 100)])
    record[rivals.STRUCTURE, :300] = torch.tensor(structure, dtype=torch.float32)
    record[rivals.PREDICTION, :300] = torch.linspace(0, 1, 300)
    p, problem = rivals.by_structure(None, 400, Config(), record)
    assert (p[:200] > 0.5).all() and (p[200:300] < 0.5).all() and (p[300:] == 1).all()
    assert problem == ""
    losses = 1 - record[rivals.STRUCTURE, :300].double().numpy()
    normal = mixtures.GaussianMixture().fit(losses).posterior(losses)
    np.testing.assert_array_equal(p[:300], normal)
    close(record[rivals.MEAN_PREDICTION, :300], 0.3 + 0.7 * torch.linspace(0, 1, 300))
    close(record[rivals.MEAN_CLEAN, :300], 0.3 + 0.7 * torch.tensor(p[:300]).float())
    assert (record[[rivals.MEAN_PREDICTION, rivals.MEAN_CLEAN], 300:] == 1).all()
    old = record[rivals.MEAN_CLEAN, :300].clone()
    again, _ = rivals.by_structure(None, 400, Config(), record)
    close(record[rivals.MEAN_CLEAN, :300], 0.3 * old + 0.7 * torch.tensor(again[:300]).float())


def test_gsc_divides_nothing_before_it_has_trained():
    record = torch.full((4, 5), torch.nan)
    p, problem = rivals.by_structure(None, 5, Config(), record)
    assert p.tolist() == [1] * 5 and problem == "" and rivals.targets_of(record).tolist() == [1] * 5


def test_the_bounds_train_without_labels():
    step = Stage()
    close(rivals.plain(step), noisy_pairs.hardest(step.seen["own", 0], 0.2).mean())
    close(rivals.plain_mean(step), noisy_pairs.mean_violation(step.seen["own", 0], 0.2).mean())
    assert step.trained == [[0, 1, 2, 3, 4, 5]] * 2 and not step.noted


def test_a_division_is_by_the_mean_violation_of_every_pair():
    fits = []

    class Mixture:
        problem = "none"

        def fit(self, values):
            fits.append(values)
            return self

        def posterior(self, values):
            return 1 - values

    looks = [(np.array([4, 0, 2]), look(3)), (np.array([1, 3, 4]), look(3, seed=1))]
    p, problem = rivals.by_mean_violation(Mixture, iter(looks), 5, Config(), None)
    first, second = (noisy_pairs.mean_violation(each, 0.2) for _, each in looks)
    expected = [first[1], second[0], first[2], second[1], second[2]]
    np.testing.assert_allclose(fits[0], expected, atol=1e-7)
    np.testing.assert_allclose(p, 1 - fits[0])
    assert problem == "none"


# --- The table of methods ------------------------------------------------------------------------


def test_what_the_table_says_of_each_method():
    methods = rivals.METHODS
    assert {name for name, m in methods.items() if m.parts} == {"ncr", "bicro"}
    assert {name for name, m in methods.items() if m.truth} == {"clean"}
    assert {name for name, m in methods.items() if m.divide} == {"ncr", "bicro", "gsc"}
    assert {name for name, m in methods.items() if m.record} == {"gsc"}
    divisions = [methods[name].divide.args[0].__name__ for name in ("ncr", "bicro")]
    assert divisions == ["GaussianMixture", "BetaMixture"]
    rates = [methods["ncr"].decay(epoch, 40) for epoch in (0, 29, 30, 39)]
    assert rates == [1, 1, 0.1, 0.1]
    rates = [methods["gsc"].decay(epoch, 60) for epoch in (0, 14, 15, 30, 45, 59)]
    assert rates == pytest.approx([1, 1, 0.2, 0.04, 0.008, 0.008])
    warm = [warm_up.WARM_UPS[methods[name].warm_up].__name__ for name in methods]
    assert warm == ["all_violations", "smallest", "both_ways"] + ["all_violations"] * 3
    trains = [methods[name].train.__name__ for name in methods]
    assert trains == ["ncr", "bicro", "gsc", "plain", "plain_mean", "plain"]


def test_an_unknown_method_is_refused(tmp_path):
    with pytest.raises(ValueError, match="unknown method 'esc'; known: ncr, bicro"):
        Config(method="esc").compute([], 0, tmp_path, "cpu")


# --- How well the noise was found ----------------------------------------------------------------


def test_auc_counts_couples():
    random = np.random.default_rng(0)
    values, clean = random.integers(5, size=40) / 4, random.random(40) < 0.6
    couples = [(a > b) + 0.5 * (a == b) for a in values[clean] for b in values[~clean]]
    assert identification.auc(values, clean) == pytest.approx(np.mean(couples))
    assert math.isnan(identification.auc(values, clean | True))


def test_identification_from_the_counts():
    random = np.random.default_rng(1)
    p, noise = random.random((2, 50)).round(1), random.random(50) < 0.4
    p[:, 7] = 0.5
    found = identification.identification(p, noise, 0.5)
    for who, each in (("A", p[0]), ("B", p[1]), ("mean", (p[0] + p[1]) / 2)):
        said = [x <= 0.5 for x in each]
        both = sum(s and n for s, n in zip(said, noise))
        neither = sum(not s and not n for s, n in zip(said, noise))
        assert found[f"{who} noisy precision"] == pytest.approx(100 * both / sum(said))
        assert found[f"{who} noisy recall"] == pytest.approx(100 * both / noise.sum())
        assert found[f"{who} clean precision"] == pytest.approx(100 * neither / (50 - sum(said)))
        assert found[f"{who} clean recall"] == pytest.approx(100 * neither / (~noise).sum())


def test_what_the_truth_leaves_undefined_is_missing():
    clean = identification.identification(np.ones((2, 4)), np.zeros(4, bool), 0.5)
    assert clean == {
        f"{who} clean {name}": 100.0
        for who in ("A", "B", "mean")
        for name in ("precision", "recall")
    }
    pair = Pair([], 4, 0, 1)
    assert "division AUC" not in identification.division(pair, np.zeros(4, bool), 0.5, True)
    assert identification.division(pair, np.zeros(4, bool), 0.5, False) == {}


def test_the_labels_of_both_networks_are_averaged_where_there_are_any():
    pair, nan, noise = Pair([], 4, 0, 1), math.nan, np.array([False, True, True, False])
    pair.labels.copy_(torch.tensor([[0.9, nan, 0.1, nan], [0.5, 0.2, nan, nan]]))
    told = identification.division(pair, noise, 0.5, False)
    assert told == {"label AUC": 1.0, "labelled": 3}
    pair.labels[0, 1] = 1.0  # its mean is 0.6, behind 0.7
    assert identification.division(pair, noise, 0.5, False)["label AUC"] == 1.0
    pair.labels[1, 1] = 0.5  # 0.75
    assert identification.division(pair, noise, 0.5, False)["label AUC"] == 0.5
    pair.labels.copy_(torch.tensor([[0.6, 0.5, nan, nan], [nan, 0.5, nan, nan]]))
    assert identification.division(pair, noise, 0.5, False) == {"label AUC": 1.0, "labelled": 2}


# --- What a network sees -------------------------------------------------------------------------


class Network(nn.Module):
    """Scores say which image met which caption."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(()))
        self.modes, self.encoded, self.read = [], 0, []

    def encode_images(self, raw):
        self.modes.append((self.training, torch.is_grad_enabled()))
        self.encoded += len(raw)
        return Encoded(raw, raw[:, 0, :1], raw)

    def encode_captions(self, ids, lengths):
        assert ids.shape[1] == lengths.max() and ((ids > 0).sum(1) == lengths).all()
        self.read.append((len(ids), self.training, torch.is_grad_enabled()))
        return Encoded(ids[:, :1].float(), ids[:, :1].float(), ids[:, :1], lengths)

    def similarity(self, images, captions):
        return images.pooled * 100 + captions.whole[:, 0] + self.weight


def pairs():
    """Four images, in rows 7, 5, 3, 1 of the features, two captions each; captions 0 and 7 changed
    places. Caption i is the word i + 10, and longer the later it comes."""
    stored = np.arange(10, dtype=np.float16)[:, None, None] * np.ones((1, 4, 2), np.float16)
    lengths = torch.arange(1, 9)
    ids = torch.where(torch.arange(8) < lengths[:, None], torch.arange(10, 18)[:, None], 0)
    index = np.array([3, 0, 1, 1, 2, 2, 3, 0])
    return Pairs(stored, np.array([7, 5, 3, 1]), index, ids, lengths, 3, 2)


def test_a_look_pairs_a_caption_with_the_image_it_is_attached_to():
    data, network = pairs(), Network()
    found = data.look(network, np.array([0, 2, 7]))
    close(found.scores, [[110, 112, 117], [510, 512, 517], [710, 712, 717]])
    assert found.image_ids.tolist() == [3, 1, 0]
    close(found.images, [[1], [5], [7]])
    close(found.captions, [[10], [12], [17]])
    assert data.noisy.tolist() == [True] + [False] * 6 + [True] and len(data) == 8


def test_a_glance_is_without_gradient_and_leaves_the_network_as_it_was():
    data, network = pairs(), Network()
    assert data.look(network, np.array([0, 1])).scores.requires_grad
    assert not data.glance(network, np.array([0, 1])).scores.requires_grad
    assert network.modes == [(True, True), (False, False)] and network.training
    data.glance(network.eval(), np.array([0, 1]))
    assert not network.training


def test_mixed_scores_tell_nothing_and_are_as_far_apart():
    seen = look()
    mixed = seen.mixed()
    for i in range(6):
        assert mixed.scores[:, i].tolist() == seen.scores[:, i - 1].tolist()
    assert mixed.images is seen.images and mixed.image_ids is seen.image_ids
    good = seen._replace(scores=torch.eye(6))  # of a network that knows all, one that knows nothing
    assert noisy_pairs.hardest(good, 0.2).sum() == 0
    close(noisy_pairs.hardest(good.mixed(), 0.2), [2 * 1.2] * 6)
    flat = seen._replace(scores=torch.full((6, 6), 0.5))
    close(noisy_pairs.hardest(flat.mixed(), 0.2), noisy_pairs.hardest(flat.equal(), 0.2))


def test_looks_show_every_pair_and_only_whole_batches():
    data, network = pairs(), Network()
    found = list(data.looks(network, 3, seed=0, epoch=1))
    chosen = [each.tolist() for each, _ in found]
    assert [len(each) for each in chosen] == [3, 3, 3] and set(sum(chosen, [])) == set(range(8))
    assert sorted(sum(chosen, [])[:8]) == list(range(8)) and chosen[2][2] == chosen[0][0]
    assert all(mode == (False, False) for mode in network.modes)
    close(found[1][1].captions.squeeze(1), [10.0 + i for i in chosen[1]])
    again = [each.tolist() for each, _ in data.looks(network, 3, seed=0, epoch=1)]
    other = [each.tolist() for each, _ in data.looks(network, 3, seed=0, epoch=2)]
    assert again == chosen != other
    assert [len(each) for each, _ in data.looks(network, 50, 0, 0)] == [8]


def test_a_division_encodes_a_picture_once_and_sees_what_a_glance_sees(monkeypatch):
    data, network = pairs(), Network()
    for chosen, seen in data.looks(network, 3, seed=0, epoch=1):
        for ours, expected in zip(seen, data.glance(Network(), chosen), strict=True):
            assert torch.equal(ours, expected)
    assert network.encoded == 4 and network.training  # four pictures have eight captions
    assert network.read == [(9, False, False)]  # three batches together, the last filled up
    monkeypatch.setattr(noisy_pairs, "IMAGES", 7)  # two batches of three
    network = Network()
    found = list(data.looks(network, 3, seed=0, epoch=1))
    assert [count for count, *_ in network.read] == [6, 3] and len(found) == 3
    for chosen, seen in found:
        assert torch.equal(seen.scores, data.glance(Network(), chosen).scores)
    assert {*np.concatenate([chosen for chosen, _ in found])} == {*range(8)}
    some = replace(data, index=data.index[2:6], ids=data.ids[2:6], lengths=data.lengths[2:6])
    network = Network()
    assert {tuple(seen.image_ids.tolist()) for _, seen in some.looks(network, 4, 0, 0)} <= set(
        permutations([1, 1, 2, 2])
    )
    assert network.encoded == 2


def test_a_step_counts_samples_and_keeps_time(monkeypatch):
    now = iter([0.0, 1.0, 3.0, 7.0, 15.0])
    monkeypatch.setattr(coteaching.time, "perf_counter", lambda: next(now))
    pair = Pair([Network(), Network()], 8, 0, 1)
    clock = coteaching.Clock(pair.seconds)
    clock.turn("training")
    step = Step(Config(), 1, 0, pair, pairs(), np.array([1, 2]), np.array([0]), True, clock)
    with step.correcting():
        assert not torch.is_grad_enabled()
        assert not step.glance(step.network, step.noisy).scores.requires_grad
    clock.turn(None)
    spent = dict(zip(two_networks.PHASES, pair.seconds.tolist()))
    assert spent == dict.fromkeys(two_networks.PHASES, 0) | {"training": 2 + 8, "correction": 4}
    step.look(step.rows())
    assert pair.samples == 3 and step.rows().tolist() == [1, 2, 0]
    step.note(step.clean, torch.tensor([0.25, 0.5], requires_grad=True))
    assert pair.labels[1, [1, 2]].tolist() == [0.25, 0.5] and pair.labels.isnan().sum() == 14
    assert step.record.shape == (0, 8)


# --- Whole runs ----------------------------------------------------------------------------------

EACH, SPLITS = 2, {"train": 24, "dev": 6, "test": 10}


class Words:
    """A vocabulary: a caption is a list of word ids."""

    def encode(self, captions):
        lengths = torch.tensor([len(c) for c in captions])
        ids = torch.zeros(len(captions), int(lengths.max()), dtype=torch.int64)
        for row, caption in enumerate(captions):
            ids[row, : len(caption)] = torch.tensor(caption)
        return ids, lengths


class Toy(nn.Module):
    """A quick stand-in for SGR: cosines of means, with dropout."""

    def __init__(self, feature_dim, vectors, dim):
        super().__init__()
        self.image, self.text = nn.Linear(feature_dim, dim), nn.Embedding(len(vectors), dim)
        self.drop = nn.Dropout(0.2)

    def encode_images(self, raw):
        pooled = F.normalize(self.image(self.drop(raw)).mean(1), dim=1)
        return sgraf.Encoded(raw, pooled, pooled)

    def encode_captions(self, ids, lengths):
        words = self.text(ids).masked_fill(ids[..., None] == 0, 0)
        pooled = F.normalize(self.drop(words).sum(1), dim=1)
        return sgraf.Encoded(words, pooled, pooled, lengths)

    def similarity(self, images, captions):
        return (3 * images.pooled @ captions.pooled.T).sigmoid()


@pytest.fixture
def inputs(slow_inputs, monkeypatch):
    """The inputs of a run with quick networks."""
    monkeypatch.setattr(
        two_networks.sgraf,
        "build",
        lambda kind, width, vectors, dim, **sizes: Toy(width, vectors, dim),
    )
    return slow_inputs


@pytest.fixture
def slow_inputs(monkeypatch, tmp_path_factory):
    """A small data set whose captions name what is in their images, as the inputs of a run."""
    random, total = np.random.default_rng(0), sum(SPLITS.values())
    things = np.array([random.choice(8, 3, replace=False) for _ in range(total)])
    stored = np.eye(8, 6)[things] + 0.1 * random.normal(size=(total, 3, 6))
    starts = np.cumsum([0, *SPLITS.values()])
    splits = {name: np.arange(a, b)[::-1] for name, a, b in zip(SPLITS, starts, starts[1:])}
    captions = {i: [[2 + t for t in things[i][: 2 + k]] for k in range(EACH)] for i in range(total)}
    dataset = SimpleNamespace(
        splits=splits,
        captions_per_image=EACH,
        captions_of=lambda split: [c for i in splits[split] for c in captions[i]],
    )
    run = SimpleNamespace(metrics={"width": 6}, array=lambda name: stored.astype(np.float16))
    monkeypatch.setattr(
        two_networks, "word_vectors", lambda *inputs: (torch.rand(10, 5) - 0.5, Words())
    )

    def get(config, seed, inputs, device):
        folder = tmp_path_factory.mktemp("store")
        metrics = config.compute(inputs, seed, folder, device)
        return SimpleNamespace(
            metrics=metrics,
            weights=lambda: safetensors.torch.load_file(folder / "weights.safetensors"),
        )

    monkeypatch.setattr(coteaching.runs, "get", get)
    return [dataset, run]


SMALL = dict(
    noise=0.4, regions=3, dim=8, sim_dim=4, batch=6, epochs=2, epoch_steps=3, learning_rate=5e-3
)


def config_of(method, **changes):
    kind = gsl.Config if method == "gsl" else Config
    return kind(method=method, **SMALL | changes)


def compute(config, inputs, seed, folder):
    folder.mkdir(parents=True, exist_ok=True)
    return config.compute(inputs, seed, folder, "cpu")


def told(metrics):
    """What must be the same whenever a run is computed."""
    return {name: value for name, value in metrics.items() if not name.endswith("seconds")}


def test_the_division_and_the_labels_of_both_networks_count():
    """Network A orders the pairs perfectly, B the other way round, more strongly."""
    pair = SimpleNamespace(
        posterior=torch.tensor([[0.6, 0.4], [0.1, 0.9]]),
        labels=torch.tensor([[0.3, torch.nan], [0.5, 0.6]]),
    )
    found = identification.division(pair, np.array([False, True]), 0.5, True)
    assert (found["division AUC"], found["label AUC"], found["labelled"]) == (0.0, 0.0, 2)
    assert (found["A noisy recall"], found["B noisy recall"]) == (100.0, 0.0)
    assert "division AUC" not in identification.division(pair, np.array([False, True]), 0.5, False)


def test_the_course_of_an_epoch_against_a_slow_count():
    """Two networks, one of which labelled nothing of the last pair; two captions an image."""
    random = np.random.default_rng(1)
    p, labels, noisy = random.random((2, 9)), random.random((2, 9)), np.arange(9) % 3 == 0
    labels[1, 8] = labels[0, 3] = labels[1, 3] = np.nan
    scores = torch.rand(4, 8, generator=torch.Generator().manual_seed(2))
    told = identification.course(p, labels, noisy, 0.3, scores, 2)
    found = dict(zip(identification.COURSE, told, strict=True))
    kept = [p[k, i] > 0.3 for k in range(2) for i in range(9) if not noisy[i]]
    caught = [p[k, i] <= 0.3 for k in range(2) for i in range(9) if noisy[i]]
    own = [float(scores[i, j]) for i in range(4) for j in range(8) if j // 2 == i]
    others = [float(scores[i, j]) for i in range(4) for j in range(8) if j // 2 != i]
    slow = {
        "division AUC": identification.auc((p[0] + p[1]) / 2, ~noisy),
        "clean kept": 100 * np.mean(kept),
        "noise found": 100 * np.mean(caught),
        "label, clean": np.mean([labels[k, i] for k, i in labelled(labels) if not noisy[i]]),
        "label, noisy": np.mean([labels[k, i] for k, i in labelled(labels) if noisy[i]]),
        "own score": np.mean(own),
        "other scores": np.mean(others),
        "spread": np.std(others),
    }
    assert found == pytest.approx(slow)
    early = identification.course(None, np.full((2, 9), np.nan), noisy, 0.3, scores, 2)
    assert np.isnan(early[:5]).all() and (early[5:] == told[5:]).all()


def labelled(labels):
    """Network and number of each pair that has a label."""
    return zip(*np.nonzero(~np.isnan(labels)))


def test_a_run_keeps_its_course_epoch_by_epoch(inputs, tmp_path, monkeypatch):
    """For the last epoch it says what the run says; before the first division there is none."""
    seen, measured = [], two_networks.similarities
    monkeypatch.setattr(
        coteaching, "similarities", lambda *a: seen.append((a[5], measured(*a))) or seen[-1][1]
    )
    found = compute(config_of("gsl", epochs=3), inputs, 0, tmp_path)
    course = np.load(tmp_path / "course.npy")
    own = torch.eye(6, dtype=torch.bool).repeat_interleave(EACH, dim=1)
    looked = [scores for split, scores in seen if split == "dev"][-4:]
    assert course.shape == (4, 8) and np.isnan(course[0, :5]).all()
    assert not np.isnan(course[1:]).any()
    assert course[3, 0] == found["division AUC"]
    sides = [found[f"{who} clean recall"] for who in "AB"]
    assert course[3, 1] == pytest.approx(np.mean(sides))
    assert course[:, 5] == pytest.approx([float(each[own].mean()) for each in looked])
    labels, index = np.load(tmp_path / "labels.npy"), np.load(tmp_path / "index.npy")
    wrong = index != np.arange(48) // EACH
    assert course[3, 4] == pytest.approx(np.nanmean(labels[:, wrong]))
    compute(config_of("hardest"), inputs, 0, tmp_path / "bound")
    assert np.isnan(np.load(tmp_path / "bound/course.npy")[:, :5]).all()


def test_what_a_run_leaves_and_says(inputs, tmp_path):
    config = config_of("ncr")
    found = compute(config, inputs, 0, tmp_path)
    index, posterior = np.load(tmp_path / "index.npy"), np.load(tmp_path / "posterior.npy")
    assert index.shape == (48,) and sorted(index) == sorted(np.arange(48) // EACH)
    wrong = index != np.arange(48) // EACH
    assert found["noise rate"] == wrong.mean() > 0.2
    assert posterior.shape == np.load(tmp_path / "labels.npy").shape == (2, 48)
    assert found["division AUC"] == identification.auc(posterior.mean(0), ~wrong)
    assert identification.identification(posterior, wrong, 0.5).items() < found.items()
    assert np.load(tmp_path / "dev.npy")[:, 0].tolist() == [0, 3, 6]  # the warm-up, each epoch
    assert np.load(tmp_path / "ranks_i2t.npy").shape == (10,)
    assert np.load(tmp_path / "ranks_t2i.npy").shape == (20,)
    assert {f"{phase} seconds" for phase in two_networks.PHASES} < set(found)
    assert all(found[f"{phase} seconds"] > 0 for phase in two_networks.PHASES)
    assert 18 + 18 + 18 < found["samples"] <= 18 + 18 + 36  # noisy pairs in the second half alone
    path = tmp_path / "problems.json"
    assert found["problems"] == (len(json.loads(path.read_text())) if path.exists() else 0)
    bound = compute(config_of("hardest"), inputs, 0, tmp_path / "bound")
    assert not any("AUC" in name or "recall" in name for name in bound) and bound["samples"] == 54
    np.testing.assert_array_equal(index, np.load(tmp_path / "bound/index.npy"))


def test_a_seed_draws_the_networks_and_each_ones_batches(inputs, tmp_path, monkeypatch):
    """Warm-up and training; what a network sees first is as it was drawn."""
    seen, real = [], Pairs.look
    monkeypatch.setattr(
        Pairs,
        "look",
        lambda self, network, chosen: (
            torch.is_grad_enabled()
            and seen.append((training.checksum(network), tuple(chosen)))
            or real(self, network, chosen)
        ),
    )
    for seed in (0, 1):
        compute(config_of("mean"), inputs, seed, tmp_path / str(seed))
    networks, batches = zip(*seen)
    assert len({networks[i] for i in (0, 1, 18, 19)}) == 4
    assert len(set(batches)) == len(batches) == 36


def test_a_run_is_the_same_whether_its_warm_up_is_stored_or_not(inputs, tmp_path, monkeypatch):
    """Networks drop out at random: what the warm-up draws must not be missing afterwards."""
    compute_anew, kept = coteaching.runs.get, {}

    def get(config, seed, inputs, device):
        if config not in kept:
            kept[config] = compute_anew(config, seed, inputs, device=device)
        return kept[config]

    monkeypatch.setattr(coteaching.runs, "get", get)
    first, again = (compute(config_of("ncr"), inputs, 0, tmp_path / name) for name in "ab")
    assert len(kept) == 1 and told(first) == told(again)
    losses = [np.load(tmp_path / name / "loss.npy") for name in "ab"]
    assert (losses[0] == losses[1]).all()


def test_the_noise_is_the_same_for_every_seed_and_another_by_its_own(inputs, tmp_path):
    found = {}
    for name, seed, noise_seed in (("a", 0, 0), ("b", 1, 0), ("c", 0, 1)):
        compute(config_of("mean", noise_seed=noise_seed), inputs, seed, tmp_path / name)
        found[name] = np.load(tmp_path / name / "index.npy").tolist()
    assert found["a"] == found["b"] != found["c"]


def test_a_tuning_seed_sees_dev_and_a_reporting_seed_test(inputs, tmp_path, monkeypatch):
    seen, measured = [], two_networks.similarities
    monkeypatch.setattr(coteaching, "similarities", lambda *a: seen.append(a[5:]) or measured(*a))
    monkeypatch.setattr(training, "looks", lambda steps: [])  # at the warm-up
    config = config_of("mean", dev_images=4, test_images=5)
    report = compute(config, inputs, 0, tmp_path / "0")
    assert seen == [("dev", 4)] * 3 + [("test", 5)]
    assert "test RSUM" in report and not any(name.startswith("dev R") for name in report)
    seen.clear()
    tuned = compute(config, inputs, 1000, tmp_path / "1")
    assert seen == [("dev", 4)] * 4 and not any(name.startswith("test R") for name in tuned)
    assert tuned["dev RSUM"] == np.load(tmp_path / "1/dev.npy")[:, 1].max()
    assert not (tmp_path / "1/ranks_i2t.npy").exists()


@pytest.mark.parametrize(
    "rsums, best",  # after the warm-up, and after each of three epochs
    [
        ((300, 290, 200, 250), 0),
        ((300, 250, 300, 299), 0),
        ((90, 300, 200, 250), 1),
        ((90, 100, 200, 150), 2),
        ((90, 100, 200, 200), 2),
        ((90, 100, 150, 160), 3),
    ],
)
def test_dev_chooses_the_epoch_whose_weights_are_kept(inputs, tmp_path, monkeypatch, rsums, best):
    weights, told_of = [], iter([*rsums, 7])
    measured = two_networks.similarities

    def similarities(networks, *rest):
        weights.append(training.checksum(networks))
        return measured(networks, *rest)

    def evaluate(scores, each):
        value = next(told_of)
        return SimpleNamespace(rsum=value, named=lambda split: {f"{split} RSUM": value})

    monkeypatch.setattr(coteaching, "similarities", similarities)
    monkeypatch.setattr(coteaching.retrieval, "evaluate", evaluate)
    monkeypatch.setattr(training, "looks", lambda steps: [])  # at the warm-up
    found = compute(config_of("mean", epochs=3), inputs, 0, tmp_path)
    assert found["best epoch"] == best and found["test RSUM"] == 7
    steps = [0, 3, 6, 9]
    assert np.load(tmp_path / "dev.npy").tolist() == [list(each) for each in zip(steps, rsums)]
    assert len(set(weights[:4])) == 4 and weights[4] == weights[best]
    assert found["checksum"] == weights[3]  # of what training came to


def test_a_network_learns_on_its_peers_division(inputs, tmp_path):
    """Network A's division calls the first half clean, network B's the second."""
    steps = []

    def divide(looks, n, config, record):
        mine = len(divided) % 2
        divided.append(mine)
        record[:] = mine
        return (np.arange(n) // (n // 2) == mine) * 0.8, ""

    def train(step):
        steps.append(step)
        return rivals.plain(step)

    for split in ("peer", "own"):
        divided = []
        steps.clear()
        method = Method("mean", train, divide, parts=True, record=1)
        coteaching.fit(method, config_of("ncr", split=split), inputs, 0, tmp_path, "cpu")
        steps[:] = [step for step in steps if not step.mixed]
        assert divided == [0, 1, 0, 1] and len(steps) == 12
        for step in steps:
            half = 1 - step.number if split == "peer" else step.number
            assert (step.clean // 24 == half).all() and (step.noisy // 24 != half).all()
            assert len(step.clean) == len(step.noisy) == 6 and (step.record == step.number).all()
            assert step.posterior(step.clean).tolist() == pytest.approx([0.8] * 6)
            assert step.posterior(step.noisy).tolist() == [0] * 6
        assert [step.late for step in steps] == [False] * 6 + [True] * 6
        drawn = [tuple(step.clean) for step in steps]
        assert len(set(drawn)) == 12 and steps[0].network is not steps[1].network
        assert steps[0].peer is steps[1].network


def test_a_bank_holds_the_judges_clean_pairs_as_the_network_sees_them(inputs, tmp_path):
    """Anew with every division, in evaluation mode; of 24 clean pairs there is room for ten."""
    banks, divided = [], []

    def divide(looks, n, config, record):
        divided.append(len(divided))
        return (np.arange(n) % 2 == divided[-1] % 2) * 0.8, ""

    def train(step):
        bank = step.bank(step.rows())
        banks.append((step.number, noisy_pairs.Bank(*(each.clone() for each in bank))))
        if len(banks) < 3:  # of the epoch's first step: the networks are as they were divided
            seen = step.pairs.pooled(step.network, bank.rows.numpy())
            close(torch.stack(bank[:2]), seen)
            assert step.network.training
        assert (bank.own == (bank.rows == torch.from_numpy(step.rows())[:, None])).all()
        return rivals.plain(step)

    method = Method("mean", train, divide, parts=True, bank=lambda config: 10)
    coteaching.fit(method, config_of("ncr"), inputs, 0, tmp_path, "cpu")
    for number, bank in banks:  # network A's division calls even pairs clean, B's the others
        clean = np.arange(1 - number, 48, 2)
        assert bank.rows.tolist() == clean[[0, 3, 5, 8, 10, 13, 15, 18, 20, 23]].tolist()
    first, again, late = (banks[i][1] for i in (0, 4, 6))
    assert torch.equal(first.images, again.images) and not torch.equal(first.images, late.images)


@pytest.mark.parametrize(
    "p, alone, delta, told",
    [
        (0.5, 0, 0.5, "0 of 48"),
        (0.51, 0, 0.5, ""),
        (0.6, 0, 0.7, "0 of 48"),
        (0.5, 1, 0.5, "1 of 48"),
    ],
)
def test_without_noisy_or_clean_pairs_all_are_clean(inputs, tmp_path, p, alone, delta, told):
    """p at δ counts as noisy; with at most one clean pair left all are, and the run says so."""
    steps = []
    method = Method(
        "mean",
        lambda step: steps.append(step) or rivals.plain(step),
        lambda looks, n, *rest: (np.where(np.arange(n) < alone, 1, p), ""),
        parts=True,
    )
    found = coteaching.fit(method, config_of("ncr", delta=delta), inputs, 0, tmp_path, "cpu")
    steps = [step for step in steps if not step.mixed]
    assert {(len(s.clean), len(s.noisy)) for s in steps} == {(6, 0)}
    assert len({tuple(s.clean) for s in steps}) == len(steps) == 12
    path = tmp_path / "problems.json"
    assert path.exists() == bool(told) and (not told or told in path.read_text())
    assert alone or found["mean noisy recall"] == (100 if told else 0)


def test_a_noisy_pair_that_is_alone_does_not_train(inputs, tmp_path):
    steps = []
    method = Method(
        "mean",
        lambda step: steps.append(step) or rivals.plain(step),
        lambda looks, n, config, record: ((np.arange(n) != 9) * 1.0, ""),
        parts=True,
    )
    coteaching.fit(method, config_of("ncr"), inputs, 0, tmp_path, "cpu")
    assert {len(s.noisy) for s in steps} == {0} and all(9 not in s.clean for s in steps)


def test_a_problem_of_a_mixture_is_told_and_kept(inputs, tmp_path):
    method = Method("mean", rivals.plain, lambda looks, n, config, record: (np.ones(n), "one lump"))
    with pytest.warns(UserWarning, match="epoch 1, network A: one lump"):
        found = coteaching.fit(method, config_of("ncr"), inputs, 0, tmp_path, "cpu")
    kept = json.loads((tmp_path / "problems.json").read_text())
    assert found["problems"] == 4 and set(kept.values()) == {"one lump"}
    assert list(kept) == [f"epoch {e}, network {k}" for e in (1, 2) for k in "AB"]


def test_the_bound_sees_pairs_that_are_clean_in_truth_alone(inputs, tmp_path, monkeypatch):
    seen, real = [], Pairs.look
    monkeypatch.setattr(
        Pairs,
        "look",
        lambda self, network, chosen: (
            torch.is_grad_enabled()
            and seen.append(self.noisy[chosen])
            or real(self, network, chosen)
        ),
    )
    compute(config_of("clean"), inputs, 0, tmp_path / "clean")
    assert len(seen) == 18 and not np.concatenate(seen).any()
    seen.clear()
    compute(config_of("mean"), inputs, 0, tmp_path / "mean")
    assert np.concatenate(seen).any()


def test_the_learning_rate_falls_by_epochs_after_warm_up(inputs, tmp_path, monkeypatch):
    rates, asked, fit = [], [], training.fit

    def watched(model, descent, loss_at, folder, label, *dev, **trivial):
        optimizer = descent.optimizer
        asked.append((descent.steps, descent.clip, optimizer.defaults["weight_decay"]))

        def loss(step):
            rates.append(optimizer.param_groups[0]["lr"])
            return loss_at(step)

        return fit(model, descent, loss, folder, label, *dev, **trivial)

    monkeypatch.setattr(training, "fit", watched)
    compute(config_of("mean", epochs=4, warm_up_epochs=2, epoch_steps=2), inputs, 0, tmp_path)
    assert rates == pytest.approx([5e-3] * 10 + [5e-4] * 2) and asked == [(4, 2, 0), (8, 2, 0)]
    rates.clear()
    compute(config_of("mean", epochs=1, epoch_steps=2, after=0.1), inputs, 0, tmp_path / "after")
    assert rates == pytest.approx([5e-3] * 2 + [5e-4] * 2)


def test_methods_share_the_warm_up_that_they_have_in_common():
    """Same networks, data and schedule; another loss, or another pool, is another run."""
    found = {
        name: warm_up.warm_up_of(method, config_of(name))
        for name, method in {**rivals.METHODS, "gsl": gsl.METHOD}.items()
    }
    assert found["ncr"] == found["hardest"] == found["mean"]
    assert [found[name].loss for name in ("ncr", "bicro", "gsc", "gsl")] == [
        "mean",
        "smallest",
        "contrast",
        "hardest",
    ]
    assert found["clean"] == replace(found["ncr"], truth=True)
    config = replace(config_of("gsl"), warm_up="mean", eta=0.5, delta=0.4)
    assert warm_up.warm_up_of(gsl.METHOD, config) == found["ncr"]
    other = replace(config_of("ncr"), noise=0.1)
    assert warm_up.warm_up_of(rivals.METHODS["ncr"], other) != found["ncr"]
    with pytest.raises(ValueError, match="unknown warm_up 'none'; known: mean, smallest"):
        replace(config_of("ncr"), warm_up="none")


def test_networks_begin_with_what_the_warm_up_left(inputs, tmp_path):
    """At a learning rate of zero after it nothing is learnt."""
    config = config_of("mean", after=0.0)
    compute(config, inputs, 0, tmp_path)
    begun = warm_up.warm_up_of(rivals.METHODS["mean"], config)
    warmed = coteaching.runs.get(begun, 0, inputs, device="cpu").weights()
    kept = safetensors.torch.load_file(tmp_path / "weights.safetensors")
    assert kept.keys() == warmed.keys()
    assert all(torch.equal(kept[name], value) for name, value in warmed.items())


def test_both_networks_go_on_from_there(inputs, tmp_path, monkeypatch):
    """Whichever epoch dev may choose, each network has learnt in the last."""
    kept = {}

    def validate(self, step, real=coteaching.Lessons.validate):
        kept[step] = [training.checksum(each) for each in self.pair.networks]
        return real(self, step)

    monkeypatch.setattr(coteaching.Lessons, "validate", validate)
    compute(config_of("mean"), inputs, 0, tmp_path)
    before, *_, after = [kept[step] for step in sorted(kept)]
    assert before[0] != after[0] and before[1] != after[1]


@pytest.mark.parametrize("loss, level", [("hardest", 2 * 0.2), ("mean", 2 * 0.2 * 5 / 6)])
def test_the_trivial_loss_of_a_warm_up_is_twice_the_margin_a_network(inputs, loss, level):
    """Of both networks; mean violations count the pair itself as 0, and all six images differ."""
    config = config_of("mean", warm_up=loss, margin=0.2, noise=0.0)
    begun = warm_up.warm_up_of(rivals.METHODS["mean"], config)
    assert begun.loss == loss
    found = coteaching.runs.get(begun, 0, inputs, device="cpu").metrics["trivial loss"]
    assert 0.6 * 2 * level <= found <= 2 * level + 1e-6  # an image's other caption is no negative


@pytest.mark.parametrize("method", ["gsl", "ncr", "bicro", "gsc"])
def test_asking_for_the_trivial_loss_changes_nothing(inputs, tmp_path, monkeypatch, method):
    config = config_of(method)
    whole = told(compute(config, inputs, 0, tmp_path / "a"))
    assert 0 < whole.pop("trivial loss") < 20
    monkeypatch.setattr(coteaching.Lessons, "trivial_at", lambda self, step: torch.tensor(1.0))
    plain = told(compute(config, inputs, 0, tmp_path / "b"))
    assert plain.pop("trivial loss") == 1 and plain == whole
    for name in ("posterior", "labels", "dev"):
        first, second = (np.load(tmp_path / each / f"{name}.npy") for each in "ab")
        assert np.array_equal(first, second, equal_nan=True)


def test_the_curve_of_a_run_is_its_clean_pairs_loss_and_its_level_theirs(inputs, tmp_path):
    """Noisy pairs cost the more the better a network knows them: they are left out of both."""
    steps = []

    def train(step):
        seen = rivals.hardest(step.look(step.clean), 0.2).mean()
        step.tell(seen)
        steps.append((step.mixed, float(seen.detach())))
        return seen + 5.0 * rivals.hardest(step.look(step.noisy), 0.2).mean()

    method = Method(
        "mean", train, lambda looks, n, *rest: ((np.arange(n) % 2).astype(float), ""), parts=True
    )
    found = coteaching.fit(method, config_of("ncr"), inputs, 0, tmp_path, "cpu")
    of_networks = np.array([loss for mixed, loss in steps if not mixed])
    np.testing.assert_allclose(
        np.load(tmp_path / "loss.npy"), of_networks.reshape(6, 2).sum(1), atol=1e-6
    )
    level = sum(loss for mixed, loss in steps if mixed)
    assert found["trivial loss"] == pytest.approx(level, abs=1e-5) and level > 2 * 0.2


def test_both_networks_warm_up(inputs):
    begun = warm_up.warm_up_of(rivals.METHODS["mean"], config_of("mean"))
    torch.manual_seed(0)
    before = [network.state_dict() for network in two_networks.build(begun, *inputs)[0]]
    after = coteaching.runs.get(begun, 0, inputs, device="cpu").weights()
    for k in range(2):
        assert all(
            not torch.equal(after[f"{k}.{name}"], value)
            for name, value in before[k].items()
            if name.endswith("image.weight")
        )
        assert f"{k}.image.weight" in after


def test_a_base_models_vectors_are_read_once_and_leave_random_numbers_alone(monkeypatch):
    read = []

    def vectors(dataset, base_run=None, home=None):
        read.append((dataset.fingerprint, base_run and base_run.key))
        return torch.rand(3), "words"

    monkeypatch.setattr(two_networks, "word_vectors", vectors)
    monkeypatch.setattr(two_networks, "VECTORS", {})
    a, b = SimpleNamespace(fingerprint="a"), SimpleNamespace(fingerprint="b")
    base = SimpleNamespace(key="base")
    torch.manual_seed(5)
    first = two_networks.start_vectors(a, base)[0]
    drawn = torch.rand(1)
    torch.manual_seed(5)
    assert torch.equal(two_networks.start_vectors(a, base)[0], first) and torch.rand(1) == drawn
    assert torch.equal(two_networks.start_vectors(b, base, a)[0], first) and len(read) == 1
    two_networks.start_vectors(b, base)
    two_networks.start_vectors(a, SimpleNamespace(key="other"))
    assert read == [("a", "base"), ("b", "base"), ("a", "other")]
    torch.manual_seed(5)  # without one they are drawn, by the run's own seed
    assert (
        not torch.equal(two_networks.start_vectors(a)[0], two_networks.start_vectors(a)[0])
        and len(read) == 5
    )


def test_what_a_method_costs_is_measured_on_steps_of_its_own(inputs, tmp_path, monkeypatch):
    """A step takes a second, its correction as many as there were rounds, a division five."""
    config, steps, networks, now = config_of("ncr"), [], set(), [0.0]
    compute(config, inputs, 0, tmp_path)
    posterior = np.stack((np.linspace(0, 1, 48), np.linspace(1, 0, 48)))
    run = SimpleNamespace(
        config=asdict(config),
        array={"posterior": posterior}.__getitem__,
        weights=lambda: safetensors.torch.load_file(tmp_path / "weights.safetensors"),
    )

    def train(step):
        now[0] += 1
        with step.correcting():
            now[0] += len(steps) % (2 * (cost.ROUNDS + 1)) // 2
        steps.append(step)
        networks.add(training.checksum(step.network))
        return rivals.plain(step)

    def divide(looks, n, config, record):
        now[0] += 5
        return np.ones(n), ""

    monkeypatch.setattr(cost, "method_of", lambda name: Method("mean", train, divide, parts=True))
    monkeypatch.setattr(coteaching.time, "perf_counter", lambda: now[0])
    found = cost.measure(run, inputs, "cpu")
    assert found["early"] == found["late"] == 2 * (1 + 3)  # the third of five rounds, A and B
    assert found["early correction"] == found["late correction"] == 2 * 3
    assert found["division"] == 2 * 5 / 48 and found["plain"] == found["warm-up"] == 0
    assert (found["pairs"], found["warm-up steps"], found["steps"]) == (48, 8, 29 // 6)
    assert [step.late for step in steps] == [False] * 12 + [True] * 12
    assert len(networks) == 2  # they stay as they are
    for step in steps:
        assert step.judge == 1 - step.number and len(step.clean) == len(step.noisy) == 6
        likely = posterior[step.judge]
        assert likely[step.clean].min() > 0.5 > likely[step.noisy].max()


def test_without_warm_up_the_division_comes_first(inputs, tmp_path):
    found = compute(config_of("ncr", warm_up_epochs=0), inputs, 0, tmp_path)
    assert found["steps"] == 6 and found["warm-up seconds"] == 0 < found["division seconds"]


def test_a_given_noise_index_is_taken(inputs, tmp_path):
    given = GivenNoise(np.roll(np.arange(48) // EACH, 2))
    compute(config_of("mean"), [*inputs, None, None, given], 0, tmp_path)
    np.testing.assert_array_equal(np.load(tmp_path / "index.npy"), given.index)
    assert len(given.key) == 64 and given.key != GivenNoise(np.arange(48) // EACH).key
    refused = r"noise index has shape .* expected \(48,\) and 0 to 23"
    for wrong in (np.zeros(47, int), np.full(48, 24), np.full(48, -1)):
        with pytest.raises(ValueError, match=refused):
            compute(config_of("mean"), [*inputs, None, None, GivenNoise(wrong)], 0, tmp_path)


def test_some_training_images_are_enough(inputs, tmp_path):
    compute(config_of("mean", images=5), inputs, 0, tmp_path)
    assert sorted(np.load(tmp_path / "index.npy")) == sorted(np.arange(10) // EACH)
    for split in ("images", "dev_images", "test_images"):
        with pytest.raises(ValueError, match="99 .* images asked for, there are"):
            compute(config_of("mean", **{split: 99}), inputs, 0, tmp_path)


def test_too_little_to_train_on_is_refused(inputs, tmp_path):
    with pytest.raises(ValueError, match="0 of 48 pairs to train on; it takes"):
        given = GivenNoise(np.roll(np.arange(48) // EACH, 2))
        compute(config_of("clean"), [*inputs, None, None, given], 0, tmp_path)


@pytest.mark.parametrize("similarity", ["sgr", "saf"])
def test_a_runs_networks_can_be_had_again(slow_inputs, tmp_path, monkeypatch, similarity):
    """The mean of both networks' scores, images in blocks, in evaluation mode."""
    inputs, config = slow_inputs, config_of("gsl", similarity=similarity, epochs=1, epoch_steps=2)
    monkeypatch.setattr(training, "best_look", lambda dev: len(dev) - 1)
    found = compute(config, inputs, 0, tmp_path)
    again = compute(config, inputs, 0, tmp_path / "again")
    assert told(again) == told(found)
    from safetensors.torch import load_file

    weights = load_file(tmp_path / "weights.safetensors")
    run = SimpleNamespace(config=asdict(config), weights=lambda: weights)
    networks, vocabulary = two_networks.load(run, *inputs)
    assert not networks.training and training.checksum(networks) == found["checksum"]
    assert type(networks[0].reason).__name__.lower() == similarity
    dataset, feature_run = inputs
    arguments = networks, vocabulary, dataset, feature_run, config, "test"
    scores = two_networks.similarities(*arguments)
    assert not any(network.training for network in networks)
    assert retrieval.evaluate(scores, EACH).named("test").items() <= found.items()
    ids, lengths = vocabulary.encode(dataset.captions_of("test"))
    raw = torch.from_numpy(feature_run.array("features")[dataset.splits["test"]].astype(np.float32))
    with torch.no_grad():
        close(scores, sum(network(raw, ids, lengths) for network in networks) / 2)
    monkeypatch.setattr(two_networks, "IMAGES", 3)
    networks.train()
    close(two_networks.similarities(*arguments), scores)
    assert all(network.training for network in networks)
    close(two_networks.similarities(*arguments, 4), scores[:4, :8])


@pytest.mark.parametrize("method", ["gsl", "gsc", "ncr"])
@pytest.mark.parametrize("stop", [2, 4])
def test_a_run_that_was_cut_off_goes_on_as_if_it_had_not_been(
    inputs, tmp_path, monkeypatch, method, stop
):
    """Epochs begin at steps 0 and 3; it stops after steps 2 (a whole epoch) and 4."""
    config = config_of(method)
    whole = compute(config, inputs, 3, tmp_path / "whole")
    monkeypatch.setattr(training, "CHECKPOINT_SECONDS", -1.0)
    show, shown = training.progress.show, []

    def stopping(label, done, *rest, dev=None):
        shown.append(done)
        if done == stop + 1 and not label.startswith("warm-up"):
            raise KeyboardInterrupt

    monkeypatch.setattr(training.progress, "show", stopping)
    with pytest.raises(KeyboardInterrupt):
        compute(config, inputs, 3, tmp_path / "cut")
    monkeypatch.setattr(training.progress, "show", show)
    assert told(compute(config, inputs, 3, tmp_path / "cut")) == told(whole)
    for name in ("posterior", "labels", "dev", "index"):
        a, b = (np.load(tmp_path / folder / f"{name}.npy") for folder in ("whole", "cut"))
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("method", ["gsl", *rivals.METHODS])
def test_two_runs_of_a_seed_are_the_same(inputs, tmp_path, method):
    config = config_of(method)
    runs = [compute(config, inputs, seed, tmp_path / str(i)) for i, seed in enumerate((0, 0, 1))]
    assert told(runs[0]) == told(runs[1]) and runs[0]["checksum"] != runs[2]["checksum"]
    assert (tmp_path / "0/weights.safetensors").read_bytes() == (
        tmp_path / "1/weights.safetensors"
    ).read_bytes()
    assert (runs[0]["steps"], runs[0]["warm-up steps"]) == (6, 3) and 0 < runs[0][
        "test RSUM"
    ] <= 600
    assert json.loads(json.dumps(runs[0])) == runs[0]
