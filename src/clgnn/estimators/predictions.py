"""A table of predictions, one row per node, in the words of the tables that the graph came from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch import Tensor
from torch_geometric.data import Data

from clgnn.data.checks import finite
from clgnn.estimators.labelling import Classes
from clgnn.estimators.multilabel import MultiLabels
from clgnn.estimators.node import NodeEstimator

BATCH = 1 << 18  # rows of a table at a time


def predictions(
    model: NodeEstimator,
    data: Data,
    observed: Tensor | None = None,
    *,
    ids: Sequence[Any] | None = None,
    id_name: str = "id",
    classes: Sequence[str] | None = None,
) -> pd.DataFrame:
    """What a model says of each node.

    Args:
        model: a fitted one.
        data: one graph.
        observed: the labels that may be seen, bool ``[N]``; None for none.
        ids, id_name: the ids of the nodes and the name of their column; by default the row numbers.
        classes: the names of the classes 0, 1, .., or of several labels; by default their numbers.

    Returns:
        The id; ``prediction``; for classes ``p(name)`` of each class and ``confidence``, the one of the
        predicted class, for numbers ``std``; for several labels ``prediction(name)`` and ``p(name)`` of each
        instead; ``spread``, by which the label draws differ (blank where nothing is drawn); and
        ``label_was_known``. If the id column has one of these names, ours ends in an underscore.

    Example:
        >>> import torch
        >>> from clgnn import baselines
        >>> edges = torch.tensor([[0, 2], [1, 3]])
        >>> data = Data(x=torch.eye(4), edge_index=edges, y=torch.tensor([0, 0, 1, 1]))
        >>> model = baselines.ICA(C=1.0).fit(data, train_mask=[0, 2])
        >>> table = predictions(model, data, classes=["no", "yes"])
        >>> list(table)
        ['id', 'prediction', 'p(no)', 'p(yes)', 'confidence', 'spread', 'label_was_known']
    """
    tables = in_batches(model, data, observed, ids=ids, id_name=id_name, classes=classes)
    return pd.concat(list(tables), ignore_index=True)


def in_batches(
    model: NodeEstimator,
    data: Data,
    observed: Tensor | None = None,
    *,
    ids: Sequence[Any] | pd.Series[Any] | None = None,
    id_name: str = "id",
    classes: Sequence[str] | None = None,
) -> Iterator[pd.DataFrame]:
    """The same table, some rows at a time; the arguments are those of :func:`predictions`."""
    found, drawn = (part.float().cpu() for part in model._with_spread(*model._seen(data, observed)))
    finite(found)
    known = torch.zeros(len(found), dtype=torch.bool) if observed is None else observed
    first = pd.RangeIndex(len(found)) if ids is None else ids
    for begin in range(0, max(len(found), 1), BATCH):
        rows = slice(begin, begin + BATCH)
        columns = _columns(model, found[rows], classes)
        columns |= {"spread": drawn[rows].numpy(), "label_was_known": known[rows].numpy()}
        renamed = {name if name != id_name else f"{name}_": values for name, values in columns.items()}
        yield pd.DataFrame({id_name: np.asarray(first[rows]), **renamed})


def _columns(model: NodeEstimator, found: Tensor, classes: Sequence[str] | None) -> dict[str, Any]:
    """What a model says of some nodes, by the names of the columns."""
    columns: dict[str, Any] = {}
    if isinstance(model.labelling_, Classes):
        names = [str(number) if classes is None else classes[number] for number in model.labelling_.values]
        chosen = model.labelling_.decide(found)
        columns["prediction"] = np.array(names)[chosen.numpy()]
        columns |= {f"p({name})": found[:, i].numpy() for i, name in enumerate(names)}
        columns["confidence"] = found[torch.arange(len(found)), chosen].numpy()
    elif isinstance(model.labelling_, MultiLabels):
        names = [str(i) for i in range(model.labelling_.number)] if classes is None else list(classes)
        chosen = model.labelling_.predict(found)
        columns |= {f"prediction({name})": chosen[:, i].numpy() for i, name in enumerate(names)}
        columns |= {f"p({name})": found[:, i].numpy() for i, name in enumerate(names)}
    else:
        columns |= {"prediction": found[:, 0].numpy(), "std": found[:, 1].numpy()}
    return columns


def read_probabilities(
    table: pd.DataFrame,
    ids: Sequence[Any],
    id_name: str,
    classes: Sequence[str],
    origin: object = "the table",
) -> Tensor:
    """Probabilities ``[N, C]`` of nodes from a table that has one column ``p(name)`` for each class.

    Args:
        table: with the ids of the nodes, in any order; it may have others.
        ids, id_name: the nodes, and the name of their column.
        classes: the names of the classes, in order.
        origin: where the table comes from, for the messages.

    Raises:
        ValueError: if a column or a node is missing, or a row is no distribution.

    Example:
        >>> table = pd.DataFrame({"id": ["b", "a"], "p(no)": [0.2, 0.9], "p(yes)": [0.8, 0.1]})
        >>> read_probabilities(table, ["a", "b"], "id", ["no", "yes"])
        tensor([[0.9000, 0.1000],
                [0.2000, 0.8000]])
    """
    columns = [f"p({name})" for name in classes]
    for name in (id_name, *columns):
        if name not in table:
            raise ValueError(
                f"{origin} has no column {name!r}; expected {id_name} and {', '.join(columns)}, as "
                "`clgnn predict` writes them"
            )
    found = table.set_index(table[id_name].astype(str))[columns]
    names = [str(one) for one in ids]
    missing = [name for name in names if name not in found.index]
    if missing:
        raise ValueError(f"{origin} has no row for node {missing[0]!r} ({len(missing)} nodes are missing)")
    if not found.index.is_unique:
        raise ValueError(f"{origin} has more than one row for a node; expected one row per node")
    values = found.loc[names].to_numpy(dtype=np.float64)
    total = values.sum(axis=1, keepdims=True)
    if not (np.isfinite(values).all() and (values >= 0).all() and (total > 0).all()):
        raise ValueError(f"{origin} has blank, negative or empty rows of probabilities; expected 0 to 1")
    return torch.from_numpy(values / total).float()
