"""ComAlign's equations against slow loops written from the paper, and by hand."""

import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import safetensors.torch
import torch
from alignbook.core import training
from alignbook.core.protocol import TUNING_SEED
from alignbook.papers.comalign import head_layers, inference
from alignbook.papers.comalign import model as comalign
from alignbook.papers.comalign.components.vectors import Components
from alignbook.papers.comalign.head_layers import sinusoidal
from alignbook.papers.comalign.inference import Frozen, freeze, weighted
from alignbook.papers.comalign.model import ComAlign, Config, contrast, loss

N, M, D = 3, 2, 8  # entities, relations, width


def sets(count: int, seed: int, holes: bool = True) -> Components:
    """Random components; the first set has no relation, the second no entity either."""
    draw = torch.Generator().manual_seed(seed)
    vectors = torch.randn(count, 1 + N + M, D, generator=draw)
    present = torch.ones(count, 1 + N + M, dtype=torch.bool)
    if holes:
        present[:, 1:] = torch.rand(count, N + M, generator=draw) < 0.6
        present[0, 1 + N :] = False
        present[1, 1:] = False
    return Components(vectors * present[..., None], present, torch.arange(1 + N + M), N)


def model_of(seed: int = 0, **changes) -> ComAlign:
    torch.manual_seed(seed)
    return ComAlign(Config(heads=2, **changes), D, 1 + N + M).eval()


def slow_fgm(x, x_mask, y, y_mask):
    """Eq. 2 of the valid ones; 0 if a side has none."""
    best = [
        max(float(a @ b) for b, there in zip(y, y_mask) if there)
        for a, here in zip(x, x_mask)
        if here and y_mask.any()
    ]
    return sum(best) / len(best) if best else 0.0


def slow_terms(images, captions):
    """Eq. 3–5 as loops, and which sets have what."""
    slots = {"E": slice(1, 1 + N), "R": slice(1 + N, 1 + N + M)}
    found = {}
    for kind, part in slots.items():
        i2t = torch.zeros(len(images.vectors), len(captions.vectors))
        t2i = torch.zeros_like(i2t)
        for i in range(len(i2t)):
            for j in range(i2t.shape[1]):
                x, y = images.vectors[i, part], captions.vectors[j, part]
                here, there = images.present[i, part], captions.present[j, part]
                i2t[i, j] = slow_fgm(x, here, y, there)
                t2i[i, j] = slow_fgm(y, there, x, here)
        found[kind] = i2t, t2i, images.present[:, part].any(1), captions.present[:, part].any(1)
    g = torch.tensor([[float(a[0] @ b[0]) for b in captions.vectors] for a in images.vectors])
    everyone = torch.ones(len(images.vectors), dtype=torch.bool)
    found["G"] = g, g, everyone, torch.ones(len(captions.vectors), dtype=torch.bool)
    return found


# --- Eq. 1 ---------------------------------------------------------------------------------------


def test_position_codes_by_hand():
    codes = sinusoidal(3, 4)
    expected = [math.sin(2), math.cos(2), math.sin(0.02), math.cos(0.02)]
    assert codes[2].tolist() == pytest.approx(expected)
    odd = sinusoidal(3, 4, "official")  # a cosine first, 2i/D over all i; the whole comes last
    expected = [
        math.cos(2),
        math.sin(2 / 10000**0.5),
        math.cos(2 / 10000),
        math.sin(2 / 10000**1.5),
    ]
    assert odd[0].tolist() == pytest.approx(expected)
    assert odd[1].tolist() == [1, 0, 1, 0]  # the first entity


def test_dropout_is_pytorchs_in_the_mean():
    torch.manual_seed(0)
    drop, x = head_layers.Dropout(0.1), torch.ones(999, 101)
    found = drop(x)
    assert found.unique().tolist() == pytest.approx([0.0, 1 / 0.9])
    shares = (found == 0).float().flatten()[: 4 * 25000].view(-1, 4).mean(0)  # of each draw's four
    assert shares.tolist() == pytest.approx([0.1] * 4, abs=0.008)
    assert torch.equal(drop.eval()(x), x)


def test_the_official_preset_drops_out_after_the_positions():
    h = sets(5, 2)
    plain = dict(layers=0, dropout=0.0)
    none, half = (model_of(**plain, position_dropout=p).train() for p in (0.0, 0.5))
    z, dropped = (model.encoders["image"](h)[h.present] for model in (none, half))
    assert torch.allclose(torch.where(dropped == 0, 0.0, 2 * z), dropped)
    assert 0.3 < (dropped == 0).float().mean() < 0.7
    assert torch.equal(half.eval().encoders["image"](h)[h.present], z)


@pytest.mark.parametrize("network", ["transformer", "fc-shared", "fc-separate"])
def test_what_is_absent_or_not_held_changes_nothing(network):
    model, h = model_of(network=network), sets(6, 1)
    z = model.encode(h, "image").vectors
    noise = torch.where(h.present[..., None], h.vectors, torch.randn_like(h.vectors))
    again = model.encode(h._replace(vectors=noise), "image").vectors
    assert torch.allclose(z[h.present], again[h.present], atol=1e-6)
    kept = torch.tensor([0, 2, 3, 5])  # slots left out of a batch: the others keep their places
    part = Components(h.vectors[:, kept], h.present[:, kept], kept, N)
    part = part._replace(present=part.present & ~torch.zeros(6, 1, dtype=torch.bool))
    rest = torch.ones(1 + N + M, dtype=torch.bool)
    rest[kept] = False
    whole = h._replace(present=h.present & ~rest)
    a, b = model.encode(part, "image").vectors, model.encode(whole, "image").vectors[:, kept]
    assert torch.allclose(a[part.present], b[part.present], atol=1e-6)


@pytest.mark.parametrize("projected", [False, True])
def test_vectors_are_as_long_as_their_place_codes_ask_for(projected):
    """Slot by slot, before any layer; unlengthened, codes drown what vectors of length 1 say."""
    h = sets(6, 3)
    model = model_of(layers=0, projected=projected).eval()
    encoder = model.encoders["image"]
    z, codes = encoder(h), sinusoidal(1 + N + M, D)
    for row, slot in h.present.nonzero().tolist():
        long = D**0.5 * h.vectors[row, slot]
        long = encoder.project(long) if projected else long
        assert torch.allclose(z[row, slot], long + codes[slot], atol=1e-5)
    short = model_of(layers=0, lengthened=False).encoders["image"](h)
    there = h.present.nonzero()[0].tolist()
    assert torch.allclose(short[*there], h.vectors[*there] + codes[there[1]], atol=1e-6)


def test_a_layer_is_pytorchs_without_the_padding():
    torch.manual_seed(0)
    own = head_layers.Layer(D, 2, 0.1).eval()
    theirs = torch.nn.TransformerEncoderLayer(D, 2, D, 0.1, batch_first=True).eval()
    with torch.no_grad():
        for parameter in own.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))
    pairs = {
        "self_attn.in_proj_": own.inward,
        "self_attn.out_proj.": own.outward,
        "linear1.": own.feedforward[0],
        "linear2.": own.feedforward[3],
        "norm1.": own.norms[0],
        "norm2.": own.norms[1],
    }
    state = {
        name + kind: getattr(part, kind)
        for name, part in pairs.items()
        for kind in ("weight", "bias")
    }
    theirs.load_state_dict(state)
    h = sets(6, 3)
    expected = theirs(h.vectors, src_key_padding_mask=~h.present)
    assert torch.allclose(own(h.vectors[h.present], h.present), expected[h.present], atol=1e-5)
    own.train().feedforward[2].p = 0.0  # dropout is on in the other places
    assert not torch.allclose(own(h.vectors[h.present], h.present), expected[h.present], atol=1e-3)


def test_a_set_of_which_nothing_is_seen_spoils_no_gradient():
    model, h = model_of(features="ER"), sets(4, 3)  # the second has neither
    z = model.encode(h, "image").vectors
    z.sum().backward()
    assert all(p.grad.isfinite().all() for p in model.encoders["image"].parameters())


def test_components_are_seen_in_context_and_in_their_places():
    model, h = model_of(), sets(4, 2, holes=False)
    z = model.encode(h, "image").vectors
    moved = h.vectors.clone()
    moved[:, 2] += 1
    assert not torch.allclose(
        z[:, 0], model.encode(h._replace(vectors=moved), "image").vectors[:, 0]
    )
    swapped = h.vectors[:, [0, 2, 1, 3, 4, 5]]
    other = model.encode(h._replace(vectors=swapped), "image").vectors
    assert not torch.allclose(z[:, 1], other[:, 2], atol=1e-4)  # the same thing in another slot


@pytest.mark.parametrize(
    ("features", "unseen"), [("GE", "R"), ("GR", "E"), ("ER", "G"), ("G", "ER")]
)
def test_a_feature_kept_out_is_not_seen_by_the_others(features, unseen):
    model, h = model_of(features=features), sets(4, 3, holes=False)
    moved = h.vectors + h.chosen(unseen)[:, None] * torch.randn(4, 1 + N + M, D)
    kept = h.chosen(features)
    z, other = (model.encode(h._replace(vectors=v), "image").vectors for v in (h.vectors, moved))
    assert torch.allclose(z[:, kept], other[:, kept], atol=1e-6)


def test_only_the_sides_that_are_trained_have_an_encoder():
    h = sets(3, 4)
    for trained, has in (("image", {"image"}), ("text", {"text"}), ("both", {"image", "text"})):
        model = model_of(trained=trained)
        assert set(model.encoders) == has
    raw = model_of(trained="image", normalised=False).encode(h, "text").vectors
    assert torch.equal(raw, h.vectors)
    unit = model_of(trained="image").encode(h, "text").vectors[h.present]
    assert torch.allclose(unit.norm(dim=-1), torch.ones(len(unit)))


def test_separate_networks_treat_wholes_apart():
    h = sets(3, 5, holes=False)
    same = h._replace(vectors=h.vectors[:, :1].expand(-1, 1 + N + M, -1))
    shared = model_of(network="fc-shared").encode(same, "image").vectors
    assert torch.allclose(shared[:, 0], shared[:, 4], atol=1e-6)
    separate = model_of(network="fc-separate").encode(same, "image").vectors
    assert not torch.allclose(separate[:, 0], separate[:, 4], atol=1e-3)
    assert torch.allclose(separate[:, 1], separate[:, 4], atol=1e-6)


@pytest.mark.parametrize("network", ["transformer", "fc-shared", "fc-separate", "none"])
def test_weights_are_saved_and_read(network, tmp_path):
    from safetensors.torch import load_file

    model, h = model_of(network=network), sets(3, 6)
    outcome = {"loss": [], "seconds": 0.0, "gradients": np.zeros((0, 0), np.float32)}
    comalign.training.save(model, outcome, tmp_path)
    again = model_of(seed=1, network=network)
    again.load_state_dict(load_file(tmp_path / "weights.safetensors"))
    for side in ("image", "text"):
        assert torch.equal(model.encode(h, side).vectors, again.encode(h, side).vectors)


# --- Eq. 3–9 -------------------------------------------------------------------------------------


@pytest.mark.parametrize("terms", ["GER", "GE", "R"])
def test_similarities_are_those_of_a_loop(terms):
    images, captions = sets(5, 6), sets(7, 7)
    found = model_of(network="none", terms=terms).similarities(images, captions)
    assert list(found) == list(terms)
    expected = slow_terms(images, captions)
    for term, (i2t, t2i, has_i, has_t) in found.items():
        for one, other in zip((i2t, t2i, has_i, has_t), expected[term]):
            assert torch.allclose(one.float(), other.float(), atol=1e-5), term


def test_without_masks_absent_components_count_as_zeros():
    images, captions = sets(4, 8), sets(4, 9)
    found = model_of(network="none", masked=False, terms="E").similarities(images, captions)["E"]
    x, y = images.vectors[2, 1 : 1 + N], captions.vectors[3, 1 : 1 + N]
    assert float(found.i2t[2, 3]) == pytest.approx(
        float((x @ y.T).max(1).values.sum() / N), abs=1e-5
    )


def test_without_masks_absent_components_are_anchors_and_candidates():
    images, captions = sets(4, 8), sets(4, 9)
    none = images._replace(present=images.present & images.chosen("GE"))  # no relation at all
    for masked in (True, False):
        model = model_of(network="none", masked=masked, terms="R")
        found = model.similarities(none, captions)["R"]
        assert found.images.tolist() == [not masked] * 4
        assert found.captions.all() or masked
        assert comalign.loss(model, none, captions).item() > 0 or masked


def slow_contrast(s, anchors, candidates):
    losses = []
    for i in range(len(s)):
        if anchors[i] and candidates[i]:
            total = sum(math.exp(float(s[i, j])) for j in range(len(s)) if candidates[j])
            losses.append(-math.log(math.exp(float(s[i, i])) / total))
    return sum(losses) / len(losses) if losses else 0.0


def test_contrast_by_hand_and_by_a_loop():
    s, everyone = torch.tensor([[0.0, math.log(3)], [0.0, 0.0]]), torch.ones(2, dtype=torch.bool)
    by_hand = (math.log(4) + math.log(2)) / 2  # −log 1/(1+3), −log 1/2
    assert float(contrast(s, everyone, everyone)) == pytest.approx(by_hand)
    s = torch.randn(6, 6, generator=torch.Generator().manual_seed(0))
    anchors = torch.tensor([1, 1, 0, 1, 1, 1]).bool()
    candidates = torch.tensor([1, 0, 1, 1, 1, 0]).bool()
    assert float(contrast(s, anchors, candidates)) == pytest.approx(
        slow_contrast(s, anchors, candidates), rel=1e-5
    )
    assert slow_contrast(s, anchors, candidates) != pytest.approx(
        slow_contrast(s, candidates, anchors), rel=1e-3
    )


def test_no_anchor_gives_nothing_and_no_gradient():
    s = torch.randn(3, 3, requires_grad=True)
    value = contrast(s, torch.zeros(3).bool(), torch.ones(3).bool())
    value.backward()
    assert value == 0 and (s.grad == 0).all()


@pytest.mark.parametrize(
    ("terms", "coefficient"), [("GER", 1.0), ("GER", 3.0), ("ER", 3.0), ("G", 2.0)]
)
def test_loss_is_that_of_a_loop(terms, coefficient):
    images, captions = sets(6, 10), sets(6, 11)
    model = model_of(network="none", terms=terms, coefficient=coefficient, normalised=False)
    with torch.no_grad():
        for i, term in enumerate(terms):
            model.scales[term].fill_(math.log(0.5 + i))
    expected = 0.0
    for i, term in enumerate(terms):
        i2t, t2i, has_i, has_t = slow_terms(images, captions)[term]
        scale = 0.5 + i
        both = slow_contrast(scale * i2t, has_i, has_t) + slow_contrast(scale * t2i.T, has_t, has_i)
        expected += (coefficient if term == "G" else 1.0) * both / 2
    assert loss(model, images, captions).item() == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize(("terms", "coefficient"), [("GER", 1.0), ("GER", 3.0), ("G", 2.0)])
def test_the_trivial_loss_is_that_of_equal_similarities(terms, coefficient):
    """What lacks a component is in no denominator; where all have all it is 3 ln B."""
    images, captions = sets(6, 10), sets(6, 11)
    model = model_of(network="none", terms=terms, coefficient=coefficient)
    equal, expected = torch.zeros(6, 6), 0.0
    for term in terms:
        _, _, has_i, has_t = slow_terms(images, captions)[term]
        both = slow_contrast(equal, has_i, has_t) + slow_contrast(equal, has_t, has_i)
        expected += (coefficient if term == "G" else 1.0) * both / 2
    found = comalign.trivial_loss(model, images, captions).item()
    assert found == pytest.approx(expected, rel=1e-5)
    whole = sets(6, 10, holes=False), sets(6, 11, holes=False)
    level = {"GER": 2 + coefficient, "G": coefficient}[terms] * math.log(6)
    assert comalign.trivial_loss(model, *whole).item() == pytest.approx(level, rel=1e-5)


def test_scales_are_learnt_bounded_or_absent():
    model = model_of()
    assert model.scale("E").item() == pytest.approx(1 / 0.07)
    with torch.no_grad():
        model.scales["E"].fill_(9.0)
    assert model.scale("E").item() == 100
    literal = model_of(scale="none")
    assert literal.scale("G") == 1.0 and not any(
        "scale" in n for n, _ in literal.named_parameters()
    )


# --- Eq. 10, 11 ----------------------------------------------------------------------------------


@pytest.mark.parametrize("terms", ["GER", "GE", "GR", "G", "ER"])
def test_inference_is_that_of_a_loop(terms):
    images, captions = sets(4, 12), sets(5, 13)
    found = model_of(network="none", terms=terms).similarities(images, captions)
    base = torch.randn(4, 5, generator=torch.Generator().manual_seed(1))
    means = {
        f"{t} {way}": 0.1 * k
        for k, (t, way) in enumerate((t, w) for t in "GER" for w in ("i2t", "t2i"))
    }
    divisors = {"base": 4.0, "G": 2.0, "fine i2t": 2.5, "fine t2i": 3.5}
    a1, a2, b1 = 0.7, 0.2, 1.3
    i2t, t2i = weighted(base, found, Frozen((a1, a2, b1), means, divisors))
    slow = slow_terms(images, captions)
    for i in range(4):
        for j in range(5):

            def value(term, way):
                divided = divisors["G" if term == "G" else f"fine {way}"]
                if not (slow[term][2][i] and slow[term][3][j]):
                    return means[f"{term} {way}"] / divided
                return float(slow[term][way == "t2i"][i, j]) / divided

            here = float(base[i, j]) / 4
            first = here + a1 * sum(value(t, "i2t") for t in terms)
            first += a2 * sum(value(t, "t2i") for t in terms if t != "G")
            second = here + b1 * sum(value(t, "t2i") for t in terms)
            assert float(i2t[i, j]) == pytest.approx(first, abs=1e-5)
            assert float(t2i[i, j]) == pytest.approx(second, abs=1e-5)


def planted(count=12, each=2, seed=0):
    """Images and captions in which an image's captions resemble it in entities alone."""
    draw = torch.Generator().manual_seed(seed)
    images = sets(count, seed, holes=False)
    captions = images.vectors.repeat_interleave(each, 0)
    captions = captions + 0.3 * torch.randn(captions.shape, generator=draw)
    captions[:, 0] = torch.randn(count * each, D, generator=draw)
    captions[:, 1 + N :] = torch.randn(count * each, M, D, generator=draw)
    unit = torch.nn.functional.normalize
    present = torch.ones(count * each, 1 + N + M, dtype=torch.bool)
    present[0, 1:] = False  # a caption without components
    return (
        images._replace(vectors=unit(images.vectors, dim=-1)),
        Components(unit(captions, dim=-1), present, images.slots, N),
    )


def test_weights_are_those_with_the_best_recalls_on_validation():
    images, captions = planted()
    model = ComAlign(Config(network="none", terms="E"), D, 1 + N + M)
    base, found = (
        images.vectors[:, 0] @ captions.vectors[:, 0].T,
        model.similarities(images, captions),
    )
    frozen = freeze(base, found, 2)

    def score(weights, way):
        both = weighted(base, found, frozen._replace(weights=weights))
        named = inference.recalls(*both, 2, "x")
        return sum(v for k, v in named.items() if way in k)

    pairs = [(a, b) for a in inference.WEIGHTS for b in inference.WEIGHTS]
    best = max(score((a, b, 0.0), "i2t") for a, b in pairs)
    assert score(frozen.weights, "i2t") == best > score((0.0, 0.0, 0.0), "i2t")
    assert frozen.weights[:2] == next(p for p in pairs if score((*p, 0.0), "i2t") == best)
    assert score(frozen.weights, "t2i") == max(
        score((0.0, 0.0, b), "t2i") for b in inference.WEIGHTS
    )
    own = found["E"].i2t[torch.arange(24) // 2, torch.arange(24)]
    assert frozen.means["E i2t"] == pytest.approx(float(own[1:].mean()))  # not of the one without
    assert set(frozen.divisors.values()) == {1.0}
    fixed = freeze(base, found, 2, weights=(0.03, 0.01, 0.1), divided=True)
    assert fixed.weights == (0.03, 0.01, 0.1)


def test_divisors_are_those_of_the_released_code():
    """E + R together; of captions over the images from text to image, otherwise of images."""
    images, captions = sets(4, 12), sets(8, 13)
    found = model_of(network="none", masked=False).similarities(images, captions)
    base = torch.randn(4, 8, generator=torch.Generator().manual_seed(1))
    divisors = freeze(base, found, 2, weights=(1.0, 1.0, 1.0), divided=True).divisors

    def largest(matrix, of_captions):
        rows = range(8) if of_captions else range(4)
        best = [max(float(v) for v in (matrix[:, i] if of_captions else matrix[i])) for i in rows]
        return pytest.approx(abs(sum(best) / len(best)), rel=1e-5)

    assert divisors["base"] == largest(base, False)
    assert divisors["G"] == largest(found["G"].i2t, False)
    assert divisors["fine i2t"] == largest(found["E"].i2t + found["R"].i2t, False)
    assert divisors["fine t2i"] == largest(found["E"].t2i + found["R"].t2i, True)


def test_a_part_without_any_similarity_is_divided_by_one():
    assert inference.divisor("fine t2i", torch.zeros(3, 5)) == 1.0
    assert inference.divisor("G", torch.full((3, 5), -0.5)) == 0.5


def test_without_any_relation_to_divide_by_inference_goes_on():
    images, captions = planted()
    nobody = captions.present & ~captions.chosen("R")
    model = ComAlign(
        Config(network="none", divided=True, masked=False, weights=(1.0, 1.0, 1.0)), D, 6
    )
    zeroed = captions._replace(present=nobody, vectors=captions.vectors * nobody[..., None])
    base, found = (
        images.vectors[:, 0] @ captions.vectors[:, 0].T,
        model.similarities(images, zeroed),
    )
    frozen = freeze(base, found, 2, model.config.weights, divided=True)
    assert all(each.isfinite().all() for each in weighted(base, found, frozen))


def test_recalls_take_each_direction_from_its_own_similarities():
    right, wrong = torch.eye(4).repeat_interleave(2, 1), 1 - torch.eye(4).repeat_interleave(2, 1)
    found = inference.recalls(right, wrong, 2, "dev")
    assert found["dev i2t R@1"] == 100 and found["dev t2i R@1"] == 0
    assert found["dev RSUM"] == sum(v for k, v in found.items() if "R@" in k)


def test_captions_of_a_split_are_numbered_in_the_data_set():
    rows = np.array([7, 3])
    assert comalign.numbers(rows, np.array([0, 4, 5, 9]), 5).tolist() == [35, 39, 15, 19]


# --- Training ------------------------------------------------------------------------------------


def stored(seed: int, images: int = 60, width: int = D, turned=None, each: int = 5):
    """A data set and its components: captions resemble their images once both are turned alike."""
    draw = np.random.default_rng(seed)
    slots = 1 + N + M
    thing = draw.standard_normal((images, slots, width)).astype(np.float32)
    phrases = thing.repeat(each, 0) + 0.5 * draw.standard_normal((images * each, slots, width))
    turned = np.eye(width) if turned is None else turned
    unit = lambda x: x / np.linalg.norm(x, axis=-1, keepdims=True)  # noqa: E731
    captions = np.arange(images * each * slots, dtype=np.int32).reshape(-1, slots)
    captions[::3, 1 + N :] = -1  # every third caption says no relation
    boxes = np.zeros((images, slots, 4), np.float32)
    boxes[:, :, 2:] = 1
    boxes[::4, 2:] = 0  # every fourth image has one entity alone
    arrays = {
        "images": unit(thing @ turned).astype(np.float16),
        "boxes": boxes,
        "captions": captions,
        "phrases": unit(phrases).reshape(-1, width).astype(np.float16),
    }
    rows = np.split(np.arange(images), [images // 2, 7 * images // 10])
    dataset = SimpleNamespace(
        captions_per_image=each, splits=dict(zip(("train", "dev", "test"), rows))
    )
    metrics = {"width": width, "entities": N, "relations": M, "train": 0}
    return dataset, SimpleNamespace(metrics=metrics, array=arrays.__getitem__)


def test_heads_learn_to_turn_pictures_towards_phrases_and_carry_it_over(tmp_path):
    turned = np.linalg.qr(np.random.default_rng(0).standard_normal((D, D)))[0]
    source, target = stored(1, turned=turned), stored(2, turned=turned)
    config = Config(heads=2, steps=300, batch=16, learning_rate=3e-3, dropout=0.0)
    found = comalign.compute(config, [*source, *target], 0, tmp_path, "cpu")
    plain = replace(config, network="none", terms="G", weights=(0.0, 0.0, 0.0))
    base = comalign.compute(plain, [*source, *target], 0, tmp_path, "cpu")
    assert found["test RSUM"] > base["test RSUM"] + 30
    assert found["steps"] == 300 and base["steps"] == 0
    assert np.load(tmp_path / "ranks_t2i.npy").shape == (18 * 5,)


def test_looks_try_equal_weights_alone(monkeypatch):
    """As many scores as there are weights for each way."""
    tried, (base, found) = [], comalign.compare(model_of(), *stored(1), "dev")
    for name in ("image_to_text", "text_to_image"):
        real = getattr(inference, name)
        seen = lambda sums, *w, real=real: tried.append(w) or real(sums, *w)  # noqa: E731
        monkeypatch.setattr(inference, name, seen)
    freeze(base, found, 5, one=True)
    weights = inference.WEIGHTS
    assert tried == [(w, w) for w in weights] + [(w,) for w in weights]


def test_terms_are_added_once_for_all_weights(monkeypatch):
    base, found = comalign.compare(model_of(), *stored(1), "dev")
    calls, real = [], inference.parts_of
    monkeypatch.setattr(inference, "parts_of", lambda *of: calls.append(1) or real(*of))
    freeze(base, found, 5)
    assert len(calls) == 1


def test_the_learning_rate_rises_and_then_falls_in_thirds(tmp_path):
    config = Config(heads=2, steps=30, batch=8, warmup=0.2)
    comalign.compute(config, [*stored(1), *stored(2)], TUNING_SEED, tmp_path, "cpu")
    rates = np.load(tmp_path / "rate.npy") / config.learning_rate
    expected = [*(np.arange(1, 7) / 6), *[1] * 4, *[0.3] * 10, *[0.09] * 10]
    assert rates == pytest.approx(expected)
    assert comalign.factor(replace(config, warmup=0.0), 0) == 1


def test_looks_at_dev_are_at_what_selection_goes_by(tmp_path, monkeypatch):
    """Of the source, with the weights of inference: all its twelve images of dev, or fewer."""
    source, target = stored(1), stored(2)
    config = Config(heads=2, steps=5, batch=8, weights=(3.0, 3.0, 3.0))
    whole = comalign.compute(config, [*source, *target], TUNING_SEED, tmp_path, "cpu")
    looks = np.load(tmp_path / "dev.npy")
    assert looks[:, 0].tolist() == [0, 1, 2, 3, 4, 5] and whole["dev seconds"] > 0
    of_step = dict(looks.tolist())
    assert of_step[whole["best step"]] == whole["dev RSUM"] == max(of_step.values())
    loss = np.load(tmp_path / "loss.npy")
    monkeypatch.setattr(comalign, "looked_at", lambda images: images // 3)
    fewer = comalign.compute(config, [*source, *target], TUNING_SEED, tmp_path, "cpu")
    assert np.array_equal(np.load(tmp_path / "loss.npy"), loss)
    assert fewer["checksum"] == whole["checksum"]
    assert np.load(tmp_path / "dev.npy")[:, 1].tolist() != [*of_step.values()]


def test_an_arm_is_measured_as_its_best_look_at_dev_saw_it(tmp_path, monkeypatch):
    """Here the look before the first step, so that nothing is learnt."""
    source, target, config = stored(1), stored(2), Config(heads=2, steps=5, batch=8)
    torch.manual_seed(TUNING_SEED)
    before = comalign.build(config, source[1])
    monkeypatch.setattr(training, "best_look", lambda dev: 0)
    found = comalign.compute(config, [*source, *target], TUNING_SEED, tmp_path, "cpu")
    assert found["best step"] == 0 and found["steps"] == 5
    after = safetensors.torch.load_file(tmp_path / "weights.safetensors")
    assert all(torch.equal(after[name], x) for name, x in before.state_dict().items())
    assert found["checksum"] != training.checksum(before)  # of what training came to
    assert found["dev RSUM"] == np.load(tmp_path / "dev.npy")[0, 1]


def test_the_same_seed_trains_the_same_and_a_tuning_seed_sees_no_test(tmp_path):
    source, target = stored(1), stored(2)
    config = Config(heads=2, steps=4, batch=8)
    first, again, other = (
        comalign.compute(config, [*source, *target], seed, tmp_path, "cpu") for seed in (0, 0, 1)
    )
    assert first["checksum"] == again["checksum"] != other["checksum"]
    assert first["test RSUM"] == again["test RSUM"]
    tuned = comalign.compute(config, [*source, *target], TUNING_SEED, tmp_path, "cpu")
    assert "dev RSUM" in tuned and not any(name.startswith("test") for name in tuned)


def test_weights_are_chosen_where_the_config_says():
    source, target = stored(1), stored(2)
    seen = []
    model = ComAlign(Config(network="none", validation="paper"), D, 1 + N + M)

    def compare(model, dataset, run, split, most=0):
        seen.append((dataset is target[0], split, most))
        return comalign_compare(model, dataset, run, split, most)

    comalign_compare, comalign.compare = comalign.compare, compare
    try:
        on_dev = compare(model, *source, "dev")
        frozen = comalign.validate(model, on_dev, 5, *target)
        model.config = replace(model.config, validation="strict")
        assert comalign.validate(model, on_dev, 5, *target) == freeze(*on_dev, 5)
    finally:
        comalign.compare = comalign_compare
    assert seen == [(False, "dev", 0), (True, "train", 12)]
    assert frozen != freeze(*on_dev, 5)


def test_components_must_come_from_one_base_model(tmp_path):
    with pytest.raises(
        ValueError, match="source are 8 wide, those of target 12: .* one base model"
    ):
        pair = [*stored(1, width=8), *stored(2, width=12)]
        pair[0].name, pair[2].name = "source", "target"
        comalign.compute(Config(heads=2), pair, 0, tmp_path, "cpu")
    with pytest.raises(ValueError, match="width 8: expected a multiple of 3"):
        comalign.compute(Config(heads=3), [*stored(1, width=8)] * 2, 0, tmp_path, "cpu")


def test_captions_are_counted_as_each_data_set_has_them(tmp_path):
    """Three captions an image in the target, five in the source."""
    source, target = stored(1), stored(2, each=3)
    plain = Config(network="none", heads=2)
    for validation in ("strict", "paper"):
        config = replace(plain, validation=validation)
        found = comalign.compute(config, [*source, *target], 0, tmp_path, "cpu")
        assert np.load(tmp_path / "ranks_t2i.npy").shape == (18 * 3,)
        shares = found["test i2t R@1"], found["test t2i R@1"]
        assert shares[0] > 50 and shares[1] > 50  # captions resemble their own images


def test_a_laptop_makes_the_primary_contrast_and_its_controls_alone():
    from alignbook.papers.comalign.catalogue import EXHIBITS

    made = {name: each.names("world", profile="laptop") for name, each in EXHIBITS.items()}
    heads = [
        f"{row} → {target}" for row in ("clip", "clip+comalign") for target in ("coco", "f30k")
    ]
    assert set(made["comalign-TI"]) == {*heads, "clip+fgm → coco", "clip+comalign-long → coco"}
    assert made["comalign-TII"] == ("clip", "clip+comalign")
    assert made["comalign-F4"] == made["comalign-F5"] == ("base", "comalign")
    assert made["comalign-F6"] == ("comalign",) and not made["comalign-F7"]
    table = EXHIBITS["comalign-TI"]
    smoke = table.names("world", profile="smoke")
    of_photographs = {"clip+comalign-long → f30k", "clip-all → f30k", "clip-all → coco"}
    assert {each.name for each in table.arms} - {*smoke} == of_photographs
    assert of_photographs < {*table.names("photographs", profile="laptop")}


def test_figures_and_the_longer_control_share_the_runs_of_table_1():
    from alignbook.papers.comalign import arms
    from alignbook.papers.comalign.hours import place
    from alignbook.workbook import profiles

    profile = profiles.get("laptop")
    candidates, _ = arms.arms("comalign-TI", profile)["clip+comalign → coco"]
    longer, changes = arms.arms("comalign-TI", profile)["clip+comalign-long → coco"]
    assert longer == candidates and changes == {"steps": 4 * profile.comalign_steps}
    assert arms.arms("comalign-TI", profile)["clip+comalign-long → f30k"] == (longer, changes)
    for exhibit in ("comalign-F4", "comalign-F6"):
        assert arms.arms(exhibit, profile)["comalign"] == (candidates, {})
        assert place(exhibit, "comalign") == place("comalign-TI", "clip+comalign → coco")
    assert profile.comalign_steps >= 1000 and profile.comalign_batch >= 64
    assert min(arms.RATES) == 1 and max(arms.RATES) <= 4


@pytest.mark.parametrize("base, width", [("clip", 512), ("clip-large", 768)])
def test_two_steps_of_the_paper_profile(base, width, tmp_path):
    """Its own arms, at the widths of ViT-B/32 and ViT-L/14."""
    from alignbook.papers.comalign import arms
    from alignbook.workbook import profiles

    profile = profiles.get("paper", "coco", {"comalign_steps": "2"})
    [config, *_], changes = arms.arms("comalign-TI", profile)[f"{base}+comalign → coco"]
    assert (config.batch, config.steps, config.layers, changes) == (1600, 2, 2, {})
    source = stored(1, images=24, width=width)
    found = comalign.compute(config, [*source, *source], 0, tmp_path, "cpu")
    assert found["steps"] == 2 and found["parameters"] > 2 * 2 * 6 * width**2
    assert np.isfinite(np.load(tmp_path / "loss.npy")).all()


@pytest.mark.parametrize("width", [512, 768])  # ViT-B/32's and ViT-L/14's
@pytest.mark.parametrize("preset", ["paper", "official"])
def test_two_steps_at_full_width(preset, width, tmp_path):
    source = stored(1, images=24, width=width)
    config = replace(comalign.PRESETS[preset], steps=2, batch=12, weights=(0.03, 0.01, 0.1))
    found = comalign.compute(config, [*source, *source], 0, tmp_path, "cpu")
    assert found["steps"] == 2 and found["parameters"] > 2 * 6 * width**2
    assert np.isfinite(np.load(tmp_path / "loss.npy")).all()


def test_presets_differ_in_what_is_said_and_in_nothing_else():
    one, other = (vars(comalign.PRESETS[name]) for name in ("paper", "official"))
    assert {name for name in one if one[name] != other[name]} == set(comalign.DIFFERENCES)
