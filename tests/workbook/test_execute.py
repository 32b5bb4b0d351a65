"""Kernels that never began, as another program took their ports: tried again, or said in one line."""

import nbformat
import papermill
import pytest
from alignbook.workbook import execute

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
