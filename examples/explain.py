"""What a prediction rests on: edges, features, and the labels of neighbours, observed or predicted.

python examples/explain.py
"""

from clgnn import CollectiveClassifier, datasets, splits
from clgnn.estimators.explanation import Explanation


def main(num_nodes: int = 1000, max_epochs: int = 200) -> Explanation:
    """Prints the explanation of the test node that the model is surest of, and returns it."""
    data = datasets.load("citations", num_nodes=num_nodes)
    known = num_nodes // 10
    split = splits.connected(data, known, known, test_nodes=num_nodes // 4, val_nodes=num_nodes // 5)
    model = CollectiveClassifier("gcn", test_labels="partial", keep_best=False, max_epochs=max_epochs)
    model.fit(data, split.train_mask, split.val_mask)
    observed = split.observed_mask
    unsure = model.uncertainty(data, observed).masked_fill(~split.test_mask, 1.0)
    found = model.explain(data, int(unsure.argmin()), observed)
    print(f"node {found.node} is of class {found.prediction}, by iteration {found.iteration}; it rests on")
    for name in ("edges", "features", "labels"):
        print(f"\n{name}\n{getattr(found, name).head(5).round(3).to_string(index=False)}")
    return found


if __name__ == "__main__":
    main()
