"""The report's Sphinx extension: formulas as MathML, which browsers draw, and figures' alt texts."""

import hashlib
import json
import re
from binascii import a2b_base64
from pathlib import Path


def setup(app) -> dict:
    """Formulas as MathML, which browsers draw themselves, and alt texts of figures."""
    app.add_html_math_renderer("mathml", (inline_formula, None), (block_formula, None))
    app.connect("doctree-read", set_alts)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def mathml(tex: str, block: bool = False) -> str:
    r"""A formula in TeX as MathML.

    docutils' converter puts the index of a letter with an accent below it, as if the accent was a
    limit; a space of no width beside the letter keeps it where it belongs.

    >>> "<msub>" in mathml(r"\hat t_i")
    True
    """
    from docutils.utils.math import latex2mathml

    letter = r"\{[^{}]*\}|\\[a-zA-Z]+|\w"
    tex = re.sub(rf"\\(hat|bar|tilde|vec)\s*({letter})", r"{\\\1 \2\\hspace{0em}}", tex)
    # It knows neither \dots nor a delimiter's size without its side.
    tex = re.sub(r"\\([bB]igg?)(?![a-zA-Z])", r"\\\1l", re.sub(r"\\dots\b", r"\\ldots", tex))
    return latex2mathml.tex2mathml(tex.replace("…", r"\ldots "), as_block=block)


def inline_formula(translator, node) -> None:
    """Write a formula within a line."""
    _write(translator, node, "{}")


def block_formula(translator, node) -> None:
    """Write a formula that stands alone."""
    _write(translator, node, '<div class="math">{}</div>\n')


def _write(translator, node, frame: str) -> None:
    from docutils import nodes
    from docutils.utils.math import MathError
    from sphinx.util import logging

    tex = node.astext()
    try:
        written = mathml(tex, block=isinstance(node, nodes.math_block))
    except MathError as error:
        logging.getLogger(__name__).warning("formula %r: %s", tex, error, location=node)
        written = f"<code>{translator.encode(tex)}</code>"
    translator.body.append(frame.format(written))
    raise nodes.SkipNode


def set_alts(app, document) -> None:
    """Give every figure the alt text and width that its output holds; MyST-NB names the file by
    its hash.
    """
    from docutils import nodes

    path = Path(app.env.doc2path(app.env.docname))
    if path.suffix != ".ipynb":
        return
    known = {}
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        for output in cell.get("outputs", []):
            if png := output.get("data", {}).get("image/png"):
                said = output["metadata"].get("image/png", {})
                known[hashlib.sha256(a2b_base64("".join(png))).hexdigest()] = said
    for image in document.findall(nodes.image):
        said = known.get(Path(image["uri"]).stem, {})
        image.setdefault("alt", said.get("alt") or f"Figure of {path.stem}")
        if "width" in said:
            image["width"] = f"{said['width']}px"
