"""Collective learning: boosts any graph neural network on partially labelled graphs."""

__version__ = "0.1.0"
