"""Kernels that never began, as another program took their ports: tried again, or said in one line.

And what an executed copy holds, and when it is written.
"""

import nbformat
import papermill
import pytest
from alignbook.workbook.running import execute
from papermill import engines

NEVER = RuntimeError("Kernel died before replying to kernel_info")


@pytest.fixture
def notebook(tmp_path):
    cells = [nbformat.v4.new_code_cell("print(1)")]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), tmp_path / "a.ipynb")
    return tmp_path / "a.ipynb"


@pytest.fixture
def failing(monkeypatch):
    """Lets papermill raise some errors, one a start, before it copies the notebook."""

    def failing(*errors):
        left = [*errors]

        def fake(source, target, **_):
            started.append(source)
            if left:
                raise left.pop(0)
            nbformat.write(nbformat.read(source, as_version=4), target)

        started: list[str] = []
        monkeypatch.setattr(papermill, "execute_notebook", fake)
        return started

    return failing


@pytest.mark.parametrize("times", [0, 1, 2])
def test_a_kernel_that_never_began_is_started_again(notebook, failing, tmp_path, times):
    started = failing(*[NEVER] * times)
    execute.run_notebook(notebook, tmp_path / "out/a.ipynb", {})
    assert len(started) == times + 1 and (tmp_path / "out/a.ipynb").exists()


def test_one_that_never_begins_is_named(notebook, failing, tmp_path):
    started = failing(*[NEVER] * 9)
    with pytest.raises(execute.NotebookFailed, match="a.ipynb: the kernel died .*before replying"):
        execute.run_notebook(notebook, tmp_path / "out/a.ipynb", {})
    assert len(started) == 3


def test_other_errors_are_those_of_papermill(notebook, failing, tmp_path):
    started = failing(RuntimeError("something else"))
    with pytest.raises(RuntimeError, match="something else"):
        execute.run_notebook(notebook, tmp_path / "out/a.ipynb", {})
    assert len(started) == 1


@pytest.fixture
def written(monkeypatch):
    """What every executed copy held when it was written."""
    write, found = engines.write_ipynb, []

    def noted(notebook, path):
        found.append([len(cell.get("outputs", ())) for cell in notebook.cells])
        write(notebook, path)

    monkeypatch.setattr(engines, "write_ipynb", noted)
    return found


def made_of(folder, *cells):
    cells = [nbformat.v4.new_code_cell(cell) for cell in cells]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), folder / "a.ipynb")
    return folder / "a.ipynb"


def test_of_a_kernel_that_dies_the_copy_shows_what_came_before(tmp_path, written):
    source = made_of(tmp_path, "print('before')", "import os\nos._exit(1)", "print('after')")
    with pytest.raises(execute.NotebookFailed, match="a.ipynb: the kernel died"):
        execute.run_notebook(source, tmp_path / "out/a.ipynb", {})
    first, second, third = nbformat.read(tmp_path / "out/a.ipynb", as_version=4).cells
    assert first.outputs[0].text == "before\n" and not second.outputs and not third.outputs
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["a.ipynb"]


def test_a_copy_is_written_at_the_beginning_and_the_end(tmp_path, written):
    source = made_of(tmp_path, *["print(1)"] * 9)
    execute.run_notebook(source, tmp_path / "out/a.ipynb", {})
    assert written == [[0] * 9, [1] * 9]
