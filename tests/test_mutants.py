"""Every wrong version of an equation, listed under tests/mutants, must fail that equation's tests.

A mutant is (name, file under lib/alignbook or a paper's room with a slash behind, snippet that occurs there exactly once, replacement,
test file). Killed means that a test failed; an import error is a fault of the table.
"""

import json
import os
import runpy
import subprocess
import sys
from pathlib import Path

import pytest
from snippets import resolved

FOLDER = Path(__file__).parent / "mutants"
LIBRARY = FOLDER.parents[1] / "lib/alignbook"
TABLES = sorted({*FOLDER.glob("*.py")} - {FOLDER / "runner.py", FOLDER / "snippets.py"})
MUTANTS = [
    (name, resolved(LIBRARY, file, snippet), snippet, *others)
    for table in TABLES
    for name, file, snippet, *others in runpy.run_path(str(table))["MUTANTS"]
]
# From the last on: the tests beside them begin with the first, and train what both look at.
TEST_FILES = sorted({mutant[4] for mutant in MUTANTS}, reverse=True)

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork (Linux or macOS)")


def start(folder: Path) -> subprocess.Popen:
    """Begin with the unchanged library and all mutants, one at a time and behind other tests.

    What became of each stands in `folder/outcomes`; a file `folder/hurry` lets them take all cores.
    """
    jobs = [
        {
            "files": sorted({mutant[1] for mutant in MUTANTS if mutant[4] == tests}),
            "snippet": None,
            "tests": tests,
        }
        for tests in TEST_FILES
    ]
    jobs += [
        dict(zip(("file", "snippet", "replacement", "tests"), mutant[1:])) for mutant in MUTANTS
    ]
    import alignbook

    library = str(Path(alignbook.__file__).parent.parent)
    path = os.pathsep.join(filter(None, [library, os.environ.get("PYTHONPATH")]))
    environment = {**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1"}
    (folder / "jobs").write_text(json.dumps(jobs))
    command = ["nice", sys.executable, str(FOLDER / "runner.py"), str(folder / "hurry")]
    with (
        open(folder / "jobs") as asked,
        open(folder / "outcomes", "w") as told,
        open(folder / "words", "w") as words,
    ):
        return subprocess.Popen(
            command, stdin=asked, stdout=told, stderr=words, env=environment, process_group=0
        )


def ended(process: subprocess.Popen, folder: Path) -> dict[int, dict]:
    """What became of each job, by its number, once all have ended: nothing else goes on now."""
    (folder / "hurry").touch()
    assert process.wait() == 0, (folder / "words").read_text()
    lines = (folder / "outcomes").read_text().splitlines()
    return {line["number"]: line for line in map(json.loads, lines)}


@pytest.fixture(scope="module")
def outcomes(request):
    """What became of each mutant, and of each test file without any."""
    found = ended(*request.config.mutants)
    return [found[number] for number in range(len(TEST_FILES) + len(MUTANTS))]


@pytest.mark.parametrize("number, tests", list(enumerate(TEST_FILES)), ids=TEST_FILES)
def test_the_unchanged_library_passes(outcomes, number, tests):
    assert outcomes[number]["code"] == 0, outcomes[number]["output"]


@pytest.mark.parametrize(
    "number, mutant",
    list(enumerate(MUTANTS)),
    ids=[f"{mutant[1]}: {mutant[0]}" for mutant in MUTANTS],
)
def test_the_mutant_is_killed(outcomes, number, mutant):
    outcome = outcomes[len(TEST_FILES) + number]
    assert outcome["code"] != 0, f"{mutant[0]}: every test of {mutant[4]} passed; add one"
    assert outcome["code"] == 1, f"{mutant[0]} could not be tried:\n{outcome['output']}"


def test_names_are_different():
    names = [(mutant[1], mutant[0]) for mutant in MUTANTS]
    assert len(names) == len(set(names))
