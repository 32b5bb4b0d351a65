"""``./run_all.sh tensorboard``: loss, learning rate and dev of stored runs as event files.

With ``--set tensorboard=yes`` a start ends with it. They are written after the fact, from what
every run keeps: nothing of the training depends on it. The viewer is not part of the workbook:
`pip install tensorboard`, or a notebook service's.
"""

import calendar
import os
import shutil
import sys
import time
from pathlib import Path

import pandas as pd

from alignbook import ROOT
from alignbook.core.names import slug
from alignbook.evidence import learnt
from alignbook.show import curves
from alignbook.store import runs
from alignbook.workbook import folders
from alignbook.workbook.reports import report, report_curves

TAGS = {"loss": "loss", "rate": "learning_rate", "dev": "dev_RSUM"}  # a viewer takes no spaces


def main(arguments: list[str]) -> int:
    """``tensorboard [FOLDER] [--profile P] [--data D]``; returns the exit code."""
    asked = report.asked_for(
        "tensorboard",
        "Write the curves of a results folder's runs as TensorBoard event files.",
        arguments,
    )
    try:
        kind = asked.data.partition("=")[0]
        out = asked.folder or folders.newest(ROOT / "results", asked.profile, kind)
        tell(out)
    except (ValueError, OSError) as error:
        print(f"run_all.sh: {error}", file=sys.stderr)
        return 2
    return 0


def tell(out: Path) -> None:
    """`write`, and say how to look at it."""
    print(f"{write(out)} runs: tensorboard --logdir {os.path.relpath(out / 'tensorboard')}")


def write(out: Path) -> int:
    """Write `out/tensorboard/<exhibit>/<arm>/<seed>` for every reported run; how many there are.

    The folder is made anew. Steps before 0 are those of a warm-up.

    Raises
    ------
    ValueError
        No run of the folder left curves.
    """
    from tensorboardX.event_file_writer import EventsWriter  # SummaryWriter has a thread a file
    from tensorboardX.proto.event_pb2 import Event
    from tensorboardX.summary import scalar

    aside, count = out / ".tensorboard", 0
    shutil.rmtree(aside, ignore_errors=True)
    listed = report_curves.listed(out) if (out / "runs.csv").exists() else pd.DataFrame()
    for line in listed.itertuples():
        run = learnt.trained(runs.stored(line.key))
        if run is None or not len(run.array("loss")):
            continue
        finished = time.strptime(run.record["finished"], "%Y-%m-%dT%H:%M:%SZ")
        folder = aside / line.exhibit / slug(line.arm) / str(line.seed)
        folder.mkdir(parents=True)
        file = EventsWriter(f"{folder}/events")
        for kind, points in curves.of_run(run).items():
            for step, value in points.tolist() if kind in TAGS else ():
                said, when = scalar(TAGS[kind], value), calendar.timegm(finished)
                file.write_event(Event(wall_time=when, step=int(step), summary=said))
        file.close()
        count += 1
    if not count:
        raise ValueError(f"{out}/runs.csv: no stored run that was trained; ./run_all.sh makes some")
    shutil.rmtree(out / "tensorboard", ignore_errors=True)
    os.replace(aside, out / "tensorboard")
    return count
