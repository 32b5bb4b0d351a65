"""What a figure shows in words, for readers who hear a notebook or the report read out."""

import textwrap

from alignbook.store import verbatim

MOST, LONGEST = 12, 700  # names of one kind, and characters, of an alt text


def describe(figure) -> str:
    """What a figure shows, for those who don't see it: titles, axes, names of rows and curves.

    >>> import matplotlib.pyplot as plt
    >>> figure, axis = plt.subplots()
    >>> curve = axis.plot([1, 2], label="hard"), axis.set(title="Loss", xlabel="step")
    >>> axis.legend(), plt.close(figure)  # doctest: +ELLIPSIS
    (<...>, None)
    >>> describe(figure)
    'Figure: Loss (x axis: step; marked: hard).'
    """
    panels = [_panel(axis) for axis in figure.axes]
    marked = [
        f"marked: {_listed(text.get_text() for text in legend.get_texts())}"
        for legend in figure.legends
    ]
    heading = figure.get_suptitle()
    notes = [each for text in figure.texts if (each := text.get_text()) not in ("", heading)]
    what = "; ".join(filter(None, [heading, _listed(panels, "; "), *marked]))
    what = textwrap.shorten(f"Figure: {what.rstrip('.')}", LONGEST, placeholder=" …")
    return verbatim.line(" ".join([f"{what}.", *notes]).replace("\n", " "))


def _panel(axis) -> str:
    """A panel in words: title, what is written in it, axes, named rows and columns, legend."""
    titles = [axis.get_title(place) for place in ("left", "center", "right")]
    written = [text for each in axis.texts if any(map(str.isalpha, text := each.get_text()))]
    title = _listed([*titles, *written])
    if not axis.axison:
        return title
    said = []
    for way, names in (("x", "columns"), ("y", "rows")):
        label = getattr(axis, f"get_{way}label")()
        ticks = [text.get_text() for text in getattr(axis, f"get_{way}ticklabels")()]
        if label:  # of a picture without ticks it is a caption
            said.append(label if axis.images and not ticks else f"{way} axis: {label}")
        if words := [text for text in ticks if any(map(str.isalpha, text))]:
            said.append(f"{names}: {_listed(words)}")
    if legend := axis.get_legend():
        said.append(f"marked: {_listed(text.get_text() for text in legend.get_texts())}")
    return f"{title} ({'; '.join(said)})" if title and said else title or "; ".join(said)


def _listed(names, between: str = ", ") -> str:
    """Different names one after the other, the first of many."""
    different = [name for name in dict.fromkeys(names) if name.strip()]
    more = f" and {len(different) - MOST} more" if len(different) > MOST else ""
    return between.join(different[:MOST]) + more
