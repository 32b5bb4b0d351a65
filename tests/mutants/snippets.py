"""Where a mutant's snippet stands, however the lines of the library are broken."""

import re


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
