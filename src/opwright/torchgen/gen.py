"""Generate ATen's files; takes the flags of `python -m torchgen.gen` and writes the same bytes."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from typing import Final

from opwright.build.depfile import write_dependency_lists
from opwright.cli import console
from opwright.cli.arguments import add_backend_arguments, add_selection_arguments, options, selection
from opwright.generation import Generation, Request
from opwright.release.inputs import from_source_path
from opwright.source.diagnostic import Diagnostics

#: What `--generate` may name, which are families of emitters.
_FAMILIES: Final = ("headers", "sources", "declarations_yaml")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m opwright.torchgen.gen", description=__doc__)
    add = parser.add_argument
    add("-s", "--source-path", default="aten/src/ATen", metavar="DIR", help="the folder of ATen's inputs")
    add("-o", "--output-dependencies", metavar="FILE", help="write lists of the output files, for CMake")
    add("--dry-run", action="store_true", help="write nothing (but the lists)")
    add("--per-operator-headers", action="store_true", help="headers per operator, in `ops` of the install folder")
    add("-d", "--install-dir", "--install_dir", default="build/aten/src/ATen", metavar="DIR", help="output folder")
    add(
        "--aoti-install-dir",
        "--aoti_install_dir",
        default="torch/csrc/inductor/aoti_torch/generated",
        metavar="DIR",
        help="output folder for AOTInductor's C shims",
    )
    add("--headeronly-install-dir", "--headeronly_install_dir", metavar="DIR", help="output folder of enum_tag.h")
    add("--generate", nargs="*", choices=_FAMILIES, default=list(_FAMILIES), help="which kinds of files")
    add_backend_arguments(parser)
    add_selection_arguments(parser)
    return parser


def _folders(arguments: argparse.Namespace) -> dict[str, str]:
    install: str = arguments.install_dir
    header_only: str | None = arguments.headeronly_install_dir
    if header_only is None:
        header_only = os.path.join(install, "core") if install else "build/torch/headeronly/core"
    return {
        "aten": install,
        "ops": f"{install}/ops",
        "core": f"{install}/core",
        "headeronly": header_only,
        "aoti": arguments.aoti_install_dir,
    }


def _run(arguments: argparse.Namespace, sink: Diagnostics) -> int:
    request = Request(
        inputs=from_source_path(arguments.source_path),
        folders=_folders(arguments),
        families=tuple(family for family in _FAMILIES if family in arguments.generate),
        options=options(arguments, sink, tolerant=True),
        selection=selection(arguments, sink),
        tolerant=True,
        mps=arguments.mps,
        xpu=arguments.xpu,
        mtia=arguments.mtia,
    )
    generation = Generation(request, sink)
    generation.check_shims(note_missing=True)
    if arguments.output_dependencies:
        devices = ("cuda", "xpu") if arguments.xpu else ("cuda",)
        write_dependency_lists(arguments.output_dependencies, generation.plan(), devices)
    # PyTorch's generator makes its folders in every run, even where it puts nothing there.
    for folder in request.folders.values():
        os.makedirs(folder, exist_ok=True)
    if not arguments.dry_run:
        generation.write()
    return console.SUCCESS


def main(argv: Sequence[str] | None = None) -> int:
    """Run the program and return its exit status."""
    arguments = _parser().parse_args(argv)
    return console.run(lambda sink: _run(arguments, sink))


if __name__ == "__main__":
    raise SystemExit(main())
