"""SPN, the structured proxy network: a CRF whose factors are two GNNs (Qu, Cai and Tang 2022)."""

from __future__ import annotations

import copy
import math
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self, TypeAlias

import numpy as np
import torch
import torch.nn.functional as F
from sklearn.base import clone
from torch import Tensor, nn

from clgnn.baselines.crf import belief_propagation, pairs_of
from clgnn.baselines.rival import Rival
from clgnn.collective.averaging import average
from clgnn.collective.component import Component
from clgnn.collective.learning import Epoch, Validation
from clgnn.data.graph import Graph, Graphs, Mask, known
from clgnn.estimators.collective import CollectiveClassifier
from clgnn.estimators.labelling import Classes
from clgnn.estimators.masks import default_masks
from clgnn.estimators.node import OnEpoch, ignore
from clgnn.estimators.settings import ABOVE_0, Expected, count, number
from clgnn.nn import GCN

State: TypeAlias = dict[str, Tensor]
_STRENGTHS = (1.0, 0.5, 0.2, 0.1, 0.0)
_CERTAIN = -50.0
"""θ of the classes that an observed node does not have."""


class _Edges(nn.Module):
    """A GCN, and what two ends of an edge say of their labels together, ``[M, C, C]``."""

    def __init__(self, features: int, hidden: int, classes: int, dropout: float) -> None:
        super().__init__()
        self.gnn = GCN(features, hidden, hidden, dropout=dropout)
        layers = (nn.Linear(2 * hidden, hidden), nn.ReLU(), nn.Linear(hidden, classes**2))
        self.joint = nn.Sequential(nn.Dropout(dropout), *layers)
        self.classes = classes

    def forward(self, graph: Graph, pairs: Tensor) -> Tensor:
        """log τ; the same for an edge and for the edge back."""
        h = torch.relu(self.gnn(graph.x, graph.edge_index, graph.edge_weight))
        there, back = (
            self.joint(torch.cat([h[ends[0]], h[ends[1]]], dim=1)).view(-1, self.classes, self.classes)
            for ends in (pairs, pairs.flip(0))
        )
        logits = (there + back.transpose(1, 2)) / 2
        joint: Tensor = logits.flatten(1).log_softmax(dim=1).view_as(logits)
        return joint


@dataclass(repr=False, eq=False)
class SPN(Rival):
    r"""A conditional random field of the labels: a node GNN and an edge GNN give its factors.

    .. math::
        P(y | X) \propto \exp\Big(\sum_v \theta_v(y_v) + \lambda \sum_{st} \theta_{st}(y_s, y_t)\Big), \qquad
        \theta_v = \log \tau_v, \quad
        \theta_{st} = \log \frac{\tau_{st}}{\bar\tau_s \bar\tau_t}

    with the pseudomarginals :math:`\tau_v = \sigma(\mathrm{GNN}(X, A)_v)` and
    :math:`\tau_{st} = \sigma(\mathrm{MLP}[h_s | h_t])`, h of another GNN, and the marginals
    :math:`\bar\tau` of :math:`\tau_{st}`.

    1. The proxy problem: τ_v learns the training labels, τ_st those of the edges whose two ends have one.
       If these were the true marginals, the field would have them on a tree.
    2. Refinement: a few gradient steps on the likelihood of the training labels in the field of their nodes,
       whose gradient is the difference of the labels and of the marginals that belief propagation finds.
    3. A prediction is the marginals by sum-product belief propagation. Observed nodes send what is known;
       their own prediction is made of what they hear.

    Validation chooses the epoch of the edge GNN, λ, and whether to refine. Where no edge has two training
    labels, nothing is known of edges: λ is 0, and the predictions are those of the node GNN.

    Args:
        base: the node GNN, a ``CollectiveClassifier`` with ``num_iterations=0``; None is the GCN.
        edge_strength: λ; None lets validation choose from 1, 0.5, 0.2, 0.1 and 0 (1 without it). (The authors
            choose a temperature of τ_st in the same way, as loopy messages count evidence several times.)
        num_steps: how often messages are sent.
        edge_epochs: of the edge GNN; validation looks ten times.
        refine_epochs: of step 2; 0 leaves it out, as does a fit without validation.
        hidden_channels, dropout, lr, weight_decay: of the edge GNN. The refinement has a tenth of ``lr``.
        class_weight: of the node GNN, if that is not given.
        test_labels, metric, seed: see :class:`~clgnn.baselines.rival.Rival`; the seed of the base model is
            its own.

    Cost: the trainings of two GNNs, and O(S E C²) for S steps of messages in each of about 50 candidates.

    References:
        Qu, Cai and Tang: Neural Structured Prediction for Inductive Node Classification, 2022.

    Example:
        >>> from clgnn import datasets, splits
        >>> data = datasets.load("citations", num_nodes=300)
        >>> split = splits.random(data, train_labels=60, test_nodes=100, val_nodes=50)
        >>> base = CollectiveClassifier("sage", num_iterations=0, max_epochs=20)
        >>> model = SPN(base, edge_epochs=10).fit(data, split.train_mask, split.val_mask)
        >>> model.predict_proba(data, observed_mask=split.train_mask).shape
        torch.Size([300, 5])
    """

    base: CollectiveClassifier | None = None
    edge_strength: float | None = None
    num_steps: int = 5
    edge_epochs: int = 200
    refine_epochs: int = 20
    hidden_channels: int = 16
    dropout: float = 0.5
    lr: float = 0.01
    weight_decay: float = 5e-4
    class_weight: Any = None

    fixed: ClassVar[frozenset[str]] = frozenset({"num_layers"})
    _learned: ClassVar[tuple[str, ...]] = ("base_", "edges_", "strength_")
    _expected: ClassVar[dict[str, Expected]] = {
        "edge_strength": number("a number, 0 or more", lambda v: v >= 0, or_none=True),
        "num_steps": count(),
        "edge_epochs": count(),
        "refine_epochs": count(0),
        "lr": ABOVE_0,
    }

    def fit(
        self,
        data: Graphs,
        train_mask: Mask | None = None,
        val_mask: Mask | None = None,
        *,
        observed_mask: Mask | None = None,
        on_epoch: OnEpoch = ignore,
    ) -> Self:
        train_mask, val_mask = default_masks(data, train_mask, val_mask)
        self._check_parameters()
        base = self._node_gnn()
        plain = isinstance(base, CollectiveClassifier) and base.num_iterations == 0
        if not plain or base.start not in ("plain", "paper"):
            raise ValueError(
                f"base is {base!r}; expected a CollectiveClassifier with num_iterations=0 and start='plain', "
                "or None"
            )
        self.base_: CollectiveClassifier = clone(base).fit(data, train_mask, val_mask, on_epoch=on_epoch)
        return super().fit(data, train_mask, val_mask, observed_mask=observed_mask, on_epoch=on_epoch)

    fit.__doc__ = Rival.fit.__doc__

    def _node_gnn(self) -> CollectiveClassifier:
        if self.base is not None:
            return self.base
        return CollectiveClassifier(num_iterations=0, class_weight=self.class_weight, seed=self.seed)

    def _fit(self, graph: Graph, y: Tensor, validation: Validation | None, on_epoch: OnEpoch) -> None:
        pairs = pairs_of(graph)
        labelled = pairs[:, known(y)[pairs].all(dim=0)]
        shown = y if validation is None else validation.y
        module_seed = int(np.random.SeedSequence([self.seed, 0]).generate_state(1)[0])
        # Dropout and initial weights draw from torch's global generators: seeded here, restored after.
        with torch.random.fork_rng():
            torch.manual_seed(module_seed)
            self.edges_ = self._blank("edges_", {})
            node = self._node_potentials(graph)

            def judge(chosen: tuple[State, float]) -> Tensor:
                self.edges_.load_state_dict(chosen[0])
                return self._marginals(graph, pairs, shown, node, chosen[1])

            proxy = self._proxy(graph, y, labelled, validation is not None, on_epoch)
            state, self.strength_ = self._choose(proxy, judge, validation)
            self.edges_.load_state_dict(state)
            if validation is None or not self.refine_epochs or not self.strength_ or not labelled.numel():
                return

            def judge_refined(chosen: tuple[State, State]) -> Tensor:
                self._component.load_state_dict(chosen[0])
                self.edges_.load_state_dict(chosen[1])
                return self._marginals(graph, pairs, shown, self._node_potentials(graph), self.strength_)

            refined = self._choose(self._refined(graph, y, labelled, on_epoch), judge_refined, validation)
            self._component.load_state_dict(refined[0])
            self.edges_.load_state_dict(refined[1])

    def _proxy(
        self, graph: Graph, y: Tensor, labelled: Tensor, looks: bool, on_epoch: OnEpoch
    ) -> Iterator[tuple[dict[str, Any], tuple[State, float]]]:
        """Trains the edge GNN on the labelled edges, and gives its states on the way, with each λ."""
        strengths = _STRENGTHS if self.edge_strength is None else (float(self.edge_strength),)
        if not labelled.numel():
            yield {"edge_epoch": 0, "edge_strength": 0.0}, (copy.deepcopy(self.edges_.state_dict()), 0.0)
            return
        optimizer = torch.optim.Adam(self.edges_.parameters(), lr=self.lr, weight_decay=self.weight_decay)
        targets = y[labelled[0]] * self._num_classes + y[labelled[1]]
        began, every = time.perf_counter(), max(1, self.edge_epochs // 10)
        for epoch in range(self.edge_epochs):
            self.edges_.train()
            optimizer.zero_grad()
            loss = F.nll_loss(self.edges_(graph, labelled).flatten(1), targets)
            loss.backward()
            optimizer.step()
            on_epoch(Epoch(1, epoch, loss.item(), math.nan, time.perf_counter() - began))
            last = epoch + 1 == self.edge_epochs
            if last or (looks and (epoch + 1) % every == 0):
                state = copy.deepcopy(self.edges_.state_dict())
                for strength in strengths:
                    yield {"edge_epoch": epoch, "edge_strength": strength}, (state, strength)
                self.edges_.load_state_dict(state)

    def _refined(
        self, graph: Graph, y: Tensor, labelled: Tensor, on_epoch: OnEpoch
    ) -> Iterator[tuple[dict[str, Any], tuple[State, State]]]:
        """Gradient steps on the likelihood of the labels in the field of the labelled nodes alone."""

        def states() -> tuple[State, State]:
            return copy.deepcopy(self._component.state_dict()), copy.deepcopy(self.edges_.state_dict())

        yield {"refine_epoch": -1}, states()
        parameters = [*self._component.parameters(), *self.edges_.parameters()]
        optimizer = torch.optim.Adam(parameters, lr=self.lr / 10)
        nodes, began = known(y), time.perf_counter()
        place = nodes.cumsum(0) - 1  # of a labelled node among them
        truth = y[nodes]
        ends = truth[place[labelled]]
        for epoch in range(self.refine_epochs):
            optimizer.zero_grad()
            node = self._node_potentials(graph, learn=True)[nodes]
            edge = self.strength_ * _potentials(self.edges_.train()(graph, labelled))
            with torch.no_grad():
                q, joint = belief_propagation(node, edge, place[labelled], self.num_steps)
            found = node.gather(1, truth.unsqueeze(1)).sum() - (q * node).sum()
            rows = torch.arange(len(edge), device=y.device)
            found = found + edge[rows, ends[0], ends[1]].sum() - (joint * edge).sum()
            loss = -found / len(truth)
            loss.backward()
            optimizer.step()
            on_epoch(Epoch(2, epoch, loss.item(), math.nan, time.perf_counter() - began))
            if (epoch + 1) % max(1, self.refine_epochs // 4) == 0:
                now = states()
                yield {"refine_epoch": epoch}, now
                self._component.load_state_dict(now[0])
                self.edges_.load_state_dict(now[1])

    def _distribution(self, graph: Graph, y: Tensor) -> Tensor:
        return self._marginals(graph, pairs_of(graph), y, self._node_potentials(graph), self.strength_)

    @torch.no_grad()
    def _marginals(self, graph: Graph, pairs: Tensor, y: Tensor, node: Tensor, strength: float) -> Tensor:
        """The marginals ``[N, C]``, given observed labels."""
        if strength == 0 or not pairs.numel():
            return node.softmax(dim=1)
        edge = strength * _potentials(self.edges_.to(y.device).eval()(graph, pairs))
        truth = F.one_hot(y.clamp(min=0), self._num_classes)
        sent = torch.where(known(y).unsqueeze(1), _CERTAIN * (1 - truth), node)
        return belief_propagation(sent, edge, pairs, self.num_steps, own=node)[0]

    def _node_potentials(self, graph: Graph, learn: bool = False) -> Tensor:
        """log τ of the nodes, ``[N, C]``."""
        component = self._component.to(graph.x.device)
        component.train(learn)
        nothing = torch.zeros(graph.num_nodes, 1, component.columns, device=graph.x.device)
        with torch.set_grad_enabled(learn):
            outputs = average(component, graph, nothing)
        return Classes.log_decode(outputs, self.base_.calibration_)

    @property
    def _component(self) -> Component:
        return self.base_.components_[0]

    def planned_epochs(self) -> list[int]:
        return [*self._node_gnn().planned_epochs(), int(self.edge_epochs), int(self.refine_epochs)]

    def _blank(self, name: str, state: Mapping[str, Tensor], index: int = 0) -> nn.Module:
        return _Edges(self.n_features_in_, int(self.hidden_channels), self._num_classes, float(self.dropout))


def _potentials(joint: Tensor) -> Tensor:
    """θ of edges from their log τ, ``[M, C, C]``: what the pair says beyond its two ends."""
    return joint - joint.logsumexp(dim=2, keepdim=True) - joint.logsumexp(dim=1, keepdim=True)
