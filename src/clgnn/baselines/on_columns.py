"""Any classifier of scikit-learn, on each node's own columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import scipy.sparse as sp
import sklearn
import torch
from numpy.typing import NDArray
from sklearn.base import clone
from torch import Tensor

from clgnn.baselines.arrays import Features, features, tensor
from clgnn.baselines.tabular import _OnColumns
from clgnn.collective.learning import Validation
from clgnn.data.graph import Graph
from clgnn.estimators.node import OnEpoch

CLOSE = 1e-3
"""By how much a probability may differ after a classifier was fitted again."""


@dataclass(repr=False, eq=False)
class OnColumns(_OnColumns):
    """Any classifier of scikit-learn, on the columns of x; the edges are not looked at.

    What scikit-learn has learned could only be written as code. So a saved model holds the classifier's
    parameters and **the rows and labels that it was fitted to**, and loading fits it again. A model that then
    predicts something else on these rows, as it may with another version of scikit-learn, is refused.

    Args:
        classifier: with ``fit`` and ``predict_proba``; it is copied. It can be saved if it is a class of
            scikit-learn, or a pipeline of them, with plain parameters.
        test_labels, metric, seed: see :class:`~clgnn.baselines.rival.Rival`. The seed is the ``random_state``
            of a classifier that has none set.

    Cost: that of the classifier.

    Example:
        >>> from sklearn.naive_bayes import GaussianNB
        >>> from clgnn import datasets
        >>> data = datasets.load("digits")
        >>> OnColumns(GaussianNB()).fit(data, range(200)).predict_proba(data).shape
        torch.Size([1797, 10])
    """

    classifier: Any = None

    _learned: ClassVar[tuple[str, ...]] = ("rows_", "places_", "targets_", "expected_", "version_")

    def _fit(self, graph: Graph, y: Tensor, validation: Validation | None, on_epoch: OnEpoch) -> None:
        labels, x = y.cpu().numpy(), features(graph)
        train = np.flatnonzero(labels >= 0)
        rows, targets = x[train], labels[train]
        self.classifier_: Any = self._fitted(rows, targets)
        self.rows_, self.places_ = _apart(rows)
        self.targets_ = torch.from_numpy(targets)
        self.expected_ = tensor(self.classifier_.predict_proba(rows))
        self.version_ = sklearn.__version__

    def _fitted(self, rows: Features, targets: NDArray[np.int64]) -> Any:
        classifier = clone(self.classifier)
        unset = {
            name: self.seed % 2**32  # as much as scikit-learn takes
            for name, value in classifier.get_params(deep=True).items()
            if name.rpartition("__")[2] == "random_state" and value is None
        }
        return classifier.set_params(**unset).fit(rows, targets)

    def _finish(self, history: pd.DataFrame) -> Any:
        if not hasattr(self, "classifier_"):  # it was read from a file
            rows = _together(self.rows_, self.places_, (len(self.targets_), self.n_features_in_))
            self.classifier_ = self._fitted(rows, self.targets_.numpy())
            found = tensor(self.classifier_.predict_proba(rows))
            expected = self.expected_
            if found.shape != expected.shape or not torch.allclose(found, expected, rtol=0, atol=CLOSE):
                raise ValueError(
                    f"its {type(self.classifier).__name__} was fitted by scikit-learn {self.version_}, and "
                    f"{sklearn.__version__} gives other predictions; expected the same"
                )
        return super()._finish(history)

    def _distribution(self, graph: Graph, y: Tensor) -> Tensor:
        return torch.from_numpy(np.asarray(self.classifier_.predict_proba(features(graph))))


def _apart(rows: Features) -> tuple[Tensor, Tensor | None]:
    """Dense rows ``[n, p]`` and None; or the values of sparse ones ``[m]``, and their places ``[2, m]``."""
    if isinstance(rows, np.ndarray):
        return torch.from_numpy(np.ascontiguousarray(rows)), None
    entries = rows.tocoo()
    return torch.from_numpy(entries.data), torch.from_numpy(np.stack(entries.coords).astype(np.int64))


def _together(rows: Tensor, places: Tensor | None, shape: tuple[int, int]) -> Features:
    """What :func:`_apart` took apart."""
    if places is None:
        return np.asarray(rows.numpy())
    return sp.csr_array((rows.numpy(), places.numpy().astype(np.int32)), shape=shape)
