"""CoNLL-U: a hand-made file, the treebank where it is, and what is refused."""

import pytest
from alignbook.datasets import conllu
from alignbook.datasets.conllu import Token
from alignbook.errors import DataError

TEXT = """\
# sent_id = 1
# text = Don't chase dogs.
1-2\tDon't\t_\t_\t_\t_\t_\t_\t_\t_
1\tDo\tdo\tAUX\tVB\t_\t3\taux\t3:aux\t_
2\tn't\tnot\tPART\tRB\tPolarity=Neg\t3\tadvmod\t_\t_
3\tchase\tchase\tVERB\tVB\t_\t0\troot\t_\t_
3.1\tbig\tbig\tADJ\tJJ\t_\t_\t_\t4:amod\t_
4\tdogs\tdog\tNOUN\tNNS\tNumber=Plur\t3\tobj\t_\tSpaceAfter=No

# text = Café
1\tCafé\tcafé\tNOUN\tNN\t_\t0\troot\t_\t_

"""
SENTENCES = [
    [
        Token(1, "Do", "do", "AUX", "VB", 3, "aux"),
        Token(2, "n't", "not", "PART", "RB", 3, "advmod"),
        Token(3, "chase", "chase", "VERB", "VB", 0, "root"),
        Token(4, "dogs", "dog", "NOUN", "NNS", 3, "obj"),
    ],
    [Token(1, "Café", "café", "NOUN", "NN", 0, "root")],
]


@pytest.fixture
def path(tmp_path):
    file = tmp_path / "made.conllu"
    file.write_text(TEXT, "utf-8", newline="\n")
    return file


def test_words_are_read_and_ranges_and_empty_words_skipped(path):
    assert conllu.read(path) == SENTENCES


def test_windows_line_ends_and_a_byte_order_mark(path):
    path.write_bytes(b"\xef\xbb\xbf" + TEXT.replace("\n", "\r\n").encode())
    assert conllu.read(path) == SENTENCES


def test_write_then_read_is_the_identity(tmp_path):
    conllu.write(SENTENCES, tmp_path / "x.conllu")
    assert conllu.read(tmp_path / "x.conllu") == SENTENCES
    first = (tmp_path / "x.conllu").read_text("utf-8").split("\n")[0].split("\t")
    assert first == ["1", "Do", "do", "AUX", "VB", "_", "3", "aux", "_", "_"]


REFUSED = {
    "nine columns": ("3:aux\t_", "3:aux", "row 4: 9 columns"),
    "an empty column": ("\tAUX\t", "\t\t", "row 4: 10 columns, 1 of them empty"),
    "spaces for tabs": ("1\tDo\tdo\tAUX", "1 Do do AUX", "row 4: 7 columns"),
    "a number that is none": ("\n2\tn't", "\nII\tn't", "row 5: number 'II'"),
    "a word left out": ("\n2\tn't", "\n4\tn't", "row 5: word 4, expected word 2"),
    "a head that is none": ("VB\t_\t3", "VB\t_\t_", "row 4: head '_'"),
    "a head out of range": ("VB\t_\t3", "VB\t_\t9", "row 4: the sentence's word 1 has head 9"),
    "a circle": ("VB\t_\t3", "VB\t_\t1", "row 4: .*word 1 has head 1, expected heads within"),
    "two roots": ("VB\t_\t3", "VB\t_\t0", "row 4: a sentence with 2 roots"),
    "no root": ("VB\t_\t0", "VB\t_\t2", "row 4: a sentence with 0 roots"),
    "sentences run together": ("=No\n\n", "=No\n", "row 10: word 1, expected word 5"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused(path, case):
    old, new, message = REFUSED[case]
    assert TEXT.count(old) == 1 or case == "an empty column", old
    path.write_text(TEXT.replace(old, new, 1), "utf-8", newline="\n")
    with pytest.raises(DataError, match=f"made.conllu, {message}"):
        conllu.read(path)


def test_a_circle_beside_the_root_is_refused(path):
    """1 → 2 → 1 with a root elsewhere: heads are in range, yet lead nowhere."""
    text = TEXT.replace("VB\t_\t3", "VB\t_\t2").replace("Polarity=Neg\t3", "Polarity=Neg\t1")
    path.write_text(text, "utf-8", newline="\n")
    with pytest.raises(DataError, match="row 4: the sentence's word 1 has head 2"):
        conllu.read(path)


@pytest.mark.parametrize("cut", [1, 2, 12, 60, len(TEXT.encode()) - TEXT.index("1\tCaf") - 3])
def test_a_file_cut_short_is_refused(path, cut):
    path.write_bytes(TEXT.encode()[:-cut])
    with pytest.raises(DataError, match=r"made.conllu, row \d+: the file ends within a sentence"):
        conllu.read(path)


def test_other_files_are_refused(path):
    path.write_bytes(TEXT.encode("latin-1"))
    with pytest.raises(DataError, match="made.conllu, row 10: not UTF-8"):
        conllu.read(path)
    path.write_text("# only a comment\n\n")
    with pytest.raises(DataError, match="no sentence"):
        conllu.read(path)
    path.write_text("")
    with pytest.raises(DataError, match="no sentence"):
        conllu.read(path)
    path.unlink()
    with pytest.raises(DataError, match="file missing.*Universal Dependencies"):
        conllu.read(path)


@pytest.mark.parametrize("wrong", [{"form": "a\tb"}, {"lemma": ""}, {"id": 2}, {"head": 5}])
def test_writing_refuses_what_reading_would(tmp_path, wrong):
    with pytest.raises(DataError, match="x.conllu, row 1"):
        conllu.write([[SENTENCES[1][0]._replace(**wrong)]], tmp_path / "x.conllu")
    assert not list(tmp_path.iterdir())


@pytest.mark.realdata
def test_the_treebank(realdata, tmp_path):
    """Sentences and words of UD English EWT's dev and test; written and read again the same."""
    for split, sentences, words in (("dev", 2001, 25147), ("test", 2077, 25094)):
        found = conllu.read(realdata / f"ud_english_ewt/en_ewt-ud-{split}.conllu")
        assert (len(found), sum(map(len, found))) == (sentences, words)
    conllu.write(found, tmp_path / "again.conllu")
    assert conllu.read(tmp_path / "again.conllu") == found


@pytest.mark.realdata
def test_the_treebank_for_training(realdata):
    found = conllu.read(realdata / "ud_english_ewt/en_ewt-ud-train.conllu")
    assert (len(found), sum(map(len, found))) == (12544, 204577)
