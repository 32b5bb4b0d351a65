"""Every file of every form in which data are read counts by what it holds, and is what is read."""

from pathlib import Path

import numpy as np
import pytest
from alignbook.datasets import by_name, regions
from alignbook.store import contents
from test_bad_input import ALL, GOOD, published_sizes

__all__ = ["published_sizes"]  # for every test here, too
FORMS = {  # by the name of data, as --data has it
    "flickr8k": "flickr8k",
    "Karpathy": "flickr8k",
    "part of flickr30k": "flickr30k",
    "captions.txt": "flickr8k",
    "results.csv": "flickr30k",
    "COCO captions": "coco",
    "precomp": "f30k_precomp",
    "regions beside": "flickr8k",
}
PICTURES = (".jpg", ".png")


def test_every_form_is_here():
    made = {name: good.read.__qualname__ for name, good in GOOD.items()}
    forms = {name for name, read in made.items() if read.startswith("collection.")}
    forms -= {name for name in forms if name.startswith("real ")}
    assert forms == FORMS.keys()


def swapped(text: str) -> str:
    """Another word, or names or lines in another order; the same text where one name is all."""
    exchanged = text.replace("1.jpg", "#").replace("3.jpg", "1.jpg").replace("#", "3.jpg")
    for other in (text.replace("Caf", "Raf", 1), exchanged):
        if other != text:
            return other
    return "".join(text.splitlines(keepends=True)[::-1])


def swap(file: Path) -> None:
    """Other numbers or other text, as good as what was there."""
    if file.suffix == ".npy":
        np.save(file, np.load(file)[..., ::-1])
    elif file.suffix == ".npz":
        found = regions.read(file)
        regions.write(file, found._replace(features=found.features[::-1]))
    else:
        file.write_text(swapped(file.read_text(encoding="utf-8")), encoding="utf-8")


@pytest.mark.parametrize("form", FORMS)
def test_a_swapped_file_is_other_data(form, tmp_path, monkeypatch):
    monkeypatch.setattr(contents, "KNOWN", tmp_path / "known")
    good, folder = GOOD[form], tmp_path / "named"
    folder.mkdir()
    good.write(folder)
    spec = f"{FORMS[form]}={folder}"
    before, read = by_name.source(spec, ALL), good.read(folder, tmp_path / "made")
    files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    changed = 0
    for file in (path for path in files if path.suffix not in PICTURES):
        kept = file.read_bytes()
        swap(file)
        if file.read_bytes() != kept:  # a list of one name is as it was
            changed += 1
            assert by_name.source(spec, ALL) != before, file.name
            assert good.read(folder, tmp_path / "made") != read, file.name
        file.write_bytes(kept)
        assert by_name.source(spec, ALL) == before
    assert changed
