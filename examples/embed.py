"""Representations of nodes for another model: logistic regression on what a boosted GCN makes of them.

python examples/embed.py
"""

from sklearn.linear_model import LogisticRegression

from clgnn import CollectiveClassifier, datasets, splits


def main(num_nodes: int = 1000, max_epochs: int = 200) -> tuple[float, float]:
    """Prints and returns the test accuracies of the boosted GCN and of the model on its representations."""
    data = datasets.load("citations", num_nodes=num_nodes)
    split = splits.connected(data, num_nodes // 10, test_nodes=num_nodes // 4, val_nodes=num_nodes // 5)
    model = CollectiveClassifier("gcn", max_epochs=max_epochs)
    model.fit(data, split.train_mask, split.val_mask)
    z = model.embed(data).numpy()  # [N, 16], the mean over the label samples
    linear = LogisticRegression(max_iter=1000).fit(z[split.train_mask], data.y[split.train_mask])
    own = model.score(data, split.test_mask)
    read_out = float(linear.score(z[split.test_mask], data.y[split.test_mask]))
    print(f"representations: {z.shape[0]} nodes, {z.shape[1]} columns, of iteration {model.best_iteration_}")
    print(f"test accuracy: the boosted GCN {own:.3f}, logistic regression on them {read_out:.3f}")
    return own, read_out


if __name__ == "__main__":
    main()
