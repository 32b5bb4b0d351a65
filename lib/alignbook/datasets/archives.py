"""Archives unpacked safely: zip and tar (plain, gz, bz2, xz), checked whole before any is written.

An archive is input from outside. Names that are absolute or climb with "..", links, devices, names
that stand twice and more bytes than stated are refused. What is unpacked lies aside until all of
it is there; then one rename puts it into place.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import shutil
import stat
import tarfile
import zipfile
import zlib
from pathlib import Path, PurePosixPath, PureWindowsPath

from alignbook.errors import DataError
from alignbook.store import durable

MOST = 40 * 10**9  # bytes unpacked: COCO's photographs are 20 GB
MEMBERS = 2_000_000  # files and folders: Visual Genome's photographs are 108,000
# What compressed data may come to: this many times its size, and always so many bytes. Text comes
# to ten times its size, photographs to once; what comes to a thousand times was made to.
TIMES, ALWAYS = 200, 64 * 2**20
AT_ONCE = 2**20  # bytes that are read in one go: a header of a tar that wants more is none
PADDING = 16 * 2**20  # bytes that may follow a tar's end marker: its last record, filled up
BROKEN = (
    tarfile.TarError,
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    EOFError,
    OSError,
    NotImplementedError,
    RuntimeError,
    ValueError,
)
OPENERS = {b"\x1f\x8b": gzip.open, b"BZh": bz2.open, b"\xfd7zXZ": lzma.open}


def unpack(archive: Path, folder: Path, most: int = MOST) -> list[str]:
    """Unpack a zip or tar archive into a folder that isn't there yet, or is empty.

    Parameters
    ----------
    archive : Path
        Told by its content, not by its ending.
    folder : Path
        Made by one rename at the end: it holds everything, or isn't touched.
    most : int
        Bytes the files may have together, unpacked.

    Returns
    -------
    list of str
        Files below ``folder``, in the archive's order, with "/" between folders.

    Raises
    ------
    DataError
        The archive is missing, broken, cut short, of another kind or encrypted; a member is
        absolute, contains "..", is a link (of any kind: chains of them are how archives escape),
        a device, or stands twice; the members exceed ``most`` or the free space; the folder has
        something in it. Nothing is left behind.
    """
    archive, folder = Path(archive), Path(folder)
    if not archive.is_file():
        raise DataError(f"{archive}: file missing, expected a zip or tar archive; put it there")
    if folder.exists() and not (folder.is_dir() and not any(folder.iterdir())):
        raise DataError(
            f"{folder}: is in the way, expected no such folder or an empty one; move "
            f"it away before {archive.name} is unpacked there"
        )
    aside = None
    try:
        with _open(archive) as opened:
            names = _check(archive, opened, most, folder)
            folder.parent.mkdir(parents=True, exist_ok=True)
            durable.sweep(folder.parent)
            aside = durable.aside(folder)
            aside.mkdir()
            _extract(opened, aside)
        durable.replace(aside, folder)
    except DataError:
        raise
    except BROKEN as error:
        raise DataError(
            f"{archive}: cannot be unpacked ({error or type(error).__name__}), expected a whole "
            "archive that isn't encrypted; fetch it again and compare its size with its source's"
        ) from error
    finally:
        if aside is not None:
            shutil.rmtree(aside, ignore_errors=True)
    return names


def _open(archive: Path):
    with archive.open("rb") as raw:
        magic = raw.read(6)
    opener = next((OPENERS[known] for known in OPENERS if magic.startswith(known)), None)
    # A tar that holds a zip at its end looks like a zip too: ask for tar first.
    with archive.open("rb") as raw:
        plain = not opener and tarfile.is_tarfile(Bounded(raw, archive))
    if opener or plain:
        return tarfile.open(fileobj=Bounded((opener or open)(archive, "rb"), archive), mode="r:")
    if zipfile.is_zipfile(archive):
        opened = zipfile.ZipFile(archive)
        check_growth(archive, sum(member.file_size for member in opened.infolist()))
        return opened
    raise DataError(
        f"{archive}: neither zip nor tar ({archive.stat().st_size:,} bytes that begin with "
        f"{magic[:4]!r}), expected an archive; fetch it again: a failed download is often a page "
        "of text under the archive's name"
    )


class Bounded(io.RawIOBase):
    """A file, perhaps unpacked on the way, of which no single read and no total is too large."""

    def __init__(self, file, archive: Path):
        self.file, self.archive = file, archive

    def read(self, size: int = -1) -> bytes:
        if not 0 <= size <= AT_ONCE:
            raise tarfile.ReadError(f"a header of {size:,} bytes")
        octets = self.file.read(size)
        check_growth(self.archive, self.file.tell())
        return octets

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        if whence == os.SEEK_SET and offset > self.file.tell():
            check_growth(self.archive, offset)  # a compressed file is unpacked up to there
        return self.file.seek(offset, whence)

    def tell(self) -> int:
        return self.file.tell()

    def close(self) -> None:
        self.file.close()
        super().close()


def check_growth(archive: Path, unpacked: int) -> None:
    """Refuse a compressed file that comes to far more bytes than such files do."""
    if unpacked > max(ALWAYS, TIMES * archive.stat().st_size):
        raise DataError(
            f"{archive}: {archive.stat().st_size:,} bytes that unpack to more than "
            f"{TIMES} times as many, which no data does; don't use this archive"
        )


def _check(archive: Path, opened, most: int, folder: Path) -> list[str]:
    """Names of the files; raises at the first member that must not be unpacked."""
    seen: dict[str, bool] = {}  # path below the folder → is a file
    total = 0
    for row, (name, size, kind) in enumerate(_members(opened), 1):
        place = f"{archive}, member {row} {name!r}"
        windows = PureWindowsPath(name)
        if windows.anchor or ".." in windows.parts or "\\" in name or "\0" in name:
            raise DataError(
                f"{place}: leaves the folder, expected a path below it with / between "
                "folders; don't use this archive"
            )
        if kind not in ("file", "folder"):
            raise DataError(
                f"{place}: is a {kind}, expected files and folders only; pack it again "
                "with what it points to (tar --dereference)"
            )
        path = PurePosixPath(name).as_posix()
        if path in seen and (seen[path] or kind == "file"):
            raise DataError(
                f"{place}: stands there twice, expected each name once; pack it again "
                "from its folder"
            )
        seen[path] = kind == "file"
        if len(seen) > MEMBERS:
            raise DataError(
                f"{place}: expected {MEMBERS:,} files and folders at most; don't use this archive"
            )
        total += size
        if total > most:
            raise DataError(
                f"{place}: {total:,} bytes unpacked so far, expected {most:,} at most; "
                "don't use this archive, or allow more"
            )
    for path in seen:
        for above in PurePosixPath(path).parents:
            if seen.get(above.as_posix()):
                raise DataError(
                    f"{archive}: {above.as_posix()!r} is a file and the folder of "
                    f"{path!r}, expected one of them; pack it again"
                )
    present = next(parent for parent in folder.absolute().parents if parent.exists())
    if total > (free := shutil.disk_usage(present).free):
        raise DataError(
            f"{present}: {free:,} bytes free, expected {total:,} for {archive.name} "
            "unpacked; make room"
        )
    return [path for path, is_file in seen.items() if is_file]


def _members(opened):
    """(name, bytes, "file" | "folder" | "link" | "special file") of each member."""
    if isinstance(opened, zipfile.ZipFile):
        for member in opened.infolist():
            mode = stat.S_IFMT(member.external_attr >> 16)
            kind = "folder" if member.is_dir() else "file"
            if mode == stat.S_IFLNK:
                kind = "link"
            elif mode not in (0, stat.S_IFREG, stat.S_IFDIR):
                kind = "special file"
            yield member.filename, member.file_size, kind
        return
    for member in opened:
        kind = "special file"
        if member.isreg():
            kind = "file"
        elif member.isdir():
            kind = "folder"
        elif member.issym() or member.islnk():
            kind = "link"
        yield member.name, member.size, kind
    # tarfile ends without a word at a header it cannot read, so look at what stopped it.
    opened.fileobj.seek(opened.offset)
    if opened.fileobj.read(tarfile.BLOCKSIZE) != bytes(tarfile.BLOCKSIZE):
        raise tarfile.ReadError(f"no end marker at byte {opened.offset:,}")
    # To the end, where compressed files keep their checksum.
    left = 0
    while left <= PADDING and (octets := opened.fileobj.read(AT_ONCE)):
        left += len(octets)
    if left > PADDING:
        raise tarfile.ReadError(f"more than {PADDING:,} bytes after its end marker")


def _extract(opened, aside: Path) -> None:
    if isinstance(opened, zipfile.ZipFile):
        opened.extractall(aside)  # compares checksums
    elif hasattr(tarfile, "data_filter"):
        opened.extractall(aside, filter="data")
    else:  # Python 3.11.0 to 3.11.3: what the filter refuses, _check has
        opened.extractall(aside)
