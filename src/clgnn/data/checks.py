"""What a valid graph is, checked where it comes in: every error names the part that is wrong."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch_geometric.data import Data


def check_tensor(value: Any, name: str, what: str, shape: str, layouts: tuple[torch.layout, ...]) -> None:
    """Refuses what is no tensor, has no values, or has them where they can't be read.

    Args:
        value: what came.
        name: of the graph, for the message.
        what: the part that it is, such as ``"edge_index"``.
        shape: what was expected, in words.
        layouts: those that it may have.

    Example:
        >>> check_tensor([1, 2], "the graph", "edge_weight", "[E]", (torch.strided,))
        Traceback (most recent call last):
        ValueError: the graph has edge_weight of type list; expected a tensor [E]
    """
    if not isinstance(value, Tensor):
        came = f"no {what}" if value is None else f"{what} of type {type(value).__name__}"
        raise ValueError(f"{name} has {came}; expected a tensor {shape}")
    if value.layout not in layouts:
        there = " or ".join(str(layout).removeprefix("torch.") for layout in layouts)
        raise ValueError(f"{name} has {what} of layout {value.layout}; expected a {there} tensor {shape}")
    if value.is_meta:
        raise ValueError(f"{name} has {what} on the device meta, without values; expected a tensor {shape}")
    if value.is_complex():
        raise ValueError(f"{name} has {what} of type {value.dtype}; expected real numbers")


def check_graph(graph: Data, name: str) -> None:
    """Refuses a graph whose features, edges or first predictions are not what they should be."""
    x, edge_index = graph.x, graph.edge_index
    if x is None or (isinstance(x, Tensor) and x.dim() != 2):
        came = "no x" if x is None else f"x of shape {tuple(x.shape)}"
        raise ValueError(
            f"{name} has {came}; expected node features x [N, p]. Nodes without features can have a "
            "constant one: data.x = torch.ones(num_nodes, 1)"
        )
    check_tensor(x, name, "x", "[N, p]", (torch.strided, torch.sparse_coo, torch.sparse_csr))
    if x.size(0) == 0:
        raise ValueError(f"{name} is empty: it has no nodes; expected one at least")
    stored = x if x.layout == torch.strided else x.coalesce().values() if x.is_sparse else x.values()
    stored = stored.to(torch.float32)  # as it will be used
    if not torch.isfinite(stored).all():
        bad = int((~torch.isfinite(stored)).sum())
        raise ValueError(f"{name} has {bad} NaN or infinite values in x; expected numbers: fill or drop them")
    check_tensor(edge_index, name, "edge_index", "[2, E] (E may be 0)", (torch.strided,))
    if edge_index.dim() != 2 or edge_index.size(0) != 2:
        raise ValueError(
            f"{name} has edge_index of shape {tuple(edge_index.shape)}; expected [2, E] (E may be 0)"
        )
    if not is_integer(edge_index) and edge_index.numel():
        raise ValueError(f"{name} has edge_index of type {edge_index.dtype}; expected integers")
    if edge_index.numel() and (int(edge_index.min()) < 0 or int(edge_index.max()) >= x.size(0)):
        raise ValueError(
            f"{name} has edges to nodes {int(edge_index.min())}..{int(edge_index.max())}; "
            f"expected 0..{x.size(0) - 1}, as x has {x.size(0)} rows"
        )
    _check_edges(graph, name)
    start = getattr(graph, "start_proba", None)
    if start is not None:
        check_tensor(start, name, "start_proba", f"[{x.size(0)}, C]", (torch.strided,))
        if start.dim() != 2 or start.size(0) != x.size(0):
            raise ValueError(
                f"{name} has start_proba of shape {tuple(start.shape)}; expected [{x.size(0)}, C]"
            )
        if not torch.isfinite(start).all():
            raise ValueError(f"{name} has NaN or infinite values in start_proba; expected probabilities")


def _check_edges(graph: Data, name: str) -> None:
    """The weights, features and types of the edges."""
    count = graph.edge_index.size(1)
    shapes = {"edge_weight": f"[{count}]", "edge_attr": f"[{count}, d]", "edge_type": f"[{count}]"}
    weight, attr, types = (getattr(graph, part, None) for part in shapes)
    for part, shape in shapes.items():
        if getattr(graph, part, None) is not None:
            check_tensor(getattr(graph, part), name, part, shape, (torch.strided,))
    if weight is not None:
        if weight.shape != (count,):
            raise ValueError(f"{name} has edge_weight of shape {tuple(weight.shape)}; expected [{count}]")
        used = weight.to(torch.float32)
        if not torch.isfinite(used).all() or bool((used < 0).any()):
            raise ValueError(f"{name} has negative, NaN or infinite edge weights; expected 0 or more")
    if attr is not None:
        if attr.dim() == 0 or attr.size(0) != count:
            raise ValueError(f"{name} has edge_attr of shape {tuple(attr.shape)}; expected [{count}, d]")
        if not torch.isfinite(attr.to(torch.float32)).all():
            raise ValueError(f"{name} has NaN or infinite values in edge_attr; expected numbers")
    if types is not None and (types.shape != (count,) or not is_integer(types)):
        came = f"{types.dtype} {tuple(types.shape)}"
        raise ValueError(f"{name} has edge_type {came}; expected one integer for each edge, [{count}]")


def finite(predicted: Tensor) -> Tensor:
    """The same predictions ``[N, ..]``, if all of them are numbers.

    Example:
        >>> finite(torch.tensor([[0.5], [float("nan")]]))
        Traceback (most recent call last):
        ValueError: the predictions of 1 of 2 nodes are NaN or infinite; expected numbers: look...
    """
    if not bool(torch.isfinite(predicted).all()):
        bad = int((~torch.isfinite(predicted)).reshape(len(predicted), -1).any(dim=1).sum())
        raise ValueError(
            f"the predictions of {bad} of {len(predicted)} nodes are NaN or infinite; expected numbers: look "
            "for large values in x, and in the weights of the model"
        )
    return predicted


def is_integer(tensor: Tensor) -> bool:
    """Whether a tensor holds integers, and no truth values.

    Example:
        >>> is_integer(torch.tensor([1])), is_integer(torch.tensor([True])), is_integer(torch.tensor([1.0]))
        (True, False, False)
    """
    return not (tensor.is_floating_point() or tensor.is_complex() or tensor.dtype == torch.bool)
