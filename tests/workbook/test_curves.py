"""Curves of training: found by exhibit, drawn, written as numbers, and exported as event files."""

import csv
import json
import struct
from xml.etree import ElementTree

import numpy as np
import pytest
from alignbook.store import durable, runs
from alignbook.workbook import checks, command, curves, exhibits, folders, main_job, tensorboard

SVG = "{http://www.w3.org/2000/svg}"


def keep(store, key, loss=(), dev=(), inputs=(), asked=(), config=None, trained=True):
    """A stored run, of which only what curves are made from is there."""
    folder = store / key
    folder.mkdir(parents=True)
    record = {
        "inputs": list(inputs),
        "asked": list(asked),
        "config": config or {},
        "finished": "2031-05-06T07:08:09Z",
    }
    if trained:
        np.save(folder / "loss.npy", np.array(loss, np.float32))
        np.save(folder / "rate.npy", np.linspace(0.5, 0.25, len(loss)).astype(np.float32))
        np.save(folder / "dev.npy", np.array(dev, float).reshape(-1, 2))
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


def test_curves_are_of_what_was_trained_and_reported(out):
    found = curves.of_exhibits(out)
    assert list(found) == ["chan-T3", "chan-F4", "gsl-switches"]  # the workbook's order
    rows = {(c.row, c.seed, c.run) for c in found["chan-T3"]}
    assert rows == {
        ("visual-codebook", 0, "hard0"),
        ("visual-codebook", 1, "hard1"),
        ("cross-attention", 0, "soft0"),
        ("cross-attention", 1, "soft1"),
    }
    first = found["chan-T3"][0]
    assert first.row == next(
        arm
        for arm in exhibits.EXHIBITS["chan-T3"].names()
        if arm in {"visual-codebook", "cross-attention"}
    )
    rate = next(c.points for c in found["chan-T3"] if c.run == "hard0" and c.kind == "rate")
    assert rate[0].tolist() == [1, 0.5] and rate[-1].tolist() == [4, 0.25]


def test_a_warm_up_stands_before_step_0(out):
    """Through the run that measured the trained one."""
    found = {c.kind: c for c in curves.of_exhibits(out)["gsl-switches"]}
    assert found["loss"].run == "gsl"
    assert found["loss"].points.tolist() == [[-1, 9], [0, 8], [1, 7], [2, 6], [3, 5]]
    assert found["dev"].points.tolist() == [[0, 30], [3, 60]]


def test_the_page_its_figures_and_their_numbers(out, tmp_path):
    page = tmp_path / "page"
    page.mkdir()
    assert curves.write_page(out, page)
    text = (page / "curves.md").read_text("utf-8")
    assert (
        "dev RSUM at the end: cross-attention 150, visual-codebook 200.](curves-chan-T3.svg)"
        in text
    )
    assert "### chan-F4\n\nIts runs are among those of chan-T3, above." in text
    assert not (page / "curves-chan-F4.svg").exists()
    root = ElementTree.parse(page / "curves-chan-T3.svg").getroot()
    assert root[0].tag == f"{SVG}title" and "dev RSUM of chan-T3" in root[0].text
    words = [each.text for each in root.iter(f"{SVG}text")]
    assert {"loss", "RSUM on dev", "step", "visual-codebook", "cross-attention"} <= set(words)
    lines = [each for each in root.iter(f"{SVG}path") if each.get("stroke-width") == "1.4"]
    colours = [each.get("stroke") for each in lines]  # two arms, two seeds, two panels
    assert len(lines) == 8 and len(set(colours)) == 2 and colours[:4] == colours[4:]
    assert len(list(root.iter(f"{SVG}circle"))) == 8
    assert (out / "figures/curves-chan-T3.svg").read_text() == (
        page / "curves-chan-T3.svg"
    ).read_text()
    with open(out / "figures/curves-chan-T3.csv", newline="") as file:
        numbers = list(csv.DictReader(file))
    dev = [line["value"] for line in numbers if (line["curve"], line["run"]) == ("dev", "hard1")]
    assert dev == ["100", "201"]
    loss = [line for line in numbers if (line["curve"], line["run"]) == ("loss", "soft0")]
    assert len(loss) == curves.BLOCKS and loss[0]["step"] == "5.5"  # the mean of ten steps
    assert sum(float(line["value"]) for line in loss) / 60 == pytest.approx(50.5, rel=1e-4)


def test_a_results_folder_without_curves_has_no_page(out, tmp_path):
    (out / "runs.csv").write_text("exhibit,row,role,seed,run\nchan-T3,max,report,0,gone\n")
    assert not curves.write_page(out, tmp_path) and not (tmp_path / "curves.md").exists()


def test_lines_stand_where_their_values_are():
    """A loss from 100 to 1 on a logarithmic axis: 10 stands in the middle."""
    points = np.array([[0.0, 100], [10, 10], [20, 1]])
    curve = curves.Curve("a", 0, "key", "loss", points)
    parts = curves.panel([curve], [curve], {"a": "red"}, 50, 30, "loss", "step")
    path = next(part for part in parts if 'stroke="red"' in part).split('"')[1]
    places = [tuple(map(float, each.split())) for each in path[1:].split("L")]
    tall = curves.HEIGHT - curves.TOP - 34
    assert places[0] == (50, 30) and places[2] == (50 + curves.PLOT, 30 + tall)
    assert places[1] == pytest.approx((50 + curves.PLOT / 2, 30 + tall / 2), abs=0.06)


def test_many_arms_stand_in_rows_with_colours_of_their_own():
    found = [
        curves.Curve(f"<arm {i}>", 0, f"{i}", "dev", np.array([[1.0, i], [2, i + 1]]))
        for i in range(13)
    ]
    root = ElementTree.fromstring(curves.draw("chan-T3", found))
    lines = [
        each.get("stroke") for each in root.iter(f"{SVG}path") if each.get("stroke-width") == "1.4"
    ]
    assert [len(set(part)) for part in (lines[:4], lines[4:8], lines[8:])] == [4, 4, 5]
    assert [each.text for each in root.iter(f"{SVG}text")].count("not recorded") == 3  # no loss


@pytest.mark.parametrize("low, high", [(0, 1), (-2, 600), (3.1, 3.4), (5, 5), (0, 12)])
def test_an_axis_has_a_few_round_marks_within(low, high):
    place, marks = curves.scale(low, high, 0, 100)
    assert 1 <= len(marks) <= 6 and all(0 <= place(mark) <= 100 for mark in marks)
    assert marks == sorted(set(marks)) and (low == high or len(marks) >= 3)


# --- TensorBoard ---------------------------------------------------------------------------------


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
