"""Correct and Smooth, on top of any GNN (Huang et al. 2021)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any, ClassVar, Self

import torch
from sklearn.base import clone
from torch import Tensor
from torch_geometric.nn import CorrectAndSmooth as Post

from clgnn.baselines.label_propagation import normalised_edges
from clgnn.baselines.rival import Rival
from clgnn.collective.learning import Validation
from clgnn.data.graph import Graph, Graphs, Mask, known
from clgnn.estimators.collective import CollectiveClassifier
from clgnn.estimators.masks import default_masks
from clgnn.estimators.node import NodeEstimator, OnEpoch, ignore
from clgnn.estimators.settings import Expected, count, number

_ALPHA = (0.8, 0.0, 0.5, 0.95, 1.0)


@dataclass(repr=False, eq=False)
class CorrectAndSmooth(Rival):
    r"""A GNN's predictions, corrected by the errors that are seen and smoothed along the edges.

    With the predictions Z of the base model, Y of the observed nodes L, and
    :math:`S = D^{-1/2} A D^{-1/2}`:

    .. math::
        E^{(0)}_v &= (Y_v - Z_v) [v \in L], \qquad
        E^{(l+1)} = \alpha_1 S E^{(l)} + (1 - \alpha_1) E^{(0)}, \qquad \hat Z = Z + \gamma E

        \hat Y^{(0)}_v &= Y_v \text{ if } v \in L \text{ else } \hat Z_v, \qquad
        \hat Y^{(l+1)} = \alpha_2 S \hat Y^{(l)} + (1 - \alpha_2) \hat Y^{(0)}.

    This is PyG's ``CorrectAndSmooth``. Each of the two steps can be left out: on top of a model that has
    seen labels they can do harm, so that validation decides on both. Without observed labels, the
    predictions are those of the base model.

    Args:
        base: the model to start from, any classifier of nodes; None is
            the plain GCN, ``CollectiveClassifier(num_iterations=0)``.
        correction_alpha, smoothing_alpha: α1 and α2 from 0 to 1; 0 leaves the step out. None lets
            validation choose from 0 (left out), 0.5, 0.8, 0.95, 1 (0.8 without it).
        num_steps: propagation steps of each.
        autoscale: whether γ is found for each node (C&S's autoscale) or is 1.
        test_labels, metric, seed: see :class:`~clgnn.baselines.rival.Rival`; the seed of the base
            model is its own.

    Cost: that of the base model, and O(L E C) for each of 25 candidates.

    References:
        Huang, He, Singh, Lim and Benson: Combining Label Propagation and Simple Models Out-performs Graph
        Neural Networks, 2021.

    Example:
        >>> from clgnn import datasets, splits
        >>> data = datasets.load("citations", num_nodes=300)
        >>> split = splits.random(data, train_labels=60, test_nodes=100, val_nodes=50)
        >>> base = CollectiveClassifier("sage", num_iterations=0, max_epochs=20)
        >>> model = CorrectAndSmooth(base).fit(data, split.train_mask, split.val_mask)
        >>> model.predict_proba(data, observed_mask=split.train_mask).shape
        torch.Size([300, 5])
    """

    base: NodeEstimator | None = None
    correction_alpha: float | None = None
    smoothing_alpha: float | None = None
    num_steps: int = 50
    autoscale: bool = True

    fixed: ClassVar[frozenset[str]] = frozenset({"num_layers"})  # of propagation, not of a GNN
    _learned: ClassVar[tuple[str, ...]] = ("base_", "alphas_")
    _choices: ClassVar[dict[str, tuple[Any, ...]]] = {"autoscale": (True, False)}
    _expected: ClassVar[dict[str, Expected]] = {
        "num_steps": count(),
        "correction_alpha": number("a number from 0 to 1", lambda v: 0 <= v <= 1, or_none=True),
        "smoothing_alpha": number("a number from 0 to 1", lambda v: 0 <= v <= 1, or_none=True),
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
        base = CollectiveClassifier(num_iterations=0) if self.base is None else self.base
        if not isinstance(base, NodeEstimator):
            raise ValueError(f"base is a {type(base).__name__}; expected a classifier of nodes, or None")
        self.base_: NodeEstimator = clone(base).fit(
            data, train_mask, val_mask, observed_mask=observed_mask, on_epoch=on_epoch
        )
        super().fit(data, train_mask, val_mask, observed_mask=observed_mask)
        if not torch.equal(self.base_.classes_, self.classes_):
            raise ValueError(
                f"the base model knows the classes {self.base_.classes_.tolist()}, and train_mask has "
                f"{self.classes_.tolist()}; expected the same: give both the same labels"
            )
        return self

    fit.__doc__ = Rival.fit.__doc__

    def _fit(self, graph: Graph, y: Tensor, validation: Validation | None, on_epoch: OnEpoch) -> None:
        shown = y if validation is None else validation.y
        start = self._base(graph, shown)
        corrections = _ALPHA if self.correction_alpha is None else (self.correction_alpha,)
        smoothings = _ALPHA if self.smoothing_alpha is None else (self.smoothing_alpha,)

        def candidates() -> Iterator[tuple[dict[str, Any], tuple[float, float]]]:
            for correction, smoothing in product(corrections, smoothings):
                settings = {"correction_alpha": correction, "smoothing_alpha": smoothing}
                yield settings, (correction, smoothing)

        chosen = self._choose(
            candidates(), lambda alphas: self._post_process(graph, shown, start, *alphas), validation
        )
        self.alphas_: list[float] = list(chosen)

    def _distribution(self, graph: Graph, y: Tensor) -> Tensor:
        correction, smoothing = self.alphas_
        return self._post_process(graph, y, self._base(graph, y), correction, smoothing)

    def _base(self, graph: Graph, y: Tensor) -> Tensor:
        """Z ``[N, C]``, of a base model that sees the labels y, if it is one that does."""
        shown = y if self.base_.sees_labels() else torch.full_like(y, -1)
        return self.base_._distribution(graph, shown).to(y.device)

    def planned_epochs(self) -> list[int]:
        return (CollectiveClassifier(num_iterations=0) if self.base is None else self.base).planned_epochs()

    def _post_process(
        self, graph: Graph, y: Tensor, start: Tensor, correction: float, smoothing: float
    ) -> Tensor:
        observed = known(y)
        if not bool(observed.any()):
            return start
        edge_index, edge_weight = normalised_edges(graph)
        given = (y[observed], observed, edge_index, edge_weight)
        post = Post(self.num_steps, correction, self.num_steps, smoothing, self.autoscale)
        now = start
        if correction > 0:
            now = post.correct(now, *given)
            now = torch.where(now.isnan(), start, now)  # no error anywhere: autoscale has 0 / 0
        if smoothing > 0:
            now = post.smooth(now, *given)
        now = now.clamp(min=0)
        total = now.sum(dim=1, keepdim=True)
        return torch.where(total > 0, now / total.clamp(min=1e-30), start)
