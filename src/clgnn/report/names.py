"""What datasets and methods are called where people read them, and in which order they come."""

from __future__ import annotations

from clgnn.data.datasets import FACEBOOK100
from clgnn.data.splits import COLUMNS
from clgnn.experiments.methods import TRAINS_ON_TEST_GRAPH

DATASETS = {
    "cora": "Cora",
    "pubmed": "Pubmed",
    "friendster": "Friendster",
    FACEBOOK100: "Facebook100",
    "protein": "Protein",
}
MAIN = tuple((name, COLUMNS[name][0]) for name in DATASETS)
"""The datasets and training labels of the paper's main table."""

CURVES = tuple((name, COLUMNS[name]) for name in ("cora", "pubmed"))
"""The datasets and training labels of its learning curves."""

STAND_IN = (
    "Facebook100: its Johns Hopkins network stands in for the paper's Facebook, a graph that was never "
    "published; the two numbers there are of different graphs."
)

_METHODS = {
    "gcn": "GCN",
    "sage": "GraphSAGE",
    "tk": "TK",
    "pl_em": "PL-EM",
    "ica": "ICA",
    "gmnn": "GMNN",
    "random": "Random",
    "majority": "The largest class",
    "label_propagation": "Label propagation",
    "correct_and_smooth": "Correct and Smooth",
    "label_reuse": "Label reuse",
    "rcc": "RCC",
    "rni": "RNI",
    "gnn_all_labels": "GNN, all labels",
    "cl_all_labels": "CL, all labels",
    "hopf": "HOPF",
    "column_network": "Column network",
    "relational_pooling": "Relational pooling",
    "deep_collective_inference": "Deep collective inference",
    "residual_propagation": "Residual propagation",
    "spn": "SPN",
    "logistic_regression": "Logistic regression",
    "logistic_regression_neighbors": "Logistic regression, neighbours' means",
    "mean": "The mean",
    "ridge_regression": "Ridge regression",
    "ridge_regression_neighbors": "Ridge regression, neighbours' means",
    "residual_regression": "Residual regression",
    "hist_gradient_boosting": "Boosted trees",
    "hist_gradient_boosting_neighbors": "Boosted trees, neighbours' means",
}
_VARIANTS = {
    "cl": "CL",
    "start-mean": "PL-EM, GMNN: their mean",
    "cl-auto": "CL, auto start",
    "all-labels": "all labels",
    "cl-all-labels": "CL, all labels",
    "cl-all-labels-auto": "CL, all labels, auto start",
    "cl-uniform": "CL, random labels",
    "cl-observed": "CL, true labels only",
}


def dataset(name: str) -> str:
    """The label of a dataset; one that is not the paper's keeps its name."""
    return DATASETS.get(name, name)


def method(name: str) -> str:
    """The label of a method; one that is not known keeps its name.

    Example:
        >>> method("sage+cl"), method("gcn+cl-uniform"), method("gnn_all_labels"), method("mine")
        ('GraphSAGE + CL', 'GCN + CL, random labels', 'GNN, all labels†', 'mine')
    """
    plain, plus, variant = name.partition("+")
    label = _METHODS.get(plain, plain) + (f" + {_VARIANTS.get(variant, variant)}" if plus else "")
    return f"{label}†" if name in TRAINS_ON_TEST_GRAPH else label


def method_order(name: str) -> tuple[int, str, str]:
    """A key that sorts the paper's methods first, in its order, and unknown ones last, by name."""
    plain, _, variant = name.partition("+")
    known = list(_METHODS)
    return known.index(plain) if plain in known else len(known), plain, variant


def dataset_order(name: str) -> tuple[int, str]:
    """A key that sorts the paper's datasets first, in its order."""
    known = list(DATASETS)
    return known.index(name) if name in known else len(known), name
