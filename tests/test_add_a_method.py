"""docs/add-a-method.md: what it says to write is written into a copy, and its arms come out."""

import re

import pandas as pd
import pytest
from alignbook.store import fingerprint
from conftest import ROOT, copy_workbook

PAGE = (ROOT / "docs/add-a-method.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"(?ms)^```(python|diff)\n(.*?)^```$", PAGE)
NEW_FILE = "lib/alignbook/papers/chan/own.py"
NEW_ARMS = ["power-mean", "both-ways"]
MOST_LINES = 40

# As little as will do: nobody looks at the numbers.
BRIEFLY = [
    f"--set={setting}"
    for setting in (
        "base_epochs=1",
        "train_images=60",
        "dev_images=20",
        "test_images=25",
        "chan_steps=8",  # at first arms hardly differ
        "chan_trials=2",
        "chan_batch=16",
        "chan_dim=16",
    )
]


def written() -> dict[str, list[tuple[str, str]]]:
    """By file: what each block replaces, and by what. Nothing is replaced in a new file."""
    found = {}
    for kind, text in BLOCKS:
        if kind == "python":
            found.setdefault(NEW_FILE, []).append(("", text))
        else:
            name, lines = text.splitlines()[0].removeprefix("--- "), text.splitlines()[1:]
            before = "\n".join(line[1:] for line in lines if line[:1] != "+")
            after = "\n".join(line[1:] for line in lines if line[:1] != "-")
            found.setdefault(name, []).append((before, after))
    return found


def test_it_is_forty_lines_at_most():
    code = [
        line
        for kind, text in BLOCKS
        for line in text.splitlines()
        if line.strip() and (kind == "python" or line[:1] == "+")
    ]
    assert 20 < len(code) <= MOST_LINES
    assert max(map(len, code)) <= 100


def test_no_stored_run_is_lost():
    changed = {
        name.removeprefix("lib/").removesuffix(".py").replace("/", ".") for name in written()
    }
    computing = [
        f"alignbook.papers.{name}"
        for name in ("chan.model", "chan.rivals", "comalign.model", "covalign.model", "gsl.model")
    ]
    own = "alignbook.papers.chan"
    assert changed == {f"{own}.own", f"{own}.arms", f"{own}.catalogue"}
    assert not changed & set(fingerprint.modules_behind(*computing))


@pytest.mark.slow
def test_the_arms_appear_in_table_3(tmp_path):
    copy = copy_workbook(tmp_path / "work book")
    for name, changes in written().items():
        path = copy.root / name
        for before, after in changes:
            words = path.read_text(encoding="utf-8") if before else ""
            assert not before or words.count(before) == 1, (name, before)
            path.write_text(words.replace(before, after) if before else after, encoding="utf-8")
    (target,) = re.findall(r"(?m)^\./run_all\.sh --profile smoke (\S+)", PAGE)
    copy.compute(target, *BRIEFLY)
    metrics = pd.read_csv(copy.smoke / "metrics.csv").set_index(["row", "column"])
    assert set(metrics.exhibit) == {"chan-T3"}
    for arm in NEW_ARMS:
        assert (
            metrics.loc[arm].index.nunique() == 7 and metrics.loc[arm].value.between(0, 600).all()
        )
    checksums = (
        pd.read_csv(copy.smoke / "runs.csv").query("role == 'report'").set_index("row").checksum
    )
    assert checksums[[*NEW_ARMS, "average", "visual-codebook"]].nunique() == 4
    table = (copy.smoke / "tables/chan-T3.md").read_text(encoding="utf-8")
    assert "Power mean" in table and "Both ways" in table
    figure = (copy.smoke / "figures/chan-T3.svg").read_text(encoding="utf-8")
    assert "Power mean" in figure and "Both ways" in figure
