"""A boosted GCN as one torch module: its weights in a file, and in a network of one's own.

python examples/as_module.py
"""

import tempfile
from pathlib import Path

import torch

from clgnn import CollectiveClassifier, datasets, splits


def main(num_nodes: int = 1000, max_epochs: int = 200) -> bool:
    """Prints and returns whether the module gives what the model gives, to the last bit."""
    data = datasets.load("citations", num_nodes=num_nodes)
    split = splits.connected(data, num_nodes // 10, test_nodes=num_nodes // 4, val_nodes=num_nodes // 5)
    model = CollectiveClassifier("gcn", max_epochs=max_epochs)
    model.fit(data, split.train_mask, split.val_mask)
    module = model.as_module().eval()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "boosted.pt"
        torch.save(module.state_dict(), file)
        module.load_state_dict(torch.load(file, weights_only=True))
    with torch.no_grad():
        probabilities = module(data.x, data.edge_index)  # [N, C]
    same = torch.equal(probabilities, model.predict_proba(data))
    weights = sum(parameter.numel() for parameter in module.parameters())
    print(f"{len(module.components)} networks, {weights} weights; the same bits as predict_proba: {same}")
    return same


if __name__ == "__main__":
    main()
