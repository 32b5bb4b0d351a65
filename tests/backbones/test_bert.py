"""BERT: word pieces of the training captions, masked language modelling, the encoder, folders."""

import json
import math
import pickle
import shutil
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from alignbook.backbones import bert, weight_files
from alignbook.core import training
from alignbook.errors import DataError
from alignbook.store import runs
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer
from tokenizers.implementations import BertWordPieceTokenizer

SMALL = bert.Config(
    layers=1,
    width=32,
    heads=2,
    feed_forward=64,
    positions=24,
    steps=150,
    batch=16,
    learning_rate=1e-2,
)
COLOURS, THINGS = ("red", "blue", "green", "black"), ("dog", "cat", "bird", "house")
# Colour and thing are said twice: a word tells another.
FORMS = "A {0} {1} meets one {0} {1}.", "The {0} {1} and {0} {1}"
TOLD = [form.format(c, t) for c in COLOURS for t in THINGS for form in FORMS]
PAD, UNK, CLS, SEP, MASK = range(5)


pytestmark = pytest.mark.usefixtures("no_network")


def data(train=TOLD, dev=TOLD * 4, test=("a zebra",)):
    splits = {"train": list(train), "dev": list(dev), "test": list(test)}
    return SimpleNamespace(captions_of=splits.__getitem__, fingerprint="told", name="toy")


def trained(folder, config=SMALL, seed=0, dataset=None):
    folder.mkdir(exist_ok=True)
    return bert.compute(config, [dataset or data()], seed, folder, "cpu")


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """An unbroken run: its folder and metrics; the checkpoint, which a store removes, stays."""
    folder = tmp_path_factory.mktemp("whole")
    return folder, trained(folder)


@pytest.fixture(scope="module")
def pieces():
    return bert.WordPieces(bert.word_pieces(TOLD, 4000), positions=24)


def spelled(tokenizer, ids):
    """Words of ids between [CLS] and [SEP]."""
    return " ".join(tokenizer.id_to_token(int(i)) for i in ids[1:-1]).replace(" ##", "")


# --- word pieces ---------------------------------------------------------------------------------


def test_ids_give_the_words_back(pieces):
    ids, lengths = pieces.encode(TOLD)
    for caption, row, n in zip(TOLD, ids, lengths):
        assert row[0] == CLS and row[n - 1] == SEP and (row[n:] == PAD).all()
        assert spelled(pieces.tokenizer, row[:n]) == caption.lower().replace(".", " .")
    assert ids.dtype == lengths.dtype == torch.int64
    assert lengths.tolist() == [10, 8] * 16  # every word said often is one piece
    assert [pieces.tokenizer.token_to_id(name) for name in bert.SPECIAL] == [0, 1, 2, 3, 4]


def test_words_never_said_are_spelled_or_unknown(pieces):
    ids, lengths = pieces.encode(["Reddish bears", "a fox"])
    assert lengths[0] > 4 and spelled(pieces.tokenizer, ids[0, : lengths[0]]) == "reddish bears"
    assert ids[1].tolist()[1:4] == [pieces.tokenizer.token_to_id("a"), UNK, SEP]  # x was never said


def test_long_captions_keep_their_end_and_none_is_empty(pieces):
    long, tokens = "red dog " * 30, pieces.tokenizer.token_to_id
    ids, lengths = pieces.encode(["", long, "red dog cat"], max_words=5)
    assert lengths.tolist() == [2, 5, 5]
    assert ids[0].tolist() == [CLS, SEP, PAD, PAD, PAD]
    assert ids[1].tolist() == [CLS, tokens("red"), tokens("dog"), tokens("red"), SEP]
    assert ids[2].tolist() == [CLS, tokens("red"), tokens("dog"), tokens("cat"), SEP]
    assert pieces.encode([long])[1].tolist() == [24]  # as many as there are positions
    wide = bert.WordPieces(pieces.tokenizer, positions=64)
    assert wide.encode([long])[1].tolist() == [40]


def test_the_same_captions_give_the_same_vocabulary():
    rng = np.random.default_rng(0)  # many ties between many letters
    letters = list("abcdefghijklmnopqrstuvwxyz")
    captions = [" ".join("".join(rng.choice(letters, 6)) for _ in range(8)) for _ in range(60)]
    found = {bert.word_pieces(captions, 300).to_str() for _ in range(6)}
    assert len(found) == 1
    tokenizer = Tokenizer.from_str(found.pop())
    assert tokenizer.get_vocab_size() == 300
    assert not tokenizer.get_added_tokens_decoder()  # letters are pieces, not special tokens


# --- masking -------------------------------------------------------------------------------------


def masked(share=0.15, seed=0):
    lengths = torch.randint(2, 31, (4000,), generator=torch.Generator().manual_seed(seed))
    place = torch.arange(30)
    ids = torch.full((4000, 30), 7).masked_fill(place >= lengths[:, None], PAD)
    ids[:, 0] = CLS
    ids[torch.arange(4000), lengths - 1] = SEP
    read, hidden = bert.mask(ids, lengths, share, 105, np.random.default_rng(seed))
    return ids, ids == 7, read, hidden


def test_the_masked_share_is_drawn_from_the_words_alone():
    ids, words, read, hidden = masked()
    n = int(words.sum())
    assert not (hidden & ~words).any()
    assert torch.equal(read[~hidden], ids[~hidden])
    assert hidden.sum() / n == pytest.approx(0.15, abs=4 * (0.15 * 0.85 / n) ** 0.5)
    first, last = words[:, 1], words.flip(1).int().argmax(1)  # the outermost are drawn as well
    assert hidden[first, 1].float().mean() == pytest.approx(0.15, abs=0.03)
    ends = hidden[first, 29 - last[first]].float().mean()
    assert ends == pytest.approx(0.15, abs=0.03)


def test_of_the_masked_80_10_10():
    ids, _, read, hidden = masked()
    n, now = int(hidden.sum()), read[hidden]
    spread = 4 * (0.1 * 0.9 / n) ** 0.5
    assert (now == MASK).float().mean() == pytest.approx(0.8, abs=4 * (0.8 * 0.2 / n) ** 0.5)
    assert (now == 7).float().mean() == pytest.approx(0.1 + 0.001, abs=spread)  # 1 in 100 again 7
    other = now[(now != MASK) & (now != 7)]
    assert len(other) / n == pytest.approx(0.1 - 0.001, abs=spread)
    assert set(other.tolist()) == set(range(5, 105)) - {7}  # every piece, no special one


def test_a_step_draws_its_own_captions_and_masks(tmp_path, monkeypatch):
    seen = []

    def spy(ids, lengths, share, pieces, rng):
        assert torch.equal((ids != PAD).sum(1), lengths)
        seen.append((ids.clone(), rng.random(3).tolist()))
        return original(ids, lengths, share, pieces, rng)

    original = bert.mask
    monkeypatch.setattr(bert, "mask", spy)
    trained(tmp_path, replace(SMALL, steps=4))
    train, dev = seen[:4], seen[4:]
    assert len({tuple(draws) for _, draws in seen}) == len(seen) == 5
    for epoch in (train[:2], train[2:]):  # 32 captions in two batches of 16, each once
        rows = {tuple(row) for ids, _ in epoch for row in ids.tolist()}
        assert len(rows) == 32
    assert not torch.equal(train[0][0], train[2][0])
    assert len(dev[0][0]) == 4 * len(TOLD)


# --- the encoder ---------------------------------------------------------------------------------


def encoder(dim=8, **changes):
    from transformers import BertModel

    torch.manual_seed(0)
    model = BertModel(bert.architecture(replace(SMALL, **changes), 60), add_pooling_layer=False)
    for value in model.parameters():  # as drawn, BERT's weights are so small that little is mixed
        value.data += 0.3 * torch.randn_like(value)
    return bert.Words(model, dim).eval()


@torch.no_grad()
def test_words_are_the_last_layer_projected():
    net, ids = encoder(), torch.tensor([[2, 9, 12, 7, 3]])
    states = net.bert(ids).last_hidden_state
    expected = states @ net.project.weight.T + net.project.bias
    found = net(ids, torch.tensor([5]))
    assert found.shape == (1, 5, 8)
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=0)


@torch.no_grad()
def test_padding_changes_nothing():
    net, lengths = encoder(layers=2), torch.tensor([7, 2, 5, 12])
    ids = torch.randint(5, 60, (4, 12), generator=torch.Generator().manual_seed(1))
    together = net(ids, lengths)
    for row, n, words in zip(ids, lengths, together):
        alone = net(row[None, :n], n[None])[0]
        torch.testing.assert_close(words[:n], alone, atol=1e-5, rtol=0)
        assert (words[n:] == 0).all()
    behind = torch.arange(12) >= lengths[:, None]
    assert torch.equal(net(ids.masked_fill(behind, 0), lengths), together)


@torch.no_grad()
def test_every_word_sees_the_others_on_both_sides():
    net, lengths = encoder(), torch.tensor([4])
    words = net(torch.tensor([[2, 9, 12, 3]]), lengths)
    for place in (1, 2):
        ids = torch.tensor([[2, 9, 12, 3]])
        ids[0, place] = 30
        moved = (net(ids, lengths) - words).abs().amax(-1)[0]
        assert (moved > 1e-3).all()


def test_bert_is_trained_and_drops_out_but_no_words():
    net, ids, lengths = encoder().train(), torch.full((2, 6), 9), torch.tensor([6, 4])
    first, second = net(ids, lengths), net(ids, lengths)
    assert not torch.equal(first, second)
    net.bert.config.hidden_dropout_prob = 0
    for module in net.modules():
        if isinstance(module, torch.nn.Dropout):
            assert module.p == 0.1
            module.p = 0.0
    torch.testing.assert_close(net(ids, lengths), net.eval()(ids, lengths), atol=1e-5, rtol=0)
    first.sum().backward()
    assert all(p.grad is not None for p in net.parameters())
    inner = {id(p) for p in net.bert.parameters()}
    rest = [name for name, p in net.named_parameters() if id(p) not in inner]
    assert rest == ["project.weight", "project.bias"]


# --- a BERT of one's own -------------------------------------------------------------------------

WORDS = [*bert.SPECIAL, "a", "red", "dog", "##s", "runs", ",", "cafe"]


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    """A folder as a release has it, with the heads it was pretrained with, and the model."""
    from transformers import BertConfig, BertForPreTraining

    torch.manual_seed(2)
    folder = tmp_path_factory.mktemp("source")
    model = BertForPreTraining(
        BertConfig(
            vocab_size=len(WORDS),
            hidden_size=16,
            num_hidden_layers=2,
            num_attention_heads=2,
            intermediate_size=32,
            max_position_embeddings=10,
            hidden_dropout_prob=0.2,
        )
    ).eval()
    for value in model.parameters():
        value.data += 0.3 * torch.randn_like(value)
    model.save_pretrained(folder)
    (folder / "vocab.txt").write_text("\n".join(WORDS))
    tokenizer = BertWordPieceTokenizer(str(folder / "vocab.txt"))
    tokenizer.enable_padding(length=30)
    tokenizer.enable_truncation(3)
    tokenizer.save(str(folder / "tokenizer.json"))
    return folder, model


@pytest.fixture
def folder(source, tmp_path):
    return Path(shutil.copytree(source[0], tmp_path / "own"))


def same_as_source(spec, model):
    found, pieces = bert.load(bert.Pretrained(str(spec)), data())
    ids, lengths = pieces.encode(["A red dog , runs", "dogs"])
    assert ids.tolist() == [[2, 5, 6, 7, 10, 9, 3], [2, 7, 8, 3, 0, 0, 0]]
    assert lengths.tolist() == [7, 4]
    assert not found.training and found.config.hidden_dropout_prob == 0.2
    assert {value.dtype for value in found.parameters()} == {torch.float32}
    with torch.no_grad():
        expected = model.bert(ids, attention_mask=(ids > 0).long()).last_hidden_state
        states = bert.last_layer(found, ids, lengths)
    seen = ids > 0
    torch.testing.assert_close(states[seen], expected[seen], atol=1e-5, rtol=0)
    return pieces


def test_a_folder_gives_the_states_of_its_model(source):
    pieces = same_as_source(*source)
    assert pieces.encode(["a red dog " * 9])[1].tolist() == [10]  # the model's own positions


def test_weights_without_heads_and_in_the_old_forms(source, folder):
    file = folder / "model.safetensors"
    source[1].bert.save_pretrained(folder)  # no heads, no prefix
    same_as_source(folder, source[1])
    state = {
        name.replace("LayerNorm.weight", "LayerNorm.gamma").replace(
            "LayerNorm.bias", "LayerNorm.beta"
        ): value
        for name, value in source[1].state_dict().items()
    }
    state |= {"bert.embeddings.position_ids": torch.arange(10)[None]}
    file.unlink()
    torch.save(state, folder / "pytorch_model.bin")
    same_as_source(folder, source[1])


def test_weights_in_float16_become_float32(folder):
    file = folder / "model.safetensors"
    save_file({name: value.half() for name, value in load_file(file).items()}, file)
    model, _ = bert.Pretrained(str(folder)).load()
    assert {value.dtype for value in model.parameters()} == {torch.float32}


def test_a_vocabulary_alone_is_read_lower_cased_unless_it_holds_capitals(source, folder):
    (folder / "tokenizer.json").unlink()
    pieces = same_as_source(folder, source[1])
    told = ["A Café, a red dogs", "Runs"]
    reference = BertWordPieceTokenizer(str(folder / "vocab.txt"))
    found = [row[:n].tolist() for row, n in zip(*pieces.encode(told))]
    assert found == [each.ids for each in reference.encode_batch(told)]
    cased = [word if word != "cafe" else "Red" for word in WORDS]
    (folder / "vocab.txt").write_text("\n".join(cased))
    _, pieces = bert.Pretrained(str(folder)).load()
    assert pieces.encode(["Red red Dog"])[0].tolist() == [[2, 11, 6, UNK, 3]]


def test_a_name_is_looked_for_under_data_weights(source, folder, monkeypatch):
    monkeypatch.setattr(weight_files, "WEIGHTS", folder.parent)
    same_as_source("own", source[1])
    assert bert.Pretrained("own").label == bert.Pretrained(str(folder)).label == "bert:own"
    (problem,) = bert.Pretrained("bert-base-uncased").problems()
    assert "bert-base-uncased" in problem and "nothing is downloaded" in problem


def test_the_key_tells_every_file_and_no_place(source, folder):
    found = [bert.Pretrained(str(source[0])).key, bert.Pretrained(str(folder)).key]
    assert found[0] == found[1] and len(found[0]) == 16
    settings = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**settings, "hidden_act": "relu"}))
    found.append(bert.Pretrained(str(folder)).key)
    state = load_file(folder / "model.safetensors")
    state["bert.embeddings.LayerNorm.bias"] += 1
    save_file(state, folder / "model.safetensors")
    found.append(bert.Pretrained(str(folder)).key)
    (folder / "tokenizer.json").unlink()
    found.append(bert.Pretrained(str(folder)).key)
    assert len(set(found)) == 4


def change(folder, **settings):
    stated = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(stated | settings))


def rewrite(folder, name, value):
    state = load_file(folder / "model.safetensors")
    state[name] = value
    save_file({k: v for k, v in state.items() if v is not None}, folder / "model.safetensors")


def instead(folder, content):
    (folder / "model.safetensors").unlink()
    (folder / "pytorch_model.bin").write_bytes(content)


def only_words(folder, words):
    (folder / "tokenizer.json").unlink()
    (folder / "vocab.txt").write_text("\n".join(words))


DENSE = "bert.encoder.layer.1.output.dense.weight"
REFUSED = {
    "no settings": (lambda f: (f / "config.json").unlink(), "config.json: not found"),
    "settings cut": (lambda f: (f / "config.json").write_text("{"), "config.json: no JSON"),
    "no weights": (
        lambda f: (f / "model.safetensors").unlink(),
        "model.safetensors or pytorch_model.bin: not found",
    ),
    "no tokenizer": (
        lambda f: [(f / n).unlink() for n in ("tokenizer.json", "vocab.txt")],
        "tokenizer.json or vocab.txt: not found",
    ),
    "pickle": (
        lambda f: instead(f, pickle.dumps({"a": Path("a")}, protocol=2)),
        "pytorch_model.bin: holds more than weights",
    ),
    "empty": (lambda f: instead(f, b""), "pytorch_model.bin: empty"),
    "weights cut": (
        lambda f: (f / "model.safetensors").write_bytes(
            (f / "model.safetensors").read_bytes()[:999]
        ),
        "model.safetensors: damaged",
    ),
    "another width": (
        lambda f: change(f, hidden_size=32),
        r"word_embeddings.weight is \(12, 16\), in the model \(12, 32\)",
    ),
    "a width that heads don't divide": (
        lambda f: change(f, hidden_size=15),
        "config.json: no BERT can be built",
    ),
    "another architecture": (
        lambda f: change(f, model_type="roberta"),
        "config.json: model_type 'roberta', expected 'bert'",
    ),
    "fewer layers in the file": (lambda f: change(f, num_hidden_layers=3), "16 missing"),
    "more layers in the file": (lambda f: change(f, num_hidden_layers=1), "16 unexpected"),
    "not finite": (lambda f: rewrite(f, DENSE, torch.full((16, 32), torch.nan)), "not finite"),
    "integers": (lambda f: rewrite(f, DENSE, torch.zeros(16, 32, dtype=torch.int8)), "torch.int8"),
    "a tensor less": (lambda f: rewrite(f, DENSE, None), "1 missing: encoder.layer.1.output.dense"),
    "tokenizer cut": (
        lambda f: (f / "tokenizer.json").write_text("{}"),
        "tokenizer.json: no tokenizer can be read",
    ),
    "a piece more": (lambda f: only_words(f, [*WORDS, "cat"]), "vocab.txt: 13 pieces.*expected 12"),
    "no end": (
        lambda f: only_words(f, [w if w != "[SEP]" else "x" for w in WORDS]),
        r"\[SEP\] None",
    ),
    "no start": (
        lambda f: only_words(f, [w if w != "[CLS]" else "x" for w in WORDS]),
        r"\[CLS\] None",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_does_not_belong_is_refused(folder, case):
    spoil, expected = REFUSED[case]
    spoil(folder)
    with pytest.raises(DataError, match=expected) as caught:
        bert.load(bert.Pretrained(str(folder)), data())
    assert bert.Pretrained(str(folder)).problems() == [str(caught.value)]
    assert str(folder) in str(caught.value)  # the file, and after it what to do
    assert any(word in str(caught.value) for word in ("take", "put"))


def test_nothing_stands_in_the_way_of_a_whole_folder(folder):
    assert bert.Pretrained(str(folder)).problems() == []


# --- pretraining ---------------------------------------------------------------------------------


def test_only_training_captions_enter_the_vocabulary(whole):
    tokenizer = Tokenizer.from_file(f"{whole[0]}/tokenizer.json")
    assert tokenizer.get_vocab() == bert.word_pieces(TOLD, 4000).get_vocab()
    assert whole[1]["word pieces"] == tokenizer.get_vocab_size() == len(tokenizer.get_vocab())
    assert not any("z" in piece for piece in tokenizer.get_vocab())  # only test says zebra


def test_the_vocabulary_keeps_to_its_limit(tmp_path):
    metrics = trained(tmp_path, replace(SMALL, steps=1, pieces=60))
    assert metrics["word pieces"] == 60


def test_masked_words_are_learnt_from_their_context(whole):
    folder, metrics = whole
    loss = np.load(folder / "loss.npy")
    assert len(loss) == metrics["steps"] == 150
    assert loss[:5].mean() > 3 and loss[-20:].mean() < 1.3
    ids, lengths = bert.WordPieces(bert.word_pieces(TOLD, 4000), 24).encode(TOLD)
    inner = torch.cat([row[1 : n - 1] for row, n in zip(ids, lengths)])
    unigram = inner.bincount().max().item() / len(inner)
    assert unigram < 0.1 and metrics["dev MLM accuracy"] > 0.4
    assert 0 < metrics["dev MLM loss"] < 1.3
    assert metrics["trivial loss"] == pytest.approx(math.log(metrics["word pieces"]), abs=1e-6)


def test_pretraining_begins_with_random_weights_and_leaves_the_encoder(tmp_path):
    from transformers import BertForMaskedLM

    still = replace(SMALL, steps=1, learning_rate=0.0)
    pieces = trained(tmp_path, still, seed=7)["word pieces"]
    torch.manual_seed(7)
    drawn = BertForMaskedLM(bert.architecture(still, pieces)).bert.state_dict()
    left = load_file(tmp_path / "weights.safetensors")
    assert left.keys() == drawn.keys()
    assert all(torch.equal(left[name], drawn[name]) for name in drawn)


def test_the_metrics_are_those_of_dev(tmp_path):
    senseless = ["house one one the", "dog dog green a"] * 400  # more than a chunk of them
    metrics = trained(tmp_path, dataset=data(dev=senseless))
    assert metrics["dev MLM loss"] > 2.5 and metrics["dev MLM accuracy"] < 0.4


def test_two_runs_are_equal_and_another_seed_is_not(whole, tmp_path):
    again = trained(tmp_path / "a")
    assert again["checksum"] == whole[1]["checksum"]
    same = [k for k in again if k != "training seconds"]
    assert {k: again[k] for k in same} == {k: whole[1][k] for k in same}
    short = replace(SMALL, steps=2)
    seeds = {trained(tmp_path / f"{s}", short, s)["checksum"] for s in (0, 1)}
    assert len(seeds) == 2


def test_a_resumed_run_equals_an_unbroken_one(whole, tmp_path, monkeypatch):
    class Stop(Exception):
        pass

    def stop(*arguments):
        calls.append(arguments)
        if len(calls) == 41:
            raise Stop
        return original(*arguments)

    calls, original = [], bert.guesses
    monkeypatch.setattr(training, "CHECKPOINT_SECONDS", 0.0)
    monkeypatch.setattr(bert, "guesses", stop)
    with pytest.raises(Stop):
        trained(tmp_path)
    assert (tmp_path / "checkpoint.pt").exists() and not (tmp_path / "weights.safetensors").exists()
    resumed = trained(tmp_path)
    assert len(calls) == 41 + 110 + 1  # the step that broke, the 110 left, dev
    assert resumed["checksum"] == whole[1]["checksum"]
    assert np.array_equal(np.load(tmp_path / "loss.npy"), np.load(whole[0] / "loss.npy"))


def test_a_run_is_loaded_as_it_was_trained(tmp_path, monkeypatch):
    monkeypatch.setattr(runs, "STORE", tmp_path)
    monkeypatch.setattr(runs, "code_hash", lambda module: "code")
    dataset, config = data(), replace(SMALL, steps=2)
    run = runs.get(config, 3, (dataset,))
    model, pieces = bert.load(run, dataset)
    assert not model.training and training.checksum(model) == run.metrics["checksum"]
    assert run.metrics["parameters"] == sum(p.numel() for p in model.parameters())
    assert model.config.hidden_dropout_prob == model.config.attention_probs_dropout_prob == 0.1
    assert (model.config.num_hidden_layers, model.config.num_attention_heads) == (1, 2)
    assert model.config.intermediate_size == 64
    assert pieces.positions == 24 and len(pieces) == run.metrics["word pieces"]
    assert pieces.encode(TOLD)[0].max() < len(pieces) == model.config.vocab_size
