"""``clgnn theory``: the paper's statements, computed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.text import Text

from clgnn.cli.options import console

if TYPE_CHECKING:
    from clgnn.theory import Statement


@click.command()
@click.option("--seed", type=click.IntRange(min=0), default=0, help="Draw the random weights from this seed.")
@click.option("--figure", "path", type=click.Path(dir_okay=False, path_type=Path),
              help="Draw the graphs, by 1-WL class and by CL representation, to a new .svg, .png or .pdf "
              "file.")  # fmt: skip
@click.option("--force", is_flag=True, help="Replace a figure that is there.")
@click.pass_context
def theory(context: click.Context, seed: int, path: Path | None, force: bool) -> None:
    """Compute the statements of the paper's theory, and print one line for each.

    Collective learning (CL) is compared with the GNN alone (WL-GNN), a GIN with random weights. A gap is the
    largest difference between the outputs of nodes. Exits with 1 if a statement does not hold.
    """
    from clgnn.theory import figure, statements

    if path is not None:
        figure.check(path, force)
    hold = True
    for statement in statements(seed=seed):
        console.print(_line(statement), soft_wrap=True)
        hold &= statement.holds
    if path is not None:
        figure.write(path, seed=seed, force=force)
        console.print(f"figure: {path}", soft_wrap=True)
    if not hold:
        context.exit(1)


def _line(statement: Statement) -> Text:
    line = Text("holds           " if statement.holds else "does not hold   ")
    line.stylize("green" if statement.holds else "bold red")
    line.append(f"{statement.name:<29}", style="bold")
    line.append(f"{statement.claim}: ", style="default")
    computed = (f"{name} {_number(value)}" for name, value in statement.computed.items())
    return line.append("; ".join(computed), style="default")


def _number(value: float | int | str) -> str:
    return f"{value:.2g}" if isinstance(value, float) else str(value)
