"""Content, a dictionary, as one HTML file: no network, no framework, nothing beside it.

What a content may have; a section without data is left out of the page:

``title``, ``lead``, ``facts`` (pairs), ``notes`` (texts)
    The head of the page.
``methods``, ``datasets``
    By their names in the cells: how to call and mark them, which metric is reported and in which unit.
``cells``
    A method on a column of the table: its numbers, the published ones, settings, trials, the curve over
    iterations and the reliability. The table and most figures are drawn from them.
``tables``, ``confusion``, ``scatter``, ``settings``, ``failures``, ``graph``
    Plain tables, a confusion matrix, predicted against true numbers, settings, failed trials, a graph.
"""

from __future__ import annotations

import html
import json
import math
from importlib import resources
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from clgnn.persistence import written


def page(content: dict[str, Any]) -> str:
    """The page of a content.

    Args:
        content: see the module; from :func:`~clgnn.report.from_trials` and the like, or made by hand.

    Example:
        >>> made = page({"title": "A </script> that ends nothing", "cells": []})
        >>> made.count("</script>"), made.startswith("<!doctype html>")
        (2, True)
    """
    folder = resources.files("clgnn.report")
    template, style, script = (
        (folder / name).read_text(encoding="utf-8") for name in ("template.html", "style.css", "page.js")
    )
    data = json.dumps(_plain(content), ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    parts = {
        "title": html.escape(str(content.get("title", "clgnn"))),
        "style": style,
        # inside a script element a browser looks for "</" and "<!--" alone
        "content": data.replace("<", "\\u003c"),
        "script": script,
    }
    before, *rest = template.split("{{")
    made = [before]
    for piece in rest:
        name, after = piece.split("}}", 1)
        made += [parts[name], after]
    return "".join(made)


def write(path: str | PathLike[str], content: dict[str, Any]) -> None:
    """Writes the page of a content to a file, which is there in whole or not at all."""
    with written(Path(path)) as temporary:
        temporary.write_text(page(content), encoding="utf-8")


def _plain(value: Any) -> Any:
    """What JSON can say: numbers without NaN, lists without arrays."""
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
