"""What is installed: the package's extras, conda's list, what stands in for NVIDIA's libraries."""

import ast
import ctypes
import importlib.metadata
import os
import platform
import re
import subprocess
import sys
import tomllib
from functools import lru_cache
from pathlib import Path

import pytest
import torch
import yaml
from alignbook.errors import DataError
from alignbook.papers.comalign.components import detector, obstacles
from alignbook.workbook import checks, doctor, placeholders, profiles
from conftest import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS = PROJECT["optional-dependencies"]
PINS = dict(re.findall(r"(?m)^([\w.-]+)(?:==(\S+))?", (ROOT / "requirements.in").read_text()))


def plain(name: str) -> str:
    return re.sub("[-_.]+", "-", name).lower()


@lru_cache
def imports() -> dict[str, set[str]]:
    """The packages that the library imports, each with the modules that do."""
    found = {}
    for path in sorted((ROOT / "lib/alignbook").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [each.name for each in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and not node.level:
                names = [node.module]
            for name in names:
                where = str(path.relative_to(ROOT / "lib/alignbook"))
                found.setdefault(name.partition(".")[0], set()).add(where)
    return {name: found[name] for name in found.keys() - sys.stdlib_module_names - {"alignbook"}}


# --- The package and its extras ------------------------------------------------------------------


def test_whatever_the_library_imports_is_asked_for():
    asked = {plain(name) for name in PROJECT["dependencies"] + sum(EXTRAS.values(), [])}
    owner = {"PIL": "pillow", "open_clip": "open-clip-torch", "yaml": "pyyaml"}
    for name in imports().keys() - {"triton"}:  # torch brings it where there is any
        assert owner.get(name, plain(name)) in asked, f"{name}: in no list of pyproject.toml"


def test_the_library_alone_asks_for_nothing_that_shows_or_runs_the_notebooks():
    base = {plain(name) for name in PROJECT["dependencies"]}
    assert not base & {plain(name) for extra in EXTRAS.values() for name in extra}
    assert not base & {"jupyterlab", "papermill", "snakemake", "sphinx", "ultralytics", "pytest"}
    assert "alignbook[detector,docs,photographs]" in EXTRAS["workbook"]


def test_the_lock_is_of_what_the_package_and_its_extras_ask_for():
    asked = {
        plain(name)
        for name in PROJECT["dependencies"] + sum(EXTRAS.values(), [])
        if not name.startswith("alignbook[")
    }
    wanted = {plain(name) for name in PINS}
    # Its build needs setuptools, and ultralytics a build of OpenCV; the rest others bring along.
    assert wanted - asked == {"setuptools", "opencv-python-headless"}
    lock = (ROOT / "requirements.lock").read_text()
    assert asked <= set(re.findall(r"(?m)^([a-z0-9-]+)==", lock))


def test_what_run_all_leaves_out_for_all_but_tests_is_the_extra():
    listed = re.search(r"tests = name ~ /\^\((.*)\)\$/", (ROOT / "run_all.sh").read_text())[1]
    theirs = {
        "ast-serialize",
        "execnet",
        "grimp",
        "librt",
        "mypy-extensions",
        "pathspec",
    }  # what those need
    assert set(listed.split("|")) == {*EXTRAS["test"], *theirs, "triton"}


def test_the_doctor_asks_nobody_to_install_what_only_tests_need(monkeypatch):
    def version(name):
        if name in (*EXTRAS["test"], "papermill"):
            raise importlib.metadata.PackageNotFoundError(name)
        return "0"

    monkeypatch.setattr(importlib.metadata, "version", version)
    found = {each.what: each for each in doctor.packages()}
    for name in EXTRAS["test"]:
        assert "run_all.sh test" in found[name].found and not found[name].remedy
    assert found["papermill"].essential and found["papermill"].remedy


ROOMS = ("core", "datasets", "store", "evidence", "backbones", "world", "papers")


def test_what_the_library_loads_it_asks_for_itself():
    """Rooms that work without a workbook need no extra; kernels of a GPU alone have Triton."""
    asked = {re.split(r"[\W]", each)[0].replace("_", "-") for each in PROJECT["dependencies"]}
    packages, seen = importlib.metadata.packages_distributions(), set()
    for room in ROOMS:
        for path in (ROOT / "lib/alignbook" / room).rglob("*.py"):
            for node in ast.parse(path.read_text(encoding="utf-8")).body:
                named = [each.name for each in node.names] if isinstance(node, ast.Import) else []
                named += [node.module] if isinstance(node, ast.ImportFrom) else []
                for root in {name.partition(".")[0] for name in named} - sys.stdlib_module_names:
                    made = {each.lower().replace("_", "-") for each in packages.get(root, [])}
                    known = root in ("alignbook", "triton") or made & asked
                    assert known, f"{path}: imports {root}, which no dependency brings"
                    seen.add(root)
    assert {"torch", "numpy", "scipy"} <= seen


# --- The AGPL ------------------------------------------------------------------------------------


def test_only_the_detector_imports_ultralytics():
    assert imports()["ultralytics"] == {"papers/comalign/components/detector.py"}
    asking = [name for name, extra in EXTRAS.items() if "ultralytics" in extra]
    assert asking == ["detector"] and "ultralytics" not in PROJECT["dependencies"]
    for name in ("NOTICE", "README.md"):
        text = " ".join((ROOT / name).read_text(encoding="utf-8").split())
        assert "AGPL" in text and "components/detector.py" in text and "default run" in text


@pytest.fixture
def no_ultralytics(monkeypatch):
    def missing(name):
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(obstacles, "find_spec", lambda name: None)
    monkeypatch.setattr(detector, "version", missing)
    monkeypatch.setitem(sys.modules, "ultralytics", None)


def test_without_ultralytics_the_chapters_without_boxes_are_made(no_ultralytics, capsys):
    comalign = ["20_comalign", "23_comalign_similarity"]
    books = ["10_chan", *comalign, "30_covalign", "40_gsl", "90_claims"]
    kept = checks.check_components([], books, "smoke", "world", {})
    assert kept == [name for name in books if name not in comalign]
    said = capsys.readouterr().out
    assert "left out: 20_comalign, 23_comalign_similarity (" in said
    assert "pip install ultralytics" in said
    with pytest.raises(checks.Refused, match="pip install ultralytics"):
        checks.check_components(["comalign-TI"], books, "smoke", "world", {})
    assert checks.check_components([], books, "smoke", "world", {"boxes": "gold"}) == books


def test_a_detector_without_ultralytics_names_the_extra(no_ultralytics, tmp_path):
    (tmp_path / "yolo.pt").touch()
    profile = profiles.get("smoke", "coco", {"boxes": str(tmp_path / "yolo.pt")})
    assert "pip install ultralytics" in obstacles.problem("boxes", profile, "coco=here")
    for make in (detector.Config, lambda: detector._library(tmp_path)):
        with pytest.raises(DataError, match="AGPL.*pip install ultralytics"):
            make()


# --- conda ---------------------------------------------------------------------------------------

CONDA = yaml.safe_load((ROOT / "environment.yml").read_text())
CONDAS_NAME = {
    "torch": "pytorch",
    "opencv-python-headless": "opencv",
    "tensorboardX": "tensorboardx",
    "open_clip_torch": "open-clip-torch",
    "playwright": "playwright-python",
}


def test_conda_installs_what_the_lock_does():
    listed, *others = [each for each in CONDA["dependencies"] if not isinstance(each, str)]
    given = [each for each in CONDA["dependencies"] if isinstance(each, str)] + listed["pip"]
    *packages, itself = given
    assert not others and itself == "-e ."  # importable from any folder
    specs = {re.match(r"[\w.-]+", each)[0]: each for each in packages}
    expected = {CONDAS_NAME.get(name, name) for name in PINS}
    assert specs.keys() == expected | {"python", "pip", "uv"}
    lock = (ROOT / "requirements.lock").read_text()
    for name in PINS:
        spec = specs[CONDAS_NAME.get(name, name)]
        for version in re.findall(rf"(?m)^{plain(name)}==([^ ;\\]+)", lock):
            for sign, bound in re.findall(r"(>=|<|==|=)([\d.]+)", spec):
                assert fits(version, sign, bound), f"{spec}: the lock has {version}"
        if PINS[name]:
            assert ">=" in spec and "<" in spec or "==" in spec, f"{spec}: no bounds"
    assert specs["python"] == "python=3.12"


def fits(version: str, sign: str, bound: str) -> bool:
    """Whether a version is within a bound; "=" takes those that begin so.

    >>> fits("2.15.0", ">=", "2.9"), fits("3.0", "<", "3"), fits("3.12.1", "=", "3.12")
    (True, False, True)
    """
    mine, other = (tuple(map(int, text.split("."))) for text in (version, bound))
    return {
        ">=": mine >= other,
        "<": mine < other,
        "=": mine[: len(other)] == other,
        "==": mine == other,
    }[sign]


def test_conda_sets_what_run_all_sets():
    script = (ROOT / "run_all.sh").read_text()
    for name, value in CONDA["variables"].items():
        assert re.search(rf'\b{name}=(?:{value}|"\$\{{{name}:-{value}\}}")(?=\s)', script), name
    needed = {"PYTHONHASHSEED", "HF_HUB_OFFLINE", "JUPYTER_PREFER_ENV_PATH"}
    assert needed <= CONDA["variables"].keys()


# --- Placeholders --------------------------------------------------------------------------------

linux = pytest.mark.skipif(platform.system() != "Linux", reason="only Linux has a build for CUDA")
PYTORCH = Path(torch.__file__).parent


@pytest.fixture(scope="module")
def without_nvidia(tmp_path_factory) -> Path:
    """This environment by links, but of NVIDIA's packages only the two that are always needed."""
    site = tmp_path_factory.mktemp("site")
    for path in PYTORCH.parent.iterdir():
        if path.name not in ("torch", "nvidia"):
            (site / path.name).symlink_to(path)
    (site / "torch/lib").mkdir(parents=True)
    (site / "nvidia/cu13/lib").mkdir(parents=True)
    for path in PYTORCH.iterdir():
        if path.name != "lib":
            (site / "torch" / path.name).symlink_to(path)
    for path in (PYTORCH / "lib").iterdir():
        if path.suffix == ".so" or path.name.startswith(("libgfortran", "libgomp")):
            if path.name != placeholders.FUNCTIONS:
                (site / "torch/lib" / path.name).symlink_to(path)
    for path in PYTORCH.parent.glob("nvidia/*/lib/lib*"):
        if path.name.startswith(("libcudart.", "libcupti.")):
            (site / "nvidia/cu13/lib" / path.name).symlink_to(path)
    return site


USED = """
import re, torch
x = torch.randn(4, 4, dtype=torch.float64)
assert torch.allclose(x @ torch.linalg.inv(x), torch.eye(4, dtype=torch.float64))
y = torch.nn.functional.conv2d(torch.randn(1, 3, 8, 8), torch.randn(2, 3, 3, 3))
assert torch.isfinite(y).all()
torch.fft.fft(x), torch.__config__.show()
try:
    torch.backends.cudnn.version()
except RuntimeError as error:
    print("refused:", str(error)[:30])
print(torch.cuda.is_available())
maps = open("/proc/self/maps")
print(*{line.split()[-1] for line in maps if re.search("libcublas|libcudnn", line)})
"""


@linux
@pytest.mark.skipif(not torch.version.cuda, reason="this PyTorch is not built for CUDA")
def test_pytorch_runs_on_placeholders(without_nvidia):
    """Where every function is looked for at once, and not only those that are called."""
    made = placeholders.write(without_nvidia / "torch/lib", without_nvidia / "nvidia")
    assert {"libcublas", "libcudnn", "libcufft", "libnccl"} <= {name.split(".")[0] for name in made}
    environment = os.environ | {
        "PYTHONPATH": str(without_nvidia),
        "CUDA_VISIBLE_DEVICES": "",
        "LD_BIND_NOW": "1",
    }
    done = subprocess.run(
        [sys.executable, "-S", "-c", USED],
        capture_output=True,
        text=True,
        env=environment,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    refused, available, loaded = done.stdout.splitlines()
    assert refused.startswith("refused:") and available == "False"
    folder = str(without_nvidia / "torch/lib")
    assert loaded.split() and all(path.startswith(folder) for path in loaded.split())


@linux
@pytest.mark.skipif(not torch.version.cuda, reason="this PyTorch is not built for CUDA")
def test_a_real_library_takes_its_placeholders_place(without_nvidia):
    lib, nvidia = without_nvidia / "torch/lib", without_nvidia / "nvidia"
    made = placeholders.write(lib, nvidia)
    assert placeholders.write(lib, nvidia) == made
    blas, dnn, *rest = [name for name in made if name.startswith(("libcublas.", "libcudnn."))] + [
        name for name in made if not name.startswith(("libcublas.", "libcudnn."))
    ]
    (nvidia / "cu13/lib" / blas).write_bytes(b"real" * 1000)
    (lib / dnn).write_bytes(b"real" * 1000)  # as older releases bring it along
    assert placeholders.write(lib, nvidia) == sorted(rest)
    assert not (lib / blas).exists() and (lib / dnn).read_bytes().startswith(b"real")
    for name in rest:
        (nvidia / "cu13/lib" / name).write_bytes(b"real" * 1000)
    assert placeholders.write(lib, nvidia) == []
    assert not any((lib / name).exists() for name in [*rest, placeholders.FUNCTIONS])
    (lib / dnn).unlink()
    for name in made:
        (nvidia / "cu13/lib" / name).unlink(missing_ok=True)


@linux
def test_a_placeholders_functions_say_that_they_failed(tmp_path):
    machine = {"x86_64": 62, "aarch64": 183}[platform.machine()]
    names = ["cublasCreate_v2", "cudnnGetErrorString", *(f"nccl{i}" for i in range(200))]
    functions = placeholders.library(machine, "libfunctions.so", names)
    (tmp_path / "libfunctions.so").write_bytes(functions)
    empty = placeholders.library(machine, "libempty.so.1", [], "libfunctions.so")
    (tmp_path / "libempty.so.1").write_bytes(empty)
    library = ctypes.CDLL(str(tmp_path / "libempty.so.1"))  # which loads the other
    assert all(getattr(library, name)() == 1 for name in names if not name.endswith("String"))
    library.cudnnGetErrorString.restype = ctypes.c_void_p
    assert library.cudnnGetErrorString() is None
    assert not hasattr(library, "nccl200")
