"""How a fitted estimator is judged where labels are known, and the threshold that they choose."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar

from torch import Tensor

from clgnn.data.graph import Graphs, Mask, as_mask, disjoint, known, visible_labels
from clgnn.estimators.labelling import Classes, Labelling, measure
from clgnn.estimators.metrics import Array, as_array
from clgnn.estimators.threshold import best_threshold, threshold_metric


class Judging:
    """The part of every :class:`~clgnn.estimators.node.NodeEstimator` that looks at true labels."""

    metric: Any
    labelling_: Labelling
    _labelling: ClassVar[Any]

    @abstractmethod
    def _check_fitted(self) -> None: ...

    @abstractmethod
    def _predicted(self, data: Graphs, observed_mask: Mask | None) -> Tensor: ...

    def evaluate(self, data: Graphs, mask: Mask, observed_mask: Mask | None = None) -> dict[str, float]:
        """All metrics on the nodes of the mask, none of which may be an observed one."""
        self._check_fitted()
        own = [] if self.metric is None else [self.metric]
        metrics = [self.labelling_.metric(one) for one in (*self.labelling_.metrics, *own)]
        y, distribution = self._to_judge(data, mask, observed_mask)
        return {one.name: measure(self.labelling_, one, y, distribution) for one in metrics}

    def score(self, data: Graphs, mask: Mask, observed_mask: Mask | None = None, metric: Any = None) -> float:
        """One number for the nodes of the mask.

        The greater the better, as in scikit-learn. For a regressor it is R², whatever ``metric`` validation
        goes by. For a classifier it is the metric that validation goes by, or the accuracy where that one is
        to be low. ``best_score_`` is always the metric that validation goes by.

        Args:
            data, mask, observed_mask: as for :meth:`evaluate`.
            metric: another one, as it is: a name, or a function of one's own.
        """
        self._check_fitted()
        labels = self._labelling
        chosen = self.labelling_.metric(metric or labels.score_metric or self.metric or labels.default_metric)
        if metric is None and chosen.lower_is_better:
            chosen = self.labelling_.metric(labels.default_metric)
        y, distribution = self._to_judge(data, mask, observed_mask)
        return measure(self.labelling_, chosen, y, distribution)

    def choose_threshold(
        self,
        data: Graphs,
        val_mask: Mask,
        observed_mask: Mask | None = None,
        metric: str | Callable[[Array, Array], float] = "balanced_accuracy",
    ) -> float:
        """Chooses the probability from which on a node is of the second of two classes.

        ``predict``, and the metrics of predicted classes (accuracy, balanced accuracy, F1), go by it from now
        on. Probabilities stay what they are. It is saved with the model. A new fit forgets it.

        Args:
            data: one graph or a list of graphs.
            val_mask: the labels that choose; no others are looked at. Use those of validation, never those
                of the test.
            observed_mask: the labels that the predictions may see, as for ``predict_proba``.
            metric: what is to be as high as possible: ``"accuracy"``, ``"balanced_accuracy"``,
                ``"macro_f1"``, ``"f1:CLASS"``; or a function of true classes 0 and 1 and of decisions
                ``[N, 2]``, which are 0 or 1 in place of probabilities.

        Returns:
            The threshold, which is ``threshold_`` as well. Of equally good ones, the nearest to 0.5.

        Raises:
            ValueError: if there are not two classes, if the nodes of ``val_mask`` are all of one class, or if
                the metric does not depend on a threshold.

        Example:
            >>> import torch
            >>> from torch_geometric.data import Data
            >>> from clgnn import baselines
            >>> x, no_edges = torch.arange(8.0).unsqueeze(1), torch.empty(2, 0, dtype=torch.long)
            >>> data = Data(x=x, edge_index=no_edges, y=torch.tensor([0, 0, 0, 0, 0, 1, 1, 1]))
            >>> model = baselines.make("logistic_regression", C=1.0).fit(data, [0, 1, 2, 3, 7])
            >>> 0 < model.choose_threshold(data, val_mask=[4, 5]) < 1
            True
            >>> model.predict(data).tolist()
            [0, 0, 0, 0, 0, 1, 1, 1]
        """
        self._check_fitted()
        labelling = self.labelling_
        if not isinstance(labelling, Classes):
            raise ValueError(
                f"a threshold is for two classes, and a {type(self).__name__} predicts numbers: leave it out"
            )
        chosen = threshold_metric(metric, labelling.values)
        y, distribution = self._to_judge(data, val_mask, observed_mask, "val_mask")
        found = best_threshold(as_array(y), as_array(distribution), chosen)
        self.labelling_ = replace(labelling, threshold=found)
        return found

    @property
    def threshold_(self) -> float | None:
        """From this probability on the second of two classes is predicted; None: the more probable one is."""
        self._check_fitted()
        return self.labelling_.threshold if isinstance(self.labelling_, Classes) else None

    def _to_judge(
        self, data: Graphs, mask: Mask, observed_mask: Mask | None, name: str = "mask"
    ) -> tuple[Tensor, Tensor]:
        """The encoded labels of the nodes of the mask that have one, and what is predicted for them."""
        chosen = as_mask(mask, data, name)
        if observed_mask is not None:
            disjoint(chosen, as_mask(observed_mask, data, "observed_mask"), name, "observed_mask")
        distribution = self._predicted(data, observed_mask)
        y = self.labelling_.encode(visible_labels(data, chosen), name)
        judged = known(y)
        if not bool(judged.any()):
            raise ValueError(f"none of the nodes of {name} has a label; there is nothing to judge by")
        return y[judged], distribution[judged]
