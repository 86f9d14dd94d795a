"""The folder of a graph: what opens, and what is refused in one line."""

import json
import pickle

import numpy as np
import pandas as pd
import pytest

import clgnn.data
from clgnn.data.arrays import ArrayWriter
from clgnn.data.described import Counts
from clgnn.data.folder import is_graph, write_meta, write_schema
from clgnn.data.tables import Schema

ARRAYS = {
    "indptr": np.array([0, 1, 3, 3]),
    "indices": np.array([1, 0, 2], np.int32),
    "x": np.arange(6, dtype=np.float32).reshape(3, 2),
    "y": np.array([0, -1, 1]),
    "weight": np.array([1.0, 2.0, 0.5], np.float32),
    "split": np.array([1, 0, 3], np.int8),
}


@pytest.fixture
def folder(tmp_path):
    path = tmp_path / "g.clg"
    path.mkdir()
    for name, array in ARRAYS.items():
        np.save(path / f"{name}.npy", array)
    pd.DataFrame({"key": ["a", "b", "c"]}).to_parquet(path / "ids.parquet")
    write_schema(path, Schema("key", "label", ("no", "yes"), ()))
    write_meta(path, Counts(3, 3, 2, 2, {"self-loops dropped": 1}, ("when",)))
    return path


def test_a_folder_opens_with_mapped_arrays(folder):
    assert is_graph(folder)
    graph = clgnn.data.open(folder, verify=True)
    for name, array in ARRAYS.items():
        found = getattr(graph, name)
        assert isinstance(found, np.memmap)
        assert not found.flags.writeable
        assert np.array_equal(found, array)
    assert graph.ids.tolist() == ["a", "b", "c"]
    assert graph.schema.classes == ("no", "yes")
    assert graph.counts.dropped == {"self-loops dropped": 1}
    assert graph.part("test").tolist() == [False, False, True]


def of_meta(change):
    def damage(folder):
        content = json.loads((folder / "meta.json").read_text())
        change(content)
        (folder / "meta.json").write_text(json.dumps(content))

    return damage


def saved(name, array):
    """Another array of a file, with a meta.json that agrees with it."""

    def damage(folder):
        np.save(folder / f"{name}.npy", array)
        write_meta(folder, Counts(3, 3, 2, 2, {}))

    return damage


def pickled(folder):
    """An array of objects would run code if it were unpickled."""
    np.save(folder / "y.npy", np.array([print, 1, 2], dtype=object), allow_pickle=True)
    write_meta(folder, Counts(3, 3, 2, 2, {}))


def cut(folder):
    content = (folder / "x.npy").read_bytes()
    (folder / "x.npy").write_bytes(content[:-4])


def cut_in_agreement(folder):
    cut(folder)
    write_meta(folder, Counts(3, 3, 2, 2, {}))


def foreign(folder):
    with (folder / "y.npy").open("wb") as file:
        pickle.dump([1, 2, 3], file)
    write_meta(folder, Counts(3, 3, 2, 2, {}))


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (cut, "x.npy has 148 bytes; expected 152"),
        (cut_in_agreement, "x.npy is no array"),
        (foreign, "y.npy is no array"),
        (pickled, "y.npy is no array .*Python objects"),
        (lambda f: (f / "indices.npy").unlink(), "indices.npy is missing"),
        (saved("x", np.ones((3, 2))), "x.npy holds float64; expected float32"),
        (saved("x", np.ones((3, 3), np.float32)), r"x.npy has shape \(3, 3\); expected \(3, 2\)"),
        (saved("indices", np.array([1, 0, 3], np.int32)), "nodes outside of 0 to 2"),
        (saved("indices", np.array([1, 0, -1], np.int32)), "nodes outside of 0 to 2"),
        (saved("indptr", np.array([0, 3, 1, 3])), "does not rise from 0 to 3"),
        (saved("indptr", np.array([0, 1, 2, 9])), "does not rise from 0 to 3"),
        (saved("split", np.array([1, 0, 9], np.int8)), "parts outside of 0 to 4"),
        (lambda f: (f / "meta.json").unlink(), "no graph: it has no meta.json"),
        (lambda f: (f / "meta.json").write_text("{"), "meta.json can't be read"),
        (lambda f: (f / "meta.json").write_text("[]"), "no graph by its meta.json"),
        (of_meta(lambda c: c.update(kind="model")), "no graph by its meta.json"),
        (of_meta(lambda c: c.update(format=9)), "format 9; this version reads 1"),
        (of_meta(lambda c: c["files"].pop("x.npy")), "meta.json is not whole"),
        (of_meta(lambda c: c["files"].update({"../x.npy": {"bytes": 1, "sha256": ""}})), "meta.json is not whole"),
        (of_meta(lambda c: c.update(counts={"nodes": 3})), "meta.json is not whole"),
        (of_meta(lambda c: c["counts"].update(nodes="3")), "meta.json is not whole"),
        (lambda f: (f / "schema.json").write_text("[]" + " " * ((f / "schema.json").stat().st_size - 2)), "schema.json can't be read"),
    ],
)  # fmt: skip
def test_what_is_damaged_is_refused(folder, damage, message):
    damage(folder)
    with pytest.raises(ValueError, match=message) as error:
        clgnn.data.open(folder)
    assert "\n" not in str(error.value)


def test_a_swapped_file_of_the_same_size_is_found_on_request(folder):
    np.save(folder / "x.npy", ARRAYS["x"] + 1)
    clgnn.data.open(folder)
    with pytest.raises(ValueError, match=r"x\.npy has another checksum"):
        clgnn.data.open(folder, verify=True)


def test_a_graph_without_edges_opens(folder):
    for name, dtype in (("indices", np.int32), ("weight", np.float32)):
        with ArrayWriter(folder / f"{name}.npy", dtype):
            pass
    np.save(folder / "indptr.npy", np.zeros(4, np.int64))
    write_meta(folder, Counts(3, 0, 2, 2, {}))
    assert clgnn.data.open(folder).num_edges == 0
    assert clgnn.data.open(folder).to_data().edge_index.shape == (2, 0)


def test_no_folder_and_wrong_ids(folder, tmp_path):
    with pytest.raises(ValueError, match="no graph"):
        clgnn.data.open(tmp_path / "nowhere")
    pd.DataFrame({"key": ["a", "b"]}).to_parquet(folder / "ids.parquet")
    write_meta(folder, Counts(3, 3, 2, 2, {}))
    with pytest.raises(ValueError, match="2 ids; expected 3"):
        _ = clgnn.data.open(folder).ids
