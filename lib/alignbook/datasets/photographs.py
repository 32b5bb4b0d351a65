"""What the readers of photograph collections share: the record they fill, and its checks."""

from __future__ import annotations

import hashlib
import os
import re
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from stat import S_ISREG

from alignbook.datasets.files import octets_of, special, unreadable
from alignbook.datasets.prepared import CAPTIONS_PER_IMAGE, SPLITS
from alignbook.errors import DataError
from alignbook.store import contents, verbatim

SHOWN = 8  # problems that are named before they are only counted
LONGEST = 2000  # characters of a caption; the longest of Flickr30K has 402
SAME_IN = 1000  # one of so many images of dev or test may be a training image under another name


@dataclass
class Collection:
    """A photograph collection as read: nothing decoded yet.

    ``splits`` are paths below ``images`` for each split, ``places`` the file and row that name
    them; ``captions`` are the raw sentences of each path; ``reader`` says which format was read;
    ``notes`` are facts worth noting; ``problems`` are sentences for a person; ``regions`` is a
    file of region features of one's own, see `alignbook.datasets.regions`.
    """

    name: str
    images: Path
    sources: list[Path]
    splits: dict[str, list[str]]
    places: dict[str, list[str]]
    captions: dict[str, list[str]]
    reader: str = ""
    notes: dict[str, int | str] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    regions: Path | None = None

    def check(self, sizes: dict[str, int], remedy: str) -> None:
        """Note what is wrong across files: sizes, overlaps, paths, captions missing."""
        split_of: dict[str, str] = {}
        place_of: dict[str, str] = {}
        for split in SPLITS:
            found, expected = len(self.splits[split]), sizes.get(split, 0)
            if not found or expected not in (0, found):
                wanted = f"{expected:,}" if expected else "at least one"
                source = self.places[split][-1] if found else self.sources[0]
                self.problems.append(
                    f"{source}: {found:,} images in split {split}, expected {wanted}; {remedy}"
                )
            for path, place in zip(self.splits[split], self.places[split], strict=True):
                if leaves(path):
                    self.problems.append(
                        f"{place}: {path!r} leaves the folder of photographs, "
                        f"expected a path below it; {remedy}"
                    )
                    continue
                if path in split_of:
                    self.problems.append(
                        f"{place}: {path} stands in split {split} and before in {split_of[path]} "
                        f"({place_of[path]}), expected once; {remedy}"
                    )
                    continue
                split_of[path], place_of[path] = split, place
                if len(texts := self.captions.get(path, [])) != CAPTIONS_PER_IMAGE:
                    self.problems.append(
                        f"{place}: {path} has {len(texts)} captions, expected "
                        f"{CAPTIONS_PER_IMAGE}; {remedy}"
                    )
                for problem in filter(None, map(caption_problem, texts)):
                    self.problems.append(f"{place}: a caption of {path} {problem}; {remedy}")

    def check_photographs(self) -> None:
        """Note the photographs that are listed and not there."""
        place_of = {
            path: place
            for split in SPLITS
            for path, place in zip(self.splits[split], self.places[split], strict=True)
            if not leaves(path)
        }
        stats = self._stats(place_of)
        missing = [path for path in place_of if path not in stats]
        for path, (_, _, mode) in stats.items():
            if what := special(mode):
                self.problems.append(
                    f"{place_of[path]}: photograph {self.images / path} is {what}, "
                    "expected a regular file; put the photograph there"
                )
        for path in missing:
            self.problems.append(
                f"{place_of[path]}: photograph {self.images / path} missing ({len(missing):,} of "
                f"{len(place_of):,} are), expected every image listed; unpack the archive of "
                "photographs there"
            )

    def check_apart(self) -> None:
        """Note photographs of dev or test that are, octet by octet, of another split too.

        Official splits may hold a few: those are only counted, in ``notes``.
        """
        place_of = {
            path: place
            for split in SPLITS
            for path, place in zip(self.splits[split], self.places[split], strict=True)
        }
        split_of = {path: split for split in SPLITS for path in self.splits[split]}
        alike: dict[object, list[str]] = {}
        for path, (size, _, _) in self._stats(split_of).items():
            alike.setdefault(size, []).append(path)
        for content in (_ends, _whole):
            across = [some for some in alike.values() if len({split_of[each] for each in some}) > 1]
            alike = {}
            for path in (each for some in across for each in some):
                alike.setdefault(content(self.images / path), []).append(path)
        across = [some for some in alike.values() if len({split_of[each] for each in some}) > 1]
        if len(across) > min(len(self.splits[split]) for split in ("dev", "test")) // SAME_IN:
            one, *_, other = sorted(across[0], key=lambda path: SPLITS.index(split_of[path]))
            self.problems.append(
                f"{place_of[other]}: {other} of split {split_of[other]} is the same picture as {one} "
                f"of split {split_of[one]} ({len(across):,} are in two splits), expected other "
                "pictures to be tested on than those trained on; take one of them out"
            )
        elif across:
            self.notes["pictures in two splits"] = len(across)

    def fingerprint(self, limits: dict[str, int] | None = None) -> str:
        """Hash of what the caption and split files hold, the region features, and every photograph
        with its name; for the first `limits[split]` images of each split, 0 or None meaning all.

        What looks as it did is not read again: see `contents`.
        """
        digest = hashlib.sha256()
        for source in self.sources:
            digest.update(hashlib.sha256(source.read_bytes()).digest())
        listed = [
            path
            for split in SPLITS
            for path in self.splits[split][: (limits or {}).get(split) or None]
        ]
        there = [
            path
            for path, (_, _, mode) in self._stats(listed).items()
            if S_ISREG(mode) and os.access(self.images / path, os.R_OK)
        ]
        found = contents.sha256([self.images / path for path in there])
        hashes = dict(zip(there, found, strict=True))  # whatever decodes the others names them
        for path in listed:
            digest.update(f"{path}\t{hashes.get(path)}\n".encode())
        if self.regions:
            digest.update(contents.together([self.regions]).encode())
        return digest.hexdigest()

    def _stats(self, paths) -> dict[str, tuple[int, int, int]]:
        """Size in bytes, time of change in ns and mode of the photographs that are there."""
        stats = {}
        for path in paths:
            try:
                stat = (self.images / path).stat()
            except (OSError, ValueError):  # ValueError: no name a file could have
                continue
            stats[path] = stat.st_size, stat.st_mtime_ns, stat.st_mode
        return stats


def caption_problem(text: str) -> str:
    """What keeps a sentence from being a caption, "" if nothing does.

    Examples
    --------
    >>> caption_problem("A dog.")
    ''
    >>> caption_problem("两只狗")
    "is '两只狗', expected a word in Latin letters, which is all that the models here read"
    """
    shown = repr(text[:40])
    if half := re.search(r"[\ud800-\udfff]", text):
        return f"holds {half[0]!r}, half a character, expected whole ones"
    if control := re.search(r"[\x00-\x08\x0b-\x1f\x7f]", text):
        return f"holds the control character {control[0]!r}, expected text"
    if len(text) > LONGEST:
        return f"has {len(text):,} characters ({shown} …), expected {LONGEST:,} at most"
    if text and not re.search(r"[a-z0-9]", text, re.IGNORECASE | re.ASCII):
        return (
            f"is {shown}, expected a word in Latin letters, which is all that the models here read"
        )
    return ""


def _ends(photograph: Path) -> bytes:
    """The first and last 4,096 octets."""
    with photograph.open("rb") as file:
        first = file.read(4096)
        file.seek(-min(4096, os.fstat(file.fileno()).st_size), os.SEEK_END)
        return first + file.read()


def _whole(photograph: Path) -> bytes:
    return hashlib.sha256(photograph.read_bytes()).digest()


def shorten(problems: list[str]) -> list[str]:
    """The first few problems, and how many more there are."""
    more = len(problems) - SHOWN
    shown = [verbatim.line(problem) for problem in problems[:SHOWN]]
    return shown + ([f"… and {more:,} more problems"] if more > 0 else [])


def find_folder(folder: Path, names: tuple[str, ...]) -> Path | None:
    """The first of the named folders that is there."""
    return next((folder / name for name in names if (folder / name).is_dir()), None)


def leaves(path: str) -> bool:
    """Whether a path named in a file would lead out of the folder it is meant to be below."""
    parts = path.replace("\\", "/").split("/")
    return not path or PurePosixPath(path).is_absolute() or ".." in parts or ":" in parts[0]


def writable(
    splits: dict[str, list[str]], captions: dict[str, list[str]], forbidden: str = ""
) -> list[tuple[str, str, list[str]]]:
    """Split, name and captions of every image in order, once a reader would take them back.

    Parameters
    ----------
    splits : dict
        Names of each split; all three must hold some.
    captions : dict
        Five sentences for each name.
    forbidden : str
        Characters that a name must not hold in this format.

    Raises
    ------
    DataError
        A name or caption that could not be read back as it is.
    """
    members = [(split, name) for split in SPLITS for name in splits[split]]
    seen: set[str] = set()
    for split, name in members:
        texts = captions.get(name, [])
        if name in seen or leaves(name) or name != name.strip() or set(name) & set(forbidden):
            raise DataError(
                f"{split}: image name {name!r}, expected one that stands once, below "
                f"the folder and without {forbidden!r}: rename it"
            )
        if len(texts) != CAPTIONS_PER_IMAGE:
            raise DataError(
                f"{split}: {name} has {len(texts)} captions, expected "
                f"{CAPTIONS_PER_IMAGE}: give all of them"
            )
        for k, text in enumerate(texts):
            if not text or text != text.strip() or len(text.splitlines()) != 1:
                raise DataError(
                    f"{split}: caption {k} of {name} is {text!r}, expected one line "
                    "without space around it: strip it"
                )
        seen.add(name)
    if empty := [split for split in SPLITS if not splits[split]]:
        raise DataError(f"{empty[0]}: 0 images, expected at least one: give some to every split")
    return [(split, name, captions[name]) for split, name in members]


def read_lines(path: Path, problems: list[str], remedy: str) -> list[str]:
    """Lines of a UTF-8 text file; a line that isn't UTF-8 becomes a problem and reads as empty.

    Split at line feeds only, so that row numbers are those of an editor. A file that can't be read
    is a problem, too, and reads as one empty line.
    """
    lines = []
    try:
        content = octets_of(path)
    except OSError as error:
        problems.append(str(unreadable(path, error, remedy)))
        content = b""
    for row, octets in enumerate(content.removesuffix(b"\n").split(b"\n"), 1):
        try:
            lines.append(octets.decode("utf-8-sig" if row == 1 else "utf-8").removesuffix("\r"))
        except UnicodeDecodeError as error:
            lines.append("")
            problems.append(
                f"{path}, row {row}: not UTF-8 ({error.reason} at byte {error.start + 1}), "
                f"expected UTF-8 text; {remedy}"
            )
    return lines
