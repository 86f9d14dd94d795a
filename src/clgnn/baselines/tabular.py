"""Classifiers of scikit-learn on each node's own columns: what one has without the graph."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch
from sklearn.base import clone
from torch import Tensor

from clgnn.baselines.arrays import features
from clgnn.baselines.rival import Rival
from clgnn.collective.learning import Validation
from clgnn.data.graph import Graph
from clgnn.estimators.node import OnEpoch


@dataclass(repr=False, eq=False)
class OnColumns(Rival):
    """Any classifier of scikit-learn, on the columns of x; the edges are not looked at.

    It can't be saved, as its weights could only be written as code.

    Args:
        classifier: with ``fit`` and ``predict_proba``; it is copied.
        test_labels, metric, seed: see :class:`~clgnn.baselines.rival.Rival`.

    Cost: that of the classifier.

    Example:
        >>> from sklearn.linear_model import LogisticRegression
        >>> from clgnn import datasets
        >>> data = datasets.load("citations", num_nodes=300)
        >>> OnColumns(LogisticRegression()).fit(data, range(60)).predict_proba(data).shape
        torch.Size([300, 5])
    """

    classifier: Any = None

    _learned: ClassVar[tuple[str, ...]] = ("classifier_",)

    def _fit(self, graph: Graph, y: Tensor, validation: Validation | None, on_epoch: OnEpoch) -> None:
        labels = y.cpu().numpy()
        train = np.flatnonzero(labels >= 0)
        self.classifier_: Any = clone(self.classifier).fit(features(graph)[train], labels[train])

    def _distribution(self, graph: Graph, y: Tensor) -> Tensor:
        return torch.from_numpy(np.asarray(self.classifier_.predict_proba(features(graph))))

    def sees_labels(self) -> bool:
        return False

    def refuses_labels(self) -> bool:
        return False
