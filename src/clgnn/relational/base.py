"""What all rivals share: the door for labels, choices by validation, evaluation, save and load."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from os import PathLike
from typing import Any, ClassVar, Literal, Self, TypeVar

import numpy as np
import pandas as pd
import torch
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from torch import Tensor, nn

from clgnn.base import _RANGES, Nodes, _disjoint, by_graph
from clgnn.collective.learning import Epoch
from clgnn.component import GNN
from clgnn.graph import Graph, Graphs, Mask, as_graph, as_mask, known, labels_to_learn, visible_labels
from clgnn.labelling import Classes
from clgnn.metrics import CLASSIFICATION, LOWER_IS_BETTER, as_array
from clgnn.relational import storage

Model = TypeVar("Model")
OnEpoch = Callable[[Epoch], Any]


@dataclass(frozen=True)
class Validation:
    """What chooses between candidates.

    Attributes:
        y: the labels that are shown while validating, ``[N]``, -1 elsewhere.
        rank: of probabilities ``[N, C]``: the metric and minus the log loss, which breaks ties; the higher
            the better. It alone knows the validation labels.
    """

    y: Tensor
    rank: Callable[[Tensor], tuple[float, float]]


@dataclass(repr=False, eq=False, kw_only=True)
class Relational(BaseEstimator):  # type: ignore[misc]
    """A classifier of the nodes of partially labelled graphs: the interface of all rivals.

    It is that of :class:`clgnn.CollectiveClassifier`: labels are seen through an explicit mask alone, the
    training labels in ``fit`` and the observed ones in prediction. **A prediction on the training graph
    uses the training labels only if ``observed_mask`` has them.**

    Args:
        test_labels: ``"partial"`` if the graphs to come have some labels, ``"none"`` if they have none.
            It says which labels are shown when validation chooses: those of ``fit``'s ``observed_mask``
            (``train_mask`` if not given), or none.
        metric: what validation maximises, or minimises; ``"accuracy"`` by default.
        seed: the same seed gives the same result.

    Attributes:
        classes_: the classes, ``[C]``.
        history_: a row for each candidate that validation judged.
        n_features_in_: the columns of x.
    """

    test_labels: Literal["none", "partial"] = "partial"
    metric: str | None = None
    seed: int = 0

    fixed: ClassVar[frozenset[str]] = frozenset()
    """The parameters that make the method what it is; :func:`clgnn.relational.make` leaves them alone."""
    _learned: ClassVar[tuple[str, ...]] = ()
    """The attributes that prediction needs: tensors, modules, estimators, or what JSON can say."""
    _choices: ClassVar[dict[str, tuple[Any, ...]]] = {}
    _expected: ClassVar[dict[str, tuple[str, Callable[[Any], bool]]]] = {}

    @abstractmethod
    def _fit(self, graph: Graph, y: Tensor, validation: Validation | None, on_epoch: OnEpoch) -> None:
        """Learns from the labels y ``[N]``, 0..C-1, and -1 where unknown or hidden."""

    @abstractmethod
    def _predict(self, graph: Graph, y: Tensor) -> Tensor:
        """The probabilities ``[N, C]``, given the observed labels y ``[N]``, -1 elsewhere."""

    def fit(
        self,
        data: Graphs,
        train_mask: Mask,
        val_mask: Mask | None = None,
        *,
        observed_mask: Mask | None = None,
        on_epoch: OnEpoch = lambda epoch: None,
    ) -> Self:
        """Learns from the labels of the training mask.

        Args:
            data: a graph or a list of graphs; labels outside of the masks are never looked at.
            train_mask: the labels to learn from: a bool mask ``[N]`` or node indices (a list of them for a
                list of graphs).
            val_mask: the labels that choose settings and epochs; they are never input.
            observed_mask: the labels that are shown while validating, when ``test_labels="partial"``; those
                of ``train_mask`` if not given.
            on_epoch: called with each epoch, by those that train a GNN.

        Returns:
            self
        """
        self._check_parameters()
        graph = as_graph(data, self._device())
        train = as_mask(train_mask, data, "train_mask")
        visible = labels_to_learn(data, train)
        self.labelling_: Classes = Classes.learn(visible, getattr(self, "class_weight", None))
        self.n_features_in_: int = graph.x.size(1)
        y = self.labelling_.encode(visible, "train_mask").to(graph.x.device)
        self._judged: list[dict[str, Any]] = []
        self._fit(graph, y, self._validation(data, train, val_mask, observed_mask, graph), on_epoch)
        self.history_: pd.DataFrame = pd.DataFrame(self._judged)
        return self

    def predict_proba(self, data: Graphs, observed_mask: Mask | None = None) -> Nodes:
        """The class probabilities of each node, on any graph.

        Args:
            data: a graph or a list of graphs, of any size.
            observed_mask: the labels that may be seen; none are if it is not given.

        Returns:
            ``[N, C]``, in the order of ``classes_``; a list of them for a list of graphs.
        """
        return by_graph(self._probabilities(data, observed_mask), data)

    def predict(self, data: Graphs, observed_mask: Mask | None = None) -> Nodes:
        """The most probable class of each node, ``[N]``; arguments as for :meth:`predict_proba`."""
        return by_graph(self.classes_[self._probabilities(data, observed_mask).argmax(dim=1)], data)

    def evaluate(self, data: Graphs, mask: Mask, observed_mask: Mask | None = None) -> dict[str, float]:
        """All metrics on the nodes of the mask, none of which may be an observed one."""
        chosen = as_mask(mask, data, "mask")
        if observed_mask is not None:
            _disjoint(chosen, as_mask(observed_mask, data, "observed_mask"), "mask", "observed_mask")
        probabilities = self._probabilities(data, observed_mask)
        y = self.labelling_.encode(visible_labels(data, chosen), "mask")
        judged = known(y)
        if not bool(judged.any()):
            raise ValueError("none of the nodes of mask has a label; there is nothing to evaluate")
        truth, given = as_array(y[judged]), as_array(probabilities[judged])
        return {name: metric(truth, given) for name, metric in CLASSIFICATION.items()}

    def score(
        self, data: Graphs, mask: Mask, observed_mask: Mask | None = None, metric: str | None = None
    ) -> float:
        """One metric on the nodes of the mask, by default the one that validation goes by."""
        chosen = self.metric or "accuracy" if metric is None else metric
        values = self.evaluate(data, mask, observed_mask)
        if chosen not in values:
            raise ValueError(f"metric is {chosen!r}; expected one of {', '.join(values)}")
        return values[chosen]

    @property
    def classes_(self) -> Tensor:
        self._check_fitted()
        return torch.tensor(self.labelling_.values)

    def save(self, path: str | PathLike[str], force: bool = False, extra: Any = None) -> None:
        """Writes the model to a new folder: arrays as safetensors, the rest as JSON.

        Args:
            path: the folder.
            force: replaces a model that is there.
            extra: is kept beside it, as JSON.

        Raises:
            FileExistsError: if the folder exists and ``force`` is not set.
        """
        self._check_fitted()
        storage.save(self, path, force, extra)

    @classmethod
    def load(cls, path: str | PathLike[str], gnn: GNN | None = None) -> Self:
        """Reads a model from its folder; ``gnn`` is the one that it was fitted with, if that is not ours."""
        return storage.load(cls, path, gnn)

    # Helpers

    def _best(
        self,
        candidates: Iterable[tuple[dict[str, Any], Model]],
        predict: Callable[[Model], Tensor],
        validation: Validation | None,
        number: int,
    ) -> list[Model]:
        """The candidates that predict best on the validation nodes; the first one if there are none.

        Args:
            candidates: their settings, which the history tells, and what they are. They are made one at a
                time.
            predict: the probabilities ``[N, C]`` of a candidate, given the labels of ``validation.y``.
            validation: see :class:`Validation`.
            number: how many to keep, the best first.
        """
        name = self.metric or "accuracy"
        best: list[tuple[tuple[float, float], Model]] = []
        for settings, candidate in candidates:
            if validation is None:
                return [candidate]
            rank = validation.rank(predict(candidate))
            metric = -rank[0] if name in LOWER_IS_BETTER else rank[0]
            self._judged.append({**settings, f"val_{name}": metric, "val_loss": -rank[1]})
            best = sorted([*best, (rank, candidate)], key=lambda ranked: ranked[0], reverse=True)[:number]
        return [candidate for _, candidate in best]

    def _choose(
        self,
        candidates: Iterable[tuple[dict[str, Any], Model]],
        predict: Callable[[Model], Tensor],
        validation: Validation | None,
    ) -> Model:
        """The best one, see :meth:`_best`."""
        return self._best(candidates, predict, validation, 1)[0]

    def _validation(
        self, data: Graphs, train: Tensor, val_mask: Mask | None, observed_mask: Mask | None, graph: Graph
    ) -> Validation | None:
        if val_mask is None:
            return None
        val = as_mask(val_mask, data, "val_mask")
        observed = train if observed_mask is None else as_mask(observed_mask, data, "observed_mask")
        _disjoint(train, val, "train_mask", "val_mask")
        _disjoint(observed, val, "observed_mask", "val_mask")
        y_val = self.labelling_.encode(visible_labels(data, val), "val_mask")
        judged = known(y_val)
        if not bool(judged.any()):
            raise ValueError("none of the nodes of val_mask has a label; leave it out, or choose others")
        truth = as_array(y_val[judged])
        name = self.metric or "accuracy"
        sign = -1 if name in LOWER_IS_BETTER else 1

        def rank(probabilities: Tensor) -> tuple[float, float]:
            given = as_array(probabilities.cpu()[judged])
            return sign * CLASSIFICATION[name](truth, given), -CLASSIFICATION["log_loss"](truth, given)

        shown = self.labelling_.encode(visible_labels(data, observed), "observed_mask")
        if self.test_labels == "none":
            shown = self.labelling_.unknown(graph.num_nodes)
        return Validation(shown.to(graph.x.device), rank)

    def _probabilities(self, data: Graphs, observed_mask: Mask | None) -> Tensor:
        self._check_fitted()
        graph = as_graph(data, self._device(), self.n_features_in_)
        y = self.labelling_.unknown(graph.num_nodes)
        if observed_mask is not None:
            if self.test_labels == "none":
                raise ValueError(
                    "observed_mask is given, but the model was fitted with test_labels='none', for graphs "
                    "without labels; fit it with test_labels='partial', or leave observed_mask out"
                )
            visible = visible_labels(data, as_mask(observed_mask, data, "observed_mask"))
            y = self.labelling_.encode(visible, "observed_mask")
        return self._predict(graph, y.to(graph.x.device)).float().cpu()

    @property
    def _num_classes(self) -> int:
        return len(self.labelling_.values)

    def _device(self) -> torch.device:
        return torch.device("cpu")

    def _rng(self, step: int) -> np.random.Generator:
        """The randomness of one step (fit is 0, prediction 1), from the seed alone."""
        return np.random.default_rng([self.seed, step])

    def _blank(self, name: str) -> nn.Module:
        """The module of that name, whose weights are yet to be read."""
        raise ValueError(f"{type(self).__name__} has no module {name!r}")

    def _check_fitted(self) -> None:
        if not hasattr(self, "history_"):
            raise NotFittedError(f"this {type(self).__name__} is not fitted yet; call fit first")

    def _check_parameters(self) -> None:
        choices = {"test_labels": ("none", "partial"), "metric": (None, *CLASSIFICATION), **self._choices}
        for name, allowed in choices.items():
            if getattr(self, name) not in allowed:
                words = ", ".join(str(value) for value in allowed)
                raise ValueError(f"{name} is {getattr(self, name)!r}; expected one of {words}")
        for name, value in self.get_params(deep=False).items():
            expected, holds = {**_RANGES, **self._expected}.get(name, ("", lambda value: True))
            if expected and (isinstance(value, bool | str) or not holds(value)):
                raise ValueError(f"{name} is {value!r}; expected {expected}")


def positive(value: Any) -> bool:
    return isinstance(value, int | float) and value > 0


def count(value: Any) -> bool:
    return isinstance(value, int) and value >= 1
