"""The paper's numbers: each where its table has it."""

import math
from typing import Any

import pytest

from clgnn.data.datasets import FACEBOOK100
from clgnn.experiments.methods import CELL
from clgnn.experiments.published import published, running_times


def cell(table: str, dataset: str, count: int, percent: int, method: str) -> dict[str, Any]:
    found = published(table)
    found = found[(found[CELL] == [dataset, count, percent, method]).all(axis=1)]
    (row,) = found.to_dict("records")
    return row


def test_a_plain_gnn() -> None:
    row = cell("main", "cora", 85, 0, "gcn")
    assert (row["mean"], row["standard_error"], row["significant"], row["best"]) == (
        45.90,
        3.26,
        False,
        False,
    )
    assert math.isnan(row["gain"])
    assert math.isnan(row["gain_se"])


def test_a_boosted_gnn_is_its_plain_self_and_the_gain() -> None:
    row = cell("main", "cora", 85, 50, "tk+cl")
    assert (row["gain"], row["gain_se"], row["significant"], row["best"]) == (7.18, 1.88, True, True)
    assert row["mean"] == 62.86  # 55.68 + 7.18
    assert math.isnan(row["standard_error"])
    assert not cell("main", "pubmed", 300, 0, "gcn+cl")["significant"]


@pytest.mark.parametrize(
    ("table", "key", "mean"),
    [
        ("main", (FACEBOOK100, 80, 0, "sage"), 64.56),
        ("main", ("protein", 7607, 50, "pl_em"), 77.95),
        ("learning_curve", ("pubmed", 375, 50, "sage+cl"), 61.26),  # 59.77 + 1.49
        ("ablation_uniform", ("cora", 105, 0, "gcn+cl-uniform"), 50.52),  # 52.35 - 1.83, of its own plain GCN
    ],
)
def test_in_our_names(table: str, key: tuple[str, int, int, str], mean: float) -> None:
    assert cell(table, *key)["mean"] == mean


@pytest.mark.parametrize(("table", "rows"), [("main", 90), ("learning_curve", 108), ("ablation_uniform", 54)])
def test_all_cells_are_there_once(table: str, rows: int) -> None:
    found = published(table)
    assert len(found) == rows
    assert not found.duplicated(CELL).any()
    assert found["mean"].notna().all()


def test_running_times() -> None:
    found = running_times().set_index(["dataset", "gnn"])
    assert found.loc[("pubmed", "tk")].tolist() == [0.52, 7.82, 51.62]
    assert (FACEBOOK100, "gcn") in found.index
    assert len(found) == 8


def test_another_table() -> None:
    with pytest.raises(ValueError, match="table is 'appendix'; expected one of main, learning_curve"):
        published("appendix")
