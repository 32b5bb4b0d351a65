"""What the workbook shows: its notebooks, the papers' exhibits and the arms of each.

An exhibit is a table or figure of a paper (``chan-T3`` is CHAN's Table 3); an arm is one thing
that is trained and measured for it. Nothing is imported here, so the command line starts quickly.
"""

import difflib
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Notebook:
    """One file of notebooks/.

    ``needs`` names what has to stand before it runs ("data", "base"), ``exhibits`` the exhibits it
    shows, ``drawn`` further ones, which have no arms of their own, ``reads`` those of other
    notebooks that it takes numbers from, ``printed`` whether it takes the papers' numbers,
    ``modules`` those of the library that it alone shows things with, ``data`` the data sets it is
    made on where these are not all, ``last`` whether it tells what the others came to and waits for
    them, ``expected`` its own seconds on two cores by profile, training not counted.
    """

    needs: tuple[str, ...] = ()
    exhibits: tuple[str, ...] = ()
    drawn: tuple[str, ...] = ()
    reads: tuple[str, ...] = ()
    printed: bool = False
    modules: tuple[str, ...] = ()
    data: tuple[str, ...] = ()
    last: bool = False
    expected: dict[str, int] = field(default_factory=dict)

    @property
    def shown(self) -> tuple[str, ...]:
        """All exhibits it shows."""
        return self.exhibits + self.drawn


@dataclass(frozen=True)
class Exhibit:
    """One table or figure: the module that defines its arms, the notebook that shows it.

    ``arms`` are those in the world, ``photographs`` those elsewhere where they are others.
    ``controls`` run with the first seed only; before the overnight profile ``once`` too, and
    ``later``, which are untuned then. ``seeds``: at least so many from the laptop profile on,
    unless the command line says how many. In ``untrained`` ones nothing is random: every seed shows
    the same run. ``measured``: its numbers are not the trained runs' own but those of
    ``measured(…)`` of the module. ``timed`` names the module that measures time, alone on the
    machine. ``domain`` is the world's domain they are trained and tested on, ``data`` the data sets
    it is made on where these are not all. ``needs`` are fields of the profile that may say "none"
    where photographs lack something: then the exhibit isn't made. ``folds``: recalls are those of
    the whole test split ("5K") and of its five fifths ("1K"), as COCO's are.

    An arm named "row → target" shows its numbers in the row's columns of that target.
    """

    module: str
    notebook: str
    arms: tuple[str, ...]
    photographs: tuple[str, ...] = ()
    controls: tuple[str, ...] = ()
    later: tuple[str, ...] = ()
    once: tuple[str, ...] = ()
    seeds: int = 0
    untrained: tuple[str, ...] = ()
    measured: bool = False
    timed: str = ""
    domain: str = "A"
    data: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    folds: bool = False


# The arm that is the base model itself: whole pictures against whole captions, trained once.
BASE_MODEL = "base-model"
# Of Table 3, what the paper lacks: chance, four times the steps, further temperatures.
TAUS = (1, 4, 9, 20, 50, 100)  # 1/τ of the curve
CURVE = tuple(f"τ=1/{n}" for n in TAUS)
CONTROLS = ("permuted", "visual-codebook-long", "cross-attention-long", *CURVE)
PUBLISHED = 36  # regions of an image in the published feature files
CODEBOOK_SIZES = (4, 9, 18, 36, 50, 72, 100)
CODEBOOKS = tuple(f"{coding}-{k}" for coding in ("hard", "soft") for k in CODEBOOK_SIZES)
MATCHERS = ("vse++", "vse-inf", "scan", "chan")
WITH_BERT = tuple(f"{name}-bert" for name in MATCHERS)
OFFICIAL = ("chan-official", "chan-official-bert")  # as the released code has it

# ComAlign: the base models by their names in its tables, its rows, and what the paper lacks.
COMALIGN_BASES = {
    "clip": "world-clip",
    "coca": "world-coca",
    "negclip": "world-negclip",
    "clip-large": "world-clip-large",
}
COMALIGN_CONTROLS = (
    "clip+fgm",
    "clip+global",
    "clip+literal",
    "clip+appendix",
    "clip+comalign-gold",
    "clip+comalign-official",
)
# The probes' boxes are the detector's, so that heads on gold boxes don't belong there; and Eq. 10 of
# the appendix has other weights alone.
COMALIGN_PROBED = tuple(
    row for row in COMALIGN_CONTROLS if row not in ("clip+comalign-gold", "clip+appendix")
)
COMALIGN_PHOTOGRAPHS = ("clip", "clip+comalign", "clip+fgm", "clip+global")
COMALIGN_ROWS = tuple(row for base in COMALIGN_BASES for row in (base, f"{base}+comalign"))
COMALIGN_PARTS = ("all", "global-entity", "global-relation", "global", "entity-relation")
COMALIGN_SETTINGS = (
    "×1",
    *(
        f"{name} ×{factor}"
        for name, factors in {
            "coefficient": ("0.25", "0.5", "2", "4"),
            "learning rate": ("0.25", "0.5", "2", "4"),
            "steps": ("0.5", "2"),
            "batch": ("0.5", "2"),
        }.items()
        for factor in factors
    ),
)

# CoV-Align: the baselines and the whole method; that without a part, or with one otherwise. Weights
# of its loss, and whether the loss's scale counts to an optimizer; N_q.
COVALIGN_METHODS = ("global", "patches", "queries", "regions")
COVALIGN_STEPS = (
    "no-losses",
    "no-concentration",
    "no-visual",
    "unmasked",
    "cross-attention",
    "logits-mask",
    "patch-units",
    "dot-product",
)
COVALIGN_WEIGHTS = (
    *(f"concentration-{n}" for n in (1, 3, 5, 7, 10)),
    "visual-0.5",
    "visual-2",
    "global-0.5",
    "global-2",
)
COVALIGN_SCALES = ("global-2-halved", "sgd", "sgd-global-2", "sgd-global-2-halved")
COVALIGN_REGIONS = (4, 8, 12, 16)

# GSL: methods, its four of Table 2 first, and the rates of noise; two bounds at the higher ones.
# Labels of GSL's networks by other rules, and GSL's own open points.
GSL_METHODS = ("gsl", "ncr", "bicro", "gsc", "triplet", "warmed", "mean", "clean")
GSL_RATES = ("0", "0.2", "0.4", "0.6")
GSL_NOISE = tuple(
    f"{method}-{rate}"
    for method in GSL_METHODS
    for rate in GSL_RATES
    if method not in ("mean", "clean") or rate >= "0.4"
)
GSL_HEADLINE = (
    *(f"{method}-0.2" for method in GSL_METHODS[:4]),
    "gsl-0",
    "gsl-0.4",
    "gsl-0.6",
    "triplet-0",
    "triplet-0.6",
)
GSL_LABELS = (
    "relabelled",
    "no-eq7",
    "two-anchor-ratio",
    "clamp-shift",
    "anchors-of-batch",
    "true-division",
    "score",
)
GSL_SWITCHES = (
    "gsl",
    "no-eq7",
    "two-anchor-ratio",
    "clamp-shift",
    "anchors-of-batch",
    "clean-labels-1",
    "inter-minus",
    "sums",
    "notes",
    "no-regularisers",
    "own-split",
    "warm-up-hardest",
)


TARGETS = ("coco", "f30k")  # of rows whose heads are tested on data they never saw


def _targets(rows) -> tuple[str, ...]:
    return tuple(f"{row} → {target}" for row in rows for target in TARGETS)


# Photographs need an English parser, and have no gold boxes.
_PICTURES = ("world", "coco", "flickr8k", "flickr30k")
_PARSED = dict(data=_PICTURES, needs=("boxes", "parser"))


EXHIBITS = {
    "base-models": Exhibit(  # ours: no table of a paper
        module="alignbook.backbones.transfer",
        notebook="03_base_models",
        arms=("world-clip", "world-clip-large", "world-coca", "world-negclip"),
        photographs=(BASE_MODEL,),
    ),
    "chan-T1": Exhibit(
        module="alignbook.papers.chan.arms",
        notebook="10_chan",
        arms=MATCHERS + WITH_BERT + OFFICIAL,
        controls=OFFICIAL,
        later=WITH_BERT,
        data=("world", "coco", "coco_precomp"),
        folds=True,
    ),
    "chan-T2": Exhibit(
        module="alignbook.papers.chan.arms",
        notebook="10_chan",
        arms=MATCHERS + WITH_BERT + OFFICIAL,
        controls=OFFICIAL,
        later=WITH_BERT,
        domain="B",
        data=("world", "flickr8k", "flickr30k", "f30k_precomp", "precomp"),
    ),
    "chan-T3": Exhibit(
        module="alignbook.papers.chan.arms",
        notebook="11_chan_ablations",
        arms=(
            "cross-attention",
            "cross-attention-1/9",
            "visual-codebook",  # with LogSumExp pooling: also that row of the pooling part
            "textual-codebook",
            "max",
            "average",
            "sum",
            "softmax",
            *CONTROLS,
            BASE_MODEL,
        ),
        controls=CONTROLS,
    ),
    "chan-F3": Exhibit(  # trains nothing: the runs are Table 1's and 3's
        module="alignbook.papers.chan.arms",
        notebook="13_chan_efficiency",
        arms=("vse++", "vse-inf", "soft-attended", "soft-gram", "hard", "hard-bert"),
        later=("hard-bert",),
        timed="alignbook.papers.chan.cost",
    ),
    "chan-F4": Exhibit(
        module="alignbook.papers.chan.arms",
        notebook="12_chan_codebook",
        arms=CODEBOOKS,
        later=CODEBOOKS,
        timed="alignbook.papers.chan.cost",
    ),
    "comalign-TI": Exhibit(
        module="alignbook.papers.comalign.arms",
        notebook="20_comalign",
        arms=_targets(COMALIGN_ROWS + COMALIGN_CONTROLS),
        photographs=_targets(COMALIGN_PHOTOGRAPHS),
        controls=_targets(COMALIGN_CONTROLS),
        untrained=_targets((*COMALIGN_BASES, "clip+fgm")),
        **_PARSED,
    ),
    "comalign-TIII": Exhibit(
        module="alignbook.papers.comalign.arms",
        notebook="22_comalign_ablations",
        arms=COMALIGN_PARTS,
        **_PARSED,
    ),
    "comalign-TIV": Exhibit(
        module="alignbook.papers.comalign.arms",
        notebook="22_comalign_ablations",
        arms=COMALIGN_PARTS,
        **_PARSED,
    ),
    "comalign-TV": Exhibit(
        module="alignbook.papers.comalign.arms",
        notebook="22_comalign_ablations",
        arms=(
            "transformer",
            "fc-shared",
            "fc-separate",
            "transformer-2",
            "fc-shared-2",
            "fc-separate-2",
        ),
        **_PARSED,
    ),
    "comalign-TVI": Exhibit(
        module="alignbook.papers.comalign.arms",
        notebook="22_comalign_ablations",
        arms=("layers-1", "layers-2", "layers-4"),
        **_PARSED,
    ),
    "comalign-TII": Exhibit(
        module="alignbook.papers.comalign.arms",
        notebook="21_comalign_compositional",
        arms=(*COMALIGN_ROWS, *COMALIGN_PROBED),
        photographs=COMALIGN_PHOTOGRAPHS,
        controls=COMALIGN_PROBED,
        untrained=(*COMALIGN_BASES, "clip+fgm"),
        measured=True,
        **_PARSED | {"needs": ("boxes", "parser", "probes")},
    ),
    "comalign-F4": Exhibit(
        module="alignbook.papers.comalign.arms",
        notebook="23_comalign_similarity",
        arms=("base", "comalign", "global"),
        controls=("global",),
        untrained=("base",),
        measured=True,
        data=("world",),
        needs=_PARSED["needs"],
    ),
    "comalign-F5": Exhibit(
        module="alignbook.papers.comalign.arms",
        notebook="23_comalign_similarity",
        arms=("base", "comalign", "global"),
        controls=("global",),
        untrained=("base",),
        measured=True,
        data=("world",),
        needs=_PARSED["needs"],
    ),
    "comalign-F6": Exhibit(
        module="alignbook.papers.comalign.arms",
        notebook="24_comalign_hyperparameters",
        arms=("comalign",),
        measured=True,
        **_PARSED,
    ),
    "comalign-F7": Exhibit(
        module="alignbook.papers.comalign.arms",
        notebook="24_comalign_hyperparameters",
        arms=COMALIGN_SETTINGS,
        controls=COMALIGN_SETTINGS,
        **_PARSED,
    ),
    # On domain A, where the base model and BERT were trained: patches and words are theirs. Seeds
    # are loud, so that there are five where claims are.
    "covalign-ladder": Exhibit(  # ours: the table of the paper is not in our text
        module="alignbook.papers.covalign.arms",
        notebook="30_covalign",
        arms=(*COVALIGN_METHODS, *COVALIGN_STEPS, "end-to-end"),
        once=COVALIGN_STEPS,
        controls=("end-to-end",),
        seeds=5,
        timed="alignbook.papers.covalign.cost",
        data=_PICTURES,
    ),
    "covalign-T5": Exhibit(
        module="alignbook.papers.covalign.arms",
        notebook="31_covalign_loss_weights",
        arms=COVALIGN_WEIGHTS + COVALIGN_SCALES,
        once=("global-0.5", *COVALIGN_SCALES),
        seeds=5,
        data=_PICTURES,
    ),
    "covalign-T3": Exhibit(
        module="alignbook.papers.covalign.arms",
        notebook="32_covalign_regions",
        arms=tuple(f"regions-{n}" for n in COVALIGN_REGIONS),
        seeds=5,
        data=_PICTURES,
    ),
    "covalign-T6": Exhibit(
        module="alignbook.papers.covalign.arms",
        notebook="33_covalign_projection",
        arms=("shared", "separate", "separate-half", "separate-same"),
        once=("separate-half", "separate-same"),
        seeds=5,
        data=_PICTURES,
    ),
    "covalign-F5": Exhibit(
        module="alignbook.papers.covalign.arms",
        notebook="33_covalign_projection",
        arms=("shared", "separate"),
        seeds=5,
        data=_PICTURES,
    ),
    # Flickr30K's exhibits on domain B, COCO's on A, as CHAN's.
    "gsl-F1": Exhibit(
        module="alignbook.papers.gsl.arms",
        notebook="40_gsl",
        arms=GSL_NOISE,
        later=tuple(name for name in GSL_NOISE if name not in GSL_HEADLINE),
        domain="B",
    ),
    "gsl-T1": Exhibit(
        module="alignbook.papers.gsl.arms",
        notebook="41_gsl_threshold",
        arms=("0.4", "0.5", "0.6"),
        domain="B",
    ),
    "gsl-T2": Exhibit(
        module="alignbook.papers.gsl.arms",
        notebook="42_gsl_cost",
        arms=GSL_METHODS[:4],
        timed="alignbook.papers.gsl.cost",
        domain="B",
    ),
    "gsl-T3": Exhibit(
        module="alignbook.papers.gsl.arms",
        notebook="43_gsl_identification",
        arms=(*GSL_METHODS[:4], "bicro-own"),
        later=("ncr", "gsc", "bicro-own"),
    ),
    "gsl-F2": Exhibit(
        module="alignbook.papers.gsl.arms",
        notebook="43_gsl_identification",
        arms=(*GSL_METHODS[:3], *GSL_LABELS),
        later=("ncr",),
        measured=True,
    ),
    "gsl-switches": Exhibit(  # ours: no table of the paper
        module="alignbook.papers.gsl.arms",
        notebook="40_gsl",
        arms=GSL_SWITCHES,
        later=GSL_SWITCHES[1:],
    ),
}

TEACHING = ("alignbook.show.exercises", "alignbook.show.tensor_grids")

NOTEBOOKS = {
    "00_start_here": Notebook(
        modules=("alignbook.workbook.start",), last=True, expected={"smoke": 5, "laptop": 5}
    ),
    "01_reported_numbers": Notebook(printed=True, expected={"smoke": 5, "laptop": 5}),
    "02_data": Notebook(needs=("data",), expected={"smoke": 5, "laptop": 25}),
    "03_base_models": Notebook(
        needs=("base",), exhibits=("base-models",), expected={"smoke": 10, "laptop": 15}
    ),
    "10_chan": Notebook(
        needs=("base",),
        exhibits=("chan-T1", "chan-T2"),
        modules=TEACHING,
        expected={"smoke": 10, "laptop": 10},
    ),
    "11_chan_ablations": Notebook(
        needs=("base",),
        exhibits=("chan-T3",),
        printed=True,
        modules=TEACHING,
        expected={"smoke": 10, "laptop": 10},
    ),
    "12_chan_codebook": Notebook(
        needs=("base",),
        exhibits=("chan-F4",),
        modules=TEACHING,
        expected={"smoke": 5, "laptop": 10},
    ),
    "13_chan_efficiency": Notebook(
        needs=("base",), exhibits=("chan-F3",), modules=TEACHING, expected={"smoke": 5, "laptop": 5}
    ),
    "14_chan_attention": Notebook(
        needs=("base",),
        drawn=("chan-F5",),
        reads=("chan-T3",),
        modules=("alignbook.papers.chan.attention_maps", "alignbook.papers.chan.show", *TEACHING),
        expected={"smoke": 10, "laptop": 25},
    ),
    "20_comalign": Notebook(
        needs=("base",),
        exhibits=("comalign-TI",),
        printed=True,
        data=_PARSED["data"],
        modules=("alignbook.papers.comalign.show", *TEACHING),
        expected={"smoke": 5, "laptop": 10},
    ),
    "21_comalign_compositional": Notebook(
        needs=("base",),
        exhibits=("comalign-TII",),
        printed=True,
        data=_PARSED["data"],
        modules=TEACHING,
        expected={"smoke": 5, "laptop": 5},
    ),
    "22_comalign_ablations": Notebook(
        needs=("base",),
        exhibits=("comalign-TIII", "comalign-TIV", "comalign-TV", "comalign-TVI"),
        printed=True,
        data=_PARSED["data"],
        modules=TEACHING,
        expected={"smoke": 5, "laptop": 10},
    ),
    "23_comalign_similarity": Notebook(
        needs=("base",),
        exhibits=("comalign-F4", "comalign-F5"),
        data=("world",),
        modules=("alignbook.papers.comalign.show", *TEACHING),
        expected={"smoke": 5, "laptop": 5},
    ),
    "24_comalign_hyperparameters": Notebook(
        needs=("base",),
        exhibits=("comalign-F6", "comalign-F7"),
        data=_PARSED["data"],
        modules=("alignbook.papers.comalign.show", *TEACHING),
        expected={"smoke": 5, "laptop": 5},
    ),
    "30_covalign": Notebook(
        needs=("base",),
        exhibits=("covalign-ladder",),
        data=_PICTURES,
        modules=("alignbook.papers.covalign.cost", "alignbook.papers.covalign.show", *TEACHING),
        expected={"smoke": 5, "laptop": 10},
    ),
    "31_covalign_loss_weights": Notebook(
        needs=("base",),
        exhibits=("covalign-T5",),
        printed=True,
        data=_PICTURES,
        modules=("alignbook.papers.covalign.show", *TEACHING),
        expected={"smoke": 5, "laptop": 10},
    ),
    "32_covalign_regions": Notebook(
        needs=("base",),
        exhibits=("covalign-T3",),
        data=_PICTURES,
        modules=("alignbook.papers.covalign.show", *TEACHING),
        expected={"smoke": 5, "laptop": 10},
    ),
    "33_covalign_projection": Notebook(
        needs=("base",),
        exhibits=("covalign-T6", "covalign-F5"),
        printed=True,
        data=_PICTURES,
        modules=("alignbook.papers.covalign.show", *TEACHING),
        expected={"smoke": 10, "laptop": 15},
    ),
    "40_gsl": Notebook(
        needs=("base",),
        exhibits=("gsl-F1", "gsl-switches"),
        modules=("alignbook.papers.gsl.show", *TEACHING),
        expected={"smoke": 10, "laptop": 10},
    ),
    "41_gsl_threshold": Notebook(
        needs=("base",),
        exhibits=("gsl-T1",),
        printed=True,
        modules=("alignbook.papers.gsl.show", *TEACHING),
        expected={"smoke": 5, "laptop": 5},
    ),
    "42_gsl_cost": Notebook(
        needs=("base",),
        exhibits=("gsl-T2",),
        printed=True,
        modules=("alignbook.papers.gsl.cost", "alignbook.papers.gsl.show", *TEACHING),
        expected={"smoke": 5, "laptop": 5},
    ),
    "43_gsl_identification": Notebook(
        needs=("base",),
        exhibits=("gsl-T3", "gsl-F2"),
        printed=True,
        modules=("alignbook.papers.gsl.show", *TEACHING),
        expected={"smoke": 5, "laptop": 5},
    ),
    "44_gsl_retrieval": Notebook(
        needs=("base",),
        drawn=("gsl-F3", "gsl-F4"),
        reads=("gsl-F1",),
        modules=("alignbook.papers.gsl.show", *TEACHING),
        expected={"smoke": 10, "laptop": 10},
    ),
    "50_kernels": Notebook(
        printed=True,
        data=("world",),
        expected={"smoke": 5, "laptop": 5},
        modules=(
            "alignbook.show.kernel_benchmark",
            "alignbook.core.kernels",
            "alignbook.core.similarity",
            *TEACHING,
        ),
    ),
    "60_explorer": Notebook(
        needs=("base",),
        reads=("chan-T3", "chan-T2"),
        modules=("alignbook.explorer.explorer", "alignbook.explorer.widget", *TEACHING),
        expected={"smoke": 10, "laptop": 10},
    ),
    "90_claims": Notebook(
        needs=("base",), reads=tuple(EXHIBITS), printed=True, expected={"smoke": 25, "laptop": 30}
    ),
}


# Tables 1 and 2 as printed: (group, row, arm); other methods of theirs are not run here.
_GRU, _BERT = "BUTD + BiGRU", "BUTD + BERT"
_OWN = (
    ("Ours", "VSE++, BERT", "vse++-bert"),
    ("Ours", "SCAN, BERT", "scan-bert"),
    ("Ours", "CHAN, official preset", "chan-official"),
    ("Ours", "CHAN, official preset, BERT", "chan-official-bert"),
)
CHAN_TABLE_1 = (
    ("ResNet-152 + BiGRU", "VSE++", "vse++"),
    (_GRU, "VSE∞", "vse-inf"),
    (_GRU, "SCAN", "scan"),
    (_GRU, "CHAN (ours)", "chan"),
    (_BERT, "VSE∞", "vse-inf-bert"),
    (_BERT, "CHAN (ours)", "chan-bert"),
    *_OWN,
)
CHAN_TABLE_2 = CHAN_TABLE_1
# Figure 3's dots.
CHAN_FIGURE_3 = {
    "vse++": "VSE++",
    "vse-inf": "VSE∞",
    "soft-attended": "SCAN, attended vectors",
    "soft-gram": "SCAN, Gram matrices",
    "hard": "CHAN",
    "hard-bert": "CHAN, BERT",
}

# Table 3 as printed: (group, row, arm). The LSE row of the poolings is the visual codebook's run;
# the controls are ours and have nothing beside them.
CHAN_TABLE_3 = (
    ("Coding Types", "Cross-Attention", "cross-attention"),
    ("Coding Types", "Visual Codebook", "visual-codebook"),
    ("Coding Types", "Textual Codebook", "textual-codebook"),
    ("Pooling Types", "Max-Pooling", "max"),
    ("Pooling Types", "Average-Pooling", "average"),
    ("Pooling Types", "Sum-Pooling", "sum"),
    ("Pooling Types", "Softmax-Pooling", "softmax"),
    ("Pooling Types", "LSE-Pooling", "visual-codebook"),
    ("Controls (ours)", "Cross-Attention, τ = 1/9", "cross-attention-1/9"),
    ("Controls (ours)", "Visual Codebook, four times the steps", "visual-codebook-long"),
    ("Controls (ours)", "Cross-Attention, four times the steps", "cross-attention-long"),
    ("Controls (ours)", "Captions permuted in training", "permuted"),
    ("Controls (ours)", "Base model, whole against whole", BASE_MODEL),
)

# ComAlign's tables as printed: (group, row, arm); "Ours" has nothing beside it.
_BASES = {
    "CLIP-ViT-B/32": "clip",
    "COCA-ViT-B/32": "coca",
    "NegClip-ViT-B/32": "negclip",
    "CLIP-ViT-L/14": "clip-large",
}
COMALIGN_TABLE_1 = tuple(
    ("", f"{label}{more}", f"{base}{arm}")
    for label, base in _BASES.items()
    for more, arm in (("", ""), (" + ComAlign", "+comalign"))
) + (
    ("Ours, on CLIP", "training-free", "clip+fgm"),
    ("Ours, on CLIP", "global heads", "clip+global"),
    ("Ours, on CLIP", "ComAlign, Eq. 8 as printed", "clip+literal"),
    ("Ours, on CLIP", "ComAlign, α and β as in the appendix", "clip+appendix"),
    ("Ours, on CLIP", "ComAlign, gold boxes", "clip+comalign-gold"),
    ("Ours, on CLIP", "ComAlign, official preset", "clip+comalign-official"),
)
COMALIGN_TABLE_2 = tuple(
    row for row in COMALIGN_TABLE_1 if row[2] in (*COMALIGN_ROWS, *COMALIGN_PROBED)
)
PROBES = ("VG-Relation", "VG-Attribution", "SVO-Probes", "SugarCrepe")
_PARTS = (
    ("global + entity + relation", "all"),
    ("global + entity", "global-entity"),
    ("global + relation", "global-relation"),
    ("global", "global"),
    ("entity + relation", "entity-relation"),
)
COMALIGN_ABLATIONS = {
    "comalign-TIII": tuple(("", label, arm) for label, arm in _PARTS),
    "comalign-TIV": tuple(("", label, arm) for label, arm in _PARTS),
    "comalign-TV": (
        ("", "transformer", "transformer"),
        ("", "FC (shared network)", "fc-shared"),
        ("", "FC (separate networks)", "fc-separate"),
        ("Table V with two layers (ours)", "transformer", "transformer-2"),
        ("Table V with two layers (ours)", "FC (shared network)", "fc-shared-2"),
        ("Table V with two layers (ours)", "FC (separate networks)", "fc-separate-2"),
    ),
    "comalign-TVI": (("", "1", "layers-1"), ("", "2", "layers-2"), ("", "4", "layers-4")),
}

# CoV-Align's Tables 5 and 6 as printed: (group, row, arm). The groups of λ_g and λ_v have each
# other's name there.
COVALIGN_TABLE_5 = tuple(
    (f"Varying {group}", f"λ_v={v} λ_g={g} λ_c={c}", arm)
    for group, v, g, c, arm in (
        *(("λ_c", 1, 1, n, f"concentration-{n}") for n in (1, 3, 5, 7, 10)),
        ("λ_g", 0.5, 1, 5, "visual-0.5"),
        ("λ_g", 2, 1, 5, "visual-2"),
        ("λ_v", 1, 0.5, 5, "global-0.5"),
        ("λ_v", 1, 2, 5, "global-2"),
    )
) + (
    ("Ours", "λ_v=0.5 λ_g=1 λ_c=2.5", "global-2-halved"),
    ("Ours, SGD", "λ_v=1 λ_g=1 λ_c=5", "sgd"),
    ("Ours, SGD", "λ_v=1 λ_g=2 λ_c=5", "sgd-global-2"),
    ("Ours, SGD", "λ_v=0.5 λ_g=1 λ_c=2.5", "sgd-global-2-halved"),
)
_SHARED = "Impact of Shared Projection Matrix"
COVALIGN_TABLE_6 = (
    (_SHARED, "w/ Two Separate Matrices (W_q, W_k)", "separate"),
    (_SHARED, "w/ Shared Matrix (W)", "shared"),
    ("Ours", "two matrices of half the rank", "separate-half"),
    ("Ours", "two matrices, the same to begin with", "separate-same"),
)

# GSL's tables as printed: (group, row, arm), None for methods that can't be rebuilt. Other arms of
# the same exhibits are ours alone.
GSL_TABLE_1 = tuple(("", delta, delta) for delta in ("0.4", "0.5", "0.6"))
GSL_TABLE_2 = (
    ("", "NCR", "ncr"),
    ("", "BiCro", "bicro"),
    ("", "GSC", "gsc"),
    ("", "ESC", None),
    ("", "SPS", None),
    ("", "GSL", "gsl"),
)
GSL_TABLE_3 = (
    ("", "BiCro", "bicro"),
    ("", "SPS", None),
    ("", "GSL", "gsl"),
    ("Ours", "NCR", "ncr"),
    ("Ours", "GSC", "gsc"),
    ("Ours", "BiCro, its own warm-up", "bicro-own"),
)


def arms(exhibit: str, data: str, profile=None) -> tuple[str, ...]:
    """The arms of an exhibit on a data set, by its name; none where it is not made.

    Nor is it where photographs lack what it needs, as the profile says if it is given.

    >>> arms("base-models", "flickr8k"), arms("chan-T1", "flickr8k")
    (('base-model',), ())
    >>> arms("comalign-TI", "coco")[:2]
    ('clip → coco', 'clip+comalign → coco')
    """
    found = EXHIBITS[exhibit]
    if found.data and data not in found.data or lacking(exhibit, data, profile):
        return ()
    names = found.arms if data == "world" else found.photographs or found.arms
    if data.endswith("precomp"):  # no pictures to train a base on, and no regions beyond 36
        larger = {name for name in CODEBOOKS if int(name.rpartition("-")[2]) > PUBLISHED}
        names = tuple(name for name in names if name not in {BASE_MODEL, *larger})
    elsewhere = {"world": "", "coco": "f30k"}.get(data, "coco")  # the target these data are not
    return tuple(name for name in names if row_and_target(name)[1] != elsewhere or not elsewhere)


BY_METHOD = ("covalign-T5", "gsl-F1")  # exhibits with a job for arms that begin alike


def jobs(exhibit: str, data: str, profile=None, spread: str = "arm") -> list[tuple[str, ...]]:
    """The arms of an exhibit by the job that trains them, one after another: in `spread` "exhibit"
    all in one. Else each has its own, but for those of ComAlign, CoV-Align and GSL: those of one
    base model go together, those of one method or weight, or all of a table, as a process takes as
    long to start as such an arm to train.

    >>> [len(job) for job in jobs("comalign-TI", "world")], len(jobs("chan-T1", "world"))
    ([16, 4, 4, 4], 10)
    >>> [len(job) for job in jobs("gsl-F1", "world")], len(jobs("gsl-T1", "world"))
    ([4, 4, 4, 4, 4, 4, 2, 2], 1)
    >>> [len(job) for job in jobs("covalign-T5", "world")], len(jobs("covalign-T6", "world"))
    ([5, 2, 3, 3], 1)
    """
    names = arms(exhibit, data, profile)
    if spread == "arm" and not exhibit.startswith(("comalign", "covalign", "gsl")):
        return [(name,) for name in names]
    groups = {}
    for name in names:
        base, method = row_and_target(name)[0].partition("+")[0], name.partition("-")[0]
        shared = base if base in COMALIGN_BASES else method if exhibit in BY_METHOD else ""
        groups.setdefault(shared if spread == "arm" else "", []).append(name)
    return [tuple(group) for group in groups.values()]


def lacking(exhibit: str, data: str, profile) -> list[str]:
    """The settings that say "none" for something the exhibit needs on these data."""
    if data == "world" or profile is None:
        return []
    return [field for field in EXHIBITS[exhibit].needs if getattr(profile, field) == "none"]


def row_and_target(arm: str) -> tuple[str, str]:
    """The row an arm is shown in, and the target its numbers are of, "" if there is only one.

    >>> row_and_target("clip+comalign → f30k"), row_and_target("chan")
    (('clip+comalign', 'f30k'), ('chan', ''))
    """
    row, _, target = arm.partition(" → ")
    return row, target


def slug(arm: str) -> str:
    """An arm's name as a file name.

    >>> slug("cross-attention-1/9"), slug("clip+fgm → f30k")
    ('cross-attention-1-of-9', 'clip+fgm-to-f30k')
    """
    return arm.replace("/", "-of-").replace(" → ", "-to-").replace(" ", "-")


def chapter(notebook: str) -> str:
    """The word after a notebook's number: the chapter it belongs to.

    >>> chapter("11_chan_ablations")
    'chan'
    """
    return notebook.split("_")[1]


def resolve(targets: list[str] | tuple[str, ...], data: str = "world") -> list[str]:
    """Notebooks behind the targets of a command line, in reading order.

    Parameters
    ----------
    targets : list of str
        Notebooks (``11_chan_ablations``), chapters (``chan``) and exhibits (``chan-T3``);
        none at all means every notebook.
    data : str
        The data set's name; notebooks that are not made on it are left out.

    Raises
    ------
    ValueError
        Names a target nobody knows, and what comes near it; or targets that this data has not.

    Examples
    --------
    >>> resolve(["chan-T3"])
    ['11_chan_ablations']
    """
    chosen = set() if targets else set(NOTEBOOKS)
    for target in targets:
        name = target.removesuffix(".ipynb").removeprefix("notebooks/")
        if matching := [
            each
            for each, notebook in NOTEBOOKS.items()
            if name in (each, chapter(each), *notebook.shown)
        ]:
            chosen.update(matching)
        else:
            raise ValueError(_unknown(target))
    made_on = {name: each.data or (data,) for name, each in NOTEBOOKS.items()}
    made = [name for name in NOTEBOOKS if name in chosen and data in made_on[name]]
    if not made:
        where = dict.fromkeys(kind for name in chosen for kind in made_on[name])
        raise ValueError(
            f"{', '.join(targets)}: not made on {data} but on {', '.join(where)}; for "
            "the world start it without --data"
        )
    return made


def _unknown(target: str) -> str:
    shown = [name for notebook in NOTEBOOKS.values() for name in notebook.shown]
    known = [*NOTEBOOKS, *dict.fromkeys(map(chapter, NOTEBOOKS)), *shown]
    lower = {name.lower(): name for name in known}
    near = [lower[name] for name in difflib.get_close_matches(target.lower(), lower, cutoff=0.5)]
    hint = f"did you mean {', '.join(near)}?" if near else f"there are: {', '.join(known)}"
    return f"unknown target {target!r}; {hint}"
