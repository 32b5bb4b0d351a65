"""What stands in the way of components, found out before any work starts."""

from importlib.util import find_spec
from pathlib import Path

from alignbook.datasets import conllu, files, regions
from alignbook.errors import DataError

WITHOUT = {
    "parser": "no English parser: --set parser=NAME takes an installed spaCy pipeline such as "
    "en_core_web_sm, or a folder with a treebank of Universal Dependencies",
    "boxes": "no boxes: --set boxes= takes grid, a .json of detections or a .pt of YOLO weights",
    "probes": "no benchmarks: --set probes=DIR takes a folder that holds sugarcrepe/, aro/ or "
    "svo_probes/, as published",
}
PROBES = "expected the table as it is published; take the file again"
ULTRALYTICS = (
    "a detector needs ultralytics (AGPL-3.0), which is not installed: pip install "
    "ultralytics, or --set boxes=gold in the world and boxes=grid elsewhere"
)


def problem(field: str, profile, data: str) -> str:
    """What speaks against a profile's "parser", "boxes" or "probes" on some data, "" if nothing."""
    value, world = getattr(profile, field), data == "world"
    if world and value == {"parser": "captions", "boxes": "detector", "probes": "none"}[field]:
        return ULTRALYTICS if value == "detector" and not find_spec("ultralytics") else ""
    if value == "none":
        return WITHOUT[field]
    try:
        return {"parser": _parser, "boxes": _boxes, "probes": _probes}[field](value, data)
    except DataError as error:
        return str(error)


def _parser(value: str, data: str) -> str:
    from alignbook.backbones import pipelines
    from alignbook.papers.comalign.components import parser

    if value == "captions":
        return "only the world's captions come with parses; " + WITHOUT["parser"]
    place = Path(value).expanduser()
    of_treebank = [path for split in ("train", "dev") for path in place.glob(f"*{split}*.conllu")]
    of_pipeline = place.rglob("*") if (place / pipelines.SETTINGS).is_file() else ()
    for path in of_treebank or of_pipeline:
        try:
            files.check_regular(path)
        except OSError as error:
            what, remedy = "a pipeline's", "save the pipeline there again, by spaCy's to_disk"
            if of_treebank:
                what, remedy = "a treebank's", conllu.REMEDY
            return f"{path}: {error.strerror}, expected {what} file; {remedy}"
    return parser.problem(value)


def _boxes(value: str, data: str) -> str:
    from alignbook.papers.comalign.components import detector, vectors

    name, _, folder = data.partition("=")
    if value == "instances" and name == "coco":
        vectors.instances_below(Path(folder))
    elif value.endswith(".pt"):
        if not find_spec("ultralytics"):
            return ULTRALYTICS
        detector.Weights(value).path
    elif value.endswith(".json"):
        if not Path(value).is_file():
            return f"no such file; {WITHOUT['boxes']}"
        regions.read_detections(Path(value))
    elif value not in (("grid", "gold") if name == "world" else ("grid",)):
        return f"not known of {name}; {WITHOUT['boxes']}"
    return ""


def _probes(value: str, data: str) -> str:
    from alignbook.papers.comalign.components import probes

    if data == "world":
        return "the world has probes of its own; leave it out"
    for path in probes.Brought(Path(value)).files:
        try:
            files.check_regular(path)
        except OSError as error:
            return f"{path}: {error.strerror}, expected a regular file; put the benchmark's there"
        if path.suffix == ".json":
            files.load_json(path, dict if path.parent.name == "sugarcrepe" else list, PROBES)
    return ""
