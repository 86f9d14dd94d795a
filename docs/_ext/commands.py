"""``.. commands::`` writes what ``clgnn COMMAND --help`` prints, a section for each command."""

import click
from docutils import nodes
from docutils.parsers.rst import Directive
from sphinx.application import Sphinx
from sphinx.util.typing import ExtensionMetadata

from clgnn.cli import CONTEXT, main


def sections(group: click.Group, path: str) -> list[nodes.section]:
    found = []
    for name, command in sorted(group.commands.items()):
        title = f"{path} {name}"
        context = click.Context(command, info_name=title, **(CONTEXT | {"terminal_width": 100}))
        section = nodes.section(ids=[title.replace(" ", "-")])
        section += nodes.title(text=title)
        text = command.get_help(context)
        section += nodes.literal_block(text, text, language="text")
        if isinstance(command, click.Group):
            section += sections(command, title)
        found.append(section)
    return found


class Commands(Directive):
    def run(self) -> list[nodes.Node]:
        assert isinstance(main, click.Group)
        return [*sections(main, "clgnn")]


def setup(app: Sphinx) -> ExtensionMetadata:
    app.add_directive("commands", Commands)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
