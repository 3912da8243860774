"""The drop-in programs take the flags of PyTorch's programs, in each spelling and with the same defaults."""

from __future__ import annotations

import argparse
from importlib import import_module
from pathlib import Path

import pytest


class _Declared(Exception):
    """Raised in place of parsing, with the parser."""


def declared(module: str, patch: pytest.MonkeyPatch) -> dict[str, argparse.Action]:
    """The arguments of a program, by their spellings."""

    def stop(parser: argparse.ArgumentParser, *_: object) -> None:
        raise _Declared(parser)

    with patch.context() as inside:
        inside.setattr(argparse.ArgumentParser, "parse_args", stop)
        with pytest.raises(_Declared) as caught:
            import_module(module).main()
    parser: argparse.ArgumentParser = caught.value.args[0]
    return {name: action for action in parser._actions for name in action.option_strings or [action.dest]}


def facts(action: argparse.Action) -> dict[str, object]:
    """What an argument does."""
    default = str(action.default) if isinstance(action.default, Path) else action.default
    return {
        "kind": type(action).__name__,
        "nargs": action.nargs,
        "default": default or None,
        "choices": None if action.choices is None else sorted(action.choices),
    }


@pytest.mark.parametrize("module", ["gen", "gen_backend_stubs", "gen_lazy_tensor"])
def test_flags_are_those_of_pytorch(module: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Programs of the installed PyTorch and Opwright's."""
    own = declared(f"opwright.torchgen.{module}", monkeypatch)
    for name, action in declared(f"torchgen.{module}", monkeypatch).items():
        if "has no effect" not in str(own[name].help):
            assert facts(own[name]) == facts(action), name
