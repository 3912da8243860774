"""Print the JSON Schema of a kind of input file, or of a document that Opwright writes.

  opwright schema library > library.json
  opwright schema dump              that of what `opwright dump` writes
  opwright schema bindings          that of what `opwright dump --for bindings` writes
  opwright schema diff              that of what `opwright diff --format json` writes
  opwright schema accept            that of what `opwright accept --format json` writes
  opwright schema actions           that of what `opwright generate --describe json` writes

An editor with a YAML language server uses it to complete and to check fields, for instance with this line at the
beginning of a library file:

  # yaml-language-server: $schema=library.json
"""

from __future__ import annotations

import argparse
import json
from importlib import import_module
from typing import Final

from opwright.cli import console
from opwright.cli.arguments import PluginChoices, add_plugin_argument
from opwright.dialects.table import DIALECTS
from opwright.plugins.active import ACTIVE
from opwright.plugins.extra_key_schemas import add_extra_keys
from opwright.source.diagnostic import Diagnostics
from opwright.source.terminal import print_document

#: A document, mostly by the command that writes it -> the module with its schema.
DOCUMENTS: Final = {
    "dump": "opwright.tools.dump.fields",
    "bindings": "opwright.tools.bindings.fields",
    "diff": "opwright.tools.diff.reports",
    "accept": "opwright.libraries.judge.verdict",
    "actions": "opwright.builds.actions.formats",
}


#: The help shows what plug-ins add.
LISTS_PLUGINS: Final = True


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument(
        "dialect",
        choices=PluginChoices(
            lambda: (*described_dialects(), *DOCUMENTS), "if it is an operator: `opwright explain {}` prints its schema"
        ),
        help="the kind of input file, or the command that writes the document",
    )
    add_plugin_argument(parser)


def run(arguments: argparse.Namespace, sink: Diagnostics) -> int:
    """Print the schema."""
    del sink
    print_document(schema_text(arguments.dialect))
    return console.SUCCESS


def described_dialects() -> tuple[str, ...]:
    """Dialects whose files have a JSON Schema, by name."""
    return tuple([dialect.name for dialect in DIALECTS if dialect.has_schema])


def schema_text(name: str) -> str:
    """The JSON Schema of a dialect or of a document as text.

    >>> schema_text("library").splitlines()[1]
    '  "$schema": "https://json-schema.org/draft/2020-12/schema",'
    """
    if name in DOCUMENTS:
        schema = import_module(DOCUMENTS[name]).json_schema()
    else:
        wanted_dialect = next(dialect for dialect in DIALECTS if dialect.name == name).schema()
        schema = None if wanted_dialect is None else add_extra_keys(name, wanted_dialect, ACTIVE.extra_keys)
    return json.dumps(schema, indent=2) + "\n"
