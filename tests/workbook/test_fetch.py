"""Fetching: a server on this machine that cuts, stalls, redirects and lies; licences; what stays."""

import hashlib
import io
import json
import os
import subprocess
import sys
import threading
import time
import zipfile
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace

import pytest
from alignbook import ROOT
from alignbook.errors import DataError
from alignbook.workbook import downloads, fetch, needs
from alignbook.workbook.downloads import Source

BODY = bytes(range(256)) * 40  # 10,240 bytes
HASH = hashlib.sha256(BODY).hexdigest()


@dataclass
class Served:
    """What a server has and did: `files` by path, the `asked` ranges, and how it behaves."""

    url: str = ""
    files: dict = field(default_factory=dict)
    asked: list = field(default_factory=list)  # (path, Range header) of each request for a file
    cuts: list = field(default_factory=list)  # bytes after which the next answers end
    leads: dict = field(default_factory=dict)  # path → where it redirects to
    says: dict = field(default_factory=dict)  # path → status
    resumes: bool = True
    ranged: bool = True  # whether it keeps to a range that is asked for
    version: str = '"1"'
    stall: float = 0.0
    stated: str = ""  # the hash that the hub states


def handler(served: Served):
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_):
            pass

        def do_GET(self):
            self.close_connection = True
            if self.path in served.leads:
                self.send_response(302)
                self.send_header("Location", served.leads[self.path])
                self.send_header("Content-Length", "0")
                return self.end_headers()
            body = served.files.get(self.path)
            if self.path in served.says or body is None:
                self.send_response(served.says.get(self.path, 404))
                self.send_header("Content-Length", "0")
                return self.end_headers()
            wanted = self.headers.get("Range")
            served.asked.append((self.path, wanted))
            begin = int(wanted.split("=")[1].rstrip("-")) if wanted and served.ranged else 0
            self.send_response(206 if begin else 200)
            self.send_header("Content-Length", str(len(body) - begin))
            self.send_header("ETag", served.version)
            if served.resumes:
                self.send_header("Accept-Ranges", "bytes")
            self.end_headers()
            rest = body[begin:]
            # The first of each try's two requests looks at the headers alone.
            if len(served.asked) % 2 == 0:
                time.sleep(served.stall)
                rest = rest[: served.cuts.pop(0)] if served.cuts else rest
            try:
                self.wfile.write(rest)
            except OSError:
                pass

    return Handler


@contextmanager
def serving():
    served = Served(files={"/a.bin": BODY})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler(served))
    server.daemon_threads = True
    served.url = f"http://127.0.0.1:{server.server_port}"
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield served
    finally:
        server.shutdown(), server.server_close()


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setattr(downloads, "WAIT", 0.0)
    monkeypatch.setattr(downloads, "PIECE", 100)
    with serving() as served:
        yield served


def source(server, path="/a.bin", **changes) -> Source:
    return Source(**dict(size=len(BODY), url=server.url + path, sha256=HASH) | changes)


def left(folder):
    """All files below a folder."""
    return sorted(str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file())


# --- One file ------------------------------------------------------------------------------------


def test_a_file_gets_its_name_when_it_is_whole(server, tmp_path):
    found = downloads.bring(source(server), tmp_path)
    assert found == {"source": f"{server.url}/a.bin", "bytes": len(BODY), "sha256": HASH}
    assert (tmp_path / "a.bin").read_bytes() == BODY and left(tmp_path) == ["a.bin"]
    assert not (tmp_path / ".fetching").exists()


def test_a_cut_transfer_goes_on_where_it_stopped(server, tmp_path):
    server.cuts = [1000, 500]
    downloads.bring(source(server, name="b.bin"), tmp_path)
    assert [each for _, each in server.asked] == [
        None,
        None,
        None,
        "bytes=1000-",
        None,
        "bytes=1500-",
    ]
    assert (tmp_path / "b.bin").read_bytes() == BODY and left(tmp_path) == ["b.bin"]


def test_after_the_last_try_what_came_is_kept_and_the_next_start_goes_on(server, tmp_path):
    server.cuts = [100] * downloads.TRIES
    with pytest.raises(DataError, match=r"a\.bin: no answer \(.*\); try later, or put a\.bin into"):
        downloads.bring(source(server), tmp_path)
    assert not (tmp_path / "a.bin").exists()
    assert (tmp_path / ".fetching/a.bin.part").stat().st_size == 100 * downloads.TRIES
    downloads.bring(source(server), tmp_path)
    assert server.asked[-1][1] == f"bytes={100 * downloads.TRIES}-"
    assert (tmp_path / "a.bin").read_bytes() == BODY


@pytest.mark.parametrize("change", ["version", "size", "no ranges", "not said"])
def test_another_file_by_now_is_fetched_anew(server, tmp_path, change):
    server.cuts = [100] * downloads.TRIES
    with pytest.raises(DataError):
        downloads.bring(source(server), tmp_path)
    body = BODY
    if change == "version":
        server.version = '"2"'
    elif change == "size":
        body = server.files["/a.bin"] = BODY + b"more"
    elif change == "no ranges":
        server.resumes = False
    else:
        (tmp_path / ".fetching/a.bin.json").write_text("{")
    downloads.bring(source(server, sha256=hashlib.sha256(body).hexdigest()), tmp_path)
    assert server.asked[-1][1] is None and (tmp_path / "a.bin").read_bytes() == body


def test_a_server_without_ranges_is_asked_for_none(server, tmp_path):
    server.cuts, server.resumes = [100], False
    downloads.bring(source(server), tmp_path)
    assert [each for _, each in server.asked] == [None] * 4


def test_a_server_that_sends_all_once_more_is_not_believed(server, tmp_path):
    server.cuts, server.ranged = [100], False
    downloads.bring(source(server), tmp_path)
    assert (tmp_path / "a.bin").read_bytes() == BODY


def test_a_silent_server_is_tried_again(server, tmp_path, monkeypatch):
    monkeypatch.setattr(downloads, "SILENT", 0.2)
    server.stall = 1.0
    with pytest.raises(DataError, match="no answer"):
        downloads.bring(source(server), tmp_path)
    assert len(server.asked) == 2 * downloads.TRIES
    server.stall = 0.0
    downloads.bring(source(server), tmp_path)


@pytest.mark.parametrize(
    "status, asked", [(404, 1), (403, 1), (429, downloads.TRIES), (503, downloads.TRIES)]
)
def test_a_no_is_final_and_a_not_now_is_not(server, tmp_path, status, asked, monkeypatch):
    server.says["/a.bin"], calls = status, []
    real = downloads._resolved
    monkeypatch.setattr(downloads, "_resolved", lambda url: calls.append(url) or real(url))
    with pytest.raises(DataError, match=f"the server says {status}; try later, or put a.bin into"):
        downloads.bring(source(server), tmp_path)
    assert len(calls) == asked and left(tmp_path) == []


@pytest.mark.parametrize("seen", [False, True])
def test_a_wrong_hash_is_refused_and_removed(server, tmp_path, seen):
    wrong = "0" * 64
    given = source(server, sha256="" if seen else wrong)
    whose = "seen before" if seen else "published"
    with pytest.raises(
        DataError, match=f"sha256 {HASH}, expected the {whose} one, {wrong}; it is an"
    ):
        downloads.bring(given, tmp_path, wrong if seen else "")
    assert left(tmp_path) == [] and len(server.asked) == 2  # no second try


def test_a_published_hash_counts_before_one_that_was_seen(server, tmp_path):
    assert downloads.bring(source(server), tmp_path, seen="0" * 64)["sha256"] == HASH
    assert left(tmp_path) == ["a.bin"]


@pytest.mark.parametrize("times, fits", [(0.4, False), (0.6, True), (1.9, True), (2.1, False)])
def test_without_a_hash_the_size_has_to_be_about_right(server, tmp_path, times, fits):
    given = source(server, sha256="", size=len(BODY) / times)
    if fits:
        assert downloads.bring(given, tmp_path)["sha256"] == HASH
        return
    with pytest.raises(DataError, match=r"10,240 bytes, expected about"):
        downloads.bring(given, tmp_path)
    assert left(tmp_path) == []


def test_a_redirect_is_followed_but_not_to_plain_http(server, tmp_path):
    server.leads = {"/old": "/older", "/older": f"{server.url}/a.bin"}
    downloads.bring(source(server, "/old", name="a.bin"), tmp_path)
    assert left(tmp_path) == ["a.bin"]
    for target in ("http://example.org/a.bin", "ftp://127.0.0.1/a.bin", "file:///etc/passwd"):
        server.leads["/old"] = target
        with pytest.raises(
            DataError, match=r"/old: leads to .*, expected https.*nothing was fetched"
        ):
            downloads.bring(source(server, "/old", name="b.bin"), tmp_path)
    server.leads["/old"] = "/old"
    with pytest.raises(DataError, match="leads on and on"):
        downloads.bring(source(server, "/old", name="b.bin"), tmp_path)
    assert left(tmp_path) == ["a.bin"]


def test_https_never_leads_to_this_machine():
    downloads._check_scheme("https://a.org/x", "https://b.org/x")
    with pytest.raises(DataError, match="http://127.0.0.1, expected https"):
        downloads._check_scheme("http://127.0.0.1:9/x", "https://b.org/x")
    with pytest.raises(DataError, match="http://b.org, expected https"):
        downloads._check_scheme("http://b.org/x", "http://b.org/x")


def test_a_disk_without_room_is_known_before(server, tmp_path, monkeypatch):
    monkeypatch.setattr(downloads.shutil, "disk_usage", lambda path: SimpleNamespace(free=10_000))
    with pytest.raises(DataError, match=r"0.0 GB are to come and 0.0 GB are free; make room"):
        downloads.bring(source(server), tmp_path)
    assert server.asked == [("/a.bin", None)]


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no device that is always full")
def test_a_disk_that_fills_up_is_told(server, tmp_path, monkeypatch):
    (tmp_path / ".fetching").mkdir()
    (tmp_path / ".fetching/a.bin.part").symlink_to("/dev/full")
    monkeypatch.setattr(
        downloads, "_resolved", lambda url: (url, {"size": 0, "version": "", "resumes": True})
    )
    (tmp_path / ".fetching/a.bin.json").write_text(json.dumps(downloads._resolved("")[1]))
    with pytest.raises(DataError, match="the disk is full; make room and start again: it goes on"):
        downloads.bring(source(server), tmp_path)


def test_off_a_terminal_a_line_now_and_then(capsys, monkeypatch):
    now = iter([0.0, 1.0, 11.0, 11.0, 12.0])
    monkeypatch.setattr(downloads.time, "monotonic", lambda: next(now))
    bar = downloads._Bar("bert 1/4 model", 2_000_000, 10_000_000)
    bar.update(1_000_000), bar.update(2_000_000), bar.update(1_000_000)
    assert capsys.readouterr().out == "bert 1/4 model: 50% of 10 MB\n"


# --- The model hub -------------------------------------------------------------------------------


def hub_of(served: Served):
    """Enough of the model hub: it states a file's hash and size, and leads to where it is stored."""

    class Hub(BaseHTTPRequestHandler):
        def log_message(self, *_):
            pass

        def do_HEAD(self):
            known = self.path.startswith("/org/model/resolve/main/a.bin")
            self.send_response(302 if known else 404)
            if not known:
                self.send_header("X-Error-Code", "EntryNotFound")
            self.send_header("X-Repo-Commit", "1" * 40)
            self.send_header("X-Linked-ETag", f'"{served.stated}"')
            self.send_header("X-Linked-Size", str(len(BODY)))
            self.send_header("Location", served.leads.get("hub", f"{served.url}/a.bin"))
            self.send_header("Content-Length", "0")
            self.end_headers()

        do_GET = do_HEAD

    return Hub


@pytest.fixture
def hub(server, monkeypatch):
    """A model hub whose files lie on the server."""
    from huggingface_hub import constants

    server.stated = HASH
    hub = ThreadingHTTPServer(("127.0.0.1", 0), hub_of(server))
    hub.daemon_threads = True
    threading.Thread(target=hub.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{hub.server_port}"
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(constants, "ENDPOINT", url)
    monkeypatch.setattr(
        constants, "HUGGINGFACE_CO_URL_TEMPLATE", url + "/{repo_id}/resolve/{revision}/{filename}"
    )
    yield server
    hub.shutdown(), hub.server_close()


OF_HUB = Source(size=len(BODY), hub="org/model", file="a.bin", name="here.bin")


def test_a_file_of_the_hub(hub, tmp_path):
    found = downloads.bring(OF_HUB, tmp_path)
    assert found["source"] == "org/model/a.bin on the model hub" and found["sha256"] == HASH
    assert (tmp_path / "here.bin").read_bytes() == BODY and left(tmp_path) == ["here.bin"]


def test_a_cut_file_of_the_hub_goes_on_where_it_stopped(hub, tmp_path):
    hub.cuts = [1000, 500]
    downloads.bring(OF_HUB, tmp_path)
    assert [each for _, each in hub.asked if each] == ["bytes=1000-", "bytes=1500-"]
    assert (tmp_path / "here.bin").read_bytes() == BODY


def test_the_hash_that_the_hub_states_has_to_be_right(hub, tmp_path):
    hub.files["/a.bin"] = BODY[:-1] + b"x"
    with pytest.raises(DataError, match=f"expected the published one, {HASH}"):
        downloads.bring(OF_HUB, tmp_path)
    assert left(tmp_path) == []
    hub.stated = "0" * 40  # of a small file: git's own name, which says nothing here
    assert downloads.bring(OF_HUB, tmp_path)["sha256"] != HASH


def test_the_hub_does_not_lead_to_plain_http(hub, tmp_path):
    hub.leads["hub"] = "http://example.org/a.bin"
    with pytest.raises(DataError, match="leads to http://example.org, expected https"):
        downloads.bring(OF_HUB, tmp_path)
    assert hub.asked == [] and left(tmp_path) == []


def test_a_file_that_the_hub_has_not(hub, tmp_path):
    with pytest.raises(DataError, match="the server says 404; try later, or put none.bin into"):
        downloads.bring(Source(size=1, hub="org/model", file="none.bin"), tmp_path)


# --- A thing of several files --------------------------------------------------------------------


def zipped(**files) -> bytes:
    octets = io.BytesIO()
    with zipfile.ZipFile(octets, "w") as archive:
        for name, content in files.items():
            archive.writestr(name.replace("__", "/"), content)
    return octets.getvalue()


@pytest.fixture
def things(server, monkeypatch):
    """Two things: a file and an archive of several; one that is had by hand."""
    server.files["/b.zip"] = zipped(pictures__1="one", pictures__2="two", other="no")
    known = {
        "small": needs.Resource(
            "a small thing",
            "weights",
            (needs.File("a.bin", 10),),
            "somewhere",
            "",
            "MIT",
            (Source(size=len(BODY), url=f"{server.url}/a.bin"),),
        ),
        "large": needs.Resource(
            "a large thing",
            "large",
            (needs.File("pictures/", 10), needs.File("split.json", 10)),
            "on request",
            "",
            "CC BY",
            (Source(size=400, url=f"{server.url}/b.zip", unpack=("pictures",)),),
        ),
        "hand": needs.Resource("a secret", "hand", (), "in a drawer"),
    }
    monkeypatch.setattr(needs, "RESOURCES", known)
    return server


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setattr(fetch, "ROOT", tmp_path)
    return tmp_path / "data"


def test_what_can_be_fetched_is_listed(things, home, capsys):
    assert fetch.main([]) == 0
    said = capsys.readouterr().out
    assert "small            10 KB  a small thing; MIT" in said
    assert "large             0 KB  a large thing; CC BY" in said and said.endswith(": hand\n")
    (home / "weights").mkdir(parents=True)
    (home / "weights/a.bin").write_bytes(b"x")
    assert fetch.main([]) == 0 and "small            there" in capsys.readouterr().out
    assert things.asked == []


def test_things_are_fetched_once_and_noted(things, home, capsys):
    assert fetch.main(["small", "large", "--accept"]) == 0
    said = capsys.readouterr().out
    assert "small: a small thing, 10 KB; licence: MIT" in said
    assert f"a.bin: no hash is published; noted sha256 {HASH}" in said
    assert "large: split.json missing; it is had on request" in said
    assert left(home) == ["fetched.json", "large/pictures/1", "large/pictures/2", "weights/a.bin"]
    noted = json.loads((home / "fetched.json").read_text())
    assert noted[f"{things.url}/a.bin"]["sha256"] == HASH and len(noted) == 2
    asked = len(things.asked)
    assert fetch.main(["small", "large"]) == 0 and len(things.asked) == asked  # nobody asks again


def test_what_was_noted_has_to_come_again(things, home, capsys):
    fetch.main(["small", "--accept"])
    (home / "weights/a.bin").unlink()
    things.files["/a.bin"] = BODY[::-1]
    assert fetch.main(["small", "--accept"]) == 1
    assert f"expected the seen before one, {HASH}" in capsys.readouterr().err
    assert not (home / "weights/a.bin").exists()


def test_what_fails_does_not_keep_the_others(things, home, capsys):
    things.says["/b.zip"] = 404
    assert fetch.main(["large", "small", "--accept"]) == 1
    assert "run_all.sh fetch: large: " in capsys.readouterr().err
    assert (home / "weights/a.bin").exists()


@pytest.mark.parametrize("answer, code, there", [("y", 0, True), ("", 2, False), ("no", 2, False)])
def test_a_licence_is_asked_for(things, home, monkeypatch, answer, code, there):
    monkeypatch.setattr(fetch.sys.stdin, "isatty", lambda: True, raising=False)
    monkeypatch.setattr("builtins.input", lambda text: answer)
    assert fetch.main(["small"]) == code and (home / "weights/a.bin").exists() == there
    assert bool(things.asked) == there


def test_nobody_there_accepts_nothing(things, home, capsys):
    assert fetch.main(["small"]) == 2 and things.asked == []
    assert "read them and add --accept" in capsys.readouterr().err


@pytest.mark.parametrize(
    "name, said",
    [
        ("smal", "'smal' is unknown; there are: small, large"),
        ("hand", "it is had in a drawer, and"),
    ],
)
def test_names_that_cannot_be_fetched(things, home, capsys, name, said):
    assert fetch.main([name, "small", "--accept"]) == 2 and said in capsys.readouterr().err
    assert things.asked == []


def test_a_profile_names_all_that_it_uses(things, monkeypatch):
    monkeypatch.setattr(needs, "NOTEBOOKS", {"10": needs.Needs(data="large", others=("hand",))})
    assert fetch.chosen([], "paper") == ["large"]
    assert fetch.chosen(["small", "large"], "paper") == ["small", "large"]


def test_an_archive_that_leads_outside_is_refused(things, home, capsys):
    things.files["/b.zip"] = zipped(pictures__1="one", **{"..__out": "x"})
    assert fetch.main(["large", "--accept"]) == 1
    assert ".." in capsys.readouterr().err
    assert not (home / "out").exists() and not (home / "large/pictures").exists()


def test_an_archive_without_what_is_wanted_is_told(things, home, capsys):
    things.files["/b.zip"] = zipped(images__1="one", images__2="two, of the same size")
    assert fetch.main(["large", "--accept"]) == 1
    assert "holds no pictures" in capsys.readouterr().err


def test_an_archive_that_is_there_is_unpacked_after_a_stop(things, home, monkeypatch):
    real = fetch.archives.unpack

    def stop(*given):
        raise KeyboardInterrupt

    monkeypatch.setattr(fetch.archives, "unpack", stop)
    assert fetch.main(["large", "--accept"]) == 130
    asked = len(things.asked)
    monkeypatch.setattr(fetch.archives, "unpack", real)
    assert fetch.main(["large", "--accept"]) == 0 and len(things.asked) == asked
    assert left(home) == ["fetched.json", "large/pictures/1", "large/pictures/2"]


def test_notes_that_are_none_are_named(things, home, capsys):
    home.mkdir()
    (home / "fetched.json").write_text("[")
    assert fetch.main(["small", "--accept"]) == 1
    assert "fetched.json: no JSON" in capsys.readouterr().err and things.asked == []


def test_a_kill_in_the_middle_loses_nothing(tmp_path):
    """The process ends at once; the next one asks for the rest."""
    code = """
import sys
from pathlib import Path
from alignbook.workbook import downloads
downloads.PIECE = 1000
downloads.bring(downloads.Source(size=10240, url=sys.argv[1]), Path(sys.argv[2]))
"""
    with serving() as served:
        served.files["/a.bin"] = BODY * 2000  # 20 MB
        command = [sys.executable, "-c", code, f"{served.url}/a.bin", str(tmp_path)]
        child = subprocess.Popen(
            command, cwd=ROOT, env=os.environ | {"PYTHONPATH": str(ROOT / "lib")}
        )
        part = tmp_path / ".fetching/a.bin.part"
        end = time.monotonic() + 60
        while not (part.exists() and part.stat().st_size > 10_000) and time.monotonic() < end:
            time.sleep(0.005)
        child.kill()
        child.wait()
        there = part.stat().st_size
        assert 10_000 < there < 20_480_000 and not (tmp_path / "a.bin").exists()
        whole = served.files["/a.bin"]
        given = Source(size=1, url=f"{served.url}/a.bin", sha256=hashlib.sha256(whole).hexdigest())
        downloads.bring(given, tmp_path)
        assert served.asked[-1][1] == f"bytes={there}-"
    assert (tmp_path / "a.bin").read_bytes() == whole


# --- The lists -----------------------------------------------------------------------------------


def test_every_source_brings_what_the_profile_looks_for():
    for name in fetch.fetchable():
        known = needs.RESOURCES[name]
        wanted = [set(file.name.replace("/", "").split("|")) for file in known.files]
        assert known.licence, name
        for each in known.sources:
            assert bool(each.url) != bool(each.hub and each.file), name
            assert each.url.startswith("https://") or each.hub, name
            assert each.size > 0 and len(each.sha256) in (0, 64), name
            for made in each.makes:
                assert any(made in names for names in wanted) or made == "vocab.txt", (name, made)


def test_nothing_is_fetched_by_any_other_command():
    """The module is imported by its command alone."""
    users = [
        path
        for path in (ROOT / "lib").rglob("*.py")
        if any(
            use in path.read_text()
            for use in ("workbook import fetch", '"fetch:main"', "downloads.bring")
        )
    ]
    assert sorted(path.name for path in users) == ["command.py", "fetch.py"]
