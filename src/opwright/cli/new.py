"""Write a project to start from.

  opwright new library acme_ops                 an operator library, in the new folder acme_ops
  opwright new library acme_ops .               in this folder, or in any other one
  opwright new library acme_ops --cuda          with kernels for CUDA, and for the CPU
  opwright new library acme_ops --frameworks torch,jax,tvm_ffi   one kernel for several frameworks
  opwright new backend acme projects/acme       a backend: a device in the memory of the host, with its kernels
  opwright new kernel acme-ops projects/acme    operators for the Hugging Face Hub, which kernel-builder builds

For a backend whose sources register kernels already, `opwright import csrc --backend --out acme.yaml` writes the file.
The project builds and passes its tests; its README.md has the two commands."""

from __future__ import annotations

import argparse
import os
import shlex
from typing import Final

from opwright.cli import console
from opwright.libraries import library_codes
from opwright.libraries.dialect.head import FRAMEWORKS
from opwright.libraries.extension.project import taken_package, write_project
from opwright.source.diagnostic import Diagnostics
from opwright.source.terminal import tell

#: The commands that build and test projects that pip does not build.
_COMMANDS: Final = {
    "kernel": "  opwright generate --library operators.yaml --layout kernel --out .\n  kernel-builder build",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    kinds = ("library", "backend", "kernel")
    parser.add_argument("kind", metavar="KIND", choices=kinds, help="`library`, `backend`, or `kernel`")
    parser.add_argument("name", metavar="NAME", help="the name of the library or of the device")
    parser.add_argument("folder", metavar="DIR", nargs="?", help="the folder, made if there is none (default: NAME)")
    parser.add_argument("--cuda", action="store_true", help="kernels for CUDA too, in a library")
    parser.add_argument("--frameworks", metavar="LIST", help="those that call the kernels of a library: `torch,jax`")
    parser.add_argument("--force", action="store_true", help="replace files that the folder has")


def run(arguments: argparse.Namespace, sink: Diagnostics) -> int:
    """Write the project, and print its files and the next commands."""
    kind, force, cuda = arguments.kind, arguments.force, arguments.cuda
    if cuda and kind != "library":
        return console.refuse("new", f"`--cuda` is for a library, not for a {kind}")
    frameworks = tuple(dict.fromkeys(arguments.frameworks.split(","))) if arguments.frameworks is not None else ()
    unknown = [name for name in frameworks if name not in FRAMEWORKS]
    if unknown:
        return console.refuse("new", f"there is no framework `{unknown[0]}`: there are {', '.join(FRAMEWORKS)}")
    if frameworks and (cuda or kind != "library"):
        return console.refuse("new", "`--frameworks` is for a library without `--cuda`")
    folder = arguments.name if arguments.folder is None else arguments.folder
    for path in write_project(kind, arguments.name, folder, force=force, cuda=cuda, frameworks=frameworks):
        tell(os.path.normpath(path))
    if kind == "backend" and (package := taken_package(arguments.name)):
        message = f"the package of the device `{arguments.name}` is `{package}`, which is another package"
        sink.warning(
            library_codes.TAKEN_PACKAGE, message, None, help=f"choose another name, such as `my{arguments.name}`"
        )
    tell("", "Build it and test it:", "")
    if folder != ".":
        tell(f"  {shlex.join(['cd', folder])}")
    tell(*_COMMANDS.get(arguments.kind, "  pip install --no-build-isolation -e .\n  pytest").split("\n"))
    return console.SUCCESS
