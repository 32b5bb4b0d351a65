"""Flickr8k as it was released: a token file and three split lists beside a folder of photographs.

    DIR/Images/ (or Flicker8k_Dataset/, Flickr8k_Dataset/)
    DIR/Flickr8k_text/Flickr8k.token.txt            name.jpg#0 <tab> caption
    DIR/Flickr8k_text/Flickr_8k.{train,dev,test}Images.txt

The released token file holds keys that no split list names (one has no photograph, one is
misspelt ".jpg.1"): they are left out and counted.
"""

from __future__ import annotations

from pathlib import Path

from alignbook.datasets.files import put
from alignbook.datasets.photographs import Collection, find_folder, read_lines, writable
from alignbook.datasets.prepared import CAPTIONS_PER_IMAGE, SPLITS

SIZES = {"train": 6000, "dev": 1000, "test": 1000}
TOKENS = "Flickr8k.token.txt"
REMEDY = (
    "take the released file again: Flickr8k is usually had on request from the University of "
    "Illinois or as a re-upload, as two archives, text (2 MB) and photographs (1 GB)"
)


def text_folder(folder: Path) -> Path | None:
    """Where the token file lies, None if the released text files aren't there."""
    places = (folder / "Flickr8k_text", folder)
    return next((place for place in places if (place / TOKENS).is_file()), None)


def read(folder: Path, sizes: dict[str, int] = SIZES) -> Collection:
    """Read names, splits and raw captions; decode nothing.

    Parameters
    ----------
    folder : Path
        Holds the photographs' folder and Flickr8k_text.
    sizes : dict
        Images each split must hold; nothing is asked of a split that isn't named.

    Returns
    -------
    Collection
        What is wrong stands in its ``problems``.
    """
    text = text_folder(folder) or folder / "Flickr8k_text"
    lists = {split: text / f"Flickr_8k.{split}Images.txt" for split in SPLITS}
    sources = [text / TOKENS, *lists.values()]
    names = ("Images", "Flicker8k_Dataset", "Flickr8k_Dataset")
    images = find_folder(folder, names)
    collection = Collection("flickr8k", images or folder / names[0], sources, {}, {}, {})
    collection.reader = "Flickr8k_text"
    problems = collection.problems
    if images is None:
        problems.append(
            f"{folder}: no folder of photographs, expected {' or '.join(names)}; {REMEDY}"
        )
    problems += [f"{path}: file missing; {REMEDY}" for path in sources if not path.is_file()]
    if problems:
        return collection

    read_lists(lists, collection, REMEDY)
    wanted = {name for listed in collection.splits.values() for name in listed}
    captions, ignored = _captions(text / TOKENS, wanted, problems)
    if not captions and not problems:
        problems.append(
            f"{text / TOKENS}: captions of none of the {len(wanted):,} photographs "
            f"listed, expected five of each; {REMEDY}"
        )
    collection.captions = captions
    collection.notes = {"keys ignored": len(ignored)}
    collection.check(sizes, REMEDY)
    collection.check_photographs()
    return collection


def read_lists(lists: dict[str, Path], collection: Collection, remedy: str) -> None:
    """Fill the splits of a collection from files of one name a line."""
    for split, path in lists.items():
        lines = enumerate(read_lines(path, collection.problems, remedy), 1)
        rows = [(line.strip(), f"{path}, row {row}") for row, line in lines if line.strip()]
        collection.splits[split] = [name for name, _ in rows]
        collection.places[split] = [place for _, place in rows]


def write(folder: Path, splits: dict[str, list[str]], captions: dict[str, list[str]]) -> None:
    """Write the released form's text files, ``folder/Flickr8k_text``; photographs are yours.

    Raises
    ------
    DataError
        A name or caption that could not be read back.
    """
    members = writable(splits, captions, forbidden="\t\n\r")
    for split in SPLITS:
        listed = "".join(f"{name}\n" for name in splits[split])
        put(folder / "Flickr8k_text" / f"Flickr_8k.{split}Images.txt", listed.encode())
    lines = [f"{name}#{k}\t{text}\n" for _, name, texts in members for k, text in enumerate(texts)]
    put(folder / "Flickr8k_text" / TOKENS, "".join(lines).encode())  # last: it is looked for


def _captions(path: Path, wanted: set[str], problems: list[str]):
    """Captions of the wanted photographs in the order of their numbers, and the other keys."""
    numbered: dict[str, dict[int, str]] = {}
    ignored = set()
    for row, line in enumerate(read_lines(path, problems, REMEDY), 1):
        key, tab, caption = line.partition("\t")
        name, mark, number = key.rpartition("#")
        if not (tab and mark and number.isdecimal()):
            if line.strip():
                problems.append(
                    f"{path}, row {row}: {line[:40]!r}, expected name.jpg#number, a tab and a "
                    f"caption; {REMEDY}"
                )
            continue
        if name not in wanted:
            ignored.add(name)
        elif not caption.strip():
            problems.append(
                f"{path}, row {row}: caption of {key} is empty, expected a sentence; {REMEDY}"
            )
        elif int(number) in numbered.setdefault(name, {}):
            problems.append(f"{path}, row {row}: {key} stands twice, expected once; {REMEDY}")
        elif int(number) >= CAPTIONS_PER_IMAGE:
            problems.append(
                f"{path}, row {row}: {key}, expected numbers 0 to "
                f"{CAPTIONS_PER_IMAGE - 1}; {REMEDY}"
            )
        else:
            numbered[name][int(number)] = caption.strip()
    captions = {name: [texts[i] for i in sorted(texts)] for name, texts in numbered.items()}
    return captions, ignored
