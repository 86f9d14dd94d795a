"""Commands as a user would type them, and a small pair of tables to give them."""

from click.testing import CliRunner

from clgnn.cli import main

QUICK = [
    "--epochs",
    "5",
    "--iteration-epochs",
    "5",
    "--iterations",
    "1",
    "--samples",
    "2",
    "--hidden",
    "4",
    "--quiet",
]
TABLES = ["--nodes", "nodes.csv", "--edges", "edges.csv"]
FIT = ["fit", *TABLES, "--label", "colour", "--ignore", "truth", "--ignore", "size", *QUICK]


def call(*arguments, code=0):
    result = CliRunner().invoke(main, [str(a) for a in arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == code, result.output
    return result.output


def refused(*arguments):
    """What an error says: one line, exit code 2."""
    lines = call(*arguments, code=2).strip().splitlines()
    assert lines[-1].startswith("Error: ")
    return lines[-1]
