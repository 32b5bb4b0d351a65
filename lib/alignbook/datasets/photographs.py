"""What the readers of photograph collections share: the record they fill, and its checks."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from pathlib import Path

from alignbook.datasets.store import CAPTIONS_PER_IMAGE, SPLITS

SHOWN = 8  # problems that are named before they are only counted


@dataclass
class Collection:
    """A photograph collection as read: nothing decoded yet.

    ``splits`` are paths below ``images`` for each split, ``places`` the file and row that name
    them; ``captions`` are the raw sentences of each path; ``counts`` are facts worth noting;
    ``problems`` are sentences for a person.
    """

    name: str
    images: Path
    sources: list[Path]
    splits: dict[str, list[str]]
    places: dict[str, list[str]]
    captions: dict[str, list[str]]
    counts: dict[str, int] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)

    def check(self, sizes: dict[str, int], remedy: str) -> None:
        """Note what is wrong across files: sizes, overlaps, captions and photographs missing."""
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
        stats = self._stats(split_of)
        missing = [path for path in split_of if path not in stats]
        for path in missing:
            self.problems.append(
                f"{place_of[path]}: photograph {self.images / path} missing ({len(missing):,} of "
                f"{len(split_of):,} are), expected every image listed; unpack the archive of "
                "photographs there"
            )

    def fingerprint(self) -> str:
        """Hash of the caption and split files, and of every photograph's name, size and mtime."""
        digest = hashlib.sha256()
        for source in self.sources:
            digest.update(hashlib.sha256(source.read_bytes()).digest())
        listed = [path for split in SPLITS for path in self.splits[split]]
        stats = self._stats(listed)
        for path in listed:
            digest.update(f"{path}\t{stats[path]}\n".encode())
        return digest.hexdigest()

    def _stats(self, paths) -> dict[str, tuple[int, int]]:
        stats = {}
        for path in paths:
            try:
                stat = (self.images / path).stat()
            except OSError:
                continue
            stats[path] = stat.st_size, stat.st_mtime_ns
        return stats


def shorten(problems: list[str]) -> list[str]:
    """The first few problems, and how many more there are."""
    more = len(problems) - SHOWN
    return problems[:SHOWN] + ([f"… and {more:,} more problems"] if more > 0 else [])


def find_folder(folder: Path, names: tuple[str, ...]) -> Path | None:
    """The first of the named folders that is there."""
    return next((folder / name for name in names if (folder / name).is_dir()), None)


def read_lines(path: Path, problems: list[str], remedy: str) -> list[str]:
    """Lines of a UTF-8 text file; a line that isn't UTF-8 becomes a problem and reads as empty.

    Split at line feeds only, so that row numbers are those of an editor.
    """
    lines = []
    for row, octets in enumerate(path.read_bytes().removesuffix(b"\n").split(b"\n"), 1):
        try:
            lines.append(octets.decode("utf-8-sig" if row == 1 else "utf-8").removesuffix("\r"))
        except UnicodeDecodeError as error:
            lines.append("")
            problems.append(
                f"{path}, row {row}: not UTF-8 ({error.reason} at byte {error.start + 1}), "
                f"expected UTF-8 text; {remedy}"
            )
    return lines
