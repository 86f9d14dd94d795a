"""The graphs, coloured by what a GNN alone can tell apart beside what it can with collective learning."""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
import torch.nn.functional as F
from torch import Tensor

from clgnn.collective.component import GNN
from clgnn.theory.pictures import Picture, pictures
from clgnn.theory.statement import count

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Okabe and Ito's colours, which colour-blind readers tell apart, and greys.
PALETTE = (
    *("#56b4e9", "#e69f00", "#009e73", "#f0e442", "#cc79a7", "#d55e00", "#0072b2"),
    *("#bbbbbb", "#000000", "#ffffff"),
)
_DARK = ("#009e73", "#d55e00", "#0072b2", "#000000")  # a number on them is white


def draw(gnn: GNN = "gin", seed: int = 0) -> Figure:
    """A matplotlib figure with one row per graph, 1-WL on the left and CL on the right.

    Needs matplotlib: ``pip install 'clgnn[plot]'``.
    """
    need_matplotlib()
    from matplotlib.figure import Figure

    shown = pictures(gnn, seed)
    figure = Figure(figsize=(11, 10.5))
    rows = figure.subplots(len(shown), 2, height_ratios=[1.35, 0.65, 0.95])
    figure.subplots_adjust(left=0.02, right=0.98, top=0.935, bottom=0.03, hspace=0.4, wspace=0.06)
    for picture, (left, right) in zip(shown, rows, strict=True):
        _panel(left, picture, picture.alone, "the GNN alone (1-WL)", picture.captions[0])
        _panel(right, picture, _keep(picture), "the same GNN with CL", picture.captions[1])
        _above(left, picture.title, 30, fontsize=12, fontweight="bold")
    return figure


def write(path: str | PathLike[str], gnn: GNN = "gin", seed: int = 0, force: bool = False) -> None:
    """Writes the figure; the same file for the same seed.

    Args:
        path: its ending gives the format, ``.svg``, ``.png`` or ``.pdf``.
        gnn, seed: see :func:`clgnn.theory.pictures.pictures`.
        force: replaces a file that is there.

    Raises:
        FileExistsError: if the file exists and ``force`` is not set.
        ValueError: if the format is not known, or matplotlib is not here.
    """
    path = Path(path)
    check(path, force)
    figure = draw(gnn, seed)
    from matplotlib import rc_context

    undated: dict[str, Any] = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}
    with rc_context({"svg.hashsalt": "clgnn"}):
        figure.savefig(path, dpi=110, metadata=undated.get(path.suffix[1:].lower()))


def need_matplotlib() -> None:
    """Says how to install matplotlib, if it is not here."""
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise ValueError("a figure needs matplotlib: pip install 'clgnn[plot]'") from error


def check(path: Path, force: bool = False) -> None:
    """Whether a figure can be written to the path; raises what :func:`write` does if not."""
    need_matplotlib()
    if path.suffix.lower() not in (".svg", ".png", ".pdf"):
        raise ValueError(f"the figure is {path.name!r}; expected a name that ends in .svg, .png or .pdf")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"{path.parent} is no folder; make it, or choose another path for the figure")
    if path.exists() and not force:
        raise FileExistsError(f"{path} exists; choose another name, or force to replace it")


def _keep(picture: Picture) -> Tensor:
    """CL's classes, numbered so that the first part of a class that CL splits keeps its colour."""
    numbers: dict[tuple[int, int], int] = {}
    used = count(picture.alone)
    taken: set[int] = set()
    for pair in zip(picture.alone.tolist(), picture.collective.tolist(), strict=True):
        if pair not in numbers:
            numbers[pair] = pair[0] if pair[0] not in taken else used
            used += pair[0] in taken
            taken.add(pair[0])
    pairs = zip(picture.alone.tolist(), picture.collective.tolist(), strict=True)
    return torch.tensor([numbers[pair] for pair in pairs])


def _panel(axes: Any, picture: Picture, colours: Tensor, title: str, caption: str) -> None:
    axes.add_patch(_edges(picture))
    x, y = picture.places.t().tolist()
    fills = [PALETTE[colour] for colour in colours.tolist()]
    new = colours >= count(picture.alone)  # a class that only CL has: a square, not by colour alone
    for marker, chosen in (("o", ~new), ("s", new)):
        nodes = chosen.nonzero().squeeze(1).tolist()
        axes.scatter(
            [x[v] for v in nodes],
            [y[v] for v in nodes],
            s=40 if picture.bend else 420,
            c=[fills[v] for v in nodes],
            marker=marker,
            edgecolors="black",
            linewidths=0.8,
            zorder=2,
        )
    for v, fill in enumerate(fills if not picture.bend else ()):
        ink = "white" if fill in _DARK else "black"
        axes.text(x[v], y[v], str(v + 1), color=ink, ha="center", va="center_baseline", zorder=3)
    number = count(colours)
    _above(axes, f"{title}: {number} {'class' if number == 1 else 'classes'}", 8, fontsize=11)
    axes.annotate(caption, (0, 0), (4, -4), "axes fraction", "offset points", va="top")
    room = 0.12 if picture.bend else 0.4
    axes.set(xlim=(min(x) - room, max(x) + room), ylim=(min(y) - room, max(y) + room))
    axes.set_aspect("equal", anchor="NW")
    axes.axis("off")


def _above(axes: Any, text: str, points: float, **font: Any) -> None:
    """A line of text, a number of points above a drawing."""
    axes.annotate(text, (0, 1), (4, points), "axes fraction", "offset points", **font)


def _edges(picture: Picture) -> Any:
    """All edges in one path, each a curve that bends to the centre of its circle, or not."""
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path as Curve

    source, target = picture.data.edge_index[:, picture.data.edge_index[0] < picture.data.edge_index[1]]
    start, end = picture.places[source], picture.places[target]
    middle, length = (start + end) / 2, (end - start).norm(dim=1, keepdim=True)
    inwards = F.normalize(picture.centres[source] - middle, dim=1)
    points = torch.stack([start, middle + picture.bend * length**2 * inwards, end], dim=1)
    codes = [Curve.MOVETO, Curve.CURVE3, Curve.CURVE3] * len(points)
    return PathPatch(Curve(points.flatten(0, 1).tolist(), codes), fill=False, edgecolor="#888888", zorder=1)
