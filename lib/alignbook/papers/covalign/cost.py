"""What CoV-Align's regions cost beside matching every patch, and what it adds to its towers.

Every model is measured alone on the machine, on one thread, with the weights it trained. A step and
an evaluation are those of the model on tokens that are there; end to end a step has the towers in
it, and is compared with a step of these alone. Regions of an image are made once, however many
captions it is compared with.
"""

import numpy as np
import pandas as pd
import torch

from alignbook.core import training
from alignbook.evidence.entries import measurements
from alignbook.papers.covalign.catalogue import MEASURED
from alignbook.papers.covalign.model import load, two_way_similarity
from alignbook.store import runs, stopwatch

CAPTIONS = 100  # compared with all images of the test split
ROUNDS = 5  # steps, after one that isn't counted


def measure(run, inputs: list, device: str) -> dict:
    """Seconds and bytes of a run's model.

    Returns
    -------
    dict: `step` seconds and `step memory`, the bytes at the peak of a step on top of what was there
    before it; `towers`, seconds of a step of both towers alone (NaN of frozen tokens); `images`
    of the test split and `encoding` seconds of what they are matched by; `captions` there are,
    `pairs` compared and `comparing` seconds, and `memory` that comparing took.
    """
    torch.set_num_threads(1)
    dataset, *sources = inputs
    matcher = load(run, dataset, *sources).to(device).train()
    config, model, each = matcher.model.config, matcher.model, dataset.captions_per_image
    rows = dataset.splits["train"]
    size = min(config.batch, len(rows))
    images, captions = training.pairs_in_batch(len(rows), size, each, 0, 0)
    pictures = rows[images.numpy()]
    numbers = pictures * each + captions.numpy() % each
    frozen = config.tokens == "frozen"
    there = matcher.patches(pictures), *matcher.words(numbers)
    optimizer = torch.optim.SGD([p for p in matcher.parameters() if p.requires_grad], lr=0.0)

    def tokens():
        return there if frozen else (matcher.patches(pictures), *matcher.words(numbers))

    def step():
        optimizer.zero_grad()
        model.loss(*tokens(), images.to(device)).backward()
        optimizer.step()

    def towers():
        optimizer.zero_grad()
        patches, words, mask = tokens()
        (patches.square().mean() + words[mask].square().mean()).backward()
        optimizer.step()

    found = {"step": stopwatch.timed(step, device, ROUNDS)[0]}
    found["towers"] = np.nan if frozen else stopwatch.timed(towers, device, ROUNDS)[0]
    optimizer.zero_grad()
    found |= evaluation(matcher.eval(), dataset, device)
    matcher.train()
    watch = stopwatch.Peak(device)
    step()
    return found | {"step memory": watch.taken()}


@torch.inference_mode()
def evaluation(matcher, dataset, device: str) -> dict:
    """Seconds and bytes of what an evaluation does with tokens that are there; see `measure`."""
    model, each = matcher.model, dataset.captions_per_image
    rows = dataset.splits["test"][: model.config.test_images or None]
    some = (rows[:, None] * each + np.arange(each)).ravel()[:CAPTIONS]
    tokens = torch.cat([matcher.patches(rows[i : i + 250]) for i in range(0, len(rows), 250)])
    encoding, regions = stopwatch.timed(
        lambda: torch.cat([model.image(part).vectors for part in tokens.split(250)]), device
    )
    words = model.text(*matcher.words(some))
    comparing, scores = stopwatch.timed(lambda: two_way_similarity(regions, *words), device)
    found = {
        "images": len(rows),
        "encoding": encoding,
        "captions": len(rows) * each,
        "pairs": scores.numel(),
        "comparing": comparing,
    }
    del scores
    watch = stopwatch.Peak(device)
    two_way_similarity(regions, *words)
    return found | {"memory": watch.taken()}


def table(book, listed: pd.DataFrame) -> pd.DataFrame:
    """`measure` of the ladder's arms in `MEASURED`, from
    `book.out/efficiency/covalign-ladder.csv`, which is made if it isn't of these runs.

    Parameters
    ----------
    listed : the runs of the exhibit, as `results.arms` lists them.
    """
    from alignbook.papers.covalign import arms

    def given(row, key):
        inputs = arms.inputs(book, "covalign-ladder", row)
        return runs.stored(key), inputs, book.device

    own, times = listed[listed.arm.isin(MEASURED)], measurements(book.profile.name)
    return stopwatch.alone(book, own, measure, given, times=times)


def costs(measured: pd.DataFrame) -> pd.DataFrame:
    """Time and memory of every row and turn, from what `table` returns.

    `ms/step`, `MB/step`; `ms/pair`, the images' encoding and comparing divided by images ×
    captions, and `MB` of comparing. Each of these with " ÷ patches" appended is in units of the
    same turn's "patches" (NaN end to end: tokens are in that step). `step ÷ towers`: an end-to-end
    step in units of the towers alone.
    """
    m = measured
    found = pd.DataFrame(
        {
            "exhibit": m.exhibit,
            "row": m.row,
            "seed": m.seed,
            "ms/step": 1e3 * m.step,
            "MB/step": m["step memory"] / 2**20,
            "ms/pair": 1e3 * (m.encoding / (m.images * m.captions) + m.comparing / m.pairs),
            "MB": m.memory / 2**20,
        }
    )
    patches = found[found.row == "patches"].set_index("seed")
    alike = m.towers.isna()
    for column in ("ms/step", "MB/step", "ms/pair", "MB"):
        ratio = found[column] / found.seed.map(patches[column])
        found[f"{column} ÷ patches"] = ratio.where(alike)
    return found.assign(**{"step ÷ towers": m.step / m.towers})
