"""Arrays filled batch by batch: what an interrupted start filled is taken if it is whole."""

import numpy as np
import pytest
from alignbook.store.shelf import Shelf
from test_durable import cut, empty, flip, lose, zero

BATCHES = np.random.default_rng(0).permutation(12).reshape(6, 2)


def fill(folder, stop=None) -> list[int]:
    """Fill all batches, or those before `stop`; the numbers of those that were not held."""
    shelf = Shelf(folder, "part", {"a": (np.int32, (12, 100)), "b": (np.float16, (12, 300))})
    filled = []
    for number, rows in enumerate(BATCHES[:stop]):
        if not shelf.holds(a=rows, b=rows):
            shelf.fill(a=rows[:, None] + 1, b=rows[:, None] + 1)
            filled.append(number)
    return filled


def is_right(folder) -> bool:
    a, b = np.load(folder / "a.npy"), np.load(folder / "b.npy")
    return (a == np.arange(1, 13)[:, None]).all() and (b == np.arange(1, 13)[:, None]).all()


def test_goes_on_where_it_stopped(tmp_path, capsys):
    assert fill(tmp_path, 4) == [0, 1, 2, 3]
    assert fill(tmp_path) == [4, 5]
    assert fill(tmp_path) == [] and is_right(tmp_path)
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("damage", [flip, empty, cut, zero, lose], ids=lambda each: each.__name__)
@pytest.mark.parametrize("name", ["checkpoint.part", "a.npy", "b.npy"])
def test_what_is_not_whole_is_filled_again(tmp_path, capsys, name, damage):
    fill(tmp_path, 5)
    damage(tmp_path / name)
    again = fill(tmp_path)
    assert is_right(tmp_path) and again[-1] == 5
    assert again == list(range(again[0], 6))
    told = capsys.readouterr().err
    if "batch" in told:  # another byte of an array, or another digit of its hash
        assert damage == flip
        assert f"batch {again[0] + 1} of 5 altered; it and all behind it are made again" in told
    elif damage != lose or name != "checkpoint.part":
        assert again[0] == 0 and f"{name}: cut or altered; set aside, all of it is made" in told
    else:
        assert again[0] == 0 and not told


def test_the_batch_that_was_altered_and_those_behind_it(tmp_path):
    fill(tmp_path)
    array = np.lib.format.open_memmap(tmp_path / "b.npy", "r+")
    array[BATCHES[3, 1], 299] += 1
    array.flush()
    assert fill(tmp_path) == [3, 4, 5] and is_right(tmp_path)


@pytest.mark.parametrize("dtype, rows", [(np.int32, 7), (np.int64, 6)])
def test_another_type_or_number_of_rows_is_another_shelf(tmp_path, capsys, dtype, rows):
    shelf = Shelf(tmp_path, "part", {"a": (np.int32, (6,))})
    assert not shelf.holds(a=np.arange(6))
    shelf.fill(a=np.arange(6))
    other = Shelf(tmp_path, "part", {"a": (dtype, (rows,))})
    assert not other.holds(a=np.arange(6))
    assert other.arrays["a"].dtype == dtype and other.arrays["a"].shape == (rows,)
    assert "a.npy: cut or altered" in capsys.readouterr().err
