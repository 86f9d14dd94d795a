"""What datasets and methods are called where people read them, and in which order they come."""

from __future__ import annotations

DATASETS = {
    "cora": "Cora",
    "pubmed": "Pubmed",
    "friendster": "Friendster",
    "facebook100/johns_hopkins55": "Facebook100",
    "protein": "Protein",
}
GNNS = ("gcn", "sage", "tk")
MAIN = (
    ("cora", 85),
    ("pubmed", 300),
    ("friendster", 641),
    ("facebook100/johns_hopkins55", 80),
    ("protein", 7607),
)
"""The datasets and training labels of the paper's main table."""

CURVES = (("cora", (85, 105, 140)), ("pubmed", (300, 375, 600)))
"""And those of its learning curves."""

TRAINS_ON_TEST_GRAPH = ("gnn_all_labels", "cl_all_labels")
"""Methods that no other is comparable with: observed test labels are their targets."""

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
    "label_propagation": "Label propagation",
    "correct_and_smooth": "Correct and Smooth",
    "label_reuse": "Label reuse",
    "rcc": "RCC",
    "rni": "RNI",
    "gnn_all_labels": "GNN, all labels",
    "cl_all_labels": "CL, all labels",
}
_VARIANTS = {"cl": "CL", "cl-uniform": "CL, random labels", "cl-observed": "CL, true labels only"}


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
    """The paper's methods first, in its order; those that nobody knows last, by name."""
    plain, _, variant = name.partition("+")
    known = list(_METHODS)
    return known.index(plain) if plain in known else len(known), plain, variant


def dataset_order(name: str) -> tuple[int, str]:
    """The paper's datasets first, in its order."""
    known = list(DATASETS)
    return known.index(name) if name in known else len(known), name
