"""Profiles: how much of everything a run of the workbook computes.

A profile is a flat record of sizes, steps and seeds. `smoke` shows that the plumbing holds,
`laptop` is meant for two cores and three quarters of an hour, `overnight` runs every arm with five
seeds, `gpu` a larger world, and `paper` the papers' own settings on the papers' own data.
"""

import dataclasses
from dataclasses import dataclass

NAMES = ("smoke", "laptop", "overnight", "gpu", "paper")


@dataclass(frozen=True)
class Profile:
    """Every number a run depends on besides the data; `--set field=value` changes one of them."""

    name: str
    seeds: int
    # data: images of each split (0: all there are), pixels a side, how photographs become square
    # ("squash", or "crop" to the middle as pretrained models expect it), seed of the world
    train_images: int
    dev_images: int
    test_images: int
    size: int
    fit: str
    data_seed: int
    # base model
    base: str
    base_epochs: int
    base_seeds: int
    base_batch: int
    # CHAN
    chan_steps: int
    chan_batch: int
    chan_dim: int
    chan_regions: int
    chan_learning_rate: float
    chan_all_violations: float
    chan_trials: int
    chan_evaluation: str
    # ComAlign: where boxes and parses come from (`components`; parser "none": go without ComAlign),
    # training images (0: all), heads, and the data these are trained on ("": the same; the world's
    # are the other domain's)
    boxes: str
    parser: str
    comalign_images: int
    comalign_steps: int
    comalign_batch: int
    comalign_learning_rate: float
    comalign_trials: int
    comalign_source: str
    # folder of compositional benchmarks for photographs ("none": go without); the world has its own
    probes: str
    # CoV-Align: whose patches (the "base" model's cells, or a ViT by its folder or name under
    # data/weights), whether the towers are "frozen" or trained "end-to-end", and images measured of
    # each split (0: all)
    covalign_vit: str
    covalign_tokens: str
    covalign_dim: int
    covalign_layers: int
    covalign_steps: int
    covalign_batch: int
    covalign_learning_rate: float
    covalign_trials: int
    covalign_dev_images: int
    covalign_test_images: int
    # GSL and its rivals: networks, images of each split (0: all), the learning rate after warm-up as
    # a share, the loss of GSL's and BiCro's warm-up ("own": their own), steps an epoch (0: a pass),
    # and the folder of noise index files ("drawn": they are made here)
    gsl_similarity: str
    gsl_images: int
    gsl_dev_images: int
    gsl_test_images: int
    gsl_regions: int
    gsl_dim: int
    gsl_sim_dim: int
    gsl_batch: int
    gsl_learning_rate: float
    gsl_after: float
    gsl_warm_up: str
    gsl_warm_up_epochs: int
    gsl_epochs: int
    gsl_epoch_steps: int
    gsl_trials: int
    gsl_noise_index: str
    # BERT of the captions: pretrained on them ("captions") or a name or folder of weights
    bert: str
    bert_steps: int


WORLD = {
    "smoke": Profile(
        "smoke",
        seeds=1,
        train_images=300,
        dev_images=60,
        test_images=100,
        size=64,
        fit="squash",
        data_seed=0,
        base="world-clip",
        base_epochs=2,
        base_seeds=1,
        base_batch=64,
        chan_steps=12,
        chan_batch=32,
        chan_dim=64,
        chan_regions=36,
        chan_learning_rate=1e-3,
        chan_all_violations=0.2,
        chan_trials=2,
        chan_evaluation="float32",
        boxes="detector",
        parser="captions",
        comalign_images=60,
        comalign_steps=6,
        comalign_batch=32,
        comalign_learning_rate=1e-3,
        comalign_trials=1,
        comalign_source="",
        probes="none",
        covalign_vit="base",
        covalign_tokens="frozen",
        covalign_dim=32,
        covalign_layers=1,
        covalign_steps=6,
        covalign_batch=16,
        covalign_learning_rate=3e-3,
        covalign_trials=1,
        covalign_dev_images=20,
        covalign_test_images=40,
        gsl_similarity="saf",
        gsl_images=40,
        gsl_dev_images=20,
        gsl_test_images=40,
        gsl_regions=16,
        gsl_dim=32,
        gsl_sim_dim=8,
        gsl_batch=16,
        gsl_learning_rate=7e-3,
        gsl_after=0.03,
        gsl_warm_up="mean",
        gsl_warm_up_epochs=1,
        gsl_epochs=2,
        gsl_epoch_steps=3,
        gsl_trials=1,
        gsl_noise_index="drawn",
        bert="captions",
        bert_steps=10,
    ),
    "laptop": Profile(
        "laptop",
        seeds=3,
        train_images=8000,
        dev_images=300,
        test_images=400,
        size=64,
        fit="squash",
        data_seed=0,
        base="world-clip",
        base_epochs=5,
        base_seeds=1,
        base_batch=128,
        # Pilots on dev: as good as twice the width and batch, in half the time.
        chan_steps=300,
        chan_batch=32,
        chan_dim=64,
        chan_regions=36,
        chan_learning_rate=2e-3,
        chan_all_violations=0.2,
        chan_trials=3,
        chan_evaluation="float32",
        boxes="detector",
        parser="captions",
        comalign_images=2000,
        comalign_steps=100,
        comalign_batch=48,
        comalign_learning_rate=1e-3,
        comalign_trials=2,
        comalign_source="",
        probes="none",
        covalign_vit="base",
        covalign_tokens="frozen",
        covalign_dim=128,
        covalign_layers=2,
        covalign_steps=150,
        covalign_batch=32,
        covalign_learning_rate=3e-3,
        covalign_trials=2,
        covalign_dev_images=200,
        covalign_test_images=300,
        gsl_similarity="saf",
        gsl_images=400,
        gsl_dev_images=100,
        gsl_test_images=200,
        gsl_regions=16,
        gsl_dim=32,
        gsl_sim_dim=16,
        gsl_batch=24,
        gsl_learning_rate=7e-3,
        gsl_after=0.03,
        gsl_warm_up="mean",
        gsl_warm_up_epochs=5,
        gsl_epochs=2,
        gsl_epoch_steps=30,
        gsl_trials=1,
        gsl_noise_index="drawn",
        bert="captions",
        bert_steps=1000,
    ),
}
WORLD["overnight"] = dataclasses.replace(
    WORLD["laptop"],
    name="overnight",
    seeds=5,
    dev_images=500,
    test_images=1000,
    base_epochs=16,
    base_seeds=3,
    chan_steps=1500,
    chan_batch=64,
    chan_dim=128,
    chan_trials=6,
    comalign_images=0,
    comalign_steps=500,
    comalign_batch=96,
    comalign_trials=3,
    covalign_layers=3,
    covalign_steps=500,
    covalign_batch=64,
    covalign_trials=3,
    covalign_dev_images=0,
    covalign_test_images=0,
    gsl_similarity="sgr",
    gsl_images=1000,
    gsl_dev_images=200,
    gsl_test_images=500,
    gsl_epochs=4,
    gsl_warm_up_epochs=5,
    gsl_epoch_steps=100,
    gsl_learning_rate=2e-3,
    gsl_after=0.1,
    gsl_trials=3,
)
WORLD["gpu"] = dataclasses.replace(
    WORLD["laptop"],
    name="gpu",
    seeds=10,
    train_images=40000,
    dev_images=1000,
    test_images=5000,
    size=96,
    base_epochs=30,
    base_seeds=3,
    chan_steps=6000,
    chan_dim=512,
    chan_batch=256,
    chan_trials=6,
    comalign_images=0,
    comalign_steps=2000,
    comalign_batch=400,
    comalign_trials=3,
    covalign_dim=256,
    covalign_layers=3,
    covalign_steps=2000,
    covalign_batch=128,
    covalign_learning_rate=1e-3,
    covalign_trials=3,
    covalign_dev_images=0,
    covalign_test_images=1000,
    gsl_similarity="sgr",
    gsl_images=0,
    gsl_dev_images=0,
    gsl_test_images=1000,
    gsl_regions=36,
    gsl_dim=256,
    gsl_sim_dim=64,
    gsl_batch=128,
    gsl_learning_rate=5e-4,
    gsl_after=0.3,
    gsl_warm_up_epochs=5,
    gsl_epochs=20,
    gsl_epoch_steps=0,
    gsl_trials=3,
)
# The papers' own data: no world stands in for it. CHAN's code trains for 25 epochs, the first of
# them with all violations; CoV-Align for 30.
EPOCHS, COVALIGN_EPOCHS = 25, 30
WORLD["paper"] = dataclasses.replace(
    WORLD["gpu"],
    name="paper",
    chan_dim=1024,
    chan_batch=384,
    chan_learning_rate=5e-4,
    chan_all_violations=1 / EPOCHS,
    comalign_steps=1000,
    comalign_batch=1600,
    comalign_learning_rate=1e-4,
    parser="en_core_web_sm",
    bert="bert-base-uncased",
    covalign_vit="vit-base-patch16-224",
    covalign_tokens="end-to-end",
    covalign_dim=512,
    covalign_learning_rate=1e-4,
    covalign_test_images=0,
    gsl_dim=1024,
    gsl_sim_dim=256,
    gsl_learning_rate=2e-4,
    gsl_after=1.0,
    gsl_warm_up="own",
    gsl_warm_up_epochs=10,
    gsl_epochs=40,
    gsl_test_images=0,
)
TRAINING_CAPTIONS = {"coco": 566435, "flickr30k": 145000, "flickr8k": 30000}
TRAINING_CAPTIONS |= {"coco_precomp": 566435, "f30k_precomp": 145000, "precomp": 145000}

# Photographs: all images of the official splits, a tower trained from scratch on 80 pixels.
WHOLE = dict(
    train_images=0,
    dev_images=0,
    test_images=0,
    size=80,
    base="photo-tower",
    base_epochs=36,
    base_batch=64,
    # Pilots on dev, hard coding only: with hardest negatives early the loss stays at 2 × margin.
    chan_all_violations=0.8,
)
# Their boxes are a grid's, and their captions' parser one that is installed, unless told.
PARTS = dict(boxes="grid", parser="en_core_web_sm")
PHOTOGRAPHS = {
    "smoke": dict(size=80, base="photo-tower", **PARTS),
    "laptop": WHOLE
    | PARTS
    | dict(
        chan_steps=750,
        chan_batch=64,
        chan_dim=128,
        chan_trials=2,
        comalign_batch=96,
        covalign_steps=300,
        covalign_batch=64,
        gsl_images=1000,
        gsl_test_images=300,
        gsl_warm_up_epochs=10,
    ),
    "others": WHOLE | PARTS | dict(base_epochs=80),
}


# The most that a setting may be, by how its name ends: more is a slip, and would fill the machine.
MOST = {
    "seeds": 1000,
    "data_seed": 2**32,
    "images": 10_000_000,
    "size": 4096,
    "epochs": 100_000,
    "batch": 1_000_000,
    "steps": 1_000_000_000,
    "dim": 100_000,
    "regions": 10_000,
    "trials": 1000,
    "layers": 1000,
    "chan_all_violations": 1,
}
MULTIPLES = {"chan_dim": 4, "covalign_dim": 8}  # of the heads of attention


def get(name: str, data: str = "world", overrides: dict[str, str] | None = None) -> Profile:
    """The profile of a name for a kind of data, with single values changed.

    Raises
    ------
    ValueError
        For an unknown name, an unknown key (listing the known ones), or a value of the wrong type.

    Examples
    --------
    >>> get("smoke", overrides={"chan_steps": "3"}).chan_steps
    3
    """
    if name not in NAMES:
        raise ValueError(f"unknown profile {name!r}; there are: {', '.join(NAMES)}")
    profile = WORLD[name]
    if data.partition("=")[0] != "world":
        profile = dataclasses.replace(profile, **PHOTOGRAPHS.get(name, PHOTOGRAPHS["others"]))
        if data.partition("=")[0] == "coco":
            profile = dataclasses.replace(profile, boxes="instances")
        if name == "paper":
            profile = dataclasses.replace(profile, boxes="yolov9c.pt")
            captions = TRAINING_CAPTIONS[data.partition("=")[0]]
            profile = dataclasses.replace(
                profile,
                chan_steps=EPOCHS * (captions // profile.chan_batch),
                chan_all_violations=1 / EPOCHS,
                covalign_steps=COVALIGN_EPOCHS * (captions // profile.covalign_batch),
            )
        if ":" in (overrides or {}).get("base", ""):  # what most pretrained models look at
            profile = dataclasses.replace(profile, size=224, fit="crop")
    elif name == "paper":
        raise ValueError(
            "the paper profile is for the papers' own data, coco_precomp=DIR first of "
            "all: see ./run_all.sh --profile paper --dry-run; the world has laptop, "
            "overnight and gpu"
        )
    fields = {f.name: f.type for f in dataclasses.fields(Profile) if f.name != "name"}
    for key, text in (overrides or {}).items():
        if key not in fields:
            raise ValueError(f"unknown setting {key!r}; there are: {', '.join(fields)}")
        try:
            value = fields[key](text)
        except ValueError:
            raise ValueError(
                f"setting {key}={text!r}: expected a value of type {fields[key].__name__}"
            ) from None
        least = (
            0
            if key
            in (
                "train_images",
                "dev_images",
                "test_images",
                "data_seed",
                "comalign_images",
                "gsl_images",
                "gsl_dev_images",
                "gsl_test_images",
                "gsl_warm_up_epochs",
                "gsl_epoch_steps",
                "covalign_dev_images",
                "covalign_test_images",
            )
            else 1
        )
        if fields[key] is int and value < least:
            raise ValueError(f"setting {key}={text}: expected {least} or more")
        if fields[key] is float and not 0 < value < 1e9:
            raise ValueError(f"setting {key}={text}: expected a number above 0")
        most = min((MOST[end] for end in MOST if key.endswith(end)), default=None)
        if fields[key] is not str and most is not None and value > most:
            raise ValueError(f"setting {key}={text}: expected {most} at most")
        if value % MULTIPLES.get(key, 1) if fields[key] is int else False:
            raise ValueError(
                f"setting {key}={text}: expected a multiple of {MULTIPLES[key]}, the "
                "heads of attention"
            )
        if key == "covalign_tokens" and value not in ("frozen", "end-to-end"):
            raise ValueError(f"setting covalign_tokens={text}: expected frozen or end-to-end")
        if key == "gsl_warm_up" and value not in ("own", "mean", "smallest", "contrast", "hardest"):
            raise ValueError(
                f"setting gsl_warm_up={text}: expected own, mean, smallest, contrast or hardest"
            )
        if key == "gsl_similarity" and value not in ("sgr", "saf"):
            raise ValueError(f"setting gsl_similarity={text}: expected sgr or saf")
        if key == "fit" and value not in ("squash", "crop"):
            raise ValueError(f"setting fit={text}: expected squash or crop")
        if key == "chan_evaluation" and value not in ("float32", "mixed"):
            raise ValueError(
                f"setting chan_evaluation={text}: expected float32, or mixed for "
                "products of bfloat16 with the same recalls"
            )
        if key == "base" and value != profile.base and ":" not in value:
            raise ValueError(
                f"setting base={text}: the base model of this data is {profile.base}; "
                "or openclip:NAME/TAG, openclip:FOLDER, checkpoint:FILE, "
                "huggingface:FOLDER"
            )
        profile = dataclasses.replace(profile, **{key: value})
    return profile
