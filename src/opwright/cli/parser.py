"""The parser of command lines, shared by all programs."""

from __future__ import annotations

import argparse
import os
import sys

from opwright.cli.streams import say
from opwright.source.patterns import lazy_pattern

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import NoReturn

__all__ = ["LateChoices", "Parser", "terminal_columns"]

_COLUMNS = 80
_INVALID_CHOICE = lazy_pattern(r"argument (.+): invalid choice: (['\"])(.*?)\2")


class LateChoices:
    """Choices to which plug-ins add: any word is accepted until `Parser.check_choices`, when the plug-ins are active.

    >>> choices = LateChoices(lambda: ("headers", "sources"))
    >>> "lists" in choices, list(choices)
    (True, ['headers', 'sources'])
    """

    def __init__(self, names: Callable[[], Iterable[str]]) -> None:
        self._names = names

    def __contains__(self, name: object) -> bool:
        return True

    def __iter__(self) -> Iterator[str]:
        return iter(self._names())


class _Formatter(argparse.RawDescriptionHelpFormatter):
    """Help as wide as the terminal.

    `argparse` asks for the width with every argument that is declared, by way of `shutil`, whose import takes longer
    than many a run with nothing to do.
    """

    def __init__(self, prog: str) -> None:
        super().__init__(prog, width=terminal_columns() - 2)


class Parser(argparse.ArgumentParser):
    """A parser whose help keeps the line breaks of its description, and whose short errors suggest what was meant."""

    def __init__(self, prog: str, description: str | None) -> None:
        super().__init__(prog=prog, description=description, formatter_class=_Formatter)
        self._words: list[str] = []

    def parse(self, words: Sequence[str] | None) -> argparse.Namespace:
        """Parse these words, by default those of the process; end the process if they are wrong.

        As `parse_args`, but what is wrong with the words is told with all of them in view.
        """
        self._words = sys.argv[1:] if words is None else list(words)
        return self.parse_args(self._words)

    def _late_values(self, arguments: argparse.Namespace) -> Iterator[tuple[argparse.Action, str]]:
        """The values of arguments to whose choices plug-ins add."""
        for action in self._actions:
            if isinstance(action.choices, LateChoices):
                value = getattr(arguments, action.dest)
                for name in value if isinstance(value, list) else [value] if value is not None else []:
                    yield action, name

    def late_names(self, arguments: argparse.Namespace) -> set[str]:
        """The values of arguments to whose choices plug-ins add."""
        return {name for _, name in self._late_values(arguments)}

    def wrong_choices(self, arguments: argparse.Namespace) -> list[tuple[argparse.Action, str]]:
        """Those of them that are no choices."""
        values = self._late_values(arguments)
        return [(action, name) for action, name in values if name not in list(action.choices or ())]

    def check_choices(self, arguments: argparse.Namespace) -> None:
        """End the process if one of them is no choice."""
        for action, name in self.wrong_choices(arguments):
            listed = ", ".join(map(repr, action.choices or ()))
            self.error(f"argument {_shown_name(action)}: invalid choice: {name!r} (choose from {listed})")

    def error(self, message: str) -> NoReturn:
        """Print what is wrong with the arguments, what may be meant, and how to get help; end the process."""
        lines = [f"{self.prog}: error: {message}", *self._suggestions(message)]
        self.exit(2, "\n".join([*lines, f"`{self.prog} --help` lists all arguments", ""]))

    def exit(self, status: int = 0, message: str | None = None) -> NoReturn:
        """End the process with a status, also if standard error does not take the message."""
        # Up to Python 3.10, `argparse` lets the error of a full disk replace the status.
        say(message or "")
        raise SystemExit(status)

    def _suggestions(self, message: str) -> Iterator[str]:
        from opwright.source.diagnostic import did_you_mean

        options = list(self._option_string_actions)
        for word in self._words:
            name = word.partition("=")[0]
            # Numbers, a lone dash and words after `--` are values; abbreviated options are options.
            if name == "--":
                break
            if name.startswith("--") and not any(option.startswith(name) for option in options):
                hint = did_you_mean(name, options)
                if hint:
                    yield f"  `{name}`: {hint}"
        wrong = _INVALID_CHOICE.search(message)
        for action in self._actions if wrong is not None else ():
            if wrong is not None and wrong.group(1) == _shown_name(action):
                hint = did_you_mean(wrong.group(3), map(str, action.choices or ()))
                if hint:
                    yield f"  {hint}"


def _shown_name(action: argparse.Action) -> str:
    """The name of an argument in messages of `argparse`."""
    return "/".join(action.option_strings) or str(action.metavar or action.dest)


def terminal_columns() -> int:
    """The width of the terminal: from COLUMNS, else from the system, else the default."""
    setting = os.environ.get("COLUMNS", "")
    if setting.isascii() and setting.isdigit() and len(setting) < 6 and int(setting) > 0:
        return int(setting)
    try:
        return os.get_terminal_size(sys.__stdout__.fileno()).columns if sys.__stdout__ is not None else _COLUMNS
    except (OSError, ValueError):
        return _COLUMNS
