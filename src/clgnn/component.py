"""The component GNN: by name, as an instance or from a factory; and its head W Z + b (equation 1)."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable
from typing import Any, Literal, TypeAlias

import torch
from torch import Tensor, nn

from clgnn.nn import GCN, GIN, SAGE, Krylov, Snowball

Factory: TypeAlias = Callable[[int, int], nn.Module]
GNN: TypeAlias = str | nn.Module | Factory
Propagation: TypeAlias = Literal["auto", "edge_index"]

NAMES: dict[str, type[nn.Module]] = {
    "gcn": GCN,
    "sage": SAGE,
    "tk": Snowball,
    "krylov": Krylov,
    "gin": GIN,
}


class Component(nn.Module):
    """A GNN that gives the representation Z, and the affine head that reads it.

    The GNNs of :mod:`clgnn.nn` end in an affine layer, which is the head; any other module gets one.
    A module is called as ``gnn(x, edge_index)``, with ``edge_weight`` if its ``forward`` takes one. If it
    takes ``labels``, it gets all samples ``[N, K, C]`` at once and returns the mean over them.
    """

    def __init__(self, gnn: nn.Module, head: nn.Module) -> None:
        super().__init__()
        self.gnn, self.head = gnn, head
        parameters = inspect.signature(gnn.forward).parameters
        self.takes_labels = "labels" in parameters
        self.takes_edge_weight = "edge_weight" in parameters
        self.at_once: bool | None = None  # whether one call does all samples; found out by the first
        self.propagation: Propagation = "auto"
        # whether it takes a matrix in place of edge_index, without and with weights; the first calls find out
        self.takes_adjacency: dict[bool, bool] = {}
        self.memory_budget: float | None = None  # in bytes; None for a share of what is free
        self.bytes_a_row: float | None = None  # that a node of a sample keeps; found out when it matters


def build(
    gnn: GNN,
    x: Tensor,
    edge_index: Tensor,
    columns: int,
    outputs: int,
    hidden_channels: int,
    num_layers: int | None,
    dropout: float,
) -> Component:
    """A new component for input ``[x | label columns]``.

    Args:
        gnn: one of ``"gcn"``, ``"sage"``, ``"tk"``, ``"krylov"``, ``"gin"``; a module, which is copied
            and must take ``x.size(1) + columns`` input channels (or find them out itself, as PyG's lazy
            layers do); or a factory ``(in_channels, out_channels) -> Module``.
        x, edge_index: of the graph, to see what the module gives.
        columns: label columns, C for classes.
        outputs: columns of the head.
        hidden_channels, num_layers, dropout: of a named GNN; ``hidden_channels`` also is the
            ``out_channels`` of a factory.
    """
    in_channels = x.size(1) + columns
    if isinstance(gnn, str):
        if gnn not in NAMES:
            raise ValueError(
                f"gnn is {gnn!r}; expected one of {', '.join(NAMES)}, a module, or a factory "
                "(in_channels, out_channels) -> module"
            )
        options: dict[str, Any] = {"dropout": dropout}
        if num_layers is not None:
            options["num_layers"] = num_layers
        return Component(NAMES[gnn](in_channels, hidden_channels, outputs, **options), nn.Identity())
    module = copy.deepcopy(gnn) if isinstance(gnn, nn.Module) else gnn(in_channels, hidden_channels)
    if not isinstance(module, nn.Module):
        raise ValueError(f"the gnn factory gave a {type(module).__name__}; expected a torch.nn.Module")
    z = _representation(module.to(x.device), x, edge_index, columns)
    return Component(module, nn.Linear(z.size(1), outputs).to(x.device))


def _representation(module: nn.Module, x: Tensor, edge_index: Tensor, columns: int) -> Tensor:
    """Z of the module on the graph without labels, to know its width and to fail early and clearly."""
    width = x.size(1) + columns
    expected = f"gnn(x, edge_index) with x of {x.size(1)} features" + (
        f" and {columns} label columns: {width} input channels" if columns else ""
    )
    dense = x.to_dense() if x.layout != torch.strided else x
    inputs = torch.cat([dense, dense.new_zeros(len(dense), columns)], dim=1)
    training = module.training
    try:
        with torch.no_grad():
            z = module.eval()(inputs, edge_index)
    except Exception as error:
        raise ValueError(f"the gnn could not be called as {expected}. It said: {error}") from error
    finally:
        module.train(training)
    if not isinstance(z, Tensor) or z.dim() != 2 or z.size(0) != x.size(0):
        came = tuple(z.shape) if isinstance(z, Tensor) else type(z).__name__
        raise ValueError(f"the gnn gave {came}; expected a row for each of the {x.size(0)} nodes, [N, d]")
    return z
