"""What each option of each program does if it is given twice."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

from opwright.cli.arguments import Parser
from opwright.cli.main import COMMANDS
from opwright.cli.streams import add_color_argument

#: The programs of the reference, which Opwright takes the place of. Two values of an option: the last one counts.
TORCHGEN = Path(import_module("opwright.torchgen").__path__[0])
DROP_INS = [
    ".".join(path.relative_to(TORCHGEN).with_suffix("").parts)
    for path in sorted([*TORCHGEN.glob("*.py"), *(TORCHGEN / "executorch").glob("*.py")])
    if "\ndef main(" in path.read_text() and path.stem not in ("install", "run")
]
#: Values of options that take others than parts such as `1/2`.
VALUES = {
    "--actions": ["1", "2"],
    "--current": ["1.4.2", "1.5.0"],
    "--jobs": ["1", "2"],
    "--seconds": ["1", "2"],
    "--seed": ["1", "2"],
    "--target": ["2.10", "2.11"],
    "--project": ["a", "b"],
    "--section": ["schema", "python"],
}


def parser_of(command: str) -> Parser:
    """The parser of a command, as the program makes it."""
    module = import_module(f"opwright.cli.{command if command != 'import' else 'import_library'}")
    parser = Parser(f"opwright {command}", module.__doc__)
    module.add_arguments(parser)
    add_color_argument(parser)
    return parser


def drop_in_parser(program: str, monkeypatch: pytest.MonkeyPatch) -> Parser:
    """The parser of a drop-in program, which is taken from it when it parses."""
    taken: list[Parser] = []

    def parse(self: Parser, words: object) -> argparse.Namespace:
        taken.append(self)
        raise SystemExit(0)

    with monkeypatch.context() as patch:
        patch.setattr(Parser, "parse", parse)
        with pytest.raises(SystemExit):
            import_module(f"opwright.torchgen.{program}").main([])
    return taken[0]


def option_words(parser: argparse.ArgumentParser) -> Iterator[tuple[argparse.Action, list[str], list[str]]]:
    """Each option that takes values, with words that give it a first and a second value."""
    for action in parser._actions:
        if not action.option_strings or action.nargs == 0:
            continue
        name = action.option_strings[-1]
        values = [str(choice) for choice in action.choices or ()][:2] or VALUES.get(name, ["1/2", "2/3"])
        count = action.nargs if isinstance(action.nargs, int) else 1
        yield action, [name, *[values[0]] * count], [name, *[values[-1]] * count]


def parsed(parser: argparse.ArgumentParser, words: list[str], needed: list[str]) -> argparse.Namespace:
    """The arguments of a line; options that need others, and positional arguments, get values."""
    line = [*needed, *words]
    return parser.parse(line) if isinstance(parser, Parser) else parser.parse_args(line)


def needed_words(parser: argparse.ArgumentParser, action: argparse.Action) -> list[str]:
    """Words for the arguments that each line has to have, besides one of them."""
    words = []
    for other in parser._actions:
        if other.required and other is not action:
            value = str(next(iter(other.choices))) if other.choices else "value"
            words += [other.option_strings[-1], value] if other.option_strings else [value]
    return words


@pytest.mark.parametrize("command", [*COMMANDS])
def test_options_are_merged_or_refused(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Two values of an option of `opwright` both count, or are an error that names the option."""
    parser = parser_of(command)
    for action, first, second in option_words(parser):
        needed = needed_words(parser, action)
        once = getattr(parsed(parser, first, needed), action.dest)
        try:
            both = getattr(parsed(parser, [*first, *second], needed), action.dest)
        except SystemExit:
            error = capsys.readouterr().err
            assert "given twice, and takes one value" in error, first
            assert first[0] in error
        else:
            assert isinstance(both, list), first
            if action.nargs == argparse.REMAINDER:
                # All words behind it are those of a command, which may have an option of the same name.
                assert both == [*first[1:], *second]
                continue
            assert len(both) == len(once) + len(second) - 1, first


@pytest.mark.parametrize("program", DROP_INS)
def test_the_last_value_counts_in_drop_in_programs(program: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Programs of the reference take the last value, as `argparse` does with the options of the reference."""
    parser = drop_in_parser(program, monkeypatch)
    plain = argparse.ArgumentParser()
    plain.set_defaults(**parser._defaults)
    for action in parser._actions[1:]:
        plain._add_action(action)
    for action, first, second in option_words(parser):
        needed = needed_words(parser, action)
        mine = parsed(parser, [*first, *second], needed)
        assert vars(mine) == vars(parsed(plain, [*first, *second], needed))
        if not isinstance(getattr(mine, action.dest), list):
            assert getattr(mine, action.dest) == getattr(parsed(parser, second, needed), action.dest)


def test_values_are_counted_for_each_line() -> None:
    """A parser that parses two lines takes the value of each."""
    parser = Parser("program", None)
    parser.add_argument("--out", type=Path)
    assert [parser.parse(["--out", name]).out for name in ("a", "b")] == [Path("a"), Path("b")]
