"""Graphs, tables, splits and datasets: everything that comes before a model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from clgnn.data.folder import open_graph as open

__all__ = ["open"]


def __getattr__(name: str) -> Any:
    if name == "open":  # imported when it is first asked for: `clgnn --help` needs no torch
        from clgnn.data.folder import open_graph

        return open_graph
    raise AttributeError(f"module 'clgnn.data' has no attribute {name!r}")
