"""The arms of ComAlign's exhibits: what dev decides between, and what each run is then given.

Only settings stand here; nothing computes. An arm of Table I is named "base+method → target": in
the world the heads are trained on the other domain, so that the target is never seen (`SOURCE`).
"""

from dataclasses import replace

from alignbook.papers.comalign import benchmarks, matched_pairs
from alignbook.papers.comalign.catalogue import (
    ALL_PICTURES,
    BASES,
    CONTROLS,
    LONG,
    PROBED,
    ROWS_OF_BASES,
)
from alignbook.papers.comalign.inputs import Inputs, components, probe_components, source
from alignbook.papers.comalign.model import DIFFERENCES, PRESETS, Config
from alignbook.store import runs

# The paper trains on Visual Genome and Flickr30K for COCO, on Visual Genome for Flickr30K. In the
# world domain A stands for COCO and B for Flickr30K, and each is what the other's heads train on.
TARGET = {"coco": "A", "f30k": "B"}
SOURCE = {"A": "B", "B": "A"}
RATES = (1.0, 2.0, 4.0)  # what trials vary: the learning rate, as a multiple
PARTS = {
    "all": "GER",
    "global-entity": "GE",
    "global-relation": "GR",
    "global": "G",
    "entity-relation": "ER",
}
METHODS = {
    "": dict(network="none", terms="G", weights=(0.0, 0.0, 0.0)),  # the base model: α = β = 0
    "comalign": {},
    "comalign-gold": {},  # gold boxes in place of the detector's
    "fgm": dict(network="none"),  # nothing trained: Eq. 10 and 11 on the base model's components
    "global": dict(terms="G", features="G"),  # heads on whole against whole alone
    "literal": dict(scale="none"),  # Eq. 8 as printed, on cosines
    "appendix": dict(validation="paper"),  # α and β from training images of the target
}


def arms(exhibit: str, profile) -> dict[str, tuple[list, dict]]:
    """Arms of an exhibit: the candidates between which dev decides, and what is changed after that.

    Tables III to VI have the candidates of the whole method; Figure 7 varies the first of them.
    KeyError for an exhibit of another chapter.
    """
    makers = {
        "comalign-TI": retrieval_arms,
        "comalign-TII": probed,
        "comalign-TIII": loss_terms,
        "comalign-TIV": features,
        "comalign-TV": networks,
        "comalign-TVI": layers,
        "comalign-F4": diagonals,
        "comalign-F5": diagonals,
        "comalign-F6": weights,
        "comalign-F7": settings,
    }
    return makers[exhibit](profile)


def trials(profile, **changes) -> list[Config]:
    """The profile's ComAlign with the learning rates that dev chooses from."""
    sizes = dict(batch=profile.comalign_batch, steps=profile.comalign_steps)
    preset = replace(PRESETS["paper"], **sizes)
    rates = RATES[: profile.comalign_trials]
    rate = profile.comalign_learning_rate
    return [replace(preset, learning_rate=rate * each, **changes) for each in rates]


def official(profile) -> list[Config]:
    """The profile's sizes with what differs in the preset "official" from "paper"."""
    preset = PRESETS["official"]
    changes = {name: getattr(preset, name) for name in DIFFERENCES}
    return trials(profile, **changes)


def of_method(method: str, profile) -> list[Config]:
    """Candidates of a method on top of a base model."""
    if method == "comalign-official":
        return official(profile)
    return trials(profile, **METHODS[method])


def retrieval_arms(profile) -> dict:
    """Table I: every base without and with ComAlign, and ours for the first base, untuned; and the
    control of four times the steps.
    """
    methods = {base: ("", "comalign") for base in BASES}
    methods["clip"] += tuple(row.partition("+")[2] for row in CONTROLS)
    tried = {"comalign": profile.comalign_trials}  # the others have one candidate
    found = {
        f"{base}{'+' * bool(method)}{method} → {target}": (
            of_method(method, profile)[: tried.get(method, 1)],
            {},
        )
        for base in methods
        for method in methods[base]
        for target in TARGET
    }
    # What dev chose for the arm that it controls, whose trials it shares.
    longer = of_method("comalign", profile), {"steps": 4 * profile.comalign_steps}
    alone = of_method("", profile)[:1], {}
    found |= {f"{ALL_PICTURES} → {target}": alone for target in TARGET}
    return found | dict.fromkeys(LONG, longer)


def probed(profile) -> dict:
    """Table II: bases and heads of Table I, those that were trained on domain A."""
    found = retrieval_arms(profile)
    return {row: found[f"{row} → f30k"] for row in (*ROWS_OF_BASES, *PROBED)}


def ablated(profile, **changes) -> tuple[list, dict]:
    """An arm of Tables III to VI: the image side alone is trained [S]."""
    return trials(profile, trained="image"), changes


def loss_terms(profile) -> dict:
    return {name: ablated(profile, terms=kept) for name, kept in PARTS.items()}


def features(profile) -> dict:
    return {name: ablated(profile, terms=kept, features=kept) for name, kept in PARTS.items()}


def networks(profile) -> dict:
    """Table V: its transformer is Table VI's of one layer; ours are the rows of two."""
    return {
        "transformer": ablated(profile, layers=1),
        "fc-shared": ablated(profile, network="fc-shared", layers=1),
        "fc-separate": ablated(profile, network="fc-separate", layers=1),
        "transformer-2": ablated(profile, layers=2),
        "fc-shared-2": ablated(profile, network="fc-shared", layers=2),
        "fc-separate-2": ablated(profile, network="fc-separate", layers=2),
    }


def layers(profile) -> dict:
    return {f"layers-{n}": ablated(profile, layers=n) for n in (1, 2, 4)}


def diagonals(profile) -> dict:
    """Figures 4 and 5: heads of Table I, and "global", which learnt from whole pictures and captions
    alone. The base model's cosines are those of no training.
    """
    return {
        "base": (of_method("", profile)[:1], {}),
        "comalign": (of_method("comalign", profile), {}),
        "global": (of_method("global", profile)[:1], {"features": "GER"}),
    }


def weights(profile) -> dict:
    """Figure 6 trains nothing: it weighs the similarities of a head of Table I."""
    return {"comalign": (of_method("comalign", profile), {})}


def settings(profile) -> dict:
    """Figure 7: one of four settings changed at a time, times the profile's own."""
    plain = trials(profile)[0]
    found = {}
    for factor in (0.25, 0.5, 2.0, 4.0):
        found[f"coefficient ×{factor:g}"] = {"coefficient": factor}
        found[f"learning rate ×{factor:g}"] = {"learning_rate": factor * plain.learning_rate}
    for factor in (0.5, 2.0):
        found[f"steps ×{factor:g}"] = {"steps": max(1, round(factor * plain.steps))}
        found[f"batch ×{factor:g}"] = {"batch": max(2, round(factor * plain.batch))}
    return {"×1": ([plain], {})} | {name: ([plain], change) for name, change in found.items()}


# --- What the runs start from --------------------------------------------------------------------


def inputs(book, exhibit: str, arm: str) -> Inputs:
    """Data set and components of the source, and of the target: the world's two domains.

    Photographs have one domain: source and target are the same unless another source is named.
    """
    if book.kind != "world":
        of = dict(with_all=arm.startswith(ALL_PICTURES))
        return Inputs(*components(source(book), **of), *components(book, **of))
    row, _, target = arm.partition(" → ")
    base = row.partition("+")[0] if row.partition("+")[0] in BASES else "clip"
    gold = arm.startswith("clip+comalign-gold")
    to = TARGET.get(target, "B" if exhibit == "comalign-TII" else "A")
    boxes = "gold" if gold else ""
    return Inputs(
        *components(book, SOURCE[to], BASES[base], boxes), *components(book, to, BASES[base], boxes)
    )


def inspected(book, inputs: Inputs) -> Inputs:
    """The same with gold boxes in the target: only they are known to belong to a phrase."""
    _, gold = components(book, "A", BASES["clip"], "gold")
    return inputs._replace(target_components=gold)


def measured(book, exhibit: str, arm: str, run, inputs: Inputs):
    """The run whose numbers an exhibit shows, where these are not the trained run's own."""
    kinds = {
        "comalign-F4": "relation",
        "comalign-F5": "entity",
        "comalign-F6": "weights",
        "comalign-F7": "dev",
    }
    if exhibit in kinds:
        given = inspected(book, inputs) if exhibit in ("comalign-F4", "comalign-F5") else inputs
        config = matched_pairs.Config(kinds[exhibit])
        return runs.get(config, 0, (run, *given), device=book.device)
    if exhibit != "comalign-TII":
        return run
    recipe = BASES[arm.partition("+")[0]] if book.kind == "world" else ""
    # The probes are those of the domain that was trained on, A.
    given = run, inputs.source_components, probe_components(book, recipe)
    return runs.get(benchmarks.Config(), 0, given, device=book.device)
