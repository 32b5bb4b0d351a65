"""Names for what was computed: a hash of the code that computes and a key of the settings.

A run is stored under a key. It has to change whenever the result could, and should not when only
words did: so code is hashed as its syntax tree without docstrings, comments and layout, over the
named modules and everything of alignbook that they import; and with it each file of the package
that is not Python and that a module names, alone or by its folder.
"""

import ast
import dataclasses
import hashlib
import json
import time
from functools import lru_cache
from pathlib import Path

from alignbook import ROOT
from alignbook.store import contents

PACKAGE = Path(__file__).resolve().parents[1]
KNOWN = ROOT / ".cache" / "code.json"  # hashes asked for while the package looks as it does

# Rooms that show, start or keep results, and never change a number. Of a paper's room counts what
# its training imports.
SHOWING = ("__main__", "errors", "store", "evidence", "show", "workbook", "explorer")


def trains(module: str) -> bool:
    """Whether a module of the package can change what a run computes; its room says it.

    >>> trains("alignbook.core.losses"), trains("alignbook.show.tables")
    (True, False)
    """
    room, *_ = module.split(".")[1:] or [""]
    return bool(room) and room not in SHOWING


@lru_cache(maxsize=None)
def code_hash(*modules: str, counts=trains) -> str:
    """Hash of the code behind some modules, imports inside the package included.

    Parameters
    ----------
    *modules : str
        Full names, such as ``"alignbook.papers.chan.model"``. A named module counts in any case.
    counts : callable
        Whether an imported module counts, by its name; what only others import does not either.

    Returns
    -------
    str
        64 hexadecimal digits. Docstrings, comments and layout don't count; of files that are not
        Python every byte does. Files are read once a process, and not even once where all of the
        package looks as when another process was asked (`contents`): the hash is that of the code as
        it was when first asked for.

    Raises
    ------
    ModuleNotFoundError
        A named module is not part of the package.

    Examples
    --------
    >>> code_hash("alignbook.workbook.lifeline") == code_hash("alignbook.workbook.lifeline")
    True
    """
    named = {trains: "", bool: " and all"}.get(counts)  # others are not told of
    asked, looks = f"{' '.join(modules)}{named}", _looks()
    known = {} if named is None else contents.load(KNOWN).get(looks, {})
    if asked in known:
        return known[asked]
    digest = hashlib.sha256()
    for name in modules_behind(*modules, counts=counts):
        digest.update(f"{name}\n{_read(name)[0]}\n".encode())
    found = digest.hexdigest()
    if named is not None:
        _keep(asked, found, looks)
    return found


@lru_cache(maxsize=None)
def _looks() -> str:
    """How the package looked when this process first asked: each file's size, times and inode."""
    return _look()[0]


def _look() -> tuple[str, float]:
    """How the package looks now, and when a file of it was last changed, in seconds."""
    seen = [[str(file), *contents.looks_of(file)] for file in _files(PACKAGE)]
    changed = max(max(each[2:4]) for each in seen) / 1e9
    return hashlib.sha256(json.dumps(seen).encode()).hexdigest(), changed


def _files(package: Path) -> list[Path]:
    """Its files except bytecode, which other processes write and rename meanwhile."""
    there = (file for file in package.rglob("*") if "__pycache__" not in file.parts)
    return sorted(file for file in there if file.is_file())


def _keep(asked: str, found: str, looks: str) -> None:
    """Tell later processes of a hash, unless a file changed meanwhile or may have without a sign."""
    now, changed = _look()
    if now == looks and changed < time.time() - contents.YOUNG:
        known = contents.load(KNOWN).get(looks, {})  # others may have added to it
        contents.store(KNOWN, {looks: known | {asked: found}})


def modules_behind(*modules: str, counts=trains) -> list[str]:
    """The named modules and all they import of the package, sorted; see `code_hash`."""
    for name in modules:
        if _file(name) is None:
            raise ModuleNotFoundError(f"{name}: no such module under {PACKAGE}", name=name)
    waiting, found = list(modules), set()
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += [other for other in _read(name)[1] if counts(other)]
    return sorted(found)


def key(*parts: object) -> str:
    """Short name of some settings: 16 hexadecimal digits of their canonical JSON.

    Parameters
    ----------
    *parts : object
        Numbers, strings, None, lists, tuples, dictionaries with string keys, and dataclasses
        (which count as their type's name and their fields), nested as you like.

    Raises
    ------
    TypeError
        For anything else, paths above all: a key must not depend on where a folder lies.
    ValueError
        For a number that is not finite.

    Examples
    --------
    >>> key({"a": 1, "b": 2.0}) == key({"b": 2.0, "a": 1})
    True
    """
    text = json.dumps(_plain(parts), sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _plain(value: object) -> object:
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        if not all(isinstance(name, str) for name in value):
            raise TypeError(f"a key needs dictionaries with string keys, not {list(value)[:3]!r}")
        return {name: _plain(item) for name, item in value.items()}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
        return [type(value).__name__, _plain(fields)]
    raise TypeError(
        f"{value!r} ({type(value).__name__}) cannot be part of a key: "
        "give its plain numbers or strings, and for a file its content's hash"
    )


def is_module(name: str) -> bool:
    """Whether a full name is that of a module of the package."""
    return _file(name) is not None


def _file(module: str) -> Path | None:
    """Source file of a module of the package, None where there is none."""
    package, *inner = module.split(".")
    if package != PACKAGE.name:
        return None
    path = PACKAGE.joinpath(*inner)
    for candidate in (path / "__init__.py", path.with_suffix(".py") if inner else None):
        if candidate is not None and candidate.is_file():
            return candidate
    return None


@lru_cache(maxsize=None)
def _read(module: str) -> tuple[str, tuple[str, ...]]:
    """A module's code without its words, and the modules of the package it imports."""
    path = _file(module)
    tree = ast.parse(path.read_text(encoding="utf-8"), filename=str(path))
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]
    imported, nodes = set(), []
    written = _written(tree, nodes)
    for node in nodes:
        if isinstance(node, ast.Import):
            imported.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            source = node.module or ""
            if node.level:  # from ..world import scenes
                base = package.split(".")[: len(package.split(".")) - node.level + 1]
                source = ".".join(base + ([node.module] if node.module else []))
            imported.add(source)
            imported.update(f"{source}.{alias.name}" for alias in node.names)
    parents = {part for name in imported | {module} for part in _parents(name)}
    known = {name for name in imported | parents if _file(name) is not None} - {module}
    return written + _files_named_in(nodes), tuple(sorted(known))


def _files_named_in(nodes: list[ast.AST]) -> str:
    """Path and hash of each file of the package that the strings of some code name, a line each.

    A string names a file, or all files of a folder, by its path in the package or by its last part.
    A paper's name alone is no folder's: it names its exhibits in any code.
    """
    words = {
        node.value
        for node in nodes
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    return "".join(
        f"\n{path} {digest}" for path, names, digest in _not_python(PACKAGE) if names & words
    )


@lru_cache(maxsize=None)
def _not_python(package: Path) -> list[tuple[str, set[str], str]]:
    """For each file of a package that is not code of Python: its path, all names that it or one of
    its folders may have, and its hash.
    """
    found = []
    for file in _files(package):
        hidden = file.name[0] == "." or file.name[-1] == "~"  # the latter an editor's
        if file.suffix in (".py", ".pyc", ".pyi") or hidden:
            continue
        parts = file.relative_to(package).parts
        room = 2 if parts[0] == "papers" else 0
        names = {"/".join(parts[i:j]) for j in range(room + 1, len(parts) + 1) for i in range(j)}
        found.append(("/".join(parts), names, hashlib.sha256(file.read_bytes()).hexdigest()))
    return found


def _parents(module: str) -> list[str]:
    """Packages around a module: importing it runs their __init__ files too."""
    parts = module.split(".")
    return [".".join(parts[:count]) for count in range(1, len(parts))]


def _written(value: object, nodes: list[ast.AST]) -> str:
    """A syntax tree as text, the same in every version of Python that can read the code, without its
    words: docstrings, and any string that stands alone as a statement. `nodes` gets what is written.

    Empty fields are left out: versions add some. `ast.unparse` and `ast.dump` write the same tree
    differently from version to version, and a run store moves between machines.
    """
    if isinstance(value, ast.AST):
        nodes.append(value)
        inner = []
        for name in _fields(type(value)):
            each = getattr(value, name, None)
            if name in ("body", "orelse", "finalbody") and isinstance(each, list):
                each = [one for one in each if not _is_words(one)]
                if not each and name == "body" and not isinstance(value, ast.Module):
                    each = [ast.Pass()]
            if each is not None and each != []:
                inner.append(f"{name}={_written(each, nodes)}")
        return f"{type(value).__name__}({','.join(inner)})"
    if isinstance(value, list):
        return f"[{','.join(_written(each, nodes) for each in value)}]"
    return repr(value)


@lru_cache(maxsize=None)
def _fields(kind: type[ast.AST]) -> list[str]:
    return sorted(kind._fields)


def _is_words(statement: ast.stmt) -> bool:
    return (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Constant)
        and isinstance(statement.value.value, str)
    )
