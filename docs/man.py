"""Writes manual pages, as `man` shows them, from the parsers of the commands: `make man`.

`opwright(1)` lists the commands; each of them has a page: `man opwright-generate`.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from docs.reference import argument_groups, as_blocks, help_text, parser_of, spellings
from opwright import __version__
from opwright.cli.arguments import Parser
from opwright.cli.main import COMMANDS, main

_SECTION: Final = 1


def write_pages(folder: Path) -> list[Path]:
    """Write the page of the program, and one for each command, into the folder `man1`."""
    parsers = {"opwright": parser_of(main, ["--help"])}
    parsers |= {f"opwright-{command}": parser_of(main, [command]) for command in COMMANDS}
    home = folder / f"man{_SECTION}"
    home.mkdir(parents=True, exist_ok=True)
    paths = []
    for name, parser in parsers.items():
        paths.append(home / f"{name}.{_SECTION}")
        paths[-1].write_text("\n".join(_page(name, parser, [other for other in parsers if other != name])) + "\n")
    return paths


def _page(name: str, parser: Parser, others: list[str]) -> Iterator[str]:
    (_, first), *rest = as_blocks(parser.description or "")
    summary = " ".join(first).rstrip(".")
    yield f'.TH "{name.upper()}" "{_SECTION}" "" "opwright {__version__}" "Opwright"'
    yield from (".SH NAME", f"{_text(name)} \\- {_text(summary[0].lower() + summary[1:])}")
    usage = parser.format_usage().splitlines()
    yield from (".SH SYNOPSIS", *_verbatim([line[len("usage: ") :] for line in usage]))
    yield ".SH DESCRIPTION"
    for is_code, lines in rest:
        yield from _verbatim(lines) if is_code else (".PP", *map(_text, lines))
    for title, actions in argument_groups(parser):
        yield f".SH {_text(title).upper()}"
        for action in actions:
            yield from (".TP", f".B {_text(', '.join(spellings(action)))}", _text(help_text(parser, action)))
    yield from (".SH SEE ALSO", ", ".join([f"\\fB{_text(other)}\\fR({_SECTION})" for other in sorted(others)]))


def _verbatim(lines: list[str]) -> Iterator[str]:
    """Lines that are printed as they are."""
    yield from (".PP", ".nf", *map(_text, lines), ".fi")


def _text(text: str) -> str:
    """A text in which nothing is a request of the formatter."""
    escaped = text.replace("\\", "\\e").replace("-", "\\-").replace("`", "")
    return f"\\&{escaped}" if escaped.startswith((".", "'")) else escaped


if __name__ == "__main__":
    written = write_pages(Path(sys.argv[1]))
    print(f"{len(written)} pages: man {written[0]}")
