r"""What users wrote, shown as they wrote it: never HTML, Markdown or TeX, no order to a terminal.

Captions, names of files, folders, classes and parsers, and messages that quote them come from
anywhere. Each medium has its function here; matplotlib is told once, in `figures.use_style`.

>>> said = "<b>\x1b[31m a_b \u202e"
>>> print(line(said), html(said), markdown(said), sep="\n")
<b>\x1b[31m a_b \u202e
&lt;b&gt;\x1b[31m a_b \u202e
\<b\>\\x1b\[31m a\_b \\u202e
"""

import re
from html import escape

# Controls, line and paragraph separators, orders to write the other way, halves of characters (as
# a file name that is no UTF-8 has them), and what XML cannot hold.
ACTING = re.compile(
    "[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]"
)
MARKING = re.compile(r"[\\`*_{}\[\]<>$|~&#]")


def line(value) -> str:
    """One line of plain text, for alt texts, figures and a terminal: what would act is named."""
    return ACTING.sub(lambda found: found[0].encode("unicode_escape").decode(), str(value))


def lines(value) -> str:
    """As `line`, and newlines stay: for text that was wrapped on purpose."""
    return "\n".join(map(line, str(value).split("\n")))


def message(value) -> str:
    r"""An error for a terminal: a newline in it begins no line that could be taken for another's.

    >>> print(message("a\nrun_all.sh: done"))
    a
      run_all.sh: done
    """
    return re.sub(r"\n(?!  )", "\n  ", lines(value))


def html(value) -> str:
    """Text between tags, or a value in quotes."""
    return escape(line(value))


def markdown(value) -> str:
    """Text within a line of Markdown: MyST's, GitHub's or Jupyter's."""
    return MARKING.sub(r"\\\g<0>", line(value))
