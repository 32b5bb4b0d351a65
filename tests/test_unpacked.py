"""A pack of the smoke run on another machine: no training there, and the same numbers."""

import pytest
from conftest import copy_workbook

pytestmark = pytest.mark.slow


def stored(copy) -> dict[str, bytes]:
    """Every file of a copy's runs; run.json says when a run was computed."""
    files = (copy.root / "results/store").glob("[!.]*/*")
    return {str(file.relative_to(copy.root)): file.read_bytes() for file in files}


def test_an_unpacked_machine_trains_nothing(finished, tmp_path):
    done = finished.run("pack", str(tmp_path / "runs.tar.gz"))
    assert done.returncode == 0, done.stderr
    other = copy_workbook(tmp_path / "other work book")
    done = other.run("unpack", str(tmp_path / "runs.tar.gz"))
    assert done.returncode == 0, done.stderr
    assert "nothing to train" in done.stdout and "--profile smoke" in done.stdout
    brought = stored(other)
    assert brought == stored(finished) != {}

    done = other.run("--profile", "smoke", "90_claims")  # which reads every exhibit
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    assert stored(other) == brought
    numbers = [(copy.smoke / "metrics.csv").read_text().splitlines() for copy in (finished, other)]
    assert sorted(numbers[0]) == sorted(numbers[1])  # in the order of the exhibits shown
