"""The contents of the report, and the page as text."""

import json
import re

import numpy as np
import pandas as pd
import pytest
import torch
from torch_geometric.data import Data

from clgnn.data import datasets, splits
from clgnn.data.datasets import FACEBOOK100
from clgnn.estimators.collective import CollectiveClassifier
from clgnn.report.comparison import Comparison, from_comparison
from clgnn.report.evaluation import from_evaluation
from clgnn.report.graph_view import view, view_split
from clgnn.report.page import page, write
from clgnn.report.paper_tables import tables
from clgnn.report.rendering import to_markdown
from clgnn.report.trials import from_trials


def embedded(made: str) -> dict:
    """The content of a page, read back as a browser would."""
    found = re.search(r'<script type="application/json" id="content">(.*?)</script>', made, re.S)
    return json.loads(found.group(1))


def cell(content: dict, method: str, dataset: str = "cora", labels: int = 85, percent: int = 0) -> dict:
    wanted = {"dataset": dataset, "labels": labels, "percent": percent, "method": method}
    (found,) = (c for c in content["cells"] if wanted.items() <= c.items())
    return found


def test_the_cells_of_a_ledger(tiny_trials):
    content = from_trials(tiny_trials)
    boosted = cell(content, "gcn+cl")
    assert boosted["n"] == 3
    assert boosted["mean"] == pytest.approx(55.1667, abs=1e-3)
    assert boosted["gain"] == pytest.approx(5.1667, abs=1e-3)
    assert [trial["gain"] for trial in boosted["trials"]] == pytest.approx([5, 5, 5.5])
    assert boosted["low"] < boosted["gain"] < boosted["high"]
    assert boosted["published"]["gain"] == 6.29
    assert boosted["published"]["high"] == pytest.approx(6.29 + 2.776 * 1.49, abs=1e-2)
    assert boosted["iterations"]["mean"] == pytest.approx([35.1667, 45.1667, 55.1667], abs=1e-3)
    assert boosted["reliability"]["count"] == [0, 30, 90]
    assert boosted["settings"] == {"num_iterations": 2}
    assert cell(content, "gcn")["base"] is None
    assert cell(content, "tk", "friendster", 641)["mean"] == pytest.approx(31)  # balanced
    assert len(content["cells"]) == 14


def test_what_a_ledger_says_of_itself(tiny_trials):
    content = from_trials(tiny_trials)
    notes = " ".join(content["notes"])
    assert "stands in for the paper's Facebook" in notes
    assert "balanced accuracy" in notes
    assert content["methods"]["gnn_all_labels"]["dagger"]
    assert "†" in content["methods"]["gnn_all_labels"]["name"]
    assert not content["methods"]["gcn+cl"]["dagger"]
    assert ["Trials", "41 done, 0 failed"] in content["facts"]
    assert content["datasets"]["friendster"]["metric"] == "balanced accuracy"
    assert content["datasets"][FACEBOOK100]["mark"] == "‡"
    assert {time["method"] for time in content["times"]} == {"gcn", "gcn+cl", "tk", "tk+cl"}


@pytest.fixture
def contested(new_trials):
    """A gain and a loss that are significant, a tie, an ablation, and a † that would be the best."""
    plain, better, worse = [0.5, 0.52, 0.48], [0.55, 0.57, 0.535], [0.45, 0.47, 0.435]
    return new_trials(
        {
            ("cora", 85, 50, "gcn"): plain,
            ("cora", 85, 50, "gcn+cl"): better,
            ("cora", 85, 50, "gcn+cl-uniform"): [0.7, 0.71, 0.72],
            ("cora", 85, 50, "sage"): better,
            ("cora", 85, 50, "sage+cl"): plain,
            ("cora", 85, 50, "gnn_all_labels"): [0.8, 0.81, 0.82],
            ("pubmed", 300, 0, "tk"): plain,
            ("pubmed", 300, 0, "tk+cl"): worse,
            ("pubmed", 300, 0, "ica"): [0.1, 0.9, 0.5],
        }
    )


def test_the_page_and_the_tables_agree(contested):
    content = embedded(page(from_trials(contested)))
    lines = [line for line in to_markdown(tables(contested)["main"]).splitlines() if line.startswith("|")]
    rows = [[part.strip() for part in line.strip("|").split("|")] for line in lines]
    columns, printed = rows[0][1:], {row[0]: row[1:] for row in rows[2:] if row[0] != "*published*"}
    marks = {}
    for one in content["cells"]:
        if "+cl-" in one["method"]:  # it is in the table of the ablation
            assert not one["best"]
            continue
        where = f"{content['datasets'][one['dataset']]['name']} {one['labels']}, {one['percent']} %"
        text = printed[content["methods"][one["method"]]["name"]][columns.index(where)]
        number = f"{one['mean']:.2f} ({one['se']:.2f})"
        if one["gain"] is not None:
            number = f"{one['gain']:+.2f} ({one['gain_se']:.2f})"
        assert text == ("**" * one["significant"]).join(["", number, ""]) + r"\*" * one["best"]
        marks[where, one["method"]] = (one["best"], one["significant"])
    cora, pubmed = "Cora 85, 50 %", "Pubmed 300, 0 %"
    assert {key for key, (best, _) in marks.items() if best} == {
        (cora, "gcn+cl"), (cora, "sage"), (pubmed, "tk"), (pubmed, "ica"),
    }  # fmt: skip
    bold = {(cora, "gcn+cl"), (cora, "sage+cl"), (pubmed, "tk+cl")}
    assert {key for key, (_, significant) in marks.items() if significant} == bold
    assert "methods with † and ablations do not compete" in content["best"]


def test_failed_trials_are_listed_and_do_not_count(tiny_trials):
    failed = tiny_trials.index[tiny_trials["method"] == "ica"][0]
    tiny_trials.loc[failed, ["status", "error"]] = ["failed", "Traceback ..\nMemoryError: too large"]
    content = from_trials(tiny_trials)
    assert content["failures"] == [["cora", 85, 0, "ica", 0, "MemoryError: too large"]]
    assert cell(content, "ica")["failed"] == 1
    assert cell(content, "ica")["n"] == 2


def test_settings_that_differ_stand_with_their_trial(tiny_trials):
    chosen = tiny_trials["method"] == "ica"
    tiny_trials.loc[chosen, "settings"] = pd.Series(
        [{"lr": 0.1 * t, "hidden": 16} for t in range(3)], tiny_trials.index[chosen]
    )
    ica = cell(from_trials(tiny_trials), "ica")
    assert ica["settings"] == {"hidden": 16}
    assert [trial["settings"]["lr"] for trial in ica["trials"]] == pytest.approx([0, 0.1, 0.2])


def test_no_trials_are_refused(tiny_trials):
    with pytest.raises(ValueError, match="there are no trials"):
        from_trials(tiny_trials[:0])
    with pytest.raises(
        ValueError, match="all 41 trials failed; expected one that is done: the first error is"
    ):
        from_trials(tiny_trials.assign(status="failed", error="broken"))


def test_a_label_can_not_end_the_script():
    name = "</script><script>alert(1)</script><!--"
    made = page({"title": name, "cells": [], "facts": [["kind", name]]})
    assert embedded(made)["facts"] == [["kind", name]]
    assert made.count("<script") == made.count("</script>") == 2
    assert "alert(1)</script>" not in made


def test_the_headline_is_there_without_scripts():
    made = page({"headline": "5 < 6 <b>points</b>"})
    assert '<noscript><p class="headline">5 &lt; 6 &lt;b&gt;points&lt;/b&gt;</p>' in made


def test_the_page_fetches_nothing(tiny_trials):
    made = page(from_trials(tiny_trials)).replace("http://www.w3.org/2000/svg", "")
    for fetch in ("http://", "https://", "src=", "@import", "url(", "fetch(", "XMLHttpRequest", "import("):
        assert fetch not in made
    assert "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:" in made
    assert re.findall(r'<link[^>]*href="([^"]*)"', made) == ["data:,"]


def test_numbers_without_nan():
    content = {
        "cells": [{"mean": float("nan"), "n": np.int64(3), "best": np.bool_(True), "list": np.arange(2)}]
    }
    assert embedded(page(content))["cells"] == [{"mean": None, "n": 3, "best": True, "list": [0, 1]}]


def test_a_page_is_written_whole(tmp_path):
    write(tmp_path / "a" / "report.html", {"title": "one"})
    assert "<title>one</title>" in (tmp_path / "a" / "report.html").read_text()
    assert len(list((tmp_path / "a").iterdir())) == 1


ROWS = [
    {
        "split": 0,
        "plain": 0.5,
        "boosted": 0.6,
        "ica": 0.4,
        "plain_seconds": 1,
        "boosted_seconds": 4,
        "ica_seconds": 2,
    },
    {
        "split": 1,
        "plain": 0.6,
        "boosted": 0.9,
        "ica": 0.4,
        "plain_seconds": 3,
        "boosted_seconds": 4,
        "ica_seconds": 2,
    },
]
SETTINGS = {"plain": {"lr": 0.1, "gnn": len}, "boosted": {"seed": 1}, "ica": {}}


def test_a_comparison():
    content = from_comparison("digits", "accuracy", ROWS, SETTINGS, gnn="sage")
    plain, boosted, ica = content["cells"]
    assert (plain["mean"], boosted["mean"], ica["mean"]) == pytest.approx((55, 75, 40))
    assert (boosted["gain"], boosted["gain_se"]) == pytest.approx((20, 10))
    assert boosted["high"] == pytest.approx(20 + 12.7062 * 10, abs=1e-2)  # t with one degree of freedom
    assert boosted["p"] == pytest.approx(0.2952, abs=1e-4)
    assert boosted["best"]
    assert not boosted["significant"]
    assert plain["seconds"] == 2
    assert plain["settings"] == {"lr": 0.1, "gnn": "len"}
    assert boosted["settings"] == {}
    assert content["tables"][0]["rows"][-1] == ["mean", "55.00", "75.00", "+20.00", "40.00", "2.0", "4.0"]


def test_a_loss_in_a_comparison_is_significant_too():
    rows = [{**row, "boosted": row["plain"] - 0.1 - 0.01 * (i % 2)} for i, row in enumerate([*ROWS, *ROWS])]
    plain, boosted, _ = from_comparison("digits", "accuracy", rows, SETTINGS)["cells"]
    assert boosted["gain"] == pytest.approx(-10.5)
    assert boosted["significant"]
    assert plain["best"]
    assert not boosted["best"]


def test_the_best_of_a_comparison_does_not_train_on_the_test_graph():
    seconds = {"gnn_all_labels_seconds": 1}
    rows = [{**row, "gnn_all_labels": 0.99, **seconds} for row in ROWS]
    content = from_comparison("digits", "accuracy", rows, {**SETTINGS, "gnn_all_labels": {}})
    assert [one["method"] for one in content["cells"] if one["best"]] == ["boosted"]
    assert "methods with † do not compete" in content["best"]


def test_a_comparison_where_lower_is_better():
    rows = [{**row, "plain": row["boosted"] + 1, "ica": 9} for row in ROWS]
    content = from_comparison("digits", "log_loss", [*rows, {**rows[0], "split": 2, "plain": 1.61}], SETTINGS)
    boosted = content["cells"][1]
    assert boosted["gain"] == pytest.approx(-1.00333, abs=1e-4)
    assert boosted["best"]
    assert boosted["significant"]
    assert content["datasets"]["digits"]["lower"]
    assert "the lower" in " ".join(content["notes"])
    assert content["datasets"]["digits"]["unit"] == ""


def test_what_a_comparison_keeps():
    data = datasets.load("citations", num_nodes=200)
    comparison = Comparison(data)
    with pytest.raises(ValueError, match="no model was added"):
        comparison.content("citations", "accuracy", ROWS, "gcn", 0)
    for trial in range(2):
        split = splits.random(data, 40, test_nodes=80, val_nodes=20, seed=trial)
        for name in ("plain", "boosted", "ica"):
            model = CollectiveClassifier(num_iterations=0, max_epochs=3).fit(data, split.train_mask)
            comparison.add(name, model, split, None)
    content = comparison.content("citations", "accuracy", ROWS, "gcn", 0)
    assert sum(content["cells"][0]["reliability"]["count"]) == 160
    assert content["cells"][0]["labels"] == 40
    assert content["graph"]["shown"] == ["true", "plain", "boosted"]
    assert all(
        0 < node["p"][name] <= 1 for node in content["graph"]["nodes"] for name in ("plain", "boosted")
    )
    assert "Ringed" not in content["graph"]["caption"]
    page(content)


def test_an_evaluation():
    y = torch.tensor([0, 0, 1, 1])
    p = torch.tensor([[0.9, 0.1], [0.2, 0.8], [0.3, 0.7], [0.4, 0.6]])
    content = from_evaluation(
        {"accuracy": 0.75, "log_loss": 0.5}, y, p, {"kind": "X", "lr": 1}, classes=("a", "b")
    )
    assert content["confusion"] == {"classes": ["a", "b"], "counts": [[1, 1], [0, 2]]}
    metrics, by_class = content["tables"]
    assert metrics["rows"] == [["accuracy", "0.7500"], ["log loss (lower is better)", "0.5000"]]
    assert by_class["rows"] == [["a", "2", "100.0", "50.0", "66.7"], ["b", "2", "66.7", "100.0", "80.0"]]
    assert sum(content["cells"][0]["reliability"]["count"]) == 4
    assert content["settings"] == {"lr": 1}


def test_an_evaluation_goes_by_what_was_decided():
    p = torch.tensor([[0.9, 0.1], [0.7, 0.3], [0.3, 0.7], [0.6, 0.4]])
    y, decided = torch.tensor([0, 1, 1, 1]), torch.tensor([0, 1, 1, 1])  # a threshold of 0.3
    content = from_evaluation({"accuracy": 1.0}, y, p, {}, classes=("a", "b"), decided=decided)
    assert content["confusion"]["counts"] == [[1, 0], [0, 3]]
    assert content["headline"].startswith("model is right on 100.0 % of 4 nodes")
    assert [one["value"] for one in content["answer"]["classes"]] == [100, 100]
    assert content["roc"]["curves"][0]["name"] == "a"  # the rarer class


def test_an_evaluation_of_one_class_has_no_curves():
    content = from_evaluation({}, torch.zeros(3).long(), torch.full((3, 2), 0.5), {}, classes=("a", "b"))
    assert "roc" not in content
    assert "one class" in content["headline"]
    page(content)


def test_an_evaluation_of_numbers():
    values = torch.tensor([[1.0, 0.1], [2.0, 0.2]])
    content = from_evaluation({"rmse": 0.5}, torch.tensor([1.5, 2.5]), values, {})
    assert content["scatter"] == [pytest.approx([1.5, 1.0, 0.1]), pytest.approx([2.5, 2.0, 0.2])]
    assert "confusion" not in content


def test_a_view_is_connected_small_and_the_same_again(graph):
    predictions = {"plain": graph.y.clone(), "boosted": graph.y.roll(1)}
    roles = {"train": torch.arange(24) < 10, "test": torch.arange(24) >= 16}
    shown = view(graph, predictions, roles, classes=("a", "b", "c"), max_nodes=12)
    assert len(shown["nodes"]) == 12
    assert shown["total"] == 24
    assert shown == view(graph, predictions, roles, classes=("a", "b", "c"), max_nodes=12)
    reached, found = {0}, True
    while found:
        found = {
            b for a, b in [*shown["edges"], *(e[::-1] for e in shown["edges"])] if a in reached
        } - reached
        reached |= found
    assert len(reached) == 12
    for node in shown["nodes"]:
        number = int(node["name"])
        assert node["true"] == node["plain"] == graph.y[number]
        assert node["role"] == ("train" if number < 10 else "test" if number >= 16 else "other")
        assert 0 <= node["x"] <= 1
        assert 0 <= node["y"] <= 1


def test_a_view_says_how_sure_predictions_are(graph):
    p = torch.softmax(torch.arange(72.0).reshape(24, 3) % 7, dim=1)
    decided = p.argmin(dim=1)  # not the most probable ones
    unknown = graph.clone()
    unknown.y = graph.y.clone()
    unknown.y[:5] = -1
    roles = {"test": torch.ones(24, dtype=torch.bool)}
    spread = {"predicted": torch.full((24,), float("nan"))}
    shown = view(unknown, {"predicted": decided}, roles, probabilities={"predicted": p}, spread=spread)
    for node in shown["nodes"]:
        number = int(node["name"])
        assert node["p"]["predicted"] == pytest.approx(float(p[number].min()))
        assert node["role"] == ("unlabelled" if number < 5 else "test")
        assert "spread" not in node  # nothing was drawn


def test_a_view_without_labels(graph):
    unknown = graph.clone()
    unknown.y = torch.full((24,), -1)
    shown = view(unknown, {"predicted": graph.y}, {})
    assert {node["true"] for node in shown["nodes"]} == {-1}
    assert {node["role"] for node in shown["nodes"]} == {"other"}


def test_a_dense_graph_shows_fewer_nodes():
    full = (torch.ones(300, 300) - torch.eye(300)).nonzero().T
    shown = view(Data(edge_index=full, y=torch.zeros(300).long()), {}, {})
    assert 60 <= len(shown["nodes"]) < 100


def test_the_view_of_many_graphs_is_of_the_first_test_graph(new_graph):
    many = [new_graph(seed=seed) for seed in range(6)]
    split = splits.graphs(many, seed=0)
    first = next(i for i, mask in enumerate(split.test_mask) if mask.any())
    y = torch.cat([graph.y for graph in many])
    shown = view_split(many, {"plain": y}, split)
    assert [node["true"] for node in shown["nodes"]] == many[first].y.tolist()
    assert [node["plain"] for node in shown["nodes"]] == many[first].y.tolist()
    assert view_split(many, {"plain": y[1:]}, split) is None
