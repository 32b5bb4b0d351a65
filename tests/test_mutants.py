"""Every wrong version of an equation, listed under tests/mutants, must fail that equation's tests.

A mutant is (name, file under lib/alignbook or a paper's room with a slash behind, snippet that
occurs there exactly once, replacement, test file). Killed means that a test failed; an import error
is a fault of the table.

`tests/mutants/killed.json` holds which test killed each mutant, and a hash of the module and of the
test file at that time. A mutant of which neither has changed is tried again only by turns, a tenth
of them at each state of the library, and its old test comes first. ALIGNBOOK_MUTANTS=all tries all
of them, ALIGNBOOK_MUTANTS=changed those that are due; both write down what they saw.
"""

import hashlib
import json
import os
import runpy
import subprocess
import sys
from pathlib import Path

import pytest
from snippets import resolved

TESTS = Path(__file__).parent
FOLDER = TESTS / "mutants"
KILLED = FOLDER / "killed.json"
LIBRARY = TESTS.parent / "lib/alignbook"
TABLES = sorted({*FOLDER.glob("*.py")} - {FOLDER / "runner.py", FOLDER / "snippets.py"})
MUTANTS = [
    (name, resolved(LIBRARY, file, snippet), snippet, *others)
    for table in TABLES
    for name, file, snippet, *others in runpy.run_path(str(table))["MUTANTS"]
]
TURNS = 10  # states of the library after which each mutant has been tried again

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork (Linux or macOS)")


def called(mutant: tuple) -> str:
    """A mutant's name among all."""
    return f"{mutant[1]}: {mutant[0]}"


def state(*files: Path) -> str:
    """Hash of what files hold."""
    return hashlib.sha256(b"\0".join(file.read_bytes() for file in files)).hexdigest()[:12]


def due() -> list[tuple[tuple, str, str]]:
    """The mutants to try, each with its state and the test that killed it last, if any."""
    killed = json.loads(KILLED.read_text(encoding="utf-8"))
    tests = {path.name: path for path in TESTS.rglob("test_*.py")}
    turn = int(state(*sorted(LIBRARY.rglob("*.py"))), 16)
    chosen = []
    for number, mutant in enumerate(MUTANTS):
        module = LIBRARY / mutant[1]  # a folder where no file of a room holds the snippet
        now = state(module, tests[mutant[4]]) if module.is_file() else ""
        before, by = killed.get(called(mutant), ("", ""))
        turned = (number + turn) % TURNS == 0 or os.environ.get("ALIGNBOOK_MUTANTS") == "all"
        if not now or before != now or turned:
            chosen.append((mutant, now, by))
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


@pytest.mark.parametrize("mutant, now, by", DUE, ids=[called(mutant) for mutant, *_ in DUE])
def test_the_mutant_is_killed(attempt, record_property, mutant, now, by):
    outcome = attempt(mutant, by) if by else {"code": None}
    if outcome["code"] != 1:  # by another test than before, or not at all
        file = next(TESTS.rglob(mutant[4]))
        outcome = attempt(mutant, str(file.relative_to(TESTS.parent)))
    assert outcome["code"] != 0, f"{mutant[0]}: every test of {mutant[4]} passed; add one"
    assert outcome["code"] == 1, f"{mutant[0]} could not be tried:\n{outcome['output']}"
    record_property("killed", (called(mutant), now, outcome["by"]))


def test_names_are_different():
    names = [called(mutant) for mutant in MUTANTS]
    assert len(names) == len(set(names))
