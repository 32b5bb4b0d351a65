"""claims.yaml read as contrasts: by hand, whole, and refused where it says nothing sensible."""

import importlib.util
import math

import numpy as np
import pytest
import yaml
from alignbook.core.names import COLUMNS, PROFILES, row_and_target
from alignbook.evidence import claims, printed_tables
from alignbook.evidence.claims import Contrast, Side, Term
from alignbook.papers.gsl import identification
from alignbook.workbook import chapters, exhibits
from conftest import ROOT

ENTRY = {"id": "some", "exhibit": "X", "says": "something", "where": "there"}
FIRST = {"id": "the-first", "test": "greater", "pairs": [["y", "z"]], "primary": True}


@pytest.fixture
def read(tmp_path):
    """Claims of a file with the given entries, and with a primary one if they have none.

    Each file has a name of its own.
    """
    count = iter(range(1000))

    def read(*entries):
        file = tmp_path / f"claims-{next(count)}.yaml"
        first = [] if any("primary" in entry for entry in entries) else [FIRST]
        file.write_text(yaml.safe_dump({"claims": [ENTRY | e for e in (*entries, *first)]}))
        return claims.load(file)[: len(entries)]

    return read


def arm(row, column="RSUM", exhibit="X", weight=1.0):
    return Term(exhibit, row, column), weight


def sides(claim):
    return [(contrast.first, contrast.second) for contrast in claim.contrasts]


# --- What a claim is made of ---------------------------------------------------------------------


def test_greater_takes_pairs_and_columns(read):
    (claim,) = read({"test": "greater", "pairs": [["a", "b"], ["c", "d"]], "columns": ["u", "v"]})
    assert sides(claim) == [
        (Side((arm(first, column),)), Side((arm(second, column),)))
        for column in "uv"
        for first, second in ("ab", "cd")
    ]
    assert {(c.unit, c.low, c.high) for c in claim.contrasts} == {("points", 0, math.inf)}
    assert claim.contrasts[0].label == "a − b, u"
    assert claim.need == 4 and claim.least == "laptop" and claim.untestable == ""


def test_a_difference_has_the_unit_of_its_column(read):
    columns = ["seconds", "label AUC", "spread", "diagonal", "i2t R@1"]
    (claim,) = read({"test": "greater", "pairs": [["a", "b"]], "columns": columns})
    assert [c.unit for c in claim.contrasts] == ["s", "AUC", "sides", "cosine", "points"]
    (ratio,) = read(
        {"test": "ratio", "pairs": [["a", "b"]], "columns": ["seconds"], "band": [1, 2]}
    )
    assert ratio.contrasts[0].unit == "×"


def test_greater_or_equal_is_not_lower_by_more_than_flat_allows(read):
    (claim,) = read(
        {"test": "greater", "or_equal": True, "pairs": [["a", "b"]], "columns": ["u", "v"]}
    )
    assert [c.label for c in claim.contrasts] == ["a − b, u", "a − b, v"]
    assert {(c.unit, *c.bounds()) for c in claim.contrasts} == {("%", -0.5, math.inf)}
    assert sides(claim)[0] == (Side((arm("a", "u"),)), Side((arm("b", "u"),)))
    assert claim.contrasts[0].value(99.6, 100.0) > -0.5 > claim.contrasts[0].value(99.4, 100.0)


def test_a_claim_may_be_about_the_print_only(read):
    (only,) = read({"id": "only", "test": "greater", "pairs": [["a", "b"]], "print_only": True})
    (both,) = read({"id": "both", "test": "greater", "pairs": [["a", "b"]]})
    assert only.print_only is True and both.print_only is False


def test_the_primary_claim_names_its_band_in_percent_or_in_points(read):
    entry = {"test": "greater", "pairs": [["a", "b"]], "primary": True}
    (percent,) = read(entry | {"no_difference": 1.5})
    (points,) = read(entry | {"no_difference_points": 3})
    (none,) = read(entry)
    assert percent.primary and (percent.same.unit, *percent.same.bounds()) == ("%", -1.5, 1.5)
    assert (points.same.unit, *points.same.bounds()) == ("points", -3, 3)
    assert sides(percent)[0] == (percent.same.first, percent.same.second)
    assert none.primary and none.same is None and percent.contrasts == none.contrasts


@pytest.mark.parametrize("primary", [(), ("a", "b")])
def test_a_file_has_one_primary_claim(tmp_path, primary):
    entries = [ENTRY | GREATER | {"id": id, "primary": id in primary} for id in "abc"]
    (tmp_path / "c.yaml").write_text(yaml.safe_dump({"claims": entries}))
    said = f"c.yaml: .*primary: true at one claim, not at {len(primary)} .{', '.join(primary)}"
    with pytest.raises(ValueError, match=said):
        claims.load(tmp_path / "c.yaml")


def test_a_mean_over_columns_is_named_by_its_arm(read):
    pair = [{f"{arm} @ u": 0.5, f"{arm} @ v": 0.5} for arm in "ab"]
    (claim,) = read({"test": "greater", "pairs": [pair]})
    assert claim.contrasts[0].label == "a, mean of 2 columns − b, mean of 2 columns"


def test_the_columns_of_a_contrast(read):
    (claim,) = read(
        {
            "test": "greater",
            "columns": ["u", "v"],
            "pairs": [["a", "b"], [{"a @ w": 1, "b @ w": -1}, "c"]],
        }
    )
    assert [c.columns for c in claim.contrasts] == [{"u"}, {"w", "u"}, {"v"}, {"w", "v"}]


def test_sides_of_a_pair(read):
    (claim,) = read(
        {
            "test": "greater",
            "pairs": [["Y / a", "b @ own"], [["a", "b"], 0.5], [{"a": 1, "b @ own": -2}, "a"]],
        }
    )
    assert sides(claim) == [
        (Side((arm("a", exhibit="Y"),)), Side((arm("b", "own"),))),
        (Side((arm("a", weight=0.5), arm("b", weight=0.5))), Side((), 0.5)),
        (Side((arm("a"), arm("b", "own", weight=-2.0))), Side((arm("a"),))),
    ]
    assert [c.label for c in claim.contrasts] == [
        "Y a RSUM − b own",
        "mean of 2 arms of X − 0.5",
        "(a RSUM − b own) − a RSUM",
    ]
    number = {("a", "RSUM"): 10.0, ("b", "own"): 3.0, ("b", "RSUM"): 4.0}
    values = [
        [side.value(lambda t: number[t.row, t.column]) for side in pair] for pair in sides(claim)
    ]
    assert values == [[10, 3], [7, 0.5], [4, 10]]


def test_a_slash_without_spaces_is_part_of_an_arms_name(read):
    (claim,) = read({"test": "greater", "pairs": [["Y / a-1/9", "a-1/9"]]})
    assert [term.row for term in claim.contrasts[0].terms] == ["a-1/9", "a-1/9"]


def test_a_pair_with_columns_of_its_own_comes_once(read):
    (claim,) = read(
        {"test": "greater", "columns": ["u", "v"], "pairs": [["a", "b"], ["c @ u", "d @ u"]]}
    )
    assert [c.label for c in claim.contrasts] == ["a − b, u", "c − d, u", "a − b, v"]


def test_ordered_is_neighbours_and_best_is_the_first_against_all(read):
    ordered, best = read(
        {"id": "o", "test": "ordered", "rows": ["a", "b", "c", "d"]},
        {"id": "b", "test": "best", "rows": ["a", "b", "c", "d"]},
    )
    assert [c.label for c in ordered.contrasts] == ["a − b", "b − c", "c − d"]
    assert [c.label for c in best.contrasts] == ["a − b", "a − c", "a − d"]
    assert sides(ordered)[1] == (Side((arm("b"),)), Side((arm("c"),)))


def test_flat_is_every_pair_and_collapse_turns_its_pairs_round(read):
    flat, collapse = read(
        {"id": "f", "test": "flat", "rows": ["a", "b", "c"]},
        {"id": "c", "test": "collapse", "pairs": [["down", "reference"]]},
    )
    assert [c.label for c in flat.contrasts] == ["a − b", "a − c", "b − c"]
    assert {(c.unit, *c.bounds()) for c in flat.contrasts} == {("%", -0.5, 0.5)}
    (drop,) = collapse.contrasts
    assert drop.first.terms == (arm("reference"),) and drop.second.terms == (arm("down"),)
    assert (drop.unit, *drop.bounds()) == ("% lost", 5, math.inf)


def test_a_slope_is_least_squares_on_the_doublings(read):
    x = {"a": 36, "b": 50, "c": 72, "d": 100}
    up, down = read(
        *({"id": sign, "test": "slope", "rows": x, "sign": sign} for sign in ("up", "down"))
    )
    for values in np.random.default_rng(0).normal(400, 5, (5, 4)):
        number = dict(zip(x, values))
        slope = np.polyfit(np.log2(list(x.values())), values, 1)[0]
        for claim, sign in ((up, 1), (down, -1)):
            (contrast,) = claim.contrasts
            first, second = (
                side.value(lambda term: number[term.row])
                for side in (contrast.first, contrast.second)
            )
            assert contrast.value(first, second) == pytest.approx(sign * slope)
    assert up.contrasts[0].unit == "points a doubling" and up.contrasts[0].bounds()[0] == 0
    assert up.contrasts[0].label == "rise, a to d" and down.contrasts[0].label == "fall, a to d"


def test_a_ratio_is_tested_on_the_log_scale(read):
    (claim,) = read({"test": "ratio", "pairs": [["slow", "fast"]], "band": [2, 8]})
    (contrast,) = claim.contrasts
    assert contrast.label == "slow ÷ fast"
    assert contrast.value(12.0, 3.0) == pytest.approx(math.log(4))
    assert contrast.bounds() == pytest.approx((math.log(2), math.log(8)))
    assert contrast.shown(contrast.value(12.0, 3.0)) == pytest.approx(4)
    (open_below,) = read({"test": "ratio", "pairs": [["a", "b"]], "band": [0, 3]})[0].contrasts
    assert open_below.bounds() == (-math.inf, math.log(3))


def test_percentages_by_hand():
    side = Side((arm("a"),))
    percent = Contrast("", side, side, unit="%")
    lost = Contrast("", side, side, unit="% lost")
    assert percent.value(516.0, 513.3) == pytest.approx(100 * 2.7 / 514.65)  # of their mean
    assert percent.value(513.3, 516.0) == pytest.approx(-100 * 2.7 / 514.65)
    assert lost.value(516.0, 467.1) == pytest.approx(100 * 48.9 / 516.0)  # of the reference
    assert lost.shown(3.0) == 3 and lost.bounds() == (0, math.inf)
    seeds = lost.value(np.array([100.0, 200.0]), np.array([90.0, 150.0]))
    assert seeds == pytest.approx([10, 25])
    for unit in ("%", "% lost", "×"):  # zero by zero: no number, and no warning either
        assert np.isnan(Contrast("", side, side, unit=unit).value(*np.zeros((2, 1))))[0]


# --- Files that are refused ----------------------------------------------------------------------

GREATER = {"test": "greater", "pairs": [["a", "b"]]}
ORDERED = {"test": "ordered", "rows": ["a", "b"]}
RATIO = {"test": "ratio", "pairs": [["a", "b"]], "band": [1, 2]}
SLOPE = {"test": "slope", "rows": {"a": 1, "b": 2}, "sign": "up"}
FAULTS = {
    "unknown test": (GREATER | {"test": "larger"}, "no test 'larger'; there are: greater, ord"),
    "unknown profile": (GREATER | {"least": "night"}, "no profile 'night'.*laptop, overnight"),
    "smoke decides nothing": (GREATER | {"least": "smoke"}, "no profile 'smoke' that decides"),
    "no pairs": ({"test": "greater"}, "greater takes pairs, not nothing"),
    "rows in place of pairs": (GREATER | {"test": "ordered"}, "ordered takes rows, not pairs"),
    "a sign too much": (ORDERED | {"sign": "up"}, "takes rows, not rows, sign"),
    "ratio without band": ({"test": "ratio", "pairs": [["a", "b"]]}, "takes pairs and band"),
    "unknown key": (GREATER | {"when": "now"}, "unexpected keyword argument 'when'"),
    "need too large": (GREATER | {"need": 2}, "needs 2 of 1 contrasts"),
    "need zero": (GREATER | {"need": 0}, "needs 0 of 1 contrasts"),
    "need by half": (ORDERED | {"need": 0.5}, "needs 0.5 of 1 contrasts"),
    "columns are a text": (GREATER | {"columns": "RSUM"}, "columns: expected a list, not 'RSUM'"),
    "no columns": (GREATER | {"columns": []}, "needs 0 of 0 contrasts"),
    "a pair is a text": (GREATER | {"pairs": ["ab"]}, "pairs: expected a list of .first, second"),
    "pairs are a text": (GREATER | {"pairs": "ab"}, "pairs: expected"),
    "three in a pair": (GREATER | {"pairs": [["a", "b", "c"]]}, "pairs: expected"),
    "no pair": (GREATER | {"pairs": []}, "needs 0 of 0 contrasts"),
    "numbers against each other": (GREATER | {"pairs": [[1, 2]]}, "1 and 2: .*no arm at all"),
    "an arm against itself": (GREATER | {"pairs": [["a", "a"]]}, "a and a: an arm against itself"),
    "one row": (ORDERED | {"rows": ["a"]}, "two different arms or more, not .'a'."),
    "a row twice": (ORDERED | {"rows": ["a", "b", "a"]}, "two different arms or more"),
    "rows are a text": (ORDERED | {"rows": "abc"}, "two different arms or more, not 'abc'"),
    "rows are numbers": (ORDERED | {"rows": [0.4, 0.5]}, "numbers in quotation marks"),
    "sign": (SLOPE | {"sign": "sideways"}, "sign: expected up or down, not 'sideways'"),
    "slope at one place": (SLOPE | {"rows": {"a": 2, "b": 2}}, "different numbers above zero"),
    "log of zero": (SLOPE | {"rows": {"a": 0, "b": 2}}, "different numbers above zero"),
    "slope without numbers": (SLOPE | {"rows": {"a": "x", "b": "y"}}, "not supported"),
    "or equal of an order": (ORDERED | {"or_equal": True}, "or_equal: true, of greater"),
    "or equal to what": (GREATER | {"or_equal": 0.5}, "or_equal: true, of greater, .* not 0.5"),
    "print only, perhaps": (GREATER | {"print_only": "yes"}, "print_only: true or false"),
    "print only and untestable": (
        GREATER | {"print_only": True, "untestable": "no"},
        "print_only: .*not of a claim that is untestable",
    ),
    "primary, perhaps": (GREATER | {"primary": "yes"}, "primary: true, of one contrast"),
    "primary of two": (
        GREATER | {"primary": True, "columns": ["u", "v"]},
        "primary: true, of one contrast, not True of 2",
    ),
    "primary and untestable": (
        GREATER | {"primary": True, "untestable": "no"},
        "primary: not of a claim that is print_only or untestable",
    ),
    "a band of any claim": (GREATER | {"no_difference": 1}, "no_difference: of the primary claim"),
    "a band of an order": (
        ORDERED | {"primary": True, "no_difference_points": 1},
        "no_difference: of the primary claim, if it is greater",
    ),
    "a band of what is not lower": (
        GREATER | {"primary": True, "or_equal": True, "no_difference": 1},
        "no_difference: of the primary claim, if it is greater",
    ),
    "no band": (
        GREATER | {"primary": True, "no_difference": 0},
        "no_difference: expected one band above zero, not 0, None",
    ),
    "two bands": (
        GREATER | {"primary": True, "no_difference": 1, "no_difference_points": 2},
        "no_difference: expected one band above zero, not 1, 2",
    ),
    "band upside down": (RATIO | {"band": [2, 1]}, r"band: expected \[low, high\], not \[2, 1\]"),
    "band of a point": (RATIO | {"band": [2, 2]}, "band: expected"),
    "half a band": (RATIO | {"band": [2]}, "band: expected"),
    "band below zero": (RATIO | {"band": [-1, 2]}, "band: expected"),
    "band of nothing": (RATIO | {"band": [0, math.nan]}, "band: expected"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_wrong_claim_is_refused_by_name(read, fault):
    entry, said = FAULTS[fault]
    with pytest.raises(ValueError, match=rf"claims-0\.yaml, the-claim: .*{said}"):
        read(entry | {"id": "the-claim"})


@pytest.mark.parametrize("key", ["exhibit", "says", "where", "test"])
def test_a_missing_key_is_named(tmp_path, key):
    entry = {name: value for name, value in (ENTRY | GREATER).items() if name != key}
    (tmp_path / "c.yaml").write_text(yaml.safe_dump({"claims": [entry]}))
    with pytest.raises(ValueError, match=f"c.yaml, some: .*missing.*'{key}'"):
        claims.load(tmp_path / "c.yaml")


@pytest.mark.parametrize(
    "text, said",
    [
        ("claims: [a, b]", "claim 1"),
        ("claims: [{test: greater}]", "claim 1: .*missing"),
        ("claims: {a: [}", "no list of claims: .*line 1"),
        ("", "no list of claims"),
        ("claimed: []", "no list of claims: 'claims'"),
        ("claims:", "no list of claims"),
    ],
)
def test_a_file_that_holds_no_claims_is_refused(tmp_path, text, said):
    (tmp_path / "c.yaml").write_text(text)
    with pytest.raises(ValueError, match=f"(?s)c.yaml.*{said}"):
        claims.load(tmp_path / "c.yaml")


def test_an_id_is_there_once(read):
    with pytest.raises(ValueError, match="claims-0.yaml: twin stands in .*claims-0.yaml already"):
        read(GREATER | {"id": "twin"}, GREATER | {"id": "single"}, ORDERED | {"id": "twin"})


def test_an_id_is_there_once_in_all_files(tmp_path):
    files = [tmp_path / name / "printed/claims.yaml" for name in ("one", "two")]
    for file in files:
        file.parent.mkdir(parents=True)
        file.write_text(yaml.safe_dump({"claims": [ENTRY | FIRST | {"id": "some"}]}))
    assert [claims.load(file)[0].paper for file in files] == ["one", "two"]
    with pytest.raises(
        ValueError, match="two/printed/claims.yaml: some stands in one/printed/claims.yaml"
    ):
        claims.load(*files)


# --- The papers' own files ---------------------------------------------------------------------


def test_the_claims_of_four_papers():
    listed = claims.load()
    assert len({claim.id for claim in listed}) == len(listed) > 30
    papers = list(dict.fromkeys(claim.paper for claim in listed))
    assert papers == ["chan", "comalign", "covalign", "gsl"] == list(printed_tables.PAPERS)
    for claim in listed:
        assert claim.id.startswith(f"{claim.paper}-") and claim.exhibit.startswith(claim.paper)
        assert claim.says.endswith((".", ")")) and claim.where
        assert claim.least in PROFILES


def test_papers_have_the_names_and_titles_that_are_cited():
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))["references"]
    headers = [printed_tables.read(file)["paper"] for file in printed_tables.files("claims.yaml")]
    assert [header["name"] for header in headers] == list(printed_tables.PAPERS.values())
    assert [header["title"] for header in headers] == [work["title"] for work in cited]


FOUND_NOISE = identification.identification(
    np.array([[0.1, 0.9]] * 2), np.array([True, False]), 0.5
)


def test_claims_name_arms_and_columns_that_are_there():
    """Of exhibits that some notebook shows; the columns are recalls, or named by its module."""
    looked_at = 0
    for claim in claims.load():
        if claim.untestable:
            continue
        for term in {term for contrast in claim.contrasts for term in contrast.terms}:
            if term.exhibit not in exhibits.EXHIBITS:
                continue
            found = exhibits.EXHIBITS[term.exhibit]
            rows = {row_and_target(arm)[0] for arm in found.names()}
            assert term.row in rows, (claim.id, term)
            recall = term.column.endswith(COLUMNS)
            if term.column in FOUND_NOISE:
                continue
            modules = (
                chapters.module(term.exhibit),
                "alignbook.papers.chan.cost",
                "alignbook.papers.comalign.matched_pairs",
                "alignbook.papers.comalign.components.probes",
                "alignbook.papers.covalign.model",
                "alignbook.papers.covalign.phrases",
                "alignbook.papers.gsl.coteaching",
                "alignbook.papers.gsl.cost",
            )
            sources = (importlib.util.find_spec(m).loader.get_source(m) for m in modules)
            assert recall or f'"{term.column}"' in "".join(sources), term
            looked_at += 1
    assert looked_at >= 8


def test_printed_rows_are_in_the_tables():
    for exhibit, rows in claims.printed_names()[0].items():
        cells = printed_tables.table(exhibit)
        there = set(zip(cells.group, cells.row))
        # A table may lack a rival of its twin, which shares the list; never an arm of ours.
        found = {
            name
            for name, where in rows.items()
            if tuple(part.strip() for part in where.split("|")) in there
        }
        assert set(rows) - found == LACKING.get(exhibit, set()), exhibit
        assert len({rows[name] for name in found}) == len(found), exhibit


# Rows listed once for two tables of which the other prints them.
LACKING = {"comalign-TII": {"pyramidclip"}, "gsl-T3": {"ncr", "gsc", "esc"}}


def test_printed_columns_are_in_the_tables():
    for exhibit, names in claims.printed_names()[1].items():
        there = set(printed_tables.table(exhibit).column)
        assert set(names.values()) <= there and not set(names) & there, exhibit
        assert len(set(names.values())) == len(names)


def test_the_bands_of_no_difference_are_half_of_the_printed_differences():
    """In percent of the mean of both sides, rounded to two decimals."""
    primary = {claim.paper: claim for claim in claims.load() if claim.primary}
    assert len(primary) == 4 and all(claim.same.unit == "%" for claim in primary.values())

    def printed(exhibit, row, *columns):
        cells = printed_tables.table(exhibit).query("row == @row").set_index("column").value
        return sum(cells[list(columns)])

    four = [f"{target} {way} R@1" for target in ("coco", "f30k") for way in ("i2t", "t2i")]
    clip = "CLIP-ViT-B/32"
    recalls = ("TR R@1", "TR R@10", "IR R@1", "IR R@10")
    separate = "w/ Two Separate Matrices (W_q, W_k)"
    coding = [printed("chan-T3", row, "RSUM") for row in ("Visual Codebook", "Cross-Attention")]
    for paper, (first, second) in {
        "chan": coding,
        "comalign": [printed("comalign-TI", row, *four) for row in (f"{clip} + ComAlign", clip)],
        "covalign": [
            printed("covalign-T6", row, *recalls) for row in ("w/ Shared Matrix (W)", separate)
        ],
        "gsl": (507.5, 496.7),  # by public notes; the gain of 10.8 stands in the text
    }.items():
        half = 100 * (first - second) / (first + second)
        assert primary[paper].same.high == pytest.approx(round(half, 2)), paper


def test_every_claim_is_of_one_exhibit_and_a_sentence_by_itself():
    for claim in claims.load():
        others = {t.exhibit for c in claim.contrasts for t in c.terms} - {claim.exhibit}
        assert not others or claim.id.startswith("comalign-features"), claim.id
        assert claim.says[0].isupper() and not claim.says.startswith(("The same", "And ", "It "))


# What claims speak of and a transcribed table does not print.
UNPRINTED = {
    ("chan-T3", "cross-attention-1/9", "RSUM"),  # ours: the temperature is not in the paper
    ("covalign-T6", "shared", "RSUM"),  # four of its six recalls are printed
    ("covalign-T6", "separate", "RSUM"),
    ("gsl-T2", "gsl", "RSUM"),  # the gains stand in the text only
    ("gsl-T2", "ncr", "RSUM"),
    ("gsl-T2", "bicro", "RSUM"),
    ("gsl-T2", "gsc", "RSUM"),
    ("gsl-T2", "sps", "RSUM"),
    ("gsl-T2", "esc", "RSUM"),
    *(
        ("comalign-TV", f"{network}-2", f"{way} R@1")  # ours: the print's networks have one layer
        for network in ("transformer", "fc-shared", "fc-separate")
        for way in ("i2t", "t2i")
    ),
}


def test_every_number_of_a_claim_is_printed_or_known_not_to_be():
    (rows, columns), transcribed = claims.printed_names(), printed_tables.exhibits()
    assert set(rows) <= set(transcribed)
    missing = set()
    for term in {t for one in claims.load() for contrast in one.contrasts for t in contrast.terms}:
        if term.exhibit not in transcribed:
            continue
        cells = printed_tables.table(term.exhibit)
        there = set(zip(cells.group, cells.row, cells.column))
        where = rows.get(term.exhibit, {}).get(term.row, "?|?").split("|")
        column = columns.get(term.exhibit, {}).get(term.column, term.column)
        if (*(part.strip() for part in where), column) not in there:
            missing.add((term.exhibit, term.row, term.column))
    assert missing == UNPRINTED
