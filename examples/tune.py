"""A search for settings, and what it is worth on labels that it has not seen (pip install "clgnn[tune]").

python examples/tune.py
"""

from clgnn import CollectiveClassifier, datasets, splits, tune


def main(num_nodes: int = 1000, max_epochs: int = 200, num_trials: int = 20) -> tuple[float, float]:
    """Prints and returns the test accuracies with the defaults and with the settings that were found."""
    data = datasets.load("citations", num_nodes=num_nodes)
    split = splits.connected(data, num_nodes // 10, test_nodes=num_nodes // 4, val_nodes=num_nodes // 5)
    fixed = {"max_epochs": max_epochs}
    found = tune(data, split.train_mask, split.val_mask, num_trials=num_trials, settings=fixed)
    accuracies = []
    for settings in (fixed, found.settings):
        model = CollectiveClassifier(**settings).fit(data, split.train_mask, split.val_mask)
        accuracies.append(model.score(data, split.test_mask))
    print(f"test accuracy: defaults {accuracies[0]:.3f}, tuned {accuracies[1]:.3f}")
    return accuracies[0], accuracies[1]


if __name__ == "__main__":
    main()
