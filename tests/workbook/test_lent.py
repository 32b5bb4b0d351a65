"""Times of the published reference, where `unpack` brought the runs: taken once, and named as such."""

import json
import subprocess
import sys
from types import SimpleNamespace

import pandas as pd
import pytest
from alignbook import ROOT
from alignbook.evidence import entries
from alignbook.show import kernel_benchmark, run_tables
from alignbook.store import durable, stopwatch
from alignbook.workbook import chapters, exhibits, results
from alignbook.workbook.running import jobs, lent
from test_durable import cut, empty, flip, zero

TIMES = "exhibit,row,seed,run,comparing\nchan-F3,hard,0,{},0.10000000000000001\n"
KERNELS = "device,threads,starts,torch,date\nAMD EPYC,1,1,2.15.0,2026-11-26\n"
WHERE = "another machine, as published (Linux x86_64, 2 cores)"


@pytest.fixture
def book(tmp_path, monkeypatch):
    """A results folder that was lent times of a run of exhibit chan-F3, and a clock that says 9."""
    reference, out = tmp_path / "reference/world-laptop", tmp_path / "world-laptop"
    for name, text in (
        ("efficiency/chan-F3", TIMES.format("a" * 16)),
        ("efficiency/chan-F3-wide", TIMES.format("wide")),
        ("efficiency/gsl-T2", TIMES.format("b" * 16)),
        ("benchmarks/kernels", KERNELS),
    ):
        durable.write(reference / f"{name}.csv", text)
    took = {"machine": "Linux x86_64", "cores": 2, "seconds": 1.5}
    durable.write(reference / "about.json", json.dumps({"starts": [took, took]}))
    lent.lend(out, reference)
    listed = {"exhibit": "chan-F3", "arm": "hard", "role": "report", "seed": 0, "key": "a" * 16}
    book = SimpleNamespace(out=out, profile=SimpleNamespace(name="laptop"), listed=listed)

    def table(book, listed):
        return stopwatch.alone(book, listed, stopwatch.timed, lambda row, key: ())

    monkeypatch.setattr(results, "arms", lambda book, exhibit: pd.DataFrame([book.listed]))
    monkeypatch.setattr(chapters, "cost_of", lambda exhibit: SimpleNamespace(table=table))
    monkeypatch.setattr(stopwatch, "in_fresh_process", lambda *what: {"comparing": 9.0})
    monkeypatch.setattr(kernel_benchmark, "measure", lambda book: measured(book.out))
    return book


def measured(out):
    durable.write(out / "benchmarks/kernels.csv", KERNELS.replace("AMD EPYC", "ours"))


def comparing(book, name="chan-F3") -> float:
    return pd.read_csv(book.out / f"efficiency/{name}.csv").comparing.item()


def test_published_times_are_taken_once_and_said_to_be_of_another_machine(book, capsys):
    assert lent.seconds(book.out) == {
        "chan-F3, time and memory": 2.0,
        "gsl-T2, time and memory": 2.0,
    }
    found = lent.ready(book.out, "efficiency/chan-F3")
    assert {file.stem for file in found} == {"chan-F3", "chan-F3-wide"}
    jobs.efficiency(book, "chan-F3")
    assert not lent.ready(book.out, "efficiency/chan-F3")  # so that the next is measured alone
    assert [*lent.seconds(book.out)] == ["gsl-T2, time and memory"]
    assert f"time and memory of 1 models, measured on {WHERE}" in capsys.readouterr().out
    assert comparing(book) == comparing(book, "chan-F3-wide") == 0.1
    assert "0.10000000000000001" in (book.out / "efficiency/chan-F3.csv").read_text()
    assert not (book.out / "efficiency/gsl-T2.csv").exists()  # its own job would remove it
    for name in ("chan-F3", "chan-F3-wide"):
        assert run_tables.measured_where(book, name) == f" Times measured on {WHERE}."
        (book.out / f"efficiency/{name}.csv").unlink()
    jobs.efficiency(book, "chan-F3")  # of changed code, or because somebody removed them
    assert comparing(book) == 9.0 and run_tables.measured_where(book, "chan-F3") == ""
    assert "another machine" not in capsys.readouterr().out


def test_times_of_other_runs_are_measured_here(book, capsys):
    book.listed["key"] = "c" * 16
    jobs.efficiency(book, "chan-F3")
    assert comparing(book) == 9.0 and run_tables.measured_where(book, "chan-F3") == ""
    assert "another machine" not in capsys.readouterr().out


def test_published_times_of_the_kernels_are_taken_once(book, capsys):
    jobs.benchmark(book)
    assert f"kernels, measured on {WHERE}" in capsys.readouterr().out
    found = kernel_benchmark.table(book)
    assert kernel_benchmark.device_of(found) == (
        f"AMD EPYC, 1 thread, 1 start, PyTorch 2.15.0, 2026-11-26; measured on {WHERE}"
    )
    jobs.benchmark(book)
    assert kernel_benchmark.device_of(kernel_benchmark.table(book)).startswith("ours, ")
    assert "another machine" not in capsys.readouterr().out


@pytest.mark.parametrize("name", ["chan-F3", "chan-F3-wide"])
def test_where_one_of_an_exhibits_lent_times_is_damaged_its_job_is_planned_alone(book, name):
    """Something will be measured. To ask changes nothing: a dry run asks too."""
    file = book.out / f".unpacked/efficiency/{name}.csv"
    cut(file)
    assert lent.ready(book.out, "efficiency/chan-F3") == [] and file.exists()
    assert [*lent.seconds(book.out)] == ["gsl-T2, time and memory"]


@pytest.mark.parametrize("damage", [flip, empty, cut, zero])
def test_lent_times_that_are_no_longer_whole_are_measured_here(book, capsys, damage):
    """And times whose machine can't be read any more say so."""
    damage(book.out / ".unpacked/efficiency/chan-F3.csv")
    damage(book.out / ".unpacked/about.json")
    jobs.efficiency(book, "chan-F3")
    assert comparing(book) == 9.0
    told = capsys.readouterr().err
    assert "chan-F3.csv: cut or altered; set aside, these times are measured here\n" in told
    jobs.efficiency(book, "gsl-T2")
    lines = pd.read_csv(book.out / "efficiency/chan-F3-wide.csv")
    assert set(lines[run_tables.MEASURED_ON]) == {"another machine, as published (unknown)"}


def test_what_a_reference_was_lent_itself_keeps_its_machine(book, tmp_path):
    jobs.efficiency(book, "chan-F3")
    (book.out / "about.json").write_text('{"starts": [{"machine": "ours", "cores": 1}]}')
    lent.lend(tmp_path / "third", book.out)
    lent.take(tmp_path / "third", "efficiency/chan-F3")
    third = SimpleNamespace(out=tmp_path / "third")
    assert run_tables.measured_where(third, "chan-F3") == f" Times measured on {WHERE}."


def test_without_a_reference_nothing_is_lent(tmp_path):
    lent.lend(tmp_path / "out", tmp_path / "nowhere")
    assert not (tmp_path / "out").exists()
    assert not lent.take(tmp_path / "out", "benchmarks/kernels")


def test_to_unpack_draws_no_figure():
    """Loading what draws takes longer than unpacking."""
    code = "import sys, alignbook.workbook.packs.pack; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


def test_a_class_is_lent_as_many_measurements_as_are_made():
    """Otherwise every machine of the class would measure them anew."""
    files = [
        file
        for file in (ROOT / "results/reference").glob("*-laptop/efficiency/*.csv")
        if file.stem in exhibits.EXHIBITS and file.stem != "chan-F4"  # once a seed
    ]
    assert len(files) >= 6
    for file in files:
        counts = pd.read_csv(file).groupby("row").size()
        assert {*counts} == {entries.measurements("laptop")}, file
