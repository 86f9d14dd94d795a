"""Equations as MathML, which browsers draw by themselves: a page needs no script and no network for them."""

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.application import Sphinx
from sphinx.util.typing import ExtensionMetadata
from sphinx.writers.html5 import HTML5Translator


def inline(self: HTML5Translator, node: nodes.math) -> None:
    self.body.append(convert(node.astext()))
    raise nodes.SkipNode


def block(self: HTML5Translator, node: nodes.math_block) -> None:
    # A blank line within ".. math::" begins another equation; "\\" and "&" need an environment.
    for equation in filter(None, map(str.strip, node.astext().split("\n\n"))):
        aligned = "\\\\" in equation or "&" in equation
        text = f"\\begin{{aligned}}{equation}\\end{{aligned}}" if aligned else equation
        self.body.append(f'<div class="math">{convert(text, display="block")}</div>')
    raise nodes.SkipNode


def setup(app: Sphinx) -> ExtensionMetadata:
    app.add_html_math_renderer("mathml", (inline, None), (block, None))
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
