"""The papers' tables as transcribed: against the four texts, against themselves, and by hand."""

import re
from collections import Counter
from itertools import groupby

import numpy as np
import pytest
from alignbook.evidence import printed_tables

CELLS = {  # how many each exhibit has, counted in the print: rows times columns
    "chan-T1": 15 * 14,
    "chan-T2": 16 * 7,
    "chan-T3": 8 * 7,
    "comalign-TI": 13 * 12,
    "comalign-TII": 12 * 3,
    "comalign-TIII": 5 * 2,
    "comalign-TIV": 5 * 2,
    "comalign-TV": 3 * 2,
    "comalign-TVI": 3 * 3,
    "covalign-T5": 9 * 4 + 2,
    "covalign-T6": 2 * 4,
    "gsl-T1": 3 * 8,
    "gsl-T2": 6 * 2,
    "gsl-T3": 3 * 2,
}
RECALLS = [f"{way} R@{k}" for way in ("i2t", "t2i") for k in (1, 5, 10)]
TYPES = {"global", "fragment", "aligning"}


# --- Reading the texts ---------------------------------------------------------------------------

CAPTION = re.compile(r"Table (\d+)\.|TABLE ([IVX]+)\s*$")
NUMBER = re.compile(r"(<b>)?(\\downarrow )?(-?\d+(?:\.\d+)?%?)(?:</b>)?")
NUMBERS = re.compile(rf"(?:{NUMBER.pattern}(?:\s+|$))+")
# A citation, after which the year stands as an index; the texts have lost some of the indices.
CITATION = re.compile(r"\s*\$?\[\d+\](?:\s*(?:_\{\d{4}\}|\d{4}|[₀-₉]{4}))?")
MISREAD = {"ResNet-152 + 1": "ResNet-152 + BiGRU"}  # Table 1's section, whole in Table 2


@pytest.fixture(scope="module")
def printed(seeds) -> dict[str, list[list[str]]]:
    """Lines of cells of every table in the papers' texts, under the exhibit's id."""
    found = {}
    for paper, text in seeds.items():
        lines = text.split("\n")
        captions = [match[1] or match[2] for match in map(CAPTION.match, lines) if match]
        blocks = [list(block) for tabs, block in groupby(lines, lambda line: "\t" in line) if tabs]
        assert len(captions) == len(blocks), paper  # one of the papers has captions below
        for caption, block in zip(captions, blocks):
            found[f"{paper}-T{caption}"] = [line.split("\t") for line in block]
    return found


def numbers(cell):
    """The numbers of a cell that holds nothing else: (text, marks) each."""
    if not NUMBERS.fullmatch(cell.strip()):
        return []
    return [
        (text, {mark for mark, there in (("bold", bold), ("down", down)) if there})
        for bold, down, text in NUMBER.findall(cell)
    ]


def plain(text):
    """A name without citations, years, LaTeX and what stands in brackets after italics."""
    text = re.sub(r"<i>(.*?) \(.*</i>", r"\1", CITATION.sub("", text).replace("$", ""))
    text = re.sub(r"\s*(?:\\infty|\\propto|∞)", "∞", text)  # read as proportional to, once
    text = text.replace(" *", "*").strip()
    return MISREAD.get(text, text)


def printed_lines(block):
    """Section, names, rows of numbers and other words of each line that has numbers."""
    section, base, header = "", "", []
    for line in block:
        cells = [numbers(cell) for cell in line]
        if not any(cells) or any("R@" in cell for cell in line):
            if any(line[1:]):
                header = line
            else:
                section = plain(line[0])
            continue
        rows = list(zip(*filter(None, cells), strict=True))  # a cell may hold several rows' numbers
        names = plain(line[0])
        if any("✓" in cell for cell in line):
            names = " + ".join(word.lower() for word, cell in zip(header, line) if "✓" in cell)
        elif names.lower() == "relative gain":
            names = f"{base} relative gain"
        elif header[0].startswith("λ"):
            names = " ".join(f"{weight}={cell}" for weight, cell in zip(header[:3], line))
        else:
            base = names.removesuffix(" + ComAlign")
        others = [cell for cell, found in zip(line[1:], cells[1:]) if not found and cell != "✓"]
        yield section, names, rows, " ".join(others).lower().split()


def compare(cells, block):
    """Fail unless the transcribed cells are those of the printed lines, in their order."""
    printed = list(printed_lines(block))
    every = Counter(text for _, _, rows, _ in printed for row in rows for text, _ in row)
    assert Counter(cells.printed) == every
    ours = groupby(cells.itertuples(index=False), lambda cell: (cell.group, cell.row))
    ours = [(key, list(run)) for key, run in ours]
    assert len(ours) == sum(len(rows) for _, _, rows, _ in printed)
    columns = list(dict.fromkeys(cells.column))
    for section, names, rows, words in printed:
        here, ours = ours[: len(rows)], ours[len(rows) :]
        stars = ["*" * ("ensemble" in run[0].mark) for _, run in here]
        assert " ".join(name + star for ((_, name), _), star in zip(here, stars)) == names
        default = {"default"} & set(words)
        for ((group, _), run), row, star in zip(here, rows, stars):
            assert group == section
            assert [cell.printed for cell in run] == [text for text, _ in row]
            assert [cell.column for cell in run] == columns[: len(run)]
            whole = default | ({"ensemble"} if star else set())
            assert [set(cell.mark.split()) - TYPES for cell in run] == [m | whole for _, m in row]
        types = [{*cell.mark.split()} & TYPES for _, run in here for cell in run]
        assert types == [{*run[0].mark.split()} & TYPES for _, run in here for _ in run]
        known = [word for _, run in here for word in run[0].mark.split() if word in TYPES]
        assert known == [word for word in words if word != "default"]
    heads = re.findall(r"[Rr]@(\d+)", " ".join(cell for line in block for cell in line))
    ours = [column.partition("R@")[2] for column in columns if "R@" in column]
    assert heads == ours[: len(heads)]  # Table 3 of CHAN has lost its last two


# --- Against the texts ---------------------------------------------------------------------------


@pytest.mark.realdata
def test_every_printed_table_is_transcribed(printed):
    assert sorted(printed) == printed_tables.exhibits()


@pytest.mark.realdata
@pytest.mark.parametrize("exhibit", CELLS)
def test_the_transcription_is_the_print(printed, exhibit):
    compare(printed_tables.table(exhibit), printed[exhibit])


def change(cells, at, column, new):
    cells.loc[at, column] = new(cells.loc[at, column])
    return cells


def exchanged(cells, first, second):
    """The cells at the first places where those at the second ones are, and the reverse."""
    order = cells.index.to_numpy().copy()
    order[[*first, *second]] = [*second, *first]
    return cells.loc[order]


def exchanged_numbers(cells, i, j):
    return cells.assign(printed=exchanged(cells, [i], [j]).printed.to_numpy())


def rows_of(cells):
    """Places of the first row's cells and of as many in the last."""
    width = len(cells[(cells.group == cells.group[0]) & (cells.row == cells.row[0])])
    return range(width), range(len(cells) - width, len(cells))


def other_digit(text):
    return re.sub(r"\d(?=\D*$)", lambda digit: str((int(digit[0]) + 1) % 10), text)


WRONG = {  # for each kind of mistake, exhibits and what makes it
    "a digit of the first cell": (CELLS, lambda c: change(c, 0, "printed", other_digit)),
    "a digit in the middle": (CELLS, lambda c: change(c, len(c) // 2, "printed", other_digit)),
    "a digit of the last cell": (CELLS, lambda c: change(c, len(c) - 1, "printed", other_digit)),
    "a zero more": (("comalign-TI",), lambda c: change(c, 0, "printed", "{}.00".format)),
    "a sign": (("comalign-TI", "gsl-T2"), lambda c: c.assign(printed=c.printed.str.lstrip("-"))),
    "a cell is missing": (CELLS, lambda c: c.drop(index=len(c) // 2)),
    "a row is missing": (CELLS, lambda c: c.drop(index=rows_of(c)[1])),
    "a cell is there twice": (CELLS, lambda c: c.loc[[*c.index, len(c) - 1]]),
    "two rows' places": (CELLS, lambda c: exchanged(c, *rows_of(c))),
    "two rows' names": (
        CELLS,
        lambda c: (
            c.assign(row=exchanged(c, *rows_of(c)).row.to_numpy())
            if c.group[0] == ""
            else change(c, 0, "row", "{}+".format)
        ),
    ),
    "two rows' first numbers": (
        set(CELLS) - {"covalign-T5"},
        lambda c: exchanged_numbers(c, rows_of(c)[0][0], rows_of(c)[1][0]),
    ),
    "two columns' numbers": (CELLS, lambda c: exchanged_numbers(c, len(c) - 2, len(c) - 1)),
    "two columns' names": (
        ("chan-T3", "covalign-T6", "gsl-T1"),
        lambda c: c.assign(
            column=c.column.replace(
                {
                    "i2t R@1": "i2t R@5",
                    "i2t R@5": "i2t R@1",
                    "TR R@1": "TR R@10",
                    "TR R@10": "TR R@1",
                }
            )
        ),
    ),
    "a section": (
        ("chan-T1", "chan-T2", "chan-T3", "covalign-T5", "covalign-T6"),
        lambda c: change(c, len(c) // 2, "group", lambda _: ""),
    ),
    "bold is lost": (
        ("comalign-TI",),
        lambda c: change(c, c.index[c.mark == "bold"][3], "mark", lambda _: ""),
    ),
    "all is bold": (("comalign-TII",), lambda c: c.assign(mark="bold")),
    "a star is lost": (
        ("chan-T1", "chan-T2"),
        lambda c: c.assign(mark=c.mark.str.replace("ensemble", "")),
    ),
    "a star on one cell": (("chan-T2",), lambda c: change(c, 0, "mark", lambda _: "ensemble")),
    "an arrow is lost": (("covalign-T5",), lambda c: c.assign(mark=c.mark.replace("down", ""))),
    "default is lost": (("covalign-T5",), lambda c: c.assign(mark=c.mark.replace("default", ""))),
    "another type": (("chan-T1",), lambda c: c.assign(mark=c.mark.replace("global", "aligning"))),
    "another type on one cell": (
        ("chan-T1",),
        lambda c: change(c, 1, "mark", lambda _: "aligning"),
    ),
    "no types": (("chan-T1",), lambda c: c.assign(mark=c.mark.str.replace("aligning", ""))),
}


@pytest.mark.realdata
@pytest.mark.parametrize("mistake", WRONG)
def test_a_mistake_in_the_transcription_is_found(printed, mistake):
    exhibits, make = WRONG[mistake]
    for exhibit in sorted(exhibits):
        wrong = make(printed_tables.table(exhibit))
        with pytest.raises(AssertionError):
            compare(wrong, printed[exhibit])


# --- By hand, without the texts ------------------------------------------------------------------


def test_exhibits_and_their_cells():
    assert printed_tables.exhibits() == sorted(CELLS)
    assert {exhibit: len(printed_tables.table(exhibit)) for exhibit in CELLS} == CELLS


@pytest.mark.parametrize(
    "exhibit, group, row, column, value, printed, decimals, mark",
    [
        ("chan-T1", "ResNet-152 + BiGRU", "VSE++", "1K i2t R@1", 64.6, "64.6", 1, "global"),
        ("chan-T1", "BUTD + BiGRU", "SCAN", "5K t2i R@5", 69.3, "69.3", 1, "ensemble aligning"),
        ("chan-T1", "BUTD + BiGRU", "CGMN", "1K RSUM", 520.7, "520.7", 1, ""),
        ("chan-T1", "BUTD + BERT", "CHAN (ours)", "5K RSUM", 443.9, "443.9", 1, "aligning"),
        ("chan-T2", "BUTD + BiGRU", "SCAN", "i2t R@1", 67.4, "67.4", 1, "ensemble"),
        ("chan-T2", "BUTD + BERT", "VSE∞", "t2i R@1", 61.4, "61.4", 1, ""),
        ("chan-T3", "Pooling Types", "Max-Pooling", "t2i R@10", 64.2, "64.2", 1, ""),
        ("comalign-TI", "", "CLIP-ViT-B/32", "coco i2t R@1", 50, "50", 2, ""),
        ("comalign-TI", "", "PyramidCLIP-ViT-B/32", "f30k i2t R@10", 98.61, "98.61", 2, "bold"),
        ("comalign-TI", "", "COCA-ViT-B/32 relative gain", "f30k t2i R@1", -1.24, "-1.24", 2, ""),
        ("comalign-TI", "", "CLIP-ViT-L/14 relative gain", "f30k i2t R@10", 0, "0", 2, ""),
        ("comalign-TII", "", "COCA-ViT-B/32", "VG-Relation", 42.3, "42.30", 2, ""),
        ("comalign-TII", "", "CLIP-ViT-L/14 relative gain", "SVO-Probes", 3.2, "3.2", 2, ""),
        ("comalign-TIII", "", "global + relation", "t2i R@1", 35.19, "35.19", 2, ""),
        ("comalign-TIV", "", "entity + relation", "i2t R@1", 52.38, "52.38", 2, ""),
        ("comalign-TV", "", "FC (separate networks)", "t2i R@1", 34.87, "34.87", 2, ""),
        ("comalign-TVI", "", "4", "layers", 4, "4", 0, ""),
        ("comalign-TVI", "", "4", "i2t R@1", 28.94, "28.94", 2, ""),
        ("covalign-T5", "Varying λ_c", "λ_v=1 λ_g=1 λ_c=1", "RSUM", 515, "515.0", 1, "default"),
        ("covalign-T5", "Varying λ_g", "λ_v=0.5 λ_g=1 λ_c=5", "drop", 2.7, "2.7", 1, "down"),
        ("covalign-T5", "Varying λ_g", "λ_v=2 λ_g=1 λ_c=5", "λ_v", 2, "2", 1, ""),
        ("covalign-T5", "Varying λ_v", "λ_v=1 λ_g=2 λ_c=5", "RSUM", 467.1, "467.1", 1, ""),
        (
            "covalign-T6",
            "Impact of Shared Projection Matrix",
            "w/ Shared Matrix (W)",
            "IR R@10",
            93.7,
            "93.7",
            1,
            "",
        ),
        ("gsl-T1", "", "0.5", "delta", 0.5, "0.5", 1, ""),
        ("gsl-T1", "", "0.6", "RSUM", 498.3, "498.3", 1, ""),
        ("gsl-T2", "", "BiCro", "increase", -17.08, "-17.08%", 2, ""),
        ("gsl-T2", "", "ESC", "seconds", 13191.06, "13191.06", 2, ""),
        ("gsl-T3", "", "SPS", "recall", 98.1, "98.1", 1, ""),
    ],
)
def test_cells_read_by_hand(exhibit, group, row, column, value, printed, decimals, mark):
    cells = printed_tables.table(exhibit)
    found = cells[(cells.group == group) & (cells.row == row) & (cells.column == column)]
    assert list(cells) == ["group", "row", "column", "value", "printed", "decimals", "mark"]
    assert found.values.tolist() == [[group, row, column, value, printed, decimals, mark]]


def wide(exhibit, prefix=""):
    """Values of a recall table, a row a method; without the rows of differences."""
    cells = printed_tables.table(exhibit)
    cells = cells[~cells.row.str.endswith("gain") & cells.column.str.startswith(prefix)]
    cells = cells.assign(column=cells.column.str.removeprefix(prefix))
    return cells.pivot(index=["group", "row"], columns="column", values="value")


@pytest.mark.parametrize(
    "exhibit, prefix, wrong",
    [
        ("chan-T1", "1K ", {}),
        ("chan-T1", "5K ", {}),
        ("chan-T2", "", {}),
        ("chan-T3", "", {}),
        ("gsl-T1", "", {"0.6": -2.9}),
    ],  # so in print: no rounding explains it
)
def test_six_recalls_make_the_sum(exhibit, prefix, wrong):
    table = wide(exhibit, prefix)
    off = table[RECALLS].sum(axis=1) - table["RSUM"]
    off = off[off.abs() > 7 * 0.05 + 1e-9]  # seven roundings of a first decimal
    assert {row: round(value, 1) for (_, row), value in off.items()} == wrong


@pytest.mark.parametrize(
    "exhibit, prefix",
    [
        ("chan-T1", "1K "),
        ("chan-T1", "5K "),
        ("chan-T2", ""),
        ("chan-T3", ""),
        ("gsl-T1", ""),
        ("comalign-TI", "coco "),
        ("comalign-TI", "f30k "),
    ],
)
def test_recalls_are_ordered(exhibit, prefix):
    table = wide(exhibit, prefix)
    for way in ("i2t", "t2i"):
        steps = np.diff(table[[f"{way} R@{k}" for k in (1, 5, 10)]].to_numpy(), axis=1)
        assert (steps > 0).all()
    for k in (1, 5, 10):  # five captions an image: finding one of them is the easier task
        assert (table[f"i2t R@{k}"] > table[f"t2i R@{k}"]).all()


def test_comalign_prints_the_best_of_each_backbone_in_bold():
    cells = printed_tables.table("comalign-TI")
    assert (cells.mark == "bold").sum() == 26  # 12 columns, 2 backbones, 2 ties
    methods = cells[~cells.row.str.endswith("gain")]
    backbone = methods.row.str.extract("(/32|/14)", expand=False)
    best = methods.groupby([backbone, "column"])["value"].transform("max")
    assert ((methods["value"] == best) == (methods.mark == "bold")).all()


def row(exhibit, name, group="", prefix=""):
    cells = printed_tables.table(exhibit)
    cells = cells[(cells.group == group) & (cells.row == name)]
    cells = cells[cells.column.str.startswith(prefix) & (cells.column != "layers")]
    return list(cells.printed)


def test_one_run_is_printed_alike_wherever_it_is_printed():
    hard = row("chan-T3", "Visual Codebook", "Coding Types")
    assert hard == row("chan-T3", "LSE-Pooling", "Pooling Types") and len(hard) == 7
    assert hard == row("chan-T1", "CHAN (ours)", "BUTD + BiGRU", "5K")
    whole = row("comalign-TIII", "global + entity + relation")
    assert whole == row("comalign-TIV", "global + entity + relation")
    assert whole == row("comalign-TVI", "2") and len(whole) == 2
    assert row("comalign-TV", "transformer") == row("comalign-TVI", "1")


@pytest.mark.parametrize("exhibit", ["comalign-TI", "comalign-TII"])
def test_gains_are_differences(exhibit):
    values = printed_tables.table(exhibit).pivot(index="row", columns="column", values="value")
    gains = [name for name in values.index if name.endswith(" relative gain")]
    assert len(gains) == 4
    for name in gains:
        base = name.removesuffix(" relative gain")
        off = values.loc[f"{base} + ComAlign"] - values.loc[base] - values.loc[name]
        assert (off.abs() < 0.0151).all(), off


def test_increases_are_ratios_of_the_seconds_but_for_one():
    values = printed_tables.table("gsl-T2").pivot(index="row", columns="column", values="value")
    off = values.increase - 100 * (values.seconds / values.seconds["NCR"] - 1)
    assert off[off.abs() > 0.0051].round(2).to_dict() == {"ESC": -0.05}


def test_drops_are_from_the_best_sum_to_the_lower_of_their_section():
    cells = printed_tables.table("covalign-T5")
    sums, drops = (cells[cells.column == column] for column in ("RSUM", "drop"))
    lowest = sums.groupby("group")["value"].min()[drops.group].to_numpy()
    assert drops["value"].to_numpy() == pytest.approx(sums["value"].max() - lowest)


# --- Errors --------------------------------------------------------------------------------------


@pytest.fixture
def write(tmp_path, monkeypatch):
    """Write the lines of an exhibit "x-T1" where the module looks."""
    monkeypatch.setattr(printed_tables, "ROOMS", tmp_path)
    folder = tmp_path / "x/printed"
    folder.mkdir(parents=True)
    header = "group,row,column,value,mark"

    def put(*lines, header=header):
        (folder / "x-T1.csv").write_text("\n".join([header, *lines]) + "\n", encoding="utf-8")

    return put


def test_an_exhibit_that_is_not_there(write):
    write("a,b,c,1,")
    (printed_tables.ROOMS / "x/printed/prose.csv").write_text("not a table\n")
    assert printed_tables.exhibits() == ["x-T1"]
    for name in ("y-T1", "../x-T1", "../printed/x-T1", "prose"):
        with pytest.raises(FileNotFoundError, match=r"there are: x-T1$"):
            printed_tables.table(name)


def test_numbers_and_decimals(write):
    write("a,b,c,-1.50%,bold down", "a,b,d,2,", '"a, a",NA,c,3.1%,', "a,é,c,0,")
    assert printed_tables.table("x-T1").values.tolist() == [
        ["a", "b", "c", -1.5, "-1.50%", 2, "bold down"],
        ["a", "b", "d", 2.0, "2", 0, ""],
        ["a, a", "NA", "c", 3.1, "3.1%", 2, ""],
        ["a", "é", "c", 0.0, "0", 2, ""],
    ]


@pytest.mark.parametrize(
    "value",
    [
        "",
        "x",
        "1.",
        ".5",
        "1e3",
        "1,5",
        "nan",
        "1 2",
        "--1",
        "%",
        "1%%",
        "٣",
        "1a",
        "<b>1</b>",
        " 1",
    ],
)
def test_no_number(write, value):
    write("a,b,c,1,", f'a,b,d,"{value}",', "a,b,e,1,")
    with pytest.raises(ValueError, match=r"x-T1\.csv, line 3: no number or"):
        printed_tables.table("x-T1")


def test_unknown_mark(write):
    write("a,b,c,1,bold", "a,b,d,1,bold red")
    with pytest.raises(ValueError, match=r"x-T1\.csv, line 3: .*no mark of .*'bold', .*red"):
        printed_tables.table("x-T1")


@pytest.mark.parametrize("line", ["a,b,1,", "a,b,d,1", "a,b,d,1,,", "a,b,d,1,bold,x", ""])
def test_not_five_fields(write, line):
    write("a,b,c,1,", line)
    with pytest.raises(ValueError, match=r"x-T1\.csv, line 3: "):
        printed_tables.table("x-T1")


def test_a_cell_twice(write):
    write("a,b,c,1,", "a,b,d,1,", "e,b,c,1,", "a,b,c,2,")
    with pytest.raises(ValueError, match=r"x-T1\.csv, line 5: a / b / c is there already"):
        printed_tables.table("x-T1")


@pytest.mark.parametrize(
    "header", ["", "a,b,c,1,", "group,row,column,value", "row,group,column,value,mark"]
)
def test_another_header(write, header):
    write("a,b,d,1,", header=header)
    with pytest.raises(ValueError, match=r"x-T1\.csv, line 1: "):
        printed_tables.table("x-T1")
