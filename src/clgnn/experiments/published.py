"""The numbers that the paper printed, under our names, to be laid beside ours."""

from __future__ import annotations

from importlib import resources

import pandas as pd

from clgnn.data.datasets import FACEBOOK100
from clgnn.experiments.methods import CELL

TABLES = ("main", "learning_curve", "ablation_uniform")
"""The paper's tables of accuracies."""


def published(table: str) -> pd.DataFrame:
    """A table of the paper, with one row per cell.

    Args:
        table: ``main``, ``learning_curve`` or ``ablation_uniform``.

    Returns:
        The columns of a cell; ``mean`` and ``standard_error`` in percent; ``gain`` and ``gain_se`` in points;
        ``significant`` (bold in the paper) and ``best`` (starred). The paper prints only the gain of a
        boosted GNN: its ``mean`` is that of the plain GNN plus the gain, and has no standard error.

    Example:
        >>> main = published("main")
        >>> main[(main.dataset == "cora") & (main.method == "gcn+cl")][["test_label_percent", "mean", "gain"]]
            test_label_percent   mean   gain
        10                   0  52.19   6.29
        11                  50  52.07  15.69
    """
    if table not in TABLES:
        raise ValueError(f"table is {table!r}; expected one of {', '.join(TABLES)}")
    found = _read("results.csv")
    found = found[found["table"] == table].drop(columns="table").reset_index(drop=True)
    found["method"] = [_method(name) for name in found["method"]]
    is_gain = found["kind"] == "gain"
    plain = found[~is_gain].set_index(CELL)["percent"]
    bases = found[CELL[:3]].assign(method=[name.split("+")[0] for name in found["method"]])
    base = plain.reindex(pd.MultiIndex.from_frame(bases)).to_numpy()
    return found[CELL].assign(
        mean=found["percent"].where(~is_gain, (base + found["percent"]).round(2)),
        standard_error=found["standard_error"].where(~is_gain),
        gain=found["percent"].where(is_gain),
        gain_se=found["standard_error"].where(is_gain),
        significant=found["significant"] == "yes",
        best=found["best_in_column"] == "yes",
    )


def running_times() -> pd.DataFrame:
    """The paper's minutes of a plain GNN, and of the boosted one without and with test labels.

    Example:
        >>> running_times().columns.tolist()
        ['dataset', 'gnn', 'base_minutes', 'cl_unlabeled_minutes', 'cl_partial_minutes']
    """
    return _read("running_times.csv")


def _read(name: str) -> pd.DataFrame:
    with (resources.files("clgnn.experiments") / "paper" / name).open(encoding="utf-8") as file:
        table = pd.read_csv(file)
    # The paper's Facebook was never published; every table and figure says that Facebook100 stands in for it.
    return table.assign(dataset=table["dataset"].replace("facebook", FACEBOOK100))


def _method(name: str) -> str:
    """Our name of a method of the paper."""
    return name.replace("graphsage", "sage").replace("cl-random", "cl-uniform").replace("pl-em", "pl_em")
