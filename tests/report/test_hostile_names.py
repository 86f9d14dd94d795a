"""Ids, labels and column names that are HTML or scripts: every page shows them as text, and nothing runs."""

import numpy as np
import pandas as pd
import pytest

from helpers.commands import QUICK, call

HARM = "window.harmed=1"
ID = f"<script>{HARM}</script>"
LABELS = [f'"><img src=x onerror="{HARM}">', f"</script><script>{HARM}</script>", "{{7*7}}${7*7}<b>bold</b>"]
COLUMN = f"<svg onload={HARM}>"
TABLES = ["--nodes", "nodes.csv", "--edges", "edges.csv", "--label", "kind<i>"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    random = np.random.default_rng(0)
    label = np.arange(60) % 3
    ids = [ID, f"javascript:{HARM}", f"' onfocus={HARM} autofocus x='", *(f"<u>{i}</u>" for i in range(57))]
    nodes = pd.DataFrame(
        {
            "id": ids,
            COLUMN: label + random.normal(size=60),
            "shape": random.choice([f"<a onclick={HARM}>", "]]>"], 60),
        }
    )
    nodes["kind<i>"] = np.array(LABELS)[label]
    nodes["part"] = np.where(np.arange(60) < 30, "train", np.where(np.arange(60) < 40, "val", "test"))
    nodes.to_csv("nodes.csv", index=False)
    pd.DataFrame({"source": ids, "target": np.roll(ids, 3)}).to_csv("edges.csv", index=False)
    return tmp_path


def harmless(page):
    """Nothing ran, nothing was made of what should be text; gives the text."""
    assert page.evaluate("window.harmed") is None
    assert page.locator("img, svg[onload], a[onclick], [autofocus], [onerror], [onfocus], u").count() == 0
    assert page.locator("b", has_text="bold").count() == 0
    return page.locator("body").inner_text()


def test_the_page_of_an_evaluation(folder, open_file):
    call("fit", *TABLES, "--split", "part", *QUICK, "--out", "model")
    call(
        "evaluate",
        "--model",
        "model",
        *TABLES,
        "--split",
        "part",
        "--report",
        "page.html",
        "--explain",
        "<u>50</u>",
    )
    page = open_file(folder / "page.html")
    text = harmless(page)
    for said in (COLUMN, "<u>50</u>", *LABELS):
        assert said in text
    for control in page.locator("#graph input[type=radio]").all():
        control.check()
    for node in page.locator("#graph svg .mark").all()[:3]:
        node.hover(force=True)
    harmless(page)
    page.evaluate("document.querySelectorAll('button, summary').forEach(one => one.click())")
    harmless(page)


def test_the_page_of_a_comparison(folder, open_file):
    (folder / "nodes.csv").rename(folder / f"{COLUMN}.csv".replace("/", ""))
    tables = [f"{COLUMN}.csv".replace("/", ""), *TABLES[2:]]
    call(
        "compare",
        "--nodes",
        *tables,
        "--ignore",
        "part",
        "--methods",
        "majority,label_propagation",
        "--splits",
        "2",
        "--out",
        "out",
        "--quiet",
    )
    page = open_file(folder / "out" / "report.html")
    assert COLUMN in harmless(page)


def test_the_page_of_a_ledger(folder, open_file, new_trials, monkeypatch):
    from clgnn.report.page import write
    from clgnn.report.trials import from_trials

    trials = new_trials(
        {
            (LABELS[0], 85, 0, ID): [0.5, 0.6],
            (LABELS[0], 85, 0, f"{ID}+cl"): [0.6, 0.7],
            ("cora", 85, 0, LABELS[1]): [0.5],
        }
    )
    trials.loc[0, ["status", "error"]] = ["failed", COLUMN]
    write(folder / "page.html", from_trials(trials))
    page = open_file(folder / "page.html")
    text = harmless(page)
    assert LABELS[1] in text or LABELS[0] in text
