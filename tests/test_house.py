"""The house: rooms, arrows that go one way, sizes, names; and which edit retrains what."""

import ast
import json
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
LONGEST_MODULE, LONGEST_FUNCTION, MOST_ARGUMENTS = 500, 60, 8
# Operators of PyTorch and kernels of Triton take each tensor, pointer and stride by itself.
OPERATORS = ("triton.jit", "torch.library.custom_op", ".register_fake")


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


def test_no_line_is_kept_from_the_formatter():
    files = [
        path for room in ("lib", "tests", "benchmarks") for path in (ROOT / room).rglob("*.py")
    ]
    kept = [path for path in files if re.search("# *fmt: *(off|skip)", path.read_text("utf-8"))]
    assert not kept, "lay their lines out as `ruff format` does"


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
    tests = {path.name for path in (ROOT / "tests").iterdir() if path.is_dir()} - {"__pycache__"}
    assert tests <= rooms | {"expected", "mutants"}


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_modules_and_functions_are_short(path):
    source = path.read_text(encoding="utf-8")
    assert source.count("\n") <= LONGEST_MODULE, f"{path.name}: is it still one room?"
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            around = " ".join(ast.unparse(each) for each in node.decorator_list)
            if any(each in around for each in OPERATORS):
                continue
            lines = node.end_lineno - node.lineno + 1
            assert lines <= LONGEST_FUNCTION, f"{node.name}: {lines} lines"
            given = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
            given = [each for each in given if each.arg != "self"]
            assert len(given) <= MOST_ARGUMENTS, f"{node.name}: {len(given)} arguments"


TAG = re.compile(r"\[[SCNXA]\]")


def fields_of_settings():
    """Where a field of a `Config` or `Sizes` stands, or of another configuration that computes a run,
    its default, and the comment at it or above.
    """
    for room in ("papers", "backbones"):
        for path in sorted((PACKAGE / room).rglob("*.py")):
            source = path.read_text(encoding="utf-8")
            lines = source.splitlines()
            for node in ast.parse(source).body:
                if isinstance(node, ast.ClassDef):
                    computes = "compute" in {getattr(each, "name", "") for each in node.body}
                    for each in node.body if computes or node.name in ("Config", "Sizes") else ():
                        if isinstance(each, ast.AnnAssign):
                            above, own = lines[each.lineno - 2].strip(), lines[each.end_lineno - 1]
                            said = above if above.startswith("#") else ""
                            said += "".join(own.partition("  # ")[1:])
                            place = f"{path.relative_to(PACKAGE)}: {node.name}.{each.target.id}"
                            yield place, each.value, said


def test_each_field_says_what_it_means_and_what_a_default_is_taken_from():
    """An empty string decides nothing, and a release is what is installed."""
    fields = list(fields_of_settings())
    assert len(fields) > 150
    for place, default, said in fields:
        assert len(said) > 4, f"{place}: say what it means, in its own line or the one above"
        decides = not isinstance(default, ast.Call | None) and ast.unparse(default) != "''"
        if decides:
            assert TAG.search(said), f"{place}: add its tag, docs/README.md has them"


def renamed(text: str) -> list[str]:
    """Imports of what is ours under other names."""
    return [
        f"{node.module}.{each.name} as {each.asname}"
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("alignbook")
        for each in node.names
        if each.asname not in (None, each.name)
    ]


# Behind keys of stored runs, which other names would lose.
KEPT = {"datasets/svo.py", "world/__init__.py"}


def test_nothing_is_renamed_by_its_importers():
    texts = {each: each.read_text(encoding="utf-8") for each in FILES}
    found = {path.relative_to(PACKAGE).as_posix(): renamed(text) for path, text in texts.items()}
    assert {path for path, names in found.items() if names} == KEPT


def test_no_notebook_renames_what_it_imports():
    """So that a name of a notebook is found in the library."""
    for path in sorted((ROOT / "notebooks").glob("*.ipynb")):
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        code = ["".join(each["source"]) for each in cells if each["cell_type"] == "code"]
        lines = "\n".join(code).split("\n")
        imports = "\n".join(line for line in lines if re.match("from alignbook.* import", line))
        assert imports and not renamed(imports), path.name


ENDINGS = re.compile(r"(s|ed|al|ing|ion|ation|ification|ified)$")
# Modules of one name but for its ending. A paper's room has its parts under the same names as the
# others', and counts once; backbones/inputs.py and both regions.py are behind keys of stored runs, which
# other names would lose.
ALIKE = {
    "input": {"backbones/inputs.py", "papers/*/inputs.py"},
    "region": {"datasets/regions.py", "papers/*/regions.py"},
}


def test_no_two_modules_are_called_alike():
    places: dict[str, set[str]] = {}
    for path in FILES:
        if not path.stem.startswith("__"):
            place = path.relative_to(PACKAGE).as_posix()
            place = re.sub(r"^papers/\w+/(\w+\.py)$", r"papers/*/\1", place)
            places.setdefault(ENDINGS.sub("", path.stem), set()).add(place)
    assert {name: some for name, some in places.items() if len(some) > 1} == ALIKE


def test_shared_rooms_know_no_papers_name():
    """Below the papers no code says one; words about them may."""
    for room in ("core", "store", "datasets", "world", "backbones", "evidence", "show"):
        for path in (PACKAGE / room).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                name = getattr(node, "id", getattr(node, "attr", getattr(node, "name", ""))) or ""
                assert not {*re.split(r"_|(?<=[a-z])(?=[A-Z])", name.lower())} & {*PAPERS}, (
                    f"{path.relative_to(PACKAGE)}: {name}"
                )


def test_the_explorer_takes_what_it_shows_from_the_papers_room():
    """Exhibits, arms and how they are called stand in a catalogue."""
    for path in (PACKAGE / "explorer").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            text = getattr(node, "value", None) if isinstance(node, ast.Constant) else None
            known = isinstance(text, str) and re.match(rf"({'|'.join(PAPERS)})-\w+$", text)
            assert not known, f"{path.name}: {text}"


# The files of the workbook that list the papers: what they show, what is behind that, and what is
# wrong in their print.
LISTING = ("chapters.py", "exhibits.py", "audit.py")


def words_of(path: Path) -> set[str]:
    """Words of a file; for code those of names and of strings, but not of its texts."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        said = []
        for node in ast.walk(ast.parse(text)):
            parts = ("id", "attr", "name", "arg", "module", "value")
            said += [str(getattr(node, each, "")) for each in parts]
        text = "\n".join(each for each in said if "\n" not in each)
    return {*re.split(r"[\W_]+", text.lower())}


def test_the_workbook_names_papers_only_where_it_lists_them():
    files = [path for path in (PACKAGE / "workbook").rglob("*") if path.is_file()]
    assert {path.name for path in files} >= {*LISTING}
    for path in files:
        if path.suffix in (".py", ".yaml", ".json", ".toml"):
            named, listing = words_of(path) & {*PAPERS}, path.name in LISTING
            place = f"{path.relative_to(PACKAGE)}: {named}"
            assert listing or not named, f"{place}; say it in the paper's room"
            assert named or not listing, f"{place}; LISTING need not name it"


# --- Which edit retrains what --------------------------------------------------------------------

TARGETS = ("chan-T3", "comalign-TII", "covalign-T6", "gsl-T1")
SHOWN = [*(PACKAGE / "show").glob("*.py"), *PACKAGE.glob("papers/*/show.py")]
SHOWN = ["evidence/verdicts.py", *(str(each.relative_to(PACKAGE)) for each in SHOWN)]
EDITS = {  # files → what is computed anew of those
    (*SHOWN, "papers/gsl/settings.py", "papers/comalign/settings.py"): set(),
    ("datasets/svo.py",): {"comalign-TII"},
    ("papers/chan/model.py",): {"chan-T3"},
    ("papers/comalign/model.py",): {"comalign-TII"},
    ("papers/covalign/model.py",): {"covalign-T6"},
    ("papers/gsl/model.py",): {"gsl-T1"},
    ("core/losses.py",): {"chan-T3", "covalign-T6", "gsl-T1"},
}


@pytest.fixture(scope="module")
def computed(finished, tmp_path_factory):
    """A copy with the smoke profile computed, to be edited."""
    return finished.twin(tmp_path_factory.mktemp("house") / "work book")


@pytest.mark.parametrize("files", EDITS, ids=lambda files: files[0])
def test_an_edit_retrains_what_uses_it(computed, files):
    library = computed.root / "lib"
    before = {library / "alignbook" / file: library / f"{n}.before" for n, file in enumerate(files)}
    try:
        for path, kept in before.items():
            shutil.copy2(path, kept)
            path.write_text(path.read_text() + "\n\nEDITED = 1\n")
        asked = ["--profile", "smoke", "--dry-run", *TARGETS]
        done = computed.run(*asked, PYTHONPATH=str(library))
        assert done.returncode == 0, done.stdout + done.stderr
        anew = set(re.findall(r"arms/([\w-]+)/", done.stdout))
        assert anew == EDITS[files], done.stdout
    finally:
        for path, kept in before.items():
            shutil.move(kept, path)
