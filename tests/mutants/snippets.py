"""Where a mutant's snippet stands, however the lines of the library are broken."""

import re
from pathlib import Path


def pattern(snippet):
    """What finds a snippet with any white space, quotes, and commas before a closing bracket."""
    parts, end = [], 0
    for token in re.finditer(r"\w+|[^\w\s]", snippet):
        apart = end and re.match(r"\w\w", snippet[end - 1] + token[0][0])
        gap = r"\s+" if apart else r"\s*,?\s*" if token[0] in ")]}" else r"\s*"
        parts += [gap if end else "", "[\"']" if token[0] in "\"'" else re.escape(token[0])]
        end = token.end()
    return re.compile("".join(parts))


def place(source, snippet, file):
    """From where to where a snippet stands in a source, white space around it as it has it."""
    found = list(pattern(snippet).finditer(source))
    if len(found) != 1:
        raise ValueError(
            f"{file} holds the snippet {len(found)} times, not once: {snippet!r}; "
            "bring the table under tests/mutants up to date"
        )
    start, end = found[0].span()
    lead = snippet[: len(snippet) - len(snippet.lstrip())]
    if lead.startswith("\n"):
        start = re.search(r"\n *$", source[:start]).start()
    else:
        start -= len(lead) * source[:start].endswith(lead)
    trail = snippet[len(snippet.rstrip()) :]
    return start, end + len(trail) * source.startswith(trail, end)


SHOWN = {"cost", "identified", "pipeline", "retrieved", "shapes", "show", "times"}


def resolved(library: Path, file: str, snippet: str) -> str:
    """The one file of a room, named with a slash after it, that holds a snippet; a file is itself.

    Where several do, the one that trains is meant.
    """
    if not file.endswith("/"):
        return file
    holding = [
        path
        for path in sorted((library / file).glob("*.py"))
        if pattern(snippet).search(path.read_text(encoding="utf-8"))
    ]
    if len(holding) > 1:
        holding = [path for path in holding if path.stem not in SHOWN]
    return holding[0].relative_to(library).as_posix() if len(holding) == 1 else file
