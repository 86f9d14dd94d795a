"""The command line; the only place that prints."""

from __future__ import annotations

import click

from clgnn import __version__
from clgnn.cli.datasets import datasets
from clgnn.cli.fit import fit
from clgnn.cli.options import OPTION_OF, Refused
from clgnn.cli.predict import evaluate, predict
from clgnn.cli.report import report
from clgnn.cli.reproduce import reproduce
from clgnn.cli.run import run
from clgnn.cli.theory import theory

CONTEXT = {"help_option_names": ["-h", "--help"], "show_default": True, "max_content_width": 100}


class Commands(click.Group):
    """Commands whose wrong input ends in one clear line and exit code 2."""

    def invoke(self, ctx: click.Context) -> object:
        try:
            return super().invoke(ctx)
        except (click.exceptions.Exit, click.Abort):
            raise
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


@click.group(cls=Commands, context_settings=CONTEXT)
@click.version_option(__version__, prog_name="clgnn")
def main() -> None:
    """Collective learning: boosts any graph neural network on partially labelled graphs."""


for command in (run, fit, predict, evaluate, datasets, theory, report, reproduce):
    main.add_command(command)
