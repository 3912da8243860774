"""Arguments that several programs take."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable

__all__ = ["add_backend_arguments", "add_input_arguments", "ask_whole_download"]


def add_input_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare where the inputs come from: `--torch` or `--source-path`, `--release`, `--yes`."""
    group = parser.add_argument_group("inputs")
    where = group.add_mutually_exclusive_group()
    where.add_argument(
        "--torch",
        metavar="SPEC",
        help="the PyTorch to generate for: `auto` for the one installed in this environment (the default), the path "
        "of a wheel, or a version such as 2.13.0, whose inputs are read from the package index and cached",
    )
    where.add_argument(
        "--source-path",
        metavar="DIR",
        help="a folder of inputs instead: `aten/src/ATen` of a PyTorch source tree, or of the same layout",
    )
    group.add_argument(
        "--release", metavar="VERSION", help="follow the rules of this release, whatever the inputs say of themselves"
    )
    group.add_argument(
        "--yes", action="store_true", help="download a whole wheel without asking where the index sends no parts"
    )


def add_backend_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the flags for optional backends."""
    group = parser.add_argument_group("backends")
    group.add_argument("--rocm", action="store_true", help="read CUDA as ROCm: HIP guards and file names")
    group.add_argument("--mps", action="store_true", help="with kernels for MPS")
    group.add_argument("--xpu", action="store_true", help="with kernels for XPU")
    group.add_argument("--mtia", action="store_true", help="with kernels for MTIA")


def ask_whole_download(arguments: argparse.Namespace) -> Callable[[str, int | None], bool]:
    """Answers whether to download a whole wheel: yes with `--yes`, else as the user says on a terminal, else no."""

    def answer(name: str, size: int | None) -> bool:
        if arguments.yes:
            return True
        if not (sys.stdin.isatty() and sys.stderr.isatty()):
            return False
        shown = f" ({size / 1e6:.0f} MB)" if size else ""
        sys.stderr.write(f"The index sends no parts of files. Download all of {name}{shown}? [y/N] ")
        sys.stderr.flush()
        return sys.stdin.readline().strip().lower() in ("y", "yes")

    return answer
