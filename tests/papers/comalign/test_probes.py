"""Compositional probes in the formats of ARO, SugarCrepe and SVO-Probes: read, write, refuse."""

import json

import pandas
import pytest
from alignbook.datasets import aro, sugarcrepe, svo
from alignbook.errors import DataError

RELATION = [
    {
        "image_id": "7",
        "true_caption": "the cat is on the mat",
        "false_caption": "the mat is on the cat",
        "bbox_x": 3,
        "bbox_y": 5,
        "bbox_w": 20,
        "bbox_h": 10,
        "relation_name": "on",
        "image_path": "7.jpg",
        "relation_info": {"name": "on"},
    },
    {
        "image_id": "9",
        "true_caption": "the café is near the tree",
        "false_caption": "the tree is near the café",
        "bbox_x": -2,
        "bbox_y": 0,
        "bbox_w": 8.0,
        "bbox_h": 9,
        "relation_name": "near",
        "image_path": "val/9.png",
    },
]
ATTRIBUTION = [
    {
        "image_id": "7",
        "true_caption": "the red cat and the old mat",
        "false_caption": "the old cat and the red mat",
        "bbox_x": 0,
        "bbox_y": 0,
        "bbox_w": 0,
        "bbox_h": 0,
        "attributes": ["red", "old"],
        "obj1_name": "cat",
        "obj2_name": "mat",
        "image_path": "7.jpg",
    }
]
CREPE = {
    "10": {"filename": "b.jpg", "caption": "A cat.", "negative_caption": "A blue cat."},
    "2": {"filename": "a.jpg", "caption": "A dog ", "negative_caption": "A dog "},
}
PROBES = """\
sentence,pos_triplet,neg_triplet,pos_url,neg_url,pos_image_id,neg_image_id,subj_neg,verb_neg,obj_neg
A man sits on a chair.,"man,sit,chair","man,stand,chair",,,11,12,False,True,False
"Yes, women chase dogs.","woman,chase,dog","man,chase,dog",,,13,11,TRUE,FALSE,FALSE
A dog eats near a dog.,"dog,eat,dog","dog,eat,cat",,,14,12,FALSE,FALSE,TRUE
"""


def saved(path, value):
    path.write_text(json.dumps(value, ensure_ascii=False), "utf-8")
    return path


def table(path, text=PROBES):
    path.write_text(text, "utf-8", newline="")
    return path


# ARO


def test_relations_are_read(tmp_path):
    saved(tmp_path / "visual_genome_relation.json", RELATION)
    probes = aro.read(tmp_path, "relation")
    assert tuple(probes) == aro.COLUMNS
    assert [tuple(row) for row in probes.itertuples(index=False)] == [
        ("7.jpg", "the cat is on the mat", "the mat is on the cat", "on", 3, 5, 23, 15, 0),
        (
            "val/9.png",
            "the café is near the tree",
            "the tree is near the café",
            "near",
            -2,
            0,
            6,
            9,
            1,
        ),
    ]


def test_attributions_are_read(tmp_path):
    probes = aro.read(saved(tmp_path / "mine.json", ATTRIBUTION), "attribution")
    assert probes.iloc[0].tolist() == [
        "7.jpg",
        "the red cat and the old mat",
        "the old cat and the red mat",
        "red_old",
        0,
        0,
        0,
        0,
        0,
    ]


@pytest.mark.parametrize("kind, entries", [("relation", RELATION), ("attribution", ATTRIBUTION)])
def test_aro_written_and_read_is_the_same(tmp_path, kind, entries):
    probes = aro.read(saved(tmp_path / "first.json", entries), kind)
    aro.write(probes, tmp_path / "second.json", kind)
    again = aro.read(tmp_path / "second.json", kind)
    pandas.testing.assert_frame_equal(again, probes)
    # As ARO's own loader has it: a box of x, y, width, height and two attributes in order.
    written = json.loads((tmp_path / "second.json").read_text("utf-8"))
    for old, new in zip(entries, written, strict=True):
        assert new == {key: old[key] for key in new}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["first.json", "second.json"]


def test_equal_captions_are_counted(tmp_path):
    entries = [{**RELATION[0], "false_caption": RELATION[0]["true_caption"]}, *RELATION]
    probes = aro.read(saved(tmp_path / "x.json", entries), "relation")
    assert probes.attrs["counts"] == {"items": 3, "equal captions": 1}


ARO_REFUSED = {
    "a field missing": ({"true_caption": ...}, "no field 'true_caption'"),
    "no relation": ({"relation_name": ...}, "no field 'relation_name'"),
    "an empty caption": ({"false_caption": " "}, "false_caption is ' ', not a text"),
    "a caption that is a number": ({"true_caption": 4}, "true_caption is 4, not a text"),
    "an empty box": ({"bbox_w": 0}, "its box is 0 by 10 pixels"),
    "a box of negative height": ({"bbox_h": -1}, "its box is 20 by -1 pixels"),
    "half a pixel": ({"bbox_x": 2.5}, "bbox_x is 2.5, not a whole number"),
    "a coordinate as text": ({"bbox_y": "5"}, "bbox_y is '5', not a whole number"),
    "a coordinate that is NaN": ({"bbox_y": float("nan")}, "bbox_y is nan, not a whole number"),
    "a path upwards": ({"image_path": "../7.jpg"}, "'../7.jpg' leaves the folder"),
    "an absolute path": ({"image_path": "/7.jpg"}, "'/7.jpg' leaves the folder"),
}


@pytest.mark.parametrize("case", ARO_REFUSED)
def test_aro_refused(tmp_path, case):
    change, message = ARO_REFUSED[case]
    entry = {k: v for k, v in {**RELATION[0], **change}.items() if v is not ...}
    path = saved(tmp_path / "bad.json", [RELATION[1], entry])
    with pytest.raises(DataError, match=f"bad.json, item 1: .*{message}.*23,937 items"):
        aro.read(path, "relation")


@pytest.mark.parametrize("pair", [["red"], "red_old", ["red", None], None])
def test_aro_refuses_attributes_that_are_no_pair(tmp_path, pair):
    path = saved(tmp_path / "bad.json", [{**ATTRIBUTION[0], "attributes": pair}])
    with pytest.raises(DataError, match="bad.json, item 0: attributes is .* not a pair of texts"):
        aro.read(path, "attribution")


JSON_REFUSED = {
    "cut short": ('[{"a": 1}, {"a"', "row 1: not JSON"),
    "another type": ('{"a": 1}', "dict, expected a list"),
    "empty": ("[]", "an empty list, expected a list with entries"),
    "items that are no objects": ("[3]", "item 0: .*expected"),
}


@pytest.mark.parametrize("case", JSON_REFUSED)
def test_json_refused(tmp_path, case):
    content, message = JSON_REFUSED[case]
    (tmp_path / "bad.json").write_text(content)
    with pytest.raises(DataError, match=f"bad.json.*{message}.*vision-language-models-are-bows"):
        aro.read(tmp_path / "bad.json", "relation")


def test_aro_refuses_other_files(tmp_path):
    with pytest.raises(DataError, match="visual_genome_attribution.json: file missing.*28,748"):
        aro.read(tmp_path, "attribution")
    with pytest.raises(DataError, match="kind 'order', expected relation or attribution"):
        aro.read(tmp_path, "order")
    (tmp_path / "x.json").write_bytes(json.dumps(RELATION, ensure_ascii=False).encode("latin-1"))
    with pytest.raises(DataError, match=r"x.json, byte \d+: not UTF-8"):
        aro.read(tmp_path / "x.json", "relation")
    probes = aro.read(saved(tmp_path / "y.json", RELATION), "relation")
    with pytest.raises(DataError, match="item 0: kind 'on', expected two attributes"):
        aro.write(probes, tmp_path / "z.json", "attribution")
    assert not (tmp_path / "z.json").exists()


@pytest.mark.realdata
def test_real_relations(realdata, tmp_path):
    """The first 43 items: ten pictures, twelve relations."""
    probes = aro.read(realdata / "aro/visual_genome_relation_first43.json", "relation")
    assert (len(probes), probes.image.nunique(), probes.kind.nunique()) == (43, 10, 12)
    assert (probes.x1 - probes.x0).min() > 100 and probes.attrs["counts"]["equal captions"] == 0
    aro.write(probes, tmp_path / "again.json", "relation")
    pandas.testing.assert_frame_equal(aro.read(tmp_path / "again.json", "relation"), probes)


# SugarCrepe


def crepe(folder, **files):
    folder.mkdir(exist_ok=True)
    for kind in sugarcrepe.KINDS:
        saved(folder / f"{kind}.json", files.get(kind, CREPE))
    return folder


def test_sugarcrepe_is_read(tmp_path):
    probes = sugarcrepe.read(crepe(tmp_path / "x"), kinds=("swap_obj", "add_att"))
    assert tuple(probes) == aro.COLUMNS
    assert probes.item.tolist() == [10, 2, 10, 2]  # the file's order, and its own numbers
    assert probes.kind.tolist() == ["swap_obj"] * 2 + ["add_att"] * 2
    assert probes.iloc[0].tolist() == ["b.jpg", "A cat.", "A blue cat.", "swap_obj", 0, 0, 0, 0, 10]
    assert probes.attrs["counts"] == {"items": 4, "equal captions": 2}
    assert len(sugarcrepe.read(tmp_path / "x")) == 14


def test_sugarcrepe_written_and_read_is_the_same(tmp_path):
    probes = sugarcrepe.read(crepe(tmp_path / "x"))
    sugarcrepe.write(probes, tmp_path / "y")
    pandas.testing.assert_frame_equal(sugarcrepe.read(tmp_path / "y"), probes)
    assert json.loads((tmp_path / "y/add_obj.json").read_text()) == CREPE


CREPE_REFUSED = {
    "a field missing": ({"1": {"filename": "a.jpg", "caption": "A"}}, "'1': no field 'negative"),
    "a key that is no number": ({"one": CREPE["2"]}, "'one': its key is not a number"),
    "a key with zeros": ({"01": CREPE["2"]}, "'01': its key is not a number"),
    "a negative key": ({"-1": CREPE["2"]}, "'-1': its key is not a number"),
    "an empty caption": ({"1": {**CREPE["2"], "caption": ""}}, "'1': caption is ''"),
    "a path upwards": ({"1": {**CREPE["2"], "filename": "a/../../b"}}, "'1': .*leaves the folder"),
    "an item that is no object": ({"1": "a.jpg"}, "'1': "),
}


@pytest.mark.parametrize("case", CREPE_REFUSED)
def test_sugarcrepe_refused(tmp_path, case):
    entries, message = CREPE_REFUSED[case]
    folder = crepe(tmp_path / "x", swap_att=entries)
    with pytest.raises(DataError, match=f"swap_att.json, item {message}.*7,511 items"):
        sugarcrepe.read(folder)


def test_sugarcrepe_refuses_incomplete_folders_and_doubles(tmp_path):
    folder = crepe(tmp_path / "x")
    (folder / "replace_rel.json").write_text('{"1": {}, "2": {}, "1": {}}')
    with pytest.raises(DataError, match="replace_rel.json: key '1' stands twice"):
        sugarcrepe.read(folder)
    (folder / "replace_rel.json").unlink()
    with pytest.raises(DataError, match="replace_rel.json: file missing.*seven files"):
        sugarcrepe.read(folder)


@pytest.mark.parametrize(
    "change, message",
    [
        ({"kind": "order"}, "kind 'order', expected one of add_att"),
        ({"item": 2}, "expected a number that stands once"),
        ({"item": -1}, "expected a number that stands once"),
        ({"x1": 5}, "has a box, expected whole pictures"),
    ],
)
def test_sugarcrepe_writer_refuses(tmp_path, change, message):
    probes = sugarcrepe.read(crepe(tmp_path / "x"), kinds=("add_att",))
    for column, value in change.items():
        probes.loc[0, column] = value
    with pytest.raises(DataError, match=message):
        sugarcrepe.write(probes, tmp_path / "y")
    assert not (tmp_path / "y").exists()


@pytest.mark.realdata
def test_real_sugarcrepe(realdata, tmp_path):
    probes = sugarcrepe.read(realdata / "sugarcrepe")
    assert probes.groupby("kind").size().to_dict() == sugarcrepe.ITEMS
    assert probes.attrs["counts"] == {"items": 7511, "equal captions": 0}
    assert probes[probes.kind == "swap_obj"].item.max() == 245  # of 245 items from 0: one is gone
    sugarcrepe.write(probes, tmp_path)
    pandas.testing.assert_frame_equal(sugarcrepe.read(tmp_path), probes)


# SVO-Probes


def test_svo_probes_are_read(tmp_path):
    probes = svo.read(table(tmp_path / "svo_probes.csv").parent)
    assert tuple(probes) == svo.COLUMNS
    assert probes.kind.tolist() == ["verb", "subject", "object"]
    assert probes.iloc[1].tolist() == [
        "Yes, women chase dogs.",
        "13.jpg",
        "11.jpg",
        "subject",
        "woman",
        "chase",
        "dog",
        "man",
        "chase",
        "dog",
        1,
    ]
    assert probes.attrs["counts"] == {
        "rows": 3,
        "not one place": 0,
        "picture missing": 0,
        "triplets disagree": 0,
    }


def test_svo_probes_written_and_read_are_the_same(tmp_path):
    probes = svo.read(table(tmp_path / "x.csv"))
    svo.write(probes, tmp_path / "y.csv")
    pandas.testing.assert_frame_equal(svo.read(tmp_path / "y.csv"), probes)
    first = (tmp_path / "y.csv").read_text("utf-8").splitlines()[1]
    assert first == (
        'A man sits on a chair.,"man,sit,chair","man,stand,chair",,,11,12,FALSE,TRUE,FALSE'
    )


def test_pictures_are_found_with_any_suffix_and_rows_without_left_out(tmp_path):
    folder = tmp_path / "images"
    folder.mkdir()
    for name in ("11.jpg", "12.png", "14.webp"):
        (folder / name).touch()
    probes = svo.read(table(tmp_path / "x.csv"), folder)
    assert probes.item.tolist() == [0, 2]
    assert probes.image.tolist() == ["11.jpg", "14.webp"]
    assert probes.negative_image.tolist() == ["12.png", "12.png"]
    assert probes.attrs["counts"]["picture missing"] == 1
    for name in ("11.jpg", "12.png"):
        (folder / name).unlink()
    with pytest.raises(DataError, match="images: pictures of none of the 3 rows.*<image id>.jpg"):
        svo.read(tmp_path / "x.csv", folder)
    with pytest.raises(DataError, match="gone: no such folder"):
        svo.read(tmp_path / "x.csv", tmp_path / "gone")


def test_triplets_that_disagree_are_counted(tmp_path):
    text = PROBES.replace("man,stand,chair", "dog,stand,chair")  # two places
    text = text.replace('"dog,eat,cat"', '"dog,eat,dog"')  # no place
    text = text.replace('"man,chase,dog"', '"woman,bite,dog"')  # one, but another than named
    probes = svo.read(table(tmp_path / "x.csv", text))
    assert len(probes) == 3 and probes.attrs["counts"]["triplets disagree"] == 3


def test_few_rows_that_name_not_one_place_are_left_out_and_counted(tmp_path):
    """Two in 200 are left out, three in 200 are refused by the first one's row."""
    header, row = PROBES.splitlines()[:2]
    for text, expected in (
        (row.replace("False,True", "True,True"), "2 of subj_neg"),
        (row.replace("True", "False"), "0 of subj_neg"),
    ):
        rows = [row] * 200
        rows[5] = rows[70] = text
        probes = svo.read(table(tmp_path / "x.csv", "\n".join([header, *rows, ""])))
        assert len(probes) == 198 and probes.attrs["counts"]["not one place"] == 2
        assert 5 not in set(probes.item) and 6 in set(probes.item)
        rows[71] = text
        table(tmp_path / "x.csv", "\n".join([header, *rows, ""]))
        with pytest.raises(DataError, match=f"x.csv, row 7: {expected}.*3 of 200 rows are so"):
            svo.read(tmp_path / "x.csv")


SVO_REFUSED = {
    "a column missing": ("verb_neg", "verb", "row 1: no column verb_neg"),
    "a row too short": (",TRUE,FALSE,FALSE", ",TRUE,FALSE", "row 3: 9 columns, expected 10"),
    "a row too long": (",TRUE,FALSE,FALSE", ",TRUE,FALSE,FALSE,x", "row 3: 11 columns"),
    "two places": ("TRUE,FALSE,FALSE", "TRUE,TRUE,FALSE", "row 3: 2 of subj_neg, verb_neg, obj"),
    "no place": ("TRUE,FALSE,FALSE", "FALSE,FALSE,FALSE", "row 3: 0 of subj_neg"),
    "a value that is neither": ("TRUE,FALSE,FALSE", "yes,FALSE,FALSE", "row 3: subj_neg is 'yes'"),
    "a triplet of two": ("woman,chase,dog", "woman,dog", "row 3: pos_triplet is 'woman,dog'"),
    "an empty part": ('man,chase,dog",,', 'man,,dog",,', "row 3: neg_triplet is 'man,,dog'"),
    "an empty sentence": ('"Yes, women chase dogs."', "", "row 3: sentence is ''"),
    "no image": (",13,", ",,", "row 3: pos_image_id is ''"),
    "an image elsewhere": (",13,", ",../13,", "row 3: pos_image_id '../13' leaves the folder"),
    "an open quote": ('dogs."', "dogs.", "row .: no CSV"),
    "a header only": (PROBES.partition("\n")[2], "", "no rows below the header"),
}


@pytest.mark.parametrize("case", SVO_REFUSED)
def test_svo_refused(tmp_path, case):
    old, new, message = SVO_REFUSED[case]
    assert old in PROBES
    with pytest.raises(DataError, match=f"x.csv.*{message}.*36,841 rows"):
        svo.read(table(tmp_path / "x.csv", PROBES.replace(old, new, 1)))


def test_svo_refuses_other_files(tmp_path):
    with pytest.raises(DataError, match="svo_probes.csv: file missing"):
        svo.read(tmp_path)
    (tmp_path / "x.csv").write_bytes(PROBES.replace("Yes", "Ré").encode("latin-1"))
    with pytest.raises(DataError, match=r"x.csv, byte \d+: not UTF-8"):
        svo.read(tmp_path / "x.csv")
    (tmp_path / "x.csv").write_text("")
    with pytest.raises(DataError, match="x.csv, row 1: no column sentence, pos_triplet"):
        svo.read(tmp_path / "x.csv")
    probes = svo.read(table(tmp_path / "x.csv"))
    for column, value in (("kind", "colour"), ("negative_verb", "sit, lie")):
        with pytest.raises(DataError, match="y.csv, row 2: kind"):
            svo.write(probes.assign(**{column: value}), tmp_path / "y.csv")


def test_as_modified_by_hand(tmp_path):
    """The word that differs changes, in the form it has; each picture gets its own sentence."""
    found = svo.as_modified(svo.read(table(tmp_path / "x.csv")))
    assert tuple(found) == aro.COLUMNS
    assert found[["image", "caption", "negative", "kind", "item"]].to_numpy().tolist() == [
        ["11.jpg", "A man sits on a chair.", "A man stands on a chair.", "verb", 0],
        ["12.jpg", "A man stands on a chair.", "A man sits on a chair.", "verb", 0],
        ["13.jpg", "Yes, women chase dogs.", "Yes, men chase dogs.", "subject", 1],
        ["11.jpg", "Yes, men chase dogs.", "Yes, women chase dogs.", "subject", 1],
        ["14.jpg", "A dog eats near a dog.", "A dog eats near a cat.", "object", 2],
        ["12.jpg", "A dog eats near a cat.", "A dog eats near a dog.", "object", 2],
    ]
    assert found.attrs["counts"] == {"probes": 3, "word not in the sentence": 0}


@pytest.mark.parametrize(
    "sentence, old, new, changed",
    [
        ("Dogs run.", "dog", "fox", "Foxes run."),
        ("A boy is sitting.", "sit", "lie", "A boy is lying."),
        ("A bee sees it.", "see", "smile", "A bee smiles it."),
        ("Two boys seeing it.", "see", "smile", "Two boys smiling it."),
        ("A boy is riding.", "ride", "run", "A boy is running."),
        ("A boy carries it.", "carry", "watch", "A boy watches it."),
        ("A boy hopped.", "hop", "cry", "A boy cried."),
        ("Bears bear.", "bear", "wolf", "Wolfs bear."),
        ("A category.", "cat", "dog", None),
        ("She sat.", "sit", "run", None),
        ("He ate (c++).", "c++", "d", None),
    ],
)
def test_a_word_is_replaced_in_its_form(sentence, old, new, changed):
    assert svo._replace(sentence, old, new, last=False) == changed


def test_probes_without_their_word_are_counted(tmp_path):
    probes = svo.read(table(tmp_path / "x.csv", PROBES.replace("A man sits", "A man sat")))
    found = svo.as_modified(probes)
    assert found.item.tolist() == [1, 1, 2, 2]
    assert found.attrs["counts"] == {"probes": 3, "word not in the sentence": 1}
