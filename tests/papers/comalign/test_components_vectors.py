"""Components as vectors: slots, batches, and what a frozen model makes of crops and phrases."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch
from alignbook.papers.comalign.components import image, said, vectors
from alignbook.papers.comalign.components.vectors import Config

SMALL = Config(entities=2, relations=1)


class Colours(torch.nn.Module):
    """A model that sees the mean colour of a picture."""

    def __init__(self):
        super().__init__()
        self.one = torch.nn.Parameter(torch.ones(1))

    def pixels(self, pictures):
        return torch.from_numpy(np.asarray(pictures)).permute(0, 3, 1, 2).float() / 255

    def encode_image(self, pixels):
        return pixels.mean((2, 3)) * self.one


def found(boxes, relations):
    """Image components from lists of boxes, one list an image."""

    def packed(lists):
        flat = np.array([b for each in lists for b in each], np.float32).reshape(-1, 4)
        offsets = np.concatenate([[0], np.cumsum([len(each) for each in lists])])
        return image.Boxes(flat, np.ones(len(flat), np.float32), offsets)

    return image.Components(packed(boxes), packed(relations), {})


def test_slots_are_the_whole_then_entities_then_relations():
    a, b, c = (0.0, 0.0, 0.5, 0.5), (0.5, 0.5, 1.0, 1.0), (0.0, 0.0, 1.0, 1.0)
    placed = vectors.slots_of(found([[a, b], [], [b]], [[c], [], []]), SMALL)
    assert placed.shape == (3, 4, 4)
    assert placed[0].tolist() == [[0, 0, 1, 1], [*a], [*b], [*c]]
    assert placed[1].tolist() == [[0, 0, 1, 1], [0] * 4, [0] * 4, [0] * 4]
    assert placed[2, 1].tolist() == [*b] and not placed[2, 2:].any()


def test_every_slot_is_its_crop_through_the_model():
    pictures = np.zeros((3, 8, 8, 3), np.uint8)
    pictures[1, :, 4:] = 255, 0, 0  # right half red
    pictures[2, :4] = 0, 255, 0  # upper half green
    left, right, top = (0, 0, 0.5, 1), (0.5, 0, 1, 1), (0, 0, 1, 0.5)
    placed = vectors.slots_of(found([[left, right], [top]], [[], []]), SMALL)
    seen = vectors.encode_images(Colours(), pictures, np.array([1, 2]), placed)
    assert seen.dtype == np.float16 and seen.shape == (2, 4, 3)
    expected = [
        [[0.5, 0, 0], [0, 0, 0], [1, 0, 0], [0, 0, 0]],
        [[0, 0.5, 0], [0, 1, 0], [0, 0, 0], [0, 0, 0]],
    ]
    assert np.abs(seen.astype(float) - expected).max() < 0.15  # a crop's border sees a pixel beyond
    assert not seen[0, 3].any() and not seen[1, 2:].any()


def test_captions_come_first_and_are_encoded_once():
    found = SimpleNamespace(
        texts=["star", "ring"],
        entities=np.array([[0, 1], [1, -1], [0, -1]], np.int32),
        relations=np.array([[-1], [-1], [1]], np.int32),
    )
    phrases, places = said.with_wholes(found, ["a", "b", "a"])
    assert phrases == ["star", "ring", "a", "b"]
    assert places.tolist() == [[2, 0, 1, -1], [3, 1, -1, -1], [2, 0, -1, 1]]


def test_what_captions_say_is_kept_for_the_images_that_count(tmp_path, monkeypatch):
    dataset = SimpleNamespace(
        captions=[f"{'abcdef'[i]}" for i in range(6)],
        captions_per_image=1,
        splits={"train": np.array([0, 1, 2]), "dev": np.array([3, 4]), "test": np.array([5])},
    )
    assert said.rows_of(dataset, said.Config(images=2)).tolist() == [0, 1, 3, 4, 5]
    assert said.rows_of(dataset, said.Config()).tolist() == [0, 1, 2, 3, 4, 5]

    def components(nlp, captions, prepositions, bare, entities, relations):
        assert (captions, prepositions, bare) == (list("adef"), False, False)
        rows = np.full((4, entities), -1, np.int32)
        rows[1, 0] = 0
        return SimpleNamespace(
            texts=["star"],
            entities=rows,
            counts={"no entity": 3},
            relations=np.full((4, relations), -1, np.int32),
        )

    monkeypatch.setattr(said.text, "components", components)
    monkeypatch.setattr(said.parser, "load", lambda pipeline: pipeline)
    config = said.Config(2, 1, prepositions=False, bare=False, images=1)
    counts = said.compute(config, (dataset, None), 0, tmp_path, "cpu")
    assert counts == {"captions": 4, "phrases": 5, "no entity": 3}
    kept = np.load(tmp_path / "captions.npy")
    assert kept[1:3].tolist() == [[-1] * 4] * 2  # not looked at
    assert kept[[0, 3, 4, 5]].tolist() == [
        [1, -1, -1, -1],
        [2, 0, -1, -1],
        [3, -1, -1, -1],
        [4, -1, -1, -1],
    ]
    assert vectors.phrases_of(SimpleNamespace(folder=tmp_path)) == ["star", "a", "d", "e", "f"]


def test_phrases_are_encoded_in_their_own_order(monkeypatch):
    monkeypatch.setattr(vectors, "BATCH", 2)
    batches, bar = [], []
    monkeypatch.setattr(vectors.progress, "show", lambda label, *done: bar.append(done))

    def embed(model, vocabulary, phrases):
        batches.append([len(phrase.split()) for phrase in phrases])
        return torch.tensor([[float(len(phrase)), 1.0] for phrase in phrases])

    monkeypatch.setattr(vectors.base, "embed_captions", embed)
    phrases = ["a b c", "dd", "e f", "ggg", "h i jj"]
    found = vectors.encode_phrases(None, None, phrases)
    assert found.dtype == np.float16 and found[:, 0].tolist() == [5, 2, 3, 3, 6]
    assert batches == [[1, 1], [2, 3], [3]] and bar == [(2, 5), (4, 5), (5, 5)]


def run(**arrays):
    return SimpleNamespace(metrics={"entities": 2}, array=arrays.__getitem__)


def test_a_batch_of_captions_points_to_phrases():
    phrases = np.arange(8, dtype=np.float16).reshape(4, 2)
    captions = np.array([[3, 0, -1, -1], [2, 1, -1, 0], [2, -1, -1, -1]], np.int32)
    batch = vectors.captions_of(run(phrases=phrases, captions=captions), np.array([0, 2]))
    assert batch.slots.tolist() == [0, 1] and batch.entities == 2
    assert batch.present.tolist() == [[True, True], [True, False]]
    assert batch.vectors.tolist() == [[[6, 7], [0, 1]], [[4, 5], [0, 0]]]
    whole = vectors.captions_of(run(phrases=phrases, captions=captions), np.array([1]), trim=False)
    assert whole.slots.tolist() == [0, 1, 2, 3]
    assert whole.present.tolist() == [[True, True, False, True]]
    assert whole.vectors[0, 3].tolist() == [0, 1] and not whole.vectors[0, 2].any()


def test_a_batch_of_images_leaves_out_what_no_image_has():
    boxes = np.zeros((3, 4, 4), np.float32)
    boxes[:, 0], boxes[1, 1], boxes[2, 3] = (0, 0, 1, 1), (0, 0, 0.5, 0.5), (0.2, 0, 1, 1)
    images = np.arange(3 * 4 * 2, dtype=np.float16).reshape(3, 4, 2)
    batch = vectors.images_of(run(images=images, boxes=boxes), np.array([2, 0]))
    assert batch.slots.tolist() == [0, 3]
    assert batch.present.tolist() == [[True, True], [True, False]]
    assert batch.vectors[0].tolist() == images[2, [0, 3]].tolist()
    assert batch.vectors.dtype == torch.float32


def test_kinds_are_chosen_by_slot_not_by_column():
    h = vectors.Components(
        torch.zeros(1, 3, 2),
        torch.ones(1, 3, dtype=torch.bool),
        torch.tensor([0, 2, 3]),
        entities=2,
    )
    assert h.chosen("G").tolist() == [True, False, False]
    assert h.chosen("E").tolist() == [False, True, False]
    assert h.chosen("RG").tolist() == [True, False, True]
    assert h.of("R")[0].shape == (1, 1, 2)


def test_boxes_of_another_file_are_another_input(tmp_path):
    file = tmp_path / "instances.json"
    file.write_text("{}")
    first = vectors.Files((file,)).fingerprint
    file.write_text("[]")
    assert first != vectors.Files((file,)).fingerprint and len(first) == 64
    dataset = SimpleNamespace(images=np.zeros((2, 4, 4, 3)))
    assert len(vectors.boxes_of("grid", dataset, None).offsets) == 3


def test_no_image_with_a_box_still_gives_wholes():
    pictures = np.full((1, 8, 8, 3), 255, np.uint8)
    placed = vectors.slots_of(found([[]], [[]]), SMALL)
    seen = vectors.encode_images(Colours(), pictures, np.array([0]), placed)
    assert seen[0, 0].tolist() == [1, 1, 1] and not seen[0, 1:].any()


def test_a_parser_is_a_treebank_a_pipeline_or_a_problem(tmp_path):
    import spacy
    from alignbook.backbones import pipelines
    from alignbook.errors import DataError
    from alignbook.papers.comalign.components import parser

    assert "nothing is downloaded" in parser.problem("en_core_web_nowhere")
    (tmp_path / "a-train.conllu").write_text("")
    assert parser.is_treebank(str(tmp_path)) and not parser.is_treebank(str(tmp_path / "none"))
    assert "dev" in parser.problem(str(tmp_path))
    (tmp_path / "a-dev.conllu").write_text("")
    assert parser.problem(str(tmp_path)) == ""
    spacy.blank("en").to_disk(tmp_path / "blank")
    assert "without a tagger" in parser.problem(str(tmp_path / "blank"))
    with pytest.raises(DataError, match="tagger"):
        parser.load(pipelines.Named(str(tmp_path / "blank")))
    before = pipelines.Named(str(tmp_path / "blank")).fingerprint
    (tmp_path / "blank/meta.json").write_text("{}")
    assert pipelines.Named(str(tmp_path / "blank")).fingerprint != before
