"""Two graphs that need no file: scikit-learn's digits, and a synthetic citation network."""

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray
from sklearn.datasets import load_digits
from torch_geometric.data import Data

from clgnn.data.datasets.edges import undirected
from clgnn.data.datasets.prepare import row_normalise
from clgnn.data.sparse import torch_csr


def digits(neighbours: int = 5, prepare: bool = True) -> Data:
    """Scikit-learn's 1797 handwritten digits: linked by their left halves, described by their right halves.

    Two digits are linked when the left half of either is among the ``neighbours`` nearest of the other's. The
    features are the 8 x 4 grey values of the right half, ``x`` [1797, 32], scaled from 0..16 to 0..1 by
    ``prepare``; the classes are the digits. So links and features each know a part, as in most real graphs;
    a graph of the features' own neighbours would tell a GNN nothing new.

    Example:
        >>> digits()
        Data(x=[1797, 32], edge_index=[2, ...], y=[1797])
    """
    if not 1 <= neighbours < 1797:
        raise ValueError(f"neighbours is {neighbours}; expected 1 to 1796: choose a number such as 5")
    pixels, labels = load_digits(return_X_y=True)
    left, right = np.split(pixels.reshape(-1, 8, 8), 2, axis=2)
    # Grey values are whole numbers, so distances are exact and often equal: the lower index is nearer then,
    # and the graph is the same on every machine.
    flat = left.reshape(len(left), -1)
    squares = (flat**2).sum(axis=1)
    distances = squares[:, None] + squares - 2 * flat @ flat.T
    np.fill_diagonal(distances, np.inf)
    nearest = distances.argsort(axis=1, kind="stable")[:, :neighbours]
    links = np.repeat(np.arange(len(flat)), neighbours), nearest.ravel()
    x = torch.from_numpy(right.reshape(len(right), -1).astype(np.float32))
    return Data(
        x=x / 16 if prepare else x,
        edge_index=undirected(links, len(labels), "digits"),
        y=torch.from_numpy(labels.astype(np.int64)),
    )


def citations(
    num_nodes: int = 2000,
    num_features: int = 1000,
    num_classes: int = 5,
    mean_degree: float = 4.0,
    homophily: float = 0.8,
    words: float = 15.0,
    topicality: float = 0.3,
    seed: int = 0,
    prepare: bool = True,
) -> Data:
    """A synthetic citation network: topics share words, papers cite their own topic, a few are cited by many.

    Args:
        num_nodes, num_features, num_classes: the number of papers N, of words p, of topics C.
        mean_degree: twice the number of citations per paper, duplicates included. Every paper cites at
            least one other.
        homophily: the probability that a citation stays within its topic.
        words: the mean number of word tokens of a paper.
        topicality: the probability that a word comes from the paper's topic rather than from the common
            vocabulary: at 0 the words say nothing of the class, at 1 nearly all.
        seed: the same seed gives the same graph.
        prepare: row-normalise the bag of words, as for Cora; otherwise it is binary.

    Returns:
        ``x`` [N, p] sparse CSR, ``edge_index`` [2, E] in both directions, ``y`` [N].

    Example:
        >>> graph = citations(num_nodes=300, seed=1)
        >>> graph.x.layout, graph.x.shape, int(graph.y.max()) + 1
        (torch.sparse_csr, torch.Size([300, 1000]), 5)
    """
    if not (num_nodes > num_classes >= 2 and num_features >= num_classes):
        raise ValueError(
            f"num_nodes is {num_nodes}, num_features {num_features}, num_classes {num_classes}; "
            "expected at least 2 classes, more nodes than classes and no fewer features than classes"
        )
    if not (0 <= homophily <= 1 and 0 <= topicality <= 1 and mean_degree >= 2 and words > 0):
        raise ValueError(
            f"homophily is {homophily}, topicality {topicality}, mean_degree {mean_degree}, words {words}; "
            "expected the first two in 0..1, a mean degree of at least 2 and a positive number of words"
        )
    rng = np.random.default_rng(seed)
    share = rng.uniform(0.5, 1.5, num_classes)
    others = rng.choice(num_classes, num_nodes - num_classes, p=share / share.sum())
    y = np.sort(np.r_[np.arange(num_classes), others])  # sorted, so that a class is an interval
    links = _cite(y, mean_degree, homophily, rng)
    bag = _write(y, num_features, words, topicality, rng)
    shuffle = rng.permutation(num_nodes)  # the order of the nodes must not tell the class
    place = np.argsort(shuffle)
    citing, cited = place[links]
    x = torch_csr(bag[shuffle])
    return Data(
        x=row_normalise(x) if prepare else x,
        edge_index=undirected((citing, cited), num_nodes, "citations"),
        y=torch.from_numpy(y[shuffle]),
    )


def _cite(
    y: NDArray[np.int64], mean_degree: float, homophily: float, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Citations [2, M]: each paper gives one, the others come and go with a heavy-tailed popularity."""
    n = len(y)
    fame = 1 + np.minimum(rng.pareto(1.8, n), n**0.5)
    upto = np.r_[0.0, np.cumsum(fame)]
    start, end = upto[np.searchsorted(y, y)], upto[np.searchsorted(y, y, side="right")]
    more = max(round(n * mean_degree / 2) - n, 0)
    citing = np.r_[np.arange(n), rng.choice(n, more, p=fame / fame.sum())]
    start, end = start[citing], end[citing]
    inside = rng.random(len(citing)) < homophily
    u = rng.random(len(citing))
    within = start + u * (end - start)
    without = u * (upto[-1] - (end - start))
    without += np.where(without >= start, end - start, 0.0)  # jump over the own class
    at = np.where(inside, within, without)
    return np.stack([citing, np.clip(np.searchsorted(upto, at, side="right") - 1, 0, n - 1)])


def _write(
    y: NDArray[np.int64], num_features: int, words: float, topicality: float, rng: np.random.Generator
) -> sp.csr_array:
    """A binary bag of words [N, p]: common words after Zipf, and a topic's own words."""
    common = 1.0 / (np.arange(num_features) + 5.0)
    own = rng.permutation(num_features) % (int(y.max()) + 1)  # the topic that each word belongs to
    paper = np.repeat(np.arange(len(y)), 1 + rng.poisson(words - 1 if words > 1 else 0, len(y)))
    topical = rng.random(len(paper)) < topicality
    word = rng.choice(num_features, len(paper), p=common / common.sum())
    for topic in range(int(y.max()) + 1):
        of_topic = np.flatnonzero(topical & (y[paper] == topic))
        weight = np.where(own == topic, common, 0.0)
        word[of_topic] = rng.choice(num_features, len(of_topic), p=weight / weight.sum())
    bag = sp.csr_array((np.ones(len(paper), np.float32), (paper, word)), shape=(len(y), num_features))
    bag.data[:] = 1.0
    return bag
