"""Visual Genome's four files: both layouts, the world written in them, and what is refused."""

import copy
import json

import pandas
import pytest
from alignbook import world
from alignbook.datasets import visual_genome
from alignbook.errors import DataError

IMAGES = [
    {
        "image_id": 5,
        "width": 80,
        "height": 60,
        "coco_id": 391895,
        "flickr_id": 8505158818,
        "url": "a",
    },
    {"image_id": 3, "width": 50, "height": 40, "coco_id": None, "flickr_id": None, "url": "b"},
    {"image_id": 8, "width": 50, "height": 40, "coco_id": 42, "flickr_id": 77, "url": "c"},
]
CAT = {
    "object_id": 900,
    "names": ["cat", "animal"],
    "synsets": ["cat.n.01"],
    "x": 3,
    "y": 5,
    "w": 20,
    "h": 10,
    "merged_object_ids": [17, 18],
}
MAT = {"object_id": 4, "names": ["mat"], "synsets": [], "x": -1, "y": 0, "w": 8, "h": 9}
OBJECTS = [
    {"image_id": 3, "objects": [MAT]},
    {"image_id": 5, "objects": [{**MAT, "object_id": 6}, CAT]},
    {"image_id": 8, "objects": []},
]
ATTRIBUTES = [
    {
        "image_id": 5,
        "attributes": [
            {**CAT, "object_id": 18, "attributes": ["red", "very old"]},
            {"object_id": 6, "names": ["mat"]},
        ],
    },
    {"image_id": 3, "attributes": [{"object_id": 4, "attributes": ["flat"]}]},
]
RELATIONSHIPS = [
    {
        "image_id": 5,
        "relationships": [
            {
                "predicate": "ON",
                "relationship_id": 1,
                "subject": {"object_id": 900, "name": "cat"},
                "object": {"object_id": 6, "names": ["mat"]},
            },
            {
                "predicate": "under",
                "relationship_id": 2,
                "subject": {"object_id": 6},
                "object": {"object_id": 17},
            },
        ],
    }
]
WHOLE = {
    "image_data": IMAGES,
    "objects": OBJECTS,
    "attributes": ATTRIBUTES,
    "relationships": RELATIONSHIPS,
}


def saved(folder, files=WHOLE):
    for name, value in files.items():
        (folder / f"{name}.json").write_text(json.dumps(value), "utf-8")
    return folder


def rows(frame):
    return [tuple(row) for row in frame.itertuples(index=False)]


def assert_same(found, expected):
    for name, table in found._asdict().items():
        pandas.testing.assert_frame_equal(table, getattr(expected, name), check_dtype=True)


def test_the_four_tables(tmp_path):
    """Objects are numbered within their image; ids of merged objects mean the one that is left."""
    found = visual_genome.read(saved(tmp_path))
    assert found.images.image.tolist() == [5, 3, 8]
    assert found.images.width.tolist() == [80, 50, 50] and found.images.height[0] == 60
    assert found.images.coco.isna().tolist() == [False, True, False]
    assert found.images.flickr[0] == 8505158818
    assert rows(found.objects) == [
        (3, 0, -1, 0, 7, 9, "mat"),
        (5, 0, -1, 0, 7, 9, "mat"),
        (5, 1, 3, 5, 23, 15, "cat"),
    ]
    assert rows(found.attributes) == [(5, 1, "red"), (5, 1, "very old"), (3, 0, "flat")]
    assert rows(found.relations) == [(5, 1, "ON", 0), (5, 0, "under", 1)]


def test_the_layout_of_version_1_0(tmp_path):
    """Ids are called "id", and a name may be a text instead of a list."""

    def older(value):
        if isinstance(value, list):
            return [older(each) for each in value]
        if not isinstance(value, dict):
            return value
        names = {"image_id": "id", "object_id": "id", "relationship_id": "id"}
        value = {names.get(key, key): older(each) for key, each in value.items()}
        if "names" in value:
            value["name"] = value.pop("names")[0]
        return value

    new = visual_genome.read(saved(tmp_path))
    folder = tmp_path / "old"
    folder.mkdir()
    assert_same(visual_genome.read(saved(folder, older(WHOLE))), new)


def test_written_and_read_is_the_same(tmp_path):
    files = {**WHOLE, "objects": [OBJECTS[1], OBJECTS[0], OBJECTS[2]]}  # in the order of images
    first = visual_genome.read(saved(tmp_path, files))
    visual_genome.write(first, tmp_path / "again")
    assert_same(visual_genome.read(tmp_path / "again"), first)
    written = json.loads((tmp_path / "again/relationships.json").read_text("utf-8"))
    one = written[0]["relationships"][0]
    assert (one["subject"]["name"], one["object"]["name"], one["predicate"]) == ("cat", "mat", "ON")
    assert [one["subject"][side] for side in "xywh"] == [3, 5, 20, 10]
    owned = json.loads((tmp_path / "again/attributes.json").read_text("utf-8"))[0]["attributes"]
    assert [each["attributes"] for each in owned] == [["red", "very old"]]  # one entry an object
    ids = [
        o["object_id"]
        for image in json.loads((tmp_path / "again/objects.json").read_text("utf-8"))
        for o in image["objects"]
    ]
    assert len(ids) == len(set(ids)) == 3  # over all images, as published
    assert sorted(path.name for path in (tmp_path / "again").iterdir()) == sorted(
        f"{name}.json" for name in visual_genome.FILES
    )


def test_the_world_written_and_read_is_the_same(tmp_path):
    """Shapes are names; every other column of the objects is an attribute."""
    config = world.Config(seed=2)
    objects, relations = world.gold([world.scene(config, "train", i) for i in range(6)])
    tables = visual_genome.from_world(objects, relations, width=64, height=64)
    visual_genome.write(tables, tmp_path)
    found = visual_genome.read(tmp_path)
    assert_same(found, tables)
    assert found.objects.name.tolist() == objects["shape"].tolist()
    assert rows(found.objects[["x0", "y0", "x1", "y1"]]) == rows(objects[["x0", "y0", "x1", "y1"]])
    columns = [c for c in objects if c not in ("image", "object", "x0", "y0", "x1", "y1", "shape")]
    assert {"colour", "size", "texture"} <= set(columns)
    expected = [
        (row.image, row.object, getattr(row, column))
        for row in objects.itertuples()
        for column in columns
    ]
    assert rows(found.attributes) == expected
    assert rows(found.relations) == rows(relations)


def test_from_world_refuses_objects_out_of_order():
    objects, relations = world.gold([world.scene(world.Config(seed=2), "train", 0)])
    with pytest.raises(DataError, match="objects, row 0: object 1 of image 0, expected 0"):
        visual_genome.from_world(objects.iloc[::-1].query("object < 2"), relations, 64, 64)


def test_overlap_with_other_collections(tmp_path):
    images = visual_genome.read_images(saved(tmp_path))
    assert visual_genome.overlap(images, coco=[391895, 1]) == [5]
    assert visual_genome.overlap(images, flickr={77}) == [8]
    assert visual_genome.overlap(images, coco=range(50), flickr=[8505158818]) == [5, 8]
    assert visual_genome.overlap(images) == []


def changed(files, way, value):
    """The files with one value put in, or taken out (None), at a way of keys."""
    files = copy.deepcopy(files)
    place = files
    for key in way[:-1]:
        place = place[key]
    if value is None:
        del place[way[-1]]
    else:
        place[way[-1]] = value
    return files


OBJECT, A, R = (
    ("objects", 1, "objects", 1),
    ("attributes", 0, "attributes", 0),
    ("relationships", 0, "relationships", 1),
)
REFUSED = {
    "an image without width": (
        ("image_data", 1, "width"),
        None,
        "image_data.json, entry 1: no field 'width'",
    ),
    "an image twice": (("image_data", 1, "image_id"), 5, "image_data.json, entry 1: image 5"),
    "an empty image": (("image_data", 1, "height"), 0, "image_data.json, entry 1: image 3"),
    "a coco id that is a word": (("image_data", 0, "coco_id"), "x", "image_data.json, entry 0"),
    "objects of an unknown image": (("objects", 0, "image_id"), 99, "objects.json, entry 0: image"),
    "an image's objects twice": (("objects", 0, "image_id"), 5, "objects.json, entry 1: image 5"),
    "objects that are no list": (("objects", 0, "objects"), 7, "objects.json, entry 0: image 3"),
    "an object without box": (
        (*OBJECT, "w"),
        None,
        "objects.json, image 5, objects 1: no field 'w'",
    ),
    "a box of text": ((*OBJECT, "x"), "3", "objects.json, image 5, objects 1: x is '3'"),
    "an object without name": ((*OBJECT, "names"), [], "objects.json, image 5, objects 1: names"),
    "an object twice": ((*OBJECT, "object_id"), 6, "objects.json, image 5, objects 1: object 6"),
    "an object that is none": (OBJECT, "cat", "objects.json, image 5, objects 1"),
    "an attribute of no object": (
        (*A, "object_id"),
        4,
        "attributes.json, image 5, attributes 0: object 4 is not among",
    ),
    "an empty attribute": ((*A, "attributes"), ["red", ""], "attributes.json, image 5, attr.* 0"),
    "a subject of no object": (
        (*R, "subject"),
        {"object_id": 4},
        "relationships.json, image 5, relationships 1: object 4 is not",
    ),
    "an object of no object": (
        (*R, "object", "object_id"),
        1000,
        "relationships.json, image 5, relationships 1: object 1000 is not",
    ),
    "a relation without subject": (
        (*R, "subject"),
        None,
        "relationships.json, image 5, relationships 1: no field 'subj",
    ),
    "a relation without predicate": (
        (*R, "predicate"),
        " ",
        "relationships.json, image 5, relationships 1: predicate",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused(tmp_path, case):
    way, value, message = REFUSED[case]
    saved(tmp_path, changed(WHOLE, way, value))
    with pytest.raises(DataError, match=f"{message}.*expected.*108,077 images"):
        visual_genome.read(tmp_path)


@pytest.mark.parametrize("name", visual_genome.FILES)
def test_missing_and_broken_files_are_refused(tmp_path, name):
    path = saved(tmp_path) / f"{name}.json"
    path.write_text(path.read_text()[:-9])
    with pytest.raises(DataError, match=f"{name}.json, row 1: not JSON.*Visual Genome's site"):
        visual_genome.read(tmp_path)
    path.unlink()
    with pytest.raises(DataError, match=f"{name}.json: file missing.*Visual Genome's site"):
        visual_genome.read(tmp_path)


def test_writing_refuses_what_has_no_object(tmp_path):
    tables = visual_genome.read(saved(tmp_path))
    wrong = tables.relations.assign(object=[0, 2])
    with pytest.raises(DataError, match="relations, row 1: object 2 of image 5"):
        visual_genome.write(tables._replace(relations=wrong), tmp_path / "x")
    wrong = tables.attributes.assign(image=[5, 5, 8])
    with pytest.raises(DataError, match="attributes, row 2: object 0 of image 8"):
        visual_genome.write(tables._replace(attributes=wrong), tmp_path / "x")
    wrong = tables.objects.assign(image=[3, 5, 4])
    with pytest.raises(DataError, match="objects, row 2: object 1 of image 4"):
        visual_genome.write(tables._replace(objects=wrong), tmp_path / "x")
    assert not (tmp_path / "x").exists()
