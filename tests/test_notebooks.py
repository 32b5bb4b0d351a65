"""Notebooks keep the house rules: thin, stripped, one cell of plain parameters."""

import ast
import dis
import itertools
import types

import nbformat
import pytest
from conftest import ROOT

from alignbook import exhibits

FILES = sorted((ROOT / "notebooks").glob("*.ipynb"))
LONGEST_CELL, MOST_CELLS, LONGEST_LINE, LONGEST_FUNCTION = 15, 40, 100, 10
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
        assert len({exhibits.slug(arm) for arm in each.arms}) == len(each.arms)


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
        assert isinstance(statement, ast.Assign), ast.unparse(statement)
        value = ast.literal_eval(statement.value)
        assert value is None or isinstance(value, (bool, int, float, str)), statement.value


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
