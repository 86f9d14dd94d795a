"""A table of predictions, one row per node, in the words of the tables that the graph came from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from torch import Tensor
from torch_geometric.data import Data

from clgnn.estimators.node import NodeEstimator


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
        classes: the names of the classes 0, 1, ..; by default their numbers.

    Returns:
        The id; ``prediction``; for classes ``p(name)`` of each class and ``confidence``, the largest of them,
        for numbers ``std``; ``spread``, by which the label draws differ (blank where nothing is drawn); and
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
    found, drawn = model.predict_proba(data, observed), model.spread(data, observed)
    assert isinstance(found, Tensor)
    assert isinstance(drawn, Tensor)
    columns: dict[str, Any] = {}
    if hasattr(model, "classes_"):
        numbers = model.classes_.tolist()
        names = [str(number) if classes is None else classes[number] for number in numbers]
        columns["prediction"] = np.array(names)[found.argmax(dim=1).numpy()]
        columns |= {f"p({name})": found[:, i].numpy() for i, name in enumerate(names)}
        columns["confidence"] = found.amax(dim=1).numpy()
    else:
        columns |= {"prediction": found[:, 0].numpy(), "std": found[:, 1].numpy()}
    columns["spread"] = drawn.numpy()
    columns["label_was_known"] = np.zeros(len(found), bool) if observed is None else observed.numpy()
    first = np.arange(len(found)) if ids is None else np.asarray(ids)
    renamed = {name if name != id_name else f"{name}_": values for name, values in columns.items()}
    return pd.DataFrame({id_name: first, **renamed})
