"""SVO-Probes: svo_probes.csv, one sentence and two pictures, of which one shows something else.

    sentence,pos_triplet,neg_triplet,pos_url,neg_url,pos_image_id,neg_image_id,subj_neg,verb_neg,…

A triplet is "subject,verb,object". What differs in the negative picture is named by the one true
value of subj_neg, verb_neg and obj_neg. The pictures are fetched by the user, as
<pos_image_id>.jpg and so on in one folder; many of their addresses no longer answer.

Known of the published file, and therefore not refused: the authors' own analysis leaves out rows
where not exactly one of the three values is true, so a few may be there; and that the triplets
differ in just the place named is nowhere promised. Both are counted. Not known: how many there
are; this reader was never tried on the whole file.
"""

from __future__ import annotations

import csv
import io
import os
import re
from pathlib import Path

from alignbook.datasets.aro import COLUMNS as CAPTION_COLUMNS
from alignbook.datasets.files import octets_of, picture, put, text, unreadable
from alignbook.errors import DataError

ROWS = 36841  # in the published file
PLACES = ("subject", "verb", "object")
FLAGS = ("subj_neg", "verb_neg", "obj_neg")
FIELDS = (
    "sentence",
    "pos_triplet",
    "neg_triplet",
    "pos_url",
    "neg_url",
    "pos_image_id",
    "neg_image_id",
    *FLAGS,
)
NEEDED = tuple(field for field in FIELDS if not field.endswith("_url"))
COLUMNS = (
    "caption",
    "image",
    "negative_image",
    "kind",
    *PLACES,
    *(f"negative_{place}" for place in PLACES),
    "item",
)
COUNTS = ("rows", "not one place", "picture missing", "triplets disagree")
FEW = 100  # one row in so many may be left out
REMEDY = (
    f"take svo_probes.csv ({ROWS:,} rows) again from where the repository svo_probes points to; "
    "its pictures are had by the addresses in it, as <image id>.jpg in one folder"
)


def read(path: Path, images: Path | None = None):
    """Read the CSV as image probes.

    Parameters
    ----------
    path : Path
        The file, or the folder that holds svo_probes.csv.
    images : Path, optional
        Folder of the pictures, <image id> with any suffix. Rows of which a picture isn't there
        are left out and counted. Without it, every picture is called <image id>.jpg.

    Returns
    -------
    pandas.DataFrame
        One row a probe: caption, image (file name: what the caption says), negative_image, kind
        ("subject", "verb" or "object": what differs), subject, verb, object (of the caption),
        negative_subject, negative_verb, negative_object, item (int, the row in the file from 0).
        ``attrs["counts"]``: rows, rows left out because not exactly one place is named, or for
        want of a picture, and triplets that don't differ in just the place named.

    Raises
    ------
    DataError
        The file is missing, not UTF-8, without a column, or a row has too few or too many; a row
        lacks its sentence, an image id or a triplet of three, or has a value other than TRUE and
        FALSE; more than 1 row in 100 names not exactly one place; no row has its pictures.
    """
    import pandas

    path = Path(path) / "svo_probes.csv" if Path(path).is_dir() else Path(path)
    files = None if images is None else _files(Path(images))
    rows, odd, missing, disagree = [], [], 0, 0
    records = _records(path)
    for item, (line, record) in enumerate(records):
        place = f"{path}, row {line}"
        try:
            caption, positive, negative, names, kinds = _probe(record, files)
        except ValueError as error:
            raise DataError(f"{place}: {error}; {REMEDY}") from None
        if len(kinds) != 1:
            odd.append(f"{place}: {len(kinds)} of {', '.join(FLAGS)} are TRUE, expected one")
        elif None in names:
            missing += 1
        else:
            differ = [p for p, a, b in zip(PLACES, positive, negative, strict=True) if a != b]
            disagree += differ != kinds
            rows.append((caption, *names, kinds[0], *positive, *negative, item))
    if len(odd) > len(records) / FEW:
        raise DataError(
            f"{odd[0]} ({len(odd):,} of {len(records):,} rows are so, 1 in {FEW} may be); {REMEDY}"
        )
    if not rows:
        raise DataError(
            f"{images}: pictures of none of the {len(records):,} rows in {path}, "
            f"expected <image id>.jpg; {REMEDY}"
        )
    probes = pandas.DataFrame(rows, columns=list(COLUMNS))
    counts = (len(records), len(odd), missing, disagree)
    probes.attrs["counts"] = dict(zip(COUNTS, counts, strict=True))
    return probes


def write(probes, path: Path) -> None:
    """Write image probes as CSV: file names without suffix become ids, addresses stay empty.

    Raises
    ------
    DataError
        A kind is none of the three, or a triplet's part has a comma.
    """
    table = io.StringIO(newline="")
    writer = csv.writer(table, lineterminator="\n")
    writer.writerow(FIELDS)
    for row, probe in enumerate(probes.to_dict("records"), 2):
        triplets = [[probe[sign + place] for place in PLACES] for sign in ("", "negative_")]
        if probe["kind"] not in PLACES or any("," in part for part in sum(triplets, [])):
            raise DataError(
                f"{path}, row {row}: kind {probe['kind']!r}, triplets {triplets}, "
                "expected subject, verb or object, and no comma in a part"
            )
        ids = [Path(probe[name]).with_suffix("").as_posix() for name in ("image", "negative_image")]
        flags = [str(probe["kind"] == place).upper() for place in PLACES]
        writer.writerow([probe["caption"], *map(",".join, triplets), "", "", *ids, *flags])
    put(Path(path), table.getvalue().encode())


def as_modified(probes):
    """Caption probes in the manner of ComAlign's Table II; not SVO-Probes' own protocol.

    ComAlign makes a second caption by putting the negative triplet's words in the place of the
    positive one's, and matches "the images with their corresponding positive or negative
    captions" two by two. It says no more than that; so we take it as follows [A]:

    - only the word that differs is replaced, at its first place in the sentence (an object: at
      its last), in the form it has there: plural or third person, -ing, -ed, four irregular
      plurals. Other irregular forms are not recognised, articles not adapted.
    - each probe yields two items: the positive picture must prefer the sentence, the negative
      picture the changed sentence.

    Not known: how ComAlign replaced inflected words, whether it tested both pictures, which rows
    it could use, and whether its number is a mean over items or kinds.

    Parameters
    ----------
    probes : pandas.DataFrame
        Image probes, as from `read`.

    Returns
    -------
    pandas.DataFrame
        Caption probes (the columns of `aro.read`), two successive rows a probe, of the same kind
        and item; whole pictures. ``attrs["counts"]`` says how many probes were left out because
        the word doesn't stand in the sentence.
    """
    import pandas

    rows, absent = [], 0
    for probe in probes.to_dict("records"):
        kind = probe["kind"]
        changed = _replace(
            probe["caption"], probe[kind], probe[f"negative_{kind}"], last=kind == "object"
        )
        if changed is None:
            absent += 1
            continue
        rest = (kind, 0, 0, 0, 0, probe["item"])
        rows.append((probe["image"], probe["caption"], changed, *rest))
        rows.append((probe["negative_image"], changed, probe["caption"], *rest))
    table = pandas.DataFrame(rows, columns=list(CAPTION_COLUMNS))
    table.attrs["counts"] = {"probes": len(probes), "word not in the sentence": absent}
    return table


def _probe(record: dict, files) -> tuple:
    """Sentence, both triplets, both pictures (None if it is missing), and the places said to differ."""
    caption = text(record, "sentence")
    positive, negative = (_triplet(record, f"{sign}_triplet") for sign in ("pos", "neg"))
    names = [_name(record, f"{sign}_image_id", files) for sign in ("pos", "neg")]
    kinds = [p for p, flag in zip(PLACES, FLAGS, strict=True) if _flag(record, flag)]
    return caption, positive, negative, names, kinds


def _records(path: Path) -> list[tuple[int, dict]]:
    """(row of its end, fields) of each record."""
    try:
        content = octets_of(path).decode("utf-8-sig")
    except FileNotFoundError:
        raise DataError(f"{path}: file missing, expected it there; {REMEDY}") from None
    except OSError as error:
        raise unreadable(path, error, REMEDY) from None
    except UnicodeDecodeError as error:
        raise DataError(
            f"{path}, byte {error.start + 1}: not UTF-8, expected UTF-8; {REMEDY}"
        ) from None
    reader = csv.reader(io.StringIO(content, newline=""), strict=True)
    limit = csv.field_size_limit(2**31 - 1)  # an address may be a whole picture
    try:
        header = next(reader, [])
        if absent := [field for field in NEEDED if field not in header]:
            raise DataError(
                f"{path}, row 1: no column {', '.join(absent)}, expected "
                f"{', '.join(NEEDED)}; {REMEDY}"
            )
        records = []
        for values in reader:
            if len(values) != len(header):
                raise DataError(
                    f"{path}, row {reader.line_num}: {len(values)} columns, expected "
                    f"{len(header)}; {REMEDY}"
                )
            records.append((reader.line_num, dict(zip(header, values, strict=True))))
    except csv.Error as error:
        raise DataError(
            f"{path}, row {reader.line_num}: no CSV ({error}), expected every quote "
            f"closed; {REMEDY}"
        ) from None
    finally:
        csv.field_size_limit(limit)
    if not records:
        raise DataError(f"{path}: no rows below the header, expected probes; {REMEDY}")
    return records


def _files(folder: Path) -> dict[str, str]:
    if not folder.is_dir():
        raise DataError(f"{folder}: no such folder, expected the pictures; {REMEDY}")
    return {Path(name).stem: name for name in sorted(os.listdir(folder))}


def _triplet(record: dict, field: str) -> list[str]:
    parts = [part.strip() for part in record[field].split(",")]
    if len(parts) != 3 or "" in parts:
        raise ValueError(f"{field} is {record[field]!r}, expected subject,verb,object")
    return parts


def _name(record: dict, field: str, files: dict[str, str] | None) -> str | None:
    name = picture(record, field)
    return f"{name}.jpg" if files is None else files.get(name)


def _flag(record: dict, field: str) -> bool:
    value = record[field].strip().upper()
    if value not in ("TRUE", "FALSE"):
        raise ValueError(f"{field} is {record[field]!r}, expected TRUE or FALSE")
    return value == "TRUE"


def _replace(sentence: str, old: str, new: str, last: bool) -> str | None:
    """The sentence with ``new`` for ``old`` in the same form; None where ``old`` isn't in it."""
    forms = dict(zip(reversed(_forms(old)), reversed(_forms(new)), strict=True))
    choice = "|".join(re.escape(form) for form in sorted(forms, key=len, reverse=True))
    found = list(re.finditer(rf"\b(?:{choice})\b", sentence, re.IGNORECASE))
    if not found:
        return None
    match = found[-1 if last else 0]
    word = forms[match[0].lower()]
    word = word[0].upper() + word[1:] if match[0][0].isupper() else word
    return sentence[: match.start()] + word + sentence[match.end() :]


def _forms(word: str) -> tuple[str, str, str, str]:
    """A word as it stands, with -s, -ing and -ed: regular English, for nouns and verbs alike."""
    word = word.lower()
    irregular = {"man": "men", "woman": "women", "child": "children", "person": "people"}
    if re.search(r"[^aeiou]y$", word):
        return word, word[:-1] + "ies", word + "ing", word[:-1] + "ied"
    plural = irregular.get(word, word + ("es" if re.search(r"([sxzo]|ch|sh)$", word) else "s"))
    if word.endswith("ie"):
        return word, plural, word[:-2] + "ying", word + "d"
    if word.endswith("e"):
        stem = word if re.search(r"[eoy]e$", word) else word[:-1]
        return word, plural, stem + "ing", word + "d"
    if re.search(r"^[^aeiou]*[aeiou][^aeiouwxy]$", word):  # one short syllable: sit, run
        return word, plural, word + word[-1] + "ing", word + word[-1] + "ed"
    return word, plural, word + "ing", word + "ed"
