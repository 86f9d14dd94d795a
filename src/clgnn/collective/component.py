"""Equation 1: a GNN gives the representation Z, and its head reads it, P(y_v) = σ(W Z_v + b)."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable
from typing import Any, TypeAlias

import torch
from torch import Tensor, nn

from clgnn.data.graph import Graph
from clgnn.engine.runner import Precision, Propagation, Runner, call
from clgnn.nn import NAMES

Factory: TypeAlias = Callable[[int, int], nn.Module]
GNN: TypeAlias = str | nn.Module | Factory


class Component(nn.Module):
    """Θ, W and b: a GNN that gives the representation Z, and the affine head that reads it.

    The GNNs of :mod:`clgnn.nn` end in an affine layer, which is the head; any other module gets one.

    Attributes:
        gnn: Θ.
        head: W and b.
        runner: what the engine knows about running the GNN on many samples.
        columns: the label columns that it takes beside X.
    """

    def __init__(
        self, gnn: nn.Module, head: nn.Module, runner: Runner | None = None, columns: int = 0
    ) -> None:
        super().__init__()
        self.gnn, self.head, self.columns = gnn, head, columns
        self.runner = Runner(gnn) if runner is None else runner


def build(
    gnn: GNN,
    graph: Graph,
    columns: int,
    outputs: int,
    *,
    hidden_channels: int = 16,
    num_layers: int | None = None,
    dropout: float = 0.5,
    propagation: Propagation = "auto",
    memory_budget: float | None = None,
    precision: Precision = "float32",
    width: int | None = None,
    num_relations: int = 1,
) -> Component:
    """A new component for input ``[x | label columns]``.

    Args:
        gnn: one of :data:`clgnn.nn.NAMES`; a module, which is copied and must take ``x.size(1) + columns``
            input channels (or find them out itself, as PyG's lazy layers do); or a factory
            ``(in_channels, out_channels) -> Module``.
        graph: the graph, to see what the module gives.
        columns: label columns, C for classes.
        outputs: columns of the head.
        hidden_channels, num_layers, dropout: of a named GNN; ``hidden_channels`` also is the
            ``out_channels`` of a factory.
        propagation, memory_budget, precision: of the :class:`~clgnn.engine.runner.Runner`.
        width: the columns of Z, if they are known; else the module is run to see them.
        num_relations: the types of edges, for a named GNN that has weights for each.

    Example:
        >>> import torch
        >>> graph = Graph(torch.rand(3, 4), torch.tensor([[0, 1], [1, 2]]), None, (3,))
        >>> build("gcn", graph, columns=2, outputs=2).head
        Identity()
    """
    in_channels, device = graph.x.size(1) + columns, graph.x.device
    if isinstance(gnn, str):
        if graph.hetero is not None:
            raise ValueError(
                f"gnn is {gnn!r}, which knows one type of nodes, and the graph is a HeteroData; expected a "
                "module that is called as gnn(x_dict, edge_index_dict): clgnn.nn.HeteroSAGE, or one made "
                "with torch_geometric.nn.to_hetero"
            )
        if gnn not in NAMES:
            raise ValueError(
                f"gnn is {gnn!r}; expected one of {', '.join(NAMES)}, a module, or a factory "
                "(in_channels, out_channels) -> module"
            )
        options: dict[str, Any] = {"dropout": dropout}
        if num_layers is not None:
            options["num_layers"] = num_layers
        if "edge_type" in inspect.signature(NAMES[gnn].forward).parameters:
            options["num_relations"] = num_relations
        module: nn.Module = NAMES[gnn](in_channels, hidden_channels, outputs, **options).to(device)
        return Component(
            module, nn.Identity(), Runner(module, propagation, memory_budget, precision), columns
        )
    module = copy.deepcopy(gnn) if isinstance(gnn, nn.Module) else _made(gnn, in_channels, hidden_channels)
    runner = Runner(module.to(device), propagation, memory_budget, precision)
    if width is None:
        width = _representation(runner, graph, columns).size(1)
    return Component(module, nn.Linear(width, outputs).to(device), runner, columns)


def _made(factory: Factory, in_channels: int, out_channels: int) -> nn.Module:
    try:
        module = factory(in_channels, out_channels)
    except Exception as error:
        raise ValueError(
            f"the gnn factory failed ({error}); it is called as gnn({in_channels}, {out_channels}), "
            "(in_channels, out_channels), and expected to give a torch.nn.Module"
        ) from error
    if not isinstance(module, nn.Module):
        raise ValueError(f"the gnn factory gave a {type(module).__name__}; expected a torch.nn.Module")
    return module


def _representation(runner: Runner, graph: Graph, columns: int) -> Tensor:
    """Z of the module on the graph without labels, to know its width and to fail early and clearly."""
    module, n, p = runner.gnn, graph.num_nodes, graph.x.size(1)
    called = "gnn(x, edge_index)" if graph.hetero is None else "gnn(x_dict, edge_index_dict)"
    expected = f"{called} with x of {p} features" + (
        f" and {columns} label columns: {p + columns} input channels" if columns else ""
    )
    inputs = torch.cat([graph.dense_x, graph.dense_x.new_zeros(n, columns)], dim=1)
    training = module.training
    try:
        with torch.no_grad():
            z = call(module.eval(), graph, inputs, (graph.edge_index, runner.edge_arguments(graph)))
    except Exception as error:
        raise ValueError(f"the gnn could not be called as {expected}. It said: {error}") from error
    finally:
        module.train(training)
    if not isinstance(z, Tensor) or z.dim() != 2 or z.size(0) != n:
        came = tuple(z.shape) if isinstance(z, Tensor) else type(z).__name__
        raise ValueError(f"the gnn gave {came}; expected one row for each of the {n} nodes, [N, d]")
    if not torch.isfinite(z).all():
        bad = int((~torch.isfinite(z)).any(dim=1).sum())
        raise ValueError(f"the gnn gave NaN or infinite values for {bad} of the {n} nodes; expected numbers")
    return z
