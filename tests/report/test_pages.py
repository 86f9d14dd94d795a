"""Every kind of page in a browser: the answer comes first, numbers are right, nothing is cut, text is text."""

import re

import numpy as np
import pandas as pd
import pytest
import torch

from clgnn.experiments.leaderboard import leaderboard
from clgnn.report import names
from clgnn.report.comparison import from_comparison
from clgnn.report.evaluation import from_evaluation
from clgnn.report.graph_view import view
from clgnn.report.leaderboard import from_leaderboard
from clgnn.report.page import write
from clgnn.report.paper_tables import tables
from clgnn.report.rendering import to_markdown
from clgnn.report.trials import from_trials

KINDS = ("trials", "comparison", "evaluation", "binary", "regression", "leaderboard")
CLASSES = ("<b>first</b> class with quite a long name", "second", "<i>third</i>")
METHODS = {
    "gnn_all_labels": 0.9,
    "gcn+cl": 0.8,
    "gcn": 0.7,
    "<b>own</b> method with a name that is rather long": 0.6,
    "random": 0.1,
}


def rows_of(splits):
    rng = np.random.default_rng(0)
    return [
        {
            "split": i, "plain": 0.5 + rng.normal() / 50, "boosted": 0.6 + rng.normal() / 50, "ica": 0.4,
            "plain_seconds": 1, "boosted_seconds": 4, "ica_seconds": 0.001,
        }
        for i in range(splits)
    ]  # fmt: skip


@pytest.fixture(scope="module")
def board():
    rng = np.random.default_rng(0)
    rows = [
        {
            "method": method,
            "trial": trial,
            "value": mean + rng.normal() / 100,
            "seconds": 9 * mean**9,
            "peak_memory": 400.0,
            "status": "done",
            "error": None,
        }
        for trial in range(4)
        for method, mean in METHODS.items()
    ]
    lost = {"method": "rcc", "trial": 0, "status": "failed", "error": "MemoryError: <b>large</b>"}
    trials = pd.DataFrame([*rows, lost])
    return leaderboard(trials, "value"), trials


@pytest.fixture
def drawn(graph):
    """A graph whose last nodes have no label, with predictions, probabilities and spread."""
    graph.y = graph.y.clone()
    graph.y[20:] = -1
    p = torch.softmax(torch.randn(24, 3, generator=torch.Generator().manual_seed(0)), 1)
    roles = {"learned": torch.arange(24) < 10, "test": torch.arange(24) >= 10}
    ids = [f"<i>{i}</i>" for i in range(24)]
    said = {"predicted": p.argmax(dim=1)}
    return p, view(
        graph, said, roles, CLASSES, ids, probabilities={"predicted": p}, spread={"predicted": p[:, 0]}
    )


@pytest.fixture
def contents(tiny_trials, board, drawn):
    """The content of each kind of page."""
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=400)
    p = torch.tensor(np.eye(3)[y] + rng.random((400, 3)))
    p = p / p.sum(dim=1, keepdim=True)
    truth = torch.tensor(y)
    numbers = torch.tensor(rng.normal(size=200))
    settings = {"plain": {"lr": 0.1}, "boosted": {"lr": 0.1}, "ica": {}}
    two = torch.stack([p[:, 0], 1 - p[:, 0]], dim=1)
    found = {"accuracy": float((p.argmax(dim=1) == truth).double().mean())}
    return {
        "trials": from_trials(tiny_trials),
        "comparison": from_comparison("<b>digits</b>", "accuracy", rows_of(5), settings, gnn="gcn", train_labels=9),
        "evaluation": from_evaluation(found, truth, p, {"lr": 1}, classes=CLASSES, name="<i>model</i>", graph=drawn[1]),
        "binary": from_evaluation({"accuracy": 0.5}, (truth > 0).long(), two, {}, classes=CLASSES[:2]),
        "regression": from_evaluation({"rmse": 1.0}, numbers, torch.stack([numbers + 0.3, numbers.abs() + 1], dim=1), {}),
        "leaderboard": from_leaderboard(
            board[0], name="<b>mine</b>", metric="accuracy", recommendation="Take <i>gcn</i>: 80 % is best.", trials=board[1], settings={"a": "<b>1</b>"}
        ),
    }  # fmt: skip


@pytest.fixture
def opened(contents, open_file, tmp_path):
    def start(kind, width=1400, **options):
        path = tmp_path / f"{kind}.html"
        write(path, contents[kind])
        return open_file(path, width, **options)

    return start


def text_of(locator):
    return locator.inner_text().replace("\xa0", " ").replace("−", "-")


def rows_in(page, where):
    """The rows of a table as texts, with plain minus signs."""
    found = page.locator(f"{where} tbody tr").evaluate_all(
        "all => all.map(row => [...row.children].map(one => one.textContent))"
    )
    return [[text.replace("\xa0", " ").replace("−", "-") for text in row] for row in found]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_answer_comes_first_and_nothing_is_cut(kind, scheme, opened, contents):
    for width in (390, 1400):
        page = opened(kind, width, color_scheme=scheme)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert page.evaluate("document.body.scrollWidth") <= width
        after_title = page.locator("h1 + *")
        assert after_title.get_attribute("class").split()[0] == "headline"
        assert text_of(after_title) == contents[kind]["headline"].replace("−", "-")
        first, last = page.locator("main > section").first, page.locator("main > section").last
        assert "answer" in first.get_attribute("class")
        assert first.locator("figure svg .mark").count() > 0
        assert last.get_attribute("id") == "about"
        beyond = "all => all.filter(one => { const a = one.getBoundingClientRect(), b = one.ownerSVGElement.getBoundingClientRect(); return a.left < b.left - 1 || a.right > b.right + 1 }).map(one => one.textContent)"
        assert page.locator("figure > div > svg text").evaluate_all(beyond) == []


@pytest.mark.parametrize("kind", KINDS)
def test_a_desktop_is_used(kind, opened):
    page = opened(kind)
    first = page.locator("main > section").first.bounding_box()
    assert first["width"] > 0.9 * 1400


@pytest.mark.parametrize("kind", KINDS)
def test_text_of_users_is_text(kind, opened):
    page = opened(kind)
    assert page.locator("body b, body i").count() == 0
    if kind == "evaluation":
        assert CLASSES[0] in page.locator(".heat").inner_text()
    if kind == "leaderboard":
        assert "<b>own</b>" in page.locator("#board figure").inner_text()
        assert "<b>large</b>" in page.locator("#numbers").evaluate("one => one.textContent")


def test_the_numbers_of_a_ledger_are_those_of_its_tables(opened, tiny_trials):
    lines = [line for line in to_markdown(tables(tiny_trials)["main"]).splitlines() if line.startswith("|")]
    parts = [[part.strip() for part in line.strip("|").split("|")] for line in lines]
    columns, printed = parts[0][1:], {row[0]: row[1:] for row in parts[2:] if row[0] != "*published*"}
    checked = 0
    for dataset, labels, percent, method, _, mean, error, gain, *_ in rows_in(
        opened("trials"), "#numbers details:first-of-type"
    ):
        where = f"{dataset.rstrip('‡')} {labels}, {percent}"
        if (
            where not in columns
            or method not in printed
            or printed[method][columns.index(where)] in ("", "–")
        ):
            continue  # it is in another table
        shown = re.sub(r"[*\\]", "", printed[method][columns.index(where)])
        assert shown.startswith(f"{mean} ({error})" if gain == "–" else gain)
        checked += 1
    assert checked >= 8


def test_the_numbers_of_a_comparison_are_those_of_its_rows(opened, contents):
    page = opened("comparison")
    rows = rows_of(5)
    shown = rows_in(page, "#table-0")
    assert [row[1:4] for row in shown[:-1]] == [
        [f"{100 * row['plain']:.2f}", f"{100 * row['boosted']:.2f}", f"{100 * (row['boosted'] - row['plain']):+.2f}"]
        for row in rows
    ]  # fmt: skip
    assert page.locator("#gains svg .mark").count() == 3 * (5 + 1)
    page.locator("#gains svg .mark").last.hover()
    boosted = contents["comparison"]["cells"][1]
    assert f"{boosted['gain']:+.2f} points" in text_of(page.locator("#tip"))
    assert f"{boosted['low']:+.2f} to {boosted['high']:+.2f}" in text_of(page.locator("#tip"))


def test_the_numbers_of_a_leaderboard_are_those_of_its_frame(opened, board):
    page = opened("leaderboard")
    shown = rows_in(page, "#table-0")
    assert len(shown) == len(board[0]) == page.locator("#board svg .mark").count()
    for row, (_, line) in zip(shown, board[0].iterrows(), strict=True):
        assert row[1] == f"{100 * line['mean']:.1f}"
        assert row[2] == f"{100 * line['low']:.1f} to {100 * line['high']:.1f}"
    texts = page.locator("#board figure > div > svg").evaluate("one => one.textContent")
    for mean in board[0]["mean"]:
        assert f"{100 * mean:.1f} %" in texts
    by_split = rows_in(page, "#table-1")
    values = board[1].pivot(index="method", columns="trial", values="value")
    assert by_split[1][1:] == [f"{100 * value:.1f}" for value in values.loc["gcn+cl"]]
    bold = page.locator("#table-0 tr.strong th")
    assert bold.all_inner_texts() == [names.method(board[0]["method"][0])]


def test_the_numbers_of_an_evaluation(opened, contents):
    page = opened("evaluation")
    found = contents["evaluation"]
    accuracy = f"{100 * float(found['tables'][0]['rows'][0][1]):.1f} %"
    assert accuracy in text_of(page.locator(".headline"))
    assert accuracy in page.locator("#answer figure svg").first.evaluate("one => one.textContent")
    counts = [[int(count) for count in row[1:]] for row in rows_in(page, ".heat")]
    assert counts == found["confusion"]["counts"]
    for kind, where in (("roc", "#roc"), ("precision_recall", "#precision-recall")):
        assert f"is {found[kind]['macro']:.3f}" in page.locator(f"{where} figcaption").inner_text()
        assert page.locator(f"{where} .legend li").count() == 3
    assert "the rarer class" in opened("binary").locator("#roc figcaption").inner_text()
    assert opened("regression").locator("#roc").count() == 0


def test_a_node_says_how_sure_it_is_and_what_it_is(opened, drawn):
    page = opened("evaluation")
    p, shown = drawn
    marks = page.locator("#graph figure > div .mark")
    told = marks.evaluate_all("all => all.map(one => one.getAttribute('aria-label'))")
    assert len(told) == len(shown["nodes"])
    for node, text in zip(shown["nodes"], told, strict=True):
        number = int(re.search(r"\d+", node["name"]).group())
        assert f"{100 * p[number].max():.0f} %" in text
        assert "to be wrong" in text
        assert "over the label draws" in text
        role = "no label, not judged" if number >= 20 else "test node" if number >= 10 else "learned from it"
        assert role in text
    assert "The paler a node" in page.locator("#graph figcaption").inner_text()


def test_a_fast_method_does_not_squeeze_the_others(opened):
    page = opened("comparison")
    ticks = [float(text) for text in page.locator("#time svg .tick[text-anchor=middle]").all_text_contents()]
    assert min(ticks) > 0.01  # the method takes 0.001 seconds
    assert "ICA (0.001 s)" in page.locator("#time figure > div > svg").evaluate("one => one.textContent")


def test_bins_weigh_by_their_nodes(opened):
    page = opened("trials")
    shape = "all => all.map(one => [one.getBoundingClientRect().width, +one.getAttribute('fill-opacity')])"
    few, many = page.locator("#reliability figure > div .mark circle:not(.hit)").evaluate_all(shape)
    assert few[0] < many[0]  # 30 nodes, 90 nodes
    assert few[1] <= many[1]
