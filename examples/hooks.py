"""Hooks: a log of every epoch, a learning rate that falls, and a fit that ends when it is good enough.

python examples/hooks.py
"""

import tempfile
from pathlib import Path

import pandas as pd
import torch
from torch.optim.lr_scheduler import CosineAnnealingLR

from clgnn import CollectiveClassifier, callbacks, datasets, splits


class GoodEnough(callbacks.Callback):
    """Ends the fit when the validation metric has reached a goal."""

    def __init__(self, goal: float) -> None:
        self.goal = goal

    def after_epoch(self, model: CollectiveClassifier, epoch: callbacks.Epoch) -> bool:
        return epoch.metric >= self.goal


def main(num_nodes: int = 1000, max_epochs: int = 200, goal: float = 0.8) -> pd.DataFrame:
    """Prints how the fit went, and returns its log: one row per epoch."""
    data = datasets.load("citations", num_nodes=num_nodes)
    split = splits.random(data, num_nodes // 10, test_nodes=num_nodes // 4, val_nodes=num_nodes // 5)
    log = Path(tempfile.mkdtemp()) / "log.csv"
    model = CollectiveClassifier(
        max_epochs=max_epochs,
        optimizer=lambda parameters: torch.optim.AdamW(parameters, lr=0.05),
        scheduler=lambda optimizer: CosineAnnealingLR(optimizer, T_max=max_epochs),
    )
    model.fit(data, split.train_mask, split.val_mask, callbacks=[callbacks.CSVLog(log), GoodEnough(goal)])
    table = pd.read_csv(log)
    print(f"{len(table)} epochs, validation {table['metric'].max():.3f}, {len(model.components_)} iterations")
    return table


if __name__ == "__main__":
    main()
