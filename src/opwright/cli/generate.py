"""Write the code around operators: those of a library, of a backend, or of PyTorch itself.

  opwright generate --library acme.yaml --out build         a library, for the installed PyTorch
  opwright generate --backend npu.yaml --out build          a backend, likewise
  opwright generate --torch 2.13.0 --out build/pytorch      PyTorch's own, which needs no installed PyTorch
  opwright generate --source-path aten/src/ATen --out build  those of a source tree

Files below --out have the layout of PyTorch's build. Opwright does not touch a file whose bytes stay the same."""

from __future__ import annotations

import argparse
import os
import time
from functools import partial

from opwright.cli.arguments import (
    Parser,
    PluginChoices,
    add_backend_arguments,
    add_edits_argument,
    add_input_arguments,
    add_lean_argument,
    add_plugin_argument,
    add_selection_arguments,
    chosen_devices,
    not_empty,
    options,
    repeated,
    selection,
    settle_plugins,
)
from opwright.cli.input_arguments import add_allow_path_argument, open_named_inputs
from opwright.cli.runs import current_manifest, further_files, request_facts, run_of, write_edit
from opwright.emit.registry import FAMILIES, build_folders, chosen_families, file_options
from opwright.incremental.state import last_families
from opwright.mobile.families import EXECUTORCH_FAMILIES
from opwright.run.incremental_generation import IncrementalGeneration, files_in
from opwright.source.codes import FAMILY_WITHOUT_FILE
from opwright.source.limits import read_number
from opwright.source.terminal import counted, tell

# Modules that do the work are imported only if there is work.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Final

    from opwright.cli.parts import OutputShard, OutputsInFolder
    from opwright.incremental.identity import RunIdentity
    from opwright.release.inputs import Inputs
    from opwright.run.generation import Generation
    from opwright.run.request import Request
    from opwright.source.diagnostic import Diagnostics


#: Where projects of kernel-builder have the code around operators.
_KERNEL_FOLDERS: Final = {"include": "torch-ext/include", "source": "torch-ext/src", "python": "torch-ext"}

#: The help shows what plug-ins add.
LISTS_PLUGINS: Final = True


def add_arguments(parser: Parser) -> None:
    """Declare the command's arguments."""
    add_input_arguments(parser)
    _add_file_arguments(parser)
    output = parser.add_argument_group("outputs")
    output.add_argument("--out", metavar="DIR", type=not_empty, required=True, help="the folder to write below")
    output.add_argument(
        "--only",
        metavar="FAMILY",
        action="append",
        choices=PluginChoices(lambda: FAMILIES),
        help="write only this family of files (may be repeated): "
        + "; ".join(
            f"`{name}`, {family.help}{f' (of the plug-in {family.plugin})' if family.plugin else ''}"
            for name, family in FAMILIES.items()
        ),
    )
    output.add_argument(
        "--no-per-operator-headers",
        dest="per_operator_headers",
        action="store_false",
        help="write a few large headers instead of several small ones per operator",
    )
    add_lean_argument(output)
    output.add_argument(
        "--no-prune",
        dest="prune",
        action="store_false",
        help="keep files that are no longer made",
    )
    output.add_argument(
        "--layout",
        choices=("build", "kernel"),
        default="build",
        help="where libraries get files below --out: `build`, the layout of a build, or `kernel`, that of projects of "
        "Hugging Face's kernel-builder",
    )
    output.add_argument(
        "--shard",
        metavar="I/N",
        type=_shard,
        help="make only part I of N (from 0 to N - 1); together the parts are the whole",
    )
    output.add_argument(
        "--in-folder",
        metavar="DIR",
        help="make only the files directly in this folder below --out (`.` for --out itself)",
    )
    output.add_argument("--jobs", metavar="N", type=_count, help="use at most N processes (default: all cores)")
    output.add_argument(
        "--strict",
        action="store_true",
        help="treat warnings about derivatives as errors (names and functions that do not exist, parts without effect)",
    )
    add_edits_argument(output)
    output.add_argument(
        "--stats", action="store_true", help="print how much each emitter made and reused, and the seconds per stage"
    )
    _add_executorch_arguments(parser)
    _add_other_ways(parser)
    add_backend_arguments(parser)
    add_selection_arguments(parser)
    for_libraries = ("--library", "--backend", "--operators", "--plugin")
    parser.shorten_help(
        *for_libraries, "--torch", "--source-path", "--out", "--only", "--dry-run", "--check", "--watch"
    )


def _add_file_arguments(parser: argparse.ArgumentParser) -> None:
    repeated(parser)(
        "--library",
        metavar="FILE",
        help="generate for the operators of this library file instead of PyTorch's (may be repeated)",
    )
    repeated(parser)(
        "--backend",
        metavar="FILE",
        help="generate the code around the kernels of the external backend in this file (may be repeated)",
    )
    repeated(parser)(
        "--operators",
        metavar="FILE",
        help="operators that a backend file may name, in a file like native_functions.yaml (may be repeated)",
    )
    add_plugin_argument(parser)
    add_allow_path_argument(parser)
    repeated(parser)(
        "--input",
        metavar="FILE",
        help="a file of a kind that a plug-in reads, recognised by its name or first field (may be repeated)",
        type=not_empty,
    )


def _add_executorch_arguments(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("ExecuTorch")
    add = group.add_argument
    repeated(group)(
        "--executorch",
        metavar="FILE",
        help="generate the registrations of the kernels in a file like ExecuTorch's functions.yaml (may be repeated)",
    )
    repeated(group)(
        "--executorch-custom",
        metavar="FILE",
        help="the same for the custom operators of this file, which are declared to PyTorch too (may be repeated)",
    )
    add("--aten-mode", action="store_true", help="for kernels of PyTorch that take its own tensors")
    add("--manual-registration", action="store_true", help="register kernels by a call, not when a program starts")
    add("--add-exception-boundary", action="store_true", help="catch the exceptions of kernels")
    add("--templates", metavar="DIR", help="a folder with ExecuTorch's templates instead of Opwright's")


def _add_other_ways(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments for other actions than writing the files, and for build systems."""
    group = parser.add_argument_group("instead of writing")
    group.add_argument("--dry-run", action="store_true", help="list the files that a run would make; write nothing")
    group.add_argument(
        "--list-outputs",
        nargs="?",
        const="lines",
        choices=("lines", "cmake"),
        help="the same; `cmake` prints commands that set opwright_outputs to the list, and opwright_inputs to what it "
        "depends on",
    )
    group.add_argument("--check", action="store_true", help="write nothing, and fail if a file on disk differs")
    group.add_argument(
        "--watch", action="store_true", help="keep running, and generate again whenever an input changes"
    )
    _add_action_arguments(group)
    group = parser.add_argument_group("for build systems")
    group.add_argument(
        "--hermetic",
        action="store_true",
        help="depend on the inputs alone, for builds on other machines: no state in --out, cache, environment or "
        "network",
    )
    group.add_argument(
        "--declared",
        metavar="DIGEST",
        help="write nothing, and fail, if the outputs are not those of the description that has this digest",
    )
    group.add_argument("--depfile", metavar="FILE", help="write a dependency file for Make or Ninja")
    group.add_argument(
        "--stamp", metavar="FILE", help="touch this file after the run; the dependency file then names only this file"
    )
    group.add_argument("--provenance", metavar="FILE", help="write the origin of each line, for `opwright where`")


def _add_action_arguments(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--describe",
        choices=("bazel", "bazel-folders", "buck", "json", "meson", "ninja"),
        help="print commands that a build system runs, hermetic ones, with the exact inputs and outputs of each",
    )
    group.add_argument(
        "--actions", metavar="N", type=_count, help="describe N commands that share the work (default: 1)"
    )
    group.add_argument(
        "--describe-to",
        metavar="PATH",
        type=not_empty,
        help="write the description to this file, for `meson` to `meson.build` files in this folder",
    )


def _shard(text: str) -> str:
    number, count = (read_number(part) for part in (*text.split("/", 1), "")[:2])
    if number is None or count is None or number >= count:
        raise argparse.ArgumentTypeError(f"`{text}` is not a part: write I/N with I from 0 to N - 1")
    return text


def _count(text: str) -> int:
    count = read_number(text)
    if not count:
        raise argparse.ArgumentTypeError(f"`{text}` is not a number of processes")
    return count


def _further_files(arguments: argparse.Namespace) -> list[str]:
    files = [*arguments.library, *arguments.backend, *arguments.operators, *arguments.input]
    files += [*arguments.executorch, *arguments.executorch_custom]
    files += files_in(arguments.templates)
    files += further_files(arguments, _folders(arguments))
    if arguments.uses_plugins:
        from opwright.plugins.active import ACTIVE
        from opwright.plugins.sources import source_paths

        files += source_paths(ACTIVE.plugins)
    return files


def _families(arguments: argparse.Namespace) -> tuple[str, ...]:
    families = chosen_families(arguments.only or _families_of_files(arguments))
    if not arguments.uses_plugins:
        return families
    from opwright.plugins.active import ACTIVE

    return tuple(dict.fromkeys([*families, *ACTIVE.forced_families]))


def _families_of_files(arguments: argparse.Namespace) -> list[str] | None:
    """Family of the files that are named; None if PyTorch's operators are meant."""
    if arguments.executorch or arguments.executorch_custom:
        return list(EXECUTORCH_FAMILIES)
    if arguments.backend:
        return ["backend"]
    return ["library"] if arguments.library else None


def _folders(arguments: argparse.Namespace) -> dict[str, str]:
    folders = build_folders(arguments.out, _families(arguments))
    kernel_folders = _KERNEL_FOLDERS if arguments.layout == "kernel" else {}
    return {
        name: f"{arguments.out}/{kernel_folders[name]}" if name in kernel_folders else folder
        for name, folder in folders.items()
    }


def _run(arguments: argparse.Namespace) -> RunIdentity:
    return _run_of(arguments, _folders(arguments), _families(arguments))


def _run_of(arguments: argparse.Namespace, folders: Mapping[str, str], families: Iterable[str]) -> RunIdentity:
    part = {} if arguments.in_folder is None else {"in folder": arguments.in_folder}
    return run_of("generate", arguments, arguments.out, folders, families, shard=arguments.shard, **part)


def _last_run(arguments: argparse.Namespace) -> RunIdentity | None:
    """Run as the last one was that was asked for the same; None if that cannot be told without its plug-ins.

    Plug-ins are not active yet.
    """
    if not arguments.uses_plugins:
        return _run(arguments)
    last = last_families(arguments.out, request_facts("generate", arguments))
    return None if last is None else _run_of(arguments, last[1], last[0])


def is_up_to_date(arguments: argparse.Namespace) -> bool:
    """Whether an earlier run did all that this one would do; if so, print its summary."""
    started = time.perf_counter()
    if arguments.dry_run or arguments.list_outputs or arguments.watch or arguments.check:
        return False
    if arguments.hermetic or arguments.describe:
        return False
    settle_plugins(arguments)
    last = _last_run(arguments)
    manifest = None if last is None else current_manifest(last, arguments.color)
    if manifest is None:
        return False
    if arguments.stamp is not None:
        from opwright.cli.extra_files import write_stamp

        write_stamp(arguments.stamp, arguments.out)
    _print_summary(arguments, manifest.facts, 0, started)
    return True


def _print_summary(arguments: argparse.Namespace, facts: Mapping[str, str | int], written: int, started: float) -> None:
    """Print what a run made, by the facts of its manifest, and how many files it wrote."""
    tell(f"PyTorch {facts['version']} from {facts['origin']}")
    files = int(facts["files"])
    tell(
        f"{counted(int(facts['operators']), 'operator')}, {counted(files, 'file')} below {arguments.out}: "
        f"{written:,} written, {files - written:,} unchanged, {time.perf_counter() - started:.2f} s"
    )


def _incremental(arguments: argparse.Namespace) -> IncrementalGeneration:
    return IncrementalGeneration(_run(arguments), jobs=arguments.jobs, keeps_state=not arguments.hermetic)


def _check_files(arguments: argparse.Namespace) -> None:
    """Raises Fault if a chosen family is made from a file that no option names."""
    for family in arguments.only or ():
        options = file_options(family)
        if options and not any(getattr(arguments, option) for option in options):
            from opwright.source.diagnostic import Fault

            flags = " or ".join([f"`--{option.replace('_', '-')} FILE`" for option in options])
            message = f"the family `{family}` is made from a file, and none is named"
            raise Fault.at(FAMILY_WITHOUT_FILE, message, help=f"add {flags}")


def _load(
    incremental: IncrementalGeneration, arguments: argparse.Namespace, inputs: Inputs, sink: Diagnostics
) -> Generation:
    generation = incremental.load(inputs, partial(_request, arguments, inputs), sink, _further_files(arguments))
    generation.check_shims()
    return generation


def _checked_inputs(arguments: argparse.Namespace, sink: Diagnostics) -> Inputs:
    """Inputs of a run whose arguments fit together."""
    _check_files(arguments)
    if arguments.hermetic:
        from opwright.cli.describing import check_hermetic

        check_hermetic(arguments)
    return open_named_inputs(arguments, sink)


def _request(arguments: argparse.Namespace, inputs: Inputs, sink: Diagnostics) -> Request:
    from opwright.mobile.executorch_choices import ExecutorchFiles, ExecutorchOptions
    from opwright.plugins.active import ACTIVE
    from opwright.run.request import Request
    from opwright.source.text import SourceFile

    choices = ExecutorchOptions(
        aten_mode=arguments.aten_mode,
        manual_registration=arguments.manual_registration,
        exception_boundary=arguments.add_exception_boundary,
    )
    functions, custom = (
        tuple(map(SourceFile.read, paths)) for paths in (arguments.executorch, arguments.executorch_custom)
    )
    return Request(
        inputs=inputs,
        folders=_folders(arguments),
        families=_families(arguments),
        options=options(arguments, sink)._replace(guests=(choices,)),
        selection=selection(arguments, sink),
        devices=chosen_devices(arguments),
        release=arguments.release,
        strict=arguments.strict,
        refuses_edits=not arguments.tolerate_generator_edits,
        shard=_part(arguments),
        libraries=tuple(map(SourceFile.read, arguments.library)),
        operator_files=tuple(map(SourceFile.read, arguments.operators)),
        backends=tuple(map(SourceFile.read, arguments.backend)),
        guests=(ExecutorchFiles(functions, custom, names_custom=bool(custom)),),
        templates=arguments.templates,
        plugins=ACTIVE.plugins,
        input_files=tuple(map(SourceFile.read, arguments.input)),
        allowed_paths=tuple(arguments.allow_path),
    )


def _part(arguments: argparse.Namespace) -> OutputShard | OutputsInFolder | None:
    """Part of the outputs that the run makes; None for all."""
    from opwright.cli.parts import OutputShard, OutputsInFolder

    if arguments.in_folder is not None:
        folder = os.path.normpath(os.path.abspath(os.path.join(arguments.out, arguments.in_folder)))
        return OutputsInFolder(folder, _folders(arguments))
    return None if arguments.shard is None else OutputShard(*map(int, arguments.shard.split("/")))


def run(arguments: argparse.Namespace, sink: Diagnostics) -> int:
    """Generate, and print a summary."""
    from opwright.cli import console, extras

    if arguments.watch:
        return _watch(arguments)
    if arguments.describe:
        _describe(arguments, sink)
        return console.SUCCESS
    inputs, incremental = _checked_inputs(arguments, sink), _incremental(arguments)
    if not (arguments.dry_run or arguments.list_outputs or arguments.check):
        _generate(arguments, incremental, inputs, sink)
        return console.SUCCESS
    generation = _load(incremental, arguments, inputs, sink)
    return console.SUCCESS if extras.list_or_check(arguments, incremental, generation, sink) else console.FAULTS


def _describe(arguments: argparse.Namespace, sink: Diagnostics) -> None:
    """Print the actions of a build system that generate the files."""
    from opwright.cli.describing import describe

    _check_files(arguments)
    parser = Parser("opwright generate")
    add_arguments(parser)
    request = _request(arguments, open_named_inputs(arguments, sink), sink)
    describe(arguments, parser, request, IncrementalGeneration(_run(arguments)), _further_files(arguments), sink)


def _watch(arguments: argparse.Namespace) -> int:
    from opwright.cli.watching import watch
    from opwright.source.diagnostic import Diagnostics

    incremental = _incremental(arguments)
    incremental.take_stamps(open_named_inputs(arguments, Diagnostics()), _further_files(arguments))
    return watch(arguments, _generate_again, incremental.stamps)


def _generate_again(arguments: argparse.Namespace, sink: Diagnostics, *, may_load_few: bool) -> IncrementalGeneration:
    """Generate with the plug-ins as they are now. Loads all operators unless it may load those of an edit alone."""
    if arguments.uses_plugins:
        from opwright.cli.plugin_use import reload_plugins

        reload_plugins(arguments)
    inputs, incremental = _checked_inputs(arguments, sink), _incremental(arguments)
    _generate(arguments, incremental, inputs, sink, may_load_few=may_load_few)
    return incremental


def _generate(
    arguments: argparse.Namespace,
    incremental: IncrementalGeneration,
    inputs: Inputs,
    sink: Diagnostics,
    *,
    may_load_few: bool = True,
) -> None:
    """Write the files, and print a summary and what else is asked for."""
    started = time.perf_counter()
    # A run after an edit says of inputs that it does not read only what the run before it said of them.
    needs_all = sink.has_errors or any(diagnostic.span is not None for diagnostic in sink.sorted())
    outcome = None
    if may_load_few and not needs_all and arguments.declared is None:
        make_request = partial(_request, arguments, inputs)
        outcome = write_edit(incremental, inputs, make_request, _further_files(arguments), arguments.color)
    if outcome is None:
        from opwright.cli.extras import write_outputs

        generation = _load(incremental, arguments, inputs, sink)
        if arguments.declared is not None:
            from opwright.builds.actions.description import check_declared

            check_declared(arguments.declared, arguments.out, generation.plan())
        outcome = write_outputs(arguments, incremental, generation)
    elif arguments.stamp is not None:
        from opwright.cli.extra_files import write_stamp

        write_stamp(arguments.stamp, arguments.out)
    # Build systems print what an action prints, and a cache does so again at each hit.
    if not arguments.hermetic:
        _print_summary(arguments, incremental.facts, outcome.summary.written, started)
    if arguments.stats:
        from opwright.cli.extras import print_stats

        print_stats(incremental, outcome)
