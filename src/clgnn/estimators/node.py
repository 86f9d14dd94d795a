"""What every estimator is: labels come through one door, validation judges exactly what is predicted."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import pandas as pd
import torch
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from torch import Tensor, nn

from clgnn.collective.learning import Epoch, Validation
from clgnn.data.checks import finite
from clgnn.data.graph import (
    Graph,
    Graphs,
    Mask,
    Nodes,
    as_graph,
    as_mask,
    by_graph,
    labels_to_learn,
    visible_labels,
)
from clgnn.data.stored import StoredGraph
from clgnn.engine.streamed import streamed
from clgnn.estimators.devices import find_device
from clgnn.estimators.judging import Judging
from clgnn.estimators.labelling import Classes, Labelling
from clgnn.estimators.metrics import Metric
from clgnn.estimators.persistence import Saving
from clgnn.estimators.settings import Expected, check
from clgnn.estimators.validation import build_validation

OnEpoch = Callable[[Epoch], Any]


def ignore(epoch: Epoch) -> None:
    """The ``on_epoch`` of those who do not listen."""


@dataclass(frozen=True)
class Task:
    """What ``fit`` was given, checked: hidden labels have gone.

    Attributes:
        graph: N nodes, on the estimator's device.
        y: the training labels ``[N]`` as the labelling encodes them, unknown elsewhere.
        validation: what chooses; None if no validation labels were given.
    """

    graph: Graph
    y: Tensor
    validation: Validation | None


class NodeEstimator(Judging, Saving, BaseEstimator):  # type: ignore[misc]
    """An estimator of the labels of nodes: the interface of collective learning and of every rival.

    Labels are seen through an explicit mask alone: the training labels in ``fit``, the observed ones in
    prediction. **A prediction on the training graph uses the training labels only if ``observed_mask`` has
    them.**

    A subclass is a dataclass of its parameters, ``test_labels``, ``metric`` and ``seed`` among them. It
    learns in ``fit``, which begins with :meth:`_task`, and predicts in :meth:`_distribution`.

    Attributes:
        labelling_: what was learned of the labels themselves.
        n_features_in_: the columns of x.
        history_: one row for each epoch, or for each candidate that validation judged.
        best_score_: the validation metric of what predicts; None without validation.
    """

    test_labels: Any
    metric: Any
    seed: Any

    labelling_: Labelling
    n_features_in_: int
    history_: pd.DataFrame
    best_score_: float | None

    resumable: ClassVar[bool] = False
    """Whether ``fit`` takes a ``checkpoint`` folder, and goes on where an interrupted one ended."""
    trains_on_observed: ClassVar[bool] = False
    """Whether the ``observed_mask`` of ``fit`` is learned from, and not only shown."""
    fixed: ClassVar[frozenset[str]] = frozenset()
    """The parameters that make a method what it is; :func:`clgnn.baselines.make` leaves them alone."""
    takes_hetero: ClassVar[bool] = False
    """Whether a ``HeteroData`` can be learned from."""
    takes_stored: ClassVar[bool] = False
    """Whether a ``StoredGraph``, which may be larger than the memory, can be learned from."""
    _labelling: ClassVar[Any] = Classes  # the kind of a Labelling
    _learned: ClassVar[tuple[str, ...]] = ()
    """The attributes that prediction needs: tensors, modules, lists of modules, estimators, or JSON."""
    _free: ClassVar[frozenset[str]] = frozenset({"device"})
    """The parameters that may change after ``fit`` without a new fit."""
    _choices: ClassVar[dict[str, tuple[Any, ...]]] = {}
    _expected: ClassVar[dict[str, Expected]] = {}

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        NodeEstimator.kinds[cls.__name__] = cls

    # What a subclass does

    @abstractmethod
    def fit(
        self,
        data: Graphs,
        train_mask: Mask | None = None,
        val_mask: Mask | None = None,
        *,
        observed_mask: Mask | None = None,
        on_epoch: OnEpoch = ignore,
    ) -> Self:
        """Learns from the labels of the training mask; without one, of ``data.train_mask``."""

    @abstractmethod
    def _distribution(self, graph: Graph, y: Tensor) -> Tensor:
        """The label distribution of each node, given the observed labels y ``[N]``, unknown elsewhere.

        Probabilities ``[N, C]``, or means and standard deviations ``[N, 2]``.
        """

    def _stages(self, graph: Graph, y: Tensor) -> Iterator[Tensor]:
        """The :meth:`_distribution` after each iteration, for a method that has iterations."""
        yield self._distribution(graph, y)

    def _spread(self, graph: Graph, y: Tensor) -> Tensor:
        """How much the draws of a prediction differ, ``[N]``; NaN where nothing is drawn."""
        return torch.full((graph.num_nodes,), float("nan"))

    def _with_spread(self, graph: Graph, y: Tensor) -> tuple[Tensor, Tensor]:
        """The :meth:`_distribution` and the :meth:`_spread` of one prediction."""
        return self._distribution(graph, y), self._spread(graph, y)

    def sees_labels(self) -> bool:
        """Whether a prediction uses observed labels."""
        return bool(self.test_labels == "partial")

    def refuses_labels(self) -> bool:
        """Whether observed labels in a prediction are an error, as they would not be used."""
        return not self.sees_labels()

    def planned_epochs(self) -> list[int]:
        """How many epochs each iteration of a fit has at most; for those who show progress."""
        return [1]

    def _blank(self, name: str, state: Mapping[str, Tensor], index: int = 0) -> nn.Module:
        """A module of the attribute ``name``, or of the list there, whose weights are yet to be read."""
        raise ValueError(f"{type(self).__name__} has no module {name!r}")

    # Prediction

    def predict_proba(self, data: Graphs, observed_mask: Mask | None = None) -> Nodes:
        """The label distribution of each node, on any graph.

        Args:
            data: one graph or a list of graphs, of any size.
            observed_mask: the labels that may be seen, when ``test_labels="partial"``; none are if it is
                not given. Observed nodes get a prediction as well; their label is not copied.

        Returns:
            For a classifier the probabilities ``[N, C]``, in the order of ``classes_``; for a regressor the
            means and standard deviations ``[N, 2]``. A list of them for a list of graphs.
        """
        return by_graph(self._predicted(data, observed_mask), data)

    def predict(self, data: Graphs, observed_mask: Mask | None = None) -> Nodes:
        """The class of each node, or its mean, ``[N]``; arguments as for :meth:`predict_proba`.

        It is the most probable class. With a ``threshold_`` it is the second class from this probability on.
        """
        distribution = self._predicted(data, observed_mask)
        return by_graph(self.labelling_.predict(distribution), data)

    def staged_predict_proba(self, data: Graphs, observed_mask: Mask | None = None) -> Iterator[Nodes]:
        """The predictions after each iteration, of which ``best_iteration_`` is the result."""
        for distribution in self._stages(*self._seen(data, observed_mask)):
            yield by_graph(finite(distribution.float().cpu()), data)

    def uncertainty(self, data: Graphs, observed_mask: Mask | None = None) -> Nodes:
        """How unsure each prediction is, ``[N]``; arguments as for :meth:`predict_proba`.

        For a classifier it is the probability that the predicted class is wrong, 1 - P(y); for a
        regressor the standard deviation. It means the same for every estimator. For how much the label draws
        of collective learning disagree, see :meth:`spread`.
        """
        distribution = self._predicted(data, observed_mask)
        return by_graph(self.labelling_.uncertainty(distribution), data)

    def spread(self, data: Graphs, observed_mask: Mask | None = None) -> Nodes:
        """How much the samples of a prediction differ, ``[N]``; NaN where nothing is drawn.

        It is the standard deviation, over the samples of the iteration that predicts, of the probability of
        the predicted class (of the mean, in regression). The plain GNN draws nothing, nor does iteration 0,
        nor do most rivals.
        """
        return by_graph(self._spread(*self._seen(data, observed_mask)).float().cpu(), data)

    @property
    def metric_name(self) -> str:
        """What validation goes by: ``metric``, or the default."""
        return self._metric.name

    @property
    def classes_(self) -> Tensor:
        """The classes, ``[C]``; a regressor has none."""
        self._check_fitted()
        if not isinstance(self.labelling_, Classes):
            raise AttributeError(f"a {type(self).__name__} has no classes_")
        return torch.tensor(self.labelling_.values)

    @property
    def best_iteration_(self) -> int:
        """The iteration whose predictions are the result; 0 for a method without iterations."""
        self._check_fitted()
        return 0

    # Helpers of subclasses

    @property
    def _metric(self) -> Metric:
        found: Metric = self._labelling.find_metric(self.metric or self._labelling.default_metric)
        return found

    def _task(
        self, data: Graphs, train_mask: Mask, val_mask: Mask | None, observed_mask: Mask | None
    ) -> Task:
        """How every fit begins: checks, and lets through the labels that may be seen."""
        self._check_parameters()
        self.__dict__.pop("history_", None)  # until this fit ends, nothing is fitted
        graph = self._graph(data)
        train = as_mask(train_mask, data, "train_mask")
        visible = labels_to_learn(data, train)
        self.labelling_ = self._learn_labels(visible)
        self.n_features_in_ = graph.num_features
        y = self.labelling_.encode(visible, "train_mask").to(graph.home)
        observed = train if observed_mask is None else as_mask(observed_mask, data, "observed_mask")
        if observed_mask is not None and self.refuses_labels() and not self.trains_on_observed:
            warnings.warn(
                f"observed_mask is given to a {type(self).__name__} with test_labels='none': its labels are "
                "not used; leave it out, or say test_labels='partial'",
                stacklevel=3,
            )
        return Task(graph, y, self._validation(data, train, val_mask, observed))

    def _validation(
        self, data: Graphs, train: Tensor, val_mask: Mask | None, observed: Tensor
    ) -> Validation | None:
        shown = observed if self.sees_labels() else torch.zeros_like(observed)
        metric = self.labelling_.metric(self.metric or self._labelling.default_metric)
        made = build_validation(self.labelling_, metric, data, train, val_mask, observed, shown)
        return None if made is None else made.to(self._home(data))

    def _learn_labels(self, y: Tensor) -> Labelling:
        """What the labels are, from the training labels ``[N]``."""
        learned: Labelling = self._labelling.learn(y)
        return learned

    def _finish(self, history: pd.DataFrame) -> Self:
        """How every fit ends."""
        self.history_ = history
        self._fitted_with = self.get_params(deep=False)
        return self

    def _predicted(self, data: Graphs, observed_mask: Mask | None) -> Tensor:
        return finite(self._distribution(*self._seen(data, observed_mask)).float().cpu())

    def _seen(self, data: Graphs, observed_mask: Mask | None) -> tuple[Graph, Tensor]:
        """What a prediction sees: the graph, and the observed labels ``[N]``."""
        self._check_fitted()
        graph = self._graph(data, self.n_features_in_)
        y = self.labelling_.unknown(graph.num_nodes)
        if observed_mask is not None:
            observed = as_mask(observed_mask, data, "observed_mask")
            if self.refuses_labels():
                raise ValueError(
                    "observed_mask is given, but the model was fitted with test_labels='none', for graphs "
                    "without labels; fit it with test_labels='partial', or leave observed_mask out"
                )
            if self.sees_labels():
                y = self.labelling_.encode(visible_labels(data, observed), "observed_mask")
        return graph, y.to(graph.home)

    def _graph(self, data: Graphs, num_features: int | None = None) -> Any:
        """The graph to work on: a ``Graph``, or a ``Streamed`` one where the data is a ``StoredGraph``."""
        if isinstance(data, StoredGraph):
            if not self.takes_stored:
                raise ValueError(
                    f"the graph is a StoredGraph, and {type(self).__name__} needs all of it in memory; "
                    "expected a Data"
                )
            if num_features not in (None, data.x.shape[1]):
                raise ValueError(f"the graph has {data.x.shape[1]} feature columns; expected {num_features}")
            return streamed(data, self._device())
        graph = as_graph(data, self._device(), num_features)
        if graph.hetero is not None and not self.takes_hetero:
            raise ValueError(
                f"the graph is a HeteroData, and {type(self).__name__} knows one type of nodes; expected a "
                "Data: see HeteroData.to_homogeneous"
            )
        return graph

    def _home(self, data: Graphs) -> torch.device:
        """Where the labels of all nodes are."""
        return torch.device("cpu") if isinstance(data, StoredGraph) else self._device()

    def _device(self) -> torch.device:
        """The device that the parameter ``device`` names; the CPU for methods without one."""
        return find_device(getattr(self, "device", "cpu"))

    def _check_fitted(self) -> None:
        if not hasattr(self, "history_"):
            raise NotFittedError(f"this {type(self).__name__} is not fitted yet; call fit first")

    def _check_parameters(self) -> None:
        self._labelling.find_metric(self._labelling.default_metric if self.metric is None else self.metric)
        check(self.get_params(deep=False), self._choices, self._expected)
