"""Run a notebook headless and keep what it looked like, also when it fails."""

import json
import logging
import os
import sys
import warnings
from pathlib import Path

from alignbook.store import durable, verbatim

SECONDS = 30  # between two times that an executed copy is written
NEVER_BEGAN = "Kernel died before replying"  # what jupyter_client says of such a kernel


class NotebookFailed(RuntimeError):
    """A notebook stopped; the message names the notebook, the cell and the error."""


def run_notebook(source: Path, target: Path, parameters: dict) -> None:
    """Execute a notebook with parameters and write the executed copy.

    Parameters
    ----------
    source : Path
        The notebook; its folder is the working directory, as in JupyterLab.
    target : Path
        Where the executed copy goes. It is written in any case; if the notebook fails, it shows the
        cells up to the error, with the error in its place.
    parameters : dict
        Values for names of the notebook's ``parameters`` cell.

    Raises
    ------
    ValueError
        A parameter that the notebook doesn't have: nothing is run.
    NotebookFailed
        A cell raised, or the kernel died.
    """
    known = parameter_names(source)
    if unknown := sorted(set(parameters) - set(known)):
        raise ValueError(
            f"{source.name} has no parameter {', '.join(unknown)}: "
            f"its parameters cell defines {', '.join(known) or 'none'}"
        )

    target.parent.mkdir(parents=True, exist_ok=True)
    unfinished = target.with_name(f".{target.name}")
    try:
        _execute(source, unfinished, target, parameters)
    finally:
        if unfinished.exists():
            durable.replace(unfinished, target)


def _execute(source: Path, unfinished: Path, target: Path, parameters: dict) -> None:
    """Let papermill write `unfinished`; `NotebookFailed` says that `target` will show the error."""
    os.environ["PYDEVD_DISABLE_FILE_VALIDATION"] = "1"  # silences the debugger in the kernel
    logging.getLogger("papermill").setLevel(logging.ERROR)
    sys.modules.setdefault("rfc3987_syntax", None)  # 2 s for a check of addresses, that none needs
    import papermill  # 1 s: only a process that runs a notebook waits for it
    from jupyter_client.manager import AsyncKernelManager
    from nbclient.exceptions import CellControlSignal, DeadKernelError

    class Warm(AsyncKernelManager):
        """Kernels that begin warm."""

        def format_kernel_cmd(self, extra_arguments=None):
            command = super().format_kernel_cmd(extra_arguments)
            module = command.index("-m") + 1
            return [sys.executable, "-m", "alignbook.workbook.warm", *command[module:]]

    def execute():
        return papermill.execute_notebook(
            str(source),
            str(unfinished),
            parameters=parameters,
            kernel_name="python3",
            language="python",
            progress_bar=False,
            engine_name=_engine(),
            cwd=str(source.parent),
            kernel_manager_class=Warm,
            extra_arguments=[
                # alignbook watches the lifeline; a message while a kernel ends is no news.
                "--IPKernelApp.exec_lines=__import__('alignbook');"
                "__import__('logging').getLogger('tornado.general').setLevel('CRITICAL')",
                "--log-level=CRITICAL",  # loopback without encryption is no news
            ],
        )

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            _with_kernel(execute)
    except papermill.PapermillExecutionError as error:
        cell, first_line = _failed_cell(unfinished)
        raise NotebookFailed(
            f"{source.name}, cell {cell} ({first_line}): {error.ename}: {error.evalue}\n"
            f"    the executed copy shows it: {target}"
        ) from None
    except (DeadKernelError, CellControlSignal) as error:
        raise NotebookFailed(
            f"{source.name}: the kernel died ({error}); is there memory enough?"
        ) from None


def _engine() -> str:
    """The name of papermill's own engine but that it writes the executed copy at the beginning, at the
    end, however it comes, and twice a minute: not the whole of it before and after every cell.
    """
    from papermill.engines import NBClientEngine, papermill_engines

    class Seldom(NBClientEngine):
        @classmethod
        def execute_managed_notebook(cls, nb_man, kernel_name, **kwargs):
            save = nb_man.save

            def seldom(**given):
                if (nb_man.now() - nb_man.last_save_time).total_seconds() >= SECONDS:
                    save(**given)

            nb_man.save = seldom
            try:
                super().execute_managed_notebook(nb_man, kernel_name, **kwargs)
            finally:
                nb_man.save = save

    papermill_engines.register("seldom", Seldom)
    return "seldom"


def _with_kernel(execute, tries: int = 3) -> None:
    """Execute a notebook; once more if its kernel never began, as the ports chosen for it were taken
    by another program before it opened them. Nothing of the notebook has run then.
    """
    from nbclient.exceptions import DeadKernelError

    for left in reversed(range(tries)):
        try:
            execute()
            return
        except RuntimeError as error:
            if NEVER_BEGAN not in str(error):
                raise
            if not left:
                raise DeadKernelError(str(error)) from None


def parameter_names(notebook: Path) -> list[str]:
    """Names that a notebook's ``parameters`` cell defines.

    >>> parameter_names(Path("notebooks/02_data.ipynb"))  # doctest: +SKIP
    ['profile', 'data', 'seeds', 'out']
    """
    import ast

    names = []
    for cell in json.loads(notebook.read_text(encoding="utf-8"))["cells"]:
        if "parameters" in cell["metadata"].get("tags", []):
            for node in ast.parse("".join(cell["source"])).body:
                targets = node.targets if isinstance(node, ast.Assign) else [node]
                names += [each.id for each in targets if isinstance(each, ast.Name)]
                if isinstance(node, ast.AnnAssign):
                    names.append(node.target.id)
    return names


def failure(executed: Path) -> str | None:
    """What stopped an executed notebook ("cell 7: ValueError: …"), None if nothing did or the copy
    is not whole.
    """
    try:
        found = _error(json.loads(executed.read_text(encoding="utf-8"))["cells"])
    except ValueError:
        return None
    if found is None:
        return None
    number, cell, error = found
    return verbatim.message(f"cell {number}: {error['ename']}: {error['evalue']}")


def _failed_cell(executed: Path) -> tuple[int, str]:
    found = _error(json.loads(executed.read_text(encoding="utf-8"))["cells"])
    number, cell, _ = found
    lines = [line for line in "".join(cell["source"]).splitlines() if line.strip()]
    return number, lines[0].strip()[:60] if lines else ""


def _error(cells: list[dict]) -> tuple[int, dict, dict] | None:
    """Number (from 1, as in the source), cell and error of the first cell that raised."""
    number = 0
    for cell in cells:
        tags = cell["metadata"].get("tags", [])
        if "injected-parameters" in tags or "papermill-error-cell-tag" in tags:
            continue  # put in by papermill
        number += 1
        for output in cell.get("outputs", []):
            if output["output_type"] == "error":
                return number, cell, output
    return None
