"""CoNLL-U: one word a line in ten columns, tab between them, an empty line after each sentence.

Seven of the ten columns are kept; lines of contractions (1-2) and of words that are not there (8.1)
are skipped, as parsers are measured on the words.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from alignbook.datasets.files import octets_of, put, unreadable
from alignbook.errors import DataError

REMEDY = "take the treebank's file again from the release of Universal Dependencies"


class Token(NamedTuple):
    """A word: its number in the sentence from 1, and its head's number, 0 for the root."""

    id: int
    form: str
    lemma: str
    upos: str
    xpos: str
    head: int
    deprel: str


def read(path: Path) -> list[list[Token]]:
    """Sentences of a CoNLL-U file, each a list of tokens.

    Raises
    ------
    DataError
        The file is missing or empty; a line is not UTF-8 or hasn't ten columns, a form, a head;
        words aren't numbered 1, 2, …; a head is out of range; the words of a sentence are not a
        tree with one root; the file ends within a sentence.
    """
    path = Path(path)
    if not path.is_file():
        raise DataError(f"{path}: file missing, expected CoNLL-U; {REMEDY}")
    sentences, tokens, start = [], [], 1
    row = 0
    try:
        lines = octets_of(path).split(b"\n")
    except OSError as error:
        raise unreadable(path, error, REMEDY) from None
    for row, octets in enumerate(lines[:-1], 1):
        try:
            line = octets.decode("utf-8-sig" if row == 1 else "utf-8").removesuffix("\r")
        except UnicodeDecodeError as error:
            raise _wrong(path, row, f"not UTF-8 ({error.reason})", "UTF-8") from None
        if not line:
            if tokens:
                _check(path, start, tokens)
                sentences.append(tokens)
            tokens = []
        elif not line.startswith("#"):
            if not tokens:
                start = row
            token = _token(path, row, line)
            if token and token.id != len(tokens) + 1:
                raise _wrong(path, row, f"word {token.id}", f"word {len(tokens) + 1}")
            if token:
                tokens.append(token)
    if tokens or lines[-1]:
        raise _wrong(
            path,
            row + bool(lines[-1]),
            "the file ends within a sentence",
            "an empty line after the last",
        )
    if not sentences:
        raise _wrong(path, 1, "no sentence", "sentences of CoNLL-U")
    return sentences


def write(sentences: list[list[Token]], path: Path) -> None:
    """Write sentences; the columns that a token doesn't keep are left open ("_").

    Raises
    ------
    DataError
        A sentence that `read` would refuse.
    """
    path, lines = Path(path), []
    for tokens in sentences:
        _check(path, len(lines) + 1, tokens)
        for place, token in enumerate(tokens, 1):
            fields = (token.form, token.lemma, token.upos, token.xpos, token.deprel)
            if token.id != place or any(not f or set(f) & set("\t\r\n") for f in fields):
                raise _wrong(
                    path,
                    len(lines) + 1,
                    f"{token}",
                    f"word {place} with its columns, no tab or line end in them",
                )
            lines.append(
                "\t".join(
                    (
                        str(token.id),
                        token.form,
                        token.lemma,
                        token.upos,
                        token.xpos,
                        "_",
                        str(token.head),
                        token.deprel,
                        "_",
                        "_",
                    )
                )
            )
        lines.append("")
    put(path, "".join(f"{line}\n" for line in lines).encode())


def _token(path: Path, row: int, line: str) -> Token | None:
    columns = line.split("\t")
    if len(columns) != 10 or "" in columns:
        raise _wrong(
            path,
            row,
            f"{len(columns)} columns, {columns.count('')} of them empty",
            "ten, filled (or _), with tabs between them",
        )
    number, form, lemma, upos, xpos, _, head, deprel, _, _ = columns
    parts = number.replace("-", ".").split(".")
    if not all(part.isascii() and part.isdigit() for part in parts) or len(parts) > 2:
        raise _wrong(path, row, f"number {number!r}", "a word's number, 1-2, or 8.1")
    if len(parts) == 2:
        return None
    if not (head.isascii() and head.isdigit()):
        raise _wrong(path, row, f"head {head!r}", "the number of a word, or 0")
    return Token(int(number), form, lemma, upos, xpos, int(head), deprel)


def _check(path: Path, start: int, tokens: list[Token]) -> None:
    """One root, heads in range, no circle; ``start`` is the row the sentence starts in."""
    roots = [token.id for token in tokens if token.head == 0]
    if len(roots) != 1:
        raise _wrong(path, start, f"a sentence with {len(roots)} roots", "one word with head 0")
    reached = set(roots)
    for token in tokens:
        way = []
        while token.id not in reached:
            if token.head > len(tokens) or token.id in way:
                raise _wrong(
                    path,
                    start,
                    f"the sentence's word {token.id} has head {token.head}",
                    "heads within the sentence that lead to the root",
                )
            way.append(token.id)
            token = tokens[token.head - 1]
        reached.update(way)


def _wrong(path: Path, row: int, what: str, expected: str) -> DataError:
    return DataError(f"{path}, row {row}: {what}, expected {expected}; {REMEDY}")
