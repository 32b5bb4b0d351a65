"""One file from elsewhere: fetched on, verified, and only then given its name.

`pooch` moves a file over HTTP; `huggingface_hub` says where one of the model hub lies and, for a
large one, its hash. What they lack stands here: that a cut transfer goes on where it stopped, that
no step leads to plain HTTP, and that nothing bears its name before its size and hash are right.
"""

import errno
import json
import re
import shutil
import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import urljoin, urlsplit

from alignbook.errors import DataError
from alignbook.store import durable, progress

TRIES = 5  # of a file, each from where the last one stopped
WAIT = 1.0  # seconds before the second try, twice that before the third, …
CONNECT, SILENT = 15, 60  # seconds until a server answers, and between two pieces of a file
REDIRECTS = 10
PIECE = 2**20  # bytes between two moves of the bar
LOCAL = ("127.0.0.1", "::1", "localhost")


@dataclass(frozen=True)
class Source:
    """Where a file is had: a `url`, or a `file` of a repository of the model `hub`.

    ``name`` is what it is called here, ``size`` its bytes, about; ``sha256`` 64 hex digits, "" where
    none is known. ``unpack`` names the files and folders of an archive that are wanted.
    """

    size: float
    url: str = ""
    hub: str = ""
    file: str = ""
    name: str = ""
    sha256: str = ""
    unpack: tuple[str, ...] = ()

    @property
    def called(self) -> str:
        return self.name or Path(self.file or urlsplit(self.url).path).name

    @property
    def makes(self) -> tuple[str, ...]:
        """What lies in the folder when all is done."""
        return self.unpack or (self.called,)

    @property
    def place(self) -> str:
        """Where from, for reading."""
        return self.url or f"{self.hub}/{self.file} on the model hub"


class Refused(DataError):
    """What came is not what was asked for: another try would bring the same."""


def bring(source: Source, folder: Path, seen: str = "", label: str = "") -> dict:
    """Bring a file into a folder, under its name.

    Parameters
    ----------
    folder : of the file; what is on its way lies below it in ``.fetching``, until it is whole.
    seen : the hash that it had when it was fetched before; it stands for one that is not published.
    label : what a progress bar says.

    Returns
    -------
    dict: "source", "bytes", "sha256" of what came.

    Raises
    ------
    DataError
        No answer after `TRIES` tries, no room, a wrong size or hash, a way that leads to plain
        HTTP. What came so far is kept, but not what was wrong.
    """
    aside = folder / ".fetching" / f"{source.called}.part"
    aside.parent.mkdir(parents=True, exist_ok=True)
    for turn in range(TRIES):
        try:
            found = _of_hub(source) if source.hub else source
            _over_http(found, aside, label or source.called)
            break
        except DataError:
            raise
        except OSError as error:  # requests' and the hub's own errors are such
            if error.errno == errno.ENOSPC:
                raise DataError(
                    f"{aside}: the disk is full; make room and start again: it goes on from there"
                ) from error
            if turn + 1 == TRIES or _is_final(error):
                raise DataError(
                    f"{source.place}: {_said(error)}; try later, or put {' and '.join(source.makes)} "
                    f"into {folder} by hand"
                ) from error
            time.sleep(WAIT * 2**turn)
    came = _verified(replace(source, sha256=found.sha256), aside, seen)
    durable.replace(aside, folder / source.called)
    _forget(aside)
    return came


def _is_final(error: OSError) -> bool:
    """Whether the server said no: 4xx, but for "too late" and "too many"."""
    status = getattr(getattr(error, "response", None), "status_code", 0)
    return 400 <= status < 500 and status not in (408, 429)


def _said(error: OSError) -> str:
    status = getattr(getattr(error, "response", None), "status_code", 0)
    return f"the server says {status}" if status else f"no answer ({type(error).__name__})"


def _over_http(source: Source, aside: Path, label: str) -> None:
    """Fetch the rest of a file; it begins anew where the server has another one by now."""
    from pooch import HTTPDownloader

    url, state = _resolved(source.url)
    known = aside.with_suffix(".json")
    if aside.exists() and not (state["resumes"] and _read(known) == state):
        aside.unlink()
    durable.write(known, json.dumps(state))
    there = aside.stat().st_size if aside.exists() else 0
    _check_room(aside, (state["size"] or source.size) - there)
    if state["size"] and there == state["size"]:
        return
    headers = {"Accept-Encoding": "identity"}  # what is counted is what lies on the disk
    if there:
        headers["Range"] = f"bytes={there}-"
    bar = _Bar(label, there, state["size"] or int(source.size))
    download = HTTPDownloader(
        progressbar=bar,
        chunk_size=PIECE,
        timeout=(CONNECT, SILENT),
        headers=headers,
        allow_redirects=False,
    )
    with open(aside, "ab") as file:
        download(url, file, None)
    there = aside.stat().st_size
    if state["size"] and there != state["size"]:
        if there > state["size"]:  # it sent all of it once more
            aside.unlink()
        raise ConnectionError(f"{there} of {state['size']} bytes")


def _resolved(url: str) -> tuple[str, dict]:
    """Where a URL leads, and what the server says of the file: size, version, whether it resumes."""
    import requests

    start = url
    for _ in range(REDIRECTS):
        _check_scheme(url, start)
        with requests.get(
            url,
            stream=True,
            allow_redirects=False,
            timeout=(CONNECT, SILENT),
            headers={"Accept-Encoding": "identity"},
        ) as answer:
            if answer.is_redirect:
                url = urljoin(url, answer.headers["location"])
                continue
            answer.raise_for_status()
            told = answer.headers
            return url, {
                "size": int(told.get("content-length", 0)),
                "version": told.get("etag") or told.get("last-modified", ""),
                "resumes": told.get("accept-ranges") == "bytes",
            }
    raise Refused(f"{start}: leads on and on, expected a file after {REDIRECTS} steps at most")


def _check_scheme(url: str, start: str) -> None:
    """Refuse plain HTTP, but from this machine to itself."""
    parts, first = urlsplit(url), urlsplit(start)
    if parts.scheme == "https":
        return
    if parts.scheme == "http" and parts.hostname in LOCAL and first.hostname in LOCAL:
        return
    raise Refused(
        f"{start}: leads to {parts.scheme}://{parts.hostname}, expected https: what comes over a "
        "plain connection may have been altered on its way; nothing was fetched"
    )


def _of_hub(source: Source) -> Source:
    """The same with its address, and with the hash that the hub states of a large file."""
    from httpx import HTTPError
    from huggingface_hub import constants, get_hf_file_metadata, hf_hub_url

    constants.HF_HUB_OFFLINE = False  # otherwise nothing here asks the network
    url = hf_hub_url(source.hub, source.file)
    _check_scheme(url, url)
    try:
        told = get_hf_file_metadata(url, token=False, timeout=CONNECT)
    except HTTPError as error:  # a cut connection is no OSError of httpx's
        if isinstance(error, OSError):
            raise
        raise ConnectionError(str(error)) from error
    stated = re.fullmatch("[0-9a-f]{64}", told.etag or "")  # of a small file: git's own name
    return replace(source, url=url, sha256=source.sha256 or (stated[0] if stated else ""))


def _check_room(aside: Path, octets: float) -> None:
    free = shutil.disk_usage(aside.parent).free
    if octets > free:
        raise DataError(
            f"{aside.parent}: {octets / 1e9:.1f} GB are to come and {free / 1e9:.1f} GB are free; "
            "make room and start again"
        )


def _verified(source: Source, aside: Path, seen: str) -> dict:
    """Size and hash of what came; refused, and removed, where it is not what it should be."""
    from pooch import file_hash

    octets, found = aside.stat().st_size, file_hash(str(aside), alg="sha256")
    wanted, whose = source.sha256 or seen, "published" if source.sha256 else "seen before"
    wrong = ""
    if wanted and found != wanted:
        wrong = f"sha256 {found}, expected the {whose} one, {wanted}"
    elif not wanted and not 0.5 <= octets / source.size <= 2:
        wrong = f"{octets:,} bytes, expected about {int(source.size):,}"
    if wrong:
        aside.unlink()
        _forget(aside)
        raise Refused(
            f"{source.place}: {wrong}; it is another file, or was altered on its way, and was removed"
        )
    return {"source": source.place, "bytes": octets, "sha256": found}


def _forget(aside: Path) -> None:
    """Remove what was known of a file on its way."""
    aside.with_suffix(".json").unlink(missing_ok=True)
    if not any(aside.parent.iterdir()):
        aside.parent.rmdir()


def _read(path: Path) -> dict | None:
    try:
        return json.loads(path.read_text())
    except (OSError, ValueError):
        return None


class _Bar:
    """The progress bar that pooch moves, for a file of which some is there already."""

    def __init__(self, label: str, there: int, total: int):
        self.label, self.there, self.all, self.total = label, there, total, 0
        self.said = time.monotonic()

    def update(self, octets: int) -> None:
        self.there = min(self.there + octets, self.all)
        if sys.stderr.isatty():
            progress.show(self.label, self.there, self.all)
        elif time.monotonic() - self.said > 10:
            self.said = time.monotonic()
            share = self.there / max(1, self.all)
            print(f"{self.label}: {share:.0%} of {self.all / 1e6:,.0f} MB", flush=True)

    def reset(self) -> None:  # pooch fills a bar at the end; this one counts what came
        self.there = self.all

    def close(self) -> None:
        pass
