"""Hard negatives: true captions, false negatives, boxes, and nothing to be had from words alone."""

from collections import Counter

import numpy as np
import pytest
from alignbook import world
from alignbook.world import scenes as drawn
from alignbook.world import shapes

BOX = ["x0", "y0", "x1", "y1"]


@pytest.fixture(scope="module", params=world.DOMAINS)
def pool(request):
    config = world.Config(domain=request.param)
    return [world.scene(config, "test", i) for i in range(700)]


@pytest.fixture(scope="module")
def attributes(pool):
    return world.attribute_swaps(pool)


@pytest.fixture(scope="module")
def relations(pool):
    return world.relation_swaps(pool)


@pytest.fixture(scope="module")
def probes(pool):
    return world.svo(pool)


def things_that(scene, *said, box=None):
    """Numbers of things with all these attribute words, in a box if one is given."""
    return {
        i
        for i, t in enumerate(scene.things)
        if set(said) <= set(t.attributes)
        and (box is None or box[0] <= t.x0 and box[1] <= t.y0 and t.x1 <= box[2] and t.y1 <= box[3])
    }


def both(first, second):
    return any(a != b for a in first for b in second)


def read(text):
    """(attribute, shape), (attribute, shape) of "the red star and the blue ring"."""
    the, one, first, joint, the_too, two, second = text.split()
    assert (the, joint, the_too) == ("the", "and", "the")
    return (one, first), (two, second)


def test_columns(attributes, relations, probes):
    common = ["image", "caption", "negative", "kind", *BOX]
    assert list(attributes) == [
        *common,
        "attribute_1",
        "object_1",
        "attribute_2",
        "object_2",
        "item",
    ]
    assert list(relations) == [*common, "subject", "object", "item"]
    places = ["subject", "verb", "object"]
    assert list(probes[0]) == [
        "caption",
        "image",
        "negative_image",
        "kind",
        *places,
        *(f"negative_{place}" for place in places),
        "item",
    ]
    for table in (attributes, relations, probes[0]):
        assert list(table.item) == list(range(len(table)))
        assert table.image.is_monotonic_increasing


def test_attribute_swaps_are_true_and_false(pool, attributes):
    assert len(attributes) > len(pool)
    for row in attributes.itertuples():
        scene, box = pool[row.image], (row.x0, row.y0, row.x1, row.y1)
        one, two = read(row.caption)
        assert (*one, *two) == (row.attribute_1, row.object_1, row.attribute_2, row.object_2)
        assert read(row.negative) == ((two[0], one[1]), (one[0], two[1]))
        assert both(things_that(scene, *one, box=box), things_that(scene, *two, box=box))
        for where in (None, box):
            swapped = (things_that(scene, *each, box=where) for each in read(row.negative))
            assert not both(*swapped)
        assert row.kind == "_".join(sorted((row.attribute_1, row.attribute_2)))


def test_relation_swaps_are_true_and_false(pool, relations):
    assert len(relations) > 0.95 * len(pool)
    assert set(relations.kind) == set(world.RELATIONS)
    for row in relations.itertuples():
        scene = pool[row.image]
        middle = row.caption.removeprefix(f"the {row.subject} ").removesuffix(f" the {row.object}")
        assert middle.removeprefix("is ") in world.captions.ACTIVE[row.kind]
        assert row.negative == f"the {row.object} {middle} the {row.subject}"
        subjects = things_that(scene, *row.subject.split())
        objects = things_that(scene, *row.object.split())
        true = {(a, b) for a, name, b in scene.relations if name == row.kind}
        assert any(a in subjects and b in objects for a, b in true)
        assert not any(a in objects and b in subjects for a, b in true)


def test_boxes_hold_both_things_and_what_shows_an_action(pool, attributes, relations):
    for table in (attributes, relations):
        boxes = table[BOX].to_numpy()
        assert boxes.min() >= 0 and boxes.max() <= 64 and (boxes[:, 2:] > boxes[:, :2]).all()
    for row in attributes.itertuples():  # no wider than a pair of things
        spans = {
            (min(a.x0, b.x0), min(a.y0, b.y0), max(a.x1, b.x1), max(a.y1, b.y1))
            for a in pool[row.image].things
            for b in pool[row.image].things
        }
        assert (row.x0, row.y0, row.x1, row.y1) in spans
    for row in relations.itertuples():
        scene = pool[row.image]
        for i in (scene.relation[0], scene.relation[2]):
            thing = scene.things[i]
            assert row.x0 <= thing.x0 and row.y0 <= thing.y0
            assert row.x1 >= thing.x1 and row.y1 >= thing.y1
        bare = np.zeros((64, 64, 3), np.int32)
        world.render._action(bare, scene)
        inside = bare[row.y0 : row.y1, row.x0 : row.x1]
        assert inside.any(2).sum() == bare.any(2).sum()


def test_words_alone_do_not_tell_attribute_swaps(pool, attributes):
    """Same words; either order as often; how often shapes have attributes in training is no help.

    The prior knows the attributes and shapes of 4,000 training scenes, which is more than their
    captions say.
    """
    for row in attributes.itertuples():
        assert Counter(row.caption.split()) == Counter(row.negative.split())
    in_order = (attributes.caption < attributes.negative).mean()
    assert abs(in_order - 0.5) < 3 / np.sqrt(4 * len(attributes))

    config = world.Config(domain=pool[0].domain)
    counts = Counter(
        (word, thing.shape)
        for i in range(4000)
        for thing in world.scene(config, "train", i).things
        for word in thing.attributes
    )
    prior = np.array(
        [
            [
                sum(np.log(counts[pair] + 0.5) for pair in read(text))
                for text in (row.caption, row.negative)
            ]
            for row in attributes.itertuples()
        ]
    )
    likelier = prior[:, 0] > prior[:, 1]
    coloured = attributes.attribute_1.isin(world.COLOURS).to_numpy()
    assert coloured.sum() > 60 and (~coloured).sum() > 400
    for part in (coloured, ~coloured):
        assert abs(likelier[part].mean() - 0.5) < 3 / np.sqrt(4 * part.sum())


def test_words_alone_do_not_tell_relation_swaps(pool, relations):
    for row in relations.itertuples():
        assert Counter(row.caption.split()) == Counter(row.negative.split())
    in_order = (relations.subject < relations.object).mean()
    assert abs(in_order - 0.5) < 3 / np.sqrt(4 * len(relations))

    config = world.Config(domain=pool[0].domain)
    counts = Counter()
    for i in range(4000):
        scene = world.scene(config, "train", i)
        subject, name, other = scene.relation
        counts[name, scene.things[subject].shape] += 1
        counts[name, scene.things[other].shape] -= 1
    prior = np.array(
        [
            counts[row.kind, row.subject.split()[1]] - counts[row.kind, row.object.split()[1]]
            for row in relations.itertuples()
        ]
    )
    share = (prior > 0).mean() + (prior == 0).mean() / 2
    assert abs(share - 0.5) < 3 / np.sqrt(4 * len(relations))


def holds(scene, subject, verb, other):
    return any(
        name == verb and a in things_that(scene, *subject) and b in things_that(scene, *other)
        for a, name, b in scene.relations
    )


def test_svo_probes_are_true_and_false(pool, probes):
    table, negatives = probes
    assert len(table) > 0.95 * len(pool) and len(negatives) == len(table)
    assert min(Counter(table.kind).values()) > len(table) / 5
    assert list(table.negative_image) == list(range(len(table)))
    for row in table.itertuples():
        scene, other = pool[row.image], negatives[row.negative_image]
        parts = {"subject": row.subject, "verb": row.verb, "object": row.object}
        now = {
            "subject": row.negative_subject,
            "verb": row.negative_verb,
            "object": row.negative_object,
        }
        assert [place for place in parts if parts[place] != now[place]] == [row.kind]
        left, right = row.caption.split(f" is {row.verb} ")
        first, second = left.split()[1:], right.split()[1:]
        assert (first[1], second[1]) == (row.subject, row.object)
        assert holds(scene, first, row.verb, second)
        assert not holds(other, first, row.verb, second)
        negative = (first[0], row.negative_subject), (second[0], row.negative_object)
        assert holds(other, negative[0], row.negative_verb, negative[1])
        assert not holds(scene, negative[0], row.negative_verb, negative[1])


def test_negative_scenes_differ_in_one_part_and_stay_in_their_split(pool, probes):
    table, negatives = probes
    for row in table.itertuples():
        scene, other = pool[row.image], negatives[row.negative_image]
        assert drawn.side(other.signature) == "test"
        assert (other.background, other.domain) == (scene.background, scene.domain)
        changed = [
            i
            for i, (a, b) in enumerate(zip(scene.things, other.things, strict=True))
            if a.attributes != b.attributes
        ]
        subject, name, target = scene.relation
        expected = {"subject": [subject], "verb": [], "object": [target]}[row.kind]
        assert changed == expected
        for i in changed:
            before, after = scene.things[i], other.things[i]
            assert before.attributes[1:] == after.attributes[1:]
            assert after.turn == drawn.limit(after.shape, before.turn)
        assert (other.relation[0], other.relation[2]) == (subject, target)
        for thing in other.things:  # what was placed anew is as tight, and turned as far as it may
            width, height = shapes.shape_box(64, *thing.form)
            assert (thing.x1 - thing.x0, thing.y1 - thing.y0) == (width, height)
            assert 1 <= thing.x0 and thing.x1 <= 63 and 1 <= thing.y0 and thing.y1 <= 63
    assert len({other.key for other in negatives} | {scene.key for scene in pool}) == (
        len(negatives) + len(pool)
    )
    first, second = (world.picture(scene) for scene in (negatives[0], pool[table.image[0]]))
    assert first.shape == (64, 64, 3)
    assert (first != second).mean() > 0.5  # its noise is its own


def test_negatives_depend_on_nothing_but_their_scene(pool, attributes, relations, probes):
    """Any part of the list, in any order, gives the same rows."""
    part = [pool[7], pool[3]]
    for swaps, table in ((world.attribute_swaps, attributes), (world.relation_swaps, relations)):
        expected = [list(table[table.image == i].caption) for i in (7, 3)]
        found = swaps(part)
        assert [list(found[found.image == i].caption) for i in (0, 1)] == expected
    table, negatives = world.svo(part)
    rows = [probes[0][probes[0].image == i].iloc[0] for i in (7, 3)]
    assert list(table.caption) == [row.caption for row in rows]
    assert negatives == [probes[1][row.negative_image] for row in rows]


def test_sentences_are_of_the_worlds_words_and_can_be_parsed(attributes, relations, probes):
    for table in (attributes, relations):
        for text in (*table.caption, *table.negative):
            assert len(world.parse(text)) == len(text.split()) <= 21
    assert all(world.parse(text) for text in probes[0].caption)


def test_nothing_to_swap():
    for swaps in (world.attribute_swaps, world.relation_swaps):
        assert len(swaps([])) == 0 and "negative" in swaps([])
    assert world.svo([])[1] == []
