"""The four paths that the programs in autograd's folder take, in their order."""

from __future__ import annotations

import argparse
import os


def add_path_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare NATIVE, TAGS, OUT and AUTOGRAD."""
    add = parser.add_argument
    add("native_functions", metavar="NATIVE", help="the path of native_functions.yaml")
    add("tags", metavar="TAGS", help="the path of tags.yaml")
    add("out", metavar="OUT", help="output folder")
    add("autograd", metavar="AUTOGRAD", help="the folder with derivatives.yaml, deprecated.yaml and their templates")


def program_as_named(autograd: str, program: str) -> str:
    """The name that comments give a program in autograd's folder: its path from the parent of PyTorch's generator.

    >>> program_as_named("pytorch/tools/autograd", "gen_autograd.py")
    'tools/autograd/gen_autograd.py'
    >>> program_as_named("site/torchgen/packaged/autograd", "gen_autograd.py")
    'torchgen/packaged/autograd/gen_autograd.py'
    """
    folder, name = os.path.split(os.path.abspath(autograd))
    parent = os.path.basename(folder)
    package = "torchgen/packaged" if parent == "packaged" else parent
    return f"{package}/{name}/{program}"


def templates_as_named(autograd: str) -> str:
    """The name that comments give the folder of autograd's templates: its path from the package of PyTorch's generator.

    >>> templates_as_named("pytorch/tools/autograd"), templates_as_named("site/torchgen/packaged/autograd")
    ('../tools/autograd/templates', 'packaged/autograd/templates')
    """
    folder, name = os.path.split(os.path.abspath(autograd))
    parent = os.path.basename(folder)
    return f"packaged/{name}/templates" if parent == "packaged" else f"../{parent}/{name}/templates"
