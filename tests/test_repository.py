"""What people expect in a repository is there, can be read, and stays true."""

import inspect
import json
import os
import pkgutil
import re
import shlex
import subprocess
import tomllib

import pytest
import yaml
from alignbook.workbook import command
from conftest import ROOT

PACKAGE = ROOT / "lib/alignbook"
VERSION = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
WORKFLOW = ROOT / ".github/workflows/test.yml"
DOORS = (
    WORKFLOW,
    ROOT / ".devcontainer/devcontainer.json",
    ROOT / ".binder/postBuild",
    ROOT / "CONTRIBUTING.md",
)


# --- The map of rooms ----------------------------------------------------------------------------


def rooms() -> list[str]:
    """What the map of CONTRIBUTING.md lists, folders with a slash after their names."""
    table = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").partition("|---|---|\n")[2]
    return [line.split("`")[1] for line in table.splitlines() if line.startswith("|")]


def test_every_room_is_in_the_map_exactly_once():
    there = [
        path.stem if path.is_file() else f"{path.name}/"
        for path in PACKAGE.iterdir()
        if path.suffix == ".py" or path.is_dir() and any(path.glob("*.py"))
    ]
    assert sorted(rooms()) == sorted({*there} - {"__init__"})


def test_the_map_is_in_the_order_of_the_contract():
    """A room imports from those below it: as import-linter checks it."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    layers = [name for layer in settings["contracts"][0]["layers"] for name in layer.split(" : ")]
    assert [name.strip("/") for name in rooms()] == layers


def test_the_main_road_leads_through_files_and_names_that_are_there():
    road = (ROOT / "docs/the-main-road.md").read_text(encoding="utf-8")
    steps = re.findall(r"`([\w/]+\.(?:py|yaml))(?::(\w+))?`", road)
    assert len(steps) > 20
    for file, name in steps:
        text = (PACKAGE / file).read_text(encoding="utf-8")
        assert not name or re.search(
            rf"(?m)^ *(?:def|class) {name}\b|^{name} = |as {name}$", text
        ), f"docs/the-main-road.md: {file} has no {name}"


def test_links_of_the_pages_lead_somewhere():
    for page in (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")):
        links = re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text(encoding="utf-8"))
        for link in links:
            assert (page.parent / link).exists(), f"{page.name}: {link}"


# --- Paths that others call ----------------------------------------------------------------------

PUBLIC = (
    "core.similarity.hard_coding",
    "core.similarity.soft_coding",
    "core.similarity.fine_grained_matching",
    "core.losses.hardest_negative_hinge",
    "core.losses.info_nce",
    "core.retrieval.evaluate",
    "papers.gsl.noise.inject",
    "papers.gsl.mixtures.BetaMixture",
    "papers.gsl.mixtures.BetaMixture.fit",
    "papers.gsl.mixtures.BetaMixture.posterior",
    "papers.covalign.model.spatial_concentration",
    "papers.comalign.components.text.extract",
)


@pytest.mark.parametrize("path", PUBLIC)
def test_a_path_that_others_call_is_there_as_documented(path):
    """Its row of docs/environments.md has its signature, as Python writes it."""
    page = (ROOT / "docs/environments.md").read_text(encoding="utf-8")
    written = dict(re.findall(r"(?m)^\| `alignbook\.([\w.]+)` \| `(.+)` \| .+ \|$", page))
    found = pkgutil.resolve_name(f"alignbook.{path}")
    assert str(inspect.signature(found)) == written[path]
    assert {*written} == {*PUBLIC}


# --- Citation and changes ------------------------------------------------------------------------


@pytest.fixture(scope="module")
def citation() -> dict:
    return yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))


def test_the_citation_has_what_its_format_demands(citation):
    assert citation["cff-version"] == "1.2.0" and citation["type"] == "software"
    assert {"message", "title", "authors"} <= citation.keys()
    assert citation["version"] == VERSION and citation["license"] == "Apache-2.0"
    known = {
        "abstract",
        "authors",
        "cff-version",
        "keywords",
        "license",
        "message",
        "references",
        "title",
        "type",
        "version",
    }
    assert citation.keys() <= known
    for work in (citation, *citation["references"]):
        for author in work["authors"]:
            assert author.keys() in ({"name"}, {"family-names", "given-names"}), author


def words(text: str) -> str:
    """A text's letters and digits alone: prints break and hyphenate their titles."""
    return re.sub(r"[\W_]", "", text).lower()


def test_the_four_papers_are_cited_by_their_titles(citation):
    titles = [work["title"] for work in citation["references"]]
    assert len(titles) == 4
    readme = words((ROOT / "README.md").read_text(encoding="utf-8"))
    for work in citation["references"]:
        assert {"type", "title", "authors"} <= work.keys()
        assert work["type"] in ("conference-paper", "article", "unpublished")
        assert words(work["title"]) in readme, work["title"]
        assert ("notes" in work) != ("year" in work)  # what is not known is said


@pytest.mark.realdata
def test_titles_and_authors_are_those_of_the_papers(citation, seeds):
    for paper, work in zip(("chan", "comalign", "covalign", "gsl"), citation["references"]):
        beginning = words(seeds[paper][:3000])
        assert words(work["title"].removeprefix("ComAlign: ")) in beginning, work["title"]
        named = [
            f"{each['given-names']} {each['family-names']}"
            for each in work["authors"]
            if "given-names" in each
        ]
        assert not [name for name in named if words(name) not in beginning]


def test_the_changes_begin_with_the_version_that_is_built():
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert re.search(r"(?m)^## (\S+?),? ", changes)[1].rstrip(",") == VERSION


# --- Machines of others --------------------------------------------------------------------------


def asked(text: str) -> list[list[str]]:
    """What a file asks of run_all.sh, as lists of arguments."""
    lines = re.findall(r"""\./run_all\.sh(?![\w.])([^\n#;)`"]*)""", text)
    return [shlex.split(line.partition(" && ")[0]) for line in lines]


@pytest.mark.parametrize("path", DOORS, ids=lambda path: path.name)
def test_what_is_asked_of_run_all_is_known_there(path):
    found = asked(path.read_text(encoding="utf-8"))
    assert found
    uses = re.findall(r"(?m)^  \./run_all\.sh (\w+)", command.EPILOG)
    for arguments in found:
        if not arguments or arguments[0] not in uses:
            command.parser().parse_args(arguments)  # ends with exit code 2 if it's unknown


def test_the_workflow_runs_smoke_and_tests_without_private_data():
    text = WORKFLOW.read_text(encoding="utf-8")
    flow = yaml.safe_load(text)
    job = flow["jobs"]["tests"]
    assert job["strategy"]["matrix"]["os"] == ["ubuntu-24.04", "macos-14"]
    commands = [step["run"] for step in job["steps"] if "run" in step]
    assert "./run_all.sh --profile smoke" in commands and "./run_all.sh test" in commands
    for step in job["steps"]:
        if "uses" in step:
            assert re.fullmatch(r"actions/[a-z-]+@v\d+", step["uses"])
    cache = next(step["with"] for step in job["steps"] if "cache@" in step.get("uses", ""))
    assert cache["path"] == ".cache/uv" and "requirements.lock" in cache["key"]
    assert flow["permissions"] == {"contents": "read"} and "secrets" not in text
    assert "ALIGNBOOK" not in text  # no data is there, and none of it is required


def test_the_development_container_starts_on_the_workbook():
    said = json.loads((ROOT / ".devcontainer/devcontainer.json").read_text(encoding="utf-8"))
    version = re.fullmatch(r"python:(3\.\d+)-\w+", said["image"])[1]
    assert version in ("3.11", "3.12", "3.13")
    assert said["postCreateCommand"] == "./run_all.sh --profile smoke"
    assert said["postAttachCommand"].startswith("./run_all.sh lab") and said["forwardPorts"] == [
        8888
    ]


def test_binder_sets_itself_up_computes_smoke_and_opens_the_map(tmp_path):
    """Its script, run where run_all.sh only says what it was asked for."""
    folder = tmp_path / "book"
    (folder / ".binder").mkdir(parents=True)
    for path in (ROOT / ".binder").iterdir():
        (folder / ".binder" / path.name).write_bytes(path.read_bytes())
    (folder / "run_all.sh").write_text('#!/bin/sh\necho "$ALIGNBOOK_ENV: $*"\n')
    (folder / "run_all.sh").chmod(0o755)
    assert os.access(ROOT / ".binder/postBuild", os.X_OK)

    def build(**environment):
        return subprocess.run(
            ["bash", ".binder/postBuild"],
            cwd=folder,
            capture_output=True,
            text=True,
            env={"PATH": os.environ["PATH"], **environment},
        )

    assert build().returncode != 0  # elsewhere than on Binder
    env = tmp_path / "env"
    done = build(NB_PYTHON_PREFIX=str(env))
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [f"{env}: doctor", f"{env}: --profile smoke --jobs 1"]
    settings = json.loads((env / "etc/jupyter/jupyter_server_config.json").read_text())
    assert settings["LabApp"]["default_url"] == "/lab/tree/notebooks/00_start_here.ipynb"
    (folder / "runs.tar.gz").touch()
    assert f"{env}: unpack runs.tar.gz" in build(NB_PYTHON_PREFIX=str(env)).stdout
    assert (ROOT / ".binder/runtime.txt").read_text() == "python-3.12\n"


def test_the_container_is_built_of_what_is_there():
    """It copies files of the repository, and is started where the pages say that it is mounted."""
    lines = (ROOT / "Dockerfile").read_text("utf-8").splitlines()
    copied = [name for line in lines if line.startswith("COPY") for name in line.split()[1:-1]]
    assert "requirements.lock" in copied and all((ROOT / name).exists() for name in copied)
    (place,) = (line.split()[1] for line in lines if line.startswith("WORKDIR"))
    assert f'ENTRYPOINT ["{place}/run_all.sh"]' in lines
    for page in (ROOT / "Dockerfile", ROOT / "docs/at-scale.md"):
        assert f'-v "$PWD:{place}" alignbook' in page.read_text("utf-8")
