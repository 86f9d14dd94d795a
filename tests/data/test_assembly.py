"""Sparse rows from a stream of edges: known answers, and the same bits in little memory as in much."""

import numpy as np
import pytest
import scipy.sparse as sp

from clgnn.data.arrays import ArrayWriter, mapped
from clgnn.data.assembly import ENTRY, Assembled, assemble, write_pairs


def rows_of(folder):
    return {path.stem: np.array(mapped(path)) for path in folder.glob("*.npy")}


def test_directed_and_undirected_rows(tmp_path):
    ends = np.array([0, 0, 1, 1, 2, 2]), np.array([1, 1, 0, 0, 2, 3])
    weights = np.array([1.0, 2.0, 4.0, 8.0, 16.0, 32.0])
    assert write_pairs(tmp_path / "pairs", [(*ends, weights)], True) == (5, 1)
    found = assemble(tmp_path / "pairs", tmp_path, 5, undirected=False, weighted=True)
    assert found == Assembled(3, 2, 0)
    rows = rows_of(tmp_path)
    assert rows["indptr"].tolist() == [0, 1, 2, 2, 3, 3]
    assert rows["indices"].tolist() == [1, 0, 2]
    assert rows["weight"].tolist() == [12, 3, 32]
    assert [rows[name].dtype for name in ("indptr", "indices", "weight")] == [np.int64, np.int32, np.float32]
    found = assemble(tmp_path / "pairs", tmp_path, 5, undirected=True, weighted=True)
    assert found == Assembled(4, 2, 1)
    assert rows_of(tmp_path)["weight"].tolist() == [15, 15, 32, 32]
    assert {path.name for path in tmp_path.iterdir()} == {"pairs", "indptr.npy", "indices.npy", "weight.npy"}


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("undirected", [False, True])
def test_memory_does_not_change_the_result(tmp_path, weighted, undirected):
    rng = np.random.default_rng(0)
    ends, weights = rng.integers(40, size=(2, 3000)), rng.random(3000)
    chunks = [
        (*part, w if weighted else None)
        for part, w in zip(np.array_split(ends, 7, 1), np.array_split(weights, 7), strict=True)
    ]
    found = []
    for memory in (1 << 30, 100 * ENTRY, 1):
        folder = tmp_path / str(memory)
        folder.mkdir()
        write_pairs(folder / "pairs", chunks, weighted)
        counts = assemble(folder / "pairs", folder, 40, undirected, weighted, memory)
        found.append((counts, rows_of(folder)))
    for counts, rows in found[1:]:
        assert counts == found[0][0]
        assert rows.keys() == found[0][1].keys()
        assert all(np.array_equal(rows[name], found[0][1][name]) for name in rows)
    a = sp.csr_array((np.where(weighted, weights, 1.0), (ends[1], ends[0])), shape=(40, 40))
    a.setdiag(0)
    a = a + a.T if undirected else a
    a.eliminate_zeros()
    a.sort_indices()
    rows = found[0][1]
    assert np.array_equal(rows["indptr"], a.indptr)
    assert np.array_equal(rows["indices"], a.indices)
    if weighted:
        assert np.allclose(rows["weight"], a.data)


def test_no_edges(tmp_path):
    assert write_pairs(tmp_path / "pairs", [], False) == (0, 0)
    assert assemble(tmp_path / "pairs", tmp_path, 3, True, False) == Assembled(0, 0, 0)
    assert rows_of(tmp_path)["indptr"].tolist() == [0] * 4
    assert rows_of(tmp_path)["indices"].shape == (0,)


def test_an_array_grows_and_a_broken_one_is_not_readable_as_whole(tmp_path):
    with ArrayWriter(tmp_path / "x.npy", np.float32, (3,)) as file:
        for size in (2, 0, 1_000_000):
            file.append(np.full((size, 3), size))
    read = mapped(tmp_path / "x.npy")
    assert read.shape == (1_000_002, 3)
    assert isinstance(read, np.memmap)
    assert read[:3, 0].tolist() == [2, 2, 1_000_000]
    broken = ArrayWriter(tmp_path / "y.npy", np.int64)
    broken.append(np.ones(5))
    broken.__exit__(RuntimeError, RuntimeError(), None)
    assert len(mapped(tmp_path / "y.npy")) == 0
