"""The paper profile's list: what each notebook needs of the papers' data and weights, and its cost.

``./run_all.sh --profile paper --dry-run`` prints it: what is there, what is missing, where that is
usually had and where to put it. Without --dry-run the run starts if nothing is missing, and
otherwise stops with the same list.

A chapter that is added puts its notebook into `NOTEBOOKS`, with needs out of `RESOURCES`, and its
exhibits' cost into `COSTS`. Nothing heavy is imported: the list stands within a second, unless
there are weights to look into.
"""

import dataclasses
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from alignbook import ROOT
from alignbook.workbook import exhibits, profiles
from alignbook.workbook.profiles import TRAINING_CAPTIONS, Profile

WIDTH = 100
THERE, MISSING, OPEN = "✓", "✗", "–"


@dataclass(frozen=True)
class File:
    """A file of a resource, or a folder ("name/"); ``name`` may list alternatives: "a|b".

    ``size`` are the bytes expected, about; a file below ``least`` is cut short.
    """

    name: str
    size: float
    least: float = 1


@dataclass(frozen=True)
class Resource:
    """Something a person brings, and the notebooks that need it.

    ``folder`` lies below data/ unless --data names another; ``weights`` is the spec of a
    pretrained model that lies there (`alignbook.backbones.pretrained`).
    """

    what: str
    folder: str
    files: tuple[File, ...]
    where: str
    used_by: tuple[str, ...] = ()
    weights: str = ""


@dataclass(frozen=True)
class Needs:
    """What a notebook takes: its paper's data set ("" for none), what else, and what it may use.

    ``pictures``: it looks at photographs, so that --data with features alone can't stand in.
    ``settings`` are the fields of the profile that matter to it.
    """

    data: str
    others: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()
    pictures: bool = False
    settings: tuple[str, ...] = ()


# --- What the papers need ------------------------------------------------------------------------

KB, MB, GB = 1e3, 1e6, 1e9
REGIONS, FEATURE = 36, 2048  # boxes an image, numbers a box
HEADER = 128  # bytes before the numbers of a .npy file


def features(split: str, images: int, least: int = 0) -> File:
    """A precomp file of region features: images × 36 × 2,048 numbers of four bytes.

    ``least`` images have to be there; all of them unless told.

    >>> amount(features("train", 113287).size)
    '33.4 GB'
    """
    image = REGIONS * FEATURE * 4
    return File(f"{split}_ims.npy", HEADER + images * image, HEADER + (least or images) * image)


def noise(name: str, rows: int) -> File:
    """A noise index: one whole number of eight bytes a row."""
    return File(name, HEADER + rows * 8, HEADER + rows * 8)


RESOURCES = {
    "coco_precomp": Resource(
        "COCO's region features and captions (SCAN's)",
        "coco_precomp",
        (
            features("train", 113287),
            File("train_caps.txt", 31 * MB, 20 * MB),
            features("dev", 5000, 1000),
            File("dev_caps.txt", 1.4 * MB, 200 * KB),
            features("testall", 5000),
            File("testall_caps.txt", 1.4 * MB, MB),
        ),
        "in the data archive of SCAN's authors, which several later repositories point to",
        (
            "10_chan",
            "12_chan_codebook",
            "13_chan_efficiency",
            "14_chan_attention",
            "43_gsl_identification",
        ),
    ),
    "f30k_precomp": Resource(
        "Flickr30K's region features and captions (SCAN's)",
        "f30k_precomp",
        (
            features("train", 29000),
            File("train_caps.txt", 9.4 * MB, 6 * MB),
            features("dev", 1014),
            File("dev_caps.txt", 335 * KB, 200 * KB),
            features("test", 1000),
            File("test_caps.txt", 329 * KB, 200 * KB),
        ),
        "in the data archive of SCAN's authors, beside COCO's",
        (
            "10_chan",
            "12_chan_codebook",
            "40_gsl",
            "41_gsl_threshold",
            "42_gsl_cost",
            "44_gsl_retrieval",
        ),
    ),
    "coco": Resource(
        "COCO's photographs and Karpathy's split",
        "coco",
        (
            File("dataset_coco.json", 144 * MB, 100 * MB),
            File("train2014/|Images/", 13 * GB),
            File("val2014/|Images/", 6 * GB),
        ),
        "photographs on the COCO site; the split in Karpathy's caption_datasets archive (36 MB)",
        ("20_comalign",),
    ),
    "flickr30k": Resource(
        "Flickr30K's photographs and Karpathy's split",
        "flickr30k",
        (
            File("dataset_flickr30k.json", 38 * MB, 20 * MB),
            File("Images/|images/|flickr30k-images/|flickr30k_images/", 4.4 * GB),
        ),
        "photographs on request from the University of Illinois; the split in Karpathy's "
        "caption_datasets archive (36 MB)",
        ("20_comalign", "22_comalign_ablations", "44_gsl_retrieval"),
    ),
    "visual_genome": Resource(
        "Visual Genome, the paper's source; not one here so far",
        "visual_genome",
        (
            File("image_data.json", 17 * MB, 10 * MB),
            File("objects.json", 410 * MB, 300 * MB),
            File("attributes.json", 460 * MB, 300 * MB),
            File("relationships.json", 710 * MB, 300 * MB),
            File("region_descriptions.json", 710 * MB, 400 * MB),
            File("VG_100K/", 9.7 * GB),
            File("VG_100K_2/", 5.5 * GB),
        ),
        "on Visual Genome's site, the latest version of each file",
        (
            "20_comalign",
            "21_comalign_compositional",
            "22_comalign_ablations",
            "23_comalign_similarity",
            "24_comalign_hyperparameters",
        ),
    ),
    "aro": Resource(
        "ARO: VG-Relation and VG-Attribution",
        "aro",
        (
            File("visual_genome_relation.json", 8.9 * MB, 6 * MB),
            File("visual_genome_attribution.json", 9.5 * MB, 6 * MB),
            File("images/", 1.2 * GB),
        ),
        "through ARO's repository; images/ are the photographs of Visual Genome it names",
        ("21_comalign_compositional",),
    ),
    "svo_probes": Resource(
        "SVO-Probes",
        "svo_probes",
        (File("svo_probes.csv", 10 * MB, 5 * MB), File("images/", 4 * GB)),
        "the table in its repository; the pictures by the addresses in it, as <image id>.jpg",
        ("21_comalign_compositional",),
    ),
    "sugarcrepe": Resource(
        "SugarCrepe, over pictures of COCO",
        "sugarcrepe",
        tuple(
            File(f"{kind}.json", size * KB, size * KB / 2)
            for kind, size in (
                ("add_att", 159),
                ("add_obj", 485),
                ("replace_att", 177),
                ("replace_obj", 361),
                ("replace_rel", 313),
                ("swap_att", 155),
                ("swap_obj", 58),
            )
        ),
        "in the data folder of SugarCrepe's repository",
        ("21_comalign_compositional",),
    ),
    "clip-b32": Resource(
        "CLIP ViT-B/32, OpenAI's weights",
        "weights",
        (
            File(
                "ViT-B-32-quickgelu-openai.safetensors|ViT-B-32-quickgelu-openai.bin",
                605 * MB,
                290 * MB,
            ),
        ),
        "in the open_clip release on the model hub; not OpenAI's own .pt, which runs code",
        (
            "20_comalign",
            "21_comalign_compositional",
            "22_comalign_ablations",
            "23_comalign_similarity",
            "24_comalign_hyperparameters",
        ),
        weights="openclip:ViT-B-32-quickgelu/openai",
    ),
    "clip-l14": Resource(
        "CLIP ViT-L/14, OpenAI's weights",
        "weights",
        (
            File(
                "ViT-L-14-quickgelu-openai.safetensors|ViT-L-14-quickgelu-openai.bin",
                1.71 * GB,
                0.8 * GB,
            ),
        ),
        "in the open_clip release on the model hub",
        ("20_comalign", "21_comalign_compositional"),
        weights="openclip:ViT-L-14-quickgelu/openai",
    ),
    "coca": Resource(
        "CoCa ViT-B/32, trained on LAION-2B",
        "weights",
        (
            File(
                "coca_ViT-B-32-laion2b_s13b_b90k.safetensors|coca_ViT-B-32-laion2b_s13b_b90k.bin",
                1.01 * GB,
                0.5 * GB,
            ),
        ),
        "in the open_clip release on the model hub",
        ("20_comalign", "21_comalign_compositional"),
        weights="openclip:coca_ViT-B-32/laion2b_s13b_b90k",
    ),
    "negclip": Resource(
        "NegCLIP, a ViT-B/32",
        "weights",
        (File("negclip.pth", 1.8 * GB, 290 * MB), File("negclip.pth.json", KB)),
        "through ARO's repository; negclip.pth.json says its activation and "
        "preprocessing, and once the weights are there the list says how to write it",
        ("20_comalign", "21_comalign_compositional"),
        weights="checkpoint:{folder}/negclip.pth",
    ),
    "yolo": Resource(
        "YOLOv9 c, trained on COCO",
        "weights",
        (File("yolov9c.pt", 51.8 * MB, 40 * MB),),
        "in the releases of ultralytics' repository of assets; its licence is AGPL-3.0",
        (
            "20_comalign",
            "21_comalign_compositional",
            "22_comalign_ablations",
            "24_comalign_hyperparameters",
        ),
    ),
    "vit-b16": Resource(
        "ViT-B/16 at 224 pixels, trained on ImageNet",
        "weights/vit-base-patch16-224",
        (
            File("model.safetensors|pytorch_model.bin", 346 * MB, 170 * MB),
            File("config.json", KB),
            File("preprocessor_config.json", 0.2 * KB),
        ),
        "in Google's release on the model hub; not timm's, whose names are others",
    ),
    "bert": Resource(
        "BERT base, uncased",
        "weights/bert-base-uncased",
        (
            File("model.safetensors", 440 * MB, 220 * MB),
            File("config.json", KB),
            File("tokenizer.json|vocab.txt", 466 * KB, 200 * KB),
        ),
        "on the model hub, under its own name",
        ("10_chan",),
    ),
    "noise_index": Resource(
        "noise index files, as the rivals publish them",
        "noise_index",
        tuple(noise(f"f30k_precomp_{rate}.npy", 145000) for rate in ("0.2", "0.4", "0.6"))
        + (noise("coco_precomp_0.4.npy", 113287),),
        "in the repositories of the noisy-correspondence papers, under many names; without them "
        "the workbook draws its own",
        ("40_gsl", "41_gsl_threshold", "42_gsl_cost", "43_gsl_identification"),
    ),
}

CHAN = (
    "seeds",
    "chan_trials",
    "chan_steps",
    "chan_batch",
    "chan_dim",
    "chan_regions",
    "chan_learning_rate",
    "chan_all_violations",
)
COMALIGN = (
    "seeds",
    "comalign_trials",
    "comalign_steps",
    "comalign_batch",
    "comalign_learning_rate",
    "comalign_source",
    "boxes",
    "parser",
)
COVALIGN = (
    "seeds",
    "size",
    "fit",
    *(
        f"covalign_{name}"
        for name in (
            "trials",
            "vit",
            "tokens",
            "dim",
            "layers",
            "steps",
            "batch",
            "learning_rate",
            "test_images",
        )
    ),
)
GSL = (
    "seeds",
    *(
        f"gsl_{name}"
        for name in (
            "trials",
            "similarity",
            "regions",
            "dim",
            "sim_dim",
            "batch",
            "learning_rate",
            "after",
            "warm_up",
            "warm_up_epochs",
            "epochs",
            "epoch_steps",
            "images",
            "dev_images",
            "test_images",
            "noise_index",
        )
    ),
)
NOTEBOOKS = {
    "00_start_here": Needs(""),
    "01_reported_numbers": Needs(""),
    "02_data": Needs("coco_precomp"),
    "03_base_models": Needs(
        "coco",
        optional=("clip-b32", "clip-l14", "coca", "negclip"),
        pictures=True,
        settings=("base", "base_epochs", "base_batch", "size", "fit"),
    ),
    "10_chan": Needs("coco_precomp", others=("bert",), settings=CHAN),
    "11_chan_ablations": Needs("coco_precomp", settings=CHAN),
    "12_chan_codebook": Needs("coco_precomp", settings=CHAN),
    "13_chan_efficiency": Needs("coco_precomp", settings=CHAN),
    "14_chan_attention": Needs("coco_precomp"),
    # Not as in the paper: heads are not trained on Visual Genome, which is no data set here, but on
    # Flickr30K for COCO (comalign_source), the paper's second source. Figures 4 and 5 need gold
    # scenes: they are the world's.
    "20_comalign": Needs(
        "coco",
        others=("flickr30k", "clip-b32", "yolo"),
        optional=("clip-l14", "coca", "negclip"),
        pictures=True,
        settings=COMALIGN,
    ),
    "21_comalign_compositional": Needs(
        "coco",
        others=("flickr30k", "clip-b32", "yolo"),
        optional=("sugarcrepe", "aro", "svo_probes"),
        pictures=True,
        settings=("probes",),
    ),
    "22_comalign_ablations": Needs(
        "coco", others=("flickr30k", "clip-b32", "yolo"), pictures=True, settings=COMALIGN
    ),
    "23_comalign_similarity": Needs(""),
    "24_comalign_hyperparameters": Needs(
        "coco", others=("flickr30k", "clip-b32", "yolo"), pictures=True, settings=COMALIGN
    ),
    **{
        name: Needs("flickr30k", others=("vit-b16", "bert"), pictures=True, settings=COVALIGN)
        for name in (
            "30_covalign",
            "31_covalign_loss_weights",
            "32_covalign_regions",
            "33_covalign_projection",
        )
    },
    "40_gsl": Needs("f30k_precomp", optional=("noise_index",), settings=GSL),
    "41_gsl_threshold": Needs("f30k_precomp", optional=("noise_index",), settings=GSL),
    "42_gsl_cost": Needs("f30k_precomp", optional=("noise_index",), settings=GSL),
    "43_gsl_identification": Needs("coco_precomp", optional=("noise_index",), settings=GSL),
    "44_gsl_retrieval": Needs("f30k_precomp", optional=("noise_index",), settings=GSL),
    "50_kernels": Needs(""),
    "60_explorer": Needs("coco_precomp"),
    "90_claims": Needs("coco_precomp"),
}


# --- What it costs -------------------------------------------------------------------------------

SPEED = 1e13  # operations a second that a data-centre GPU reaches on these shapes, in float32


BERT_BATCH, BERT_BASE = 128, 85e6  # captions a step; weights that every word passes


def chan_exhibit(name: str, profile: Profile, data: str) -> tuple[float, str]:
    """GPU hours of an exhibit of CHAN on a data set, and what they are reckoned from.

    Operations of a step, forward and twice that backward: similarities of all pairs of a batch,
    and the two encoders. A caption is taken at 25 words, the longest of a batch.
    """
    known = exhibits.EXHIBITS[name]
    arms = [arm for arm in exhibits.arms(name, data) if arm != exhibits.BASE_MODEL]
    tuned = profile.chan_trials if profile.chan_trials > 1 else 0
    hours, lines = 0.0, []
    for text in ("BiGRU", "BERT"):
        own = [arm for arm in arms if arm.endswith("-bert") == (text == "BERT")]
        single = [arm for arm in own if arm in known.controls]
        trainings = (len(own) - len(single)) * (tuned + profile.seeds) + len(single)
        b, d, words = profile.chan_batch, profile.chan_dim, 25
        weights = 2 * 3 * d * (300 + d)
        if text == "BERT":
            b, weights = min(b, BERT_BATCH), BERT_BASE
        pairs = b * b * profile.chan_regions * words * d
        images = b * profile.chan_regions * d * (FEATURE + 4 * d)
        step = 6 * (pairs + images + b * words * weights)
        steps = profile.chan_steps * profile.chan_batch // b
        hours += trainings * steps * step / SPEED / 3600
        if own:
            lines.append(
                f"{trainings} trainings with {text} × {steps:,} steps × "
                f"{step / SPEED:.2f} s, {step:.1e} operations"
            )
    return hours, (
        f"{'; '.join(lines)}; at {SPEED / 1e12:.0f} TFLOP/s, an estimate, right within "
        "a factor of 3"
    )


PHOTOGRAPHS = 5000  # a second that a GPU trains the photo-tower on, at 80 pixels; an estimate


def base_models(profile: Profile, data: str) -> tuple[float, str]:
    """GPU hours of the base model on COCO's training photographs; one with weights is read."""
    if ":" in profile.base:
        return 0.1, f"{profile.base} is read, not trained"
    hours = profile.base_epochs * 113287 / PHOTOGRAPHS / 3600
    return hours, (
        f"{profile.base_epochs} epochs × 113,287 photographs at {PHOTOGRAPHS:,} a "
        "second, an estimate; none where --set base= names one of the models it may "
        "use, each of which is a run of its own"
    )


CROPS = 2000  # pictures of 224 pixels a second that a GPU passes through ViT-B/32; an estimate


def comalign_exhibit(name: str, profile: Profile, data: str) -> tuple[float, str]:
    """GPU hours of an exhibit of ComAlign: crops through the base models, then heads on the cache.

    A step passes 21 slots on both sides through two layers of width 512 and compares all of them.
    """
    known, pairs, slots, dim = exhibits.EXHIBITS[name], 100_000, 21, 512
    arms = [arm for arm in exhibits.arms(name, data) if arm not in known.untrained]
    if known.measured:
        return 0.0, "nothing is trained: the heads are Table I's"
    looked = 2 * pairs * slots / CROPS / 3600 if name == "comalign-TI" else 0.0
    single = [arm for arm in arms if arm in known.controls]
    trainings = len(single) + (len(arms) - len(single)) * (profile.comalign_trials + profile.seeds)
    b = profile.comalign_batch
    step = 6 * (2 * b * slots * 2 * 6 * dim**2 + 2 * (b * 10) ** 2 * dim)
    hours = trainings * profile.comalign_steps * step / SPEED / 3600
    crops = f"{looked:.1f} hours of crops through a base model; " if looked else ""
    return looked + hours, (
        f"{crops}{trainings} trainings × {profile.comalign_steps:,} steps × "
        f"{step / SPEED:.2f} s, {step:.1e} operations, an estimate"
    )


VIT, VIT_SIDE = 3.5e10, 224  # operations of a ViT-Base on a picture of 224 pixels a side


def covalign_exhibit(name: str, profile: Profile, data: str) -> tuple[float, str]:
    """GPU hours of an exhibit of CoV-Align: mostly those of its towers, where these are trained.

    Operations of a step, forward and twice that backward: a ViT-Base and a BERT-Base on 25 words,
    and the similarities of all pairs of a batch.
    """
    if name == "covalign-F5":
        return 0.0, "nothing is trained: the runs are Table 6's"
    trainings = covalign_trainings(name, profile, data)
    b, words = profile.covalign_batch, 25
    towers = b * (VIT + 2 * words * BERT_BASE) if profile.covalign_tokens == "end-to-end" else 0
    step = 3 * (towers + 2 * b * b * 8 * words * profile.covalign_dim)
    hours = trainings * profile.covalign_steps * step / SPEED / 3600
    small = (
        ""
        if profile.size >= VIT_SIDE
        else (
            f"; pictures of {profile.size} pixels are enlarged to {VIT_SIDE}: better --set "
            f"size={VIT_SIDE} --set fit=crop"
        )
    )
    return hours, (
        f"{trainings} trainings × {profile.covalign_steps:,} steps × "
        f"{step / SPEED:.2f} s, {step:.1e} operations, an estimate{small}"
    )


# Arms with trials of their own, and arms whose runs are the ladder's "regions".
COVALIGN_TUNED = {"covalign-ladder": 4, "covalign-T5": 1, "covalign-T6": 3}
COVALIGN_SHARED = {"covalign-T5": 1, "covalign-T3": 1, "covalign-T6": 1}


def covalign_trainings(name: str, profile: Profile, data: str) -> int:
    """Trials and runs of an exhibit of CoV-Align, those it shares with the ladder left out."""
    known, early = exhibits.EXHIBITS[name], profile.name in ("smoke", "laptop")
    arms = exhibits.arms(name, data)
    alone = [arm for arm in arms if arm in known.controls or early and arm in known.once]
    seeds = profile.seeds if profile.name == "smoke" else max(profile.seeds, known.seeds)
    tuned = profile.covalign_trials if profile.covalign_trials > 1 else 0
    seeded = len(arms) - len(alone) - COVALIGN_SHARED.get(name, 0)
    if profile.covalign_tokens == "end-to-end":  # and that of the ladder is none of its own
        alone = [arm for arm in alone if arm != "end-to-end"]
    return len(alone) + seeded * seeds + COVALIGN_TUNED.get(name, 0) * tuned


def gsl_exhibit(name: str, profile: Profile, data: str) -> tuple[float, str]:
    """GPU hours of an exhibit of GSL: two networks of SGR over a whole training split, an epoch at
    a time, and the pass over it that divides.

    A word of a caption attends to all regions of an image, gives an alignment, and takes part in
    three steps of reasoning, among 25 words; a caption is compared with all images of its batch.
    """
    pairs = TRAINING_CAPTIONS[data]
    if name in ("gsl-T2", "gsl-F2"):
        return 0.0, "nothing is trained: the runs are those of gsl-F1 and gsl-T3"
    arms = exhibits.arms(name, data)
    tuned = profile.gsl_trials if profile.gsl_trials > 1 else 0
    methods = {"gsl-F1": 7, "gsl-T1": 2, "gsl-T3": 4}.get(
        name, 0
    )  # one rate's trials serve for all
    trainings = len(arms) * profile.seeds + methods * tuned
    k, d, s, words = profile.gsl_regions, profile.gsl_dim, profile.gsl_sim_dim, 25
    word = 4 * k * d + 2 * d * s + 3 * (2 * s**2 + 4 * words * s)
    epochs = profile.gsl_warm_up_epochs + profile.gsl_epochs
    passed = 6 * epochs + 2 * profile.gsl_epochs  # forward and backward, and forward to divide
    hours = trainings * 2 * pairs * profile.gsl_batch * words * word * passed / SPEED / 3600
    return hours, (
        f"{trainings} trainings of two networks × {epochs} epochs over {pairs:,} pairs, "
        f"{word:.1e} operations a word and image, an estimate"
    )


COSTS: dict[str, Callable[[Profile, str], tuple[float, str]]] = {
    "base-models": base_models,
    **{name: partial(chan_exhibit, name) for name in ("chan-T1", "chan-T2", "chan-T3", "chan-F4")},
    **{name: partial(comalign_exhibit, name) for name in exhibits.EXHIBITS if "comalign" in name},
    **{name: partial(covalign_exhibit, name) for name in exhibits.EXHIBITS if "covalign" in name},
    **{name: partial(gsl_exhibit, name) for name in exhibits.EXHIBITS if "gsl" in name},
    "chan-F3": lambda profile, data: (
        0.0,
        "nothing is trained: the models are those of the tables",
    ),
}


# --- What is there -------------------------------------------------------------------------------


@dataclass(frozen=True)
class Found:
    """A resource as it lies here: its folder, each file with what is wrong with it (or "")."""

    resource: Resource
    folder: Path
    files: tuple[tuple[File, str], ...]
    problems: tuple[str, ...] = ()

    @property
    def ready(self) -> bool:
        return not self.problems and not any(wrong for _, wrong in self.files)

    @property
    def missing(self) -> float:
        """Bytes to come."""
        return sum(file.size for file, wrong in self.files if wrong)


def look(name: str, folder: Path | None = None) -> Found:
    """Look whether a resource is there and whole.

    Parameters
    ----------
    name : str
        One of `RESOURCES`, or another data set of `by_name.NAMES`.
    folder : Path, optional
        Where it lies; below data/ of the project unless told.

    Returns
    -------
    Found
        Files are held against their sizes. Only where all are there are a data set's captions and
        features, or a model's settings, read as well.
    """
    known = RESOURCES.get(name) or Resource("a data set of your own", name, (), "")
    folder = folder or ROOT / "data" / known.folder
    files = tuple((file, _wrong(folder, file)) for file in known.files)
    if any(wrong for _, wrong in files):
        return Found(known, folder, files)
    return Found(known, folder, files, tuple(_problems(name, known, folder)))


def _wrong(folder: Path, file: File) -> str:
    """What is wrong with a file, "" if nothing is."""
    for name in file.name.split("|"):
        path = folder / name
        if name.endswith("/"):
            if path.is_dir():
                return "" if next(path.iterdir(), None) else "empty folder"
        elif path.is_file():
            size = path.stat().st_size
            return "" if size >= file.least else f"cut short: {amount(size)} there"
    return "missing"


def _problems(name: str, known: Resource, folder: Path) -> list[str]:
    from alignbook.datasets import by_name

    if known.weights:
        from alignbook.backbones import pretrained  # 4 s, only where the weights are there

        return pretrained.problems(known.weights.format(folder=folder))
    return by_name.check(f"{name}={folder}") if name in by_name.NAMES else []


# --- The list ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Plan:
    """What the chosen notebooks need: the list as text, the data a run takes, None if it can't."""

    text: str
    data: str | None


def plan(notebooks: list[str], data: str = "world", overrides: dict | None = None) -> Plan:
    """Look at all that some notebooks need in the paper profile.

    Parameters
    ----------
    notebooks : names of `exhibits.NOTEBOOKS`.
    data : "coco_precomp=DIR" and the like as given by --data; "world" means that none was given.
    overrides : settings given by --set.

    Raises
    ------
    ValueError
        An unknown data set, or settings that `profiles.get` refuses.
    """
    from alignbook.datasets import by_name

    given, folder = by_name.parse(data)
    folders = {given: folder.resolve()} if folder else {}
    kinds = {name: _data_of(name, given) for name in notebooks}
    needed = {
        name: [*([kinds[name]] if NOTEBOOKS[name].data else []), *NOTEBOOKS[name].others]
        for name in notebooks
    }
    wanted = [each for name in notebooks for each in [*needed[name], *NOTEBOOKS[name].optional]]
    found = {name: look(name, folders.get(name)) for name in dict.fromkeys([*wanted, *RESOURCES])}

    used = {
        each: [n for n in notebooks if each in (*needed[n], *NOTEBOOKS[n].optional)]
        + list(found[each].resource.used_by)
        for each in found
    }
    used = {each: list(dict.fromkeys(names)) for each, names in used.items()}
    lines, hours = ["paper profile: the papers' settings on the papers' data", ""], 0.0
    counted: set[str] = set()
    for name in notebooks:
        profile = profiles.get("paper", kinds[name], overrides)
        spent, told = _notebook(name, needed[name], found, profile, counted, kinds[name])
        lines, hours = [*lines, *told, ""], hours + spent
    lines += ["what these need:"]
    for name in dict.fromkeys(wanted):
        lines += _resource(name, found[name], used[name], given)
    rest = [name for name in RESOURCES if name not in wanted]
    lines += ["", "what other exhibits of the four papers need, now or in chapters to come:"]
    for name in rest:
        lines += _resource(name, found[name], used[name], given, short=True)
    required = dict.fromkeys(each for name in notebooks for each in needed[name])
    missing = sum(found[name].missing for name in required)
    everything = sum(each.missing for each in found.values())
    lines += [
        "",
        f"missing: {amount(missing)} for these notebooks, {amount(everything)} for all "
        f"four papers; cost: about {hours:.0f} GPU hours",
    ]

    ready = all(found[each].ready for each in required)
    kinds = {name: kind for name, kind in kinds.items() if NOTEBOOKS[name].data}
    if not kinds:
        lines += [
            "They need no data and are the same in every profile: start them without this one."
        ]
        return Plan("\n".join(lines), None)
    if ready and len(set(kinds.values())) > 1:
        lines += _wrapped(
            "",
            "They take different data: start them one by one, with --data "
            f"({', '.join(f'{n}: {k}' for n, k in kinds.items())}).",
        )
        ready = False
    kind = next(iter(kinds.values()))
    return Plan("\n".join(lines), f"{kind}={found[kind].folder}" if ready else None)


def _data_of(notebook: str, given: str) -> str:
    """The data set a notebook runs on: the one given, unless it lacks the pictures needed."""
    needs = NOTEBOOKS[notebook]
    without = needs.pictures and given.endswith("precomp")
    return (needs.data or "coco_precomp") if given == "world" or without else given


def _notebook(
    name: str,
    needed: list[str],
    found: dict[str, Found],
    profile: Profile,
    counted: set[str],
    data: str,
) -> tuple[float, list[str]]:
    """A notebook's GPU hours and lines; an exhibit that was `counted` before costs nothing more."""
    needs = NOTEBOOKS[name]
    lacking = [each for each in needed if not found[each].ready]
    state = f"{MISSING} {', '.join(lacking)} missing" if lacking else f"{THERE} ready"
    lines = [f"{name:{max(len(name) + 1, WIDTH - len(state))}}{state}"]
    lines += _wrapped("  needs     ", ", ".join(f"{_mark(found[each])} {each}" for each in needed))
    if needs.optional:
        told = ", ".join(f"{_mark(found[each], OPEN)} {each}" for each in needs.optional)
        lines += _wrapped("  may use   ", f"{told} (runs without)")
    if needs.settings:
        values = dataclasses.asdict(profile)
        told = " ".join(f"{field}={values[field]}" for field in needs.settings)
        lines += _wrapped("  settings  ", told)
    hours = 0.0
    for exhibit in exhibits.NOTEBOOKS[name].exhibits + exhibits.NOTEBOOKS[name].reads:
        if exhibit in COSTS and exhibit not in counted and exhibits.arms(exhibit, data):
            counted.add(exhibit)
            spent, basis = COSTS[exhibit](profile, data)
            hours += spent
            lines += _wrapped(
                "  cost      ", f"{exhibit}: {spent:.{int(spent < 1)}f} GPU hours = {basis}"
            )
    if not hours:
        lines += _wrapped("  cost      ", "minutes on a GPU: nothing is trained")
    return hours, lines


def _resource(name: str, found: Found, used: list[str], given: str, short=False) -> list[str]:
    """Lines on one resource; a short one names its files only together."""
    known = found.resource
    total = amount(sum(file.size for file in known.files)) if known.files else ""
    title = f"{_mark(found)} {name:14}{known.what}"
    lines = [f"{title:{WIDTH - 10}}{total:>10}"]
    indent = " " * 16
    if not short:
        lines += _wrapped(indent, f"for {', '.join(used)}")
    for problem in found.problems:
        lines += _wrapped(indent, problem)
    wrong = [(file, why) for file, why in found.files if why]
    if wrong and short:
        lines += _wrapped(indent, f"for {', '.join(used)}")
    elif wrong:
        for file, why in found.files:
            shown = file.name.replace("|", " or ")
            mark, told = (MISSING, f", {why}") if why else (THERE, "")
            lines += _wrapped(indent + f"{mark} ", f"{shown}, {amount(file.size)}{told}")
    if wrong:
        from alignbook.datasets import by_name

        choice = f", or give --data {name}=DIR" if name in by_name.NAMES else ""
        place = known.folder if found.folder == ROOT / "data" / known.folder else found.folder
        place = f"data/{place}/" if place == known.folder else f"{place}/"
        lines += _wrapped(indent, f"put into {place}{choice}; usually had: {known.where}")
    return lines


def _mark(found: Found, missing: str = MISSING) -> str:
    return THERE if found.ready else missing


def _wrapped(indent: str, words: str) -> list[str]:
    """Words in lines of at most 100 columns, the following ones below the first."""
    return textwrap.wrap(
        words,
        WIDTH,
        initial_indent=indent,
        subsequent_indent=" " * len(indent),
        break_long_words=False,
        break_on_hyphens=False,
    )


def amount(octets: float) -> str:
    """Bytes for reading.

    >>> amount(33.41e9), amount(605e6), amount(1234), amount(0)
    ('33.4 GB', '605 MB', '1 KB', '0 KB')
    """
    for unit, size, digits in (("GB", GB, 1), ("MB", MB, 0)):
        if octets >= size:
            return f"{octets / size:.{digits}f} {unit}"
    return f"{octets / KB:.0f} KB"
