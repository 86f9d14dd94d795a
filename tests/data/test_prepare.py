"""Tables as a graph on disk: the same graph as in memory, from CSV and Parquet, after a kill, in little memory."""

import json
import os
import shutil

import numpy as np
import pandas as pd
import pytest
import torch

import clgnn.data
from clgnn.data import disk_table, joined, prepare
from clgnn.data.described import counted
from clgnn.data.disk_table import open_table
from clgnn.data.parts import split_parts
from clgnn.data.prepare import Preparation
from clgnn.data.steps import Steps
from clgnn.data.stored import PARTS
from clgnn.data.tables import Schema, read_table

ROWS = 41


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    monkeypatch.setattr(disk_table, "BLOCK", 8)


def nodes_table():
    """A table whose columns hold something else in some blocks than in others."""
    rng, i = np.random.default_rng(0), np.arange(ROWS)
    return pd.DataFrame(
        {
            "id": [f"{n:03}" for n in i],
            "amount": rng.normal(1e3, 1.0, ROWS),
            "count": pd.Series(rng.integers(9, size=ROWS)).where(i != 20),  # whole, with one blank
            "late": pd.Series([" a", "b "] * 20 + ["c"]).where(i > 9),  # blank in the first blocks
            "code": pd.Series(["12", "7"] * 20 + ["x7"]),  # numbers in all blocks but the last
            "flag": pd.Series(rng.random(ROWS) < 0.5, dtype=object).where(i % 5 > 0),
            "nothing": np.nan,
            "born": [f"2020-01-{n % 28 + 1:02}" for n in i],
            "part": np.array(["train", "Val", "test", ""])[i % 4],
            "label": pd.Series(["yes", "no"] * 20 + ["no"]).where(i % 3 > 0),
        }
    )


def edges_table():
    rng = np.random.default_rng(1)
    ends = rng.integers(ROWS, size=(2, 200))
    return pd.DataFrame(
        {
            "source": [f"{n:03}" for n in ends[0]],
            "target": [f"{n:03}" for n in ends[1]],
            "weight": rng.random(200),
            "when": 1,
        }
    )


def write(folder, how):
    """The two tables as files; their paths."""
    folder.mkdir(exist_ok=True)
    paths = []
    for name, table in (("nodes", nodes_table()), ("edges", edges_table())):
        path = folder / f"{name}.{how.removeprefix('parts.')}"
        if how == "parts.parquet":
            path = folder / name
            path.mkdir()
            for i, part in enumerate(np.array_split(np.arange(len(table)), 3)):
                table.iloc[part].to_parquet(path / f"part-{i}.parquet", index=False)
        elif how == "parquet":
            table.to_parquet(path, row_group_size=7)
        else:
            table.to_csv(path, index=False)
        paths.append(str(path))
    return paths


LEARN = {"ignore": ("part",), "date": ("born",), "categorical": ("code",)}
TEXT = {"nodes": ("id", "code"), "edges": ("source", "target")}


def prepared(
    out, paths, weight="weight", undirected=True, memory=4.0, learn=LEARN, label="label", split="part"
):
    work = Preparation(out, tuple(paths), [weight, undirected, label, split], memory)
    nodes, edges = (work.table(path, text) for path, text in zip(paths, TEXT.values(), strict=True))
    schema = work.schema(
        nodes, edges, lambda: Schema.learn(nodes, label, **learn, weight=weight, undirected=undirected)
    )
    return work.write(nodes, edges, schema, label, split)


def in_memory(paths, weight="weight", undirected=True):
    nodes, edges = (read_table(path, text) for path, text in zip(paths, TEXT.values(), strict=True))
    schema = Schema.learn(nodes, "label", **LEARN, weight=weight, undirected=undirected)
    links = schema.edges(nodes, edges)
    return nodes, schema, links, schema.graph(nodes, links, "label")


@pytest.mark.parametrize("how", ["csv", "csv.gz", "parquet", "parts.parquet"])
@pytest.mark.parametrize(("weight", "undirected"), [("weight", True), ("weight", False), (None, True)])
def test_the_graph_on_disk_is_the_graph_in_memory(tmp_path, how, weight, undirected):
    paths = write(tmp_path / "tables", how)
    counts = prepared(tmp_path / "g.clg", paths, weight, undirected)
    nodes, schema, links, data = in_memory(paths, weight, undirected)
    graph = clgnn.data.open(tmp_path / "g.clg", verify=True)
    again = graph.to_data()
    assert set(again.keys()) == set(data.keys())
    for name in data.keys():  # noqa: SIM118  (a Data is no dictionary)
        assert data[name].dtype == again[name].dtype, name
        assert torch.equal(data[name], again[name]), name
    assert graph.schema == schema
    assert counts == graph.counts == counted(data, links)
    assert graph.ids.tolist() == nodes["id"].tolist()
    assert [PARTS[i] for i in graph.split] == split_parts(nodes, "part").tolist()
    assert isinstance(graph.x, np.memmap)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["g.clg", "tables"]


def test_memory_changes_no_byte(tmp_path):
    paths = write(tmp_path / "tables", "parquet")
    for name, memory in (("a", 4.0), ("b", 1e-6)):
        prepared(tmp_path / name, paths, memory=memory)
    assert bytes_of(tmp_path / "a") == bytes_of(tmp_path / "b")


@pytest.mark.parametrize("how", ["csv", "parquet"])
def test_duckdb_changes_no_byte(tmp_path, monkeypatch, how):
    paths = write(tmp_path / "tables", how)
    prepared(tmp_path / "with", paths)
    monkeypatch.setattr(joined.importlib.util, "find_spec", lambda _: None)
    monkeypatch.setattr(joined, "JoinedIds", None)
    prepared(tmp_path / "without", paths)
    assert bytes_of(tmp_path / "with") == bytes_of(tmp_path / "without")


def bytes_of(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_numbers_as_labels_and_no_labels(tmp_path):
    paths = write(tmp_path / "tables", "parquet")
    keep = {"ignore": ("part", "label", "code"), "date": ("born",)}
    prepared(tmp_path / "numbers", paths, learn=keep, label="amount", split=None)
    graph = clgnn.data.open(tmp_path / "numbers")
    assert graph.y.dtype == np.float64
    assert graph.y.tolist() == nodes_table()["amount"].tolist()
    assert graph.split is None
    prepared(tmp_path / "none", paths, learn=keep, label=None, split=None)
    assert np.isnan(clgnn.data.open(tmp_path / "none").y).all()


def test_a_column_of_lists_and_one_without_features(tmp_path):
    paths = write(tmp_path / "tables", "parquet")
    rng = np.random.default_rng(0)
    nodes = nodes_table()[["id", "label"]]
    nodes.assign(vector=list(rng.random((ROWS, 3)))).to_parquet(paths[0])
    prepared(tmp_path / "g", paths, learn={}, split=None)
    data = Schema.learn(pd.read_parquet(paths[0]), "label").graph(pd.read_parquet(paths[0]), edges_table())
    assert np.array_equal(clgnn.data.open(tmp_path / "g").x, data.x.numpy())
    nodes.to_parquet(paths[0])
    prepared(tmp_path / "h", paths, learn={}, split=None)
    assert clgnn.data.open(tmp_path / "h").x.tolist() == [[1.0]] * ROWS


def test_many_categories_are_written_dense(tmp_path):
    paths = write(tmp_path / "tables", "parquet")
    names = [f"c{i}" for i in range(ROWS)]
    wide = nodes_table()[["id", "label"]].assign(**dict.fromkeys("ab", names))
    wide.to_parquet(paths[0])
    prepared(tmp_path / "g", paths, learn={"categorical": ("a", "b")}, split=None)
    data = Schema.learn(wide, "label", categorical=("a", "b")).graph(wide, edges_table())
    assert data.x.layout == torch.sparse_csr
    assert np.array_equal(clgnn.data.open(tmp_path / "g").x, data.x.to_dense().numpy())


@pytest.mark.parametrize("duckdb", [True, False])
@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda n, e: (n, e.assign(target=e["target"].where(e.index != 150, "zoe"))), r"row 151 of the edges table has target 'zoe', which is no id of the nodes table \(1 such rows\)"),
        (lambda n, e: (n, e.assign(source=e["source"].where(e.index != 150))), "row 151 of the edges table has no id in column 'source'"),
        (lambda n, e: (n, e.assign(weight=e["weight"].where(e.index != 150, -1))), "negative weight in row 151"),
        (lambda n, e: (n, e.drop(columns="target")), "the edges table has no column 'target'"),
        (lambda n, e: (pd.concat([n, n[5:6]], ignore_index=True), e), "id '005' stands in more than one row"),
        (lambda n, e: (n.assign(amount=n["amount"].where(n.index != 30, np.inf)), e), "column 'amount' is infinite in row 31"),
        (lambda n, e: (n[:0], e), "the nodes table is empty"),
        (lambda n, e: (n.assign(part="later"), e), "the split column 'part' has 'later'"),
    ],
)  # fmt: skip
def test_what_fit_refuses_is_refused(tmp_path, monkeypatch, change, message, duckdb):
    if not duckdb:
        monkeypatch.setattr(joined.importlib.util, "find_spec", lambda _: None)
    paths = write(tmp_path, "parquet")
    for path, table in zip(paths, change(nodes_table(), edges_table()), strict=True):
        table.to_parquet(path)
    with pytest.raises(ValueError, match=message):
        prepared(tmp_path / "g", paths)
    assert not (tmp_path / "g").exists()


def test_ids_with_and_without_a_point_are_the_same(tmp_path):
    paths = write(tmp_path, "parquet")
    edges = edges_table()
    edges.assign(
        source=edges["source"].astype(int).astype(str) + ".0", target=edges["target"].astype(int)
    ).to_parquet(paths[1])
    nodes_table().assign(id=np.arange(ROWS)).to_parquet(paths[0])
    prepared(tmp_path / "g", paths)
    assert clgnn.data.open(tmp_path / "g").ids.tolist() == list(range(ROWS))  # numbers stay numbers


def dies_in_the_second_step(act):
    """Runs ``act`` in a process of its own, which finishes one step and is killed at the end of the next."""
    child = os.fork()
    if child == 0:
        left, once = [1], Steps.once

        def dying(self, name, work):
            def then():
                given = work()
                if left[0] == 0:
                    os._exit(9)
                left[0] -= 1
                return given

            return once(self, name, then)

        Steps.once = dying
        act()
        os._exit(0)
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status) == 9


def test_after_a_kill_at_every_step_it_goes_on_with_the_same_bytes(tmp_path):
    paths = write(tmp_path / "tables", "csv")
    prepared(tmp_path / "whole.clg", paths)
    out, partial = tmp_path / "g.clg", tmp_path / "g.clg.partial"
    killed = 0
    while dies_in_the_second_step(lambda: prepared(out, paths)):
        killed += 1
        assert not out.exists()
        assert len(json.loads((partial / "steps.json").read_text())["finished"]) == killed
    assert killed >= 4
    assert bytes_of(out) == bytes_of(tmp_path / "whole.clg")
    assert not partial.exists()


def test_a_changed_table_begins_again(tmp_path, monkeypatch):
    paths = write(tmp_path / "tables", "csv")
    with monkeypatch.context() as patch:
        patch.setattr(prepare, "write_meta", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            prepared(tmp_path / "g.clg", paths)
    assert "x" in json.loads((tmp_path / "g.clg.partial" / "steps.json").read_text())["finished"]
    nodes_table().assign(amount=7.0).to_csv(paths[0], index=False)
    prepared(tmp_path / "g.clg", paths)
    _, _, _, data = in_memory(paths)
    assert np.array_equal(clgnn.data.open(tmp_path / "g.clg").x, data.x.numpy())


@pytest.mark.parametrize("how", ["csv", "parquet"])
def test_a_full_disk_is_refused_before_anything_is_written(tmp_path, monkeypatch, how):
    paths = write(tmp_path / "tables", how)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: shutil._ntuple_diskusage(10, 10, 100))
    with pytest.raises(
        ValueError, match=r"g.clg needs about .* GiB while it is made, and .* has .* GiB free"
    ):
        prepared(tmp_path / "g.clg", paths)
    assert [path.name for path in tmp_path.iterdir()] == ["tables"]


def test_a_csv_file_is_read_as_from_the_whole_file(tmp_path):
    path = write(tmp_path, "csv")[0]
    lazy, whole = open_table(path, tmp_path / "room.parquet", ("id",)), read_table(path, ("id",))
    assert list(lazy.columns) == list(whole.columns)
    assert len(lazy) == len(whole)
    blocks = pd.concat(list(lazy.blocks(list(whole.columns))))
    for name in whole:
        assert lazy[name].dtype == whole[name].dtype, name
        pd.testing.assert_series_equal(
            lazy[name].fillna("-") if lazy[name].dtype == object else lazy[name],
            whole[name].fillna("-") if whole[name].dtype == object else whole[name],
        )
        assert blocks[name].isna().tolist() == whole[name].isna().tolist()
