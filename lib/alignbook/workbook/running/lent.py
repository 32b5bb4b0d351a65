"""Times that were published, for a results folder whose runs `unpack` brought.

`unpack` lays them ready. The job that would measure takes them instead, once, each with a column that
says whose they are: where code has changed, or somebody removed them, times are measured here.
"""

import json
from pathlib import Path

from alignbook.store import durable
from alignbook.workbook.exhibits import EXHIBITS
from alignbook.workbook.folders import UNPACKED, is_whole, machine_of
from alignbook.workbook.running.graph import title

MEASURED = ("efficiency/*.csv", "benchmarks/*.csv")  # of a results folder


def lend(out: Path, reference: Path) -> None:
    """Put a results folder's published times ready in it, if there are any."""
    for pattern in ("about.json", *MEASURED):
        for file in reference.glob(pattern):
            ready = out / UNPACKED / file.relative_to(reference)
            durable.write(ready, file.read_bytes(), sealed=True)


def published(out: Path) -> bool:
    """Whether `unpack` brought the published runs of a results folder."""
    return (out / UNPACKED / "about.json").exists()


def _laid(out: Path, name: str) -> list[Path]:
    return sorted((out / UNPACKED).glob(f"{name}*.csv"))


def ready(out: Path, name: str) -> list[Path]:
    """The files of times that lie ready in a results folder under a name, or one that begins so;
    none if one is not as it was laid there: some of them are measured here then, alone.
    """
    found = _laid(out, name)
    return found if all(map(is_whole, found)) else []


def seconds(out: Path) -> dict[str, float]:
    """What the jobs that find their times ready are planned to take, by title."""
    names = [name for name in EXHIBITS if ready(out, f"efficiency/{name}")]
    return {title(["efficiency", name]): 2.0 for name in names}


def take(out: Path, name: str) -> bool:
    """Move times that lie ready, such as "efficiency/chan-F3", and those whose names begin so, to
    where they are read; whether there were any. One that is not as it was laid there is set aside.
    """
    import pandas as pd

    from alignbook.show.run_tables import MEASURED_ON

    found = []
    for file in _laid(out, name):
        if not is_whole(file):
            durable.set_aside(file, f"{file}: cut or altered", "these times are measured here")
            continue
        found.append(file)
        times = pd.read_csv(file, dtype=str, keep_default_na=False)  # digits stay as they are
        if MEASURED_ON not in times:
            times[MEASURED_ON] = f"another machine, as published ({_machines(out / UNPACKED)})"
        target = out / file.relative_to(out / UNPACKED)
        durable.write(target, times.to_csv(index=False), sealed=True)
        durable.remove(file)
    return bool(found)


def _machines(published: Path) -> str:
    """Where results were made, as about.json says if it is whole."""
    about = published / "about.json"
    starts = json.loads(about.read_bytes())["starts"] if is_whole(about) else []
    return "; ".join(dict.fromkeys(map(machine_of, starts))) or "unknown"
