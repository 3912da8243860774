"""Arguments of commands about their inputs, and the inputs that these name."""

from __future__ import annotations

import argparse
import sys

from opwright.cli.arguments import not_empty, repeated
from opwright.source.terminal import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from opwright.release.view import Inputs
    from opwright.source.diagnostic import Diagnostics


def add_allow_path_argument(parser: argparse.ArgumentParser) -> None:
    """Declare `--allow-path`."""
    repeated(parser)(
        "--allow-path",
        metavar="PATH",
        help="let the heads of files name this file, or the files of this folder, although it is outside of their "
        "project (may be repeated)",
        type=not_empty,
    )


def open_named_inputs(
    arguments: argparse.Namespace,
    sink: Diagnostics | None = None,
    torch: str | None = None,
    *,
    are_operators: bool = False,
) -> Inputs:
    """Inputs that the arguments name; `torch` replaces `--torch`.

    With `are_operators`, the command reads operators alone, and nothing else is lent to a folder.
    """
    from opwright.release.inputs import open_inputs

    inputs = open_inputs(
        torch or arguments.torch,
        arguments.source_path,
        ask_whole=ask_whole_download(arguments),
        require_hashes=arguments.require_hashes,
        sink=sink,
    )
    if arguments.source_path is not None and sink is not None:
        inputs = completed_inputs(arguments, inputs, sink, autograd=not are_operators, shims=not are_operators)
    return inputs.with_native_aot(arguments.native_aot_ops_dir, sink)


def completed_inputs(
    arguments: argparse.Namespace, inputs: Inputs, sink: Diagnostics, *, autograd: bool = True, shims: bool = True
) -> Inputs:
    """Inputs with what their folder lacks from the installed PyTorch, unless the arguments say that it has all.

    `autograd` tells whether the program reads the inputs of autograd from that folder, and `shims` whether it reads the
    operators with a C shim.
    """
    asked = vars(arguments)
    if any(asked.get(name) for name in ("hermetic", "declared", "describe", "inputs_only")):
        return inputs
    from opwright.release.lent import with_installed

    strict = bool(asked.get("strict"))
    return with_installed(inputs, sink, release=asked.get("release"), strict=strict, autograd=autograd, shims=shims)


def ask_whole_download(arguments: argparse.Namespace) -> Callable[[str, int | None], bool]:
    """A function that decides whether to download a whole wheel: by `--yes`, else it asks on a terminal, else no."""

    def answer(name: str, size: int | None) -> bool:
        if arguments.yes:
            return True
        if not (sys.stdin.isatty() and sys.stderr.isatty()):
            return False
        shown = f" ({size / 1e6:.0f} MB)" if size else ""
        say(f"The index cannot send parts of files. Download all of {name}{shown}? [y/N] ")
        sys.stderr.flush()
        return sys.stdin.readline().strip().lower() in ("y", "yes")

    return answer
