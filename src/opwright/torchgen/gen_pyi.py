"""Generate the stub files of torch itself; takes the flags of PyTorch's `tools/pyi/gen_pyi.py`.

It writes the same bytes. Run it at the top of a source tree: it reads docstrings from `torch/_torch_docs.py` and
`torch/_tensor_docs.py` in the working folder, as PyTorch's program does. It imports neither module, and not torch."""

from __future__ import annotations

import argparse
import os

from opwright.cli.arguments import Parser, add_drop_in_arguments
from opwright.cli.streams import leave
from opwright.emit.registry import build_folders, program_families
from opwright.torchgen.programs import run_families

# Modules that do the work are imported only if there is work.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from opwright.release.inputs import Inputs


def _parser() -> Parser:
    parser = Parser("python -m opwright.torchgen.gen_pyi", __doc__, last_wins=True)
    add = parser.add_argument
    add(
        "--native-functions-path",
        metavar="NATIVE",
        default="aten/src/ATen/native/native_functions.yaml",
        help="the path of native_functions.yaml",
    )
    add(
        "--tags-path",
        metavar="TAGS",
        default="aten/src/ATen/native/tags.yaml",
        help="the path of tags.yaml",
    )
    add(
        "--deprecated-functions-path",
        metavar="DEPRECATED",
        default="tools/autograd/deprecated.yaml",
        help="the path of deprecated.yaml",
    )
    add("--out", metavar="OUT", default=".", help="output folder; the files go to its folder `torch`")
    add("--template-dir", metavar="FOLDER", default=".", help="the folder whose folder `torch` has the templates")
    add_drop_in_arguments(parser)
    return parser


def _inputs(arguments: argparse.Namespace) -> Inputs:
    from opwright.release.inputs import from_files
    from opwright.release.store import DOCSTRING_MODULES, STUB_TEMPLATES

    files = {name: os.path.join(arguments.template_dir, *name.split("/")) for name in STUB_TEMPLATES}
    files |= {name: os.path.join(*name.split("/")) for name in DOCSTRING_MODULES}
    files["autograd/deprecated.yaml"] = arguments.deprecated_functions_path
    autograd = os.path.dirname(arguments.deprecated_functions_path)
    return from_files(arguments.native_functions_path, arguments.tags_path, autograd, files)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the program and return its exit status."""
    arguments = _parser().parse(argv)
    folders = build_folders(arguments.out, program_families("gen_pyi"))
    return run_families("gen_pyi", arguments, folders=folders, open_inputs=_inputs)


if __name__ == "__main__":
    leave(main)
