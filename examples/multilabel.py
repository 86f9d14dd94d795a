"""Several labels for each node: an item of a shop is on sale, and is seasonal, or both, or neither.

python examples/multilabel.py
"""

import pandas as pd
import torch

from clgnn import CollectiveMultiLabelClassifier, datasets, splits


def main(num_nodes: int = 1000, max_epochs: int = 300) -> pd.DataFrame:
    """Prints and returns the scores of each label on the test nodes: one row per label."""
    data = datasets.load("citations", num_nodes=num_nodes)
    split = splits.random(data, num_nodes // 10, test_nodes=num_nodes // 4, val_nodes=num_nodes // 5)
    data.y = torch.stack([data.y % 2, (data.y >= 3).long()], dim=1)  # [N, 2]
    data.y[split.train_mask.nonzero()[:20, 0], 1] = -1  # of some nodes only the first label is known
    model = CollectiveMultiLabelClassifier(gnn="gcn", max_epochs=max_epochs)
    model.fit(data, split.train_mask, split.val_mask)
    table = model.evaluate_labels(data, split.test_mask, names=["on sale", "seasonal"])
    print(table.round(3).to_string(index=False))
    return table


if __name__ == "__main__":
    main()
