"""Every wrong version of an equation, listed under tests/mutants, must fail that equation's tests.

A module of lib/alignbook has its table under the same path there: for each test file, the wrong
versions that must fail it, each (name, snippet that occurs in the module exactly once, replacement).
Killed means that a test failed; an import error is a fault of the table.

`tests/mutants/killed.json` holds which test killed each mutant, and a hash of the mutant, of the
function that it stands in and of that test at the time. A mutant of which none has changed is tried
again only by turns, a fiftieth of them at each state of the library, and its old test comes first.
ALIGNBOOK_MUTANTS=all tries all of them, ALIGNBOOK_MUTANTS=changed those that are due; both write
down what they saw.
"""

import ast
import hashlib
import json
import os
import runpy
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest
from snippets import place

TESTS = Path(__file__).parent
FOLDER = TESTS / "mutants"
KILLED = FOLDER / "killed.json"
LIBRARY = TESTS.parent / "lib/alignbook"
TABLES = {path.relative_to(FOLDER).as_posix(): path for path in sorted(FOLDER.rglob("*.py"))}
del TABLES["runner.py"], TABLES["snippets.py"]
MUTANTS = [  # (name, file under lib/alignbook, snippet, replacement, test file)
    (name, file, snippet, wrong, tests)
    for file, table in TABLES.items()
    for tests, mutants in runpy.run_path(str(table))["MUTANTS"].items()
    for name, snippet, wrong in mutants
]
TURNS = 50  # states of the library after which each mutant has been tried again

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork (Linux or macOS)")


def called(mutant: tuple) -> str:
    """A mutant's name among all."""
    return f"{mutant[1]}: {mutant[0]}"


@cache
def parts_of(path: Path) -> list[ast.stmt]:
    """A module's functions, nested ones too, and all its statements."""
    module = ast.parse(text_of(path))
    inner = [node for node in ast.walk(module) if isinstance(node, ast.FunctionDef)]
    return inner + module.body


@cache
def text_of(path: Path) -> str:
    return path.read_text(encoding="utf-8")


@cache
def code_of(node: ast.stmt) -> str:
    return ast.dump(node)


def around(path: Path, line: int) -> str:
    """The innermost function about a line, or the statement of the module: its code, bare of form."""
    found = [node for node in parts_of(path) if node.lineno <= line <= node.end_lineno]
    return code_of(max(found, key=lambda node: node.lineno)) if found else ""


def state(mutant: tuple, by: str) -> str:
    """Hash of a mutant, of the code about it, and of the test that kills it; "" if it has no place."""
    path = LIBRARY / mutant[1]
    if not path.is_file():  # moved or gone
        return ""
    source = text_of(path)
    try:
        start, _ = place(source, mutant[2], mutant[1])
    except ValueError:
        return ""
    parts = [*mutant[1:], around(path, source[:start].count("\n") + 1)]
    file, _, test = by.partition("::")
    if test and not (TESTS.parent / file).is_file():  # moved or gone
        return ""
    if test:
        wanted = test.partition("[")[0]
        parts += [
            code_of(node)
            for node in parts_of(TESTS.parent / file)
            if isinstance(node, ast.FunctionDef) and node.name == wanted
        ]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:12]


def due() -> list[tuple[tuple, str]]:
    """The mutants to try, each with the test that killed it last, if any."""
    killed = json.loads(KILLED.read_text(encoding="utf-8"))
    library = b"".join(path.read_bytes() for path in sorted(LIBRARY.rglob("*.py")))
    turn = int(hashlib.sha256(library).hexdigest(), 16)
    chosen = []
    for number, mutant in enumerate(MUTANTS):
        before, by = killed.get(called(mutant), ("", ""))
        turned = (number + turn) % TURNS == 0 or os.environ.get("ALIGNBOOK_MUTANTS") == "all"
        if not before or before != state(mutant, by) or turned:
            chosen.append((mutant, by))
    return chosen


DUE = due()


def write(seen: dict[str, tuple]) -> None:
    """Add what was seen to what is known, and drop mutants that are no more."""
    known = json.loads(KILLED.read_text(encoding="utf-8")) | seen
    lines = (
        f"{json.dumps(name)}: {json.dumps(known[name])}"
        for name in sorted(map(called, MUTANTS))
        if name in known
    )
    KILLED.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


@pytest.fixture(scope="session")
def attempt():
    """Tries a mutant on a test or a file of tests and says what became of it."""
    import alignbook

    library = str(Path(alignbook.__file__).parent.parent)
    path = os.pathsep.join(filter(None, [library, os.environ.get("PYTHONPATH")]))
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    environment = {**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1"}
    for name in [name for name in environment if name.startswith("PYTEST_")]:
        del environment[name]  # of the tests that this is one of
    command = [sys.executable, str(FOLDER / "runner.py")]
    with subprocess.Popen(command, env=environment, cwd=TESTS.parent, **pipes) as runner:

        def attempt(mutant: tuple, tests: str) -> dict:
            job = dict(zip(("file", "snippet", "replacement"), mutant[1:4]), tests=tests)
            runner.stdin.write(json.dumps(job) + "\n")
            runner.stdin.flush()
            return json.loads(runner.stdout.readline())

        yield attempt
        runner.stdin.close()


@pytest.mark.parametrize("mutant, by", DUE, ids=[called(mutant) for mutant, *_ in DUE])
def test_the_mutant_is_killed(attempt, record_property, mutant, by):
    outcome = attempt(mutant, by) if by else {"code": None}
    if outcome["code"] != 1:  # by another test than before, or not at all
        file = next(TESTS.rglob(mutant[4]))
        outcome = attempt(mutant, str(file.relative_to(TESTS.parent)))
    assert outcome["code"] != 0, f"{mutant[0]}: every test of {mutant[4]} passed; add one"
    assert outcome["code"] == 1, f"{mutant[0]} could not be tried:\n{outcome['output']}"
    by = outcome["by"]
    record_property("killed", (called(mutant), state(mutant, by), by))


def test_names_are_different():
    names = [called(mutant) for mutant in MUTANTS]
    assert len(names) == len(set(names))


def test_each_table_lies_where_its_module_does():
    lost = [file for file in TABLES if not (LIBRARY / file).is_file()]
    assert not lost, "tables under tests/mutants without a module: move them as those were moved"
