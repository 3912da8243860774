"""Write a library file, or a backend file, from the registrations in sources.

  opwright import csrc --out acme.yaml             from C++ and Python sources: files, or folders with them
  opwright import csrc --out acme.yaml --check     compare: what would calls run before and after the move?
  opwright import acme._C --out acme.yaml --check --port ported/acme.so
                                                   compare the original and its port, each in a process
  opwright import csrc acme._C --out acme.yaml --record pytest tests
                                                   with what the calls of tests show, which `acme.calls` then has
  opwright import acme._C --out acme.yaml --check --port ported/acme.so --samples acme.calls
                                                   repeat these calls in both processes, and compare
  opwright import csrc --out acme.yaml --edit      compare, and delete from the sources what the file takes the place of
  opwright import csrc acme._C --out acme.yaml     from both: a process that imports the module says what exists
  opwright import build/acme.so --out acme.yaml    from a process alone, which loads the library
  opwright import csrc --out acme.yaml --derivatives derivatives.yaml
                                                   with formulas from the classes of autograd
  opwright import csrc --out _C.yaml --mutates adam=param,exp_avg
                                                   from `PYBIND11_MODULE`, with `_C.py` for its callers
  opwright import csrc --backend --out npu.yaml    a backend file from `TORCH_LIBRARY_IMPL(aten, PrivateUse1, m)`

The file has comments where something is uncertain. The program prints which lines the file takes the place of, and with
`--check` which of them can be deleted."""

from __future__ import annotations

import argparse
import os

from opwright.cli.arguments import not_empty, repeated
from opwright.source.terminal import counted, tell

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from opwright.migrate.importing.recorded_calls import RecordedCalls
    from opwright.migrate.importing.run import Written
    from opwright.migrate.importing.two_processes import ProcessComparison
    from opwright.source.diagnostic import Diagnostics

#: What the first line and the last one say if no library was loaded.
_NOT_RUN = "nothing was compared with a running library"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument(
        "sources",
        metavar="SOURCE",
        nargs="*",
        help="a C++ or Python source, a folder with sources, or "
        "a module or shared library, which a process of its own loads; this runs its code",
    )
    parser.add_argument("--out", metavar="FILE", required=True, type=not_empty, help="the library or backend file")
    parser.add_argument(
        "--backend",
        action="store_true",
        help="write a backend file, from the kernels that C++ sources register for PyTorch's operators on a device",
    )
    repeated(parser)(
        "-D",
        "--define",
        metavar="NAME=VALUE",
        help="a macro of the build, such as `TORCH_EXTENSION_NAME=_C` (may be repeated)",
    )
    repeated(parser)(
        "--module",
        metavar="NAME",
        help="import this module, which a path may name too, in a process of its own, and read what it registers "
        "(may be repeated); this runs the code of the module",
    )
    parser.add_argument(
        "--derivatives",
        metavar="FILE",
        type=not_empty,
        help="write drafts of derivatives from `torch::autograd::Function` classes to this file",
    )
    repeated(parser)(
        "--outputs-from",
        metavar="MODULE",
        help="import this module in a process of its own, call its kernels for Meta on samples, and declare `outputs` "
        "where they do the same (may be repeated); this runs the code of the module",
    )
    parser.add_argument(
        "--namespace",
        metavar="NAME",
        default="",
        help="the namespace of operators from modules of pybind11 and nanobind (default: the name of the module)",
    )
    repeated(parser)(
        "--mutates",
        metavar="NAME=ARGUMENTS",
        help="the arguments that a function of such a module writes, such as `adam=param,exp_avg`, in place of what "
        "the sources say (may be repeated); none behind `=` for none",
    )
    repeated(parser)(
        "--by-hand",
        metavar="SOURCE",
        help="with --check, count the kernels that this source registers as well (may be repeated)",
    )
    repeated(parser)(
        "--port",
        metavar="MODULE",
        help="with --check, the module or library that was built from FILE, such as `ported/acme`, a package in a "
        "folder: load it and the original, each in a process of its own, and compare what PyTorch's dispatcher has of "
        "both (may be repeated); this runs their code",
    )
    repeated(parser)(
        "--samples",
        metavar="FILE",
        help="calls of the operators: those that `--record` kept, or a Python file whose function `calls` yields "
        "tuples such as `(torch.ops.acme.scale, [x, 2.0])`; the original repeats them, and with `--port` both do "
        "(may be repeated); this runs the code of the file",
    )
    parser.add_argument(
        "--record",
        metavar="COMMAND",
        nargs=argparse.REMAINDER,
        default=[],
        help="run this command, such as `pytest tests`, and keep the calls that it makes of the operators in a file "
        "beside FILE, with the ending `.calls`; the last option, as all words behind it are the command",
    )
    parser.add_argument("--force", action="store_true", help="replace FILE if it exists")
    parser.add_argument(
        "--check",
        action="store_true",
        help="write nothing; compare what calls would run with the sources, and with FILE and what stays of them",
    )
    parser.add_argument(
        "--edit",
        action="store_true",
        help="compare as --check does, and change the sources: delete the statements that can be deleted, and move "
        "kernels that generated code has to name out of anonymous namespaces",
    )
    parser.add_argument(
        "--torch",
        metavar="TORCH",
        default="auto",
        help="the PyTorch to generate for with --check and --edit (default: auto)",
    )


def run(arguments: argparse.Namespace, sink: Diagnostics) -> int:
    """Write the file, or compare it with the sources."""
    from opwright.cli import console
    from opwright.migrate.importing.process import is_module
    from opwright.migrate.importing.recorded_calls import calls_of
    from opwright.migrate.importing.run import (
        ImportRequest,
        check_import,
        check_port,
        edit_sources,
        record_calls,
        write_import,
    )
    from opwright.workspace.user_files import finish_killed_runs

    finish_killed_runs()
    macros = dict(word.partition("=")[::2] for word in arguments.define)
    if arguments.backend:
        for option in ("module", "derivatives", "outputs_from", "namespace", "mutates", "by_hand", "edit"):
            if getattr(arguments, option):
                return console.refuse("import", f"`--{option.replace('_', '-')}` is for library files, not `--backend`")
        return _import_backend(arguments, macros, sink)
    loaded = [*arguments.module, *filter(is_module, arguments.sources)]
    mutates = [word.partition("=") for word in arguments.mutates]
    request = ImportRequest(
        tuple([source for source in arguments.sources if not is_module(source)]),
        tuple(loaded),
        macros,
        arguments.out,
        arguments.derivatives or "",
        tuple(arguments.outputs_from),
        arguments.namespace,
        {name: [word for word in words.split(",") if word] for name, _, words in mutates},
        tuple(arguments.by_hand),
    )
    if (arguments.samples or arguments.record) and not loaded:
        return console.refuse("import", "`--samples` and `--record` need the original as a module or library")
    if arguments.record:
        path = f"{os.path.splitext(arguments.out)[0]}.calls"
        recorded = record_calls(request, arguments.record, path, force=arguments.force)
        _report_recorded(recorded, path)
        arguments.samples.append(path)
    if arguments.samples:
        request = request._replace(calls=calls_of(arguments.samples, loaded))
    if arguments.port:
        if not arguments.check or not loaded:
            return console.refuse("import", "`--port` needs `--check`, and the original as a module or library")
        return _report_port(check_port(request, arguments.port, arguments.torch, sink))
    if not loaded:
        tell(f"{_NOT_RUN}: what only runs is not known; name the module or the library that is built from the sources")
    if not arguments.check:
        _report(arguments.out, write_import(request, force=arguments.force), "" if loaded else f"; {_NOT_RUN}")
    if arguments.check or arguments.edit:
        checked = check_import(request, arguments.torch, sink)
        comparison = checked.comparison
        for difference, operators in comparison.by_difference().items():
            tell(f"{difference.kind}: {', '.join([f'`{name}`' for name in operators])}: {difference.text}")
        for place, reason in checked.unread:
            tell(f"not compared: {place}: {reason}")
        for place, reason in checked.edited.stays:
            tell(f"stays: {place}: {reason}; the file has what it registers: delete it by hand")
        edited = edit_sources(checked, request) if arguments.edit else checked.edited
        for path, ranges in checked.deletable.items():
            tell(f"{'deleted' if arguments.edit else 'can be deleted'}: {os.path.normpath(path)}: {ranges}")
        if arguments.edit:
            for kernel in edited.moved:
                path = os.path.normpath(kernel.place.path)
                tell(f"moved: {path}: `{kernel.name}` out of its anonymous namespace, as `{kernel.proposed}`")
            for path in edited.empty:
                tell(f"empty: {os.path.normpath(path)}: no code is left; delete the file")
        twice = arguments.edit and bool(checked.edited.stays)
        if twice:
            tell("statements stay that register what the file registers too: delete them by hand")
        tell(f"{'no call was compared' if loaded else _NOT_RUN}: {comparison.summary}")
        has_faults = bool(comparison.unexplained) or twice or (arguments.check and not comparison.alike)
        return console.FAULTS if has_faults else console.SUCCESS
    return console.SUCCESS


def _import_backend(arguments: argparse.Namespace, macros: Mapping[str, str], sink: Diagnostics) -> int:
    """Write a backend file, or compare it with the sources."""
    from opwright.cli import console
    from opwright.migrate.importing.backend_import import compare_backend
    from opwright.migrate.importing.run import read_backend, write_backend
    from opwright.source.text import SourceFile

    imported = read_backend(arguments.sources, macros, arguments.torch)
    if arguments.check:
        equal, differences = compare_backend(imported, SourceFile.read(arguments.out), sink)
        for difference in differences:
            tell(difference)
        compared = "operators, keys and called functions"
        told = f"{counted(equal, 'kernel')} alike, {counted(len(differences), 'difference')} in {compared}"
        tell(f"{_NOT_RUN}: the sources and the file register {told}")
        return console.FAULTS if differences else console.SUCCESS
    _report(arguments.out, write_backend(imported, arguments.out, force=arguments.force))
    return console.SUCCESS


def _report_recorded(recorded: RecordedCalls, path: str) -> None:
    """Print how many calls a command made, and how it ended."""
    counts = recorded.counts
    calls = f"{counted(sum(counts.calls.values()), 'call')} of {counted(len(counts.calls), 'operator')}"
    tell(f"recorded: {calls} in {path}; the command ended with {recorded.status}")
    for why, count in counts.not_stored.items():
        tell(f"not recorded: {counted(count, 'call')}: {why}")


def _report_port(compared: ProcessComparison) -> int:
    """Print how a port differs from the original, and give the exit status."""
    from opwright.cli import console
    from opwright.migrate.importing.explained import shown_names

    for difference in compared.differences:
        tell(f"{difference.kind}: `{difference.operator}`: {difference.text}")
    for what in compared.not_compared:
        tell(f"not compared: {what}")
    if compared.unknown:
        names = shown_names(list(dict.fromkeys(compared.unknown)))
        why = "kernels of the original may record them, and the port raises in the backward pass"
        tell(f"not compared: gradients of {names}: {why}; write derivatives if callers need them")
    tell(compared.summary)
    return console.FAULTS if compared.unexplained else console.SUCCESS


def _report(out: str, written: Written, more: str = "") -> None:
    """Print what was left out and what stays, what can be deleted, and how many operators the file has."""
    for path, reason in written.left_out:
        tell(f"left out: {os.path.normpath(path)}: {reason}")
    for place, reason in written.left:
        tell(f"stays: {place}: {reason}")
    for line in written.tried:
        tell(line)
    if written.silent:
        names = ", ".join([f"`{name}`" for name in written.silent])
        tell(f"writes nothing: {names}: `torch.compile` leaves out calls; give each argument that it writes `(a!)`")
    for path, ranges in written.deletable.items():
        tell(f"in the file: {os.path.normpath(path)}: {ranges}")
    if written.told is not None:
        for line in written.told.lines:
            tell(line)
        tell(written.told.summary)
    for path in written.more_files:
        tell(f"written: {path}")
    tell(f"{out}: {counted(written.operators, 'operator')}; compare with `opwright import ... --check`{more}")
