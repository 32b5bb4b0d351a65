"""Patches of photographs: two maps of one tower, the coarser one brought to the finer one's cells."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch
from alignbook.papers.covalign import inputs, patches, two_towers
from alignbook.store import runs


def test_directions_are_those_of_a_singular_value_decomposition():
    generator = torch.Generator().manual_seed(0)
    cells = torch.randn(400, 6, generator=generator) @ torch.diag(torch.arange(1.0, 7)) + 3
    mean, axes = patches.principal(cells, 4)
    values = cells.double().numpy()
    _, _, theirs = np.linalg.svd(values - values.mean(0))  # the most varied first
    assert mean.numpy() == pytest.approx(values.mean(0), abs=1e-4)
    assert np.abs(axes.T.numpy() @ theirs[:4].T) == pytest.approx(np.eye(4), abs=1e-4)
    assert (axes.gather(0, axes.abs().argmax(0, keepdim=True)) > 0).all()


def test_a_finer_map_lies_between_the_cells_of_the_coarser_one():
    """By a slow loop: each place is between the centres of four cells, or at the border of fewer."""
    cells = torch.randn(2, 49, 3, generator=torch.Generator().manual_seed(1))
    found = patches.finer(cells, 14).view(2, 14, 14, 3)
    coarse = cells.view(2, 7, 7, 3)
    for row in range(14):
        for column in range(14):
            expected = torch.zeros(2, 3)
            for y in range(-1, 8):
                for x in range(-1, 8):
                    down = 1 - abs((row + 0.5) / 2 - (y + 0.5))
                    across = 1 - abs((column + 0.5) / 2 - (x + 0.5))
                    if down > 0 and across > 0:
                        inside = coarse[:, min(max(y, 0), 6), min(max(x, 0), 6)]
                        expected += down * across * inside
            torch.testing.assert_close(found[:, row, column], expected, atol=1e-5, rtol=1e-5)


@pytest.fixture
def seen():
    """What a tower of few numbers left of twelve pictures; the last map's cells by saliency."""
    rng = np.random.default_rng(2)
    last = rng.normal(size=(12, 4, 5)).astype(np.float16)  # row by row
    order = np.stack([rng.permutation(4) for _ in last]).astype(np.uint8)
    fine = rng.normal(size=(12, 16, 3)).astype(np.float16)
    arrays = {
        "features": np.take_along_axis(last, order[..., None].astype(int), axis=1),
        "order": order,
        "patches": fine,
    }
    return SimpleNamespace(
        last=last, fine=fine, array=arrays.__getitem__, metrics={"grid": [4, 4]}, key="seen"
    )


def test_a_patch_has_both_maps_at_its_place(seen, tmp_path, monkeypatch):
    monkeypatch.setattr(patches, "AT_ONCE", 5)
    train = np.arange(3, 9)
    dataset = SimpleNamespace(name="few", splits={"train": train}, captions_per_image=5)
    told = patches.Config(components=2).compute((dataset, seen), 0, tmp_path, "cpu")
    assert told == {"images": 12, "width": 5, "grid": [4, 4]}
    found = np.load(tmp_path / "patches.npy")
    assert found.shape == (12, 16, 5) and found.dtype == np.float16
    assert np.array_equal(found[..., :3], seen.fine)
    mean, axes = patches.principal(torch.from_numpy(seen.last[train]).float().flatten(0, 1), 2)
    expected = patches.finer((torch.from_numpy(seen.last).float() - mean) @ axes, 4)
    assert found[..., 3:].astype(np.float32) == pytest.approx(expected.numpy(), abs=2e-3)


def test_photographs_have_them_and_the_world_has_cells(monkeypatch):
    asked = []
    monkeypatch.setattr(
        runs, "get", lambda config, seed, given, device: asked.append((config, given)) or config
    )

    def book(pretrained):
        return SimpleNamespace(
            profile=SimpleNamespace(covalign_vit="base", bert="minilm" if pretrained else "x"),
            pretrained=pretrained,
            device="cpu",
            dataset=lambda: "data",
            seen=lambda: "seen",
            words=lambda: "words",
            base=lambda: "base",
            bert=lambda: "bert",
        )

    inputs.tokens(book(pretrained=True))
    own = patches.Config()
    assert asked == [(own, ("data", "seen")), (two_towers.Config(), ("data", own, "words"))]
    asked.clear()
    inputs.tokens(book(pretrained=False))
    assert asked == [(two_towers.Config(), ("data", "base", "bert"))]
