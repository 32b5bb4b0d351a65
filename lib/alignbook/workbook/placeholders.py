"""Placeholders for the libraries of NVIDIA's that PyTorch is linked to and no CPU ever calls.

PyTorch's Linux build loads only where every library it names is found: 2.6 GB that serve nobody
without a GPU. A placeholder is a library of that name with nothing in it; all of them name one
more, which has every function that PyTorch asks of them. Each returns 1, an error in all of these
libraries, or no text. They lie in torch/lib, where PyTorch looks last: a real library goes first.

``python -m alignbook.workbook.placeholders`` writes those that this environment lacks, and sees whether
PyTorch loads. `run_all.sh` calls it after it has installed the packages, with NVIDIA's or without.
"""

import importlib.util
import os
import struct
import subprocess
import sys
from mmap import ACCESS_READ, mmap
from pathlib import Path

FUNCTIONS = "libplaceholders.so"
LIBRARIES = (
    "cublas",
    "cublasLt",
    "cudnn",
    "cufft",
    "cufile",
    "cusparse",
    "cusparseLt",
    "nccl",
    "nvrtc",
    "nvshmem_host",
)
PREFIXES = ("cublas", "cudnn", "cufft", "cuFile", "cusparse", "nccl", "nvrtc", "nvshmem")
CODE = {  # return 1; return 0 as long as a pointer is: eight bytes each, by ELF's number of the
    62: bytes.fromhex("b801000000c39090 31c0c39090909090"),  # x86-64
    183: bytes.fromhex("20008052c0035fd6 000080d2c0035fd6"),  # aarch64
}
LOADER, SYMBOLS = 6, 11  # kinds of sections
NEEDED, NAME, RUNPATH, HASHES, TEXTS, TEXTS_SIZE, NAMES, NAME_SIZE = 1, 14, 29, 4, 5, 10, 6, 11
PAGE = 0x10000  # the largest that these processors have


def main() -> int:
    """Write what PyTorch needs and this environment lacks; 0 if it loads then."""
    torch = Path(importlib.util.find_spec("torch").origin).parent
    write(torch / "lib", torch.parent / "nvidia")
    return subprocess.run([sys.executable, "-c", "import torch"]).returncode


def write(folder: Path, nvidia: Path) -> list[str]:
    """Placeholders in a folder for what its libraries need of NVIDIA's and do not find there.

    Returns their names. Those that are no longer needed are removed.
    """
    names = tuple(f"lib{each}.so." for each in LIBRARIES)
    before = {path for path in folder.glob("*.so.*") if _is_placeholder(path)}
    there = {
        path.name
        for path in [*nvidia.glob("*/lib/*.so.*"), *folder.glob("*.so.*")]
        if path not in before
    }
    libraries = [read(path) for path in sorted(folder.glob("lib*.so")) if path.name != FUNCTIONS]
    missing = sorted(
        {name for _, needed, _ in libraries for name in needed if name.startswith(names)} - there
    )
    if missing:
        machine = libraries[0][0]
        asked = {name for *_, undefined in libraries for name in undefined}
        functions = sorted(name for name in asked if name.startswith(PREFIXES))
        _put(folder / FUNCTIONS, library(machine, FUNCTIONS, functions))
        for name in missing:
            _put(folder / name, library(machine, name, [], FUNCTIONS))
    else:
        (folder / FUNCTIONS).unlink(missing_ok=True)
    for path in before:
        if path.name not in missing:
            path.unlink()
    return missing


def _is_placeholder(path: Path) -> bool:
    return path.stat().st_size < 1000 and FUNCTIONS.encode() in path.read_bytes()


def _put(path: Path, content: bytes) -> None:
    """Write a file that others may be loading."""
    aside = path.with_name(f"{path.name}.{os.getpid()}")
    aside.write_bytes(content)
    aside.replace(path)


def read(path: Path) -> tuple[int, set[str], set[str]]:
    """A library's kind of processor, the libraries it names, and the symbols it leaves open."""
    with path.open("rb") as opened, mmap(opened.fileno(), 0, access=ACCESS_READ) as file:
        (machine,) = struct.unpack_from("<H", file, 18)
        (start,) = struct.unpack_from("<Q", file, 40)
        size, count = struct.unpack_from("<HH", file, 58)
        # Of each section: its kind, where it begins, its length, the section of its texts.
        sections = [struct.unpack_from("<4xI16xQQI", file, start + i * size) for i in range(count)]
        needed, undefined = set(), set()
        for kind, begin, length, texts in sections:
            if kind not in (LOADER, SYMBOLS):
                continue
            table, texts = file[begin : begin + length], sections[texts][1]
            if kind == LOADER:
                told = struct.iter_unpack("<QQ", table)
                needed |= {_text(file, texts + value) for tag, value in told if tag == NEEDED}
            else:  # what is in no section is another library's
                known = struct.iter_unpack("<I2xH16x", table)
                undefined |= {_text(file, texts + name) for name, section in known if section == 0}
    return machine, needed, undefined


def _text(file: mmap, begin: int) -> str:
    return file[begin : file.find(b"\0", begin)].decode()


def library(machine: int, name: str, functions: list[str], needs: str = "") -> bytes:
    """A shared library in ELF of functions that return 1, or none where a text is expected."""
    texts, places = b"\0", {}
    for each in (name, needs, "$ORIGIN", *functions):
        places[each] = len(texts)
        texts += each.encode() + b"\0"
    at_code = 64 + 4 * 56  # the header and the list of four parts come before
    symbols = bytes(24)  # of each: its name, "global function", section, address, size
    for each in functions:
        address = at_code + 8 * each.endswith(("String", "LastError"))
        symbols += struct.pack("<IBBHQQ", places[each], 0x12, 0, 1, address, 8)
    # The last function of each hash, and for each function the one before it of the same hash.
    last, before = [0] * (len(functions) or 1), [0] * (len(functions) + 1)
    for i, each in enumerate(functions, 1):
        slot = hash_of(each) % len(last)
        before[i], last[slot] = last[slot], i
    hashes = struct.pack(f"<{2 + len(last) + len(before)}I", len(last), len(before), *last, *before)
    at_symbols = at_code + len(CODE[machine])
    at_hashes = at_symbols + len(symbols)
    at_texts = at_hashes + len(hashes)
    told = [
        (NAME, places[name]),
        (RUNPATH, places["$ORIGIN"]),
        (HASHES, at_hashes),
        (TEXTS, at_texts),
        (TEXTS_SIZE, len(texts)),
        (NAMES, at_symbols),
        (NAME_SIZE, 24),
        *([(NEEDED, places[needs])] if needs else []),
        (0, 0),
    ]
    dynamic = b"".join(struct.pack("<QQ", *each) for each in told)
    begin = -(-(at_texts + len(texts)) // 8) * 8
    parts = [  # kind, rights, where, length, alignment
        (1, 5, 0, begin, PAGE),  # to be read and run
        (1, 6, begin, len(dynamic), PAGE),  # to be read and written
        (2, 6, begin, len(dynamic), 8),  # the same, what the loader is told
        (0x6474E551, 6, 0, 0, 16),  # a stack that is not run
    ]
    file = b"\x7fELF\x02\x01\x01".ljust(16, b"\0")
    file += struct.pack("<HHIQQQIHHHHHH", 3, machine, 1, 0, 64, 0, 0, 64, 56, len(parts), 64, 0, 0)
    for kind, rights, where, length, align in parts:
        to = where + PAGE * (where == begin)  # in another page than the code
        file += struct.pack("<IIQQQQQQ", kind, rights, where, to, to, length, length, align)
    file += CODE[machine] + symbols + hashes + texts
    return file.ljust(begin, b"\0") + dynamic


def hash_of(name: str) -> int:
    """The hash by which a loader finds a symbol."""
    value = 0
    for byte in name.encode():
        value = (value << 4) + byte
        value = (value ^ (value & 0xF0000000) >> 24) & 0x0FFFFFFF
    return value


if __name__ == "__main__":
    sys.exit(main())
