"""The library's own source, shown in a notebook beside the lines that were built there."""

import ast
import inspect
import textwrap


def of(thing) -> str:
    """Source of a function, method or class of Python, indented as at the top of a file, without its
    docstring: the notebook has said it already.

    >>> print(of(of).splitlines()[0])
    def of(thing) -> str:
    """
    source = textwrap.dedent(inspect.getsource(inspect.unwrap(thing)))
    node = ast.parse(source).body[0]
    if not ast.get_docstring(node):
        return source
    lines, words = source.splitlines(), node.body[0]
    return "\n".join(lines[: words.lineno - 1] + lines[words.end_lineno :]).rstrip() + "\n"


def show(thing) -> None:
    """Display `of` in a notebook: coloured Python, and the file and line it stands in."""
    from IPython.display import Code, display

    thing = inspect.unwrap(thing)  # what a decorator was put on
    file = inspect.getsourcefile(thing).partition("lib/")[2] or inspect.getsourcefile(thing)
    place = f"# lib/{file}, line {inspect.getsourcelines(thing)[1]}\n"
    code = Code(place + of(thing), language="python")
    display(code, exclude=["text/latex"])  # the report is a site
