"""``clgnn schema``: how tables are read, without training."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from clgnn.cli.hetero import learn_hetero, several_types
from clgnn.cli.options import GroupedCommand, console, option, print_json
from clgnn.cli.tables import (
    counts_json,
    feature_options,
    label_option,
    learn_schema,
    read_schema,
    show_tables,
    table_options,
)

if TYPE_CHECKING:
    from clgnn.data.tables import Schema


@click.command(cls=GroupedCommand)
@table_options(fitting=True, required=False)
@label_option("Take the labels from this column; a blank is unknown.")
@feature_options
@option("--undirected/--directed", default=True, group="Columns", help="Count edges in both directions.")
@option("--split", group="Columns", help="This column says train, val, test and observed; it is no feature.")
@option("--task", default="auto", type=click.Choice(["auto", "classification", "regression"]),
        group="Columns",
        help="Predict classes or numbers; auto: numbers, if the labels have fractions.")  # fmt: skip
@option("--model", type=click.Path(), group="The model", help="Show how the model in this folder reads "
        "tables; give no tables then.")  # fmt: skip
@option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def schema(label: str | tuple[str, ...] | None, model: str | None, as_json: bool, **options: Any) -> None:
    """Show how tables are read, and what is dropped, without training.

    It is what `clgnn fit` prints before it trains, for the same options.
    """
    tables = [name for name in ("nodes", "edges") if options[name] is not None]
    if model is not None:
        if tables:
            raise ValueError(f"--model and --{tables[0]} are given; expected a model, or --nodes and --edges")
        _show_model(model, as_json)
        return
    if len(tables) < 2:
        alone = f"--{tables[0]} alone is given" if tables else "nothing is given"
        raise ValueError(f"{alone}; expected --nodes and --edges, or --model")
    from clgnn.data.described import counted

    nodes, edges, found = (learn_hetero if several_types(options) else learn_schema)(label, options)
    links = found.edges(nodes, edges)
    counts = counted(found.graph(nodes, links, label), links)
    if as_json:
        print_json({**_as_json(found), **counts_json(found, counts)})
    else:
        show_tables(found, counts)


def _show_model(model: str, as_json: bool) -> None:
    from clgnn.data.described import columns_text, edges_text
    from clgnn.estimators import persistence

    found = read_schema(model, persistence.read(model))
    if as_json:
        print_json(_as_json(found))
        return
    for text in (columns_text(found), edges_text(found)):
        console.print(text, soft_wrap=True)


def _as_json(schema: Schema) -> dict[str, Any]:
    columns = [dict(zip(("column", "read_as", "detail"), row, strict=True)) for row in schema.describe()]
    edges = {name: getattr(schema, name) for name in ("source", "target", "weight", "undirected")}
    label = list(schema.several) or schema.label or None
    return {"columns": columns, "label": label, "classes": schema.classes, "edges": edges}
