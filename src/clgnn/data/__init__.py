"""Graphs, tables, splits and datasets: everything that comes before a model."""
