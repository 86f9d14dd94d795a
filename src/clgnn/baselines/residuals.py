"""What a GNN leaves over is correlated along the edges (Jia and Benson 2020)."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import torch
import torch.nn.functional as F
from sklearn.base import clone
from torch import Tensor

from clgnn.baselines.arrays import Floats, tensor
from clgnn.baselines.gaussian_field import EXACT, LARGEST, Field, most_likely, normalised
from clgnn.baselines.rival import Rival
from clgnn.collective.learning import Validation
from clgnn.data.graph import Graph, Graphs, Mask, known
from clgnn.estimators.collective import CollectiveClassifier, CollectiveRegressor
from clgnn.estimators.labelling import Classes, Labelling, Numbers
from clgnn.estimators.masks import default_masks
from clgnn.estimators.node import NodeEstimator, OnEpoch, ignore
from clgnn.estimators.settings import Expected, number

_FIXED = (0.0, 0.5, 0.9, 0.99, LARGEST)
"""What validation may choose in place of the most likely α; the authors' LP-GNN has 1."""


class _Residuals(Rival):
    """What both have in common; the residuals are those of a base model."""

    base: NodeEstimator | None
    alpha: float | None

    fixed: ClassVar[frozenset[str]] = frozenset({"num_layers"})
    _learned: ClassVar[tuple[str, ...]] = ("base_", "alpha_", "beta_", "temperature_")
    _expected: ClassVar[dict[str, Expected]] = {
        "alpha": number(f"a number from -{LARGEST} to {LARGEST}", lambda v: abs(v) <= LARGEST, or_none=True)
    }
    _bases: ClassVar[type[CollectiveClassifier] | type[CollectiveRegressor]]

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
        base = self._bases(num_iterations=0) if self.base is None else self.base
        if not isinstance(base, NodeEstimator) or base._labelling is not self._labelling:
            raise ValueError(
                f"base is a {type(base).__name__}; expected an estimator of nodes such as "
                f"{self._bases.__name__}(num_iterations=0), or None"
            )
        self.base_: NodeEstimator = clone(base).fit(
            data, train_mask, val_mask, observed_mask=observed_mask, on_epoch=on_epoch
        )
        return super().fit(data, train_mask, val_mask, observed_mask=observed_mask)

    fit.__doc__ = Rival.fit.__doc__

    def _fit(self, graph: Graph, y: Tensor, validation: Validation | None, on_epoch: OnEpoch) -> None:
        self.temperature_ = 1.0
        field, residuals = self._field(graph, y, self._words(graph, y))
        likely, self.beta_ = most_likely(field, residuals)
        shown = y if validation is None else validation.y
        start = self._words(graph, shown)

        def candidates() -> Iterator[tuple[dict[str, Any], float]]:
            for alpha in (likely, *_FIXED) if self.alpha is None else (self.alpha,):
                yield {"alpha": alpha}, float(alpha)

        self.alpha_: float = self._choose(
            candidates(), lambda alpha: self._corrected(graph, shown, start, alpha), validation
        )
        if self.alpha_ != likely:
            scale = (residuals * field.expect(self.alpha_, residuals)[1]).sum()
            self.beta_ = residuals.size / max(float(scale), 1e-12 * residuals.size)
        self._calibrate(graph, shown, start, validation)

    def _distribution(self, graph: Graph, y: Tensor) -> Tensor:
        return self._corrected(graph, y, self._words(graph, y), self.alpha_)

    def _words(self, graph: Graph, y: Tensor) -> Tensor:
        """What the base model says, given the labels y if it sees labels."""
        unknown = self.labelling_.unknown(graph.num_nodes).to(y.device)
        return self.base_._distribution(graph, y if self.base_.sees_labels() else unknown).cpu()

    def _field(self, graph: Graph, y: Tensor, start: Tensor) -> tuple[Field, Floats]:
        """The Gaussian, and the residuals of the labels that are seen, ``[n, columns]``."""
        seen = known(y).cpu()
        residuals = self._left(start, y.cpu())[seen].numpy()
        return Field(normalised(graph), seen.numpy(), int(self.seed), EXACT), residuals

    def _expected_residuals(self, field: Field, residuals: Floats, alpha: float) -> Tensor:
        """What each node is expected to leave over, given the other nodes that are seen, ``[N, columns]``."""
        hidden, weighted = field.expect(alpha, residuals)
        out = np.empty((len(field.seen), residuals.shape[1]))
        out[~field.seen] = hidden
        out[field.seen] = residuals - weighted / field.precisions(alpha)[:, None]  # its own label left out
        return tensor(out)

    def planned_epochs(self) -> list[int]:
        return (self._bases(num_iterations=0) if self.base is None else self.base).planned_epochs()

    def _calibrate(self, graph: Graph, y: Tensor, start: Tensor, validation: Validation | None) -> None:
        """Sets the temperature, where predictions have a scale."""

    @abstractmethod
    def _left(self, start: Tensor, y: Tensor) -> Tensor:
        """What the base model leaves over, ``[N, columns]``; anything where y is unknown."""

    @abstractmethod
    def _corrected(self, graph: Graph, y: Tensor, start: Tensor, alpha: float) -> Tensor:
        """The predictions of the base model with the expected residuals."""


@dataclass(repr=False, eq=False)
class ResidualRegression(_Residuals):
    r"""A GNN for numbers, and a Gaussian on what it leaves over.

    .. math::
        r = y - \mu(X, A), \qquad r \sim N(0, \Gamma^{-1}), \qquad
        \Gamma = \beta (I - \alpha S), \quad S = D^{-1/2} A D^{-1/2}

        \hat y_U = \mu_U - \Gamma_{UU}^{-1} \Gamma_{UL} r_L, \qquad
        \mathrm{var}(y_U) = \mathrm{diag}(\Gamma_{UU}^{-1})

    The base model gives the mean μ. α and β are the most likely ones for the residuals of the training
    labels, :math:`r_L`; validation may prefer another α, 0 (no correlation) among them. In a
    prediction L are the observed nodes. Each of those is predicted from the other ones, its own label being
    left out. Without observed labels the means are those of the base model. The standard deviations are
    those of the Gaussian, calibrated on the validation labels.

    The authors' C-GNN learns μ by the same likelihood. Their LP-GNN fits μ first, as is done here, and has
    α = 1.

    Args:
        base: the model of the mean, any regressor of nodes; None is the plain GCN,
            ``CollectiveRegressor(num_iterations=0)``.
        alpha: from -0.999 to 0.999; None finds it.
        test_labels, metric, seed: see :class:`~clgnn.baselines.rival.Rival`; ``metric`` is ``"rmse"`` by
            default. The seed of the base model is its own.

    Cost: that of the base model, and about 20 sparse factorisations. Above 3000 nodes there are conjugate
    gradients in their place, O(E) for each step, and traces and variances are estimated from 30 random
    vectors.

    References:
        Jia and Benson: Residual Correlation in Graph Neural Network Regression, 2020.

    Example:
        >>> from torch_geometric.data import Data
        >>> line = torch.arange(59)
        >>> edges = torch.stack([torch.cat([line, line + 1]), torch.cat([line + 1, line])])
        >>> data = Data(x=torch.ones(60, 1), edge_index=edges, y=torch.arange(60).float().div(9).sin())
        >>> base = CollectiveRegressor(num_iterations=0, max_epochs=5)
        >>> model = ResidualRegression(base).fit(data, range(0, 60, 2))
        >>> model.score(data, range(1, 60, 2), observed_mask=range(0, 60, 2)) > 0.9
        True
    """

    base: NodeEstimator | None = None
    alpha: float | None = None

    _labelling: ClassVar[type[Classes] | type[Numbers]] = Numbers
    _bases: ClassVar[type[CollectiveClassifier] | type[CollectiveRegressor]] = CollectiveRegressor

    def _learn_labels(self, y: Tensor) -> Labelling:
        return Numbers.learn(y)

    def _left(self, start: Tensor, y: Tensor) -> Tensor:
        return (y - self.labelling_.parameters(start)[:, 0]).double().unsqueeze(1)

    def _corrected(self, graph: Graph, y: Tensor, start: Tensor, alpha: float) -> Tensor:
        field, residuals = self._field(graph, y, start)
        mean = self.labelling_.parameters(start)[:, 0].double()
        mean = mean + self._expected_residuals(field, residuals, alpha).squeeze(1)
        variance = np.empty(graph.num_nodes)
        variance[field.seen], variance[~field.seen] = 1 / field.precisions(alpha), field.variances(alpha)
        scale = tensor(variance / self.beta_).sqrt() * self.temperature_
        assert isinstance(self.labelling_, Numbers)
        return torch.stack([self.labelling_.restore(mean), scale * self.labelling_.std], dim=1).float()

    def _calibrate(self, graph: Graph, y: Tensor, start: Tensor, validation: Validation | None) -> None:
        if validation is None:
            return
        found = self._corrected(graph, y, start, self.alpha_)
        judged = validation.judged.cpu()
        self.temperature_, _ = validation.calibrate(self.labelling_.parameters(found)[judged])
        verdict = validation.judge(self._corrected(graph, y, start, self.alpha_))
        self.best_score_ = verdict.metric


@dataclass(repr=False, eq=False)
class ResidualPropagation(_Residuals):
    r"""A GNN for classes, and a Gaussian on what its probabilities leave over.

    .. math::
        R_L = Y_L - P_L, \qquad
        \hat R_U = \alpha (I - \alpha S)_{UU}^{-1} S_{UL} R_L, \qquad
        \hat P_v \propto \max(0, P_v + \hat R_v)

    :class:`ResidualRegression` with a column for each class, Y being one-hot: the residuals spread as labels
    do in label propagation. α is the most likely one for all columns, or what validation prefers, 0 (the base
    model) among them. Correct and Smooth is the same idea with a fixed number of steps and another scale.
    Each observed node is predicted from the other ones. Without observed labels the predictions are those of
    the base model.

    Args:
        base: the model of the probabilities, any classifier of nodes; None is the plain GCN,
            ``CollectiveClassifier(num_iterations=0)``.
        alpha: from -0.999 to 0.999; None finds it.
        test_labels, metric, seed: see :class:`~clgnn.baselines.rival.Rival`; the seed of the base model is
            its own.

    Cost: that of :class:`ResidualRegression`, with C columns.

    References:
        Jia and Benson: Residual Correlation in Graph Neural Network Regression, 2020.

    Example:
        >>> from clgnn import datasets, splits
        >>> data = datasets.load("citations", num_nodes=300)
        >>> split = splits.random(data, train_labels=60, test_nodes=100, val_nodes=50)
        >>> base = CollectiveClassifier(num_iterations=0, max_epochs=20)
        >>> model = ResidualPropagation(base).fit(data, split.train_mask, split.val_mask)
        >>> model.predict_proba(data, observed_mask=split.train_mask).shape
        torch.Size([300, 5])
    """

    base: NodeEstimator | None = None
    alpha: float | None = None

    _bases: ClassVar[type[CollectiveClassifier] | type[CollectiveRegressor]] = CollectiveClassifier

    def _left(self, start: Tensor, y: Tensor) -> Tensor:
        return F.one_hot(y.clamp(min=0), self._num_classes).double() - start

    def _corrected(self, graph: Graph, y: Tensor, start: Tensor, alpha: float) -> Tensor:
        field, residuals = self._field(graph, y, start)
        if alpha == 0 or not len(residuals):
            return start
        now = (start + self._expected_residuals(field, residuals, alpha)).clamp(min=0)
        total = now.sum(dim=1, keepdim=True)
        return torch.where(total > 0, now / total.clamp(min=1e-30), start)
