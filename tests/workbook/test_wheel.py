"""The wheel is the library: built, put into an empty environment, used from an empty folder."""

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path
from types import SimpleNamespace

import pytest
from alignbook.evidence import claims
from conftest import ROOT

PACKAGE = ROOT / "lib/alignbook"

# What a stranger does with the library: nothing of the workbook's folder is there.
USED = """
import json, sys
import torch
import alignbook
import alignbook.evidence.print_checks, alignbook.papers.chan.rivals, alignbook.backbones.bert, alignbook.papers.chan.model, alignbook.evidence.claims
import alignbook.papers.comalign.model, alignbook.papers.comalign.components.text, alignbook.core.compositional, alignbook.papers.covalign.model
import alignbook.datasets, alignbook.papers.gsl.model, alignbook.evidence.statistics, alignbook.evidence.rounding
import alignbook.core.kernels, alignbook.core.losses, alignbook.papers.gsl.mixtures, alignbook.papers.gsl.noise
import alignbook.papers.gsl.coteaching, alignbook.workbook.profiles, alignbook.evidence.printed_tables, alignbook.core.retrieval
import alignbook.store.runs, alignbook.core.sgraf, alignbook.core.similarity, alignbook.backbones.towers, alignbook.workbook.workbook
import alignbook.world
from alignbook import world
from alignbook.backbones import towers
from alignbook.core import retrieval, similarity
from alignbook.evidence import claims, printed_tables
from alignbook.store import runs
from alignbook.workbook.reports import report

told = {"file": alignbook.__file__, "path": sys.path, "loaded": [*sys.modules]}

regions = torch.tensor([[[1.0, 0.0], [0.0, 2.0]], [[-1.0, 0.0], [0.6, 0.8]]])
words = torch.tensor([[[3.0, 0.0], [0.6, 0.8]]])  # cosines 1 and 0, .6 and .8; -1 and .6, -.6 and 1
told["similarity"] = similarity.hard_coding(regions, words, pooling="mean").tolist()
told["r1"] = retrieval.evaluate(torch.eye(2).numpy(), captions_per_image=1).t2i[1]
told["claims"] = {claim.id: claim.says for claim in claims.load()}
told["printed"] = printed_tables.table("comalign-TI").loc[0, ["row", "value"]].tolist()
told["configs"] = sorted(path.name for path in towers.CONFIGS.iterdir())

def refusal(call, *arguments):
    try:
        call(*arguments)
    except ValueError as error:
        return str(error)

told["get"] = refusal(runs.get, world.Config(), 0)
told["stored"] = refusal(runs.is_stored, "0" * 16)
told["report"] = refusal(report.build, "results")
print(json.dumps(told))
"""

# A run of one's own, whose folder ALIGNBOOK_HOME names.
STORED = """
import json
from dataclasses import dataclass
from alignbook.store import runs

@dataclass(frozen=True)
class Toy:
    width: int = 3

    def compute(self, inputs, seed, folder, device):
        return compute(self, inputs, seed, folder, device)

def compute(config, inputs, seed, folder, device):
    return {"dev RSUM": config.width + seed}

runs.code_hash = lambda module: "code"
runs._versions = lambda: {}
run = runs.get(Toy(), 4)
print(json.dumps([str(run.folder), runs.stored(run.key).metrics]))
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    """The wheel, built offline by the environment's setuptools, as pip does without isolation."""
    source = tmp_path_factory.mktemp("source")
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source / name)
    ignore = shutil.ignore_patterns("__pycache__")
    shutil.copytree(PACKAGE, source / "lib/alignbook", ignore=ignore)
    build = "from setuptools import build_meta; build_meta.build_wheel('built')"
    done = subprocess.run(
        [sys.executable, "-I", "-c", build], cwd=source, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return next((source / "built").glob("*.whl"))


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory):
    """An environment that holds the wheel alone, and borrows what it depends on from ours.

    A line of a .pth file adds a folder, but not that folder's own .pth files: the editable install
    of the checkout is not seen.
    """
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder / "env", symlinks=True)
    inside = {"base": str(folder / "env"), "platbase": str(folder / "env")}
    packages = Path(sysconfig.get_path("purelib", "venv", vars=inside))
    zipfile.ZipFile(wheel).extractall(packages)
    ours = dict.fromkeys(sysconfig.get_path(name) for name in ("purelib", "platlib"))
    (packages / "borrowed.pth").write_text("\n".join(ours) + "\n")
    for name in ("home", "empty"):
        (folder / name).mkdir()
    python = Path(sysconfig.get_path("scripts", "venv", vars=inside)) / "python"
    without = ("PYTHONPATH", "ALIGNBOOK_HOME", "ALIGNBOOK_LIFELINE")
    environment = {name: value for name, value in os.environ.items() if name not in without}

    def run(*arguments, **more):
        return subprocess.run(
            [str(python), "-I", *arguments],
            cwd=folder / "empty",
            capture_output=True,
            text=True,
            timeout=120,
            env={**environment, "HOME": str(folder / "home"), **more},
        )

    return SimpleNamespace(run=run, folder=folder, packages=packages)


@pytest.fixture(scope="module")
def told(installed) -> dict:
    """What the library said of itself in that environment."""
    done = installed.run("-c", USED)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_the_wheel_holds_every_file_of_the_package(wheel):
    held = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    there = {
        f"alignbook/{path.relative_to(PACKAGE)}"
        for path in PACKAGE.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert held == there
    for name in (
        "py.typed",
        "papers/gsl/printed/claims.yaml",
        "papers/chan/printed/chan-T1.csv",
        "explorer/explorer.js",
        "backbones/base_configs/world-clip.json",
    ):
        assert f"alignbook/{name}" in held


def test_it_is_the_wheel_that_is_used(told, installed):
    assert Path(told["file"]).parent == installed.packages / "alignbook"
    assert not [place for place in told["path"] if Path(place).resolve() == ROOT / "lib"]


def test_models_and_kernels_compute(told):
    assert told["similarity"] == [[pytest.approx(0.9)], [pytest.approx(0.8)]]
    assert told["r1"] == 100


def test_printed_tables_claims_and_configurations_are_read(told):
    ours = {claim.id: claim.says for claim in claims.load()}
    assert told["claims"] == ours and len(ours) > 40
    assert told["printed"] == ["CLIP-ViT-B/32", 50.0]
    assert told["configs"] == ["world-clip-large.json", "world-clip.json"]


@pytest.mark.parametrize(
    "name",
    [
        "IPython",
        "jupyterlab",
        "matplotlib",
        "myst_nb",
        "nbconvert",
        "papermill",
        "seaborn",
        "snakemake",
        "sphinx",
        "ultralytics",
    ],
)
def test_the_library_loads_nothing_of_the_workbooks(told, name):
    assert "torch" in told["loaded"] and name not in told["loaded"]


def test_the_stores_place_is_asked_for(told, installed):
    for name in ("get", "stored"):
        assert "ALIGNBOOK_HOME=FOLDER" in told[name] and "alignbook.store.runs.STORE" in told[name]
    assert "results/store" in told["get"]
    for left in ("results", "data"):  # nothing beside site-packages, or where one stands
        assert not list(installed.folder.rglob(left))


def test_runs_lie_where_they_are_told_to(installed):
    place = installed.folder / "place"
    done = installed.run("-c", STORED, ALIGNBOOK_HOME="../place")
    assert done.returncode == 0, done.stderr
    folder, metrics = json.loads(done.stdout)
    assert Path(folder).parent == place / "results/store" and metrics == {"dev RSUM": 7}
    assert (Path(folder) / "run.json").is_file()
    shutil.rmtree(place)


def test_what_needs_the_checkout_says_so(told, installed):
    assert "the report needs the workbook's own folder" in told["report"]
    done = installed.run("-m", "alignbook", "--profile", "smoke")
    assert done.returncode == 2 and "needs the workbook's own folder" in done.stderr
    assert done.stderr.count("\n") == 1 and "run_all.sh" in done.stderr
