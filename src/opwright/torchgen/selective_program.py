"""What the programs for selective builds share: they read a few small files, and write a few."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence

from opwright.cli import console
from opwright.cli.arguments import Parser
from opwright.mobile.selective.files import Files
from opwright.mobile.selective.small_outputs import write_outputs
from opwright.source.diagnostic import Diagnostics
from opwright.source.records import NamedTuple, frozen_fields
from opwright.source.terminal import print_document, say


class Result(NamedTuple):
    """What a program makes: the texts of files by path, and what it prints once they are written."""

    outputs: Mapping[str, str]
    standard_output: str = ""
    standard_error: str = ""


def run_program(work: Callable[[Files], Result]) -> int:
    """Write and print what `work` makes of the files that it reads, unless it has mistakes; gives the exit status."""

    def run(sink: Diagnostics) -> int:
        result = work(Files(sink))
        sink.raise_if_errors()
        write_outputs(result.outputs)
        if result.standard_error:
            say(result.standard_error)
        if result.standard_output:
            print_document(result.standard_output)
        return console.SUCCESS

    return console.run(run)


@frozen_fields
class Program:
    """A program, whose arguments `declare` adds by the `add_argument` of a parser."""

    name: str
    description: str | None
    declare: Callable[[Callable[..., object]], None]
    work: Callable[[argparse.Namespace, Files], Result]

    def __call__(self, argv: Sequence[str] | None = None) -> int:
        """Run the program and return its exit status."""
        parser = Parser(f"python -m opwright.torchgen.{self.name}", self.description, last_wins=True)
        self.declare(parser.add_argument)
        arguments = parser.parse(argv)
        return run_program(lambda files: self.work(arguments, files))
