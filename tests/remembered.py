"""What takes minutes to find out is found out again where something behind it has changed.

`tests/expected/remembered/<name>.json` holds what was found, and a hash of all that it rests on: the code
of the library, that which asks, and the versions of what is installed. Where the hash is another, it is
computed here and now, as it is in a mutant of the library. ALIGNBOOK_REMEMBER=all computes everything,
ALIGNBOOK_REMEMBER=changed what is due; both write down what they saw. The bars stay with the tests.
"""

import inspect
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from alignbook.store import durable
from alignbook.store.fingerprint import code_hash, key

TESTS = Path(__file__).parent
FOLDER = TESTS / "expected/remembered"
LOCK = TESTS.parent / "requirements.lock"


def remembered(name: str, modules: tuple[str, ...], compute: Callable[[], Any], *others) -> Any:
    """What `compute` finds, as JSON has it; what it found before as long as nothing has changed.

    Parameters
    ----------
    name : of the file.
    modules : of the library; they and all that they import count.
    compute : its source counts too, and `others`: texts, numbers and functions that it rests on.
    """
    sources = [each if not callable(each) else inspect.getsource(each) for each in others]
    code = code_hash(*modules, counts=lambda module: True)
    state = key(code, inspect.getsource(compute), sources, LOCK.read_text(encoding="utf-8"))
    file = FOLDER / f"{name}.json"
    wanted = os.environ.get("ALIGNBOOK_REMEMBER", "")
    known = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    mutant = "ALIGNBOOK_MUTANT" in os.environ
    if known.get("state") == state and wanted != "all" and not mutant:
        return known["found"]
    found = json.loads(json.dumps(compute()))
    if wanted and not mutant:
        FOLDER.mkdir(parents=True, exist_ok=True)
        durable.write(file, json.dumps({"state": state, "found": found}, indent=1) + "\n")
    return found
