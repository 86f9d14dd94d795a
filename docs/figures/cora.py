"""The picture and the table of the README, from trials of Cora; docs/figures/results.py writes both."""

import matplotlib.pyplot as plt
import pandas as pd

NAMES = {"gcn": "GCN", "sage": "GraphSAGE"}
KINDS = {
    "": ("plain", "#9aa5b1"),
    "+cl": ("boosted", "#0b6e99"),
    "+cl-auto": ("boosted, auto start", "#e07b39"),
}
NOT_BOOSTED = {"+start-mean": "the mean of the starts, not boosted"}
STYLE = {"svg.hashsalt": "clgnn", "font.size": 11}


def accuracies(path: str) -> pd.DataFrame:
    """In %, one row per scenario and split, one column per method; only splits that all methods have."""
    trials = pd.read_csv(path)
    trials = trials[(trials.dataset == "cora") & (trials.train_labels == 85) & (trials.status == "done")]
    trials = trials[trials.method.isin([gnn + kind for gnn in NAMES for kind in (*KINDS, *NOT_BOOSTED)])]
    table = trials.pivot(index=["test_label_percent", "trial"], columns="method", values="accuracy")
    return 100 * table.dropna()


def rows(table: pd.DataFrame) -> list[str]:
    """The table in Markdown: means over the splits, and gains paired by split with their standard errors."""
    found = []
    said_of = {kind: said for kind, (said, _) in KINDS.items()} | NOT_BOOSTED
    for gnn, name in NAMES.items():
        for kind, said in said_of.items():
            cells = []
            for _, part in table.groupby(level=0):
                mean, gain = part[gnn + kind].mean(), part[gnn + kind] - part[gnn]
                better = f"{mean:.1f}"
                cells += [better, f"**{gain.mean():+.1f}** ± {gain.sem():.1f}" if kind else ""]
            found.append(f"| {name}, {said} | {' | '.join(cells)} |")
    return found


def draw(table: pd.DataFrame) -> plt.Figure:
    """GCN, without labels in the test part: a line for each split."""
    part = table.loc[0].sort_values("gcn", ignore_index=True)
    figure, axes = plt.subplots(figsize=(8, 3.6), layout="constrained")
    for kind, (said, colour) in KINDS.items():
        values = part[f"gcn{kind}"]
        axes.scatter(values, part.index, s=60, color=colour, zorder=3, label=f"{said}: {values.mean():.1f} %")
        axes.axvline(values.mean(), color=colour, linewidth=1, linestyle=":")
    shown = part[[f"gcn{kind}" for kind in KINDS]]
    axes.hlines(part.index, shown.min(axis=1), shown.max(axis=1), color="#e4e9ee", zorder=1, linewidth=2)
    axes.set(
        xlabel="test accuracy in %",
        yticks=[],
        ylabel=f"{len(part)} random splits",
        title="GCN on Cora, 85 labels in one part of the graph",
    )
    figure.legend(loc="outside lower center", ncols=3, frameon=False)
    axes.spines[["top", "right", "left"]].set_visible(False)
    return figure
