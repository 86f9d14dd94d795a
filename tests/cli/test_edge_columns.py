"""Features and types of edges from the columns of a table."""

import json

import pandas as pd
import pytest
import torch

from clgnn.data.columns import NumberColumn
from clgnn.data.links import make_edges
from clgnn.estimators import persistence
from helpers.commands import FIT, TABLES, call, refused

MODULE = """
from torch import nn
from torch_geometric.nn import RGCNConv, TransformerConv

class Net(nn.Module):
    def __init__(self, i, o):
        super().__init__()
        self.one, self.two = TransformerConv(i, o, edge_dim=1), RGCNConv(o, o, num_relations=2)

    def forward(self, x, edge_index, edge_attr, edge_type):
        return self.two(self.one(x, edge_index, edge_attr).relu(), edge_index, edge_type)
"""


@pytest.fixture
def rich(files):
    edges = pd.read_csv("edges.csv")
    edges["amount"] = range(len(edges))
    edges["kind"] = ["pays" if i % 3 else "knows" for i in range(len(edges))]
    edges.to_csv("edges.csv", index=False)
    (files / "nets.py").write_text(MODULE)
    return files


def test_fit_predict_and_evaluate_take_them(rich):
    said = call(*[one for one in FIT if one != "--quiet"], "--gnn", "nets:Net", "--edge-features", "amount",
                "--edge-type", "kind", "--out", "m")  # fmt: skip
    assert "their features 'amount', their types 'kind' (knows, pays)" in " ".join(said.split())
    kept = persistence.read("m")["extra"]["table"]
    assert [feature["name"] for feature in kept["edge_features"]] == ["amount"]
    assert kept["edge_types"] == ["knows", "pays"]
    call("predict", "--model", "m", *TABLES, "--gnn", "nets:Net", "--out", "p.csv")
    first = pd.read_csv("p.csv")
    edges = pd.read_csv("edges.csv")
    edges["kind"] = "knows"
    edges.to_csv("edges.csv", index=False)
    call("predict", "--model", "m", *TABLES, "--gnn", "nets:Net", "--out", "q.csv")
    assert not first.equals(pd.read_csv("q.csv")), "the types count"
    judged = call("evaluate", "--model", "m", *TABLES, "--gnn", "nets:Net", "--label", "truth", "--json")
    assert json.loads(judged)["judged"] == 20


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--edge-features", "price"], "price"),
        (["--edge-type", "sort"], "sort"),
        (["--edge-features", "kind"], "kind"),
    ],
)
def test_columns_that_are_not_there_or_no_numbers(rich, more, said):
    assert said in refused(*FIT, *more, "--gnn", "nets:Net", "--out", "m")


def test_a_type_that_training_did_not_have(rich):
    call(*FIT, "--gnn", "nets:Net", "--edge-features", "amount", "--edge-type", "kind", "--out", "m")
    edges = pd.read_csv("edges.csv")
    edges.loc[2, "kind"] = "hates"
    edges.to_csv("edges.csv", index=False)
    message = refused("predict", "--model", "m", *TABLES, "--gnn", "nets:Net", "--out", "p.csv")
    assert (
        "row 3 of the edges table has 'hates' in its type column 'kind'; expected one of knows, pays"
        in message
    )


def test_rows_of_one_edge_are_merged_and_types_stay_apart():
    table = pd.DataFrame(
        {"source": list("abab"), "target": list("baca"), "w": [1, 2, 4, 8], "f": [0.0, 2.0, 9.0, 4.0],
         "t": ["x", "x", "x", "y"]}
    )  # fmt: skip
    made = make_edges(
        pd.Series(list("abc")),
        table,
        weight="w",
        features=[NumberColumn("f", 0.0, 1.0)],
        kind=("t", ("x", "y")),
    )
    rows = zip(*made.edge_index.tolist(), made.edge_weight.tolist(), made.edge_attr[:, 0].tolist(),
               made.edge_type.tolist(), strict=True)  # fmt: skip
    assert sorted(rows) == [
        (0, 1, 3.0, 1.0, 0), (0, 1, 8.0, 4.0, 1), (0, 2, 4.0, 9.0, 0), (1, 0, 3.0, 1.0, 0),
        (1, 0, 8.0, 4.0, 1), (2, 0, 4.0, 9.0, 0),
    ]  # fmt: skip
    assert (made.duplicates, made.both_ways) == (0, 1)
    assert made.edge_type.dtype == torch.int64
