import functools
import itertools
import os

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse.csgraph import connected_components
from torch_geometric.data import Data
from torch_geometric.utils import subgraph, to_scipy_sparse_matrix

from clgnn import splits
from clgnn.data.datasets import citations, data_folder, digits, is_here, load

MASKS = ("train_mask", "observed_mask", "val_mask", "test_mask")


@pytest.fixture(autouse=True, scope="module")
def cache(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CLGNN_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="module")
def real():
    """Loads a real dataset, once."""
    if not os.environ.get("CLGNN_DATA"):
        pytest.skip("the datasets' files are not here: set CLGNN_DATA to their folder")

    @functools.cache
    def real(name):
        if not is_here(name):
            pytest.skip(f"the files of {name} are not in CLGNN_DATA")
        return load(name)

    return real


def components(graph, mask):
    inside, _ = subgraph(mask, graph.edge_index, relabel_nodes=True, num_nodes=graph.num_nodes)
    return connected_components(to_scipy_sparse_matrix(inside, num_nodes=int(mask.sum())), directed=False)[0]


def sizes(split):
    return tuple(int(torch.cat(_list(getattr(split, name))).sum()) for name in MASKS)


def _list(mask):
    return mask if isinstance(mask, list) else [mask]


def check(graph, split, shown=MASKS):
    """What holds for every split: bool masks, disjoint, labelled nodes only."""
    masks = [torch.cat(_list(getattr(split, name))) for name in shown]
    y = torch.cat([part.y for part in _list(graph)])
    assert all(mask.dtype == torch.bool and mask.shape == y.shape for mask in masks)
    assert not any((one & two).any() for one, two in itertools.combinations(masks, 2))
    assert all((y[mask] >= 0).all() for mask in masks)


def same(one, two):
    names = (*MASKS, "val_observed_mask")
    return all(
        torch.equal(torch.cat(_list(getattr(one, name))), torch.cat(_list(getattr(two, name))))
        for name in names
    )


@settings(max_examples=30, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    train=st.integers(1, 60),
    observed=st.integers(0, 60),
    hidden=st.floats(0, 0.4),
)
def test_connected(seed, train, observed, hidden):
    graph = citations(num_nodes=400, num_features=20, seed=seed)
    graph.y[torch.rand(400, generator=torch.Generator().manual_seed(seed)) < hidden] = -1
    split = splits.connected(graph, train, observed, 60, 40, seed, min_per_class=0)
    check(graph, split)
    assert sizes(split) == (train, observed, 40, 60)
    assert components(graph, split.train_mask) == 1
    assert components(graph, split.observed_mask) == (1 if observed else 0)
    assert split.val_observed_mask is split.observed_mask
    assert same(split, splits.connected(graph, train, observed, 60, 40, seed, min_per_class=0))


def test_another_seed_is_another_split():
    graph = citations(num_nodes=400)
    one, two = (splits.connected(graph, 40, 40, 100, 50, seed) for seed in (0, 1))
    assert not same(one, two)


def test_the_global_random_state_is_neither_read_nor_touched():
    graph = citations(num_nodes=400)
    np.random.seed(0)  # noqa: NPY002
    torch.manual_seed(0)
    before = np.random.get_state()[1].copy(), torch.get_rng_state()  # noqa: NPY002
    one = splits.connected(graph, 40, 40, 100, 50)
    assert (np.random.get_state()[1] == before[0]).all()  # noqa: NPY002
    assert torch.equal(torch.get_rng_state(), before[1])
    torch.manual_seed(1)
    assert same(one, splits.connected(graph, 40, 40, 100, 50))


@pytest.mark.parametrize("seed", range(5))
def test_every_class_is_in_the_training_set(seed):
    graph = citations(num_nodes=600, seed=seed)
    for least in (1, 3):
        split = splits.connected(graph, 60, 60, 100, 50, seed, min_per_class=least)
        assert torch.bincount(graph.y[split.train_mask], minlength=5).min() >= least
        check(graph, split)


def path(labels):
    """A path of nodes with these labels."""
    ends = torch.arange(len(labels) - 1)
    edges = torch.stack([torch.cat([ends, ends + 1]), torch.cat([ends + 1, ends])])
    return Data(edge_index=edges, y=torch.tensor(labels), num_nodes=len(labels))


def test_unlabelled_nodes_do_not_connect():
    graph = path([0] * 5 + [-1] + [0] * 3)
    for seed in range(10):
        split = splits.connected(graph, 4, 3, 1, 0, seed)
        assert split.train_mask[:5].sum() == 4
        assert split.observed_mask[6:].all()


def test_a_training_set_that_leaves_no_room_is_drawn_anew():
    graph = path([0] * 9)  # only from an end does V_L(tr) leave four connected nodes
    for seed in range(20):
        split = splits.connected(graph, 4, 4, 1, 0, seed)
        assert components(graph, split.train_mask) == components(graph, split.observed_mask) == 1


def test_what_cannot_be_is_said():
    graph = path([0, 0, 1, 1, -1, 0, 0])
    with pytest.raises(ValueError, match=r"are 7 labelled nodes; the graph has 6: lower them"):
        splits.connected(graph, 3, 0, 3, 1)
    with pytest.raises(ValueError, match="train_labels is 5; no connected component has so many"):
        splits.connected(graph, 5, 0, 1, 0)
    with pytest.raises(
        ValueError, match="none of 1000 connected sets of 1 nodes had 1 of each of the 2 classes"
    ):
        splits.connected(graph, 1, 0, 1, 0)
    with pytest.raises(ValueError, match=r"left a connected component of 3 labels for V_L\(te\)"):
        splits.connected(graph, 3, 3, 0, 0, min_per_class=0)
    for wrong in ((0, 0, 1, 1), (1, -1, 1, 1), (1, 0, -1, 1)):
        with pytest.raises(ValueError, match="expected train_labels of at least 1"):
            splits.connected(graph, *wrong)


def test_one_graph_or_many():
    graph = citations(num_nodes=30)
    for split in (splits.connected, splits.random):
        with pytest.raises(ValueError, match=r"data is a list; expected one graph: use graphs\(\)"):
            split([graph], 5)
    with pytest.raises(ValueError, match="data is one graph; expected a list"):
        splits.graphs(graph)


def test_random():
    graph = digits()
    split = splits.random(graph, 100, 50, 500, 200, seed=3)
    check(graph, split)
    assert sizes(split) == (100, 50, 200, 500)
    assert components(graph, split.train_mask) > 10
    assert same(split, splits.random(graph, 100, 50, 500, 200, seed=3))
    with pytest.raises(ValueError, match="the graph has 1797"):
        splits.random(graph, 1000, 1000)


MANY = [citations(num_nodes=30 + 5 * i, num_features=10, seed=i) for i in range(12)]


@settings(max_examples=20, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    number=st.integers(3, 12),
    train_labels=st.floats(0.1, 1),
    observed=st.floats(0, 0.9),
)
def test_graphs(seed, number, train_labels, observed):
    many = MANY[:number]
    split = splits.graphs(many, 0.5, 0.25, train_labels, observed, seed)
    check(many, split, (*MASKS, "val_observed_mask"))
    parts = {
        "train": {i for i, mask in enumerate(split.train_mask) if mask.any()},
        "val": {i for i in range(number) if split.val_mask[i].any() or split.val_observed_mask[i].any()},
        "test": {i for i in range(number) if split.test_mask[i].any() or split.observed_mask[i].any()},
    }
    assert not any(one & two for one, two in itertools.combinations(parts.values(), 2))
    whole = sum(many[i].num_nodes for i in parts["test"])
    assert sizes(split)[1] + sizes(split)[3] == whole
    assert sizes(split)[1] == round(observed * whole)
    assert same(split, splits.graphs(many, 0.5, 0.25, train_labels, observed, seed))


@pytest.mark.parametrize(
    "wrong", [{"train": 0}, {"train": 0.9, "val": 0.1}, {"observed_labels": 1}, {"val": -0.1}]
)
def test_graphs_that_cannot_be(wrong):
    with pytest.raises(ValueError, match="for 4 graphs; expected shares"):
        splits.graphs([citations(num_nodes=30)] * 4, **wrong)


PRESETS = [
    (name, labels, percent)
    for name, columns in splits.COLUMNS.items()
    for labels in columns
    for percent in (0, 50)
    if name not in ("protein", "facebook")
]


@pytest.mark.parametrize("trial", range(2))
@pytest.mark.parametrize(("name", "labels", "percent"), PRESETS)
def test_paper(real, name, labels, percent, trial):
    graph = real(name)
    split = splits.paper(name, train_labels=labels, test_label_percent=percent, trial=trial, data=graph)
    check(graph, split)
    observed = labels if percent else 0
    assert sizes(split) == (labels, observed, *((3126, 6251) if name == "friendster" else (500, 1000)))
    assert components(graph, split.train_mask) == 1
    assert components(graph, split.observed_mask) == (1 if percent else 0)
    assert torch.unique(graph.y[split.train_mask]).tolist() == torch.unique(graph.y[graph.y >= 0]).tolist()
    assert same(split, splits.paper(name, labels, percent, trial, data=graph))


@pytest.mark.parametrize("percent", [0, 50])
def test_paper_s_protein(real, percent):
    graphs = real("protein")
    split = splits.paper("protein", 7607, percent, trial=1, data=graphs)
    check(graphs, split, (*MASKS, "val_observed_mask"))
    train, observed, val, test = sizes(split)
    used = [
        sum(bool(mask.any()) for mask in masks)
        for masks in (split.train_mask, split.val_mask, split.test_mask)
    ]
    assert used == [50, 17, 17]
    whole = sum(graph.num_nodes for graph, mask in zip(graphs, split.train_mask, strict=True) if mask.any())
    assert train == round(whole / 2)
    shown = int(torch.cat(split.val_observed_mask).sum())
    if percent:
        assert abs(observed - test) <= 1
        assert abs(shown - val) <= 1
    else:
        assert observed == shown == 0


def test_paper_loads_by_name(real):
    graph = real("cora")
    assert same(splits.paper("cora", 105, 50, 3), splits.paper("Cora", 105, 50, 3, data=graph))
    assert sizes(splits.paper("cora"))[0] == 85


def test_what_the_paper_does_not_have():
    with pytest.raises(
        ValueError, match="no column of cora in the paper; expected 85 or 105 or 140, and 0 or 50"
    ):
        splits.paper("cora", train_labels=90)
    with pytest.raises(ValueError, match="expected 641, and 0 or 50"):
        splits.paper("friendster", 641, 30)
    with pytest.raises(ValueError, match="no split of digits in the paper"):
        splits.paper("digits")


def test_reference_cora(real):
    graph = real("cora")
    if not (data_folder() / "clgnn_splits").exists():
        pytest.skip("the published splits of Cora are not in CLGNN_DATA")
    one = splits.reference("cora", 0)
    check(graph, one)
    assert sizes(one) == (140, 0, 500, 1000)
    assert torch.bincount(graph.y[one.train_mask]).tolist() == [20, 13, 14, 12, 40, 17, 24]
    assert components(graph, one.train_mask) == 91
    two = splits.reference("cora", 2, train_labels=87, observed_labels=87)
    check(graph, two)
    assert sizes(two) == (87, 87, 500, 1000)
    whole = splits.reference("cora", 2, train_labels=350)
    assert torch.bincount(graph.y[whole.train_mask]).tolist() == [50] * 7
    assert components(graph, whole.train_mask) == 1
    with pytest.raises(ValueError, match="no more than the file's 140 in all"):
        splits.reference("cora", 0, train_labels=140, observed_labels=1)


def test_reference_friendster(real):
    graph = real("friendster")
    if not (data_folder() / "friendster" / "friendster_25K.split.npz").exists():
        pytest.skip("the published split of Friendster is not in CLGNN_DATA")
    split = splits.reference("friendster")
    check(graph, split)
    assert sizes(split) == (15629, 0, 3126, 6251)
    assert torch.bincount(graph.y[split.test_mask]).tolist() == [2290, 3124, 518, 74, 245]


def test_references_that_do_not_exist():
    with pytest.raises(ValueError, match="no published split 1 of 'cora'; expected 0 or 2 of cora"):
        splits.reference("cora", 1)
    with pytest.raises(ValueError, match="no published split 0 of 'pubmed'"):
        splits.reference("pubmed")
