import numpy as np
import pandas as pd
import pytest
import torch

from clgnn.tables import Categorical, Numeric, Schema, read_table

NODES = pd.DataFrame(
    {
        "id": ["a", "b", "c", "d"],
        "age": [10.0, 20.0, np.nan, 30.0],
        "job": ["baker", None, "smith", "baker"],
        "label": ["yes", "no", None, "yes"],
    }
)
EDGES = pd.DataFrame({"source": ["a", "b", "c"], "target": ["b", "c", "c"]})


def schema(nodes=NODES, **options):
    return Schema.learn(nodes, "label", **options)


def test_two_tables_make_a_graph():
    data = schema().graph(NODES, EDGES, "label")
    std = np.std([10, 20, 30])
    expected = [
        [-10 / std, 1, 0],
        [0, 0, 0],
        [0, 0, 1],
        [10 / std, 1, 0],
    ]  # a blank is the mean, or no category
    assert torch.allclose(data.x, torch.tensor(expected, dtype=torch.float))
    assert data.y.tolist() == [1, 0, -1, 1]
    assert data.edge_index.tolist() == [[0, 1, 1, 2], [1, 0, 2, 1]]  # both directions, no self-loop
    assert "edge_weight" not in data


def test_without_a_label_column_all_labels_are_unknown():
    assert schema().graph(NODES, EDGES).y.tolist() == [-1] * 4


def test_directed_edges_and_weights():
    edges = EDGES.assign(weight=[1.0, 2.0, 3.0])
    data = schema(undirected=False, weight="weight").graph(NODES, edges)
    assert data.edge_index.tolist() == [[0, 1], [1, 2]]
    assert data.edge_weight.tolist() == [1.0, 2.0]
    both = pd.concat([edges, edges.rename(columns={"source": "target", "target": "source"})])
    again = schema(weight="weight").graph(NODES, both)
    assert again.edge_weight.tolist() == [1.0, 1.0, 2.0, 2.0]  # an edge given twice counts once


def test_the_schema_reads_other_tables_alike():
    learned = Schema.from_json(schema().to_json())
    assert learned == schema()
    other = pd.DataFrame({"job": ["smith", "cook"], "id": [1, 2], "age": [20, 20], "extra": [0, 0]})
    data = learned.graph(other, pd.DataFrame({"source": [1], "target": [2]}))
    assert data.x.tolist() == [[0, 0, 1], [0, 0, 0]]  # a category that was not there is none


@pytest.mark.parametrize(
    ("ids", "ends"),
    [
        ([1, 2], ["1", "2"]),
        ([1.0, 2.0], [1, 2]),
        (["007", "7"], ["007", "7"]),
        (["ü 1", "名"], ["ü 1", "名"]),
    ],
)
def test_ids_of_any_kind(ids, ends):
    nodes = pd.DataFrame({"id": ids, "v": [0.0, 1.0], "label": ["x", "y"]})
    edges = pd.DataFrame({"source": ends[:1], "target": ends[1:]})
    assert schema(nodes).graph(nodes, edges).edge_index.tolist() == [[0, 1], [1, 0]]


def test_nodes_without_features_get_a_constant():
    nodes = NODES[["id", "label"]]
    assert schema(nodes).graph(nodes, EDGES).x.tolist() == [[1.0]] * 4


def test_no_edges():
    assert schema().graph(NODES, EDGES[:0]).edge_index.shape == (2, 0)


@pytest.mark.parametrize(
    ("labels", "task", "classes"),
    [
        ([1, 0, np.nan, 2], "auto", ("0", "1", "2")),
        ([10, 9, 10, None], "auto", ("9", "10")),
        ([True, False, True, False], "auto", ("False", "True")),
        (["b", "a", "", None], "auto", ("a", "b")),
        ([0.5, 1.0, np.nan, 2.0], "auto", None),
        ([1, 2, 3, 4], "regression", None),
        ([0.5, 1.5, 0.5, np.nan], "classification", ("0.5", "1.5")),
    ],
)
def test_what_the_labels_are(labels, task, classes):
    nodes = NODES.assign(label=labels)
    learned = schema(nodes, task=task)
    assert learned.classes == classes
    y = learned.labels(nodes, "label")
    assert y.is_floating_point() == (classes is None)


def test_columns_that_say_nothing():
    nodes = NODES.assign(empty=np.nan, constant=3.0)
    x = schema(nodes).graph(nodes, EDGES).x
    assert bool(torch.isfinite(x).all())
    assert x[:, -2:].abs().sum() == 0


def test_ignored_columns_are_no_features():
    assert [f.name for f in schema(ignore=("age",)).features] == ["job"]


def test_bad_tables_are_refused():
    good = schema()

    def graph(nodes=NODES, edges=EDGES, label=None, by=good):
        return by.graph(nodes, edges, label)

    cases = [
        (lambda: graph(edges=pd.DataFrame({"source": ["a"], "target": ["zoe"]})), "row 1 .* target 'zoe', which is no"),
        (lambda: graph(edges=pd.DataFrame({"from": ["a"], "to": ["b"]})), r"no column 'source' \(from, to\)"),
        (lambda: graph(edges=pd.DataFrame({"source": ["a"], "target": [None]})), "row 1 of the edges table has no id"),
        (lambda: graph(pd.concat([NODES, NODES[:1]])), "id 'a' stands in more than one row"),
        (lambda: graph(NODES.assign(id=["a", None, "c", "d"])), "row 2 of the nodes table has no id"),
        (lambda: graph(NODES.drop(columns="job")), "no column 'job', which the model was fitted with"),
        (lambda: graph(NODES.assign(age=["x", "y", "z", "w"])), "column 'age' was numeric in training"),
        (lambda: graph(NODES.assign(age=[1, np.inf, 2, 3])), "column 'age' is infinite in row 2"),
        (lambda: graph(NODES[:0]), "the nodes table is empty"),
        (lambda: graph(NODES.assign(label="maybe"), label="label"), "class 'maybe', unseen in training"),
        (lambda: graph(label="truth"), r"no column 'truth' \(id, age, job, label\)"),
        (lambda: schema(NODES[:0]), "the nodes table is empty"),
        (lambda: schema(NODES.drop(columns="id")), "no column 'id'.*name one with --id"),
        (lambda: schema(NODES.drop(columns="label")), "no column 'label'"),
        (lambda: schema(NODES.assign(label=None)), "no node has a label in column 'label'"),
        (lambda: schema(task="regression"), "regression needs numbers"),
        (lambda: schema(NODES.assign(when=pd.Timestamp("2020-01-01"))), "column 'when' is of type datetime.*--ignore when"),
        (lambda: schema(ignore=("shoe",)), "no column 'shoe'"),
        (lambda: graph(edges=EDGES.assign(weight=-1), by=schema(weight="weight")), "blanks or negative weights"),
    ]  # fmt: skip
    for call, message in cases:
        with pytest.raises(ValueError, match=message):
            call()


def test_too_many_categories_or_classes():
    many = pd.DataFrame(
        {"id": range(2000), "name": [f"n{i}" for i in range(2000)], "label": ["a", "b"] * 1000}
    )
    with pytest.raises(ValueError, match=r"2000 different texts; expected at most 1000.*--ignore name"):
        schema(many)
    with pytest.raises(ValueError, match="2000 different values; say --task"):
        schema(many[["id"]].assign(label=range(2000)))


def test_files_of_every_kind(tmp_path):
    nodes = NODES.assign(id=["01", "02", "03", "04"])
    nodes.to_csv(tmp_path / "n.csv", index=False)
    nodes.to_csv(tmp_path / "n.tsv", index=False, sep="\t")
    nodes.to_csv(tmp_path / "n.csv.gz", index=False)
    nodes.to_parquet(tmp_path / "n.parquet")
    for name in ("n.csv", "n.tsv", "n.csv.gz", "n.parquet"):
        assert read_table(tmp_path / name, ("id",))["id"].tolist() == ["01", "02", "03", "04"]
    (tmp_path / "bad.parquet").write_text("no")
    (tmp_path / "bad.csv").write_text("")
    (tmp_path / "n.xlsx").write_text("")
    for name, message in (("bad.parquet", "could not be read"), ("bad.csv", "could not be read"),
                          ("n.xlsx", "ends in .xlsx; expected .csv"), ("none.csv", "is not there")):  # fmt: skip
        with pytest.raises(ValueError, match=message):
            read_table(tmp_path / name)


def test_encoders_are_plain_values():
    assert Numeric("a", 1.0, 2.0).encode(pd.Series([3.0, None])).tolist() == [[1.0], [0.0]]
    assert Categorical("b", ("x", "y")).encode(pd.Series(["y ", None])).tolist() == [[0.0, 1.0], [0.0, 0.0]]
