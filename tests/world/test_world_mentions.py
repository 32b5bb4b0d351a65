"""Phrases of the world's captions: true of the objects they speak of, and of all that is said."""

import pytest
from alignbook import world
from alignbook.world import captions as words
from alignbook.world import mentions

MEANING = {other: word for word, others in words.SYNONYMS.items() for other in others}


@pytest.fixture(scope="module", params=world.DOMAINS)
def scenes(request):
    return [world.scene(world.Config(domain=request.param), "train", i) for i in range(300)]


def test_noun_phrases_by_hand():
    def found(text):
        said = text.split()
        return [" ".join(said[a:b]) for a, b in mentions.nouns(said)]

    assert found("a big shiny star with two red rings") == ["big shiny star"]
    assert found("four objects including an amber fish and a fish") == ["amber fish", "fish"]
    assert found("the red donut is placed left of the box") == ["red donut", "box"]


def test_phrases_name_what_their_mentions_say(scenes):
    """All attributes of the mention, in words of their own, and no others."""
    for scene in scenes:
        for caption in world.write(scene):
            rows = mentions.of_caption(caption, scene)
            nouns = [row for row in rows if row[0] == "noun"]
            assert [row[3:] for row in nouns] == [(m.thing, m.thing) for m in caption.mentions]
            for (_, text, bare, _, _), mention in zip(nouns, caption.mentions, strict=True):
                said = [MEANING.get(word, word) for word in text.split()]
                expected = {mention.shape, mention.colour, mention.size} - {None}
                expected |= {mention.texture, mention.material} - {None}
                assert set(said) == expected and MEANING.get(bare, bare) == mention.shape
                assert f" {text} " in f" {caption.text} " and text.split()[-1] == bare


def test_relation_phrases_speak_of_the_pair(scenes):
    seen = 0
    for scene in scenes:
        for caption in world.write(scene):
            found = [r for r in mentions.of_caption(caption, scene) if r[0] == "relation"]
            assert len(found) == (caption.relation is not None)
            for _, text, bare, one, other in found:
                subject, name, object_ = caption.relation
                pair = [caption.mentions[k].thing for k in (subject, object_)]
                assert sorted((one, other)) == sorted(pair) and one != other
                assert (pair[0], name, pair[1]) in scene.relations
                assert text in caption.text and not {"a", "an", "the", "is"} & {*bare.split()}
                ends = [MEANING.get(bare.split()[k], bare.split()[k]) for k in (0, -1)]
                assert ends == [scene.things[k].shape for k in (one, other)]
                seen += 1
    assert seen > 600


def test_a_plural_speaks_of_each_of_its_things(scenes):
    for scene in scenes:
        for caption in world.write(scene):
            rows = [row for row in mentions.of_caption(caption, scene) if row[0] == "plural"]
            assert len(rows) == (caption.twins[0] if caption.twins else 0)
            assert {scene.things[row[3]].shape for row in rows} <= {(caption.twins or "--")[1]}


def test_the_table_counts_images_and_captions(scenes):
    table = world.phrases(scenes)
    assert list(table) == "image caption kind text bare object other".split()
    last = table[table.image == len(scenes) - 1]
    told = world.write(scenes[-1])
    rows = [row for caption in told for row in mentions.of_caption(caption, scenes[-1])]
    assert [tuple(row[2:]) for row in last.itertuples(index=False)] == rows
    assert set(table.kind) == set(mentions.KINDS) and set(table.caption) == set(range(5))
