"""Help and mistakes are answered at once: nothing heavy is imported for them."""

import subprocess
import sys

import pytest

from helpers.commands import call

HEAVY = ("torch", "torch_geometric", "pandas", "sklearn", "scipy", "numpy", "matplotlib", "statsmodels")
COMMANDS = ("run", "schema", "fit", "predict", "evaluate", "datasets", "theory", "report", "reproduce")
LOOK = """
import sys
from clgnn.cli import main
try:
    main(sys.argv[1:], prog_name="clgnn")
except SystemExit:
    pass
print("imported:", *sorted(set(sys.modules) & set({heavy!r})))
"""


def imported(*arguments: str) -> list[str]:
    script = LOOK.format(heavy=HEAVY)
    ran = subprocess.run(
        [sys.executable, "-c", script, *arguments], capture_output=True, text=True, check=True
    )
    return ran.stdout.splitlines()[-1].split()[1:]


@pytest.mark.parametrize(
    "arguments",
    [["--help"], ["--version"], ["--halp"], ["ftt"], *([name, "--help"] for name in COMMANDS)],
    ids=" ".join,
)
def test_help_imports_nothing_heavy(arguments):
    assert imported(*arguments) == []


@pytest.mark.parametrize("name", COMMANDS)
def test_a_mistyped_option_imports_nothing_heavy(name):
    assert imported(name, "--no-such-option") == []


def test_the_package_is_lazy():
    script = f"import sys, clgnn; print(*sorted(set(sys.modules) & set({HEAVY!r})))"
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert ran.stdout.split() == []


def test_help_of_every_command():
    for command in ([], *([name] for name in COMMANDS)):
        assert "Usage:" in call(*command, "--help")
    assert "clgnn, version" in call("--version")


def test_the_options_of_fit_are_grouped():
    text = call("fit", "--help")
    groups = [
        "Tables:",
        "Columns:",
        "The model:",
        "Collective learning:",
        "The GNN:",
        "Training:",
        "Running:",
    ]
    places = [text.index(f"\n{group}") for group in groups]
    assert len(set(places)) == len(groups)
    assert text.index("Collective learning:") < text.index("--samples")
