"""``clgnn datasets``: what there is, what it looks like, and how to get it."""

from __future__ import annotations

from pathlib import Path

import click
from rich.table import Table
from rich.text import Text

from clgnn.cli.options import console
from clgnn.cli.tables import check_table, write_tables

_BAR = 40  # the width of the largest class, in characters

root_option = click.option(
    "--root",
    type=click.Path(file_okay=False, path_type=Path),
    help="Look for the raw files in this folder.  [default: $CLGNN_DATA, else the cache folder]",
)


@click.group(invoke_without_command=True)
@root_option
@click.pass_context
def datasets(context: click.Context, root: Path | None) -> None:
    """List the datasets, show one, fetch its files, or write it as tables."""
    context.obj = root
    if context.invoked_subcommand is None:
        _list(root)


@datasets.command()
@click.argument("name")
@root_option
@click.pass_obj
def info(group_root: Path | None, name: str, root: Path | None) -> None:
    """Show the classes, the homophily and the degrees of a dataset."""
    from clgnn.data.datasets import find, load, statistics

    root = root or group_root
    entry, numbers = find(name), statistics(load(name, root))
    table = Table(title=entry.name, title_justify="left", show_header=False, box=None, pad_edge=False)
    table.add_column(style="bold")
    table.add_column(overflow="fold")
    table.add_row("about", entry.about)
    table.add_row("source", entry.source)
    if numbers.graphs > 1:
        table.add_row("graphs", f"{numbers.graphs:,}")
    table.add_row("nodes", f"{numbers.nodes:,}")
    table.add_row("edges", f"{numbers.edges:,}")
    table.add_row("features", f"{numbers.features:,}")
    table.add_row("labelled", f"{numbers.labelled:,}")
    if numbers.homophily is not None:
        table.add_row("homophily", f"{numbers.homophily:.3f}")
    table.add_row("degree", f"mean {numbers.mean_degree:.2f}, largest {numbers.max_degree:,}")
    table.add_row("isolated", f"{numbers.isolated:,}")
    table.add_row("components", f"{numbers.components:,}")
    console.print(table)
    console.print()
    console.print(_balance(numbers.classes, "#" if console.options.ascii_only else "█"))


@datasets.command(name="get")
@click.argument("names", nargs=-1, required=True, metavar="NAME...")
@root_option
@click.pass_obj
def get_(group_root: Path | None, names: tuple[str, ...], root: Path | None) -> None:
    """Fetch the files of datasets that are not here, and check those that are."""
    from clgnn.data.datasets import data_folder, find, get

    root = root or group_root
    for entry in [find(name) for name in names]:
        new = get(entry.name, root)
        if not entry.files:
            click.echo(f"{entry.name}: embedded, there is nothing to fetch")
        elif new:
            click.echo(f"{entry.name}: fetched {', '.join(file.name for file in new)} to {data_folder(root)}")
        else:
            click.echo(f"{entry.name}: here and intact in {data_folder(root)}")


@datasets.command()
@click.argument("name")
@click.option("--nodes", type=click.Path(path_type=Path), help="Write the nodes to this file.")
@click.option("--edges", type=click.Path(path_type=Path), help="Write the edges to this file.")
@click.option(
    "--graph", type=click.Path(path_type=Path), help="Or write both to this folder, a graph on disk."
)
@root_option
@click.pass_obj
def export(
    group_root: Path | None,
    name: str,
    nodes: Path | None,
    edges: Path | None,
    graph: Path | None,
    root: Path | None,
) -> None:
    """Write a dataset as two tables, CSV or Parquet, or as a graph on disk, such as `clgnn fit` reads."""
    from clgnn.data.datasets import as_tables, export_graph, load

    if graph is not None:
        if nodes is not None or edges is not None:
            raise ValueError("--graph and tables are given; expected --graph, or --nodes and --edges")
        if graph.exists():
            raise ValueError(f"--graph {graph} exists; choose another name, or remove it")
        written = export_graph(load(name, root or group_root), graph)
        click.echo(f"{written.num_nodes:,} nodes and {written.num_edges:,} directed edges in {graph}")
        return
    for option, path in (("--nodes", nodes), ("--edges", edges)):
        if path is None:
            raise click.MissingParameter(
                ctx=click.get_current_context(), param_hint=f"'{option}'", param_type="option"
            )
        check_table(path, force=False)
    assert nodes is not None
    assert edges is not None
    tables = as_tables(load(name, root or group_root))
    for path, table in zip((nodes, edges), tables, strict=True):
        write_tables([table], path)
    click.echo(f"{len(tables[0]):,} nodes in {nodes}, {len(tables[1]):,} edges in {edges}")


def _list(root: Path | None) -> None:
    """Prints a table with one row per dataset."""
    from clgnn.data.datasets import CATALOGUE, data_folder, is_here

    table = Table(box=None, pad_edge=False)
    table.add_column("dataset", style="bold", no_wrap=True)
    for column in ("graphs", "nodes", "edges", "features", "classes"):
        table.add_column(column, justify="right", no_wrap=True)
    table.add_column("here", no_wrap=True)
    for entry in CATALOGUE.values():
        numbers = (entry.graphs, entry.nodes, entry.edges, entry.features, entry.classes)
        counts = ("?" if number is None else f"{number:,}" for number in numbers)
        here = Text("yes", "green") if is_here(entry.name, root) else Text("no", "yellow")
        table.add_row(entry.name, *counts, here)
    console.print(table)
    console.print(f"\nfolder: {data_folder(root)}", soft_wrap=True)


def _balance(classes: tuple[int, ...], block: str) -> Table:
    """A table with one bar per class."""
    table = Table(box=None, pad_edge=False)
    table.add_column("class", justify="right")
    table.add_column("labels", justify="right")
    table.add_column("share", justify="right")
    table.add_column("")
    for number, count in enumerate(classes):
        bar = block * max(round(_BAR * count / max(classes)), 1 if count else 0)
        table.add_row(str(number), f"{count:,}", f"{count / sum(classes):.1%}", bar)
    return table
