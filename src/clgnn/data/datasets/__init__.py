"""The paper's datasets, and two that need no file."""

from clgnn.data.datasets.catalogue import CATALOGUE, FACEBOOK100, Entry, find
from clgnn.data.datasets.embedded import citations, digits
from clgnn.data.datasets.errors import DatasetError
from clgnn.data.datasets.export import as_tables, export_graph
from clgnn.data.datasets.files import data_folder
from clgnn.data.datasets.loading import get, is_here, load
from clgnn.data.datasets.prepare import row_normalise, standardise
from clgnn.data.datasets.reference import reference_nodes
from clgnn.data.datasets.summary import Statistics, statistics

__all__ = [
    "CATALOGUE",
    "FACEBOOK100",
    "DatasetError",
    "Entry",
    "Statistics",
    "as_tables",
    "citations",
    "data_folder",
    "digits",
    "export_graph",
    "find",
    "get",
    "is_here",
    "load",
    "reference_nodes",
    "row_normalise",
    "standardise",
    "statistics",
]
