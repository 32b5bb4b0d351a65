"""Curves of training: found by exhibit, drawn for the report, and exported as event files."""

import csv
import json
import struct

import numpy as np
import pytest
from alignbook.evidence import learnt
from alignbook.show import curves
from alignbook.store import durable, runs
from alignbook.workbook import checks, command, exhibits, folders
from alignbook.workbook.reports import report_curves, tensorboard
from alignbook.workbook.running import main_job


def keep(store, key, loss=(), dev=(), inputs=(), asked=(), config=None, trained=True, trivial=10.0):
    """A stored run, of which only what curves are made from is there."""
    folder = store / key
    folder.mkdir(parents=True)
    record = {
        "inputs": list(inputs),
        "asked": list(asked),
        "module": "alignbook.papers.chan.model",
        "config": config or {},
        "finished": "2031-05-06T07:08:09Z",
    }
    if trained:
        np.save(folder / "loss.npy", np.array(loss, np.float32))
        np.save(folder / "rate.npy", np.linspace(0.5, 0.25, len(loss)).astype(np.float32))
        np.save(folder / "dev.npy", np.array(dev, float).reshape(-1, 2))
    (folder / "metrics.json").write_text(json.dumps({"trivial loss": trivial}))
    record |= {"key": key, "files": durable.described(folder)}
    (folder / "run.json").write_text(json.dumps(runs.sealed(record)))


@pytest.fixture
def out(tmp_path, monkeypatch):
    """A results folder: two arms of CHAN with two seeds; one of GSL that another run measured, with a
    warm-up; one that trains nothing; one whose run is gone.
    """
    store = tmp_path / "store"
    monkeypatch.setattr(runs, "STORE", store)
    for seed in (0, 1):
        keep(store, f"hard{seed}", [4, 2, 1, 0.5 + seed], [(2, 100), (4, 200 + seed)])
        keep(store, f"soft{seed}", np.linspace(100, 1, 600), [(300, 90), (600, 150)])
    keep(store, "warm", [9, 8], [(2, 30)])
    keep(
        store,
        "gsl",
        [7, 6, 5],
        [(3, 60)],
        trivial=7.0,
        inputs=["data", "base"],
        asked=["warm"],
        config={"warm_up_epochs": 1},
    )
    keep(store, "said", inputs=["gsl", "data"], trained=False)
    keep(store, "frozen")
    lines = [
        ("chan-T3", "visual-codebook", "report", 0, "hard0"),
        ("chan-T3", "visual-codebook", "report", 1, "hard1"),
        ("chan-T3", "visual-codebook", "trial", 1000, "hard0"),
        ("chan-T3", "cross-attention", "report", 0, "soft0"),
        ("chan-T3", "cross-attention", "report", 1, "soft1"),
        ("chan-T3", "max", "report", 0, "gone"),
        ("chan-F4", "hard-36", "report", 0, "hard0"),
        ("comalign-TI", "clip → coco", "report", 0, "frozen"),
        ("gsl-switches", "gsl", "report", 0, "said"),
    ]
    with open(tmp_path / "runs.csv", "w", newline="") as file:
        csv.writer(file).writerows([("exhibit", "row", "role", "seed", "run"), *lines])
    return tmp_path


def test_runs_are_the_stored_ones_that_are_reported_in_the_workbook_s_order(out):
    found = report_curves.listed(out)
    assert list(dict.fromkeys(found.exhibit)) == [
        "chan-T3",
        "chan-F4",
        "comalign-TI",
        "gsl-switches",
    ]
    of_t3 = found[found.exhibit == "chan-T3"]
    order = [arm for arm in exhibits.EXHIBITS["chan-T3"].names() if arm in {*of_t3.arm}]
    assert list(dict.fromkeys(of_t3.arm)) == order and "max" not in order  # its run is gone
    assert {*of_t3.key} == {"hard0", "hard1", "soft0", "soft1"} and {*found.role} == {"report"}


def test_a_look_at_the_end_of_a_warm_up_gives_way_to_the_first_one_after_it(out):
    """Both are at step 0: of two models there, that of the run is the one that goes on."""
    more = dict(inputs=["data"], asked=["warm"], trivial=7.0, config={"warm_up_epochs": 1})
    keep(out / "store", "both", [7, 6, 5], [(0, 40), (3, 60)], **more)
    found = curves.of_run(runs.stored("both"))
    assert found["dev"].tolist() == [[0, 40], [3, 60]]
    assert found["loss"][:, 0].tolist() == [-1, 0, 1, 2, 3]


def test_a_warm_up_stands_before_step_0(out):
    """Through the run that measured the trained one."""
    found = curves.of_run(learnt.trained(runs.stored("said")))
    assert found["loss"].tolist() == [[-1, 9], [0, 8], [1, 7], [2, 6], [3, 5]]
    assert found["dev"].tolist() == [[0, 30], [3, 60]]
    assert found["rate"][0].tolist() == [-1, 0.5] and found["rate"][-1].tolist() == [3, 0.25]
    # each part by its own trivial level
    assert found["share"].tolist() == [[-1, 0.9], [0, 0.8], [1, 1.0], [2, 6 / 7], [3, 5 / 7]]


def test_the_page_and_its_figures(out, tmp_path):
    page = tmp_path / "page"
    page.mkdir()
    assert report_curves.write_page(out, page)
    text = (page / "curves.md").read_text("utf-8")
    assert "### chan-F4\n\nIts runs are among those of chan-T3, above." in text
    assert "](chan-T3-training.png)" in text and "marked: cross-attention" in text
    assert sorted(each.name for each in page.glob("*.png")) == [
        "chan-T3-training.png",
        "gsl-switches-training.png",
    ]
    assert "comalign-TI" not in text  # trains nothing


def test_an_exhibit_that_measures_others_runs_has_their_curves(out, tmp_path):
    """Though what it lists are runs of its own."""
    store = tmp_path / "store"
    keep(store, "asked", inputs=["hard0", "data"], trained=False)
    keep(store, "asked of two", inputs=["gsl", "data"], trained=False)
    with open(out / "runs.csv", "a", newline="") as file:
        for line in (
            ("comalign-TII", "clip+comalign", "report", 0, "asked"),
            ("covalign-F5", "shared", "report", 0, "asked"),
            ("covalign-F5", "separate", "report", 0, "asked of two"),
        ):
            csv.writer(file).writerow(line)
    page = tmp_path / "page"
    page.mkdir()
    assert report_curves.write_page(out, page)
    text = (page / "curves.md").read_text("utf-8")
    assert "### comalign-TII\n\nIts runs are among those of chan-T3, above." in text
    assert "](covalign-F5-training.png)" in text  # one of its two stands nowhere else


def test_what_was_drawn_before_is_taken_over_and_nothing_else(out, tmp_path, monkeypatch):
    """A notebook's figure while its numbers are those of now, the last report's by what it was drawn
    from.
    """
    pages = iter(range(9))

    def drawn() -> dict[str, bytes]:
        page = tmp_path / f"page {next(pages)}"
        page.mkdir()
        assert report_curves.write_page(out, page)
        return {file.name: file.read_bytes() for file in page.glob("*.png")}

    first = drawn()
    images = out / "report/_images"
    images.mkdir(parents=True)
    for name, content in first.items():
        (images / name).write_bytes(content)
    with monkeypatch.context() as patch:
        patch.setattr(curves, "draw", lambda points: pytest.fail("drawn once more"))
        assert drawn() == first
        listed = report_curves.listed(out)
        points = curves.table(listed[listed.exhibit == "chan-T3"])
        (out / "figures").mkdir()
        numbers = out / "figures/chan-T3-training.csv"
        numbers.with_suffix(".png").write_bytes(first["gsl-switches-training.png"])
        points.to_csv(numbers, index=False)
        assert drawn()["chan-T3-training.png"] == first["gsl-switches-training.png"]  # a notebook's
        points.assign(value=1.0).to_csv(numbers, index=False)  # of other runs
        assert drawn() == first
    (images / "chan-T3-training.png").write_bytes(first["gsl-switches-training.png"])
    assert drawn() == first  # a figure of other points is drawn anew
    points.to_csv(numbers, index=False)
    numbers.with_suffix(".png").write_bytes(first["chan-T3-training.png"][:-5000])
    assert drawn() == first  # so is one that was cut
    monkeypatch.setattr(report_curves, "code_hash", lambda *names, counts: "other code")
    assert drawn()["chan-T3-training.png"] != first["chan-T3-training.png"]  # it says so


def test_a_results_folder_without_curves_has_no_page(out, tmp_path):
    (out / "runs.csv").write_text("exhibit,row,role,seed,run\nchan-T3,max,report,0,gone\n")
    assert not report_curves.write_page(out, tmp_path) and not (tmp_path / "curves.md").exists()


def events(path):
    """(tag, step, value, wall time) of an event file: records of length, check, content, check."""
    from tensorboardX.proto.event_pb2 import Event

    content, at = path.read_bytes(), 0
    while at < len(content):
        (length,) = struct.unpack_from("<Q", content, at)
        event = Event.FromString(content[at + 12 : at + 12 + length])
        for value in event.summary.value:
            yield value.tag, event.step, value.simple_value, event.wall_time
        at += 16 + length


def test_event_files_hold_loss_rate_and_dev(out, capsys):
    assert tensorboard.main([str(out)]) == 0 and tensorboard.main([str(out)]) == 0  # made anew
    assert "6 runs: tensorboard --logdir" in capsys.readouterr().out
    (file,) = (out / "tensorboard/chan-T3/visual-codebook/1").iterdir()
    found = list(events(file))
    assert [each[:3] for each in found if each[0] == "dev_RSUM"] == [
        ("dev_RSUM", 2, 100.0),
        ("dev_RSUM", 4, 201.0),
    ]
    assert [each[1:3] for each in found if each[0] == "loss"] == [(1, 4), (2, 2), (3, 1), (4, 1.5)]
    rates = [each[2] for each in found if each[0] == "learning_rate"]
    assert len(rates) == 4 and rates[0] == 0.5 and rates[-1] == 0.25
    assert {each[3] for each in found} == {1935817689.0}  # when the run was finished
    assert sorted(path.name for path in (out / "tensorboard").iterdir()) == [
        "chan-F4",
        "chan-T3",
        "gsl-switches",
    ]
    (file,) = (out / "tensorboard/gsl-switches/gsl/0").iterdir()
    assert min(each[1] for each in events(file)) == -1


def test_a_folder_without_runs_is_named(tmp_path, capsys):
    assert tensorboard.main([str(tmp_path)]) == 2
    assert f"{tmp_path}/runs.csv: no stored run" in capsys.readouterr().err


def test_event_files_are_a_setting_that_no_number_depends_on(tmp_path, monkeypatch, capsys):
    (tmp_path / "results").mkdir()
    seen, wrote = [], []
    for module in (folders, main_job):
        monkeypatch.setattr(module, "ROOT", tmp_path)
    monkeypatch.setattr(main_job, "walk", lambda each, *_: seen.append(each) or 0)
    monkeypatch.setattr(tensorboard, "write", lambda out: wrote.append(out.name) or 3)
    words = "--profile smoke --set chan_steps=7".split()
    for more in ([], ["tensorboard=no"], ["tensorboard=yes"]):
        asked = command.parser().parse_args([*words, *(f"--set={each}" for each in more), "chan"])
        assert main_job.run(asked) == 0
    assert seen[0] == seen[1] == seen[2] and seen[0]["set"] == {"chan_steps": "7"}
    assert wrote == ["world-smoke"]
    assert "3 runs: tensorboard --logdir" in capsys.readouterr().out
    monkeypatch.undo()
    for more, said in (
        (["maybe"], "--set tensorboard=maybe: expected yes or no"),
        (["yes", "no"], "tensorboard is yes before"),
    ):
        asked = command.parser().parse_args([f"--set=tensorboard={each}" for each in more])
        with pytest.raises(checks.Refused, match=said):
            main_job.run(asked)


def test_a_start_that_trained_nothing_has_no_event_files_and_is_no_failure(tmp_path, capsys):
    main_job.write_curves(tmp_path)
    assert "runs.csv: no stored run that was trained" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
