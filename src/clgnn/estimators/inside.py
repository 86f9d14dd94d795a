"""What is inside a fitted recursion: its representation, what a prediction rests on, and all as a module."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from clgnn.collective.component import Component
from clgnn.collective.inference import TestGraph, infer
from clgnn.data.graph import Graph, Graphs, Mask, Nodes, by_graph
from clgnn.engine.runner import Runner
from clgnn.estimators.replay import Replay
from clgnn.nn import GCN, GIN, SAGE, ColumnNetwork, Krylov, NIPMean, Snowball

if TYPE_CHECKING:
    from clgnn.estimators.explanation import Explanation
    from clgnn.estimators.module import CollectiveModule


@dataclass(frozen=True)
class Step:
    """The last step of a prediction, which gives the outputs.

    Attributes:
        component: Θ_t of the iteration that predicts.
        inputs: its label columns, ``[N, K, C]`` for each of J masks; C = 0 for a GNN on X alone.
    """

    component: Component
    inputs: list[Tensor]


@torch.no_grad()
def last_step(components: Sequence[Component], test: TestGraph) -> Step:
    """The GNN that predicts, and the label columns that it sees.

    Args:
        components: Θ_0, .., Θ_t of the iteration t that predicts.
        test: the graph to predict. If Θ_0 predicts and there is a start, that is the plain GNN.
    """
    *before, last = components
    if not before and test.start is not None:
        n = test.graph.num_nodes
        return Step(last, [torch.zeros(n, 1, last.columns, device=test.graph.x.device)])
    return Step(last, test.inputs(len(before), infer(before, test)))


def affine_layers(gnn: nn.Module) -> list[nn.Linear]:
    """The layers of a GNN of ours whose sum is its output: W and b of equation 1.

    Example:
        >>> [layer.out_features for layer in affine_layers(SAGE(5, 8, 3))]
        [3, 3]
    """
    if isinstance(gnn, GCN | Snowball):
        found: list[Any] = [gnn.layers[-1]]
    elif isinstance(gnn, GIN):
        found = [gnn.leave[-1]]
    elif isinstance(gnn, Krylov | ColumnNetwork):
        found = [gnn.last]
    elif isinstance(gnn, SAGE | NIPMean):
        found = [gnn.own[-1], gnn.neighbors[-1]]
    else:
        raise ValueError(
            f"it is not known which layer of {type(gnn).__name__} is its last affine one; expected a GNN of "
            "clgnn.nn, or a module of your own, which gets a head"
        )
    return found


def readout(component: Component) -> tuple[Tensor, Tensor]:
    """W ``[outputs, d]`` and b ``[outputs]`` of equation 1: the outputs are ``Z Wᵀ + b``."""
    layers = [component.head] if isinstance(component.head, nn.Linear) else affine_layers(component.gnn)
    biases: list[Tensor] = [layer.bias for layer in layers if layer.bias is not None]
    return torch.cat([layer.weight for layer in layers], dim=1), torch.stack(biases).sum(dim=0)


@torch.no_grad()
def representation(step: Step, graph: Graph) -> Tensor:
    r"""Z of equation 2, the mean over all samples, ``[N, d]``.

    .. math:: Z_v = \frac{1}{JK} \sum_{j=1}^J \sum_{k=1}^K \mathrm{GNN}([X | Y_{jk}], A; \Theta_t)_v

    For a module with a head it is what the head reads. A GNN of ours ends in an affine layer, which is the
    head: Z then is what this layer reads. A copy of the GNN whose affine layer is the identity finds it.
    """
    runner = step.component.runner
    if not isinstance(step.component.head, nn.Linear):
        gnn = _without_readout(step.component.gnn)
        runner = Runner(gnn, runner.propagation, runner.memory_budget, runner.precision)
    runner.gnn.eval()
    return torch.stack([runner.mean(graph, labels) for labels in step.inputs]).mean(dim=0)


def _without_readout(gnn: nn.Module) -> nn.Module:
    """A copy that gives what the affine layers of a GNN read, side by side."""
    made = copy.deepcopy(gnn)
    layers = affine_layers(made)
    width = sum(layer.in_features for layer in layers)
    at = 0
    for layer in layers:
        blocks = torch.zeros(width, layer.in_features, device=layer.weight.device)
        blocks[at : at + layer.in_features] = torch.eye(layer.in_features)
        at += layer.in_features
        layer.weight, layer.out_features = nn.Parameter(blocks), width
        if layer.bias is not None:
            layer.bias = nn.Parameter(torch.zeros(width, device=layer.weight.device))
    return made


class Inside(Replay):
    """What both estimators show of themselves, beside their predictions."""

    def embed(self, data: Graphs, observed_mask: Mask | None = None) -> Nodes:
        r"""The representation Z of each node, in the iteration that predicts (equation 2), ``[N, d]``.

        It is the mean over the K samples, before the head: :math:`P(y_v) = \sigma((W Z_v + b) / \tau)`, where
        τ is ``temperature_``, and ``doubt_`` is mixed in afterwards. So a linear read-out of Z gives the
        prediction. For a module of your own, Z is what the module gives. Our GNNs end in an affine layer, and
        Z is what this layer reads: :math:`\hat A H_{L-1}` for GCN, ``[h | mean of the neighbours' h]`` for
        GraphSAGE, X and all layers for Snowball, which reads them all, ``[X | Y | mean of the neighbours'
        h]`` for NIP-mean, and the last hidden layer for the others.
        :func:`clgnn.estimators.inside.readout` gives W and b.

        Args:
            data: one graph or a list of graphs, of any size.
            observed_mask: the labels that may be seen, as for ``predict_proba``.

        Returns:
            ``[N, d]``; a list of them for a list of graphs. The same seed gives the same bits.

        Raises:
            ValueError: if other estimators than a GNN predict, as a start does that no iteration is surely
                better than.

        Example:
            >>> from clgnn import CollectiveClassifier, datasets
            >>> data = datasets.load("citations", num_nodes=100)
            >>> model = CollectiveClassifier(num_iterations=1, max_epochs=5).fit(data, train_mask=range(50))
            >>> model.embed(data).shape
            torch.Size([100, 16])
        """
        graph, y = self._seen(data, observed_mask)
        return by_graph(representation(self._last_step(graph, y), graph).float().cpu(), data)

    def explain(
        self, data: Graphs, node: int, observed_mask: Mask | None = None, *, algorithm: Any = "gnn_explainer"
    ) -> Explanation:
        """Which edges, features and labels of others the prediction of a node rests on.

        It explains the iteration that predicts: its GNN, with the labels that it sees, observed or drawn from
        the predictions of the iteration before.

        Args:
            data: one graph.
            node: the node, 0..N-1.
            observed_mask: the labels that may be seen, as for ``predict_proba``.
            algorithm: ``"gnn_explainer"``, ``"captum"`` (integrated gradients, if captum is installed), or an
                algorithm of ``torch_geometric.explain`` that gives node masks, such as
                ``GNNExplainer(epochs=500)``.

        Returns:
            An :class:`~clgnn.estimators.explanation.Explanation`: the tables ``edges``, ``features`` and
            ``labels``, the most important first. The same seed gives the same numbers.

        Example:
            >>> from clgnn import CollectiveClassifier, datasets
            >>> data = datasets.load("citations", num_nodes=100)
            >>> model = CollectiveClassifier(num_iterations=1, max_epochs=5).fit(data, train_mask=range(50))
            >>> list(model.explain(data, node=60).edges)
            ['source', 'target', 'importance']
        """
        from clgnn.estimators.explanation import explained

        return explained(self, data, node, observed_mask, algorithm)

    def as_module(self) -> CollectiveModule:
        """The fitted recursion Θ_0, .., Θ_T as one ``torch.nn.Module``, a copy of its own.

        ``module(x, edge_index, edge_weight=None, y=None)`` gives what ``predict_proba`` gives, bit for bit.
        See :class:`~clgnn.estimators.module.CollectiveModule`.

        Raises:
            ValueError: if the recursion starts from something else than a GNN.

        Example:
            >>> from clgnn import CollectiveClassifier, datasets
            >>> data = datasets.load("citations", num_nodes=100)
            >>> model = CollectiveClassifier(num_iterations=1, max_epochs=5).fit(data, train_mask=range(50))
            >>> module = model.as_module().eval()
            >>> bool((module(data.x, data.edge_index) == model.predict_proba(data)).all())
            True
        """
        from clgnn.estimators.module import CollectiveModule

        return CollectiveModule(self)

    def _last_step(self, graph: Graph, y: Tensor) -> Step:
        """The GNN that predicts, with its inputs; refuses a start that is no GNN."""
        used = self._used(graph)
        if len(used) == 1 and self._other_start() is not None:
            raise ValueError(
                f"the prediction is that of {self._other_start()}, from which the recursion starts, and no "
                "GNN's: there is nothing inside to show; fit with caution=0, keep_best=False or start='plain'"
            )
        return last_step(used, self._test_graph(graph, y, self._start(self.components_)))

    def _other_start(self) -> str | None:
        """What the recursion starts from, in words, if that is no GNN of its own."""
        self._check_fitted()
        if isinstance(self.start, str) and self.start == "given":
            return "given probabilities"
        if not self.starts_:
            return None
        names = [type(one).__name__ for one in self.starts_] + ["the plain GNN"] * self.starts_with_plain_
        return names[0] if len(names) == 1 else f"the mean of {', '.join(names[:-1])} and {names[-1]}"
