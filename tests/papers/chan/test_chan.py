"""CHAN: the model against the equations written as loops, and its switches."""

import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from alignbook.backbones.inputs import Inputs
from alignbook.core.encoders import BiGRU, RegionEncoder
from alignbook.papers.chan import arms as chan_arms
from alignbook.papers.chan import model as chan
from alignbook.workbook import profiles


def cosine(a, b):
    lengths = math.sqrt(sum(x * x for x in a) * sum(y * y for y in b))
    return sum(x * y for x, y in zip(a, b)) / lengths


def model(**changes):
    torch.manual_seed(1)
    config = chan.Config(dim=8, regions=5, **changes)
    return chan.CHAN(config, 6, BiGRU(12, 4, config.dim)).double().eval()


@torch.no_grad()
def test_the_model_computes_equation_8():
    net = model(scale=7.0)
    regions = net.image(torch.randn(2, 5, 6).double())
    lengths = torch.tensor([3, 2])
    words = net.text(torch.tensor([[2, 3, 4], [5, 6, 0]]), lengths)
    scores = net.similarity(regions, words, word_lengths=lengths)
    for i in range(2):
        for j in range(2):
            total = 0.0
            for t in words[j, : lengths[j]].tolist():
                total += math.exp(7.0 * max(cosine(t, v) for v in regions[i].tolist()))
            assert scores[i, j].item() == pytest.approx(math.log(total) / 7.0, abs=1e-9)


@torch.no_grad()
def test_the_model_computes_cross_attention():
    tau = 0.3
    net = model(coding="soft", temperature=tau, pooling="mean")
    regions, lengths = net.image(torch.randn(1, 5, 6).double()), torch.tensor([2])
    words = net.text(torch.tensor([[2, 3]]), lengths)
    scores = []
    for t in words[0].tolist():
        unit = [[x / math.sqrt(sum(y * y for y in v)) for x in v] for v in regions[0].tolist()]
        weights = [math.exp(cosine(t, v) / tau) for v in unit]
        mixed = [sum(w * v[d] for w, v in zip(weights, unit)) / sum(weights) for d in range(8)]
        scores.append(cosine(t, mixed))
    found = net.similarity(regions, words, word_lengths=lengths).item()
    assert found == pytest.approx(sum(scores) / 2, abs=1e-9)


def test_word_vectors_start_from_those_given(monkeypatch):
    vectors = torch.randn(12, 4)
    monkeypatch.setattr(chan, "word_vectors", lambda *inputs: (vectors, "vocabulary"))
    text, vocabulary = chan.text_side(chan.Config(dim=8), None)
    assert torch.equal(text.vectors.weight, vectors) and vocabulary == "vocabulary"
    assert text.vectors.weight.requires_grad and text.gru.hidden_size == 8


def test_drop_regions_leaves_the_rest_in_order():
    torch.manual_seed(0)
    regions = torch.arange(10.0).view(1, 10, 1).expand(50, 10, 3)
    kept = chan.drop_regions(regions, 0.2)
    assert kept.shape == (50, 8, 3)
    assert (kept[:, 1:, 0] > kept[:, :-1, 0]).all()
    assert len({tuple(row) for row in kept[:, :, 0].tolist()}) > 10  # not the same ones each time
    assert torch.equal(chan.drop_regions(regions, 0.0), regions)


@torch.no_grad()
def test_the_region_encoder_adds_attention_to_a_projection():
    torch.manual_seed(0)
    bare = RegionEncoder(6, 8, attention=False)
    encoder = RegionEncoder(6, 8).eval()
    features = torch.randn(2, 5, 6)
    projected = encoder.project(features)
    context = encoder.attention(projected, projected, projected)[0]
    assert torch.allclose(encoder(features), projected + context, atol=1e-6)
    assert torch.equal(bare(features), bare.project(features))


def test_an_unknown_exhibit_is_refused():
    with pytest.raises(KeyError, match="chan-T9"):
        chan_arms.arms("chan-T9", profiles.get("smoke"))


def test_only_what_an_arm_is_about_differs_between_arms():
    arms = {
        name: each for name, (each, _) in chan_arms.arms("chan-T3", profiles.get("laptop")).items()
    }
    first = arms["visual-codebook"][0]
    assert arms["textual-codebook"][0].codebook == "textual"
    other = dict(
        codebook="visual", margin=first.margin, scale=first.scale
    )  # its scores spread less wide
    assert replace(arms["textual-codebook"][0], **other) == first
    assert replace(arms["softmax"][0], pooling="lse") == first
    ninth = replace(arms["cross-attention-1/9"][0], coding="hard", temperature=0.0)
    assert replace(ninth, margin=first.margin) == first  # hard coding's scores spread less wide
    assert replace(arms["permuted"][0], permute_captions=False, margin=first.margin) == first
    assert [arms[a][0].pooling for a in ("max", "average", "sum", "softmax")] == [
        "max",
        "mean",
        "sum",
        "softmax",
    ]
    assert first.coding == "hard" and arms["cross-attention"][0].coding == "soft"
    assert all(c.temperature == 1 / 9 for c in arms["cross-attention-1/9"])


def test_the_first_candidate_is_the_middle_of_the_others():
    """Each of the next two changes one setting of it, one up and one down; all five candidates of a
    coding differ, and its margin has neighbours on both sides."""
    arms = chan_arms.arms("chan-T3", profiles.get("laptop"))
    tried = {
        "visual-codebook": (),
        "cross-attention": ("temperature",),
        "textual-codebook": ("scale",),
    }
    for name, also in tried.items():
        found, _ = arms[name]
        assert len(found) == len(set(found)) == 5, name
        first, *others = found
        changed = [
            {k for k, v in vars(each).items() if v != getattr(first, k)} for each in others[:2]
        ]
        assert changed[0] == changed[1] and len(changed[0]) == 1, name
        (field,) = changed[0]
        assert sorted(getattr(each, field) for each in found[:3])[1] == getattr(first, field), name
        for field in ("margin", *also):
            values = [getattr(each, field) for each in found]
            assert min(values) < values[0] < max(values), (name, field)
        assert {5.0, 10.0} <= {each.scale for each in found}, name  # λ, alike for all codings


def test_codebook_sizes_and_long_runs_change_one_thing_after_the_choice():
    profile = profiles.get("laptop")
    sizes, table = chan_arms.arms("chan-F4", profile), chan_arms.arms("chan-T3", profile)
    whole = {"steps": profile.chan_steps}
    assert sizes["hard-72"] == (table["visual-codebook"][0], whole | {"regions": 72})
    assert sizes["soft-4"] == (table["cross-attention"][0], whole | {"regions": 4})
    assert table["cross-attention-long"] == (
        table["cross-attention"][0],
        {"steps": 4 * profile.chan_steps},
    )
    assert [table[f"τ=1/{n}"][0][0].temperature for n in (1, 4, 100)] == [1.0, 0.25, 0.01]


def test_trials_are_shorter_by_the_profile_s_share_and_reports_take_all_steps():
    profile = profiles.get("laptop", overrides={"chan_steps": "60", "chan_trial_share": "0.25"})
    for exhibit in ("chan-T1", "chan-T3", "chan-F4"):
        for name, (candidates, changes) in chan_arms.arms(exhibit, profile).items():
            longer = 4 if name.endswith("-long") else 1
            assert {each.steps for each in candidates} == {15}, name
            assert replace(candidates[0], **changes).steps == 60 * longer, name


# --- Presets -------------------------------------------------------------------------------------


@torch.no_grad()
def test_without_the_division_scores_and_margin_are_lambda_times_as_large():
    from alignbook.core import losses

    for pooling in ("lse", "mean"):
        a = model(scale=10.0, pooling=pooling)
        b = model(scale=10.0, pooling=pooling, divided=False)
        regions = a.image(torch.randn(3, 5, 6).double())
        words = a.text(torch.tensor([[2, 3], [4, 5], [6, 7]]), torch.tensor([2, 2, 2]))
        plain, large = a.similarity(regions, words), b.similarity(regions, words)
        times = 10.0 if pooling == "lse" else 1.0  # the mean has no λ to divide by
        assert torch.allclose(large, times * plain)
        if pooling == "lse":  # so the code's margin of 0.05 is 0.005 in the units of Eq. 8
            small = losses.hardest_negative_hinge(plain, 0.005)
            assert losses.hardest_negative_hinge(large, 0.05).item() == pytest.approx(
                10 * small.item()
            )


def test_self_attention_can_be_left_out():
    assert model(self_attention=False).image.attention is None
    assert model().image.attention is not None


def test_bert_learns_at_a_tenth_of_the_rate():
    net = model()
    net.text.bert = torch.nn.Linear(2, 2)
    rest, slow = chan.parameter_groups(net, chan.Config(learning_rate=0.5))
    assert slow["lr"] == 0.05 and len(slow["params"]) == 2
    assert len(rest["params"]) == len(list(net.parameters())) - 2 and "lr" not in rest
    assert len(chan.parameter_groups(model(), chan.Config())) == 1


def test_the_presets_differ_in_what_the_table_lists():
    for text in ("bigru", "bert"):
        paper, official = chan.PRESETS["paper", text], chan.PRESETS["official", text]
        found = {f for f in vars(paper) if getattr(paper, f) != getattr(official, f)}
        assert found <= set(chan.DIFFERENCES) and {"divided", "margin"} <= found
        assert (paper.dim, paper.regions, paper.batch) == (
            1024,
            36,
            384 if text == "bigru" else 128,
        )
    listed = chan.PRESETS["official", "bert"]
    assert (listed.pooling, listed.self_attention) == ("mean", False)


def test_the_learning_rate_falls_to_a_tenth_at_three_fifths():
    parameter = torch.nn.Parameter(torch.zeros(1))
    optimizer = torch.optim.SGD([parameter], lr=1.0)
    schedule = chan.step_decay(optimizer, 10)
    rates = []
    for _ in range(10):
        rates.append(optimizer.param_groups[0]["lr"])
        optimizer.step(), schedule.step()
    assert rates == pytest.approx([1.0] * 6 + [0.1] * 4)


def test_the_paper_profile_begins_with_the_paper_s_preset():
    """Apart from its steps, which follow from the data, its first candidate is the preset itself."""
    profile = profiles.get("paper", "coco_precomp=DIR")
    for text, name in (("bigru", "chan"), ("bert", "chan-bert")):
        preset, first = chan.PRESETS["paper", text], chan_arms.arms("chan-T1", profile)[name][0][0]
        assert replace(first, steps=preset.steps) == preset
        epochs = first.steps * first.batch / profiles.TRAINING_CAPTIONS["coco_precomp"]
        assert epochs == pytest.approx(25, rel=0.01)
        found = chan_arms.arms("chan-T1", profile)[f"{name.split('-')[0]}-official" + name[4:]][0]
        assert [replace(c, steps=preset.steps) for c in found] == [chan.PRESETS["official", text]]
    soft = chan_arms.arms("chan-T3", profile)["cross-attention"][0]
    assert len(soft) == 6 and all(c.schedule == "step" and not c.word_dropout for c in soft)
    rival = chan_arms.arms("chan-T1", profile)["vse-inf"][0][0]
    assert (rival.schedule, rival.word_dropout, rival.dim) == ("step", 0.0, 1024)


def test_other_profiles_differ_from_the_official_arm_in_the_listed_fields_alone():
    profile = profiles.get("laptop")
    for text in ("bigru", "bert"):
        ours, theirs = chan_arms.common(profile, text), chan_arms.official(profile, text)
        different = {f for f in vars(ours) if getattr(ours, f) != getattr(theirs, f)}
        assert different <= set(chan.DIFFERENCES) and "divided" in different


# --- Training and measuring ----------------------------------------------------------------------


class Captions:
    """A vocabulary of one word a caption: its id tells which caption it is."""

    def encode(self, captions):
        return torch.tensor([[int(c) + 1] for c in captions]), torch.ones(len(captions), dtype=int)


class Matcher(torch.nn.Module):
    """Knows every caption's pair of images; tells what it was asked; its one parameter is useless."""

    def __init__(self, config):
        super().__init__()
        self.config, self.asked = config, []
        self.weight = torch.nn.Parameter(torch.zeros(1))

    def image(self, raw):
        self.asked.append(raw)
        return raw[:, 0, :1] // 2 + 0 * self.weight  # the number of its pair

    def text(self, ids, lengths):
        return (ids - 1) // 5 // 2 + 0 * self.weight

    def similarity(self, images, words, word_lengths=None):
        return -(images - words.T).abs()


@pytest.fixture
def fitted(tmp_path, monkeypatch):
    """`chan.fit` of a matcher on 12 training, 5 dev and 5 test images; what it gave and asked."""
    images = torch.arange(22.0)[:, None, None].expand(22, 10, 3).half().numpy()
    splits = {"train": range(12), "dev": range(12, 17), "test": range(17, 22)}
    splits = {name: np.array(rows) for name, rows in splits.items()}
    dataset = SimpleNamespace(
        splits=splits,
        captions_per_image=5,
        captions_of=lambda split: [5 * i + k for i in splits[split] for k in range(5)],
    )
    steps, looks, levels = [], [], []

    def train(model, descent, loss_at, folder, label, dev_at, trivial_at):
        model.train()
        losses = [loss_at(step).item() for step in range(descent.steps)]
        steps.append((losses, descent.optimizer, descent.clip, label))
        looks.append(dev_at)
        levels.append([float(trivial_at(step)) for step in range(descent.steps)])
        return {}

    def take_best(model, outcome):
        assert outcome == {} and len(model.asked) == 4  # before it is measured
        return {"best step": 3}

    monkeypatch.setattr(chan.training, "fit", train)
    monkeypatch.setattr(chan.training, "take_best", take_best)
    monkeypatch.setattr(chan.training, "save", lambda model, outcome, folder: {"steps": 4})

    def run(seed, **changes):
        config = chan.Config(steps=4, batch=6, regions=10, margin=2.5, **changes)
        model, run = Matcher(config), SimpleNamespace(array=lambda name: images)
        inputs = Inputs(dataset, run)
        found = chan.fit(model, Captions(), config, inputs, seed, tmp_path, "cpu", "label")
        return SimpleNamespace(
            found=found,
            asked=model.asked,
            folder=tmp_path,
            steps=steps[-1],
            look=looks[-1],
            levels=levels[-1],
        )

    return run


def test_fit_begins_with_all_violations(fitted):
    """The same batches by either loss, and the one after the other."""
    every, hardest = (fitted(0, all_violations=share).steps[0] for share in (1.0, 0.0))
    assert all(a >= b for a, b in zip(every, hardest)) and every[0] > hardest[0]
    assert every[2:] != hardest[2:]
    losses, optimizer, clip, label = fitted(0, all_violations=0.5).steps
    assert losses == every[:2] + hardest[2:]
    assert (clip, label) == (2.0, "label") and optimizer.param_groups[0]["weight_decay"] == 1e-4


def test_the_trivial_loss_is_two_margins_a_negative(fitted):
    """For six pairs and a margin of 2.5: 2 α B with the hardest, (B - 1) times that with all."""
    assert fitted(0, all_violations=0.5).levels == [150.0, 150.0, 30.0, 30.0]


def test_fit_drops_regions_in_training_alone(fitted):
    asked = fitted(0).asked
    assert [tuple(raw.shape) for raw in asked] == [(6, 8, 3)] * 4 + [(5, 10, 3)]
    assert fitted(0, region_drop=0.0).asked[0].shape == (6, 10, 3)


def test_a_tuning_seed_sees_dev_and_a_reporting_seed_test(fitted):
    report = fitted(0)
    assert report.found["best step"] == 3
    assert 0 < report.found["test RSUM"] < 600 and "dev RSUM" not in report.found
    assert report.asked[-1][:, 0, 0].tolist() == [17, 18, 19, 20, 21]
    assert report.found["test 1K RSUM"] == 600  # five folds of one image
    assert np.load(report.folder / "ranks_i2t.npy").tolist() == [1, 6, 6, 6, 6]
    assert np.load(report.folder / "ranks_t2i.npy").shape == (25,)
    tuned = fitted(1000)
    assert 0 < tuned.found["dev RSUM"] < 600 and "test RSUM" not in tuned.found
    assert tuned.asked[-1][:, 0, 0].tolist() == [12, 13, 14, 15, 16]
    assert 0 < report.look(4) < 600 and report.asked[-1][:, 0, 0].tolist() == [12, 13, 14, 15, 16]


def test_a_split_is_compared_a_thousand_captions_at_a_time(monkeypatch):
    """1,200 captions of one to three words in two parts, each no longer than its longest."""
    shapes, shown = [], []

    class Watched(Matcher):
        def text(self, ids, lengths):
            shapes.append((tuple(ids.shape), lengths.tolist()))
            return super().text(ids[:, :1], lengths)

    class Words:
        def encode(self, captions):
            lengths = torch.ones(len(captions), dtype=int)
            lengths[3], lengths[1100] = 2, 3
            return torch.tensor([[int(c) + 1, 0, 0, 0] for c in captions]), lengths

    images = torch.arange(240.0)[:, None, None].expand(240, 10, 3).half().numpy()
    dataset = SimpleNamespace(splits={"dev": np.arange(240)}, captions_of=lambda split: range(1200))
    monkeypatch.setattr(chan.progress, "show", lambda label, *done: shown.append(done))
    model, run = Watched(chan.Config(regions=10)), SimpleNamespace(array=lambda name: images)
    scores = chan.evaluate(model, Words(), dataset, run, "dev")
    captions = torch.arange(1200) // 5 // 2
    assert torch.equal(scores, -(torch.arange(240)[:, None] // 2 - captions).abs().float())
    assert [shape for shape, _ in shapes] == [(1000, 2), (200, 3)]
    assert shapes[1][1][100] == 3 and shown == [(1000, 1200), (1200, 1200)]


def test_permuted_captions_go_to_another_image_together(fitted):
    """The control's loss is that of strangers; the captions of an image stay together."""
    plain, permuted = fitted(0).steps[0], fitted(0, permute_captions=True).steps[0]
    assert sum(permuted) > 1.5 * sum(plain) and permuted != plain
    assert fitted(0, permute_captions=True).steps[0] == permuted
