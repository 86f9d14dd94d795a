"""The tables of a few trials, and what each way of writing them says."""

import csv
import io
import re
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest
from rich.console import Console

from clgnn.report import notes
from clgnn.report.paper_tables import tables, write
from clgnn.report.rendering import Cell, ResultTable, Row, parts, to_csv, to_latex, to_markdown, to_rich

Trials = Callable[..., pd.DataFrame]


@pytest.fixture
def made(tiny_trials: pd.DataFrame) -> dict[str, ResultTable]:
    return tables(tiny_trials)


def cell(table: ResultTable, label: str, column: tuple[str, str], published: bool = False) -> Cell:
    """A cell by its row and column; of the row below, if published."""
    at = [row.label for row in table.rows].index(label) + published
    assert table.rows[at].published == published
    return table.rows[at].cells[table.columns.index(column)]


def test_all_tables_are_made(made: dict[str, ResultTable]) -> None:
    assert list(made) == [
        "main", "over-first", "learning-curve", "ablation-uniform", "ablation-predicted", "running-time",
    ]  # fmt: skip


def test_gains_over_iteration_0_and_not_over_the_plain_gnn(new_trials: Trials) -> None:
    trials = new_trials({("cora", 85, 0, "gcn"): [0.50, 0.52], ("cora", 85, 0, "gcn+cl"): [0.55, 0.57]})
    boosted = trials["method"] == "gcn+cl"
    trials["iterations"] = [[0.40, 0.55] if one else None for one in boosted]
    made = tables(trials)
    zero = ("Cora 85", "0 %")
    assert cell(made["main"], "GCN + CL", zero).text == "+5.00 (0.00)"
    assert cell(made["over-first"], "GCN", zero).text == "40.00 (0.00)"
    assert cell(made["over-first"], "GCN + CL", zero).text == "+16.00 (1.00)"
    assert made["main"].notes[0].startswith("GCN with collective learning: 1 of 1 cell gains")
    assert "PL-EM" in str(made["main"].notes)
    assert "PL-EM" not in str(made["over-first"].notes), "rivals have no iteration 0"
    assert "over-first" not in tables(trials[~boosted])


def test_a_learning_curve_has_the_methods_that_have_one_and_the_best_of_them(new_trials: Trials) -> None:
    means = {
        (85, "gcn"): 0.5,
        (105, "gcn"): 0.6,
        (85, "gcn+cl"): 0.55,
        (105, "gcn+cl"): 0.65,
        (85, "gmnn"): 0.9,
    }
    trials = {("cora", n, 0, method): [mean, mean + 0.02] for (n, method), mean in means.items()}
    made = tables(new_trials(trials))
    assert [row.label for row in made["learning-curve"].rows if not row.published] == ["GCN", "GCN + CL"]
    assert cell(made["main"], "GMNN", ("Cora 85", "0 %")).star
    assert not cell(made["main"], "GCN + CL", ("Cora 85", "0 %")).star
    assert cell(made["learning-curve"], "GCN + CL", ("Cora, 0 %", "85")).star
    only = {key: values for key, values in trials.items() if key[1] == 85}
    assert "learning-curve" not in tables(new_trials(only))


def test_the_main_table(made: dict[str, ResultTable]) -> None:
    main = made["main"]
    zero, half = ("Cora 85", "0 %"), ("Cora 85", "50 %")
    assert main.columns == (zero, half, ("Friendster 641", "0 %"), ("Facebook100 80", "0 %"))
    assert [row.label for row in main.rows if not row.published] == [
        "GCN", "GCN + CL", "GraphSAGE", "TK", "TK + CL", "ICA", "GNN, all labels†", "my_own",
    ]  # fmt: skip
    assert cell(main, "GCN", zero) == Cell("50.00 (1.15)")
    assert cell(main, "GCN", zero, published=True) == Cell("45.90 (3.26)")
    assert cell(main, "GCN + CL", zero) == Cell("+5.17 (0.17)", bold=True, star=True)
    assert cell(main, "GCN + CL", zero, published=True) == Cell("+6.29 (1.49)", bold=True)
    assert cell(main, "TK + CL", zero) == Cell("–")
    assert cell(main, "TK + CL", zero, published=True) == Cell("+0.96 (0.30)", bold=True, star=True)
    assert cell(main, "GCN + CL", half).star, "a method with † is out of the contest"
    assert not cell(main, "GNN, all labels†", half).star


def test_trials_of_a_dataset_are_counted_at_once_where_they_are_as_many() -> None:
    cell = ["dataset", "train_labels", "test_label_percent", "method", "n"]
    rows = [
        ("cora", 85, 0, "gcn", 5),
        ("cora", 85, 50, "gcn", 4),
        ("cora", 85, 50, "gcn+cl", 10),
        *(("cora", 85, 50, method, 5) for method in ("sage", "tk")),
        *(("friendster", 641, percent, "gcn", 3) for percent in (0, 50)),
        ("protein", 7607, 0, "gcn", 5),
    ]
    found = pd.DataFrame(rows, columns=cell)
    assert notes.number_of_trials(found, found["n"]) == (
        "5 trials in each cell, but 10 in GCN + CL on Cora 85, 50 %, and 4 in GCN on Cora 85, 50 %, "
        "and 3 in all of Friendster."
    )
    many = [("cora", 85, 0, f"method {i}", i) for i in range(2, 20)]
    found = pd.DataFrame(many, columns=cell)
    assert notes.number_of_trials(found, found["n"]) == (
        "2 to 19 trials in a cell; the CSV file has the number of each."
    )


def test_the_notes(made: dict[str, ResultTable]) -> None:
    notes = "\n".join(made["main"].notes)
    assert "3 trials in each cell (the paper: 5), but 2 in GCN + CL on Cora 85, 50 %." in notes
    assert "stands in for the paper's Facebook" in notes
    assert "Friendster: balanced accuracy" in notes
    assert "†: trains on the observed labels of the test graph" in notes
    assert re.search(r"not run: Pubmed 300, 0 %; .*; PL-EM; GMNN\.", notes)
    assert "Holm" in notes
    assert "Facebook" not in "\n".join(made["learning-curve"].notes)


def test_the_other_tables(made: dict[str, ResultTable]) -> None:
    curve = made["learning-curve"]
    assert curve.columns == (("Cora, 0 %", "85"), ("Cora, 0 %", "105"), ("Cora, 50 %", "85"))
    assert cell(curve, "GCN", ("Cora, 0 %", "105"), published=True).text == "47.54 (3.50)"
    uniform = made["ablation-uniform"]
    assert uniform.columns == (("Cora", "85"),)
    assert [row.label for row in uniform.rows] == ["GCN", "published", "GCN + CL, random labels", "published"]
    assert uniform.rows[3].cells[0].text == "+0.02 (0.65)"
    predicted = made["ablation-predicted"]
    assert [column for _, column in predicted.columns] == ["0", "1", "2"]
    assert [row.label for row in predicted.rows] == [
        "Cora 85, 50 %: GCN + CL",
        "Cora 85, 50 %: GCN + CL, true labels only",
    ]
    assert [c.text for c in predicted.rows[1].cells] == ["40.00 (0.58)", "50.00 (0.58)", "60.00 (0.58)"]


def test_running_times(made: dict[str, ResultTable]) -> None:
    times = made["running-time"]
    assert [c.text for c in times.rows[0].cells] == ["0.100", "1.00", "1.00", "10.0", "10.0"]
    assert [c.text for c in times.rows[1].cells] == ["0.09", "0.83", "3.65", "9.2", "40.6"]
    assert [row.label for row in times.rows] == [
        "Cora 85, GCN",
        "published",
        "Friendster 641, TK",
        "published",
    ]
    assert [c.text for c in times.rows[2].cells] == ["0.100", "1.00", "–", "10.0", "–"]


def test_a_boosted_gnn_without_its_plain_self(new_trials: Trials) -> None:
    table = tables(new_trials({("cora", 85, 0, "gcn+cl"): [0.5, 0.6]}))["main"]
    assert table.rows[0].cells[0].text == "55.00 (5.00)"
    assert any(note.startswith("+ CL without a sign is an accuracy") for note in table.notes)


def test_one_trial_and_another_dataset(new_trials: Trials) -> None:
    table = tables(new_trials({("mine", 7, 0, "gcn"): [0.5], ("mine", 7, 0, "gcn+cl"): [0.6]}))["main"]
    assert table.columns == (("mine 7", "0 %"),)
    assert [row.cells[0].text for row in table.rows] == ["50.00 (–)", "+10.00 (–)"]
    assert "1 trial in each cell (the paper: 5)." in table.notes


def test_no_trials(tiny_trials: pd.DataFrame, tmp_path: Path) -> None:
    failed = tiny_trials.assign(status="failed")
    assert tables(failed) == {}
    assert write(tmp_path, failed) == []


def test_markdown(made: dict[str, ResultTable]) -> None:
    lines = to_markdown(made["main"]).splitlines()
    assert lines[2].startswith("| training labels / test labels | Cora 85, 0 % | Cora 85, 50 % |")
    assert r"| **+5.17 (0.17)**\* |" in "\n".join(lines)
    assert any(line.startswith("| *published* |") for line in lines)
    assert any(line.startswith(r"| my\_own |") for line in lines)
    rows = [line for line in lines if line.startswith("|")]
    assert {line.count("|") for line in rows} == {6}


def test_csv_has_the_numbers(made: dict[str, ResultTable]) -> None:
    rows = list(csv.DictReader(io.StringIO(to_csv(made["main"]))))
    (boosted,) = [
        r for r in rows if (r["dataset"], r["test_label_percent"], r["method"]) == ("cora", "0", "gcn+cl")
    ]
    assert float(boosted["gain"]) == pytest.approx(5.16667)
    assert float(boosted["p"]) < float(boosted["p_holm"])
    assert (boosted["base"], boosted["published_gain"], boosted["published_significant"]) == (
        "gcn",
        "6.29",
        "True",
    )
    assert {"low", "high", "pairs", "seconds", "peak_memory", "published_mean"} <= set(boosted)
    assert not any("cl-" in r["method"] or r["train_labels"] == "105" for r in rows)


def test_latex(made: dict[str, ResultTable]) -> None:
    text = to_latex(made["main"])
    assert r"\multicolumn{2}{c}{Cora 85}" in text
    assert r"\cmidrule(lr){2-3} \cmidrule(lr){4-4} \cmidrule(lr){5-5}" in text
    assert r"0 \% & 50 \%" in text
    assert r"\textbf{+5.17 (0.17)}\makebox[0pt][l]{$^{*}$}" in text
    assert r"my\_own" in text
    assert r"GNN, all labels$^{\dagger}$" in text
    assert text.isascii()
    for line in text.splitlines():
        body = line.replace(r"\\", "")
        assert not re.search(r"(?<!\\)[%#_]", body.removeprefix("% needs ")), line
        assert body.count("{") - body.count(r"\{") == body.count("}") - body.count(r"\}")
        assert body.count("$") % 2 == 0
    inside = text[text.index(r"\midrule") : text.index(r"\bottomrule")].splitlines()
    assert {line.count("&") for line in inside if line.endswith(r"\\")} == {4}


def test_latex_escapes_every_special_sign() -> None:
    name = r"[50% & $5_#{a}~^\<*"
    row = Row(name, (Cell("-0.14 (0.40)"),))
    table = ResultTable("t", name, ("", ""), (("a", "b"),), (row,), (), pd.DataFrame())
    text = to_latex(table)
    escaped = r"{[}50\% \& \$5\_\#\{a\}\textasciitilde{}\textasciicircum{}\textbackslash{}$<${*}"
    assert rf"{escaped} & $-$0.14 (0.40) \\" in text
    assert rf"\caption{{{escaped}}}" in text


def test_terminal(made: dict[str, ResultTable]) -> None:
    console = Console(width=120, record=True, file=io.StringIO())
    console.print(to_rich(made["main"]))
    text = console.export_text()
    assert "+5.17 (0.17)*" in text
    assert "  published" in text
    assert "…" not in text


def test_parts_fit_a_narrow_terminal(made: dict[str, ResultTable]) -> None:
    made_parts = parts(made["main"], 60)
    assert [part.columns for part in made_parts] == [made["main"].columns[:2], made["main"].columns[2:]]
    assert [bool(part.notes) for part in made_parts] == [False, True]
    console = Console(width=60, record=True, file=io.StringIO())
    for part in made_parts:
        console.print(to_rich(part))
    assert re.search(r"GCN \+ CL +\+5\.17 \(0\.17\)\* +\+14\.50", console.export_text())
    assert parts(made["main"], 200) == [made["main"]]


def test_write(tiny_trials: pd.DataFrame, tmp_path: Path) -> None:
    paths = write(tmp_path / "tables", tiny_trials)
    assert len(paths) == 18
    assert sorted(paths) == sorted((tmp_path / "tables").iterdir())
    assert (
        (tmp_path / "tables" / "ablation-uniform.tex")
        .read_text()
        .startswith(r"% needs \usepackage{booktabs}")
    )
    assert write(tmp_path / "tables", tiny_trials) == paths, "its own files are replaced"
