"""What programs share that read a few small files and write a few.

A program runs twice at most: first with files of the simple kind alone, which needs few imports, and if that does not
suffice, again with the reports of all mistakes.
"""

from __future__ import annotations

from opwright.cli.plain_words import read_words
from opwright.selective.files import QuickFiles
from opwright.source.named_tuple import NamedTuple
from opwright.source.terminal import print_rendered, say_rendered

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from opwright.cli.plain_words import PlainOption, Values
    from opwright.selective.files import Files
    from opwright.source.diagnostic import Diagnostics

__all__ = ["QuickProgram", "Result"]


class Result(NamedTuple):
    """What a program makes: the texts of files by path, and what it prints once they are written."""

    outputs: Mapping[str, str]
    standard_output: str = ""
    standard_error: str = ""


class QuickProgram(NamedTuple):
    """A program: its name below `opwright.torchgen`, its help, its options, and the function that does its work.

    `work` is pure but for reading through the files that it gets: it may be called twice.
    """

    name: str
    description: str
    options: Sequence[PlainOption]
    work: Callable[[Values, Files], Result]
    usage_error: Callable[[Values], str] | None = None
    """What is wrong with values that the options allow one by one; empty if nothing is."""

    def run(self, words: Sequence[str] | None) -> int:
        """Run the program with these words, by default those of the process, and give its exit status."""
        values = read_words(f"python -m opwright.torchgen.{self.name}", self.description, self.options, words)
        error = self.usage_error(values) if self.usage_error is not None else ""
        if error:
            from opwright.cli.arguments import Parser

            Parser(f"python -m opwright.torchgen.{self.name}", self.description).error(error)
        try:
            _finish(self.work(values, QuickFiles()))
        except Exception:
            from opwright.cli import console

            # Whatever it was happens again, and is then reported.
            return console.run(lambda sink: self._report(values, sink))
        return 0

    def _report(self, values: Values, sink: Diagnostics) -> int:
        from opwright.selective.placed_files import PlacedFiles

        result = self.work(values, PlacedFiles(sink))
        sink.raise_if_errors()
        _finish(result)
        return 0


def _finish(result: Result) -> None:
    """Write the files of a program, and print what it has to say."""
    from opwright.files.small_outputs import write_outputs

    if result.outputs:
        write_outputs(result.outputs)
    if result.standard_error:
        say_rendered(result.standard_error)
    if result.standard_output:
        print_rendered(result.standard_output)
