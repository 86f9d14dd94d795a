import dataclasses
import sys

import numpy as np
import pytest
import torch
from torch_geometric.data import Data

from clgnn.data.datasets import CATALOGUE, FACEBOOK100, DatasetError, get, is_here, load

EMBEDDED = [name for name, entry in CATALOGUE.items() if not entry.files]
PUBLIC = [name for name, entry in CATALOGUE.items() if entry.files and name != "facebook"]


def check(graph):
    """The contract of every graph."""
    assert graph.x.dtype == torch.float32
    assert graph.x.shape[0] == graph.num_nodes
    assert graph.x.layout in (torch.strided, torch.sparse_csr)
    assert graph.edge_index.dtype == torch.int64
    assert graph.edge_index.is_contiguous()
    assert graph.is_coalesced()
    assert graph.is_undirected()
    assert not graph.has_self_loops()
    assert graph.y.dtype == torch.int64
    assert graph.y.min() >= -1
    assert set(graph.keys()) == {"x", "edge_index", "y"}
    values = graph.x.values() if graph.x.layout == torch.sparse_csr else graph.x
    assert torch.isfinite(values).all()


@pytest.mark.parametrize("prepare", [True, False])
@pytest.mark.parametrize("name", EMBEDDED + PUBLIC)
def test_the_contract(request, name, prepare):
    root = None if name in EMBEDDED else request.getfixturevalue("data")
    loaded = load(name, root, prepare=prepare)
    for graph in [loaded] if isinstance(loaded, Data) else loaded:
        check(graph)


@pytest.mark.parametrize("name", ["cora", "pubmed"])
def test_citations_are_row_normalised_and_sparse(data, name):
    x, raw = load(name, data).x, load(name, data, prepare=False).x
    assert x.layout == raw.layout == torch.sparse_csr
    sums = torch.from_numpy(np.add.reduceat(x.values().numpy(), x.crow_indices()[:-1].numpy()))
    torch.testing.assert_close(sums, torch.ones(len(sums)))
    assert torch.equal(x.col_indices(), raw.col_indices())
    if name == "cora":
        assert set(raw.values().tolist()) == {1.0}


def test_friendster_has_z_scores_and_no_age(data):
    graph, raw = load("friendster", data), load("friendster", data, prepare=False)
    assert raw.x.layout == torch.sparse_csr
    assert graph.x.shape == raw.x.shape == (43880, 643)
    deviation = graph.x.double().std(dim=0, correction=0)
    constant = deviation == 0
    assert constant.sum() == 44
    torch.testing.assert_close(deviation[~constant], torch.ones(599, dtype=torch.double), atol=1e-4, rtol=0)
    torch.testing.assert_close(
        graph.x.double().mean(dim=0), torch.zeros(643, dtype=torch.double), atol=1e-5, rtol=0
    )


def test_protein_has_z_scores_over_all_graphs(data):
    x = torch.cat([graph.x for graph in load("protein", data)]).double()
    torch.testing.assert_close(x.mean(dim=0), torch.zeros(29, dtype=torch.double), atol=1e-5, rtol=0)
    torch.testing.assert_close(
        x.std(dim=0, correction=0), torch.ones(29, dtype=torch.double), atol=1e-5, rtol=0
    )


def test_facebook100_is_one_hot_without_the_missing(data):
    graph, raw = load(FACEBOOK100, data), load(FACEBOOK100, data, prepare=False)
    assert raw.x.shape == (5180, 6)
    assert set(graph.x.values().tolist()) == {1.0}
    assert torch.equal(graph.x.crow_indices().diff(), (raw.x != 0).sum(dim=1))


def test_the_second_load_parses_nothing_and_is_the_same(data, monkeypatch):
    first = load("cora", data)

    def parse(files):
        raise AssertionError("parsed again")

    monkeypatch.setitem(CATALOGUE, "cora", dataclasses.replace(CATALOGUE["cora"], parse=parse))
    second = load("cora", data)
    assert torch.equal(first.x.to_dense(), second.x.to_dense())
    assert torch.equal(first.edge_index, second.edge_index)
    assert torch.equal(first.y, second.y)


def test_a_damaged_copy_does_not_change_what_is_loaded(data, cache):
    before = load("protein", data)
    copy = cache / "parsed" / "protein.safetensors"
    content = bytearray(copy.read_bytes())
    content[-1] ^= 1
    copy.write_bytes(content)
    after = load("protein", data)
    assert all(
        torch.equal(one.x, two.x) and torch.equal(one.y, two.y)
        for one, two in zip(before, after, strict=True)
    )


def facebook(folder, edges=((0, 1), (1, 2), (2, 1), (3, 3)), nodes=4):
    folder = folder / "facebook"
    folder.mkdir()
    np.save(folder / "fb.edgelist.npy", np.array(edges))
    np.save(folder / "fb.labels.npy", np.arange(4) % 2)
    np.save(folder / "fb.attrs.npy", np.ones((nodes, 3)))
    return folder


def test_facebook_from_the_user_s_files(tmp_path):
    facebook(tmp_path)
    graph = load("facebook", tmp_path)
    check(graph)
    assert graph.edge_index.tolist() == [[0, 1, 1, 2], [1, 0, 2, 1]]
    assert graph.y.tolist() == [0, 1, 0, 1]
    assert graph.x.shape == (4, 3)


def test_facebook_s_files_must_fit(tmp_path):
    facebook(tmp_path, nodes=5)
    with pytest.raises(DatasetError, match=r"fb.attrs.npy \(5, 3\); expected"):
        load("facebook", tmp_path)


def test_facebook_s_edges_must_fit(tmp_path):
    facebook(tmp_path, edges=[(0, 9)])
    with pytest.raises(DatasetError, match=r"joins nodes 0\.\.9; expected nodes 0\.\.3"):
        load("facebook", tmp_path)


def test_facebook_with_pickled_objects_is_refused(tmp_path):
    np.save(facebook(tmp_path) / "fb.labels.npy", np.array([{}], object), allow_pickle=True)
    with pytest.raises(DatasetError, match=r"fb.labels.npy cannot be read: .*; expected a plain .npy array"):
        load("facebook", tmp_path)


def test_facebook_was_never_published(tmp_path):
    with pytest.raises(DatasetError, match=f"never published: load {FACEBOOK100}, or put what you have"):
        load("facebook", tmp_path)


def test_names_and_options():
    with pytest.raises(DatasetError, match=r"no dataset 'coar'; expected one of .*: did you mean 'cora'"):
        load("coar")
    with pytest.raises(DatasetError, match="digits has no option 'ages'; expected neighbours: leave it out"):
        load("digits", ages="literal")
    with pytest.raises(DatasetError, match="cora has no option 'k'; expected none"):
        load("cora", k=1)
    assert load("DIGITS").num_nodes == 1797


def test_ages_must_be_known(data):
    with pytest.raises(DatasetError, match="ages is 'decades'; expected 'gapless' or 'literal'"):
        load("friendster", data, ages="decades")


def test_without_h5py_the_error_says_what_to_install(data, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "h5py", None)
    monkeypatch.setenv("CLGNN_CACHE", str(tmp_path))
    with pytest.raises(DatasetError, match=r"pip install 'clgnn\[datasets\]'"):
        load("friendster", data)


def test_get_and_is_here(data, tmp_path):
    assert get("digits") == []
    assert get("cora", data) == []
    assert is_here("cora", data)
    assert not is_here("cora", tmp_path)


def test_every_public_file_has_a_source_and_a_checksum():
    files = [file for name in PUBLIC for file in CATALOGUE[name].files]
    assert all(file.source and file.sha256 and len(file.sha256) == 64 for file in files)
    assert len({file.sha256 for file in files}) == len(files)
