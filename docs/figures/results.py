"""Writes the tables of the README, docs/choosing.md and docs/results.md from the trials of a reproduction.

    clgnn reproduce main --config docs/results/fair.toml --out results/ ..
    clgnn reproduce main --out paper/ ..
    clgnn reproduce main --config docs/results/fair.toml --trials 1 --out times/ ..
    python docs/figures/results.py results/ paper/ times/

The first folder has trials of the fair protocol, the second those of the paper's. Only the seconds are taken
from the third, whose trials ran one after another on one machine. A table stands between two comments,
``<!-- main -->`` and ``<!-- end of main -->``. The trials, the tables as CSV and LaTeX and the figures go to
docs/results/. Without folders, the pages are made again from the trials there, and a test compares them.
"""

import re
import sys
from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd
from cora import STYLE, accuracies, draw, rows

from clgnn.experiments.ledger import Ledger, read
from clgnn.experiments.methods import base, competes
from clgnn.experiments.statistics import CELL, cells, leads
from clgnn.report import figures, names, paper_tables
from clgnn.report.rendering import to_csv, to_markdown

DOCS = Path(__file__).parents[1]
FAIR, PAPER, TIMES = (DOCS / "results" / f"{name}-trials.csv" for name in ("fair", "paper", "times"))
PAGES = (DOCS.parent / "README.md", DOCS / "choosing.md", DOCS / "results.md")
HOMOPHILY = {
    "cora": 0.81,
    "pubmed": 0.80,
    "friendster": 0.50,
    "facebook100/johns_hopkins55": 0.55,
    "protein": 0.67,
}
"""As ``clgnn datasets info`` prints it."""


def timed(trials: pd.DataFrame) -> pd.DataFrame:
    """The trials with the seconds of :data:`TIMES` in place of their own; NaN where nothing was timed."""
    seconds = read(TIMES).groupby(CELL)["seconds"].mean()
    return trials.assign(seconds=seconds.reindex(pd.MultiIndex.from_frame(trials[CELL])).to_numpy())


def gains(found: pd.DataFrame) -> str:
    """One row for each graph and GNN: what the boost brings, without and with labels seen."""
    head = ["", "labels", "homophily", "plain", "gain, no label seen", "gain, labels seen", "splits"]
    lines = ["| " + " | ".join(head) + " |", "| --- |" + " ---: |" * 6]
    boosted = found[found["method"].str.endswith("+cl") & found["gain_se"].notna()]
    key = ["dataset", "train_labels", "test_label_percent", "method"]
    by_cell = {tuple(row[name] for name in key): row for row in found.to_dict("records")}
    for dataset, labels in names.MAIN:
        here = boosted[(boosted["dataset"] == dataset) & (boosted["train_labels"] == labels)]
        for method in sorted(here["method"].unique(), key=names.method_order):
            found_here = [by_cell.get((dataset, labels, percent, method)) for percent in (0, 50)]
            there = [row for row in found_here if row is not None and row["gain"] == row["gain"]]
            plain = there[0]["mean"] - there[0]["gain"]  # of the splits that have both
            splits = sorted({int(row["pairs"]) for row in there})
            what = f"{names.dataset(dataset)}, {names.method(base(method))}"
            said = [bold(row) if row in there else "–" for row in found_here]
            texts = [what, str(labels), f"{HOMOPHILY[dataset]:.2f}", f"{plain:.2f}", *said]
            lines.append("| " + " | ".join([*texts, " to ".join(map(str, splits))]) + " |")
    return "\n".join(lines)


def bold(row: dict[str, float]) -> str:
    """A gain and its standard error; bold if the 95 % interval lies on one side of 0."""
    text, error = f"{row['gain']:+.2f}", row["gain_se"]
    text = f"**{text}**" if row["low"] > 0 or row["high"] < 0 else text
    return f"{text} ({error:.2f})" if error == error else f"{text} (–)"


def auto(trials: pd.DataFrame) -> str:
    """One row per column: the best row with auto start, and the strongest of all others."""
    ours = {name for name in trials["method"] if name.endswith("+cl-auto")}
    return led(leads(trials, ours, {name for name in trials["method"] if competes(name)} - ours))


def over_mean(trials: pd.DataFrame) -> str:
    """One row per column and GNN: auto start, and the mean of its starts without collective learning."""
    pairs = [leads(trials, {f"{gnn}+cl-auto"}, {f"{gnn}+start-mean"}) for gnn in ("gcn", "sage")]
    return led(pd.concat(pairs))


def all_labels(trials: pd.DataFrame) -> str:
    """One row per column and GNN: CL on all labels, and the strongest other method on the same GNN.

    Those that start from the GNN itself are compared with each other, and so are those with another start.
    """
    of_gcn = {"gnn_all_labels", "cl_all_labels", "correct_and_smooth", "label_reuse", "rcc", "rni"}
    of_gcn |= {name for name in trials["method"] if name.split("+")[0] == "gcn"}
    of_sage = {name for name in trials["method"] if name.split("+")[0] == "sage"}
    seen = trials[trials["test_label_percent"] == 50]
    pairs = []
    for own, auto, others in (
        ("cl_all_labels", "gcn+cl-all-labels-auto", of_gcn),
        ("sage+cl-all-labels", "sage+cl-all-labels-auto", of_sage),
    ):
        other_starts = {name for name in others if name.endswith(("-auto", "+start-mean"))}
        pairs += [leads(seen, {own}, others - other_starts - {own}), leads(seen, {auto}, others - {auto})]
    return led(pd.concat(pairs))


def led(found: pd.DataFrame) -> str:
    """The rows of :func:`~clgnn.experiments.statistics.leads`, in the order of the main table."""
    lines = ["| | | over | lead | 95 % interval | splits |", "| --- | --- | --- | ---: | ---: | ---: |"]
    for dataset, _ in names.MAIN:
        here = found[found["dataset"] == dataset].sort_values("test_label_percent", kind="stable")
        for row in here.to_dict("records"):
            what = f"{names.dataset(dataset)}, {row['test_label_percent']} %"
            ours, other = (names.method(row[name]) for name in ("method", "other"))
            interval = f"{row['low']:+.2f} to {row['high']:+.2f}"
            texts = [what, ours, other, bold(row), interval, str(row["pairs"])]
            lines.append("| " + " | ".join(texts) + " |")
    return "\n".join(lines)


def blocks() -> dict[str, str]:
    """The tables by name, from the trials in docs/results/."""
    trials = timed(read(FAIR))
    tables = {name: table for name, table in paper_tables.tables(trials).items() if name != "over-first"}
    if PAPER.exists() and (over_first := paper_tables.over_first(read(PAPER))) is not None:
        tables["over-first"] = over_first
    made = {name: to_markdown(table).split("\n", 2)[2].strip() for name, table in tables.items()}
    made["headline"] = tables["main"].notes[0]
    made |= {"auto": auto(trials), "over-mean": over_mean(trials), "all-labels": all_labels(trials)}
    return made | {"gains": gains(cells(trials)), "cora": "\n".join([*CORA, *rows(accuracies(str(FAIR)))])}


CORA = (
    "| | no labels where it predicts | gain | as many labels there | gain |",
    "| --- | ---: | ---: | ---: | ---: |",
)


def filled(page: str, tables: dict[str, str]) -> str:
    """The text of a page with its tables between their comments."""
    for name in re.findall("<!-- end of (.*?) -->", page):
        if name not in tables:
            raise SystemExit(
                f"there are no trials for the table {name}; run them, or take it out of the page"
            )
    for name, table in tables.items():
        begin, end = f"<!-- {name} -->\n", f"\n<!-- end of {name} -->"
        page = re.sub(
            re.escape(begin) + ".*?" + re.escape(end),
            lambda _, text=f"{begin}\n{table}\n{end}": text,
            page,
            flags=re.DOTALL,
        )
    return page


def main() -> None:
    for folder, path in zip(sys.argv[1:], (FAIR, PAPER, TIMES), strict=False):
        done = int((read(folder)["status"] == "done").sum())
        if path.exists() and done < len(read(path)):
            raise SystemExit(
                f"{folder} has {done} trials, and {path.name} more; expected a ledger that goes on"
            )
        Ledger(folder).export(path)
    tables = blocks()
    for page in PAGES:
        page.write_text(filled(page.read_text(), tables))
    trials = timed(read(FAIR))
    for path in paper_tables.write(DOCS / "results", trials):
        if path.suffix == ".md" or path.stem == "over-first":  # that one comes from the paper's protocol
            path.unlink()
    if PAPER.exists() and (over_first := paper_tables.over_first(read(PAPER))) is not None:
        (DOCS / "results" / "over-first.csv").write_text(to_csv(over_first))
    figures.write(DOCS / "results", trials)
    plt.rcParams.update(STYLE)
    draw(accuracies(str(FAIR))).savefig(DOCS / "figures" / "cora.svg", metadata={"Date": None})
    print(f"{len(trials)} trials: {', '.join(tables)}")


if __name__ == "__main__":
    main()
