"""Exercises: each is right with its solution and gives its hint without; student editions."""

import ast
import re

import nbformat
import numpy as np
import pytest
import torch
from alignbook.show import exercises
from alignbook.workbook import command, exhibits, student
from conftest import ROOT
from nbclient import NotebookClient

NOTEBOOKS = {
    path.stem: nbformat.read(path, as_version=nbformat.NO_CONVERT)
    for path in sorted((ROOT / "notebooks").glob("*.ipynb"))
}
CHAPTERS = [name for name in NOTEBOOKS if "10" <= name < "90"]
SHAPES = r"\b(?:show|label_drawing)\.(coding|matching|cohesive_regions|corrected_labels)\("  # pictures of tensors
KINDS = {exercises.EXERCISE, exercises.SOLUTION, exercises.CHECK}


def kind(cell):
    """Which part of an exercise a cell is; None of none."""
    return next(iter(KINDS.intersection(cell.metadata.get("tags", ()))), None)


def found_in(notebook):
    """Solution and check of each exercise."""
    cells = notebook.cells
    return [
        (cell.source, after.source)
        for cell, after in zip(cells, cells[1:])
        if kind(cell) == exercises.SOLUTION
    ]


ALL = [
    pytest.param(*pair, id=f"{name} {number}")
    for name, notebook in NOTEBOOKS.items()
    for number, pair in enumerate(found_in(notebook), 1)
]


def hints(check: str) -> set[str]:
    """Every text of a check cell."""
    return {
        node.value
        for node in ast.walk(ast.parse(check))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }


def run(*sources):
    """Execute cells one after the other in one empty namespace."""
    namespace = {}
    for source in sources:
        exec(compile(source, "cell", "exec"), namespace)


# --- The exercises of the notebooks ---------------------------------------------------------------


@pytest.mark.parametrize("solution, check", ALL)
def test_the_solution_is_right(solution, check, capsys):
    run(solution, check)
    assert "✓ right" in capsys.readouterr().out


@pytest.mark.parametrize("solution, check", ALL)
def test_a_missing_answer_gets_the_hint(solution, check, capsys):
    with pytest.raises(exercises.NotYet) as told:
        run(exercises.without_solution(solution), check)
    said = str(told.value)
    assert any(said.endswith(hint) for hint in hints(check) if len(hint) > 20), said
    assert "✓" not in capsys.readouterr().out


@pytest.mark.parametrize("solution, check", ALL)
def test_no_hint_or_given_line_holds_the_solution(solution, check):
    given = exercises.without_solution(solution)
    for line in solution[len(given) - len(exercises.YOUR_TURN) :].splitlines()[1:]:
        assert line.strip().removeprefix("return ") not in given + check, line


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_an_exercise_is_statement_solution_check(name):
    kinds = [kind(cell) for cell in NOTEBOOKS[name].cells]
    parts = [each for each in kinds if each]
    assert parts == [exercises.EXERCISE, exercises.SOLUTION, exercises.CHECK] * (len(parts) // 3)
    for i, each in enumerate(kinds):
        if each == exercises.EXERCISE:
            assert kinds[i + 1 : i + 3] == [exercises.SOLUTION, exercises.CHECK]
            assert NOTEBOOKS[name].cells[i].cell_type == "markdown"
            number = kinds[:i].count(exercises.EXERCISE) + 1
            assert NOTEBOOKS[name].cells[i].source.startswith(f"**Exercise {number}: ")
        elif each:
            assert NOTEBOOKS[name].cells[i].cell_type == "code"


@pytest.mark.parametrize("name", CHAPTERS)
def test_a_chapter_teaches(name):
    texts = [cell.source for cell in NOTEBOOKS[name].cells if cell.cell_type == "markdown"]
    assert 3 <= len(found_in(NOTEBOOKS[name])) <= 6
    assert "you can" in " ".join(texts[:2])
    assert sum(text.startswith("> **What we assumed") for text in texts) == 1


@pytest.mark.parametrize("name", ["10_chan", "20_comalign", "30_covalign", "40_gsl"])
def test_a_papers_first_notebook_has_all_that_a_group_needs(name):
    """An example by hand, a picture of shapes, and a plan for an hour, with questions."""
    cells = NOTEBOOKS[name].cells
    texts = [cell.source for cell in cells if cell.cell_type == "markdown"]
    assert any("by hand\n" in text or "By hand:" in text for text in texts)
    assert any(re.search(SHAPES, cell.source) for cell in cells if cell.cell_type == "code")
    (plan,) = [text for text in texts if text.startswith("## A reading group: 60 minutes")]
    assert cells[-1].source == plan
    rows = re.findall(r"(?m)^\| (\d+) \|", plan)
    assert sum(map(int, rows)) == 60
    parts = re.split(r"(?m)^\*\*(What .*)\*\*$", plan)[1:]
    assert parts[::2] == ["What the paper claims", "What our runs say", "What we assumed"]
    for questions in parts[1::2]:
        asked = re.split(r"(?m)^\d+\. ", questions)[1:]
        assert len(asked) >= 3 and all("?" in each for each in asked)
    assert [int(n) for n in re.findall(r"(?m)^(\d+)\. ", plan)] == list(range(1, 11))


def test_the_map_leads_to_every_notebook():
    texts = " ".join(cell.source for cell in NOTEBOOKS["00_start_here"].cells)
    leads = re.findall(r"\]\(([^)]+)\)", texts)
    assert {f"{name}.ipynb" for name in exhibits.NOTEBOOKS} - set(leads) == {"00_start_here.ipynb"}
    for each in leads:
        assert (ROOT / "notebooks" / each).is_file(), each
    assert next(iter(exhibits.NOTEBOOKS)) == "00_start_here"


# --- check ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "answer, expected",
    [
        (0.50001, 0.5),
        (True, True),
        ([1, 2], (1.0, 2.0)),
        (torch.eye(2), [[1, 0], [0, 1]]),
        (np.float32(3), torch.tensor(3.0)),
        ((torch.tensor(1.0), 0), [1, 0]),
        (-np.inf, -np.inf),
    ],
)
def test_right_answers(answer, expected, capsys):
    assert exercises.check(answer, expected, "no hint") is None
    assert capsys.readouterr().out == "✓ right\n"


@pytest.mark.parametrize(
    "answer, expected, words",
    [
        (0.5002, 0.5, "the hint"),
        (-0.5, 0.5, "the hint"),
        (False, True, "the hint"),
        (float("nan"), 0.5, "the hint"),
        ([None, 1], [0, 1], "the hint"),
        ([1, 2], [2, 1], "the hint"),
        (1000.01, 1000, "the hint"),
        (None, 0.5, "there is no answer yet. Hint: the hint"),
        (..., 0.5, "there is no answer yet. Hint: the hint"),
        ("half", 0.5, "that is neither a number nor an array of them. Hint: the hint"),
        ([[1], [1, 2]], [1, 2], "that is neither a number nor an array of them. Hint: the hint"),
        ([..., 1], [0, 1], "that is neither a number nor an array of them. Hint: the hint"),
        ([[0.5]], 0.5, "the shape is (1, 1), not (). Hint: the hint"),
        (1, [1, 1], "the shape is (), not (2,). Hint: the hint"),
    ],
)
def test_other_answers_get_the_hint(answer, expected, words, capsys):
    with pytest.raises(exercises.NotYet) as told:
        exercises.check(answer, expected, "the hint")
    assert str(told.value) == words
    assert told.value._render_traceback_() == [f"Not yet: {words}"]
    assert capsys.readouterr().out == ""


def test_the_tolerance_is_absolute():
    exercises.check(1000.4, 1000, "no hint", tolerance=0.5)
    with pytest.raises(exercises.NotYet):
        exercises.check(0.6, 0, "the hint", tolerance=0.5)


# --- student editions -----------------------------------------------------------------------------

SOLVED = "import math\n\n\ndef root(x):\n    '''√x'''\n    # --- solution\n    return math.sqrt(x)"
GIVEN = "import math\n\n\ndef root(x):\n    '''√x'''\n    ...  # your turn"


def notebook_with(source, tags=("solution",)):
    cell = nbformat.v4.new_code_cell(source, execution_count=3)
    cell.metadata.tags = list(tags)
    cell.outputs = [nbformat.v4.new_output("stream", text="2.0")]
    return nbformat.v4.new_notebook(cells=[nbformat.v4.new_markdown_cell("# Title"), cell])


def test_an_edition_lacks_solutions_and_outputs_only():
    notebook = notebook_with(SOLVED)
    edition = exercises.student_edition(notebook)
    nbformat.validate(edition)
    assert notebook.cells[1].source == SOLVED and notebook.cells[1].outputs
    assert edition.cells[1].source == GIVEN
    assert edition.cells[1].outputs == [] and edition.cells[1].execution_count is None
    edition.cells[1].update(notebook.cells[1])
    assert edition == notebook


def test_a_check_of_an_edition_stops_nothing():
    notebook = notebook_with("check(1, 2, 'no')", tags=("check",))
    edition = exercises.student_edition(notebook)
    assert edition.cells[1].metadata.tags == ["check", "raises-exception"]
    assert notebook.cells[1].metadata.tags == ["check"]


def test_an_edition_runs_from_top_to_bottom_and_shows_the_hints(tmp_path):
    """As JupyterLab does it. Of notebook 10, the cells that load no run."""
    assert command.main(["student", "--out", str(tmp_path / "student")]) == 0
    path = tmp_path / "student/10_chan.ipynb"
    executed = nbformat.read(path, as_version=nbformat.NO_CONVERT)
    executed.cells = [
        cell
        for cell in executed.cells
        if kind(cell) or "parameters" in cell.metadata.get("tags", ())
    ]
    NotebookClient(executed, kernel_name="python3", timeout=120).execute(cwd=str(path.parent))
    for cell in executed.cells:
        errors = [each for each in cell.get("outputs", ()) if each.output_type == "error"]
        if kind(cell) != exercises.CHECK:
            assert not errors
        else:
            assert [each.ename for each in errors] == ["NotYet"]
            assert errors[0].traceback[0].startswith("Not yet: there is no answer yet. Hint: ")


def test_a_marker_at_the_margin_and_one_in_another_cell():
    assert exercises.without_solution("x = 1\n# --- solution\ny = 2\nz = 3") == (
        "x = 1\n...  # your turn"
    )
    untagged = notebook_with(SOLVED, tags=())
    assert exercises.student_edition(untagged).cells[1].source == SOLVED


@pytest.mark.parametrize("source", ["y = 2", "# --- solution\ny = 2\n# --- solution\nz = 3"])
def test_a_solution_has_one_marker(source):
    with pytest.raises(ValueError, match="one line '# --- solution', not"):
        exercises.student_edition(notebook_with(source))


def test_the_command_writes_every_notebook(tmp_path, capsys):
    assert command.main(["student", "--out", str(tmp_path / "a/b")]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert sorted(path.stem for path in (tmp_path / "a/b").iterdir()) == sorted(NOTEBOOKS)
    assert len(lines) == len(NOTEBOOKS) + 1 and "copy the edition into it" in lines[-1]
    for (name, notebook), line in zip(NOTEBOOKS.items(), lines):
        path = tmp_path / f"a/b/{name}.ipynb"
        assert nbformat.read(path, as_version=nbformat.NO_CONVERT) == (
            exercises.student_edition(notebook)
        )
        assert exercises.MARKER not in path.read_text()
        count = len(found_in(notebook))
        assert line.endswith(f"{name}.ipynb: {count} exercise{'' if count == 1 else 's'}")
    assert command.main(["student", "--out", str(tmp_path / "a/b")]) == 0  # nothing has changed


def test_where_the_edition_is_opened_is_said_as_lab_sees_it(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(student, "ROOT", tmp_path)
    (tmp_path / "notebooks").mkdir()
    monkeypatch.chdir("/")
    assert command.main(["student", "--out", str(tmp_path / "results/mine")]) == 0
    said = capsys.readouterr().out
    assert said == "./run_all.sh lab, then open results/mine/00_start_here.ipynb there\n"


def test_answers_and_solutions_are_not_overwritten(tmp_path, capsys):
    answered = tmp_path / "11_chan_ablations.ipynb"
    answered.write_text("somebody's answers")
    for folder, name in ((tmp_path, answered.name), (ROOT / "notebooks", "02_data.ipynb")):
        before = {path: path.read_bytes() for path in folder.iterdir() if path.is_file()}
        assert command.main(["student", "--out", str(folder)]) == 2
        told = capsys.readouterr()
        assert name in told.err and "may hold answers" in told.err and told.out == ""
        assert {path: path.read_bytes() for path in folder.iterdir() if path.is_file()} == before


def test_bad_input_is_refused(tmp_path, capsys):
    (tmp_path / "file").write_text("in the way")
    for folder in ("file", "file/below"):
        assert command.main(["student", "--out", str(tmp_path / folder)]) == 2
        assert "run_all.sh: cannot write to" in capsys.readouterr().err
    for arguments in (["--ou", "x"], ["zzz"], ["--out"], ["--out", "a", "--out", "b"]):
        with pytest.raises(SystemExit) as ended:
            command.main(["student", *arguments])
        assert ended.value.code == 2


def test_a_broken_notebook_is_named_and_nothing_written(tmp_path):
    (tmp_path / "in").mkdir()
    nbformat.write(notebook_with(SOLVED), tmp_path / "in/1.ipynb")
    nbformat.write(notebook_with("y = 2"), tmp_path / "in/2.ipynb")
    with pytest.raises(ValueError, match=r"2\.ipynb: a solution has one line"):
        exercises.write_editions(tmp_path / "in", tmp_path / "out")
    assert not (tmp_path / "out").exists()
