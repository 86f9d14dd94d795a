"""PL-EM: relational naive Bayes, by EM over the pseudolikelihood (Pfeiffer, Neville, Bennett 2015)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from torch import Tensor

from clgnn.baselines.arrays import Features, Floats, adjacency, features, one_hot, softmax, tensor
from clgnn.baselines.rival import Rival
from clgnn.collective.learning import Validation
from clgnn.data.graph import Graph
from clgnn.estimators.node import OnEpoch
from clgnn.estimators.settings import Expected, count, number

_SMOOTHING = (1.0, 0.1, 10.0)
_TOLERANCE = 1e-4


@dataclass(frozen=True)
class _Theta:
    """Relational naive Bayes.

    Attributes:
        prior: P(y), ``[C]``.
        relation: P(c | y), the class c of a neighbour of a node of class y, ``[C, C]``.
        mean: of each feature in each class, ``[C, p]``: P(x = 1 | y), or a Gaussian's mean.
        variance: of a Gaussian, ``[C, p]``; empty for Bernoulli features.
    """

    prior: Floats
    relation: Floats
    mean: Floats
    variance: Floats


@dataclass(frozen=True)
class _Table:
    """The features as the likelihood takes them.

    Attributes:
        x: ``[N, p]``, 0 or 1 for Bernoulli features.
        mean: of each feature over all nodes, ``[p]``; strictly between 0 and 1 for Bernoulli features.
        squares: of x, for Gaussian ones.
    """

    x: Features
    mean: Floats
    squares: Floats | None = None


@dataclass(repr=False, eq=False)
class PLEM(Rival):
    r"""Relational naive Bayes, with EM over the pseudolikelihood of all nodes.

    Given its class, a node's features and the classes of its neighbours are independent:

    .. math::
        \mathrm{score}_v(y) = \log P(y) + \sum_i \log P(x_{vi} | y)
        + \sum_{u \in N(v)} \sum_c q_u(c) \log P(c | y), \qquad q_v = \sigma(\mathrm{score}_v),

    where q_u is the neighbour's soft label, one-hot if it is known.

    - M-step: all parameters by (expected) counts over all nodes, labelled ones hard and the others soft,
      with ``smoothing`` pseudo-observations. The first one is over the labelled nodes alone.
    - E-step: q to a fixed point, all nodes at once, damped by half; known labels stay.

    With ``class_rate``, the scores are shifted, in every step of the E-step and of prediction, so that
    the mean of q over the unknown nodes is the class rate of the training labels: the correction of
    Pfeiffer et al. for labels that propagate too far.

    Args:
        likelihood: of the features: ``"bernoulli"`` (whether a feature is above 0), ``"gaussian"``, or
            ``"auto"``: Gaussian if any feature is negative.
        num_rounds: EM rounds; validation chooses the best of them, 0 (the labelled nodes alone) included.
            Without validation the last one counts.
        num_steps: of a fixed point, at most.
        smoothing: how many pseudo-observations each class starts with: of a feature, with its distribution
            over all nodes; of a class and of a neighbour's class, all alike. None lets validation choose from
            0.1, 1, 10 (1 without it).
        class_rate: whether the class rate is corrected; None lets validation choose (not, without it).
        class_weight: None, ``"balanced"``, or a weight for each class, which the predicted probabilities are
            multiplied by; EM is the same.
        test_labels, metric, seed: see :class:`~clgnn.baselines.rival.Rival`; nothing is random.

    Cost: an M-step is O(nnz(X) C), a step of the fixed point O(E C).

    References:
        Pfeiffer, Neville and Bennett: Overcoming Relational Learning Biases to Accurately Predict
        Preferences in Large Scale Networks, 2015. Xiang and Neville: Pseudolikelihood EM for
        Within-network Relational Learning, 2008.

    Example:
        >>> from clgnn import datasets, splits
        >>> data = datasets.load("citations", num_nodes=300)
        >>> split = splits.connected(data, train_labels=60, test_nodes=100, val_nodes=50)
        >>> model = PLEM(num_rounds=2).fit(data, split.train_mask, split.val_mask)
        >>> model.predict_proba(data, observed_mask=split.train_mask).shape
        torch.Size([300, 5])
    """

    likelihood: Literal["auto", "bernoulli", "gaussian"] = "auto"
    num_rounds: int = 10
    num_steps: int = 50
    smoothing: float | None = None
    class_rate: bool | None = None
    class_weight: Any = None

    _learned: ClassVar[tuple[str, ...]] = (
        "prior_",
        "relation_",
        "mean_",
        "variance_",
        "rates_",
        "likelihood_",
        "class_rate_",
    )
    _choices: ClassVar[dict[str, tuple[Any, ...]]] = {
        "likelihood": ("auto", "bernoulli", "gaussian"),
        "class_rate": (None, True, False),
    }
    _expected: ClassVar[dict[str, Expected]] = {
        "num_rounds": count(0),
        "num_steps": count(),
        "smoothing": number("a number above 0", lambda v: v > 0, or_none=True),
    }

    def _fit(self, graph: Graph, y: Tensor, validation: Validation | None, on_epoch: OnEpoch) -> None:
        x, a, labels = features(graph), adjacency(graph), y.cpu().numpy()
        negative = x.min() < 0 if isinstance(x, np.ndarray) else x.data.min(initial=0) < 0
        automatic = "gaussian" if negative else "bernoulli"
        self.likelihood_: str = automatic if self.likelihood == "auto" else self.likelihood
        counted = np.bincount(labels[labels >= 0], minlength=self._num_classes)
        self.rates_ = tensor(counted / counted.sum())
        table = self._table(x)
        rates = (False, True) if self.class_rate is None else (self.class_rate,)

        def candidates() -> Iterator[tuple[dict[str, Any], tuple[_Theta, bool]]]:
            for class_rate in rates:
                for smoothing in _SMOOTHING if self.smoothing is None else (self.smoothing,):
                    settings = {"class_rate": class_rate, "smoothing": smoothing}
                    rounds = enumerate(self._em(table, a, labels, smoothing, class_rate))
                    for place, theta in rounds if validation is not None else [*rounds][-1:]:
                        yield {**settings, "round": place}, (theta, class_rate)

        def judge(candidate: tuple[_Theta, bool]) -> Tensor:
            assert validation is not None
            return tensor(self._expect(table, a, validation.y.cpu().numpy(), *candidate)[1])

        theta, self.class_rate_ = self._choose(candidates(), judge, validation)
        self.prior_, self.relation_ = tensor(theta.prior), tensor(theta.relation)
        self.mean_, self.variance_ = tensor(theta.mean), tensor(theta.variance)

    def _distribution(self, graph: Graph, y: Tensor) -> Tensor:
        parts = (self.prior_, self.relation_, self.mean_, self.variance_)
        theta = _Theta(*(part.numpy() for part in parts))
        table = self._table(features(graph))
        return tensor(self._expect(table, adjacency(graph), y.cpu().numpy(), theta, self.class_rate_)[1])

    def _table(self, x: Features) -> _Table:
        if self.likelihood_ == "gaussian":
            dense = np.asarray(x if isinstance(x, np.ndarray) else x.toarray(), dtype=np.float64)
            return _Table(dense, dense.mean(axis=0), dense**2)
        above: Features = np.asarray(x > 0, dtype=np.float64) if isinstance(x, np.ndarray) else x.copy()
        if not isinstance(above, np.ndarray):
            above.data = np.asarray(above.data > 0, dtype=np.float64)
        return _Table(above, (np.asarray(above.sum(axis=0)) + 1) / (above.shape[0] + 2))

    def _em(
        self, table: _Table, a: sp.csr_array, y: NDArray[np.int64], smoothing: float, class_rate: bool
    ) -> Iterator[_Theta]:
        """The parameters after each round, from those of the labelled nodes on."""
        q = one_hot(y, self._num_classes)
        for _ in range(self.num_rounds):
            theta = self._maximise(table, a, q, smoothing)
            yield theta
            before, q = q, self._expect(table, a, y, theta, class_rate)[0]
            if np.abs(q - before).max() < _TOLERANCE:
                return
        yield self._maximise(table, a, q, smoothing)

    def _maximise(self, table: _Table, a: sp.csr_array, q: Floats, smoothing: float) -> _Theta:
        """The M-step: q ``[N, C]`` has a row of zeros for a node that doesn't count."""
        mass = q.sum(axis=0)
        prior = mass + smoothing / self._num_classes
        relation = q.T @ (a @ q) + smoothing / self._num_classes
        size = mass[:, None] + smoothing
        mean = (np.asarray((table.x.T @ q).T) + smoothing * table.mean) / size
        variance = np.empty((0, 0))
        if table.squares is not None:
            squares = (q.T @ table.squares + smoothing * table.squares.mean(axis=0)) / size
            spread = table.squares.mean(axis=0) - table.mean**2
            variance = np.maximum(squares - mean**2, 1e-6 * spread + 1e-9)
        return _Theta(prior / prior.sum(), relation / relation.sum(axis=1, keepdims=True), mean, variance)

    def _expect(
        self, table: _Table, a: sp.csr_array, y: NDArray[np.int64], theta: _Theta, class_rate: bool
    ) -> tuple[Floats, Floats]:
        """The E-step: q ``[N, C]`` with the known labels in place, and the model's word for every node."""
        alone = np.log(theta.prior) + _log_likelihood(table, theta)
        towards = np.log(theta.relation).T
        unknown = y < 0
        truth = one_hot(y, self._num_classes)
        normalise = self._shifted(unknown) if class_rate else softmax
        word = normalise(alone)
        q = np.where(unknown[:, None], word, truth)
        for _ in range(self.num_steps):
            word = normalise(alone + (a @ q) @ towards)
            new = np.where(unknown[:, None], 0.5 * (q + word), truth)
            change = np.abs(new - q).max()
            q = new
            if change < _TOLERANCE:
                break
        if self._class_weights is not None:
            word = word * self._class_weights
            word = word / word.sum(axis=1, keepdims=True)
        return q, word

    def _shifted(self, unknown: NDArray[np.bool_]) -> Callable[[Floats], Floats]:
        """A softmax of scores, shifted by class until the class rates of the unknown nodes are right."""
        rates = self.rates_.numpy()
        shift = np.zeros(len(rates))  # from one step to the next it changes little

        def normalise(scores: Floats) -> Floats:
            nonlocal shift
            for _ in range(5 if unknown.any() else 0):
                mean = softmax(scores[unknown] + shift).mean(axis=0)
                if np.abs(mean - rates).max() < 1e-3:
                    break
                shift = shift + np.log(rates) - np.log(mean + 1e-12)
            return softmax(scores + shift)

        return normalise


def _log_likelihood(table: _Table, theta: _Theta) -> Floats:
    """The sum over the features of log P(x_vi | y), ``[N, C]``."""
    if table.squares is None:
        on, off = np.log(theta.mean), np.log1p(-theta.mean)
        return np.asarray(table.x @ (on - off).T + off.sum(axis=1))
    precision = 1 / theta.variance
    quadratic = table.squares @ precision.T - 2 * table.x @ (theta.mean * precision).T
    constant = (theta.mean**2 * precision + np.log(theta.variance)).sum(axis=1)
    return np.asarray(-0.5 * (quadratic + constant))
