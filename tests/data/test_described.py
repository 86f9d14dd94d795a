"""How tables are read, in words."""

import pandas as pd

from clgnn.data.columns import DateColumn, NumberColumn
from clgnn.data.described import columns_text, counted, counts_text, edges_text, schema_text
from clgnn.data.tables import Schema

NODES = pd.DataFrame({"id": list("abc"), "age": [1.0, 2.0, None], "topic": ["x", "y", None]})
LINKS = pd.DataFrame({
    "source": list("aabcb"), "target": list("bbacb"), "weight": [1, 2, 3, 4, 5], "since": 2020, "note": "n",
})  # fmt: skip


def test_all_that_happened_to_the_tables_is_told():
    schema = Schema.learn(NODES, "topic", weight="weight")
    links = schema.edges(NODES, LINKS)
    data = schema.graph(NODES, links, "topic")
    assert counts_text(schema, counted(data, links)) == (
        "3 nodes, 1 undirected edges (2 self-loops dropped, 1 duplicate rows added up, 1 pairs given in both "
        "directions), 1 feature columns; 2 known labels."
    )
    assert data.edge_weight.tolist() == [6.0, 6.0]
    assert links.unused == ("since", "note")
    text = schema_text(schema, counted(data, links))
    assert "their weights are 'weight'; not used: since, note." in text
    assert "age     number   mean 1.5, std 0.5, 1 blank" in text


def test_without_a_label_nothing_is_said_of_labels():
    schema = Schema.learn(NODES[["id", "age"]], None)
    links = schema.edges(NODES, LINKS)
    data = schema.graph(NODES, links)
    assert counts_text(schema, counted(data, links)).endswith("1 feature columns.")
    assert columns_text(schema).splitlines()[1:] == [
        "id      ignored  id",
        "age     number   mean 1.5, std 0.5, 1 blank",
    ]


def test_of_many_columns_the_rest_is_counted_by_kind():
    columns = tuple(NumberColumn(f"c{i}", 0.0, 1.0) for i in range(5)) + (DateColumn("day", 0.0, 0.0),)
    lines = columns_text(Schema("id", "", None, columns), shown=3).splitlines()
    assert len(lines) == 5
    assert lines[-1].split() == ["4", "more", "3", "number,", "1", "date"]
    assert columns_text(Schema("id", "", None, columns)).endswith("constant, it says nothing")


def test_directed_edges_without_weights():
    schema = Schema("id", "", None, (), undirected=False, source="from", target="to")
    said = "Edges go from 'from' to 'to' and count in this direction alone; they have no weights."
    assert edges_text(schema) == said
