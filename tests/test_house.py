"""The house: rooms, arrows that go one way, sizes, names; and which edit retrains what."""

import ast
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT

PACKAGE = ROOT / "lib/alignbook"
FILES = sorted(PACKAGE.rglob("*.py"))
PAPERS = ("chan", "comalign", "covalign", "gsl")
LONGEST_MODULE, LONGEST_FUNCTION, MOST_ARGUMENTS = 500, 60, 9
# Not yet cut: a training with two networks, its cost, a parse, two figures, one loop for all.
STILL_LONG = {
    "core/training.py": {"fit"},
    "papers/chan/show.py": {"sheet"},
    "papers/comalign/model.py": {"compute"},
    "papers/gsl/cost.py": {"measure"},
    "papers/gsl/coteaching.py": {"fit"},
    "papers/gsl/model.py": {"soft_labels"},
    "papers/gsl/pipeline.py": {"pipeline"},
    "world/parses.py": {"parse"},
}


def tool(name: str, *arguments: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        [str(Path(sys.executable).with_name(name)), *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(
    "command",
    [["lint-imports", "--no-cache"], ["ruff", "check"], ["ruff", "format", "--check"], ["mypy"]],
    ids=lambda each: " ".join(each),
)
def test_the_contract_holds(command):
    done = tool(*command)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_package_itself_holds_its_face_its_door_and_its_errors():
    assert {path.name for path in PACKAGE.glob("*.py")} == {
        "__init__.py",
        "__main__.py",
        "errors.py",
    }
    rooms = {path.name for path in PACKAGE.iterdir() if (path / "__init__.py").exists()}
    assert rooms == {
        "backbones",
        "core",
        "datasets",
        "evidence",
        "explorer",
        "papers",
        "show",
        "store",
        "workbook",
        "world",
    }
    assert {path.name for path in (PACKAGE / "papers").iterdir() if path.is_dir()} >= {*PAPERS}


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_modules_and_functions_are_short(path):
    source = path.read_text(encoding="utf-8")
    assert source.count("\n") <= LONGEST_MODULE, f"{path.name}: is it still one room?"
    known = STILL_LONG.get(path.relative_to(PACKAGE).as_posix(), set())
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name not in known:
            if any("jit" in ast.unparse(each) for each in node.decorator_list):
                continue  # Triton's kernels take each pointer and stride by itself
            lines = node.end_lineno - node.lineno + 1
            assert lines <= LONGEST_FUNCTION, f"{node.name}: {lines} lines"
            given = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
            assert len(given) <= MOST_ARGUMENTS, f"{node.name}: {len(given)} arguments"


def renamed(path: Path) -> list[str]:
    """Imports of our own modules under other names."""
    found = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("alignbook"):
            for each in node.names:
                inner = (node.module + "." + each.name).split(".")[1:]
                module = PACKAGE.joinpath(*inner)
                if each.asname and (module.with_suffix(".py").exists() or module.is_dir()):
                    found.append(f"{node.module}.{each.name} as {each.asname}")
    return found


def test_no_module_is_renamed_by_its_importers():
    """But for what four papers call alike, where several are at hand: models and catalogues."""
    alike = re.compile(r"alignbook\.papers\.(\w+)\.(model|catalogue) as \1$")
    found = {path: [each for each in renamed(path) if not alike.match(each)] for path in FILES}
    assert not {path.name: names for path, names in found.items() if names}


def test_shared_rooms_know_no_papers_name():
    """Below the papers no code says one; words about them may."""
    for room in ("core", "store", "datasets", "world", "backbones", "evidence", "show"):
        for path in (PACKAGE / room).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                name = getattr(node, "id", getattr(node, "attr", getattr(node, "name", ""))) or ""
                assert not {*re.split(r"_|(?<=[a-z])(?=[A-Z])", name.lower())} & {*PAPERS}, (
                    f"{path.relative_to(PACKAGE)}: {name}"
                )


# --- Which edit retrains what --------------------------------------------------------------------

EDITS = {  # file → what is computed anew of chan-T3 and gsl-T1
    "datasets/svo.py": set(),
    "show/tables.py": set(),
    "evidence/verdicts.py": set(),
    "papers/chan/show.py": set(),
    "papers/gsl/model.py": {"gsl-T1"},
    "papers/chan/model.py": {"chan-T3"},
    "papers/comalign/model.py": set(),
    "core/losses.py": {"chan-T3", "gsl-T1"},
}


@pytest.fixture(scope="module")
def computed(finished, tmp_path_factory):
    """A copy with the smoke profile computed, to be edited."""
    return finished.twin(tmp_path_factory.mktemp("house") / "work book")


@pytest.mark.parametrize("file", EDITS)
def test_an_edit_retrains_what_uses_it(computed, file):
    path = computed.root / "lib/alignbook" / file
    before = path.with_suffix(".before")
    shutil.copy2(path, before)
    try:
        path.write_text(path.read_text() + "\n\nEDITED = 1\n")
        done = computed.run(
            "--profile",
            "smoke",
            "--dry-run",
            "chan-T3",
            "gsl-T1",
            PYTHONPATH=str(path.parents[len(Path(file).parts)]),
        )
        assert done.returncode == 0, done.stdout + done.stderr
        anew = set(re.findall(r"arms/([\w-]+)/", done.stdout))
        assert anew == EDITS[file], done.stdout
    finally:
        shutil.move(before, path)
