"""What a prediction rests on: edges, features, and the labels of others, by the explainers of PyG."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass, fields, replace
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import torch
from torch import Tensor, nn
from torch_geometric.data import Data
from torch_geometric.explain import CaptumExplainer, Explainer, ExplainerAlgorithm, GNNExplainer
from torch_geometric.nn import MessagePassing
from torch_geometric.utils import k_hop_subgraph

from clgnn.collective.component import Component
from clgnn.data.graph import Graph, Graphs, Mask, known
from clgnn.engine.propagation import Normalization, keep_operator
from clgnn.estimators.labelling import Classes, Labelling, Numbers
from clgnn.nn import NAMES, Snowball
from clgnn.nn.labelled import linears

if TYPE_CHECKING:
    from clgnn.estimators.inside import Inside, Step

ALGORITHMS = ("gnn_explainer", "captum")
EPOCHS = 200
"""Of GNNExplainer, if nothing else is asked for."""
KINDS: tuple[Normalization, ...] = ("row", "sym", "mean", "sum")


@dataclass(frozen=True)
class Explanation:
    """What the prediction of a node rests on.

    The tables are sorted, the most important rows first. What can't have an influence is left out.

    Attributes:
        node: the node that is explained.
        prediction: its predicted class, or number.
        iteration: the iteration that predicts; 0 is the plain GNN, which sees no labels.
        edges: ``source``, ``target`` and ``importance`` of the edges. It is empty for a module that sends no
            messages in the way of PyG.
        features: ``column`` of x and ``importance``: the largest over the nodes.
        labels: ``node``; ``label``, the observed one, or else the most probable one that was predicted (the
            mean, for numbers); ``observed``; ``importance``; and for classes ``p(c)``, the share of the label
            samples that showed class c.
    """

    node: int
    prediction: int | float
    iteration: int
    edges: pd.DataFrame
    features: pd.DataFrame
    labels: pd.DataFrame


def explained(
    model: Inside, data: Graphs, node: int, observed_mask: Mask | None, algorithm: Any
) -> Explanation:
    """See :meth:`clgnn.CollectiveClassifier.explain`."""
    if not isinstance(data, Data):
        raise ValueError("several graphs are given; expected the one of the node to explain")
    graph, y = model._seen(data, observed_mask)
    if not isinstance(model.labelling_, Classes | Numbers):
        kind = type(model).__name__
        raise ValueError(f"a {kind} has several labels for each node; expected one to explain")
    if not isinstance(node, Integral) or isinstance(node, bool) or not 0 <= node < graph.num_nodes:
        raise ValueError(f"node is {node!r}; expected one of the nodes 0..{graph.num_nodes - 1}")
    step = model._last_step(graph, y)
    part, around = _around(step, graph, int(node))
    nodes, labels = around.cpu(), torch.cat(step.inputs, dim=1)[around]
    labelling, distribution = model.labelling_, model._distribution(graph, y).float().cpu()
    decided = labelling.decide(distribution)[nodes] if isinstance(labelling, Classes) else None
    with torch.random.fork_rng():
        torch.manual_seed(int(model.seed))  # the masks of an algorithm begin at random
        inner = Explained(step.component, part, labels, 1 if decided is None else None)
        index = int((nodes == node).nonzero())
        edge_index, of_nodes, of_edges = _masks(inner, part, index, _find(algorithm), decided)
    edges = pd.DataFrame({
        "source": nodes[edge_index[0]].numpy(), "target": nodes[edge_index[1]].numpy(),
        "importance": of_edges.numpy(),
    })  # fmt: skip
    importance = of_nodes[:, :-1].abs().amax(dim=0).numpy()
    features = pd.DataFrame({"column": np.arange(len(importance)), "importance": importance})
    seen = _labels(labelling, nodes, labels, y.cpu()[nodes], of_nodes[:, -1])
    prediction = labelling.predict(distribution)[int(node)].item()
    return Explanation(
        int(node), prediction, model.best_iteration_, _ranked(edges), _ranked(features), _ranked(seen)
    )


def _find(algorithm: Any) -> ExplainerAlgorithm:
    if isinstance(algorithm, ExplainerAlgorithm):
        return algorithm
    if algorithm == "gnn_explainer":
        return GNNExplainer(epochs=EPOCHS)
    if algorithm == "captum":
        try:
            return CaptumExplainer("IntegratedGradients")
        except ImportError as error:
            raise ValueError(
                "algorithm is 'captum', and captum is not installed: pip install captum, or leave it out"
            ) from error
    raise ValueError(
        f"algorithm is {algorithm!r}; expected {', '.join(ALGORITHMS)}, or an algorithm of "
        "torch_geometric.explain, such as GNNExplainer(epochs=500)"
    )


def _masks(
    model: Explained, part: Graph, index: int, algorithm: ExplainerAlgorithm, decided: Tensor | None
) -> tuple[Tensor, Tensor, Tensor]:
    """The edges that were explained ``[2, E]``, and the importances ``[n, p + 1]`` and ``[E]``.

    ``decided`` are the predicted classes ``[n]``, as a threshold may have them; None for numbers.
    """
    edge_index = model.edge_index
    gated = torch.cat([part.dense_x, part.dense_x.new_ones(part.num_nodes, 1)], dim=1)
    sends = edge_index.size(1) > 0 and any(isinstance(m, MessagePassing) for m in model.modules())
    try:
        explainer = Explainer(
            model,
            algorithm,
            explanation_type="model" if decided is None else "phenomenon",
            model_config={
                "mode": "regression" if decided is None else "multiclass_classification",
                "task_level": "node",
                "return_type": "raw",
            },
            node_mask_type="attributes",
            edge_mask_type="object" if sends else None,
        )
        target = None if decided is None else decided.to(part.x.device)
        found = explainer(gated, edge_index, target=target, index=index)
    except (ValueError, AssertionError) as error:  # the latter where messages go along some of the edges
        raise ValueError(
            f"{type(algorithm).__name__} can't explain this prediction ({error}); expected an algorithm that "
            f"gives node masks and edge masks ({', '.join(ALGORITHMS)}), and layers of PyG that send one "
            "message along each edge"
        ) from error
    none = torch.zeros(0)
    of_edges = found.edge_mask.detach().cpu() if sends else none
    pairs = edge_index.cpu() if sends else edge_index.cpu()[:, :0]
    return pairs, found.node_mask.detach().cpu(), of_edges


def _ranked(table: pd.DataFrame) -> pd.DataFrame:
    """The rows that have an influence, the most important first."""
    table = table[table["importance"] != 0]
    order = table["importance"].abs().sort_values(ascending=False, kind="stable").index
    return table.loc[order].reset_index(drop=True)


def _labels(
    labelling: Labelling, nodes: Tensor, labels: Tensor, y: Tensor, importance: Tensor
) -> pd.DataFrame:
    """What the GNN saw of each node's label: labels are ``[n, S, C]``, C = 0 for a GNN on X alone."""
    observed = known(y)
    shown = labels.mean(dim=1).cpu()
    columns: dict[str, Any] = {"node": nodes.cpu().numpy()}
    shares: dict[str, Any] = {}
    if shown.size(1) == 0:
        none = pd.DataFrame(columns=["node", "label", "observed", "importance"])
        return none.astype({"observed": bool, "importance": float})
    if isinstance(labelling, Classes):
        values = np.array(labelling.values)
        columns["label"] = values[torch.where(observed, y, shown.argmax(dim=1)).numpy()]
        shares = {f"p({value})": shown[:, i].numpy() for i, value in enumerate(labelling.values)}
    else:
        columns["label"] = labelling.restore(torch.where(observed, y.float(), shown[:, 0])).numpy()
    columns |= {"observed": observed.numpy(), "importance": importance.numpy()}
    return pd.DataFrame({**columns, **shares})


@torch.no_grad()
def _around(step: Step, graph: Graph, node: int) -> tuple[Graph, Tensor]:
    """The part of the graph that the output of a node depends on, and its nodes; the whole, when in doubt."""
    gnn = step.component.gnn
    labels = step.inputs[0][:, :1]
    step.component.eval()
    expected = step.component.runner.mean(graph, labels)[node]
    layers = sum(isinstance(module, MessagePassing) for module in gnn.modules())
    declared = getattr(gnn, "hops", None)
    for hops in (declared,) if isinstance(declared, int) else (layers, layers + 1) if layers else ():
        nodes, edge_index, at, kept = k_hop_subgraph(
            node, hops, graph.edge_index, relabel_nodes=True, num_nodes=graph.num_nodes
        )
        part = _part(graph, nodes, edge_index, kept)
        try:
            found = step.component.runner.mean(part, labels[nodes])[at[0]]
        except Exception:  # whatever a module wants with the whole graph
            break
        if torch.allclose(expected, found, rtol=1e-4, atol=1e-5 * max(1.0, float(expected.abs().max()))):
            return part, nodes
    return graph, torch.arange(graph.num_nodes, device=graph.x.device)


def _part(graph: Graph, nodes: Tensor, edge_index: Tensor, kept: Tensor) -> Graph:
    of_edges = {
        field.name: getattr(graph, field.name)[kept]
        for field in fields(graph)
        if field.name.startswith("edge_") and isinstance(getattr(graph, field.name), Tensor)
        if field.name != "edge_index"
    }
    x = graph.dense_x[nodes]
    return replace(graph, x=x, edge_index=edge_index, sizes=(len(nodes),), start_proba=None, **of_edges)


class Explained(nn.Module):
    """A component as PyG's explainers want it: ``forward(x, edge_index)``, with messages along the edges.

    The last column of x is a gate for each node's label: 1 shows it, 0 hides it. So a mask of x,
    ``[n, p + 1]``, says how much each feature and each label counts.

    Args:
        component: Θ, W and b; it is copied.
        graph: n nodes, the part of a graph that counts.
        labels: the label columns of all samples, ``[n, S, C]``.
        outputs: how many of the outputs are explained, the first ones; None for all.

    Attributes:
        edge_index: what ``forward`` is to be called with. A GNN of ours looks at self-loops too, but they are
            not among the edges that are explained.
    """

    def __init__(
        self, component: Component, graph: Graph, labels: Tensor, outputs: int | None = None
    ) -> None:
        super().__init__()
        self.component = deepcopy(component).eval()
        self.graph, self.labels, self.outputs = graph, labels, outputs
        self.edge_index = graph.edge_index
        self.own = type(component.gnn) in NAMES.values()
        if self.own:
            self.gather = Gather()
            self.edge_index = graph.edge_index[:, graph.edge_index[0] != graph.edge_index[1]]
            self.operators = {kind: Operator(self.gather, self.edge_index, graph, kind) for kind in KINDS}

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        features, gate = x[:, :-1], x[:, -1:]
        labels = gate.unsqueeze(1) * self.labels
        gnn, runner = self.component.gnn, self.component.runner
        if self.own:
            z = self._ours(gnn, features, edge_index, labels)
        elif "labels" in runner.takes:
            z = gnn(features, edge_index, labels=labels, **runner.edge_arguments(self.graph))
        else:
            given = runner.edge_arguments(self.graph)
            inputs = (torch.cat([features, sample], dim=1) for sample in labels.unbind(dim=1))
            z = torch.stack([gnn(each, edge_index, **given) for each in inputs]).mean(dim=0)
        out: Tensor = self.component.head(z)
        return out[:, : self.outputs]

    def _ours(self, gnn: nn.Module, x: Tensor, edge_index: Tensor, labels: Tensor) -> Tensor:
        for kind, operator in self.operators.items():
            keep_operator(edge_index, len(x), kind, operator)
        if not isinstance(gnn, Snowball):
            out: Tensor = gnn(x, edge_index, labels=labels)
            return out
        # its own backward pass has no gradient for edges: this is its formula as it stands
        *hidden, last = linears(gnn.layers)
        a = self.operators["row"]
        inputs = torch.cat([x.unsqueeze(1).expand(-1, labels.size(1), -1), labels], dim=2)
        blocks = a @ inputs
        for layer in hidden:
            blocks = torch.cat([blocks, a @ torch.tanh(layer(blocks))], dim=2)
        mean: Tensor = last(blocks.mean(dim=1))
        return mean


class Gather(MessagePassing):  # type: ignore[misc]
    """The weighted sum over the edges u → v, as messages that an explainer can mask."""

    def __init__(self) -> None:
        super().__init__(aggr="add")

    def forward(self, x: Tensor, edge_index: Tensor, weight: Tensor) -> Tensor:
        out: Tensor = self.propagate(edge_index, x=x, weight=weight)
        return out

    def message(self, x_j: Tensor, weight: Tensor) -> Tensor:
        return weight.unsqueeze(1) * x_j


class Operator:
    """The operator of :func:`clgnn.engine.propagation.propagation`, with messages in place of a matrix.

    Args:
        gather: sends the messages.
        edge_index: the edges without self-loops, ``[2, E]``.
        graph: all edges, and their weights.
        normalization: as for ``propagation``.
    """

    def __init__(
        self, gather: Gather, edge_index: Tensor, graph: Graph, normalization: Normalization
    ) -> None:
        self.gather, self.edge_index = gather, edge_index
        source, target = graph.edge_index
        ones = torch.ones(len(source), device=graph.x.device)
        weight = ones if graph.edge_weight is None else graph.edge_weight
        none = torch.zeros(graph.num_nodes, device=graph.x.device)
        loop = source == target
        self.own = None  # its rows are of all nodes
        self.loops = none.index_add(0, target[loop], weight[loop])
        if normalization in ("row", "sym"):
            self.loops = self.loops + 1
        (source, target), weight = edge_index, weight[~loop]
        degree = self.loops.index_add(0, target, weight)
        inverse = torch.where(degree > 0, 1 / degree, 0)
        if normalization in ("row", "mean"):
            self.loops, weight = self.loops * inverse, weight * inverse[target]
        elif normalization == "sym":
            root = inverse.sqrt()
            self.loops, weight = self.loops * inverse, weight * root[source] * root[target]
        self.weight = weight

    def __matmul__(self, dense: Tensor) -> Tensor:
        columns = dense.reshape(len(dense), -1)
        gathered: Tensor = self.gather(columns, self.edge_index, self.weight)
        return (gathered + self.loops.unsqueeze(1) * columns).view(dense.shape)
