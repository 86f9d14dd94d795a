"""Which labels are seen in training, shown at test time, and judged: the paper's connected splits."""

from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Any, Generic, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch_geometric.data import Data

from clgnn.data import datasets
from clgnn.data.patches import two_patches

Mask = TypeVar("Mask", Tensor, list[Tensor])


@dataclass(frozen=True, eq=False)
class Split(Generic[Mask]):
    """Which nodes play which part. A mask is a bool tensor ``[N]``, or a list of them, one for each graph.

    Attributes:
        train_mask: V_L(tr), the labels that training may see.
        observed_mask: V_L(te), the labels that may be shown when the test nodes are predicted. It is empty
            if the test graph is unlabelled.
        val_mask: the nodes whose predictions select a model.
        test_mask: V_T, the nodes whose predictions are the result.
        val_observed_mask: the labels that may be shown when the validation nodes are predicted. On a single
            graph it is ``observed_mask``; separate validation graphs have labels of their own.
    """

    train_mask: Mask
    observed_mask: Mask
    val_mask: Mask
    test_mask: Mask
    val_observed_mask: Mask


def connected(
    data: Data,
    train_labels: int,
    observed_labels: int = 0,
    test_nodes: int = 1000,
    val_nodes: int = 500,
    seed: int = 0,
    *,
    min_per_class: int = 1,
) -> Split[Tensor]:
    """The paper's harder split of one graph: the labels lie in one connected patch, not all over the graph.

    V_L(tr) is a random set of labelled nodes whose induced subgraph is connected, and V_L(te) is another one.
    The test and validation nodes are drawn at random from the other labelled nodes. No two of the four
    overlap.

    A connected set grows from a random node: again and again one node of its frontier joins it, and all of
    the frontier are equally likely. Unlabelled nodes neither belong to the set nor connect it. It starts in
    a component that is large enough. If V_L(tr) leaves no component large enough for V_L(te), both are drawn
    anew.

    Args:
        data: a graph with ``edge_index`` ``[2, E]`` and ``y`` ``[N]``, -1 for unknown.
        train_labels: the size of V_L(tr).
        observed_labels: the size of V_L(te); 0 if the test graph is unlabelled.
        test_nodes: the size of V_T.
        val_nodes: the size of the validation set.
        seed: the same seed gives the same split.
        min_per_class: V_L(tr) is drawn anew, up to 1000 times, until it has that many nodes of every class.
            Nobody can learn a class without an example, and a patch of few nodes easily misses one (85
            nodes of Cora do in two draws of three). 0 takes the first draw.

    Raises:
        ValueError: if the graph has too few labels, or none of the draws is as asked.

    Example:
        >>> graph = datasets.load("citations", num_nodes=500)
        >>> split = connected(graph, train_labels=40, observed_labels=40, test_nodes=200, val_nodes=100)
        >>> split.train_mask.sum(), (split.train_mask & split.observed_mask).any()
        (tensor(40), tensor(False))
    """
    y = _labels(data)
    labelled = y >= 0
    _check_sizes(int(labelled.sum()), train_labels, observed_labels, test_nodes, val_nodes)
    rng = np.random.default_rng(seed)
    train, observed = two_patches(data.edge_index, y, train_labels, observed_labels, min_per_class, rng)
    labelled[train] = labelled[observed] = False
    others = rng.permutation(np.flatnonzero(labelled))
    return _split(len(y), train, observed, others, test_nodes, val_nodes)


def random(
    data: Data,
    train_labels: int,
    observed_labels: int = 0,
    test_nodes: int = 1000,
    val_nodes: int = 500,
    seed: int = 0,
) -> Split[Tensor]:
    """The usual, easier split of one graph: all four sets are drawn at random from the labelled nodes.

    The arguments are those of :func:`connected`.

    Example:
        >>> split = random(datasets.load("digits"), train_labels=100, test_nodes=500, val_nodes=200)
        >>> split.train_mask.sum(), split.test_mask.sum()
        (tensor(100), tensor(500))
    """
    labelled = np.flatnonzero(_labels(data) >= 0)
    _check_sizes(len(labelled), train_labels, observed_labels, test_nodes, val_nodes)
    nodes = np.random.default_rng(seed).permutation(labelled)
    shown = train_labels + observed_labels
    return _split(
        len(data.y), nodes[:train_labels], nodes[train_labels:shown], nodes[shown:], test_nodes, val_nodes
    )


def graphs(
    data: Sequence[Data],
    train: float = 0.6,
    val: float = 0.2,
    train_labels: float = 0.5,
    observed_labels: float = 0.0,
    seed: int = 0,
) -> Split[list[Tensor]]:
    """The paper's split of many graphs: whole graphs for training, validation and test.

    Args:
        data: graphs with ``y`` ``[N_i]``, -1 for unknown.
        train: the share of the graphs that training sees; their number is rounded.
        val: the share of the graphs for validation, rounded alike. The others are test graphs.
        train_labels: the share of the training graphs' labels that training may see, drawn from all of them
            together.
        observed_labels: the share of the labels that is shown in the validation and in the test graphs. The
            others are judged.
        seed: the same seed gives the same split.

    Returns:
        Lists of masks, one for each graph, in the order of ``data``.

    Raises:
        ValueError: if ``data`` is one graph, or the shares leave no graph or no node for a part.

    Example:
        >>> many = [datasets.load("citations", num_nodes=50, seed=seed) for seed in range(10)]
        >>> split = graphs(many, observed_labels=0.5, seed=1)
        >>> parts = (split.train_mask, split.observed_mask, split.test_mask)
        >>> [int(torch.cat(masks).sum()) for masks in parts]
        [150, 50, 50]
    """
    if isinstance(data, Data):
        raise ValueError("data is one graph; expected a list of graphs: use connected() or random()")
    num_train = round(train * len(data))
    num_val = round((train + val) * len(data)) - num_train
    shares = {"train": train, "val": val, "train_labels": train_labels, "observed_labels": observed_labels}
    _check_shares(shares, num_train, num_val, len(data))
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(data))
    part = np.empty(len(data), np.int64)  # 0 train, 1 validation, 2 test
    part[order] = np.repeat([0, 1, 2], [num_train, num_val, len(data) - num_train - num_val])
    size = [len(graph.y) for graph in data]
    labelled = np.concatenate([graph.y.cpu().numpy() for graph in data]) >= 0
    part_of_node = np.repeat(part, size)

    def draw(number: int, share: float) -> tuple[list[Tensor], list[Tensor]]:
        """A share of the labels of a part of the graphs, and the others."""
        nodes = rng.permutation(np.flatnonzero(labelled & (part_of_node == number)))
        cut = round(share * len(nodes))
        first, second = _mask(nodes[:cut], len(labelled)), _mask(nodes[cut:], len(labelled))
        return list(torch.split(first, size)), list(torch.split(second, size))

    seen, _ = draw(0, train_labels)
    val_observed, val_judged = draw(1, observed_labels)
    observed, judged = draw(2, observed_labels)
    return Split(seen, observed, val_judged, judged, val_observed)


def reference(
    name: str,
    trial: int = 0,
    train_labels: int = 140,
    observed_labels: int = 0,
    root: str | PathLike[str] | None = None,
) -> Split[Tensor]:
    """A split that was published as files: two of the paper's code for Cora, and Friendster's own.

    ``reference("cora", 0)`` is that of the paper's script for unlabelled test graphs (140 labels), and
    ``reference("cora", 2)`` that for partially labelled ones (350). As there, V_L(tr) are the last
    ``train_labels`` entries of the file, of which the scripts take 87, 105 or 140, and V_L(te) are the first
    ``observed_labels``. Validation has 500 nodes and test 1000.

    ``reference("friendster")`` is by the authors of the dataset. It has 15629 training, 3126 validation and
    6251 test nodes, whatever the two numbers are.

    Args:
        name: ``"cora"`` or ``"friendster"``.
        trial: the number in the files' names.
        train_labels: the size of V_L(tr).
        observed_labels: the size of V_L(te).
        root: the folder of the raw files, see :func:`clgnn.datasets.load`.
    """
    entry = datasets.find(name)
    train, val, test = datasets.reference_nodes(entry.name, trial, root)
    observed = train[:0]
    if entry.name == "cora":
        if not (train_labels >= 1 and observed_labels >= 0 and train_labels + observed_labels <= len(train)):
            raise ValueError(
                f"train_labels={train_labels}, observed_labels={observed_labels}; expected at least 1 and 0, "
                f"and no more than the file's {len(train)} in all: lower them, or take trial 2, which has 350"
            )
        train, observed = train[-train_labels:], train[:observed_labels]
    return _split(entry.nodes, train, observed, np.concatenate([test, val]), len(test), len(val))


# The columns of the paper's tables, by the number of training labels that they print.
COLUMNS = {
    "cora": (85, 105, 140),
    "pubmed": (300, 375, 600),
    "friendster": (641,),
    "facebook": (80,),
    datasets.FACEBOOK100: (80,),
    "protein": (7607,),
}
# Test and validation nodes. The paper tells no validation sizes. Cora's is that of the reference code, and
# Friendster's that of its published split, whose test size the paper has. The others follow Cora.
_JUDGED = {"friendster": (6251, 3126)}


def paper(
    name: str,
    train_labels: int | None = None,
    test_label_percent: int = 0,
    trial: int = 0,
    *,
    data: Data | Sequence[Data] | None = None,
    root: str | PathLike[str] | None = None,
) -> Split[Any]:
    """The split of a column of the paper's tables, drawn with the seed ``trial``.

    Args:
        name: one of :data:`COLUMNS`; :data:`clgnn.datasets.FACEBOOK100` stands in for Facebook.
        train_labels: as the tables print it: 85, 105 or 140 for Cora, 300, 375 or 600 for Pubmed, 641 for
            Friendster, 80 for Facebook, 7607 for Protein. By default it is the first of them. For Protein it
            only names the column: 60 % of the graphs, half of their labels.
        test_label_percent: 0 if the test graph is unlabelled. With 50 it is partially labelled: V_L(te) is as
            large as V_L(tr) on a single graph, and half of the nodes of the test graphs on Protein.
        trial: the seed.
        data: the dataset, if it is loaded already. Otherwise it is loaded from ``root``.
        root: the folder of the raw files, see :func:`clgnn.datasets.load`.
    """
    name = datasets.find(name).name
    if name not in COLUMNS:
        raise ValueError(f"no split of {name} in the paper; expected {', '.join(COLUMNS)}: use connected()")
    labels = COLUMNS[name][0] if train_labels is None else train_labels
    if labels not in COLUMNS[name] or test_label_percent not in (0, 50):
        raise ValueError(
            f"train_labels={labels}, test_label_percent={test_label_percent} is no column of {name} in the "
            f"paper; expected {' or '.join(map(str, COLUMNS[name]))}, and 0 or 50: use connected() instead"
        )
    data = datasets.load(name, root) if data is None else data
    if name == "protein":
        return graphs(data, observed_labels=test_label_percent / 100, seed=trial)
    observed = labels if test_label_percent else 0
    return connected(data, labels, observed, *_JUDGED.get(name, (1000, 500)), seed=trial)


def _labels(data: Data) -> NDArray[np.int64]:
    if not isinstance(data, Data):
        raise ValueError(
            f"data is a {type(data).__name__}; expected one graph: use graphs() for a list of them"
        )
    return np.asarray(data.y.cpu(), np.int64)


def _check_sizes(
    available: int, train_labels: int, observed_labels: int, test_nodes: int, val_nodes: int
) -> None:
    sizes = {
        "train_labels": train_labels,
        "observed_labels": observed_labels,
        "test_nodes": test_nodes,
        "val_nodes": val_nodes,
    }
    if train_labels < 1 or min(sizes.values()) < 0:
        raise ValueError(
            f"{_words(sizes)}; expected train_labels of at least 1 and none of the others negative"
        )
    if sum(sizes.values()) > available:
        raise ValueError(
            f"{_words(sizes)} are {sum(sizes.values())} labelled nodes; the graph has {available}: lower them"
        )


def _check_shares(shares: dict[str, float], num_train: int, num_val: int, num_graphs: int) -> None:
    if (
        not all(0 <= share <= 1 for share in shares.values())
        or num_train < 1
        or num_train + num_val >= num_graphs
        or shares["observed_labels"] == 1
    ):
        raise ValueError(
            f"{_words(shares)} for {num_graphs} graphs; expected shares in 0..1 that leave a graph to train "
            "on, one to test on, and nodes to judge: change them"
        )


def _words(values: dict[str, int] | dict[str, float]) -> str:
    return ", ".join(f"{name}={value}" for name, value in values.items())


def _split(
    num_nodes: int,
    train: NDArray[np.int64],
    observed: NDArray[np.int64],
    judged: NDArray[np.int64],
    test_nodes: int,
    val_nodes: int,
) -> Split[Tensor]:
    """The split of one graph: of the judged nodes, in random order, the first are the test nodes."""
    shown = _mask(observed, num_nodes)
    val = _mask(judged[test_nodes : test_nodes + val_nodes], num_nodes)
    return Split(_mask(train, num_nodes), shown, val, _mask(judged[:test_nodes], num_nodes), shown)


def _mask(nodes: NDArray[np.int64], num_nodes: int) -> Tensor:
    mask = torch.zeros(num_nodes, dtype=torch.bool)
    mask[torch.from_numpy(nodes)] = True
    return mask
