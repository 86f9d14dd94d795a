"""Collective learning: boosts any graph neural network on partially labelled graphs."""

from clgnn import datasets, metrics, nn, splits, theory
from clgnn.estimator import CollectiveClassifier, CollectiveRegressor

__version__ = "0.1.0"
__all__ = ["CollectiveClassifier", "CollectiveRegressor", "datasets", "metrics", "nn", "splits", "theory"]
