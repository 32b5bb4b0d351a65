"""The embedded world: same bytes everywhere, true captions, tight boxes, separate splits."""

import doctest
import hashlib
import itertools
from collections import Counter

import numpy as np
import pytest
from alignbook import world
from alignbook.world import captions as words
from alignbook.world import parses, render, scenes, shapes

CONFIG = world.Config()
CONFIGS = {domain: world.Config(domain=domain) for domain in world.DOMAINS}
PINNED = {
    "A": "2629008f65c2f32bf9bd70e9df7c7a9a93b28366e4c60d3c6bb1afede5e03886",
    "B": "92cfa2fcae7b2cac79333c1edbc912a8aa5f492c06b83a31970aaac357389c03",
    "W": "92649b6d7772e5a0ba32158b80497cedd1dd17dc32c9f749b3aa322ec5f73c02",
}


@pytest.fixture(scope="module", params=world.DOMAINS)
def made(request):
    return [world.scene(CONFIGS[request.param], "train", i) for i in range(600)]


@pytest.fixture(scope="module")
def told(made):
    return [world.write(scene) for scene in made]


def boxes(scene):
    return np.array([(t.x0, t.y0, t.x1, t.y1) for t in scene.things])


def pixels(thing, size):
    """Where a thing shows, on the whole canvas."""
    canvas = np.zeros((size, size), bool)
    seen = shapes.mask(size, *thing.form)[:, :, 0] >= shapes.SEEN
    canvas[thing.y0 : thing.y1, thing.x0 : thing.x1] = seen
    return canvas


@pytest.mark.parametrize("domain", world.DOMAINS)
def test_same_seed_same_bytes_on_every_machine(domain):
    digest = hashlib.sha256()
    for index in range(40):
        scene = world.scene(CONFIGS[domain], "train", index)
        digest.update(world.picture(scene).tobytes())
        digest.update("\n".join(world.sentences(scene)).encode())
    assert digest.hexdigest() == PINNED[domain]


def test_image_does_not_depend_on_how_many_or_in_which_order():
    few = world.Config(train_images=3, test_images=1)
    last = world.scene(few, "train", 2)
    assert last == world.scene(CONFIG, "train", 2)
    first = world.picture(last)
    world.picture(world.scene(CONFIG, "test", 5))
    assert np.array_equal(first, world.picture(last))
    assert world.sentences(last) == world.sentences(last)


def test_seed_split_domain_and_index_each_change_the_scene():
    base = world.scene(CONFIG, "dev", 0)
    others = [
        world.scene(world.Config(seed=1), "dev", 0),
        world.scene(CONFIG, "dev", 1),
        world.scene(CONFIG, "test", 0),
        world.scene(CONFIGS["B"], "dev", 0),
    ]
    assert all(base.things != other.things for other in others)


@pytest.mark.parametrize("canvas", [48, 64, 80, 96])
@pytest.mark.parametrize("shape", world.SHAPES)
def test_boxes_are_tight_on_the_drawn_pixels(shape, canvas):
    for size, turn in itertools.product(world.SIZES, shapes.TURNS):
        width, height = shapes.shape_box(canvas, shape, size, turn)
        for looks, ground in (
            (("red", size, "solid", "matte"), 128),
            (("black", size, "checked", "matte"), 255),
            (("blue", size, "dotted", "metallic"), 1),
            (("white", size, "striped", "glossy"), 7),
        ):
            thing = world.Thing(shape, *looks, 5, 7, 5 + width, 7 + height, turn)
            image = np.full((canvas, canvas, 3), ground, np.int32)
            render.draw(image, thing)
            rows, columns = np.nonzero((image != ground).any(2))
            drawn = columns.min(), rows.min(), columns.max() + 1, rows.max() + 1
            assert drawn == (5, 7, 5 + width, 7 + height)


@pytest.mark.parametrize("domain", world.DOMAINS)
def test_materials_differ_by_more_than_noise_on_everything(domain):
    """For all colours, textures, shapes and sizes: in a tenth of the pixels and in eight."""
    style = scenes.STYLES[domain]  # the noise of two pixels differs by twice its most at most
    both = list(itertools.combinations(range(3), 2))
    for shape, size, turn in itertools.product(world.SHAPES, world.SIZES, style.turns):
        seen = shapes.mask(64, shape, size, turn)[:, :, 0] >= shapes.SEEN
        height, width = seen.shape
        for colour, texture in itertools.product(world.COLOURS, world.TEXTURES):
            drawn = []
            for material in world.MATERIALS:
                image = np.full((64, 64, 3), 150, np.int32)
                render.draw(
                    image,
                    world.Thing(shape, colour, size, texture, material, 0, 0, width, height, turn),
                )
                drawn.append(image[:height, :width][seen])
            for a, b in both:
                clear = (abs(drawn[a] - drawn[b]).max(1) > 2 * style.noise).sum()
                assert clear >= max(8, seen.sum() / 10), (shape, size, turn, colour, texture, a, b)


def test_turned_masks_turn_clockwise_and_keep_their_area():
    """A bar lies flat: turned clockwise, its right end sinks."""
    upright = shapes.mask(96, "bar", "big")[:, :, 0]
    for turn in (-28, -14, 14, 28):
        mask = shapes.mask(96, "bar", "big", turn)[:, :, 0]
        assert abs(mask.sum() / upright.sum() - 1) < 0.03
        y, x = np.indices(mask.shape)
        (xx, xy), (_, yy) = np.cov(np.stack([x.ravel(), y.ravel()]), fweights=mask.ravel())
        assert np.degrees(np.arctan2(2 * xy, xx - yy)) / 2 == pytest.approx(turn, abs=1)
    square = shapes.mask(96, "square", "big", 28).shape[0]
    assert square == pytest.approx(31 * (np.cos(np.radians(28)) + np.sin(np.radians(28))), abs=1.5)


def test_shapes_differ_at_every_size():
    for size in world.SIZES:
        masks = {shapes.mask(64, shape, size).tobytes() for shape in world.SHAPES}
        assert len(masks) == len(world.SHAPES)


def test_colours_stand_out_from_every_background():
    for name in world.BACKGROUNDS:
        ground = render.background(name, 64).mean((0, 1))
        for colour, rgb in render.PALETTE.items():
            assert abs(ground - rgb).max() > 40, (name, colour)


def test_things_lie_inside_and_hide_each_other_only_in_front(made):
    for scene in made:
        assert boxes(scene).min() >= 1 and boxes(scene).max() <= CONFIG.size - 1
        subject, name, other = scene.relation
        shown = [pixels(thing, CONFIG.size) for thing in scene.things]
        for i in range(len(shown)):
            for j in range(i):
                share = (shown[i] & shown[j]).sum() / shown[other].sum()
                if name == "in front of" and {i, j} == {subject, other}:
                    assert 0.12 <= share < 0.46
                else:
                    assert share == 0


def test_front_thing_is_drawn_last(made):
    scene = next(
        s
        for s in made
        if s.relation[1] == "in front of" and s.things[s.relation[0]].material == "matte"
    )
    front, back = (scene.things[scene.relation[k]] for k in (0, 2))
    both = pixels(front, 64) & pixels(back, 64)
    first, second = render.SHADES[front.colour]
    seen = world.picture(scene)[both].astype(int)
    most = scene.style.noise + 2 * scene.style.jitter
    solid = np.minimum(abs(seen - first).max(1), abs(seen - second).max(1)) <= most
    assert solid.mean() > 0.6  # the others are blended borders


def test_drawn_relation_agrees_with_the_boxes(made):
    names = Counter()
    for scene in made:
        subject, name, other = scene.relation
        names[name] += 1
        a, b = scene.things[subject], scene.things[other]
        right, down = b.x0 + b.x1 - a.x0 - a.x1, b.y0 + b.y1 - a.y0 - a.y1
        if name in ("left of", "right of"):
            assert (right > 0) == (name == "left of") and abs(right) >= 2 * abs(down)
        elif name in ("above", "below"):
            assert (down > 0) == (name == "above") and abs(down) >= 2 * abs(right)
        elif name == "on":
            assert (pixels(a, 64)[:-1] & pixels(b, 64)[1:]).any() and down > 0
        elif name in ("chasing", "pulling", "lighting"):
            assert (right < 0) == scene.mirrored and (a.x1 < b.x0 or b.x1 < a.x0)
        assert set(scene.relations[1:]) | {scene.relation} == (
            set(scenes.spatial_relations(scene.things)) | {scene.relation}
        )
    assert set(names) == set(world.RELATIONS) and min(names.values()) > 30


@pytest.mark.parametrize("name", ["chasing", "pulling", "lighting"])
def test_actions_show_and_point_from_subject_to_object(made, name):
    """Without its action a picture differs beside the two things, more at the telling end."""
    scene = next(s for s in made if s.relation[1] == name and not s.mirrored)
    with_action = np.zeros((64, 64, 3), np.int32)
    render._action(with_action, scene)
    columns = np.nonzero(with_action.any((0, 2)))[0]
    a, b = scene.things[scene.relation[0]], scene.things[scene.relation[2]]
    if name == "chasing":
        assert columns.max() < a.x0
    else:
        height = with_action.any(2).sum(0)
        assert height[b.x0 - 2] > height[a.x1 + 1] > 0


def test_domains_differ_as_they_say():
    """B: other backgrounds, skewed shapes, turned things, other words and passives more often.

    W: backgrounds that are new to both, slightly turned things, words and passives between.
    """
    share = {}
    for domain, config in CONFIGS.items():
        some = [world.scene(config, "train", i) for i in range(600)]
        counts = Counter(thing.shape for scene in some for thing in scene.things)
        text = " ".join(text for scene in some for text in world.sentences(scene)).split()
        other = sum(word in MEANING and word not in words.PLURALS.values() for word in text)
        reduced = [
            c
            for scene in some
            for c in world.write(scene)
            if c.kind != "passive" and c.relation and c.relation[0] == 1
        ]
        share[domain] = (
            {scene.background for scene in some},
            sum(counts[s] for s in world.SHAPES[2::4]) / sum(counts[s] for s in world.SHAPES[1::4]),
            {thing.turn for scene in some for thing in scene.things},
            other / len(text),
            len(reduced) / 600,
            set(text),
        )
        assert set(counts) == set(world.SHAPES)
    a, b, w = share["A"], share["B"], share["W"]
    assert len(a[0] | b[0] | w[0]) == len(world.BACKGROUNDS) == 8 + 8 + 8
    assert a[1] < 1.5 and b[1] > 3 and 0.3 < w[1] < 0.8
    assert a[2] == {0} and b[2] >= {-28, 28} and {7, -7, 14, -14} <= w[2] <= set(range(-14, 15))
    assert b[3] > 1.8 * a[3] and b[4] > 4 * a[4] > 0
    assert a[3] < w[3] < b[3] and 2 * a[4] < w[4] < b[4]
    assert len(a[5] ^ b[5]) < 12  # rare words of either: one lexicon
    assert len(w[5] ^ (a[5] | b[5])) < 12


@pytest.mark.parametrize("domain", world.DOMAINS)
def test_squares_are_never_turned_into_diamonds(domain):
    for i in range(300):
        for thing in world.scene(CONFIGS[domain], "dev", i).things:
            assert thing.shape not in ("square", "diamond") or abs(thing.turn) <= 14


def test_signature_ignores_order_and_point_of_view():
    a, b = (world.Thing(s, "red", "big", "solid", "matte") for s in ("star", "ring"))
    sign = scenes.signature
    assert sign((a, b), (0, "left of", 1)) == sign((b, a), (0, "right of", 1))
    assert sign((a, b), (0, "above", 1)) == sign((a, b), (1, "below", 0))
    assert sign((a, b), (0, "on", 1)) != sign((a, b), (1, "on", 0))
    assert sign((a, b), (0, "above", 1)) != sign((a, b), (1, "above", 0))


def test_five_captions_of_known_words(told):
    texts = [caption.text for five in told for caption in five]
    assert all(tuple(caption.kind for caption in five) == world.KINDS for five in told)
    assert all(set(text) <= set("abcdefghijklmnopqrstuvwxyz ") for text in texts)
    assert all(text.split(" ") == text.split() for text in texts)
    assert max(len(text.split()) for text in texts) <= 21
    assert 160 <= len({word for text in texts for word in text.split()}) <= 190
    assert np.mean([caption.relation is not None for five in told for caption in five]) > 0.5


def test_captions_hold_for_their_scene(made, told):
    assert all(world.holds(c, scene) for scene, five in zip(made, told, strict=True) for c in five)


# An independent reading of the words: from text back to attributes and relation.
MEANING = {other: word for word, others in words.SYNONYMS.items() for other in others}
MEANING |= {plural: word for word, plural in words.PLURALS.items()}
ACTIVE = {phrase: name for name, phrases in words.ACTIVE.items() for phrase in phrases}
REDUCED = {
    phrase.removeprefix("is "): name
    for name, phrases in words.PASSIVE.items()
    for phrase in phrases
}
PASSIVE = {phrase: name for name, phrases in words.PASSIVE.items() for phrase in phrases}


def read(phrase, thing):
    """Whether all the attribute words of a phrase are true of a thing; its shape must be said."""
    said = [MEANING.get(word, word) for word in phrase.split()]
    said = [word for word in said if word in words.SYNONYMS]
    return thing.shape in said and set(said) <= set(thing.attributes)


def split_at(text, phrases):
    """The words around the longest relation phrase, and the relation."""
    for phrase in sorted(phrases, key=len, reverse=True):
        left, found, right = f" {text} ".partition(f" {phrase} ")
        if found:
            return left, phrases[phrase], right
    return None


STEMS = {  # typed by hand, so that a swapped phrase shows
    "left of": ("left",),
    "right of": ("right",),
    "above": ("above", "over"),
    "below": ("below", "under", "beneath"),
    "on": ("on top of", "resting on", "sitting on", "topped", "crowned"),
    "chasing": ("chas", "follow", "running after"),
    "pulling": ("pull", "drag", "tow"),
    "lighting": ("light", "lit", "illuminat", "shining"),
    "in front of": ("front", "cover", "hid"),
}


def test_relation_phrases_mean_what_they_say():
    for table in (words.ACTIVE, words.PASSIVE):
        assert set(table) == set(world.RELATIONS)
        for name, phrases in table.items():
            for phrase in phrases:
                meant = [
                    n
                    for n, stems in STEMS.items()
                    if any(f" {stem}" in f" {phrase}" for stem in stems)
                ]
                assert meant == [name] or (phrase, name) == ("on", "on"), phrase


def test_spatial_relations_of_boxes_by_hand():
    def at(x, y):
        return world.Thing("star", "red", "small", "solid", "matte", x, y, x + 10, y + 10)

    here = at(20, 20)
    for there, expected in {
        at(40, 25): {(0, "left of", 1), (1, "right of", 0)},
        at(40, 31): set(),  # as much below as beside
        at(15, 40): {(0, "above", 1), (1, "below", 0)},
        at(29, 20): set(),  # the boxes share a column
        at(0, 20): {(1, "left of", 0), (0, "right of", 1)},
        at(22, 0): {(1, "above", 0), (0, "below", 1)},
    }.items():
        assert set(scenes.spatial_relations((here, there))) == expected


def test_relational_and_synonym_words_are_true(made, told):
    read_relations = 0
    for scene, five in zip(made, told, strict=True):
        for caption in (five[0], five[1], five[4]):
            parts = split_at(caption.text, ACTIVE | REDUCED)
            assert (parts is None) == (caption.relation is None), caption.text
            if parts is None:
                continue
            left, name, right = parts
            right = right.split(" with ")[0].split(" and ")[0]
            if split_at(caption.text, REDUCED) and name in scenes.ACTIONS:
                left, right = right, left
            assert any(
                n == name and read(left, scene.things[a]) and read(right, scene.things[b])
                for a, n, b in scene.relations
            ), caption.text
            read_relations += 1
    assert read_relations > len(made)


def test_passive_words_turn_the_relation_round(made, told):
    for scene, five in zip(made, told, strict=True):
        left, name, right = split_at(five[3].text, PASSIVE)
        subject, drawn, other = scene.relation
        assert name == drawn
        first, second = (other, subject) if name in scenes.ACTIONS else (subject, other)
        assert read(left, scene.things[first]) and read(right, scene.things[second])


def test_plural_words_count_right(made, told):
    numbers = {word: number for number, word in words.NUMBERS.items()}
    counted = 0
    for scene, five in zip(made, told, strict=True):
        said = five[2].text.split()
        position = next(i for i, word in enumerate(said) if word in numbers)
        if {"objects", "things"} & set(said):
            assert numbers[said[position]] == len(scene.things)
            continue
        following = [MEANING.get(word, word) for word in said[position + 1 : position + 3]]
        colour = following[0] if following[0] in world.COLOURS else None
        shape = following[colour is not None]
        twins = [t for t in scene.things if t.shape == shape and colour in (None, t.colour)]
        assert numbers[said[position]] == len(twins) >= 2
        counted += 1
    assert counted > 100


def test_article_fits_the_next_word(told):
    for five in told:
        for caption in five:
            said = caption.text.split()
            for article, word in zip(said, said[1:], strict=False):
                if article in ("a", "an"):
                    assert (article == "an") == (word[0] in "aeiou" or word == "hourglass")


def test_false_captions_do_not_hold():
    a = world.Thing("star", "red", "big", "solid", "matte", 0, 0, 21, 21)
    b = world.Thing("ring", "blue", "small", "striped", "glossy", 30, 4, 42, 16)
    scene = world.Scene(
        (a, b), (0, "left of", 1), ((0, "left of", 1), (1, "right of", 0)), False, "sand", 64, (0,)
    )
    star, ring = words.Mention(0, *a.attributes), words.Mention(1, *b.attributes)
    claim = world.Caption("relational", "", (star, ring), (0, "left of", 1))
    assert world.holds(claim, scene)
    assert not world.holds(world.Caption("", "", (star, ring), (1, "left of", 0)), scene)
    assert not world.holds(world.Caption("", "", (star, star)), scene)
    dull = world.Mention(1, "ring", material="matte")
    assert not world.holds(world.Caption("", "", (dull,)), scene)
    assert not world.holds(world.Caption("", "", (star,), count=3), scene)
    assert not world.holds(world.Caption("", "", (), twins=(2, "star", None)), scene)


@pytest.mark.parametrize("domain", world.DOMAINS)
def test_larger_canvas_and_gold_tables(domain):
    config = world.Config(domain, size=96)
    pool = [world.scene(config, "dev", i) for i in range(20)]
    assert world.picture(pool[0]).shape == (96, 96, 3)
    objects, relations = world.gold(pool)
    assert list(objects) == "image object x0 y0 x1 y1 shape colour size texture material".split()
    assert list(relations) == "image subject relation object".split()
    assert len(objects) == sum(len(scene.things) for scene in pool)
    first = relations.groupby("image").first().reset_index(drop=True)
    assert [tuple(row) for row in first.itertuples(index=False)] == [s.relation for s in pool]


def test_examples_in_the_documentation():
    for module in (world, parses, render):
        assert doctest.testmod(module).failed == 0


@pytest.mark.parametrize("wrong", [{"domain": "Z"}, {"size": 16}, {"seed": -1}, {"dev_images": -1}])
def test_config_refuses_what_it_cannot_do(wrong):
    with pytest.raises(ValueError):
        world.Config(**wrong)
