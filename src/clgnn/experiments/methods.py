"""What the methods and the cells of the tables are called. This module imports nothing heavy."""

from __future__ import annotations

from typing import Any, TypeAlias

from clgnn.estimators.settings import GNNS as OUR_GNNS

Cell: TypeAlias = tuple[str, int, int, str]
"""A dataset, its training labels as the paper prints them, the percent of test labels, and a method."""
CELL = ["dataset", "train_labels", "test_label_percent", "method"]
"""The columns that tell one cell from another."""

GNNS = ("gcn", "sage", "tk")
"""The paper's GNNs in its own words: ``tk`` is Snowball."""
RIVALS = ("pl_em", "ica", "gmnn", "random")
"""The rivals that the paper has."""
EXTRA = (
    "label_propagation",
    "correct_and_smooth",
    "label_reuse",
    "rcc",
    "rni",
    "gnn_all_labels",
    "cl_all_labels",
)
"""The rivals that the paper does not have."""
NAMED = (
    "hopf",
    "column_network",
    "relational_pooling",
    "deep_collective_inference",
    "residual_propagation",
    "spn",
)
"""The systems that the paper names beside its own, and does not compare with."""
TABULAR = (
    "logistic_regression",
    "logistic_regression_neighbors",
    "hist_gradient_boosting",
    "hist_gradient_boosting_neighbors",
)
"""What one has without a GNN: classifiers on each node's columns."""
REGRESSION = (
    "mean",
    "ridge_regression",
    "ridge_regression_neighbors",
    "hist_gradient_boosting",
    "hist_gradient_boosting_neighbors",
    "residual_regression",
)
"""The rivals for numbers."""
OWN_TRAINING = frozenset(
    {*RIVALS, *TABULAR, *REGRESSION[:-1], "majority", "label_propagation", "deep_collective_inference"}
)
"""Methods whose training is their own: of the settings of a GNN they share only :data:`GENERAL`."""
GENERAL = ("test_labels", "metric", "class_weight")
BOOSTS: dict[str, dict[str, Any]] = {
    "cl": {"labels": "sampled"},
    "cl-auto": {"labels": "sampled", "start": "auto"},
    "start-mean": {"labels": "sampled", "start": ["plain", "pl_em", "gmnn"], "num_iterations": 0},
    "cl-uniform": {"labels": "uniform"},
    "cl-observed": {"labels": "observed"},
    "all-labels": {"labels": "sampled", "learn_observed": True, "start": "plain", "num_iterations": 0},
    "cl-all-labels": {"labels": "sampled", "learn_observed": True},
    "cl-all-labels-auto": {"labels": "sampled", "learn_observed": True, "start": "auto"},
}
"""What the part of a method's name after the plus sets.

``cl`` is collective learning on the GNN's own predictions. ``cl-auto`` starts from other predictions where
validation likes them better; ``start-mean`` is the mean of these without collective learning. ``cl-uniform``
and ``cl-observed`` are the paper's ablations. ``all-labels``, ``cl-all-labels`` and ``cl-all-labels-auto``
also learn from the observed labels of the test graph; for GCN the first two are the rivals
``gnn_all_labels`` and ``cl_all_labels``.
"""
ALL_LABELS = frozenset(boost for boost, given in BOOSTS.items() if "learn_observed" in given)
TRAINS_ON_TEST_GRAPH = frozenset(
    {"gnn_all_labels", "cl_all_labels"} | {f"{gnn}+{boost}" for gnn in OUR_GNNS for boost in ALL_LABELS}
)
"""Methods whose training targets include the observed labels of the test graph, which no other method has."""
NEEDS_TEST_LABELS = TRAINS_ON_TEST_GRAPH | {
    "label_propagation",
    "correct_and_smooth",
    "residual_propagation",
    "residual_regression",
    "label_reuse",
}
"""Methods that are nothing, or the plain GNN, when the test graph has no labels."""
ABLATIONS = frozenset({"cl-uniform", "cl-observed"})


def methods() -> list[str]:
    """The names of all methods, as ``clgnn reproduce --methods`` takes them.

    Example:
        >>> methods()[:5]
        ['gcn', 'gcn+cl', 'gcn+cl-auto', 'gcn+start-mean', 'gcn+cl-uniform']
    """
    gnns = [name for gnn in GNNS for name in (gnn, *(f"{gnn}+{boost}" for boost in BOOSTS))]
    only_numbers = [name for name in REGRESSION if name not in TABULAR]
    return [*gnns, *RIVALS, "majority", *EXTRA, *NAMED, *TABULAR, *only_numbers]


def gnn_of(method: str) -> str | None:
    """The GNN that a method is or boosts; None for a rival.

    Example:
        >>> gnn_of("sage+cl"), gnn_of("gin"), gnn_of("ica")
        ('sage', 'gin', None)
    """
    gnn = method.partition("+")[0]
    return gnn if gnn in OUR_GNNS else None


def check(method: str) -> None:
    """Refuses a name that is no method: any of our GNNs, plain or boosted, or a rival.

    Raises:
        ValueError: if there is no such method.

    Example:
        >>> check("gin+cl")
        >>> check("gcn+magic")
        Traceback (most recent call last):
            ...
        ValueError: method is 'gcn+magic'; expected gcn, gcn+cl, gcn+cl-auto, ...
    """
    _, plus, boost = method.partition("+")
    if method not in methods() and (gnn_of(method) is None or (plus and boost not in BOOSTS)):
        others = [gnn for gnn in OUR_GNNS if gnn not in GNNS]
        raise ValueError(
            f"method is {method!r}; expected {', '.join(methods())}, or {', '.join(others)} in the place of "
            "gcn"
        )


def collective(method: str) -> bool:
    """Whether a method is collective learning, or one of its ablations.

    Example:
        >>> collective("gcn+cl-auto"), collective("gcn+start-mean"), collective("cl_all_labels")
        (True, False, True)
    """
    return method.partition("+")[2].startswith("cl") or method == "cl_all_labels"


def base(method: str) -> str | None:
    """The plain method that a boosted one is compared with; None for all others.

    Example:
        >>> base("gcn+cl-uniform"), base("gcn"), base("ica")
        ('gcn', None, None)
    """
    plain, plus, _ = method.partition("+")
    return plain if plus else None


def competes(method: str) -> bool:
    """Whether a method can be the best of its column.

    A method that trains on labels of the test graph cannot, and neither can an ablation.

    Example:
        >>> competes("gcn+cl"), competes("gnn_all_labels"), competes("gcn+cl-uniform")
        (True, False, False)
    """
    return method not in TRAINS_ON_TEST_GRAPH and not ablation(method)


def ablation(method: str) -> bool:
    """Whether a method is one of the paper's ablations, which stand in tables of their own.

    Example:
        >>> ablation("gcn+cl-uniform"), ablation("gcn+cl-auto")
        (True, False)
    """
    return method.partition("+")[2] in ABLATIONS
