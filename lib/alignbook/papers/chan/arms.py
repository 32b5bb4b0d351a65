"""The arms of CHAN's exhibits: what dev decides between, and what each run is then given.

Only settings stand here; nothing computes but `measured`. A run's key holds its settings and the
code that trains, so arms may come and go without any run of another being lost.
"""

from dataclasses import fields, replace

from alignbook.backbones.inputs import Inputs
from alignbook.core import sgraf
from alignbook.papers.chan import averaged, rivals
from alignbook.papers.chan.catalogue import CODEBOOK_SIZES, EXHIBITS, TAUS
from alignbook.papers.chan.model import DIFFERENCES, PRESETS, Config
from alignbook.store import runs

# The first candidate is the middle of those after it, as pilots on dev found. (λ, α) for LogSumExp
# and softmax pooling, of soft coding and of hard. Margins are in the units of each pooling: a sum
# over words spreads about ten times as wide, the many regions' best words half as wide.
LSE = ((10, 0.05), (10, 0.02), (10, 0.1), (5, 0.05), (20, 0.05), (5, 0.1))
HARD = ((10, 0.02), (10, 0.05), (10, 0.01), (5, 0.02), (10, 0.1), (10, 0.005))
TEXTUAL = ((10, 0.02), (5, 0.02), (20, 0.02), (10, 0.05), (10, 0.01), (5, 0.01))
# Which τ with which of the (λ, α) above: all are tuned, within the same number of trials.
TEMPERATURES = ((1 / 50, 0), (1 / 20, 0), (1 / 100, 0), (1 / 50, 1), (1 / 20, 5), (1 / 9, 0))
MARGINS = {
    "mean": (0.05, 0.1, 0.02, 0.2, 0.01, 0.3),
    "sum": (0.5, 1.0, 0.2, 2.0, 0.1, 3.0),
    "max": (0.05, 0.1, 0.02, 0.2, 0.01, 0.3),
}
FULL_LSE = ((10, 0.005), *LSE)  # the paper profile begins with its preset
# What trials of the rivals vary: the margin; for VSE++, which stays where all hardest negatives
# tie, first of all the share of the steps with all violations and the learning rate, as a multiple.
RIVALS = {
    "vse++": (
        (0.1, 1.0, 2.5),
        (0.05, 1.0, 2.5),
        (0.2, 1.0, 2.5),
        (0.1, 1.0, 1.0),
        (0.1, 0.5, 2.5),
        (0.2, 1.0, 1.0),
    ),
    "vse-inf": (
        (0.1, 0, 1.0),
        (0.2, 0, 1.0),
        (0.05, 0, 1.0),
        (0.2, 0.5, 1.0),
        (0.1, 0.5, 1.0),
        (0.1, 0, 2.5),
    ),
}


def arms(exhibit: str, profile) -> dict[str, tuple[list, dict]]:
    """Arms of an exhibit: the candidates between which dev decides, and what is changed after that.

    Every arm gets `profile.chan_trials` candidates; the controls, which ask what one change does,
    have one. A trial takes `profile.chan_trial_share` of the steps of what is reported. KeyError
    for an exhibit of another chapter.
    """
    makers = {
        "chan-T1": matchers,
        "chan-T2": matchers,
        "chan-T3": codings_and_poolings,
        "chan-F3": efficiency,
        "chan-F4": codebook_sizes,
    }
    found = {}
    for name, (candidates, changes) in makers[exhibit](profile).items():
        steps, tried = candidates[0].steps, candidates[: profile.chan_trials]
        shorter = max(1, round(profile.chan_trial_share * steps))
        found[name] = [replace(c, steps=shorter) for c in tried], {"steps": steps} | changes
    return found


def inputs(book, exhibit: str, arm: str) -> Inputs:
    """What the runs of an arm start from, see `Workbook.inputs`."""
    return book.inputs(EXHIBITS[exhibit].domain, arm.endswith("-bert"))


def measured(book, exhibit: str, arm: str, run, inputs: Inputs):
    """The run whose numbers a table shows: for an arm that combines others, the run that combines
    theirs for this seed; else the trained run itself.
    """
    parts = EXHIBITS[exhibit].arm(arm).of
    if not parts:
        return run
    made = []
    for (config, *_), changes in map(arms(exhibit, book.profile).get, parts):
        chosen = replace(config, **changes)
        made.append(runs.get(chosen, run.record["seed"], inputs, **book.trained))
    return runs.get(averaged.Config(), 0, (*made, *inputs), device=book.device)


def common(profile, text: str = "bigru") -> Config:
    """What all arms of a profile share: its sizes; in the paper profile the preset "paper".

    BERT's batches are the smaller ones there [C], and its steps more: the epochs stay the same.
    """
    sizes = dict(
        regions=profile.chan_regions,
        dim=profile.chan_dim,
        images=profile.chan_images,
        steps=profile.chan_steps,
        batch=profile.chan_batch,
        learning_rate=profile.chan_learning_rate,
        all_violations=profile.chan_all_violations,
    )
    if profile.name != "paper":
        return Config(**sizes, text=text)
    preset = PRESETS["paper", text]
    batch = min(profile.chan_batch, preset.batch)
    steps = profile.chan_steps * profile.chan_batch // batch
    return replace(preset, **sizes | dict(batch=batch, steps=steps))


def trials(profile, text: str = "bigru", grid=LSE) -> list[Config]:
    """Candidates of LogSumExp pooling, between which dev decides: λ and α."""
    pairs = FULL_LSE if profile.name == "paper" else grid
    return [
        replace(common(profile, text), scale=float(scale), margin=margin) for scale, margin in pairs
    ]


def official(profile, text: str = "bigru") -> Config:
    """The profile's sizes with what differs in the preset "official" from "paper"."""
    preset = PRESETS["official", text]
    return replace(common(profile, text), **{name: getattr(preset, name) for name in DIFFERENCES})


def cross_attention(profile) -> list[Config]:
    """Candidates of cross-attention: τ, λ and α."""
    lse = trials(profile)
    return [replace(lse[i], coding="soft", temperature=t) for t, i in TEMPERATURES]


def codings_and_poolings(profile) -> dict[str, tuple[list, dict]]:
    """Table 3. The LSE row of its pooling types is the visual codebook of its coding types: one arm.

    α and a smaller λ are tried for every coding, τ with them for cross-attention. The controls with
    four times the steps take what dev chose without; the curve of τ has the first trial's λ and α.
    """
    plain, lse, soft = common(profile), trials(profile), cross_attention(profile)
    hard = trials(profile, grid=HARD)
    found = {
        "cross-attention": soft,
        "cross-attention-1/9": [replace(c, coding="soft", temperature=1 / 9) for c in lse],
        "visual-codebook": hard,
        "textual-codebook": [replace(c, codebook="textual") for c in trials(profile, grid=TEXTUAL)],
        "max": [replace(plain, pooling="max", margin=m) for m in MARGINS["max"]],
        "average": [replace(plain, pooling="mean", margin=m) for m in MARGINS["mean"]],
        "sum": [replace(plain, pooling="sum", margin=m) for m in MARGINS["sum"]],
        "softmax": [replace(c, pooling="softmax") for c in hard],
        "permuted": [replace(plain, permute_captions=True)],
    }
    found |= {f"τ=1/{n}": [replace(lse[0], coding="soft", temperature=1 / n)] for n in TAUS}
    found = {name: (candidates, {}) for name, candidates in found.items()}
    longer = {"steps": 4 * profile.chan_steps}
    return found | {"visual-codebook-long": (hard, longer), "cross-attention-long": (soft, longer)}


def codebook_sizes(profile) -> dict[str, tuple[list, dict]]:
    """Figure 4: both codings with what dev chose at the profile's own number of regions."""
    tried = {"hard": trials(profile, grid=HARD), "soft": cross_attention(profile)}
    return {
        f"{name}-{k}": (candidates, {"regions": k})
        for name, candidates in tried.items()
        for k in CODEBOOK_SIZES
    }


def matchers(profile) -> dict[str, tuple[list, dict]]:
    """Tables 1 and 2: four matchers with a BiGRU and with BERT, SGR and SAF alone and together, CHAN's
    released code.

    CHAN and SCAN are Table 3's visual codebook and cross-attention, the same runs where the data
    are the same.
    """
    found = {name: rival(name, profile) for name in RIVALS}
    found |= {"scan": cross_attention(profile), "chan": trials(profile, grid=HARD)}
    bert = common(profile, "bert")
    found |= {
        f"{name}-bert": [
            replace(c, text="bert", batch=bert.batch, steps=bert.steps) for c in candidates
        ]
        for name, candidates in found.items()
    }
    found |= {kind: [reasoning(kind, profile)] for kind in sgraf.KINDS}
    found["sgraf"] = found["sgr"]  # and SAF: see `measured`
    found |= {
        "chan-official": [official(profile)],
        "chan-official-bert": [official(profile, "bert")],
    }
    return {name: (candidates, {}) for name, candidates in found.items()}


def as_rival(method: str, shared: Config) -> rivals.Config:
    """A rival with the settings of an arm of CHAN."""
    names = {f.name for f in fields(rivals.Config)} - {"method"}
    return rivals.Config(method=method, **{name: getattr(shared, name) for name in names})


def reasoning(kind: str, profile) -> rivals.Config:
    """SGR or SAF, untuned, with its authors' margin [X] and all regions in every step [C]."""
    return replace(as_rival(kind, common(profile)), margin=0.2, region_drop=0.0)


def rival(method: str, profile) -> list[rivals.Config]:
    """Candidates of VSE++ or VSE∞, on top of what CHAN's arms share."""
    shared = common(profile)
    plain = as_rival(method, shared)
    return [
        replace(
            plain,
            margin=margin,
            learning_rate=rate * shared.learning_rate,
            all_violations=share or shared.all_violations,
        )
        for margin, share, rate in RIVALS[method]
    ]


def efficiency(profile) -> dict[str, tuple[list, dict]]:
    """Figure 3: models of Tables 1 and 3, none of them trained for this.

    SCAN stands twice, with its attended vectors and by Gram matrices: the same model and, up to
    rounding, the same scores.
    """
    found = matchers(profile)
    return {
        "vse++": found["vse++"],
        "vse-inf": found["vse-inf"],
        "soft-attended": found["scan"],
        "soft-gram": found["scan"],
        "hard": found["chan"],
        "hard-bert": found["chan-bert"],
        **{kind: found[kind] for kind in sgraf.KINDS},
    }
