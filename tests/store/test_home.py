"""The folder of data and results: the checkout's, the one that is named, or none and it is said."""

import os
import pickle
from pathlib import Path

import pytest
from alignbook.store import contents, home
from conftest import ROOT

HERE = ROOT / "lib/alignbook"


@pytest.fixture
def alone(tmp_path) -> Path:
    """A package's folder without a checkout around it."""
    package = tmp_path / "site-packages/alignbook"
    package.mkdir(parents=True)
    return package


def test_a_checkout_is_its_own_home(tmp_path):
    assert home.find(HERE) == ROOT
    assert home.find(HERE, str(tmp_path)) == ROOT


@pytest.mark.parametrize("name", ["run_all.sh", "Snakefile"])
def test_one_file_of_that_name_makes_no_checkout(alone, name):
    (alone.parents[1] / name).touch()
    assert not home.is_checkout(alone)


def test_a_named_folder_is_taken_from_where_one_stands(alone, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "me"))
    assert home.find(alone, "runs") == tmp_path.resolve() / "runs"
    assert home.find(alone, "~/runs") == tmp_path / "me/runs"
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize(
    "use",
    [
        lambda place: place.exists(),
        lambda place: place.mkdir(),
        lambda place: sorted(place.glob("*")),
        lambda place: open(place),
        os.fspath,
        Path,
        lambda place: Path("a") / place,
        lambda place: place.parent,
    ],
)
def test_a_place_without_a_home_is_refused_where_it_is_used(alone, use):
    place = home.find(alone) / "results" / Path("store")
    with pytest.raises(
        ValueError, match="<ALIGNBOOK_HOME>/results/store: .* ALIGNBOOK_HOME=FOLDER"
    ):
        use(place)


def test_such_a_place_can_be_shown_compared_and_copied(alone):
    place = home.find(alone) / "data"
    assert f"{place}" == "<ALIGNBOOK_HOME>/data" and place != Path("data")
    assert str(pickle.loads(pickle.dumps(place))) == str(place)


def test_files_are_hashed_without_a_home(alone, tmp_path, monkeypatch):
    monkeypatch.setattr(contents, "KNOWN", home.find(alone) / ".cache/hashes")
    monkeypatch.setattr(contents, "YOUNG", -10.0)  # it would be kept
    (tmp_path / "file").write_bytes(b"abc")
    assert contents.sha256([tmp_path / "file"])[0].startswith("ba7816bf")


def test_the_checkout_is_asked_for(alone, monkeypatch):
    home.needs_checkout("the report")
    monkeypatch.setattr(home, "__file__", str(alone / "home.py"))
    with pytest.raises(
        ValueError, match="the report needs .*run_all.sh.* runs from .*site-packages"
    ):
        home.needs_checkout("the report")
