"""Notebooks keep the house rules: thin, stripped, one cell of plain parameters."""

import ast
import dis
import itertools
import json
import os
import re
import subprocess
import sys
import types
from pathlib import Path

import nbformat
import pytest
from alignbook.core.names import slug
from alignbook.workbook import exhibits, workbook
from alignbook.workbook.running import execute
from conftest import ROOT

FILES = sorted((ROOT / "notebooks").glob("*.ipynb"))
LONGEST_CELL, MOST_CELLS, LONGEST_LINE, LONGEST_FUNCTION = 15, 90, 100, 10
EVERYWHERE = 4  # lines: shorter cells may be alike


@pytest.fixture(params=FILES, ids=lambda path: path.stem)
def notebook(request):
    return nbformat.read(request.param, as_version=nbformat.NO_CONVERT)


def code(notebook):
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def parsed(source: str) -> ast.Module:
    """A cell's Python, without the lines that are IPython's."""
    lines = source.splitlines()
    return ast.parse("\n".join("pass" if each[:1] in ("%", "!") else each for each in lines))


def names(python: types.CodeType, bound: dict[str, set]) -> set[str]:
    """What Python reads before it binds it; what it binds, and to which import, goes to `bound`.

    What a function reads counts wherever it is bound: the function may be called later.
    """
    read, module, origin = set(), None, None
    for step in dis.get_instructions(python):
        if step.opname in ("LOAD_NAME", "LOAD_GLOBAL"):
            read |= {step.argval} - bound.keys()
        elif step.opname == "STORE_NAME":
            bound.setdefault(step.argval, set()).add(origin)
        elif isinstance(step.argval, types.CodeType):
            at_once = step.argval.co_name.endswith(("comp>", "genexpr>"))
            read |= names(step.argval, bound if at_once else {})
        if step.opname == "IMPORT_NAME":
            module = origin = step.argval
        else:
            origin = f"{module}.{step.argval}" if step.opname == "IMPORT_FROM" else None
    return read


def test_registry_and_folder_agree():
    assert [path.stem for path in FILES] == sorted(exhibits.NOTEBOOKS)


def test_every_exhibit_is_shown_by_its_notebook():
    shown = {name: book for book, each in exhibits.NOTEBOOKS.items() for name in each.exhibits}
    assert shown == {name: each.notebook for name, each in exhibits.EXHIBITS.items()}
    for each in exhibits.EXHIBITS.values():
        assert len({slug(arm) for arm in each.names()}) == len(each.arms)


def test_is_valid(notebook):
    nbformat.validate(notebook)
    assert notebook.nbformat == 4


def test_outputs_are_stripped(notebook):
    for cell in code(notebook):
        assert not cell.outputs and cell.execution_count is None, cell.source


def test_starts_with_a_title(notebook):
    first = notebook.cells[0]
    assert first.cell_type == "markdown" and first.source.startswith("# ")


def test_says_what_is_learnt_from_it(notebook):
    before_code = itertools.takewhile(lambda cell: cell.cell_type == "markdown", notebook.cells)
    told = "\n".join(cell.source for cell in before_code)
    assert "**Objectives.** After this" in told or "# 00" in told


def test_has_one_cell_of_scalar_parameters(notebook):
    tagged = [cell for cell in code(notebook) if "parameters" in cell.metadata.get("tags", [])]
    assert len(tagged) == 1
    for statement in parsed(tagged[0].source).body:
        assert isinstance(statement, ast.AnnAssign), ast.unparse(statement)
        value = ast.literal_eval(statement.value)
        assert type(value) in (bool, int, float, str), statement.value
        assert statement.annotation.id == type(value).__name__


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_papermill_understands_every_parameter(path, caplog):
    """As `papermill --help-notebook` lists them: name, type, default and a word on each."""
    from papermill import inspect_notebook

    listed = inspect_notebook(str(path))
    assert not caplog.records
    assert list(listed) == execute.parameter_names(path)
    assert list(listed) == ["profile", "data", "seeds", "settings", "out", "device"]
    for each in listed.values():
        assert each["inferred_type_name"] == type(ast.literal_eval(each["default"])).__name__
        assert each["help"]


def test_plain_papermill_and_plain_snakemake_do(workbook_copy, tmp_path):
    """The README's lines, in a folder of one's own and in the project folder."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    notebook = "notebooks/01_reported_numbers.ipynb"
    for line in (
        f"papermill {notebook} out.ipynb -p profile smoke",
        "snakemake --cores 2",
        "snakemake --cores 2 --config profile=laptop",
    ):
        assert f"\n{line} " in readme
    scripts, root = Path(sys.executable).parent, workbook_copy.root
    environment = workbook_copy.environment | {
        "PYTHONPATH": str(root / "lib"),
        "PATH": f"{scripts}{os.pathsep}{os.environ['PATH']}",
    }
    how = dict(env=environment, capture_output=True, text=True)
    (tmp_path / "here").mkdir()
    done = subprocess.run(
        [
            "papermill",
            str(root / notebook),
            "out.ipynb",
            "-p",
            "profile",
            "smoke",
            "-p",
            "device",
            "cpu",
        ],
        cwd=tmp_path / "here",
        **how,
    )
    assert done.returncode == 0, done.stderr
    assert os.listdir(tmp_path / "here") == ["out.ipynb"]
    assert execute.failure(tmp_path / "here/out.ipynb") is None
    done = subprocess.run(["snakemake", "--cores", "2", "--dry-run"], cwd=root, **how)
    assert done.returncode == 0, done.stderr
    jobs = dict(re.findall(r"(?m)^(\w+) +(\d+)$", done.stdout))
    assert jobs["notebook"] == str(len(exhibits.resolve([], "world"))) and jobs["collect"] == "1"
    assert not (workbook_copy.smoke / "settings.json").exists()  # nothing ran
    (part,) = re.findall(r"(?m)^(snakemake .*profile=laptop -- [^ ]+)", readme)
    first, *others = part.split()
    done = subprocess.run([first, "--dry-run", *others], cwd=root, **how)
    assert done.returncode == 0, done.stderr
    jobs = dict(re.findall(r"(?m)^(\w+) +(\d+)$", done.stdout))
    assert jobs["notebook"] == "1" and "11_chan_ablations.done" in done.stdout
    asked = ["snakemake", "--cores", "1", "--config", "data=world", "set={'chan_steps': 3}"]
    done = subprocess.run([*asked, "--", "data.json"], cwd=root, **how)
    assert done.returncode == 0, done.stderr
    said = json.loads((workbook_copy.smoke / "settings.json").read_text())
    assert (said["profile"], said["data"], said["set"]) == ("smoke", "world", {"chan_steps": "3"})
    assert not list(root.glob("*.json")) and workbook.load(workbook_copy.smoke).kind == "world"
    wrong = subprocess.run([*asked[:3], "--config", "data=flickr8k=here"], cwd=root, **how)
    assert wrong.returncode and f"{root}/here: no such folder" in wrong.stderr + wrong.stdout


def test_plain_snakemake_notices_a_swapped_file(workbook_copy, tmp_path):
    """A file of a treebank that `parser` names: the arms that were computed with it run again."""
    arms = exhibits.arms("comalign-TI", "world", workbook.open("smoke").profile)
    listed = [f"arms/comalign-TI/{slug(arm)}.csv" for arm in arms]
    for name in ("data.json", "base.json", *listed):  # as if they had been computed
        (workbook_copy.smoke / name).parent.mkdir(parents=True, exist_ok=True)
        (workbook_copy.smoke / name).touch()
    tree = "1\t{}\t_\tNOUN\tNN\t_\t0\troot\t_\t_\n\n"
    for split in ("train", "dev"):
        (tmp_path / f"en_{split}.conllu").write_text(tree.format("dog"))

    def said(*how: str) -> str:
        chosen = ["--config", f"set={{'parser': '{tmp_path}'}}", "--", listed[0]]
        done = subprocess.run(
            [Path(sys.executable).with_name("snakemake"), "--cores", "1", *how, *chosen],
            cwd=workbook_copy.root,
            env=workbook_copy.environment | {"PYTHONPATH": str(workbook_copy.root / "lib")},
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout + done.stderr

    said("--touch", "--forceall")  # notes what they were computed with, and computes nothing
    assert "Nothing to be done" in said("--dry-run")
    (tmp_path / "en_dev.conllu").write_text(tree.format("cat"))
    again = said("--dry-run")
    assert re.search(r"(?m)^arms_comalign_TI_0 +1$", again)
    assert "params have changed since last execution" in again


def test_is_thin(notebook):
    exercise = {"exercise", "solution", "check"}
    told = [c for c in notebook.cells if not exercise.intersection(c.metadata.get("tags", ()))]
    assert len(told) <= MOST_CELLS
    for cell in code(notebook):
        assert len(cell.source.splitlines()) <= LONGEST_CELL, cell.source
        for node in ast.walk(parsed(cell.source)):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                assert node.end_lineno - node.lineno < LONGEST_FUNCTION, node.name


def test_cells_can_be_run_again_after_those_below(notebook):
    """What a cell reads, and what are parameters, no later cell binds to anything else."""
    cells, origins = [], {}
    for cell in code(notebook):
        bound = {}
        read = names(compile(parsed(cell.source), cell.id, "exec"), bound)
        cells.append((cell, read, bound))
        for name, found in bound.items():
            origins.setdefault(name, set()).update(found)
    one_import = {name for name, found in origins.items() if len(found) == 1 and None not in found}
    below = {}
    for cell, read, bound in reversed(cells):
        tags = cell.metadata.get("tags", [])
        kept = (read | bound.keys() if "parameters" in tags else read) - one_import
        lost = {name: below[name] for name in kept & below.keys()}
        assert not lost, f"{cell.id} reads what a later cell binds anew: {lost}"
        below |= dict.fromkeys(bound, cell.id)


def test_lines_are_short(notebook):
    for cell in notebook.cells:
        for line in cell.source.splitlines():
            assert len(line) <= LONGEST_LINE, line


def test_no_table_is_made_and_not_shown(notebook):
    """Jupyter shows a cell's last expression alone; before that a table needs `display`."""
    for cell in notebook.cells:
        if cell.cell_type == "code":
            body = ast.parse(cell.source).body
            for node in ast.walk(ast.Module(body[:-1], [])):
                if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
                    assert ast.unparse(node.value.func) not in ("tables.plain", "tables.show")


def test_kernel_is_the_environments_own(notebook):
    assert notebook.metadata.kernelspec.name == "python3"


def test_no_notebook_copies_anothers_code():
    cells = {}
    for path in FILES:
        sources = {
            cell.source.strip()
            for cell in code(nbformat.read(path, as_version=4))
            if "parameters" not in cell.metadata.get("tags", [])
        }
        cells[path.stem] = {each for each in sources if each.count("\n") >= EVERYWHERE}
    for one, other in itertools.combinations(cells, 2):
        assert not cells[one] & cells[other], f"{one} and {other} share code"
