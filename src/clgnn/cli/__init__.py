"""The command line; the only place that prints."""

from __future__ import annotations

import warnings
from typing import Any, NoReturn

import click

from clgnn import __version__
from clgnn.cli.compare import compare
from clgnn.cli.datasets import datasets
from clgnn.cli.explain import explain
from clgnn.cli.fit import fit
from clgnn.cli.options import OPTION_OF, Refused
from clgnn.cli.predict import evaluate, predict
from clgnn.cli.prepare import prepare
from clgnn.cli.report import report
from clgnn.cli.reproduce import reproduce
from clgnn.cli.run import run
from clgnn.cli.schema import schema
from clgnn.cli.theory import theory
from clgnn.cli.tune import tune

CONTEXT = {"help_option_names": ["-h", "--help"], "show_default": True, "max_content_width": 100}


class Commands(click.Group):
    """Commands whose wrong input ends in one clear line and exit code 2."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        try:
            return super().parse_args(ctx, args)
        except click.exceptions.NoArgsIsHelpError:
            raise
        except click.UsageError as error:
            _refuse(error)

    def invoke(self, ctx: click.Context) -> object:
        try:
            with warnings.catch_warnings():
                warnings.showwarning = _show_warning
                return super().invoke(ctx)
        except (click.exceptions.Exit, click.Abort):
            raise
        except click.UsageError as error:
            _refuse(error)
        except (ValueError, OSError) as error:
            name, said, rest = str(error).partition(" is ")
            raise Refused(f"{OPTION_OF.get(name, name)}{said}{rest}") from error
        except MemoryError as error:
            raise Refused(
                "there is not enough memory; lower --memory-budget, --samples or --hidden"
            ) from error
        except RuntimeError as error:  # of torch, or of a GNN of the user's own
            first = (str(error) or type(error).__name__).splitlines()[0]
            raise Refused(f"it could not be computed: {first}") from error


def _refuse(error: click.UsageError) -> NoReturn:
    """A wrong option in one line, with the command whose help shows the right ones."""
    path = "clgnn" if error.ctx is None else error.ctx.command_path
    raise Refused(f"{error.format_message().rstrip('.')}; see `{path} --help`") from error


def _show_warning(message: Warning | str, *place: Any, **named: Any) -> None:
    """A warning in one line, without the place in the code."""
    click.echo(f"Warning: {' '.join(str(message).split()).rstrip('.')}.", err=True)


@click.group(cls=Commands, context_settings=CONTEXT)
@click.version_option(__version__, prog_name="clgnn")
def main() -> None:
    """Collective learning: boosts any graph neural network on partially labelled graphs."""


for command in (
    run,
    compare,
    tune,
    schema,
    prepare,
    fit,
    predict,
    evaluate,
    explain,
    datasets,
    theory,
    report,
    reproduce,
):
    main.add_command(command)
