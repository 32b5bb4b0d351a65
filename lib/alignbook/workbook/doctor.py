"""What this machine offers the workbook, and what is missing (``./run_all.sh doctor``)."""

import importlib.metadata
import os
import platform
import re
import shutil
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path

from alignbook import ROOT
from alignbook.workbook import placeholders, surroundings

_NEEDED_DISK = 10.0  # GB: smoke and laptop results with their features and weights
_NEEDED_MEMORY = 4.0  # GB: two training processes of the laptop profile


@dataclass(frozen=True)
class Finding:
    """One line of the table; ``remedy`` says what to do where something is missing."""

    topic: str
    what: str
    found: str
    remedy: str = ""
    essential: bool = False  # nothing works while it is missing


def main(_=()) -> int:
    """Print the table, and take no arguments; exit code 0 unless something essential is missing."""
    findings = [*machine(), *packages(), *devices(), *data_sets()]
    widths = [max(len(getattr(each, name)) for each in findings) for name in ("topic", "what")]
    before = ""
    for each in findings:
        topic = each.topic if each.topic != before else ""
        before = each.topic
        print(f"{topic:{widths[0]}}  {each.what:{widths[1]}}  {each.found}")
    missing = [each for each in findings if each.remedy]
    if missing:
        print("\nmissing:")
        for each in missing:
            print(f"  {'must' if each.essential else 'may '}  {each.what}: {each.remedy}")
    else:
        print("\nnothing is missing")
    return 1 if any(each.essential for each in missing) else 0


def machine() -> list[Finding]:
    """Python, platform, cores, memory, disk, compiler."""
    version = sys.version_info[:2]
    supported = (3, 11) <= version < (3, 14)
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9
    disk = shutil.disk_usage(ROOT).free / 1e9
    compiler = shutil.which(os.environ.get("CC") or "cc") or shutil.which("clang")
    low_memory = low_disk = ""
    if memory < _NEEDED_MEMORY:
        low_memory = f"{_NEEDED_MEMORY:.0f} GB are needed for two jobs at once; try --jobs 1"
    if disk < _NEEDED_DISK:
        low_disk = f"{_NEEDED_DISK:.0f} GB are needed; make room"
    return [
        Finding(
            "machine",
            "Python",
            f"{platform.python_version()}  {sys.executable}",
            "" if supported else "3.11 to 3.13 is needed: remove .venv, and run_all.sh finds one",
            essential=True,
        ),
        Finding("machine", "platform", platform.platform()),
        Finding("machine", "cores", str(surroundings.cores())),
        Finding("machine", "memory", f"{memory:.1f} GB", low_memory),
        Finding("machine", "disk free", f"{disk:.0f} GB", low_disk),
        Finding(
            "machine",
            "C compiler",
            compiler or "none",
            "" if compiler else "kernels on a GPU are compiled with one; install gcc or clang",
        ),
    ]


def packages() -> list[Finding]:
    """What requirements.in names, as installed; the lock is what should be."""
    locked = re.findall(r"(?m)^([\w.-]+)==([^ ;\\]+)", (ROOT / "requirements.lock").read_text())
    wanted = re.findall(r"(?m)^([\w.-]+)", (ROOT / "requirements.in").read_text())
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    remedy = "remove the folder .venv and start ./run_all.sh again"
    if (Path(sys.prefix) / ".alignbook/conda").exists():
        remedy = "that is conda's, see environment.yml"
    findings = []
    for name in wanted:
        name = name.replace("_", "-").lower()
        should = [version for other, version in locked if other == name]  # one for each Python
        try:
            found = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            if name in project["optional-dependencies"]["test"]:
                findings.append(Finding("packages", name, "comes with ./run_all.sh test"))
            else:
                findings.append(Finding("packages", name, "missing", remedy, essential=True))
            continue
        other = found not in should
        findings.append(
            Finding(
                "packages",
                name,
                found + (f"  (the lock has {' or '.join(should)})" if other else ""),
                f"results may differ in their last digits; {remedy}" if other else "",
            )
        )
    return findings


def devices() -> list[Finding]:
    """Where PyTorch can compute, and with which kernels."""
    try:
        import torch

        from alignbook.core import kernels
    except ImportError as error:
        return [Finding("devices", "PyTorch", f"does not load: {error}", "see above", True)]
    cuda = [torch.cuda.get_device_name(index) for index in range(torch.cuda.device_count())]
    mps = torch.backends.mps.is_available()
    left_out = (Path(torch.__file__).parent / "lib" / placeholders.FUNCTIONS).exists()
    without = "NVIDIA's libraries are left out: ALIGNBOOK_GPU=yes ./run_all.sh installs them"
    return [
        Finding("devices", "cpu", f"{torch.get_num_threads()} threads"),
        Finding("devices", "cuda", ", ".join(cuda) or "none", without if cuda and left_out else ""),
        Finding("devices", "mps", "yes" if mps else "none"),
        *(
            Finding("devices", f"kernels on {device}", " – ".join(kernels.choice(device)))
            for device in ("cpu", *["cuda"] * bool(cuda), *["mps"] * mps)
        ),
    ]


def data_sets() -> list[Finding]:
    """Data sets found in the folder ALIGNBOOK_DATA names and in data/."""
    from alignbook.datasets import by_name

    named = os.environ.get("ALIGNBOOK_DATA")
    places = [Path(named)] if named else []
    places.append(ROOT / "data")
    findings = [
        Finding("data", "ALIGNBOOK_DATA", named or "not set"),
        Finding("data", "world", "made here when needed"),
    ]
    for name in ("flickr8k", "flickr30k", "coco", "f30k_precomp", "coco_precomp"):
        folders = [place / name for place in places if (place / name).is_dir()]
        if not folders:
            remedy = f"get it from its authors, then give --data {name}=DIR (see docs/your-data.md)"
            findings.append(Finding("data", name, "not found", remedy))
        for folder in folders[:1]:
            problems = by_name.check(f"{name}={folder}")
            found = f"{folder}  (not whole)" if problems else str(folder)
            findings.append(Finding("data", name, found, "; ".join(problems)))
    return findings
