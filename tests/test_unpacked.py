"""A pack of the smoke run on another machine: no training there, and the same numbers."""

import pytest
from conftest import copy_workbook

pytestmark = pytest.mark.slow
# An exhibit a paper, each alone in its notebook, and none that takes the time of anything.
SOME = ("chan-T3", "comalign-TI", "covalign-T5", "gsl-T1")


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

    other.compute(*SOME)
    assert stored(other) == brought
    assert not (other.smoke / "report").exists()  # which none asked for
    heading, *whole = (finished.smoke / "metrics.csv").read_text().splitlines()
    first, *found = (other.smoke / "metrics.csv").read_text().splitlines()
    own = [row for row in whole if row.partition(",")[0] in SOME]
    assert first == heading and sorted(found) == sorted(own) != []
