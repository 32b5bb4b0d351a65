"""CoV-Align's steps against slow loops written from their formulas, and by hand."""

import itertools
import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from alignbook.core import retrieval, training
from alignbook.core.protocol import TUNING_SEED
from alignbook.papers.covalign import model as covalign
from alignbook.papers.covalign import regions
from alignbook.papers.covalign.model import Config, CoVAlign
from alignbook.papers.covalign.regions import Projection, Queries, Regions
from torch.nn import functional as F

GRID, D, M, K = (3, 4), 8, 2, 3  # rows and columns of patches, width, heads, points
P = GRID[0] * GRID[1]


def small(**changes) -> Config:
    return Config(**{**dict(dim=D, heads=M, points=K, queries=5, layers=2), **changes})


def draw(*shape, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def model_of(seed: int = 0, **changes) -> CoVAlign:
    """A model whose every weight is drawn, those that begin at zero too."""
    torch.manual_seed(seed)
    model = CoVAlign(small(**changes), 6, 7, GRID)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.3 * torch.randn_like(parameter))
        model.log_temperature.fill_(math.log(0.5))
    return model


def close(one, other, atol=1e-5):
    return torch.allclose(torch.as_tensor(one).float(), torch.as_tensor(other).float(), atol=atol)


# --- Config --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "changes, message",
    [
        (dict(lambda_v=-1.0), "lambda_v must be 0 or more, not -1.0"),
        (dict(lambda_g=-0.1), "lambda_g must be 0 or more"),
        (dict(lambda_c=math.nan), "lambda_c must be 0 or more, not nan"),
        (dict(threshold=1.5), "threshold must be within 0..1, not 1.5"),
        (dict(temperature=0.0), "temperature must be positive"),
        (dict(visual_temperature=-1.0), "visual_temperature must be positive"),
        (dict(global_temperature=0.0), "global_temperature must be positive"),
        (dict(learning_rate=math.inf), "learning_rate must be positive"),
        (dict(queries=0), "queries must be at least 1, not 0"),
        (dict(context=2), "context must be at least 3"),
        (dict(clip=-1.0), "clip must be 0 or more"),
        (dict(dim=12, heads=8), "dim must be even and a multiple of 8, the heads, not 12"),
        (dict(dim=3, heads=3), "dim must be even"),
        (
            dict(matching="region"),
            "unknown matching 'region'; known: regions, global, patches, queries",
        ),
        (dict(sampling="grid"), "unknown sampling"),
        (dict(projection="same"), "unknown projection"),
        (dict(logits="l2"), "unknown logits"),
        (dict(mask="soft"), "unknown mask"),
        (dict(coordinates="pixels"), "unknown coordinates"),
        (dict(optimizer="adamw"), "unknown optimizer"),
        (dict(tokens="cached"), "unknown tokens 'cached'; known: frozen, end-to-end"),
    ],
)
def test_a_setting_that_makes_no_sense_is_refused(changes, message):
    with pytest.raises(ValueError, match=message.replace("(", r"\(")):
        Config(**changes)


def test_zero_is_no_negative_weight():
    assert Config(lambda_g=0.0, lambda_v=0.0, lambda_c=0.0, threshold=0.0, clip=0.0).lambda_c == 0
    assert Config(threshold=1.0).threshold == 1


def test_defaults_are_those_of_the_supplement_and_the_notes():
    c = covalign.PRESETS["paper"]
    assert (c.dim, c.queries, c.threshold, c.layers, c.heads, c.points) == (512, 8, 0.7, 3, 8, 4)
    assert (c.lambda_g, c.lambda_v, c.lambda_c) == (1, 1, 5)
    assert (c.temperature, c.visual_temperature, c.global_temperature) == (0.3, 0.1, 0.07)
    assert (c.optimizer, c.learning_rate, c.weight_decay, c.batch) == ("adam", 1e-4, 1e-4, 128)
    assert (c.steps, c.backbone, c.tokens, c.clip) == (33_960, 0.1, "end-to-end", 0)
    assert (c.matching, c.projection, c.sampling) == ("regions", "shared", "deformable")
    assert (c.mask, c.placed) == ("logits", False)  # a ViT's patches have their places


def test_more_queries_than_patches_are_refused():
    for matching in ("regions", "queries"):
        with pytest.raises(ValueError, match="13 queries for 12 patches, 3 × 4"):
            model_of(matching=matching, queries=P + 1)
    model_of(queries=P), model_of(matching="global", queries=P + 1)  # the last has none


# --- 1. Sampling ---------------------------------------------------------------------------------


def test_bilinear_by_hand():
    across, down = regions.bilinear(torch.tensor([[0.125, 1.0], [0.375, 0.0]]), (1, 4))
    assert close(across, [[1, 0, 0, 0], [0, 1, 0, 0]])  # centres of the first and second column
    assert close(down, [[0.5], [0.5]])  # on the edge, half of it is beyond the picture
    across, _ = regions.bilinear(torch.tensor([0.2, 0.5]), (1, 4))  # 0.3 patches past a centre
    assert close(across, [0.7, 0.3, 0, 0])
    assert sum(regions.bilinear(torch.tensor([-0.3, 1.4]), GRID)[0]) == 0


def test_bilinear_reads_as_pytorchs_grid_sample():
    maps = draw(1, 1, *GRID)
    places = torch.rand(50, 2, generator=torch.Generator().manual_seed(1)) * 1.6 - 0.3
    across, down = regions.bilinear(places, GRID)
    found = torch.einsum("ny,nx,yx->n", down, across, maps[0, 0])
    expected = F.grid_sample(maps, 2 * places[None, None] - 1, align_corners=False)[0, 0, 0]
    assert close(found, expected)


def slow_sample(layer, z, patches, centres):
    """Σ_m W_m Σ_k A_mk F(p_q + Δp_mk) by loops; F is read by grid_sample."""
    out = torch.zeros_like(z)
    maps = patches.mT.unflatten(2, GRID)
    for b, q in itertools.product(range(len(z)), range(z.shape[1])):
        offsets = layer.offsets(z[b, q]).view(M, K, 2)
        shares = layer.shares(z[b, q]).view(M, K)
        gathered = []
        for m in range(M):
            share = shares[m].exp() / shares[m].exp().sum()
            head = 0
            for k in range(K):
                x = centres[q, 0] + offsets[m, k, 0] / GRID[1]
                y = centres[q, 1] + offsets[m, k, 1] / GRID[0]
                at = torch.stack((2 * x - 1, 2 * y - 1)).view(1, 1, 1, 2)
                vector = F.grid_sample(maps[b : b + 1], at, align_corners=False).flatten()
                head = head + share[k] * vector
            rows = slice(m * D // M, (m + 1) * D // M)
            gathered.append(layer.values.weight[rows] @ head)
        out[b, q] = layer.outward(torch.cat(gathered))
    return out


def test_deformable_sampling_is_that_of_a_loop():
    layer = model_of().queries.layers[0]
    z, patches, centres = draw(2, 5, D), draw(2, P, D, seed=1), torch.rand(5, 2)
    assert close(layer(z, patches, centres), slow_sample(layer, z, patches, centres))


def test_points_begin_as_a_star_around_the_centre():
    torch.manual_seed(0)
    layer = regions.DeformableSampling(small(heads=4, points=2), (8, 8))
    weights = layer.weights(draw(1, 1, D), torch.tensor([[9 / 16, 9 / 16]]))[0, :, 0].view(4, 8, 8)
    for head, (dy, dx) in enumerate(((0, 1), (1, 0), (0, -1), (-1, 0))):
        expected = torch.zeros(8, 8)
        expected[4 + dy, 4 + dx] = expected[4 + 2 * dy, 4 + 2 * dx] = 0.5
        assert close(weights[head], expected)


def test_where_points_lie_has_a_gradient():
    model = model_of()
    model.image(draw(2, P, 6)).vectors.sum().backward()
    layer = model.queries.layers[0]
    for parameter in (
        layer.offsets.weight,
        layer.shares.weight,
        model.queries.centres,
        model.queries.z,
    ):
        assert parameter.grad.abs().sum() > 0


def test_cross_attention_is_pytorchs():
    layer = model_of(sampling="cross-attention").queries.layers[0]
    z, patches = draw(2, 5, D), draw(2, P, D, seed=1)
    theirs = torch.nn.MultiheadAttention(D, M, batch_first=True)
    inward = (layer.asked, layer.keys, layer.values)
    theirs.load_state_dict(
        {
            "in_proj_weight": torch.cat([each.weight for each in inward]),
            "in_proj_bias": torch.cat([each.bias for each in inward]),
            "out_proj.weight": layer.outward.weight,
            "out_proj.bias": layer.outward.bias,
        }
    )
    assert close(layer(z, patches, None), theirs(z, patches, patches)[0])


def test_queries_gather_layer_by_layer():
    for sampling in covalign.KNOWN["sampling"]:
        queries, patches = model_of(sampling=sampling).queries, draw(2, P, D)
        z = queries.z.expand(2, -1, -1)
        centres = None if queries.centres is None else 1 / (1 + (-queries.centres).exp())
        for layer, norm in zip(queries.layers, queries.norms):
            z = norm(z + layer(z, patches, centres))
        assert len(queries.layers) == 2 and close(queries(patches), z)


def test_who_samples_where_and_who_attends():
    for changes, kind in (
        (dict(), regions.DeformableSampling),
        (dict(sampling="cross-attention"), regions.CrossAttention),
        (dict(matching="queries"), regions.CrossAttention),
    ):
        queries = Queries(small(**changes), GRID)
        assert all(type(layer) is kind for layer in queries.layers)
        assert (queries.centres is None) == (kind is regions.CrossAttention)
    inside = Queries(small(queries=500), GRID).centres.sigmoid()
    assert 0.04 < inside.min() < 0.1 and 0.9 < inside.max() < 0.96


# --- 2. Attention (Eq. 2) ------------------------------------------------------------------------


def projection_of(**changes) -> Projection:
    torch.manual_seed(2)
    return Projection(small(**changes))


def slow_logits(w_q, w_k, z, patches, temperature):
    """cos(W z, W f) / τ, or the product alone without τ."""
    out = torch.zeros(*z.shape[:2], patches.shape[1])
    for b, q, p in itertools.product(*map(range, out.shape)):
        one, other = w_q @ z[b, q], w_k @ patches[b, p]
        out[b, q, p] = one @ other
        if temperature:
            out[b, q, p] /= one.norm() * other.norm() * temperature
    return out


@pytest.mark.parametrize("projection", covalign.KNOWN["projection"])
@pytest.mark.parametrize("logits", covalign.KNOWN["logits"])
def test_equation_2_is_that_of_a_loop(projection, logits):
    found = projection_of(projection=projection, logits=logits, temperature=0.3)
    if projection == "separate-same":
        with torch.no_grad():
            found.of_patches.weight.mul_(draw(D, D))  # as trained
    z, patches = draw(2, 5, D), draw(2, P, D, seed=1)
    w_q = found.of_queries.weight
    w_k = w_q if projection == "shared" else found.of_patches.weight
    temperature = 0.3 if logits == "cosine" else 0
    assert close(found(z, patches), slow_logits(w_q, w_k, z, patches, temperature))


def test_parameters_of_the_projections():
    count = {
        name: sum(p.numel() for p in projection_of(projection=name).parameters())
        for name in covalign.KNOWN["projection"]
    }
    assert count == {
        "shared": D * D,
        "separate": 2 * D * D,
        "separate-half": D * D,
        "separate-same": 2 * D * D,
    }
    same, apart = projection_of(projection="separate-same"), projection_of(projection="separate")
    assert torch.equal(same.of_queries.weight, same.of_patches.weight)
    assert same.of_queries.weight is not same.of_patches.weight
    assert not close(apart.of_queries.weight, apart.of_patches.weight)


def test_a_shared_projection_is_symmetric_and_without_negative_eigenvalues():
    shared = projection_of(logits="dot")
    a, b = draw(1, 6, D), draw(1, 6, D, seed=1)
    assert (
        close(shared(a, b), shared(b, a).mT) and (shared(a, a).diagonal(dim1=1, dim2=2) >= 0).all()
    )
    matrix = shared(torch.eye(D)[None], torch.eye(D)[None])[0]  # W Wᵀ
    assert torch.linalg.eigvalsh(matrix).min() > -1e-5
    apart = projection_of(logits="dot", projection="separate")
    assert not close(apart(a, b), apart(b, a).mT)
    cosine = projection_of(temperature=0.1)(a, a)[0]
    assert close(cosine.diagonal(), 10.0, atol=1e-4) and cosine.max() <= 10 + 1e-4


# --- 3. Mask -------------------------------------------------------------------------------------


def test_mask_by_hand_and_by_a_loop():
    values = torch.tensor([[0.0, 0.7, 0.69, 1.0], [0.1, 0.1, 0.1, 0.1]])
    assert covalign.kept(values, 0.7).tolist() == [[False, True, False, True], [True] * 4]
    attention = draw(3, 5, P).softmax(-1)
    for threshold in (0.3, 0.7):
        found = covalign.kept(attention, threshold)
        for b, q in itertools.product(range(3), range(5)):
            row = attention[b, q].tolist()
            low, high = min(row), max(row)
            expected = [(v - low) / (high - low) >= threshold for v in row]
            assert found[b, q].tolist() == expected


def test_a_mask_keeps_all_at_zero_and_the_largest_at_one():
    attention = draw(4, 5, P).softmax(-1)
    assert covalign.kept(attention, 0.0).all()
    strict = covalign.kept(attention, 1.0)
    assert (strict.sum(-1) == 1).all() and torch.equal(
        strict.float().argmax(-1), attention.argmax(-1)
    )


def test_no_gradient_passes_the_mask():
    values = draw(1, 2, P).requires_grad_()
    assert not covalign.kept(values, 0.5).requires_grad
    model, tokens = model_of(), draw(2, P, 6)
    regions = model.image(tokens)
    regions.vectors.square().mul(draw(2, 5, D)).sum().backward()
    found = model.projection.of_queries.weight.grad.clone()
    model.zero_grad()
    patches = model.patches(tokens)  # the same with the mask as a constant
    attention = model.projection(model.queries(patches), patches).softmax(-1)
    weights = attention * regions.kept / (attention * regions.kept).sum(-1, keepdim=True)
    vectors = F.normalize(model.outward(model.values(weights @ patches)), dim=-1)
    vectors.square().mul(draw(2, 5, D)).sum().backward()
    assert found.abs().sum() > 0 and close(model.projection.of_queries.weight.grad, found)


def test_the_mask_is_of_attention_or_of_logits():
    for mask in covalign.KNOWN["mask"]:
        model, tokens = model_of(mask=mask, temperature=0.3), draw(2, P, 6)
        patches = model.patches(tokens)
        logits = model.projection(model.queries(patches), patches)
        expected = covalign.kept(logits if mask == "logits" else logits.softmax(-1), 0.7)
        assert torch.equal(model.image(tokens).kept, expected)
    assert not torch.equal(covalign.kept(logits, 0.7), covalign.kept(logits.softmax(-1), 0.7))


# --- 4. Regions ----------------------------------------------------------------------------------


def test_pooling_is_that_of_a_loop():
    attention, values = draw(2, 5, P).softmax(-1), draw(2, P, D, seed=1)
    mask = covalign.kept(attention, 0.4)
    found = covalign.pooled(attention, mask, values)
    for b, q in itertools.product(range(2), range(5)):
        chosen = [p for p in range(P) if mask[b, q, p]]
        total = sum(float(attention[b, q, p]) for p in chosen)
        expected = sum(float(attention[b, q, p]) * values[b, p] for p in chosen) / total
        assert close(found[b, q], expected)


def test_regions_are_made_as_the_steps_say():
    model, tokens = model_of(threshold=0.4), draw(2, P, 6)
    patches = tokens @ model.patches.weight.T + model.patches.bias
    logits = model.projection(model.queries(patches), patches)
    attention = logits.exp() / logits.exp().sum(-1, keepdim=True)
    mask = covalign.kept(logits, 0.4)
    of_values = patches @ model.values.weight.T  # V before pooling: the same, as it is linear
    vectors = model.outward(covalign.pooled(attention, mask, of_values))
    found = model.image(tokens)
    assert close(found.vectors, vectors / vectors.norm(dim=-1, keepdim=True))
    assert close(found.attention, attention) and torch.equal(found.kept, mask)
    assert close(found.attention.sum(-1), torch.ones(2, 5)) and not mask.all()


def test_baselines_match_patches_wholes_and_queries():
    tokens = draw(2, P, 6)
    patches = model_of(matching="patches")
    projected = F.normalize(tokens @ patches.patches.weight.T + patches.patches.bias, dim=-1)
    assert close(patches.image(tokens).vectors, projected)
    whole = model_of(matching="global")
    mean = (tokens @ whole.patches.weight.T + whole.patches.bias).mean(1)
    assert close(whole.image(tokens).vectors[:, 0], F.normalize(mean, dim=-1))
    asked = model_of(matching="queries")
    z = asked.outward(asked.queries(asked.patches(tokens)))
    found = asked.image(tokens)
    assert close(found.vectors, F.normalize(z, dim=-1)) and found.vectors.shape == (2, 5, D)
    assert found.attention is None and found.kept is None
    for model in (patches, whole, asked):
        names = {name.partition(".")[0] for name, _ in model.named_parameters()}
        assert not names & {"projection", "values"}


@pytest.mark.parametrize("matching", covalign.KNOWN["matching"])
def test_patches_learn_their_places(matching):
    """A vector a patch, row by row, is added to its projection: the same in every picture."""
    placed, tokens = model_of(matching=matching, placed=True), draw(2, P, 6)
    plain = model_of(matching=matching)
    plain.load_state_dict({k: v for k, v in placed.state_dict().items() if k != "places"})
    assert placed.places.shape == (P, D)
    # what is added to a token so that its projection moves by the patch's vector
    moved = tokens + (placed.places - 0) @ torch.linalg.pinv(plain.patches.weight.T)
    within = plain.patches.weight @ torch.linalg.pinv(plain.patches.weight)
    with torch.no_grad():
        placed.places.copy_(placed.places @ within)
    assert close(placed.image(tokens).vectors, plain.image(moved).vectors, atol=1e-4)
    assert not close(placed.image(tokens).vectors, plain.image(tokens).vectors, atol=1e-2)


def test_vectors_of_places_begin_small():
    torch.manual_seed(0)
    places = CoVAlign(small(placed=True, dim=64), 6, 7, (14, 14)).places
    assert places.requires_grad and float(places.std()) == pytest.approx(0.02, rel=0.05)
    assert CoVAlign(small(), 6, 7, GRID).places == 0


def test_words_and_mean_words():
    tokens = draw(3, 4, 7)
    mask = torch.arange(4) < torch.tensor([4, 2, 1])[:, None]
    model = model_of()
    words, there = model.text(tokens, mask)
    expected = F.normalize(tokens @ model.words.weight.T + model.words.bias, dim=-1)
    assert close(words[mask], expected[mask]) and torch.equal(there, mask)
    whole = model_of(matching="global")
    words, there = whole.text(tokens, mask)
    mean = (tokens[1, :2] @ whole.words.weight.T + whole.words.bias).mean(0)
    assert words.shape == (3, 1, D) and there.all() and close(words[1, 0], F.normalize(mean, dim=0))


# --- 5. Spatial concentration --------------------------------------------------------------------


def test_places_of_patches():
    places = covalign.positions(GRID)
    assert close(places[0], [1 / 8, 1 / 6]) and close(places[6], [5 / 8, 3 / 6])  # row by row
    patches = covalign.positions(GRID, "patches")
    assert patches[6].tolist() == [2.5, 1.5]
    assert torch.equal(model_of(coordinates="patches").positions, patches)
    assert torch.equal(model_of().positions, places)


def test_concentration_by_hand_and_by_a_loop():
    places = torch.tensor([[0.0, 0.0], [2.0, 0.0], [0.0, 2.0], [2.0, 2.0]])
    even = torch.full((1, 1, 4), 0.25)
    assert float(covalign.spatial_concentration(even, places)) == pytest.approx(math.sqrt(2))
    attention, places = draw(2, 3, P).softmax(-1), draw(P, 2, seed=1)
    total = 0.0
    for b, q in itertools.product(range(2), range(3)):
        a = attention[b, q].tolist()
        centre = [sum(a[p] * float(places[p, i]) for p in range(P)) for i in (0, 1)]
        total += sum(a[p] * math.dist(places[p].tolist(), centre) for p in range(P))
    found = covalign.spatial_concentration(attention, places)
    assert float(found) == pytest.approx(total / 6, rel=1e-5) and found.shape == ()


def test_concentration_of_one_patch_is_zero_with_a_gradient():
    attention = F.one_hot(torch.tensor([[3, 7]]), P).float().requires_grad_()
    value = covalign.spatial_concentration(attention, covalign.positions(GRID))
    value.backward()
    assert value == 0 and attention.grad.isfinite().all()


def test_concentration_doesnt_care_where_and_scales_with_the_unit():
    attention, places = draw(2, 3, P).softmax(-1), covalign.positions(GRID)
    here = covalign.spatial_concentration(attention, places)
    assert close(covalign.spatial_concentration(attention, places + 3), here)
    assert close(covalign.spatial_concentration(attention, 14 * places), 14 * here, atol=1e-4)


@pytest.mark.parametrize("value", [0.5, 2.0, math.nan])
def test_rows_that_dont_sum_to_one_are_refused(value):
    attention = torch.full((2, 3, 4), 0.25)
    attention[1, 2] *= value
    with pytest.raises(ValueError, match=r"attention\[1, 2\] sums to (0.5|2|nan), expected 1"):
        covalign.spatial_concentration(attention, torch.zeros(4, 2))
    attention[1, 2] = 0.2501  # rounding is no error
    covalign.spatial_concentration(attention, torch.zeros(4, 2))


@pytest.mark.parametrize("shapes", [((2, 4), (4, 2)), ((1, 2, 4), (3, 2)), ((1, 2, 4), (4, 3))])
def test_shapes_that_dont_fit_are_refused(shapes):
    one, other = (torch.full(shape, 0.25) for shape in shapes)
    with pytest.raises(ValueError, match=r"attention must be \(B, Q, P\) and positions \(P, 2\)"):
        covalign.spatial_concentration(one, other)


# --- 6. Visual contrast --------------------------------------------------------------------------


def test_visual_contrast_by_hand_and_by_a_loop():
    apart = torch.eye(3)[None]
    by_hand = math.log(math.exp(10) + 2) - 10  # three at right angles, τ1 = 0.1
    assert float(covalign.visual_contrast(apart, 0.1)) == pytest.approx(by_hand, rel=1e-2)
    regions, total = draw(2, 5, D), 0.0
    for b, i in itertools.product(range(2), range(5)):
        r = [v / v.norm() for v in regions[b]]
        logits = [float(r[i] @ r[j]) / 0.3 for j in range(5)]
        total -= math.log(math.exp(logits[i]) / sum(map(math.exp, logits)))
    assert float(covalign.visual_contrast(regions, 0.3)) == pytest.approx(total / 10, rel=1e-4)


def test_visual_contrast_is_repulsion_alone():
    same, opposite = torch.ones(1, 2, 3), torch.tensor([[[1.0, 0, 0], [-1.0, 0, 0]]])
    assert close(covalign.visual_contrast(same, 0.1), math.log(2))
    assert 0 <= covalign.visual_contrast(opposite, 0.1) < 1e-6
    r = torch.tensor([[[1.0, 0.2], [1.0, -0.2]]], requires_grad=True)
    covalign.visual_contrast(r, 0.5).backward()
    assert r.grad[0, 0, 1] < 0 < r.grad[0, 1, 1]  # a step against it turns each from the other
    assert close(covalign.visual_contrast(5 * r, 0.5), covalign.visual_contrast(r, 0.5))


# --- 7. Matching ---------------------------------------------------------------------------------


def test_two_way_similarity_is_that_of_a_loop():
    regions, words = F.normalize(draw(3, 5, D), dim=-1), F.normalize(draw(4, 6, D, seed=1), dim=-1)
    lengths = [6, 1, 3, 5]
    mask = torch.arange(6) < torch.tensor(lengths)[:, None]
    found = covalign.two_way_similarity(regions, words, mask)
    for i, j in itertools.product(range(3), range(4)):
        s = [[float(r @ w) for w in words[j, : lengths[j]]] for r in regions[i]]
        of_regions = sum(max(row) for row in s) / 5
        of_words = sum(max(column) for column in zip(*s)) / lengths[j]
        assert float(found[i, j]) == pytest.approx(of_regions + of_words, abs=1e-5)
    noise = torch.where(mask[..., None], words, 9.0)
    assert close(covalign.two_way_similarity(regions, noise, mask), found)
    assert float(covalign.two_way_similarity(words[:1], words[:1])) == pytest.approx(2, abs=1e-5)


def test_order_of_regions_and_of_words_doesnt_matter():
    regions, words = draw(2, 5, D), draw(3, 6, D, seed=1)
    found = covalign.two_way_similarity(regions, words)
    assert close(covalign.two_way_similarity(regions.flip(1), words.flip(1)), found)


# --- 8. The loss ---------------------------------------------------------------------------------


def slow_info_nce(s, ids):
    """Mean of both directions; other captions of an image are in no denominator."""
    total, s = 0.0, s.detach()
    for rows in (s, s.T):
        for i in range(len(rows)):
            others = [j for j in range(len(rows)) if j == i or ids[j] != ids[i]]
            below = sum(math.exp(float(rows[i, j])) for j in others)
            total -= math.log(math.exp(float(rows[i, i])) / below)
    return total / (2 * len(s))


def batch_of(seed: int = 0):
    mask = torch.arange(5) < torch.tensor([5, 3, 1, 4])[:, None]
    return draw(4, P, 6, seed=seed), draw(4, 5, 7, seed=seed + 1), mask


@pytest.mark.parametrize("matching", covalign.KNOWN["matching"])
def test_the_loss_is_that_of_loops(matching):
    patches, words, mask = batch_of()
    ids = torch.tensor([3, 3, 1, 2])
    weights = dict(lambda_g=0.7, lambda_v=1.3, lambda_c=2.1, visual_temperature=0.4)
    model = model_of(matching=matching, **weights)
    regions, (w, there) = model.image(patches), model.text(words, mask)
    s = covalign.two_way_similarity(regions.vectors, w, there) / 0.5
    expected = 0.7 * slow_info_nce(s, ids.tolist())
    if matching == "regions":
        expected += 1.3 * covalign.visual_contrast(regions.vectors, 0.4).item()
        expected += (
            2.1 * covalign.spatial_concentration(regions.attention, covalign.positions(GRID)).item()
        )
    assert model.loss(patches, words, mask, ids).item() == pytest.approx(expected, rel=1e-4)
    level = expected + 0.7 * (slow_info_nce(0 * s, ids.tolist()) - slow_info_nce(s, ids.tolist()))
    assert model.trivial_loss(patches, words, mask, ids).item() == pytest.approx(level, rel=1e-4)
    everyone = model.loss(patches, words, mask)
    assert everyone > model.loss(patches, words, mask, ids)  # one negative less


def test_terms_without_a_weight_are_not_computed():
    patches, words, mask = batch_of()
    for changes, names in (
        (dict(), "gvc"),
        (dict(lambda_v=0.0), "gc"),
        (dict(lambda_c=0.0), "gv"),
        (dict(matching="queries"), "g"),
    ):
        model = model_of(**changes)
        found = model.terms(model.image(patches), *model.text(words, mask), None)
        assert "".join(found) == names


def test_the_temperature_is_learnt_and_bounded():
    model = CoVAlign(small(global_temperature=0.2), 6, 7, GRID)
    assert model.temperature().item() == pytest.approx(0.2)
    assert model.log_temperature.requires_grad
    with torch.no_grad():
        model.log_temperature.fill_(-9.0)
    assert model.temperature().item() == pytest.approx(0.01)


def steps_of(optimizer: str, factor: float) -> torch.Tensor:
    """How parameters move in three steps with all three weights times a factor."""
    config = small(
        optimizer=optimizer,
        weight_decay=0.0,
        lambda_g=factor,
        lambda_v=factor,
        lambda_c=5 * factor,
        learning_rate=1e-2,
    )
    torch.manual_seed(0)
    model = CoVAlign(config, 6, 7, GRID)
    before = torch.cat([p.detach().flatten().clone() for p in model.parameters()])
    optimizer = covalign.optimizer_of(config, model)
    for step in range(3):
        optimizer.zero_grad()
        model.loss(*batch_of(step)).backward()
        optimizer.step()
    return torch.cat([p.detach().flatten() for p in model.parameters()]) - before


def test_adam_doesnt_see_the_losss_scale_and_sgd_does():
    adam, twice = steps_of("adam", 1.0), steps_of("adam", 2.0)
    assert (adam - twice).norm() < 1e-2 * adam.norm() and adam.norm() > 0
    sgd, twice = steps_of("sgd", 1.0), steps_of("sgd", 2.0)
    assert (sgd - twice).norm() > 0.5 * sgd.norm()


# --- Training ------------------------------------------------------------------------------------


def planted(images: int = 60, each: int = 5, seed: int = 0, cut: int = 0):
    """Images of three things in a grid, captions that name two of them: a data set and tokens."""
    rng = np.random.default_rng(seed)
    things = rng.standard_normal((12, 6))
    names = rng.standard_normal((12, 7))
    shown = np.stack([rng.choice(12, 3, replace=False) for _ in range(images)])
    patches = 0.1 * rng.standard_normal((images, P, 6))
    for image, what in enumerate(shown):
        patches[image, rng.choice(P, 3, replace=False)] += things[what]
    said = (
        np.concatenate(
            [np.stack([rng.permutation(each)[:2] for each in shown]) for _ in range(each)]
        )
        .reshape(each, images, 2)
        .transpose(1, 0, 2)
    )
    words = names[said.reshape(-1)] + 0.1 * rng.standard_normal((images * each * 2, 7))
    arrays = {
        "patches": patches.astype(np.float16),
        "words": words.astype(np.float16),
        "ends": 2 * (1 + np.arange(images * each)),
    }
    rows = np.split(rng.permutation(images), [images // 2, 7 * images // 10])
    dataset = SimpleNamespace(
        captions_per_image=each, splits=dict(zip(("train", "dev", "test"), rows))
    )
    run = SimpleNamespace(
        metrics={"grid": list(GRID), "captions cut": cut},
        array=arrays.__getitem__,
        config={"context": 40, "whitened": True},
    )
    return dataset, run


TRAINED = dict(steps=4, batch=8)


@pytest.mark.parametrize("matching", covalign.KNOWN["matching"])
def test_every_matching_learns(matching, tmp_path):
    config = small(
        matching=matching,
        steps=60,
        batch=16,
        learning_rate=2e-2,
        dim=16,
        layers=1,
        lambda_v=0.3,
        lambda_c=0.3,
    )
    found = covalign.compute(config, planted(), 0, tmp_path, "cpu")
    untrained = covalign.compute(replace(config, steps=1), planted(), 0, tmp_path, "cpu")
    assert found["test RSUM"] > untrained["test RSUM"] + 30
    assert found["steps"] == 60 and ("spread" in found) == (matching == "regions")


def test_the_same_seed_trains_the_same_and_a_tuning_seed_sees_no_test(tmp_path):
    dataset, run = planted()
    first, again, other = (
        covalign.compute(small(**TRAINED), [dataset, run], seed, tmp_path, "cpu")
        for seed in (0, 0, 1)
    )
    assert first["checksum"] == again["checksum"] != other["checksum"]
    assert first["test RSUM"] == again["test RSUM"]
    assert np.load(tmp_path / "ranks_i2t.npy").shape == (18,)
    assert np.load(tmp_path / "ranks_t2i.npy").shape == (18 * 5,)
    tuned = covalign.compute(small(**TRAINED), [dataset, run], TUNING_SEED, tmp_path, "cpu")
    assert "dev RSUM" in tuned and not any(name.startswith("test") for name in tuned)


def test_a_run_that_was_killed_ends_as_one_that_was_not(tmp_path, monkeypatch):
    monkeypatch.setattr(training, "CHECKPOINT_SECONDS", 0.0)
    (tmp_path / "a").mkdir(), (tmp_path / "b").mkdir()
    inputs = planted()
    whole = covalign.compute(small(**TRAINED), inputs, 0, tmp_path / "a", "cpu")
    loss, seen = CoVAlign.loss, []

    def stop(*given):
        seen.append(given)
        if len(seen) == 3:
            raise KeyboardInterrupt
        return loss(*given)

    monkeypatch.setattr(CoVAlign, "loss", stop)
    with pytest.raises(KeyboardInterrupt):
        covalign.compute(small(**TRAINED), inputs, 0, tmp_path / "b", "cpu")
    monkeypatch.setattr(CoVAlign, "loss", loss)
    resumed = covalign.compute(small(**TRAINED), inputs, 0, tmp_path / "b", "cpu")
    timed = ("training seconds", "dev seconds", "evaluation seconds")
    assert {k: v for k, v in resumed.items() if k not in timed} == {
        k: v for k, v in whole.items() if k not in timed
    }
    for name in ("loss", "dev", "gradients", "ranks_t2i"):
        one, other = (np.load(tmp_path / folder / f"{name}.npy") for folder in "ab")
        assert np.array_equal(one, other)
    matcher = covalign.load(stored(tmp_path / "a", small(**TRAINED)), *inputs)
    twelve, _ = covalign.evaluate(matcher, inputs[0], "dev")
    looks = np.load(tmp_path / "a/dev.npy")
    assert looks[:, 0].tolist() == [0, 1, 2, 3, 4]
    assert looks[-1, 1] == retrieval.evaluate(twelve, 5).rsum


def test_an_arm_is_measured_as_its_best_look_at_dev_saw_it(tmp_path, monkeypatch):
    """Here the look before the first step, so that nothing is learnt."""
    dataset, run = planted()
    torch.manual_seed(TUNING_SEED)
    before = covalign.build(small(**TRAINED), dataset, run)
    monkeypatch.setattr(training, "best_look", lambda dev: 0)
    found = covalign.compute(small(**TRAINED), [dataset, run], TUNING_SEED, tmp_path, "cpu")
    assert found["best step"] == 0 and found["steps"] == 4
    matcher = covalign.load(stored(tmp_path, small(**TRAINED)), dataset, run)
    assert training.checksum(matcher) == training.checksum(before) != found["checksum"]
    scores, _ = covalign.evaluate(before.eval(), dataset, "dev")
    assert found["dev RSUM"] == retrieval.evaluate(scores, 5).rsum


def test_metrics_say_what_was_measured(tmp_path):
    dataset, run = planted(cut=7)
    found = covalign.compute(small(**TRAINED, threshold=0.4), [dataset, run], 0, tmp_path, "cpu")
    matcher = covalign.load(stored(tmp_path, small(**TRAINED, threshold=0.4)), dataset, run)
    assert not matcher.training
    regions = covalign.encode_images(matcher, dataset.splits["test"])
    places = covalign.positions(GRID)
    assert found["spread"] == pytest.approx(
        float(covalign.spatial_concentration(regions.attention, places)), rel=1e-5
    )
    assert found["patches kept"] == pytest.approx(float(regions.kept.float().mean()), rel=1e-5)
    assert 1 / P <= found["patches kept"] < 1
    counts = regions.kept.sum(-1).float()
    assert found["kept a region"] == pytest.approx(float(counts.mean()), rel=1e-5)
    assert found["regions under 3"] == pytest.approx(100 * float((counts < 3).float().mean()))
    assert found["asked"] == dict.fromkeys(covalign.OF_REGIONS, len(counts) * 5)
    assert found["captions cut"] == 7
    assert found["parameters"] == sum(p.numel() for p in matcher.model.parameters())
    one, other = (  # of the picture's side, whatever the loss counts in
        covalign.compute(
            small(**TRAINED, coordinates=unit, lambda_c=0.0), [dataset, run], 0, tmp_path, "cpu"
        )["spread"]
        for unit in covalign.KNOWN["coordinates"]
    )
    assert one == other


def test_a_mask_that_leaves_hardly_a_patch_is_warned_of_at_the_end(tmp_path):
    few = small(**TRAINED, threshold=1.0)  # the largest patch alone
    with pytest.warns(UserWarning) as warned:  # all of them, also those that are the same
        found = covalign.compute(few, planted(), TUNING_SEED, tmp_path, "cpu")
    assert found["regions under 3"] == 100 and found["kept a region"] == 1
    (said,) = [str(each.message) for each in warned if "mask" in str(each.message)]
    assert "seed 1000: the mask keeps 1.0 patches a region in the mean, expected 3" in said
    assert "lower the threshold ε, or train with a higher temperature τ" in said


def test_a_mask_that_leaves_enough_is_not_warned_of(tmp_path, recwarn):
    enough = small(**TRAINED, threshold=0.0)
    assert covalign.compute(enough, planted(), 0, tmp_path, "cpu")["regions under 3"] == 0
    assert not [each for each in recwarn if "mask" in str(each.message)]


def stored(folder, config):
    """What `runs.Run` is to `load`."""
    from safetensors.torch import load_file

    return SimpleNamespace(
        config=dict(vars(config)), weights=lambda: load_file(folder / "weights.safetensors")
    )


def test_scores_of_a_split_are_those_of_its_images_and_captions(tmp_path):
    dataset, run = planted()
    for matching in covalign.KNOWN["matching"]:
        torch.manual_seed(0)
        matcher = covalign.build(small(matching=matching), dataset, run).eval()
        scores, _ = covalign.evaluate(matcher, dataset, "dev")
        rows = dataset.splits["dev"]
        assert scores.shape == (12, 60) and scores.isfinite().all()
        image, caption = 4, 33  # the third of the seventh image
        regions = matcher.model.image(matcher.patches(rows[[image]]))
        words = matcher.model.text(*matcher.words(np.array([rows[6] * 5 + 3])))
        one = covalign.two_way_similarity(regions.vectors, *words)
        assert close(scores[image, caption], one[0, 0])


def test_a_splits_first_images_can_be_measured_alone():
    dataset, run = planted()
    torch.manual_seed(0)
    whole, _ = covalign.evaluate(covalign.build(small(), dataset, run), dataset, "dev")
    part, _ = covalign.evaluate(covalign.build(small(dev_images=5), dataset, run), dataset, "dev")
    assert part.shape == (5, 25)
    test, _ = covalign.evaluate(covalign.build(small(test_images=4), dataset, run), dataset, "test")
    assert test.shape == (4, 20)
    with pytest.raises(ValueError, match="13 dev images asked for, there are 12"):
        covalign.evaluate(covalign.build(small(dev_images=13), dataset, run), dataset, "dev")


def test_pairs_of_a_batch_belong_together(tmp_path, monkeypatch):
    dataset, run = planted()
    seen = []
    build = covalign.build

    def watched(*given):
        matcher = build(*given)
        patches, words = matcher.patches, matcher.words
        matcher.patches = lambda rows: seen.append(rows) or patches(rows)
        matcher.words = lambda numbers: seen.append(numbers) or words(numbers)
        return matcher

    monkeypatch.setattr(covalign, "build", watched)
    monkeypatch.setattr(training, "looks", lambda steps: [])
    monkeypatch.setattr(training, "take_best", lambda *given: {})
    covalign.compute(small(steps=2, batch=8), [dataset, run], TUNING_SEED, tmp_path, "cpu")
    for rows, numbers in (seen[:2], seen[2:4]):
        assert len(set(rows)) == 8 and set(rows) <= set(dataset.splits["train"])
        assert np.array_equal(numbers // 5, rows)


def test_towers_train_slowly_and_everything_decays():
    config = small(learning_rate=0.5, backbone=0.2, weight_decay=0.03)
    model = CoVAlign(config, 6, 7, GRID)
    tower, idle = torch.nn.Linear(2, 2), torch.nn.Linear(3, 3).requires_grad_(False)
    matcher = covalign.Matcher(torch.nn.ModuleList([tower, idle]), model)
    for name, kind in (("adam", torch.optim.Adam), ("sgd", torch.optim.SGD)):
        found = covalign.optimizer_of(replace(config, optimizer=name), matcher)
        assert type(found) is kind and (found.defaults.get("fused") or name == "sgd")
        heads, towers = found.param_groups
        assert (heads["lr"], towers["lr"]) == pytest.approx((0.5, 0.1))
        assert heads["weight_decay"] == towers["weight_decay"] == 0.03
        assert {id(p) for p in towers["params"]} == {id(p) for p in tower.parameters()}
        assert {id(p) for p in heads["params"]} == {id(p) for p in model.parameters()}
    assert len(covalign.optimizer_of(config, covalign.Matcher(object(), model)).param_groups) == 1


def test_regions_are_cached_once_an_image():
    dataset, run = planted()
    torch.manual_seed(0)
    matcher = covalign.build(small(), dataset, run)
    calls = []
    matcher.model.image, image = lambda x: calls.append(len(x)) or image(x), matcher.model.image
    scores, found = covalign.evaluate(matcher, dataset, "dev")
    assert calls == [12] and set(found) == set(covalign.OF_REGIONS)


def test_encoded_images_come_in_their_order():
    dataset, run = planted(images=600)
    torch.manual_seed(0)
    matcher = covalign.build(small(), dataset, run)
    rows = np.random.default_rng(0).permutation(600)[:260]
    found = covalign.encode_images(matcher, rows)
    assert isinstance(found, Regions) and found.attention.shape == (260, 5, P)
    last = matcher.model.image(matcher.patches(rows[255:256]))
    assert close(found.vectors[255], last.vectors[0]) and torch.equal(found.kept[255], last.kept[0])
