"""Results as one HTML file that needs no network, no framework and no file beside it.

The content of a page is a dictionary. It may have these entries; a section without data is left out:

``title``, ``headline``, ``verdict``, ``lead``
    The head of the page: the headline is the answer in a sentence, the verdict is ``better``, ``worse``,
    ``level`` or None.
``facts`` (pairs), ``notes`` (texts), ``best`` (a text)
    The foot of the page, and what it means to be the best of a column.
``methods``, ``datasets``
    How methods and datasets are called and marked, by their names in the cells; the metric of a dataset, its
    unit, and whether lower is better.
``cells``
    The numbers of a method in a column of the table: ours and the published ones, settings, trials, the curve
    over iterations and the reliability. The table and most figures are drawn from them.
``answer``, ``tables``, ``confusion``, ``scatter``, ``roc``, ``precision_recall``
    What the picture of an evaluation shows, plain tables, a confusion matrix, predicted against true numbers,
    the curves of a classifier.
``settings``, ``failures``, ``graph``, ``images``
    Settings, failed trials, a graph, pictures that others have drawn.

The scripts share one scope, in the order of :data:`_SCRIPTS`.
"""

from __future__ import annotations

import json
import math
from importlib import resources
from os import PathLike
from typing import Any

import numpy as np
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from clgnn.files import written

_SCRIPTS = ("base.js", "figure.js", "answer.js", "page.js")
_TEMPLATES = Environment(
    loader=PackageLoader("clgnn", "report"),
    autoescape=True,
    undefined=StrictUndefined,
    keep_trailing_newline=True,
)


def page(content: dict[str, Any]) -> str:
    """The HTML page of a content.

    Args:
        content: see the module; :func:`clgnn.report.trials.from_trials` and the like make one.

    Example:
        >>> made = page({"title": "A </script> that ends nothing", "cells": []})
        >>> made.count("</script>"), made.startswith("<!doctype html>")
        (2, True)
    """
    folder = resources.files("clgnn.report")
    style, *scripts = ((folder / name).read_text(encoding="utf-8") for name in ("style.css", *_SCRIPTS))
    data = json.dumps(_plain(content), ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return _TEMPLATES.get_template("template.html").render(
        title=str(content.get("title", "clgnn")),
        headline=str(content.get("headline", "")),
        # These three are code, not text: the first two are ours. In the third no "<" is left, and inside a
        # script element a browser looks for "</" and "<!--" alone.
        style=Markup(style),
        script=Markup("\n".join(scripts)),
        content=Markup(data.replace("<", "\\u003c")),
    )


def write(path: str | PathLike[str], content: dict[str, Any]) -> None:
    """Writes the page of a content to a file, which is there in whole or not at all."""
    with written(path) as temporary:
        temporary.write_text(page(content), encoding="utf-8")


def _plain(value: Any) -> Any:
    """Turns a value into what JSON can say: numbers without NaN, lists without arrays."""
    if isinstance(value, dict):
        return {str(name): _plain(part) for name, part in value.items()}
    if isinstance(value, list | tuple | set | frozenset | np.ndarray):
        return [_plain(part) for part in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float):
        return float(f"{value:.6g}") if math.isfinite(value) else None
    if value is None or isinstance(value, bool | int | str):
        return value
    return str(value)
