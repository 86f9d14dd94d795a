"""Two tables as a graph: features, labels, edges, and what is refused."""

import json
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
import torch

from clgnn.data.columns import NumberColumn, TextColumn
from clgnn.data.tables import Schema, read_table

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
    assert schema(weight="weight").graph(NODES, edges).edge_weight.tolist() == [1.0, 1.0, 2.0, 2.0]


TWICE = pd.DataFrame({"source": list("aabbcc"), "target": list("bbaacd"), "weight": [1, 2, 4, 8, 16, 32]})


def test_weights_of_the_same_edge_add_up():
    directed = schema(undirected=False, weight="weight").edges(NODES, TWICE)
    assert directed.edge_index.tolist() == [[0, 1, 2], [1, 0, 3]]
    assert directed.edge_weight.tolist() == [3, 12, 32]
    assert directed.edge_weight.dtype == torch.float32
    assert (directed.self_loops, directed.duplicates, directed.both_ways) == (1, 2, 0)
    undirected = schema(weight="weight").edges(NODES, TWICE)
    assert undirected.edge_index.tolist() == [[0, 1, 2, 3], [1, 0, 3, 2]]
    assert undirected.edge_weight.tolist() == [15, 15, 32, 32]
    assert (undirected.self_loops, undirected.duplicates, undirected.both_ways) == (1, 2, 1)


def test_without_weights_an_edge_counts_once():
    made = schema().edges(NODES, TWICE)
    assert made.edge_index.tolist() == [[0, 1, 2, 3], [1, 0, 3, 2]]
    assert made.edge_weight is None
    assert (made.self_loops, made.duplicates, made.both_ways) == (1, 2, 1)
    data = schema().graph(NODES, made)
    assert torch.equal(data.edge_index, made.edge_index)
    assert set(data.keys()) == {"x", "edge_index", "y"}  # the counts are no part of the graph


def test_the_schema_reads_other_tables_alike():
    learned = Schema.from_json(json.loads(json.dumps(schema(blank=("NA",)).to_json())))
    assert learned == schema(blank=("NA",))
    assert learned.text == ("id", "job")
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


def test_a_schema_of_an_older_version_is_read():
    old = {
        "id": "id", "label": "label", "classes": ["no", "yes"], "undirected": True, "source": "source",
        "target": "target", "weight": None,
        "features": [{"name": "age", "mean": 20.0, "std": 10.0}, {"name": "job", "categories": ["baker", "smith"]}],
    }  # fmt: skip
    data = Schema.from_json(old).graph(NODES, EDGES, "label")
    assert data.x.tolist() == [[-1, 1, 0], [0, 0, 0], [0, 0, 1], [1, 1, 0]]
    assert data.y.tolist() == [1, 0, -1, 1]


@pytest.mark.parametrize(
    ("ids", "ends"),
    [
        (["100", "200"], ["100.0", "200.0"]),
        (["100.0", "200.0"], ["100", "200"]),
        (["100.0", "200.00"], ["200", "100"]),
        (["100.0", "x"], ["100.0", "x"]),
        ([100.0, 200.0], ["100.0", "200.0"]),
    ],
)
def test_whole_ids_with_and_without_a_point_are_the_same(ids, ends):
    nodes = pd.DataFrame({"id": ids, "label": ["x", "y"]})
    made = schema(nodes).edges(nodes, pd.DataFrame({"source": ends[:1], "target": ends[1:]}))
    assert made.edge_index.tolist() == [[0, 1], [1, 0]]


def test_ids_that_differ_in_a_point_alone_are_named():
    nodes = pd.DataFrame({"id": ["100", "x"], "label": ["x", "y"]})
    with pytest.raises(
        ValueError, match=r"source '100.0', which is no id .*; there is '100': write ids alike in both"
    ):
        schema(nodes).edges(nodes, pd.DataFrame({"source": ["100.0", "x"], "target": ["x", "100"]}))
    nodes["id"] = ["100.0", "x"]
    with pytest.raises(ValueError, match=r"source '100', which is no id .*; there is '100\.0'"):
        schema(nodes).edges(nodes, pd.DataFrame({"source": ["100"], "target": ["x"]}))


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
        ([True, False, None, False], "auto", ("False", "True")),
        ([0.5, 1.0, np.nan, 2.0], "auto", None),
        ([Decimal("0.5"), Decimal(1), None, None], "auto", None),
        (["1", "2", "x", "3"], "classification", ("1", "2", "3", "x")),
        (["NA", "a", "a", None], "auto", ("NA", "a")),
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
        (lambda: graph(NODES.assign(age=["1", "y", "z", "w"])), r"column 'age' has 'y' in row 2 \(3 such rows\); expected a number or a blank: .*--blank y"),
        (lambda: graph(NODES.assign(age=[1, np.inf, 2, 3])), "column 'age' is infinite in row 2"),
        (lambda: graph(NODES[:0]), "the nodes table is empty"),
        (lambda: graph(NODES.assign(label="maybe"), label="label"), "class 'maybe', unseen in training"),
        (lambda: graph(label="truth"), r"no column 'truth' \(id, age, job, label\)"),
        (lambda: schema(NODES[:0]), "the nodes table is empty"),
        (lambda: schema(NODES.drop(columns="id")), "no column 'id'.*name one with --id"),
        (lambda: schema(NODES.drop(columns="label")), "no column 'label'"),
        (lambda: schema(NODES.assign(label=None)), "no node has a label in column 'label'"),
        (lambda: schema(NODES.assign(label=["", None, " ", ""])), "no node has a label in column 'label'"),
        (lambda: schema(NODES.assign(label="fraud")), "all labels in column 'label' are 'fraud'; expected two classes or more"),
        (lambda: schema(NODES.assign(label=[1.0, 1.0, None, 1.0])), "all labels in column 'label' are '1'; expected two"),
        (lambda: schema(task="regression"), "column 'label' has 'yes' in row 1 .*; expected a number or a blank"),
        (lambda: schema(NODES.assign(label=["0.5", "1", "NA", "2"])), "holds numbers, but 1 of its 4 labels are not: 'NA' in row 3.*--blank NA or --task classification"),
        (lambda: schema(ignore=("shoe",)), r"no column 'shoe' .*--ignore"),
        (lambda: schema(categorical=("shoe",)), r"no column 'shoe' .*--categorical"),
        (lambda: schema(features=("label",)), "--feature label is no feature: it is the id, the label or ignored"),
        (lambda: schema(numeric=("age",), ignore=("age",)), "--numeric age is no feature: it is the id, the label or ignored"),
        (lambda: schema(numeric=("age",), categorical=("age",)), "column 'age' is declared twice; expected one kind: drop --numeric"),
        (lambda: schema(numeric=("job",)), "column 'job' has 'baker' in row 1"),
        (lambda: graph(edges=EDGES.assign(weight=[1, -1, 1]), by=schema(weight="weight")), "blank or negative weight in row 2"),
        (lambda: graph(edges=EDGES.assign(weight=["1", "", "2"]), by=schema(weight="weight")), "blank or negative weight in row 2"),
    ]  # fmt: skip
    for call, message in cases:
        with pytest.raises(ValueError, match=message):
            call()


def test_too_many_categories_or_classes():
    many = pd.DataFrame(
        {"id": range(2000), "name": [f"n{i}" for i in range(2000)], "label": ["a", "b"] * 1000}
    )
    with pytest.raises(ValueError, match=r"2000 different texts in 2000 rows.*--ignore name"):
        schema(many)
    with pytest.raises(ValueError, match="2000 different values; say --task"):
        schema(many[["id"]].assign(label=range(2000)))


def test_columns_are_read_as_declared():
    nodes = NODES.assign(
        code=[3, 1, 3, 1], born=["2020-01-01", "", "2020-01-03", None], size=["1", "", "3", None]
    )
    learned = schema(nodes, categorical=("code",), date=("born",), numeric=("size",), ignore=("age", "job"))
    assert learned.text == ("id", "code")
    assert learned.graph(nodes, EDGES).x.tolist() == [
        [0, 1, -1, -1],
        [1, 0, 0, 0],
        [0, 1, 1, 1],
        [1, 0, 0, 0],
    ]


def test_the_columns_are_described():
    nodes = NODES.assign(
        code=[3, 1, 3, 1], born=pd.Timestamp("2020-01-01"), vector=[[1, 2, 3]] * 4, note="x", split="y"
    )
    learned = schema(nodes, categorical=("code",), ignore=("split",))
    assert learned.describe() == [
        ("id", "ignored", "id"),
        ("label", "ignored", "label, 2 classes: no, yes"),
        ("split", "ignored", "asked for"),
        ("age", "number", "mean 20, std 8.165, 1 blank"),
        ("job", "category", "2 values, 1 blank"),
        ("code", "category", "2 values"),
        ("born", "date", "constant, it says nothing"),
        ("vector", "embedding", "3 dimensions"),
        ("note", "category", "1 value"),
    ]
    assert schema(nodes.assign(label=[0.5, 1.0, 2.0, None])).describe()[1] == (
        "label",
        "ignored",
        "label, a number",
    )


def labelled(number, **columns):
    """A path of nodes of which the first ``number`` have a label."""
    label = [("no", "yes")[i % 2] if i < number else None for i in range(15)]
    return pd.DataFrame({"id": range(15), "label": label, **columns})


@pytest.mark.parametrize("number", [9, 10])
def test_a_column_that_is_the_label_is_refused(number):
    truth = [" yes" if i % 2 else "no" for i in range(15)]
    nodes = labelled(number, truth=truth)
    if number < 10:  # too few to tell
        assert [feature.name for feature in schema(nodes).features] == ["truth"]
        return
    with pytest.raises(
        ValueError,
        match=r"column 'truth' has the same values as the label column 'label'.*leak.*--ignore truth",
    ):
        schema(nodes)
    assert not schema(nodes, ignore=("truth",)).features
    assert [feature.name for feature in schema(nodes, features=("truth",)).features] == ["truth"]
    truth[3] = "no"  # one node of another opinion
    assert schema(labelled(number, truth=truth)).features


def test_numbers_that_are_the_label_are_refused():
    nodes = pd.DataFrame({"id": range(12), "label": [0.0, 1.0] * 5 + [None] * 2, "y": [0, 1] * 6})
    with pytest.raises(ValueError, match="leak the label"):
        schema(nodes)


@pytest.mark.parametrize("categories", [64, 65])
def test_many_categories_are_sparse(categories):
    names = [f"c{i % categories}" for i in range(200)]
    nodes = pd.DataFrame({"id": range(200), "age": range(200), "name": names, "label": ["x", "y"] * 100})
    x = schema(nodes).graph(nodes, EDGES[:0]).x
    assert x.layout == (torch.strided if categories == 64 else torch.sparse_csr)
    assert x.dtype == torch.float32
    assert x.shape == (200, 1 + categories)
    dense = x.to_dense()
    ages = (np.arange(200) - 99.5) / np.arange(200).std()
    assert torch.equal(dense[:, 0], torch.from_numpy(ages).float())
    place = [sorted(set(names)).index(name) for name in names]
    assert torch.equal(dense[:, 1:], torch.nn.functional.one_hot(torch.tensor(place), categories).float())


def test_files_are_read_by_the_schema_alike(tmp_path):
    (tmp_path / "n.csv").write_text("id;zip;age;label\n01;007;1;a\n02;010;-;b\n03;007;3;NA\n")
    (tmp_path / "e.csv").write_text("source;target\n01;02\n")
    (tmp_path / "next.csv").write_text("id;zip;age\n1;007;1\n")  # all codes look like numbers
    nodes = read_table(tmp_path / "n.csv", ("id", "zip"), blank=("-", "NA"))
    edges = read_table(tmp_path / "e.csv", ("source", "target"))
    learned = schema(nodes, categorical=("zip",), blank=("-", "NA"))
    assert learned.features == (TextColumn("zip", ("007", "010")), NumberColumn("age", 2.0, 1.0, 1))
    assert learned.graph(nodes, edges, "label").y.tolist() == [0, 1, -1]
    later = read_table(tmp_path / "next.csv", learned.text, blank=learned.blank)
    assert learned.graph(later, edges[:0]).x.tolist() == [[1, 0, -1]]
