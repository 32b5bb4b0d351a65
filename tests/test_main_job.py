"""The main job on the smoke profile: whole, repeated, killed, offline, edited, failing."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import uuid
from pathlib import Path

import nbformat
import numpy as np
import pandas as pd
import pytest
import yardstick
from alignbook.backbones import base
from alignbook.core import retrieval
from alignbook.core.names import BASE_MODEL, slug
from alignbook.datasets import precomp
from alignbook.evidence import learnt
from alignbook.papers.comalign import catalogue, inputs
from alignbook.papers.comalign.components import parser
from alignbook.papers.gsl.catalogue import LABELS
from alignbook.show import curves
from alignbook.store import runs
from alignbook.workbook import exhibits, profiles, results, workbook
from alignbook.workbook.reports import report_curves
from alignbook.workbook.running import execute, jobs
from conftest import BAR, copy_workbook, skip_unless_required, warm_already

pytestmark = pytest.mark.slow

MARK = "ALIGNBOOK_TEST_MARK"  # in the environment of everything a start leads to

OFTEN = {"ALIGNBOOK_CHECKPOINT_SECONDS": "0.1"}  # smoke runs are short

# As little as a way through other data takes; the world's own run tunes and trains for longer.
FEW_PICTURES = ("train_images=60", "dev_images=20", "test_images=25", "base_epochs=1")
BRIEFLY = tuple(
    f"--set={setting}"
    for setting in (
        *("chan_trials=1", "chan_steps=2", "chan_dim=16", "chan_batch=16", "bert_steps=2"),
        *("gsl_images=16", "gsl_dev_images=5", "gsl_test_images=10", "gsl_dim=16"),
        "gsl_epoch_steps=1",
        *("covalign_steps=2", "covalign_dev_images=10", "covalign_test_images=20"),
        *("comalign_images=16", "comalign_steps=2", "comalign_batch=8"),
    )
)

# Brings the loopback interface up in a new network namespace, then becomes the command.
LOOPBACK = """\
import fcntl, os, socket, struct, sys
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
    request = struct.pack("16sH14x", b"lo", 1 | 64)  # IFF_UP | IFF_RUNNING
    fcntl.ioctl(any_socket, 0x8914, request)  # SIOCSIFFLAGS
os.execvp(sys.argv[1], sys.argv[1:])
"""


def marked(mark: str) -> dict[int, str]:
    """Processes with a mark in their environment, and their command lines."""
    if sys.platform != "linux":
        table = subprocess.run(["ps", "-A", "-E", "-o", "pid=,command="], capture_output=True)
        rows = [line.split(maxsplit=1) for line in table.stdout.decode().splitlines()]
        return {int(row[0]): row[1] for row in rows if f"{MARK}={mark}" in row[-1]}
    found = {}
    for process in Path("/proc").iterdir():
        if process.name.isdigit():
            try:
                if f"{MARK}={mark}".encode() in (process / "environ").read_bytes().split(b"\0"):
                    words = (process / "cmdline").read_bytes().replace(b"\0", b" ")
                    found[int(process.name)] = words.decode()
            except OSError:  # ended meanwhile
                pass
    return found


def wait_until(true, seconds: float) -> bool:
    """Wait for something to become true; whether it did in time."""
    end = time.monotonic() + seconds
    while not true():
        if time.monotonic() > end:
            return False
        time.sleep(0.05)
    return True


def kill_during(copy, job: str, *targets: str, **how) -> None:
    """Start a smoke run, kill its top process while a job trains, see everything end.

    What had a checkpoint has one still, unless it was through before the kill reached its process.
    """
    mark = uuid.uuid4().hex
    asked = ("--profile", "smoke", "--no-report", *targets)
    top = copy.start(*asked, **{MARK: mark}, **OFTEN, **how)
    store, seen = copy.root / "results/store", set()

    def training():
        assert top.poll() is None, f"the run ended before its {job} job was seen"
        at_work = any(
            f"alignbook.workbook.running.jobs {job}" in words for words in marked(mark).values()
        )
        seen.update(path.parent.name for path in store.glob(".partial/*/checkpoint.pt") if at_work)
        return seen

    assert wait_until(training, 300), f"no {job} job with a checkpoint within five minutes"
    os.kill(top.pid, signal.SIGKILL)
    top.wait()
    wait_until(lambda: not marked(mark), 5)
    assert marked(mark) == {}
    for run in seen:  # the next start goes on from here
        assert (store / f".partial/{run}/checkpoint.pt").exists() or (store / run).exists()


def folders(root: Path) -> set[Path]:
    """Folders with results and stored runs."""
    inside = {path for path in (root / "results").rglob("*") if path.is_dir()}
    return {path.relative_to(root) for path in inside if ".snakemake" not in path.parts}


def times(copy) -> dict[str, int]:
    """When each of the graph's files was last written."""
    kinds = ("*.json", "*.csv", "notebooks/*.done", "arms/*/*.csv")
    paths = [path for kind in kinds for path in copy.smoke.glob(kind)]
    return {str(path.relative_to(copy.smoke)): path.stat().st_mtime_ns for path in paths}


def changed(before: dict[str, int], after: dict[str, int]) -> set[str]:
    """Files that are new or were written anew."""
    return {name for name, when in after.items() if before.get(name) != when}


@pytest.fixture
def twin(finished, tmp_path):
    """The finished smoke run, to be changed."""
    return finished.twin(tmp_path / "work book")


def test_smoke_run_makes_everything(finished):
    made = {str(path.relative_to(finished.smoke)) for path in finished.smoke.rglob("*")}
    for name in exhibits.NOTEBOOKS:
        assert f"notebooks/{name}.ipynb" in made
        assert execute.failure(finished.smoke / f"notebooks/{name}.ipynb") is None
        assert f" notebook {name}" in finished.said  # its line of progress
    for name, exhibit in exhibits.EXHIBITS.items():
        assert {f"arms/{name}/{slug(arm)}.csv" for arm in exhibit.names("world")} <= made
    assert {"tables/chan-T3.csv", "tables/chan-T3.md", "figures/chan-T3.png"} <= made
    noted = [
        name
        for done in finished.smoke.glob("notebooks/*.done")
        for name in json.loads(done.read_text())
    ]
    shown = {name for name in made if name.startswith(("tables/", "figures/"))}
    assert sorted(noted) == sorted({*shown, "claims.csv", "contrasts.csv"})
    assert {"metrics.csv", "summary.csv", "timings.csv", "runs.csv"} <= made
    assert "results/world-smoke" in finished.said
    heads = re.findall(r"(?m)^(?:… )?(\d+) of (\d+) · .* left · ", finished.said)
    done = [int(head[0]) for head in heads]
    assert len({head[1] for head in heads}) == 1 and done == sorted(done)
    assert done[-1] + 3 >= int(heads[-1][1]) > len(exhibits.NOTEBOOKS)
    assert "\r" not in finished.said and "\x1b" not in finished.said
    assert "hard coding" not in finished.said  # of the kernels' table, which is in its file
    assert "hard coding" in (finished.smoke / "benchmarks/kernels.txt").read_text()
    assert not (finished.smoke / ".live").exists()
    assert finished.silence <= 32, "a line at least every half a minute"


DRAWN = {
    "02-pictures",
    "02-domain-A",
    "02-domain-B",
    "02-domain-W",
    "02-swaps",
    "02-svo",
    "03-retrieved",
    "03-written",
    "03-regions",
    "chan-codebooks",
    "comalign-components",
}


def test_every_figure_has_its_numbers_beside_it_and_an_alt_text(finished):
    folder = finished.smoke / "figures"
    drawn, numbers = ({path.stem for path in folder.glob(f"*.{kind}")} for kind in ("png", "csv"))
    without = drawn - numbers  # pictures and drawings: no numbers are plotted
    assert {name for name in without if not name.endswith("-shapes")} == DRAWN
    for path in (finished.smoke / "notebooks").glob("*.ipynb"):
        for cell in nbformat.read(path, as_version=4).cells:
            for output in cell.get("outputs", []):
                assert output.get("name") != "stderr", (path.name, output.text)  # no warnings
                if "image/png" in output.get("data", {}):
                    assert len(output.metadata["image/png"]["alt"]) > 20, (path.name, cell.source)


def test_figures_draw_the_numbers_of_the_tables(finished):
    shown = pd.read_csv(finished.smoke / "figures/chan-T3.csv").set_index("label")["mean"]
    shown.index = shown.index.str.rstrip(" †‡")  # what had not learnt is marked
    summary = pd.read_csv(finished.smoke / "summary.csv").set_index(["exhibit", "row", "column"])
    for _, label, arm in exhibits.ROWS["chan-T3"]:
        assert shown[label] == pytest.approx(summary["mean"]["chan-T3", arm, "RSUM"])
    drawn = {}
    for path in (finished.smoke / "figures").glob("*-*.csv"):
        lines, chapter = pd.read_csv(path), path.stem.partition("-")[0]
        own = summary[summary.index.get_level_values("exhibit").str.startswith(f"{chapter}-")]
        for column in lines.columns.intersection(["mean", "RSUM"]):
            away = abs(lines[column].dropna().to_numpy()[:, None] - own["mean"].to_numpy()).min(1)
            drawn[path.stem] = (away < 1e-6).all()
    apart = {name for name, all_there in drawn.items() if not all_there}
    assert apart == {"covalign-F5-spread"}  # of maps: in no table
    assert len(drawn) >= 15
    contrasts = pd.read_csv(finished.smoke / "contrasts.csv").set_index(["claim", "contrast"]).value
    for path in (finished.smoke / "figures").glob("claims-*.csv"):
        lines = pd.read_csv(path)
        lines["claim"] = lines.contrast.where(lines.value.isna()).ffill()
        drawn = lines[lines.value.notna()].set_index(["claim", "contrast"]).value
        assert list(drawn) == pytest.approx([contrasts[each] for each in drawn.index])


def test_the_report_is_there_and_named_last(finished):
    assert finished.said.rstrip().splitlines()[-1].endswith("results/world-smoke/report/index.html")
    pages = {path.stem for path in (finished.smoke / "report").glob("*.html")}
    assert {*exhibits.NOTEBOOKS} - {"00_start_here"} | {"index", "search"} <= pages
    text = (finished.smoke / "report/index.html").read_text()
    assert "This notebook" not in text and "Not made so far" not in text
    assert "90_claims.html" in text and "visual-codebook − cross-attention" in text


def test_every_arm_of_the_workbook_has_its_curves(finished, monkeypatch):
    monkeypatch.setattr(runs, "STORE", finished.root / "results/store")
    for line in report_curves.listed(finished.smoke).itertuples():
        run = learnt.trained(runs.stored(line.key))
        if run is None or not len(run.array("loss")):
            continue
        found = curves.of_run(run)
        which = line.exhibit, line.arm, line.seed
        assert found["dev"][-1, 0] == found["loss"][-1, 0] == found["rate"][-1, 0], which
        assert (found["dev"][:, 1] > 0).all() and (found["dev"][:, 1] <= 600).all()
        of_base = line.exhibit == "base-models" or line.arm == BASE_MODEL
        assert of_base or "share" in found, which  # its trivial level is known
    page = (finished.smoke / "report/curves.html").read_text()
    for exhibit in ("base-models", "chan-T3", "comalign-TI", "covalign-ladder", "gsl-F1"):
        assert f"{exhibit}-training" in page


def test_the_curve_of_a_base_model_ends_at_the_model_that_is_kept(finished, monkeypatch):
    monkeypatch.setattr(runs, "STORE", finished.root / "results/store")
    monkeypatch.setattr(workbook, "ROOT", finished.root)
    base_run = runs.stored(json.loads((finished.smoke / "base.json").read_text())["base"])
    book = workbook.Workbook(profiles.get("smoke"), "world", finished.smoke)
    dataset = book.home("A")
    scores = base.similarity(*base.load(base_run), dataset, "dev")
    assert scores.shape == (25, 125)
    assert base_run.array("dev")[-1, 1] == pytest.approx(retrieval.evaluate(scores, 5).rsum)


def test_every_number_says_what_it_was_measured_on(finished):
    metrics = pd.read_csv(finished.smoke / "metrics.csv")
    kinds = metrics.groupby("exhibit").dataset.agg(set)
    assert kinds["chan-T2"] == {"world B"} and kinds["chan-T1"] == kinds["chan-T3"] == {"world"}
    assert kinds["gsl-F1"] == {"world B"} and kinds["gsl-T3"] == kinds["gsl-F2"] == {"world"}
    shown = metrics[(metrics.exhibit == "gsl-T1") & (metrics.column == "i2t R@1")]
    assert set(shown.n) == {profiles.get("smoke").gsl_test_images}
    table_1 = metrics[(metrics.exhibit == "chan-T1") & (metrics.row == "chan")].set_index("column")
    assert len(table_1) == 14 and "mean of 5 folds" in table_1.protocol["1K RSUM"]
    assert table_1.value["1K RSUM"] > table_1.value["5K RSUM"]  # fewer to be mistaken for
    shared = metrics[(metrics.exhibit == "chan-T3") & (metrics.row == "visual-codebook")]
    assert table_1.value["5K RSUM"] == shared.set_index("column").value["RSUM"]
    # The base model among Table 3's arms is measured on their pictures, not on its own domain's.
    numbers = metrics.set_index(["exhibit", "row", "column"]).value
    for column in results.COLUMNS:
        shown = numbers["chan-T3", BASE_MODEL, column]
        assert shown == numbers["base-models", "world-clip", f"A {column}"], column
    assert numbers["base-models", "world-clip", "RSUM"] != numbers["chan-T3", BASE_MODEL, "RSUM"]
    listed = pd.read_csv(finished.smoke / "runs.csv")
    late = listed[listed.row.isin(["chan-bert", "hard-72", "permuted"])]
    assert set(late.role) == {"report"}  # untuned before the overnight profile


def test_the_smoke_run_and_its_report_take_four_minutes_at_most(finished):
    """Beside other tests, on a machine like the one the bar was set on; a slower one has as much more
    time as it needs for the same work.
    """
    allowed = yardstick.allowed(BAR, *finished.yardstick)
    said = f"{finished.seconds:.0f} of {allowed:.0f} s; yardstick {finished.yardstick} s"
    print(said)
    assert finished.seconds <= allowed, said


def test_every_notebook_runs_within_a_minute_from_a_filled_store(finished):
    """As by "Restart & Run All" in Lab; the map comes last and knows of all others."""
    for name in exhibits.NOTEBOOKS:
        executed = nbformat.read(finished.smoke / f"notebooks/{name}.ipynb", as_version=4)
        assert executed.metadata.papermill.duration <= 60, name
        if name == "00_start_here":
            shown = " ".join(
                text
                for cell in executed.cells
                for each in cell.get("outputs", ())
                for text in each.get("data", {}).values()
            )
            assert f"{len(exhibits.NOTEBOOKS) - 1} of {len(exhibits.NOTEBOOKS) - 1}" in shown
            assert "not yet" not in shown and "**not run**" in shown


@pytest.mark.realdata
def test_photographs_go_through_the_same_notebooks(workbook_copy, realdata):
    data = f"flickr8k={realdata / 'flickr8k'}"
    few = [f"--set={setting}" for setting in FEW_PICTURES]
    done = workbook_copy.compute("--data", data, *few, *BRIEFLY)
    out = workbook_copy.root / "results/flickr8k-smoke"
    (left,) = [line for line in done.stdout.splitlines() if line.startswith("left out: ")]
    assert "21_comalign_compositional" in left and "--set probes=DIR" in left
    for name in set(exhibits.resolve([], "flickr8k")) - {"21_comalign_compositional"}:
        assert execute.failure(out / f"notebooks/{name}.ipynb") is None
    metrics = pd.read_csv(out / "metrics.csv")
    # Recalls of Table I are those of a target; the figures of settings have sums of their own.
    others = {"comalign-TI", "comalign-F6", "comalign-F7"}
    shown = [name for name in exhibits.EXHIBITS if name not in others]
    assert len(recalls(metrics)) == 7 * arms_with_recalls("flickr8k", shown=shown)
    assert (metrics[["dataset", "profile"]] == ["flickr8k", "smoke"]).to_numpy().all()
    assert set(recalls(metrics).split) == {"test"} and set(metrics.split) == {"test", "train"}
    assert set(metrics[metrics.split == "train"].exhibit) <= {  # whether noise was found
        name for name in exhibits.EXHIBITS if name.startswith("gsl-")
    }
    index = np.load(out / "noise_index/flickr8k_0.4.npy")
    assert index.dtype == np.int64 and len(index) == 5 * 16


def recalls(metrics):
    """Rows of metrics.csv that are recalls or their sum."""
    return metrics[metrics.column.isin(results.COLUMNS)]


def arms_with_recalls(data: str, overrides: dict | None = None, shown=exhibits.EXHIBITS) -> int:
    """Arms of some exhibits on some data; ways to label that train nothing have none."""
    profile = profiles.get("smoke", data, overrides)
    arms = [
        arm
        for name in shown
        for arm in exhibits.arms(name, data, profile)
        if name != "gsl-F2" or arm not in LABELS
    ]
    return len(arms)


NEVER_SEEN = ("20_comalign", "21_comalign_compositional")


@pytest.mark.realdata
def test_comalign_on_photographs_it_has_never_seen(twin, realdata, tmp_path, monkeypatch):
    """Heads and base model of Flickr8k, grid boxes; COCO's instances, and SugarCrepe's probes."""
    monkeypatch.setattr(runs, "STORE", twin.root / "results/store")
    monkeypatch.setattr(workbook, "ROOT", twin.root)
    parser.load(inputs.parsed_by(workbook.open("smoke"))).to_disk(tmp_path / "english")
    settings = [
        f"comalign_source=flickr8k={realdata / 'flickr8k'}",
        f"probes={realdata}",
        f"parser={tmp_path / 'english'}",
        *FEW_PICTURES,
    ]
    told = [word for text in settings for word in ("--set", text)]
    twin.compute("--data", f"coco={realdata / 'coco'}", *NEVER_SEEN, *told, *BRIEFLY)
    out = twin.root / "results/coco-smoke"
    for name in NEVER_SEEN:
        assert execute.failure(out / f"notebooks/{name}.ipynb") is None
    metrics = pd.read_csv(out / "metrics.csv")
    rows = {*catalogue.PHOTOGRAPHED, catalogue.ALL_PICTURES, "clip+comalign-long"}
    assert set(metrics[metrics.exhibit == "comalign-TI"].row) == rows
    assert set(metrics[metrics.exhibit == "comalign-TI"].n) == {25, 125, 150}  # COCO's test
    probes = metrics[(metrics.exhibit == "comalign-TII") & (metrics.column == "SugarCrepe")]
    assert 0 < set(probes.n).pop() < 305  # those of test alone


def test_precomp_files_go_through_the_same_notebooks(twin, monkeypatch):
    """The world's features and captions as files: no pictures, no base model, the same methods."""
    monkeypatch.setattr(workbook, "ROOT", twin.root)
    monkeypatch.setattr(runs, "STORE", twin.root / "results/store")
    world = workbook.open("smoke")
    files = twin.root / "files"
    precomp.write_dataset(files, world.dataset(), world.features().array("features")[:, :36])
    some = (
        "02_data",
        "03_base_models",
        "14_chan_attention",
        "44_gsl_retrieval",
    )  # without pictures
    twin.compute("--data", f"precomp={files}", *some, *BRIEFLY)
    out = twin.root / "results/precomp-smoke"
    for name in some:
        assert execute.failure(out / f"notebooks/{name}.ipynb") is None
    shown = {
        each
        for name in some
        for each in exhibits.NOTEBOOKS[name].exhibits + exhibits.NOTEBOOKS[name].reads
    }
    found = recalls(pd.read_csv(out / "metrics.csv"))
    assert len(found) == 7 * arms_with_recalls("precomp", shown=shown) > 0
    assert not {"20_comalign", "30_covalign"} & set(exhibits.resolve([], "precomp"))


@pytest.mark.timed
def test_second_run_does_nothing_and_is_quick(twin):
    before, stored = times(twin), folders(twin.root)
    started = time.monotonic()
    done = twin.run("--profile", "smoke")
    seconds = time.monotonic() - started
    assert done.returncode == 0, done.stderr
    assert "up to date" in done.stdout
    assert times(twin) == before and folders(twin.root) == stored
    assert seconds <= 15, f"{seconds:.1f} s"


def test_killed_twice_without_a_network_it_goes_on_to_the_same_numbers(finished, tmp_path):
    """In an empty home too: nothing is looked for elsewhere, and nothing that was finished is lost."""
    alone = ("unshare", "-rn", sys.executable, "-c", LOOPBACK)
    cut = shutil.which("unshare") and not subprocess.run([*alone, "true"]).returncode
    (tmp_path / "home").mkdir()
    how = {"before": alone if cut else (), "HOME": str(tmp_path / "home")}
    copy = copy_workbook(tmp_path / "work book")
    some = ("covalign-T3", "comalign-F4", "gsl-T1")  # and those that they are shown with
    kill_during(copy, "base", *some, **how)
    kill_during(copy, "whole", *some, **how)
    base = times(copy)["base.json"]
    done = copy.run("--profile", "smoke", "--no-report", *some, **OFTEN, **how)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    heading, *rows = (finished.smoke / "metrics.csv").read_bytes().splitlines(keepends=True)
    shown = {
        name
        for target in some
        for book in exhibits.resolve([target])
        for name in exhibits.NOTEBOOKS[book].exhibits
    }
    own = [row for row in rows if row.decode().partition(",")[0] in shown]
    assert len(own) > 100
    assert (copy.smoke / "metrics.csv").read_bytes() == b"".join([heading, *own])
    assert times(copy)["base.json"] == base  # what was finished was kept
    plotted = sorted((copy.smoke / "figures").glob("*.csv"))
    assert len(plotted) >= 5
    for path in plotted:
        assert path.read_bytes() == (finished.smoke / "figures" / path.name).read_bytes(), path.name
    if not cut:
        skip_unless_required("offline", "no right to cut the network off (unshare -rn)")


@pytest.mark.timed
def test_ctrl_c_ends_everything_and_says_how_to_go_on(workbook_copy):
    mark = uuid.uuid4().hex
    environment = {**workbook_copy.environment, MARK: mark}
    top = subprocess.Popen(
        [str(workbook_copy.root / "run_all.sh"), "--profile", "smoke", "02_data"],
        env=environment,
        cwd=workbook_copy.root,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # ignored where tests run
    )  # in a shell's background
    assert wait_until(
        lambda: "alignbook.workbook.running.jobs" in " ".join(marked(mark).values()), 60
    )
    top.send_signal(signal.SIGINT)
    _, words = top.communicate(timeout=15)
    assert top.returncode == 130
    assert "goes on from there" in words and "Traceback" not in words
    assert wait_until(lambda: not marked(mark), 5), marked(mark)


def test_failing_notebook_is_named_and_kept_and_mended_it_runs_alone(workbook_copy):
    path = workbook_copy.root / "notebooks/02_data.ipynb"
    whole = path.read_bytes()
    notebook = nbformat.read(path, as_version=4)
    notebook.cells.append(nbformat.v4.new_code_cell("kept = 1\nraise ValueError('on purpose')"))
    nbformat.write(notebook, path)
    number = len(notebook.cells)

    done = workbook_copy.run("--profile", "smoke", "02_data", **warm_already())
    assert done.returncode == 1
    summary = done.stderr.rpartition("failed:")[2]
    assert f"notebook 02_data, cell {number}: ValueError: on purpose" in summary
    assert "Traceback" not in done.stderr
    executed = workbook_copy.smoke / "notebooks/02_data.ipynb"
    assert execute.failure(executed) == f"cell {number}: ValueError: on purpose"
    front = workbook_copy.smoke / "report/index.html"
    assert f"cell {number}: ValueError: on purpose" in re.sub("<[^>]+>", "", front.read_text())

    path.write_bytes(whole)
    done = workbook_copy.run("--profile", "smoke", "02_data", **warm_already())
    assert done.returncode == 0, done.stderr
    assert execute.failure(executed) is None
    assert "This notebook failed" not in front.read_text()
    assert [one.name for one in executed.parent.glob("*.ipynb")] == ["02_data.ipynb"]
    for switch in ("yes", "no"):  # a setting that changes no number
        switched = "--profile", "smoke", "--set", f"tensorboard={switch}", "--no-report", "02_data"
        done = workbook_copy.run(*switched, "--dry-run")
        assert "world, smoke profile: 0 jobs would run:" in done.stdout, done.stdout
    assert [one.name for one in (workbook_copy.root / "results").glob("world-*")] == ["world-smoke"]


def test_a_lost_figure_and_an_altered_table_are_made_again(twin):
    """Their notebook is executed again, and after it the map; no other."""
    figure = twin.smoke / "figures/01-number-of-pictures.png"
    table = twin.smoke / "tables/01-audit-counts.csv"
    kept, written = figure.read_bytes(), table.read_bytes()
    figure.unlink()
    table.write_bytes(written[:-1] + b"7")
    before = times(twin)
    done = twin.run("--profile", "smoke", "--no-report")
    assert done.returncode == 0, done.stderr
    again = {name for name in changed(before, times(twin)) if "/" in name}
    assert again == {f"notebooks/{name}.done" for name in ("01_reported_numbers", "00_start_here")}
    assert figure.read_bytes() == kept and table.read_bytes() == written
    assert done.stderr.count("; 01_reported_numbers is executed again\n") == 1
    assert (table.parent / ".bad" / table.name).exists()


def test_an_edit_reruns_what_it_concerns(twin):
    """Prose its notebook alone; a docstring nothing; the loss what uses it."""
    before, stored = times(twin), folders(twin.root)
    path = twin.root / "notebooks/11_chan_ablations.ipynb"
    kept, notebook = path.read_bytes(), nbformat.read(path, as_version=4)
    notebook.cells[0].source += "\n\nOne more sentence."
    nbformat.write(notebook, path)
    done = twin.run("--profile", "smoke", "--dry-run")
    assert done.returncode == 0, done.stderr
    assert re.findall(r"(?m)^  (\S+)", done.stdout) == ["notebooks/11_chan_ablations.done"]
    path.write_bytes(kept)

    losses = twin.root / "lib/alignbook/core/losses.py"
    words = losses.read_text()
    assert words.count('"""') >= 4
    losses.write_text(words.replace('"""', '"""In other words: ', 1) + "\n# a remark\n")
    done = twin.run("--profile", "smoke")
    assert done.returncode == 0, done.stderr
    assert "up to date" in done.stdout
    assert times(twin) == before and folders(twin.root) == stored

    losses.write_text(words + "\n_EDITED = True\n")
    done = twin.run("--profile", "smoke", "--dry-run")
    assert done.returncode == 0, done.stderr
    lines = [line for line in done.stdout.splitlines() if line.startswith("  arms/")]
    assert len(lines) == 3  # and not what doesn't use the loss
    for line, chapter in zip(sorted(lines), ("chan", "covalign", "gsl")):
        listed = [name for name in before if name.startswith(f"arms/{chapter}-")]
        assert line.startswith(f"  arms/{chapter}-") and f" and {len(listed) - 1} more " in line
    assert "data.json" not in done.stdout and "notebooks/02_data.done" not in done.stdout
    twin.compute("covalign-T3")
    again = changed(before, times(twin))
    assert {name for name in again if name.startswith("arms/")} == {
        name for name in before if name.startswith("arms/covalign-T3/")
    }
    assert folders(twin.root) > stored  # new runs beside the old ones


def test_trainings_one_by_one_are_those_of_the_chapters(twin):
    """As a cluster does them: what is stored is found, what is gone is trained again, and is equal;
    by two processes together too, but for what they drop out.
    """
    store, before = twin.root / "results/store", (twin.smoke / "metrics.csv").read_bytes()
    made = pd.read_csv(twin.smoke / "runs.csv", dtype={"run": str})
    (gone,) = made[(made.exhibit == "covalign-T3") & (made.row == "regions-16")].run
    there = {path.name for path in store.iterdir()}
    shutil.rmtree(store / gone)
    done = twin.compute("--spread", "seed", "covalign-T3")
    assert "covalign-T3 regions-16, seed 0" in done.stdout
    assert {path.name for path in store.iterdir()} == there
    assert (twin.smoke / "metrics.csv").read_bytes() == before
    file = twin.smoke / "trained/covalign-T3/regions-16/report-0"
    file.unlink()
    shutil.rmtree(twin.smoke / "arms/covalign-T3")
    shutil.rmtree(store / gone)
    twin.compute("--spread", "seed", "--set", "processes=2", "covalign-T3")
    assert file.exists()
    assert json.loads((store / gone / "run.json").read_text())["ranks"] == 2


def test_one_exhibit_of_those_that_are_there_is_computed_no_more(finished):
    done = finished.run("--profile", "smoke", "chan-T3", "--dry-run")
    assert done.returncode == 0, done.stderr
    assert "metrics.csv" in done.stdout  # of the exhibits that are asked for
    assert "arms/" not in done.stdout and "base.json" not in done.stdout


def test_the_verdicts_are_shown_anew_when_those_on_other_data_are_others(finished):
    """They stand beside one another; what else is shown stays."""
    other = finished.root / "results/flickr8k-laptop"
    try:
        other.mkdir()
        (other / "claims.csv").write_text("claim,says,verdict\nchan-faster,so,undecided\n")
        done = finished.run("--profile", "smoke", "--dry-run")
        assert done.returncode == 0, done.stderr
        assert "notebooks/90_claims.done" in done.stdout and "arms/" not in done.stdout
        assert "11_chan_ablations" not in done.stdout
    finally:
        shutil.rmtree(other)
    assert "90_claims" not in finished.run("--profile", "smoke", "--dry-run").stdout


def test_a_start_of_a_part_keeps_the_numbers_of_what_is_there(finished, tmp_path, monkeypatch):
    monkeypatch.setattr(runs, "STORE", finished.root / "results/store")
    out = tmp_path / "out"
    shutil.copytree(finished.smoke, out)
    jobs.collect(workbook.load(out), "chan-T3")
    for name in ("metrics.csv", "summary.csv", "timings.csv", "runs.csv"):
        assert (out / name).read_bytes() == (finished.smoke / name).read_bytes()
    (out / "arms/gsl-T1/0.4.csv").unlink()  # what is not whole doesn't count
    os.utime(out / "arms/covalign-T3/regions-4.csv", (0, 0))  # nor what is of earlier settings
    code_hash = runs.code_hash
    monkeypatch.setattr(
        runs,
        "code_hash",
        lambda module: (  # nor what is of other code
            "new" if module == "alignbook.papers.comalign.model" else code_hash(module)
        ),
    )
    jobs.collect(workbook.load(out), "chan-T3")
    found, whole = (pd.read_csv(each / "metrics.csv") for each in (out, finished.smoke))
    gone = set(whole.exhibit) - set(found.exhibit)
    assert gone > {"gsl-T1", "covalign-T3"} and {name.partition("-")[0] for name in gone} == {
        "gsl",
        "covalign",
        "comalign",
    }
    assert found.equals(whole[~whole.exhibit.isin(gone)].reset_index(drop=True))


def test_unknown_parameter_is_refused_before_anything_runs(tmp_path):
    notebook = nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_code_cell("seeds = 1", metadata={"tags": ["parameters"]})]
    )
    nbformat.write(notebook, tmp_path / "a.ipynb")
    with pytest.raises(ValueError, match="a.ipynb has no parameter seed: .* defines seeds"):
        execute.run_notebook(tmp_path / "a.ipynb", tmp_path / "out/a.ipynb", {"seed": 2})
    assert not (tmp_path / "out").exists()


def test_what_a_kernel_s_sockets_say_as_it_ends_is_not_shown(tmp_path, capfd):
    said = "logging.getLogger('tornado.general').error('Uncaught exception in ZMQStream callback')"
    cell = f"import logging, sys\nlogging.basicConfig(stream=sys.__stderr__)\n{said}"
    source = tmp_path / "a.ipynb"
    nbformat.write(nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell)]), source)
    execute.run_notebook(source, tmp_path / "out/a.ipynb", {})
    assert execute.failure(tmp_path / "out/a.ipynb") is None
    assert "Uncaught" not in capfd.readouterr().err


def test_parameters_arrive_and_an_error_names_its_cell(tmp_path):
    new = nbformat.v4.new_code_cell
    cells = [
        nbformat.v4.new_markdown_cell("# Title"),
        new("seeds = 1", metadata={"tags": ["parameters"]}),
        new("# words first\nassert seeds == 3, f'seeds is {seeds}'"),
    ]
    source = tmp_path / "a.ipynb"
    nbformat.write(nbformat.v4.new_notebook(cells=cells), source)
    execute.run_notebook(source, tmp_path / "out/a.ipynb", {"seeds": 3})
    assert execute.failure(tmp_path / "out/a.ipynb") is None
    with pytest.raises(execute.NotebookFailed, match="a.ipynb, cell 3 .*Error: seeds is 4"):
        execute.run_notebook(source, tmp_path / "out/a.ipynb", {"seeds": 4})
    assert execute.failure(tmp_path / "out/a.ipynb") == "cell 3: AssertionError: seeds is 4"
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["a.ipynb"]
