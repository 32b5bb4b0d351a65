"""Archives are unpacked whole or not at all, and never outside their folder."""

import io
import os
import stat
import tarfile
import zipfile

import pytest
from alignbook.datasets import archives
from alignbook.datasets.archives import unpack
from alignbook.errors import DataError
from alignbook.store import durable

FILES = {"x/a.txt": b"1" * 600, "b.bin": os.urandom(3000), "x/y/c": b""}
MODES = {"plain.tar": "w", "small.tgz": "w:gz", "small.tar.bz2": "w:bz2", "small.tar.xz": "w:xz"}


def tar(path, members, mode="w"):
    """Members are (name, content or link, type)."""
    with tarfile.open(path, mode) as opened:
        for name, content, kind in members:
            info = tarfile.TarInfo(name)
            info.type = kind
            if kind in (tarfile.SYMTYPE, tarfile.LNKTYPE):
                info.linkname, content = content, b""
            info.size = len(content)
            opened.addfile(info, io.BytesIO(content))
    return path


def zipped(path, members):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as opened:
        for name, content in members:
            opened.writestr(name, content)
    return path


def plain(path, mode="w"):
    files = [(name, content, tarfile.REGTYPE) for name, content in FILES.items()]
    return tar(path, [("x/", b"", tarfile.DIRTYPE), *files], mode)


def contents(folder):
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def refuse(archive, message, **options):
    """Unpacking fails with the message and leaves nothing."""
    before = sorted(archive.parent.iterdir())
    with pytest.raises(DataError, match=message):
        unpack(archive, archive.parent / "into", **options)
    assert sorted(archive.parent.iterdir()) == before


@pytest.mark.parametrize("name", MODES)
def test_tar(tmp_path, name):
    assert unpack(plain(tmp_path / name, MODES[name]), tmp_path / "into") == list(FILES)
    assert contents(tmp_path / "into") == FILES


def test_zip(tmp_path):
    archive = zipped(tmp_path / "a.zip", [("x/", b""), *FILES.items()])
    (tmp_path / "far/into").mkdir(parents=True)  # empty: may be replaced
    assert unpack(archive, tmp_path / "far/into") == list(FILES)
    assert contents(tmp_path / "far/into") == FILES
    assert [path.name for path in (tmp_path / "far").iterdir()] == ["into"]


def test_a_tar_that_ends_in_a_zip_is_a_tar(tmp_path):
    inner = zipped(tmp_path / "inner.zip", [("evil", b"1")]).read_bytes()
    archive = tar(tmp_path / "a.tar", [("inner.zip", inner, tarfile.REGTYPE)])
    assert unpack(archive, tmp_path / "into") == ["inner.zip"]


R = tarfile.REGTYPE
ESCAPES = {
    "an absolute path": ("/etc/x", b"", R, "'/etc/x': leaves the folder"),
    "a path upwards": ("a/../../x", b"", R, "leaves the folder"),
    "a path upwards at its end": ("a/..", b"", tarfile.DIRTYPE, "leaves the folder"),
    "a drive": ("C:/x", b"", R, "leaves the folder"),
    "a backslash": ("a\\b", b"", R, "leaves the folder"),
    "a link out": ("l", "/etc", tarfile.SYMTYPE, "is a link"),
    "a link within": ("l", "ok", tarfile.SYMTYPE, "is a link"),
    "a hard link": ("h", "ok", tarfile.LNKTYPE, "is a link"),
    "a device": ("d", b"", tarfile.CHRTYPE, "is a special file"),
    "a pipe": ("p", b"", tarfile.FIFOTYPE, "is a special file"),
    "a name twice": ("./ok", b"2", R, "stands there twice"),
}


@pytest.mark.parametrize("case", ESCAPES)
def test_tar_refused(tmp_path, case):
    name, content, kind, message = ESCAPES[case]
    archive = tar(tmp_path / "bad.tar", [("ok", b"1", R), (name, content, kind)])
    refuse(archive, f"bad.tar, member 2 .*{message}, expected")


@pytest.mark.parametrize("case", [case for case, (_, _, kind, _) in ESCAPES.items() if kind == R])
def test_zip_refused(tmp_path, case):
    name, content, _, message = ESCAPES[case]
    archive = zipped(tmp_path / "bad.zip", [("ok", b"1"), (name, content)])
    refuse(archive, f"bad.zip, member 2 .*{message}, expected")


@pytest.mark.parametrize("mode, kind", [(stat.S_IFLNK, "link"), (stat.S_IFIFO, "special file")])
def test_zip_refuses_links(tmp_path, mode, kind):
    info = zipfile.ZipInfo("l")
    info.external_attr = (mode | 0o777) << 16
    refuse(zipped(tmp_path / "bad.zip", [(info, b"/etc")]), f"member 1 'l': is a {kind}")


def test_a_file_that_is_also_a_folder_is_refused(tmp_path):
    refuse(zipped(tmp_path / "bad.zip", [("a", b"1"), ("a/b", b"2")]), "'a' is a file and the fol")
    refuse(zipped(tmp_path / "bad.zip", [("a/b", b"2"), ("a", b"1")]), "'a' is a file and the fol")


def test_more_bytes_than_stated_are_refused(tmp_path):
    total = sum(map(len, FILES.values()))
    archive = plain(tmp_path / "a.tgz", "w:gz")
    refuse(
        archive,
        f"member 3 .*{total:,} bytes unpacked so far, expected {total - 1:,} at most",
        most=total - 1,
    )
    assert unpack(archive, tmp_path / "into", most=total) == list(FILES)
    bomb = zipped(tmp_path / "bomb.zip", [("zeros", bytes(10**7))])
    assert bomb.stat().st_size < 20_000
    with pytest.raises(DataError, match="10,000,000 bytes unpacked so far"):
        unpack(bomb, tmp_path / "other", most=10**6)


def test_more_members_than_any_data_have_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(archives, "MEMBERS", 2)
    said = "member 3 .*: expected 2 files and folders at most"
    refuse(plain(tmp_path / "a.tar"), said)
    refuse(zipped(tmp_path / "a.zip", FILES.items()), said)
    monkeypatch.setattr(archives, "MEMBERS", 4)  # a folder of the tar among them
    assert unpack(plain(tmp_path / "a.tar"), tmp_path / "into") == list(FILES)


def test_too_little_room_is_refused_before_anything_is_written(tmp_path, monkeypatch):
    monkeypatch.setattr(archives.shutil, "disk_usage", lambda _: type("U", (), {"free": 3599}))
    refuse(plain(tmp_path / "a.tar"), "3,599 bytes free, expected 3,600 for a.tar")


@pytest.mark.parametrize("name", [*MODES, "a.zip"])
def test_archives_cut_short_are_refused(tmp_path, name):
    """At any byte: also between two members, where a plain tar looks like a shorter one."""
    archive = tmp_path / name
    octets = (
        plain(archive, MODES[name]) if name in MODES else zipped(archive, FILES.items())
    ).read_bytes()
    end = len(octets.rstrip(b"\0")) + 512 if name == "plain.tar" else len(octets)
    for size in sorted({*range(0, end, 256), *range(0, end, 307), end - 1}):
        archive.write_bytes(octets[:size])
        if name == "plain.tar" and size >= 512 * 13:  # 12 of members, one of the end mark
            continue
        refuse(archive, f"{name}: (cannot be unpacked|neither zip nor tar)")


@pytest.mark.parametrize("name", [*MODES, "a.zip"])
def test_archives_with_a_changed_byte_are_refused_or_have_other_bytes(tmp_path, name):
    """Compressed ones keep checksums; a plain tar keeps them of its headers only."""
    archive = tmp_path / name
    octets = bytearray(
        (
            plain(archive, MODES[name]) if name in MODES else zipped(archive, FILES.items())
        ).read_bytes()
    )
    place = 512 + 100 if name == "plain.tar" else len(octets) // 2  # the second header's mode
    octets[place] ^= 0xFF
    archive.write_bytes(octets)
    refuse(archive, f"{name}: cannot be unpacked")


def test_other_files_are_refused(tmp_path):
    refuse(tmp_path / "gone.zip", "gone.zip: file missing")
    page = tmp_path / "page.zip"
    page.write_text("<html>Not found</html>" * 99)
    refuse(page, "page.zip: neither zip nor tar .2,178 bytes that begin with b'<htm'")
    page.write_bytes(b"")
    refuse(page, "neither zip nor tar")


def test_what_is_there_is_never_overwritten(tmp_path):
    archive = plain(tmp_path / "a.tar")
    (tmp_path / "into").mkdir()
    (tmp_path / "into/mine").write_text("1")
    refuse(archive, "into: is in the way, expected no such folder or an empty one")
    assert (tmp_path / "into/mine").read_text() == "1"


def test_what_a_killed_unpacking_left_is_swept(tmp_path):
    own = durable.aside(tmp_path / "into")
    left = own.with_name(own.name.replace(str(os.getpid()), "999999999"))
    left.mkdir()
    unpack(plain(tmp_path / "a.tar"), tmp_path / "into")
    assert not left.exists()
