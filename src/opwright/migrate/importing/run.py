"""Runs of `opwright import`: from sources to a library file, and the comparison of the two."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Final

from opwright.libraries.extension.generated import library_code
from opwright.libraries.extension.kernel_types import wrong_kernels
from opwright.libraries.operator_library import BUILD_NAMESPACE, OperatorLibrary
from opwright.migrate import import_codes
from opwright.migrate.importing.always_run import AT_RUN_TIME
from opwright.migrate.importing.backend_import import BackendImport, import_backend
from opwright.migrate.importing.comparison import (
    Explanations,
    OperatorKey,
    RegisteredSide,
    RegistrationComparison,
    as_generated,
    compare_registrations,
    declared_fields,
)
from opwright.migrate.importing.cpp_reader import (
    files_with_registrations,
    read_cpp_sources,
)
from opwright.migrate.importing.drafts import DraftedDerivatives, draft_derivatives, headers_of
from opwright.migrate.importing.explained import ExplainedLibrary, explained, whole_process
from opwright.migrate.importing.library_file import LibraryHead, callers, library_text, most_common
from opwright.migrate.importing.module_reader import ModuleOptions
from opwright.migrate.importing.operators import ImportedOperators, import_operators, with_unnamed_kernels
from opwright.migrate.importing.process import loaded_library, proven_outputs
from opwright.migrate.importing.pybind import MARK, BoundModule, header_text, module_text
from opwright.migrate.importing.python_reader import python_files_with_registrations, read_python_sources
from opwright.migrate.importing.recorded_calls import (
    RecordedCalls,
    compared_calls,
    record_command,
    stored_counts,
    tried_calls,
)
from opwright.migrate.importing.registration import RegistrationStatement, SourcePlace, no_registrations
from opwright.migrate.importing.source_edits import EditedSources, HiddenKernel, edited_sources
from opwright.migrate.importing.source_paths import source_paths
from opwright.migrate.importing.tried import arguments_of_functions, tried_lines, with_tried
from opwright.migrate.importing.two_processes import ProcessComparison, compare_processes
from opwright.migrate.importing.unread_code import with_unread
from opwright.model.dispatch_key import META
from opwright.source.diagnostic import Diagnostics, Fault
from opwright.source.records import NamedTuple
from opwright.source.text import SourceFile
from opwright.syntax.cpp_functions import CppFunction, result_types, schema_type
from opwright.syntax.cpp_source import CPP_HEADERS, CPP_SUFFIXES
from opwright.workspace.user_outputs import write_user_files

_SUFFIXES: Final = (*CPP_SUFFIXES, ".py")


class ImportRequest(NamedTuple):
    """What is imported: files and folders, modules, macros of the build; and the library file.

    `derivatives` is the file for drafts of derivatives, empty for none. `fakes` are modules whose kernels for Meta run.
    `namespace` and `written` are for modules of pybind11: that of their operators, and what functions write.
    A comparison counts what the sources `by_hand` register to what the library file does. `calls` are those of the
    operators, as a file has them.
    """

    sources: tuple[str, ...]
    modules: tuple[str, ...]
    macros: Mapping[str, str]
    out: str
    derivatives: str = ""
    fakes: tuple[str, ...] = ()
    namespace: str = ""
    written: Mapping[str, Sequence[str]] = MappingProxyType({})
    by_hand: tuple[str, ...] = ()
    calls: bytes = b""


class Written(NamedTuple):
    """What a run wrote: how many operators, the lines that can be deleted by file, and the statements that stay.

    `left_out` are files and folders that were not read, with the reason, `told` is what a process said,
    `silent` are operators that return nothing and write nothing, `tried` are the lines about calls, and
    `more_files` those that the run wrote beside the library file.
    """

    operators: int
    deletable: Mapping[str, str]
    left: Sequence[tuple[SourcePlace, str]]
    left_out: Sequence[tuple[str, str]] = ()
    told: ExplainedLibrary | None = None
    silent: Sequence[str] = ()
    tried: Sequence[str] = ()
    more_files: Sequence[str] = ()


class ReadOperators(NamedTuple):
    """What was read: the statements, the operators that they register, the head of the file, and the derivatives.

    `taken` are the places that the files take the place of, and `wholes` the declarations of which nothing is left
    without these: `deletable` are both. `others` are the places of other code in blocks of registrations. `modules`
    are those of pybind11, and `header` is the text of one for functions that none declares. `hidden` are kernels that
    only their own files can name. `drafts` are the derivatives of the operators, whether they are asked for or not,
    `files` the sources, `fallbacks` the kernels for all operators by their keys, and `unread` what was not understood.
    `left_out` are files and folders that are not those of the project, with the reason. `told` is what a process said.
    """

    statements: Sequence[RegistrationStatement]
    imported: ImportedOperators
    head: LibraryHead
    derivatives: DraftedDerivatives
    deletable: Sequence[SourcePlace]
    drafts: DraftedDerivatives
    files: Sequence[SourceFile]
    fallbacks: Mapping[str, tuple[SourcePlace, str]]
    unread: Sequence[tuple[SourcePlace, str]]
    modules: Sequence[BoundModule] = ()
    header: str = ""
    hidden: Sequence[HiddenKernel] = ()
    taken: Sequence[SourcePlace] = ()
    wholes: Sequence[tuple[SourcePlace, Sequence[SourcePlace]]] = ()
    others: Mapping[str, Sequence[int]] = MappingProxyType({})
    left_out: Sequence[tuple[str, str]] = ()
    told: ExplainedLibrary | None = None
    tried: Sequence[str] = ()


def read_operators(request: ImportRequest) -> ReadOperators:
    """The operators of a request. Raises Fault if there are none, or if they cannot be in one file."""
    tried = tried_calls(request.calls, request.modules) if request.calls else None
    paths = source_paths(request.sources, _SUFFIXES)
    files = [SourceFile.read_plain(path) for path in paths.read]
    cpp = files_with_registrations([file for file in files if file.path.endswith(CPP_SUFFIXES)])
    python = python_files_with_registrations([file for file in files if file.path.endswith(".py")])
    headers = [file for file in files if file.path.endswith(CPP_HEADERS)]
    stem = os.path.splitext(os.path.basename(request.out))[0]
    name = re.sub(r"\W", "_", stem)
    by_calls = arguments_of_functions(tried) if tried is not None else {}
    options = ModuleOptions(request.namespace, name, request.written, by_calls)
    others = [file for file in files if file.path.endswith(CPP_SUFFIXES)]
    read = read_cpp_sources(cpp, request.macros, headers, others=others, options=options)
    if any(row.is_stable for row in read.statements) and read.modules:
        # A library file has one interface, and functions of modules have the other.
        told = [
            (module.place, "operators of the stable C++ API are imported into another file") for module in read.modules
        ]
        rows = [row for row in read.statements if not row.is_bound]
        read = read._replace(statements=rows, modules=(), unread=[*read.unread, *told])
    from_python = read_python_sources(python)
    told_code = [(code.place, f"{code.text} may register operators and kernels") for code in from_python.code]
    unread = (*read.unread, *from_python.unread, *told_code)
    # Python defines operators for kernels of either C++ interface.
    is_stable = bool(read.statements) and all(row.is_stable for row in read.statements)
    statements = [*read.statements, *[row._replace(is_stable=is_stable) for row in from_python.statements]]
    process: ExplainedLibrary | None = None
    if request.modules:
        loaded = loaded_library(request.modules, sorted({row.schema for row in statements if row.schema}))
        process = explained(loaded, statements) if request.sources else whole_process(loaded)
        if not process.defined and not any(row.is_bound for row in statements):
            message = f"the sources explain none of the {process.registered} operators that the process has"
            raise no_registrations(message, "name the sources of the modules", unread, files)
        statements = [*process.statements]
    else:
        statements = with_unread(statements, [*read.code, *from_python.code])
    statements = with_unnamed_kernels(statements)
    if tried is not None:
        statements = with_tried(statements, tried)
    statements = _with_callers_refused(statements, {*read.declared, *read.names})
    drafts = draft_derivatives(statements, read.classes) if request.derivatives else DraftedDerivatives()
    imported = _without_drafted(statements, drafts, request.fakes)
    by_hand = {operator.key for operator in imported.operators if operator.by_hand}
    if not by_hand.isdisjoint(drafts.gradients):
        drafts = draft_derivatives(statements, read.classes, by_hand)
        imported = _without_drafted(statements, drafts, request.fakes)
    if not imported.operators:
        names = ", ".join([*request.sources, *request.modules])
        help = "name sources with `TORCH_LIBRARY`, `PYBIND11_MODULE` or `torch.library`"
        reasons = (*imported.refused, *imported.left, *unread)
        message = f"{'no operator is read from' if reasons else 'there are no registrations in'} {names or 'no source'}"
        raise no_registrations(message, help, reasons, files)
    if process is not None:
        process = _with_refused(process, imported)
    for namespace, macro in read.unknown_macros.items():
        # The library file can leave this one to the build.
        if namespace == BUILD_NAMESPACE:
            continue
        message = f"the namespace `{namespace}` depends on `{macro}`, a macro of the build"
        raise Fault.at(import_codes.UNKNOWN_MACRO, message, help=f"give its value: `--define {macro}=acme`")
    if len({statement.is_stable for statement in statements if statement.schema}) > 1:
        message = "some operators are registered through the stable C++ API, and others are not"
        raise Fault.at(import_codes.TWO_INTERFACES, message, help="import their sources into a file each")
    taken_places = set(imported.taken)
    partial = [module for module in read.modules if module.missing or not taken_places.issuperset(module.places)]
    left = (
        *imported.left,
        *imported.refused,
        *read.staying,
        *unread,
        *[(module.place, f"the module `{module.name}` has more than the library file") for module in partial],
    )
    top = os.path.dirname(os.path.abspath(request.sources[0])) if request.sources else ""
    base = os.path.abspath(request.sources[0]) if request.sources and os.path.isdir(request.sources[0]) else top
    includes = tuple([os.path.relpath(path, base).replace(os.sep, "/") for path in read.headers])
    places = [statement.place for statement in statements if statement.schema and statement.place.first]
    shown = tuple(dict.fromkeys([" ".join(os.path.normpath(place.path).split()) for place in places]))
    kernels = {kernel.name for operator in imported.operators for kernel in operator.kernels}
    undeclared = {name: function for name, function in read.undeclared.items() if name in kernels}
    in_formulas = {name: read.declared[name] for name in sorted(drafts.called) if name in read.declared}
    called = {name: function for name, function in in_formulas.items() if not function.path.endswith(CPP_HEADERS)}
    undeclared.update(called)
    declarable = [function for function in undeclared.values() if _has_common_types(function, read.aliases)]
    kernels_header = f"{stem}_kernels.h"
    if declarable or not includes:
        includes = (*includes, kernels_header)
    missing = [name for name, function in undeclared.items() if function not in declarable]
    folder = os.path.dirname(os.path.abspath(request.out))
    # The file is the same wherever the project is.
    modules = [os.path.relpath(module, folder) if os.path.isabs(module) else module for module in request.modules]
    head = LibraryHead(
        includes, (*shown, *modules), name, undeclared=tuple(missing), names=frozenset((*read.declared, *read.names))
    )
    if drafts.gradients:
        gradient_headers = [os.path.relpath(path, base) for path in headers_of(drafts.called, read.declared)]
        gradient_headers += [kernels_header] if called else []
        head = head._replace(
            derivatives=os.path.relpath(request.derivatives, folder).replace(os.sep, "/"),
            derivative_headers=tuple([header.replace(os.sep, "/") for header in gradient_headers]),
        )
    staying = [*[place for place, _ in left], *[place for module in partial for place in module.places]]
    taken = _without([*imported.taken, *[row.place for row in drafts.taken]], staying)
    deletable = [*taken, *_whole(read.wholes, taken), *drafts.deletable]
    imported = imported._replace(left=left)
    return ReadOperators(
        statements,
        imported,
        head,
        drafts,
        deletable,
        drafts if request.derivatives else draft_derivatives(statements, read.classes),
        files,
        read.fallbacks,
        unread,
        read.modules,
        header_text(declarable, read.aliases, read.inline, is_stable=imported.is_stable) if declarable else "",
        read.hidden,
        taken,
        read.wholes,
        read.others,
        paths.left_out,
        process,
        tried_lines(tried) if tried is not None else (),
    )


def _with_refused(process: ExplainedLibrary, imported: ImportedOperators) -> ExplainedLibrary:
    """What a process has, with the operators that stay by hand because no library file can have them."""
    entries = {operator.key for operator in imported.operators}
    rows = [row for row in process.statements if row.schema and not row.is_bound and not row.at_run_time]
    refused = [f"{row.namespace}::{row.name}" for row in rows if row.operator not in entries]
    more = [name for name in dict.fromkeys(refused) if name not in process.by_hand]
    return process._replace(by_hand=[*process.by_hand, *more], read=process.read - len(more))


def _has_common_types(function: CppFunction, aliases: Mapping[str, str]) -> bool:
    """Whether a header can declare a function without what else its source has."""
    types = [schema_type(type, aliases, is_narrow=True) for type in function.parameters]
    return None not in types and result_types(function.result, aliases, is_narrow=True) is not None


def _without_drafted(
    statements: Sequence[RegistrationStatement], drafts: DraftedDerivatives, fakes: Sequence[str]
) -> ImportedOperators:
    """The operators without the kernels for Autograd whose place derivatives take."""
    drafted = set(drafts.taken)
    formulas = {row.operator for row in drafts.taken}
    return _with_outputs(
        [row._replace(gives="") if row.operator in formulas else row for row in statements if row not in drafted],
        fakes,
    )


def _with_callers_refused(
    statements: Sequence[RegistrationStatement], names: Collection[str]
) -> list[RegistrationStatement]:
    """Statements without entries for operators that generated headers cannot have, as sources have these names.

    The head of the file names another C++ namespace for one namespace of operators alone.
    """
    if len({row.namespace for row in statements}) == 1:
        return [*statements]
    operators = import_operators(statements).operators
    namespace = most_common([operator.namespace for operator in operators])
    names = {*names, *[row.kernel for row in statements]}
    clashing = {
        operator.key: min(callers(operator) & names)
        for operator in operators
        if operator.namespace != namespace and callers(operator) & names
    }
    refusal = "the sources have `{}`, a name that generated headers give to callers: import `{}` into another file"
    rows = []
    for row in statements:
        name = clashing.get(row.operator)
        rows.append(row if name is None else row._replace(refusal=row.refusal or refusal.format(name, row.namespace)))
    return rows


def _with_outputs(statements: Sequence[RegistrationStatement], modules: Sequence[str]) -> ImportedOperators:
    """The operators, with declared outputs in place of kernels for Meta that modules prove to be these."""
    if not modules:
        return import_operators(statements)
    fakes = [row for row in statements if row.keys == (META.name,)]
    proven = proven_outputs(modules, sorted({"::".join(row.operator) for row in fakes}))
    declared = {row.operator: proven["::".join(row.operator)] for row in fakes if "::".join(row.operator) in proven}

    def without_fakes() -> ImportedOperators:
        return import_operators([row for row in statements if row.keys != (META.name,) or row.operator not in declared])

    for operator in without_fakes().operators:
        if operator.by_hand:
            declared.pop(operator.key, None)
    imported = without_fakes()
    operators = [operator._replace(outputs=declared.get(operator.key, "")) for operator in imported.operators]
    places = [row.place for row in fakes if row.operator in declared]
    return imported._replace(operators=tuple(operators), taken=(*imported.taken, *places))


def read_backend(sources: Sequence[str], macros: Mapping[str, str], torch: str) -> BackendImport:
    """The backend file for what sources register. Raises Fault if they register nothing for a device."""
    files = [
        SourceFile.read_plain(path) for path in source_paths(sources, CPP_SUFFIXES).read if path.endswith(CPP_SUFFIXES)
    ]
    return import_backend(files_with_registrations(files), macros, torch)


def write_backend(imported: BackendImport, out: str, *, force: bool) -> Written:
    """Write the backend file. Raises Fault if it exists, unless the run may replace it."""
    write_user_files({out: imported.text.encode()}, force=force)
    taken = _without_lines(imported.taken, [place for place, _ in imported.left])
    return Written(len(imported.kernels), _shown_lines(_lines(taken)), imported.left)


def write_import(request: ImportRequest, *, force: bool) -> Written:
    """Write the library file. Raises Fault if it exists, unless the run may replace it."""
    read = read_operators(request)
    contents = {request.out: library_text(read.imported, read.head).encode()}
    if request.derivatives:
        contents[request.derivatives] = read.derivatives.text.encode()
    added = _added_files(request, read)
    # Files of the user's may have these names.
    force = force and all(MARK in SourceFile.read_plain(path).text[:99] for path in added if os.path.exists(path))
    contents.update(added)
    write_user_files(contents, force=force)
    whole_lines = _without_lines(read.deletable, [place for place, _ in read.imported.left])
    silent = [f"{operator.namespace}::{operator.name}" for operator in read.imported.operators if operator.is_silent]
    left, count = read.imported.left, len(read.imported.operators)
    return Written(
        count, _shown_lines(_lines(whole_lines)), left, read.left_out, read.told, silent, read.tried, [*contents][1:]
    )


def _added_files(request: ImportRequest, read: ReadOperators) -> dict[str, bytes]:
    """A header for functions that none declares, and Python modules with the names of those of pybind11."""
    folder = os.path.dirname(request.out)
    files = {os.path.splitext(request.out)[0] + "_kernels.h": read.header.encode()} if read.header else {}
    operators = {(operator.namespace, operator.name.partition(".")[0]) for operator in read.imported.operators}
    for module in read.modules:
        functions = [given for given in module.functions if (module.namespace, given.operator) in operators]
        if functions:
            text = module_text(module._replace(functions=functions))
            files[os.path.join(folder, f"{module.name}.py")] = text.encode()
    return files


class CheckedImport(NamedTuple):
    """The comparison of a library file with sources, what it proves to be needless, and what was not compared.

    `edited` are the sources without that.
    """

    comparison: RegistrationComparison
    edited: EditedSources
    unread: Sequence[tuple[SourcePlace, str]]
    read: ReadOperators

    @property
    def deletable(self) -> dict[str, str]:
        """The needless lines by file, such as `3-7, 12`."""
        return _shown_lines(self.edited.lines)


def edit_sources(checked: CheckedImport, request: ImportRequest) -> EditedSources:
    """Save the sources without what a comparison proves to be needless, and with the kernels that moved.

    The library file then says no more that a kernel has to move. Raises Fault if a source was changed meanwhile.
    """
    edited = checked.edited
    marks = {file.path: b"\xef\xbb\xbf"[: file.prefix_bytes] for file in checked.read.files}
    notes = {(kernel.place, kernel.note) for kernel in edited.moved}
    imported = checked.read.imported
    operators = [
        operator._replace(notes=tuple([note for note in operator.notes if note not in notes]))
        for operator in imported.operators
    ]
    before = library_text(imported, checked.read.head).encode()
    after = library_text(imported._replace(operators=tuple(operators)), checked.read.head).encode()
    contents = {path: marks[path] + text.encode() for path, text in edited.after.items()}
    read = {path: marks[path] + text.encode() for path, text in edited.before.items()}
    write_user_files({**contents, request.out: after}, read={**read, request.out: before})
    return edited


def check_import(request: ImportRequest, torch: str, sink: Diagnostics) -> CheckedImport:
    """Compare what the sources register with what the code from the library file, and what stays of them, register."""
    read = read_operators(request)
    before, (after, libraries) = RegisteredSide(), generated_side(SourceFile.read(request.out), torch, sink)
    before.add(read.statements)
    after.add(_staying(read.statements, set(read.taken), after))
    after.add(_registered_by_hand(request))
    before.fallbacks.update({key: text for key, (_, text) in read.fallbacks.items()})
    # No library file takes the place of a kernel for all operators.
    after.fallbacks.update(before.fallbacks)
    cpp = [file for file in read.files if file.path.endswith(CPP_SUFFIXES)]
    gives = "`{}` gives the result of {}, which records gradients: these are gone"
    classes = "`{}` applies a class of autograd, whose gradients are gone"
    recording = {
        row.operator: (classes if row.records else gives).format(row.kernel or row.by_hand, row.gives)
        for row in sorted(read.statements, key=lambda row: bool(row.records))
        if row.gives or row.records
    }
    wrong_types: dict[OperatorKey, list[str]] = {}
    for namespace, name, text in wrong_kernels(libraries, cpp):
        wrong_types.setdefault((namespace, name), []).append(text)
    comparison = compare_registrations(
        before, after, Explanations(recording, read.drafts.gradients, wrong_types, read.drafts.raising)
    )
    unproved = [row for row in read.statements if row.operator not in comparison.proved]
    comparison = comparison.without({row.operator for row in read.statements if row.at_run_time or row.is_unread})
    undecided = [(row.place, f"`{row.name}`: {AT_RUN_TIME}") for row in read.statements if row.at_run_time]
    edited = _edited(
        read, [row.place for row in unproved], with_drafts=set(read.derivatives.taken).isdisjoint(unproved)
    )
    return CheckedImport(comparison, edited, [*read.unread, *undecided], read)


def check_port(request: ImportRequest, port: Sequence[str], torch: str, sink: Diagnostics) -> ProcessComparison:
    """Compare the modules of a request with those of its port, each in a process. Raises Fault if one fails.

    This runs the code of both.
    """
    generated, fields = RegisteredSide(), {}
    if os.path.exists(request.out):
        generated, libraries = generated_side(SourceFile.read(request.out), torch, sink)
        fields = {
            f"{library.library.namespace}::{function.name.text}": declared_fields(library.derivatives, function)
            for library in libraries
            for function in library.catalog.functions
        }
    calls = compared_calls(request.calls, request.modules, port, fields) if request.calls else None
    return compare_processes(loaded_library(request.modules), loaded_library(port), generated, calls)


def record_calls(request: ImportRequest, command: Sequence[str], path: str, *, force: bool) -> RecordedCalls:
    """Run a command, and write the calls that it makes of the operators of the modules to a file.

    Raises Fault if the command cannot be run, if it makes no call that can be stored, or if the file exists.
    """
    loaded = loaded_library(request.modules)
    calls, status = record_command(command, loaded.operators, request.modules)
    recorded = RecordedCalls(calls, status, stored_counts(calls))
    if not recorded.counts.calls:
        namespaces = sorted({namespace for namespace, _ in loaded.operators})
        operators = ", ".join([f"`{namespace}`" for namespace in namespaces]) or "the modules"
        message = f"the command made no call of {operators} that could be stored; it ended with {status}"
        help = "a command that runs Python without `-I`, `-E` or `-S` is recorded, such as `pytest tests`"
        raise Fault.at(import_codes.CALLS_NOT_READ, message, help=help)
    write_user_files({path: calls}, force=force)
    return recorded


def _edited(read: ReadOperators, unproved: Sequence[SourcePlace], *, with_drafts: bool) -> EditedSources:
    """The sources without what is needless. Functions of modules go with the module alone."""
    bound = {row.place for row in read.statements if row.is_bound}
    taken = _without(read.taken, unproved)
    places = [place for place in taken if place not in bound and place.first]
    places += [*_whole(read.wholes, taken), *(read.derivatives.deletable if with_drafts else ())]
    hidden = [kernel for kernel in read.hidden if kernel.place in set(places)]
    return edited_sources(read.files, places, hidden, read.others)


def _staying(
    statements: Iterable[RegistrationStatement], replaced: Collection[SourcePlace], generated: RegisteredSide
) -> Iterator[RegistrationStatement]:
    """What statements register that a library file leaves in the sources: nothing in the place of a generated kernel.

    A definition with a kernel goes with the kernel if its operator is generated. What a process says has no place, so
    its kernels count as registered apart.
    """
    for row in statements:
        is_known = row.place.first > 0
        is_generated = row.operator in generated.definitions
        if is_known and row.place in replaced:
            continue
        if is_generated and row.schema and is_known:
            continue
        kernels = generated.kernels.get(row.operator, {})
        keys = tuple([key for key in row.keys if key not in kernels or (key != META.name and kernels[key].does)])
        yield row._replace(keys=keys, schema="" if is_generated else row.schema)


def _registered_by_hand(request: ImportRequest) -> list[RegistrationStatement]:
    """What the sources of kernels that stay by hand register; their definitions are those of the library file."""
    files = [SourceFile.read_plain(path) for path in source_paths(request.by_hand, _SUFFIXES).read]
    cpp = files_with_registrations([file for file in files if file.path.endswith(CPP_SUFFIXES)])
    read = [
        *read_cpp_sources(cpp, request.macros).statements,
        *read_python_sources([file for file in files if file.path.endswith(".py")]).statements,
    ]
    return [row._replace(schema="") for row in read if not row.schema]


def generated_side(file: SourceFile, torch: str, sink: Diagnostics) -> tuple[RegisteredSide, Sequence[OperatorLibrary]]:
    """What the generated code of a library file registers, and its libraries. Raises what a run for the file raises."""
    with tempfile.TemporaryDirectory() as folder:
        code, libraries = library_code(file, folder, torch=torch, sink=sink)
        sources = [SourceFile.read(path) for path in code.sources if os.path.basename(path).startswith("register")]
        statements = [
            *read_cpp_sources(sources, {}).statements,
            *read_python_sources(list(map(SourceFile.read, code.modules))).statements,
        ]
    side = RegisteredSide()
    side.add(statements)
    functions = {
        (library.library.namespace, function.name.text): (library, function)
        for library in libraries
        for function in library.catalog.functions
    }
    for operator, kernels in side.kernels.items():
        library, function = functions.get(operator, (None, None))
        for key, registered in kernels.items():
            kernels[key] = as_generated(library, function, key, registered)
    return side, libraries


def _whole(
    wholes: Iterable[tuple[SourcePlace, Sequence[SourcePlace]]], taken: Iterable[SourcePlace]
) -> list[SourcePlace]:
    """The declarations of which nothing is left without the places that are taken."""
    replaced = set(taken)
    return [whole for whole, inside in wholes if replaced.issuperset(inside)]


def _without(places: Iterable[SourcePlace], staying: Iterable[SourcePlace]) -> list[SourcePlace]:
    """The places of statements of which nothing stays. What has no statement of its own stays with its lines."""
    staying_places = [*staying]
    statements = {(place.path, place.at) for place in staying_places if place.at >= 0}
    rest = [place for place in places if (place.path, place.at) not in statements]
    return _without_lines(rest, [place for place in staying_places if place.at < 0])


def _without_lines(places: Iterable[SourcePlace], staying: Iterable[SourcePlace]) -> list[SourcePlace]:
    """The places without a line that stays. A line may have several statements, some of which stay."""
    lines = _lines(staying)
    return [place for place in places if lines.get(place.path, set()).isdisjoint(range(place.first, place.last + 1))]


def _lines(places: Iterable[SourcePlace]) -> dict[str, set[int]]:
    """The lines of places by file; none of what a process says."""
    lines: dict[str, set[int]] = {}
    for place in places:
        if place.first:
            lines.setdefault(place.path, set()).update(range(place.first, place.last + 1))
    return lines


def _shown_lines(lines: Mapping[str, Iterable[int]]) -> dict[str, str]:
    """The lines by file, such as `3-7, 12`."""
    return {path: _range_text(sorted(numbers)) for path, numbers in lines.items()}


def _range_text(lines: Sequence[int]) -> str:
    parts: list[list[int]] = []
    for line in lines:
        if parts and parts[-1][1] == line - 1:
            parts[-1][1] = line
        else:
            parts.append([line, line])
    return ", ".join([str(first) if first == last else f"{first}-{last}" for first, last in parts])
