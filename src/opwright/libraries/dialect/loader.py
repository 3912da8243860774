"""Loads library files: the operators of each namespace, with a catalog of their own, by rules between the entries."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Final

from opwright.convention import public_api
from opwright.dialects.dialect import LoadContext
from opwright.dialects.field import LIBRARY_ENTRY
from opwright.dialects.native_functions.entry_builder import (
    EntryContext,
    argument_span,
    dispatch_key_span,
    kernel_span,
    key_span,
    value_span,
)
from opwright.dialects.native_functions.loader import link_entries, load_entries
from opwright.dialects.native_functions.report import CrossReport
from opwright.dialects.nearest import schema_span
from opwright.dialects.table import NATIVE_FUNCTIONS, TAGS
from opwright.dialects.tags import load_tags
from opwright.dialects.values import Releases
from opwright.emit.checks import is_functionalized_by_pytorch, unfit_result
from opwright.libraries import library_codes
from opwright.libraries.declared_outputs import depends_on_values
from opwright.libraries.dialect.contracts import contract_overloads
from opwright.libraries.dialect.derivatives import NamedDerivatives, with_derivatives
from opwright.libraries.dialect.entry_checks import check_library_entry
from opwright.libraries.dialect.fields import ENTRY_ROWS
from opwright.libraries.dialect.head import HEAD_NAMES, IMPLEMENTS, Head, read_head
from opwright.libraries.dialect.implemented import (
    Implemented,
    check_implemented,
    implemented,
    lock_help,
    schemas_path,
)
from opwright.libraries.dialect.namespaces import (
    NamespaceEntries,
    NamespaceFacts,
    entries_by_namespace,
    namespace_facts,
)
from opwright.libraries.dialect.requirements import put_behind_checks, share_requirements
from opwright.libraries.dialect.saved import public_operators
from opwright.libraries.entry_fields import LibraryFields, library_fields
from opwright.libraries.kernels import implementations_of, written_kernels
from opwright.libraries.operator_library import OperatorLibrary, overloads_with_dtype
from opwright.model.catalog import Catalog
from opwright.model.dispatch_key import COMPOSITE_EXPLICIT, COMPOSITE_IMPLICIT, LIBRARY_KEYS, META
from opwright.model.library import PYTORCH
from opwright.model.native_function import Kernel, NativeFunction, UnlinkedFunction
from opwright.release.inputs import Inputs
from opwright.release.rules import Rules
from opwright.release.version_range import VersionRange
from opwright.schema.function import FunctionSchema
from opwright.schema.tag_rules import TAG_RULES
from opwright.schema.types import holds_tensors
from opwright.source.codes import NOT_COMPILED
from opwright.source.diagnostic import Diagnostics, Fault, Severity
from opwright.source.nodes import MappingNode, Node
from opwright.source.records import NamedTuple
from opwright.source.text import SourceFile
from opwright.source.yaml import load_yaml
from opwright.syntax.dispatcher_schemas import DISPATCHER, is_seen_by_dispatcher
from opwright.workspace.named_files import read_named_file


class LibrarySource(NamedTuple):
    """Entries of a library with the head above them, and the path of the file that they are in."""

    head: Head
    items: Sequence[Node]
    path: str


def load(files: Sequence[SourceFile], context: LoadContext) -> tuple[OperatorLibrary, ...]:
    """Operators of library files by namespace, in the order of the files. Faults go to the sink of the context."""
    file_sink = Diagnostics()
    sources = []
    for file in files:
        try:
            sources.append(LibrarySource(*read_head(load_yaml(file), file_sink), file.path))
        except Fault as fault:
            file_sink.add(fault.diagnostic)
    _report_all(file_sink, context)
    return load_sources(sources, context)


def load_sources(
    sources: Iterable[LibrarySource], context: LoadContext, *, of_owner: bool = False
) -> tuple[OperatorLibrary, ...]:
    """Operators of sources by namespace, in the order of the sources. Faults go to the sink of the context.

    Sources `of_owner` are read for their schemas, so what an operator lacks is no fault.
    """
    file_sink = Diagnostics()
    tags = load_tags(TAGS.files(context.inputs)[0], file_sink)
    namespaces: dict[str, list[NamespaceEntries]] = {}
    named: list[NamedDerivatives] = []
    owned: dict[str, Implemented] = {}
    for source in sources:
        head, items = source.head, source.items
        _check_release(head, context.rules, file_sink)
        if head.implements:
            resolved = _with_schemas(source, context, file_sink)
            if resolved is None:
                continue
            items, owned[head.namespace] = resolved.items, resolved
        by_namespace = entries_by_namespace(items, head, file_sink)
        named.append(NamedDerivatives(head, source.path, tuple(by_namespace) or (head.namespace,)))
        for namespace, entries in by_namespace.items():
            namespaces.setdefault(namespace, []).append(NamespaceEntries(head, entries))
    owners = {name: resolved.owner for name, resolved in owned.items()}
    facts = {name: namespace_facts(name, parts, owners.get(name), file_sink) for name, parts in namespaces.items()}
    if of_owner:
        facts = {name: namespace.of_owner() for name, namespace in facts.items()}
    _check_headers(facts.values(), file_sink)
    libraries = [
        _load_namespace(facts[name], parts, tags, context, file_sink, owned.get(name))
        for name, parts in namespaces.items()
    ]
    derived = with_derivatives(libraries, named, context._replace(sink=file_sink))
    _report_all(file_sink, context)
    return derived


def _with_schemas(source: LibrarySource, context: LoadContext, sink: Diagnostics) -> Implemented | None:
    """Entries of a source with the schemas of the library that defines their operators.

    Faults go to `sink`, also those of the other library's file if it lacks an operator; nothing is given if that cannot
    be read.
    """
    head, at = source.head, source.head.spans[IMPLEMENTS]
    owner_sink = Diagnostics()
    owner_context = context._replace(sink=owner_sink)
    file = read_named_file(schemas_path(head), source.path, at, library_codes.OWNERS_FILE, owner_context)
    if file is None:
        help = lock_help(head, source.path)
        sink.extend(
            diagnostic._replace(help=help) if diagnostic.code == library_codes.OWNERS_FILE else diagnostic
            for diagnostic in owner_sink
        )
        return None
    try:
        owner_head, items = read_head(load_yaml(file), owner_sink)
        if owner_head.implements:
            message = f"`{schemas_path(head)}` defines no operators, and has kernels for those of others"
            sink.error(library_codes.OWNERS_FILE, message, at, help="name the library that defines them")
            return None
        # Its formulas, and the releases that it is for, are no concern of those who read schemas.
        owner_head = owner_head._replace(derivatives="", torch=VersionRange())
        libraries = load_sources([LibrarySource(owner_head, items, file.path)], owner_context, of_owner=True)
    except Fault as fault:
        owner_sink.add(fault.diagnostic)
        libraries = ()
    own_sink = Diagnostics()
    of_owner = implemented(source.items, head, libraries, own_sink)
    if any(diagnostic.code == library_codes.OWNERS_OPERATOR for diagnostic in own_sink):
        sink.extend(diagnostic for diagnostic in owner_sink if diagnostic.severity is Severity.ERROR)
    sink.extend(own_sink)
    return of_owner


def _report_all(namespace_sink: Diagnostics, context: LoadContext) -> None:
    """Report faults to the sink of a run, warnings as errors if the run is strict."""
    context.sink.extend(
        diagnostic._replace(severity=Severity.ERROR)
        if context.strict and diagnostic.severity is Severity.WARNING
        else diagnostic
        for diagnostic in namespace_sink
    )


def _check_release(head: Head, rules: Rules, sink: Diagnostics) -> None:
    """Report a library that is not for the release of the run."""
    if not head.torch.includes(rules.version):
        at = head.spans["torch"]
        message = f"the library is for PyTorch `{at.text}`, and this run is for {rules.version}"
        sink.error(
            library_codes.LIBRARY_TORCH_EXCLUDED,
            message,
            at,
            help="choose another release with `--torch` or `--release`",
        )


def _check_headers(namespaces: Iterable[NamespaceFacts], sink: Diagnostics) -> None:
    """Report namespaces whose headers would have the same names."""
    owners: dict[str, NamespaceFacts] = {}
    for facts in namespaces:
        api = facts.library.library.api
        owner = owners.setdefault(api, facts)
        if owner is not facts:
            names = f"`{owner.namespace}` and `{facts.namespace}`"
            message = f"the namespaces {names} have the same C++ namespace `{api}`"
            sink.error(library_codes.HEADS_DIFFER, message, facts.cpp_span or owner.cpp_span)


def _load_namespace(
    facts: NamespaceFacts,
    parts: list[NamespaceEntries],
    tags: dict[str, str],
    context: LoadContext,
    sink: Diagnostics,
    of_owner: Implemented | None,
) -> OperatorLibrary:
    library, names = facts.library, facts.library.library
    namespace_sink = Diagnostics()
    entries = [item for part in parts for item in part.items]
    report = CrossReport(namespace_sink, [item for item in entries if isinstance(item, MappingNode)])
    entry_context = EntryContext(
        frozenset(tags),
        frozenset(),
        namespace_sink,
        library=names,
        fields=ENTRY_ROWS,
        make_guest_fields=LibraryFields,
        head_names=HEAD_NAMES,
        keys=LIBRARY_KEYS,
        extra_keys=context.extra_keys_at(LIBRARY_ENTRY),
        releases=Releases(context.rules.version, VersionRange(), namespace_sink),
        grammar=DISPATCHER,
        kernel_namespace=facts.kernel_namespace,
        check_more=check_library_entry,
    )
    functions: list[UnlinkedFunction] = load_entries(entries, entry_context, report)
    share_requirements(functions)
    put_behind_checks(functions)
    functions += [*contract_overloads(functions), *public_operators(functions)]
    linked = link_entries(functions, report, tag_by_kind=False)
    check_entries(linked.functions, report, has_own_signatures=library.has_own_signatures, abi=library.abi)
    if of_owner is not None:
        check_implemented(linked.functions, of_owner, report)
    elif names.namespace == PYTORCH.namespace:
        check_operators_are_new(functions, context.inputs, report)
    sink.extend(namespace_sink)
    catalog = Catalog(
        *linked, tuple(LIBRARY_KEYS.values()), tags, report.absent, is_sound=not namespace_sink.has_errors
    )
    return library.replace(catalog=catalog)


_APPEND_DTYPE: Final = "fp32_append_dtype"

#: The name of an operator at the beginning of an entry of PyTorch's. Entries are found in the text, because loading
#: them takes longer than the rest of a run for a library.
_ENTRY: Final = re.compile(r"^- func: (?:aten::)?([\w.]+)\(", re.MULTILINE)
_AUTOGEN: Final = re.compile(r"^  autogen: (.*)", re.MULTILINE)

#: The keys, besides composite ones, that PyTorch adds to those of the arguments of each call.
_CALLED_WITHOUT_TENSORS: Final = frozenset(("ADInplaceOrView", "BackendSelect"))


def check_entries(
    functions: Iterable[NativeFunction], report: CrossReport, *, has_own_signatures: bool, abi: str
) -> None:
    """Report faults that concern several entries of a namespace."""
    written = [function for function in functions if not function.is_synthesized]
    if has_own_signatures:
        _check_typed(written, report)
    else:
        _check_kernels(written, report)
    _check_conditions(written, report)
    _check_requirements(written, report, has_own_signatures=has_own_signatures)
    _check_callers(written, report)
    for function in written:
        if library_fields(function).outputs:
            _check_outputs(function, report)
        # Kernels over borrowed tensors that take none are registered for all calls.
        if function.kernels and abi != "dlpack" and not _is_reached(function, is_stable=abi == "stable"):
            _report_unreached(function, report)
        elif function.kernels and not function.has_composite_kernel:
            _report_hidden_tensors(function, report)
        if function.library.is_stable and function.library.defines_operators:
            _check_traced_write(function, report, takes_views=abi == "dlpack")
        autocast = library_fields(function).autocast
        policies = [autocast.everywhere, *(policy for _, policy in autocast.by_device)]
        if _APPEND_DTYPE in policies:
            _check_dtype_overload(function, written, report)


def _check_traced_write(function: NativeFunction, report: CrossReport, *, takes_views: bool) -> None:
    """An operator with the stable interface that writes is one that PyTorch functionalizes without its tags."""
    is_left = function.has_composite_implicit or any(key.name == "Functionalize" for key in function.kernels)
    if not function.arguments.writes or is_left or is_functionalized_by_pytorch(function, has_tags=False):
        return
    tags = [f"`{tag}`" for tag in TAG_RULES if tag in function.tags]
    why = f", and the stable C++ API cannot register the tag {tags[0]}" if tags else ""
    message = f"`torch.compile` fails at `{function.name}`: {unfit_result(function)}{why}"
    help = "return nothing of what it writes, or write `abi: native`" if tags else "return new tensors or nothing"
    if tags and takes_views:  # Such kernels cannot be those of the native interface.
        help = "return nothing of what it writes"
    report.warning(NOT_COMPILED, message, schema_span(function), help=help)


def _check_dtype_overload(function: NativeFunction, functions: Iterable[NativeFunction], report: CrossReport) -> None:
    """Report a policy of autocast that calls an overload which is missing, or which exists in other builds."""
    overloads = [*overloads_with_dtype(function, functions)]
    if not overloads:
        message = f"`{function.name}` has no overload that also takes a `ScalarType`"
        report.error(library_codes.AUTOCAST_SCHEMA, message, value_span(report.node(function), "autocast"))
    elif not any(library_fields(overload).condition == library_fields(function).condition for overload in overloads):
        message = f"autocast calls `{overloads[0].name}`, which has another condition than `{function.name}`"
        also = report.other(overloads[0], "this overload")
        report.error(library_codes.CONDITIONS_DIFFER, message, value_span(report.node(function), "autocast"), also=also)


def _check_typed(functions: Iterable[NativeFunction], report: CrossReport) -> None:
    """Report several kernels for a key whose signatures generated code does not know."""
    for function in functions:
        for key, kernel in function.kernels.items():
            if implementations_of(kernel):
                message = f"the kernels of `{function.name}` have signatures of their own, so nothing can choose one"
                help = "remove `kernel_signatures: declared`"
                report.error(
                    library_codes.IMPLEMENTATION, message, dispatch_key_span(report.node(function), key.name), help=help
                )


def _check_callers(functions: Iterable[NativeFunction], report: CrossReport) -> None:
    """Report kernels that C++ would not tell from the functions that generated headers give to callers."""
    functions = [*functions]
    callers = {
        f"{function.library.api}::{name}": function for function in functions for name in public_names(function.schema)
    }
    for function in functions:
        for kernel in () if function.manual_kernel_registration else _own_kernels(function):
            caller = callers.get(f"{kernel.namespace}::{kernel.name}")
            if caller is None or kernel.structured:
                continue
            name = f"{kernel.namespace}::{kernel.name}"
            message = f"`{name}` is the function that generated headers give to callers of `{caller.name}`"
            api = function.library.api
            help = f"write `cpp_namespace: {api}::ops` in the head, or move the kernel out of `{api}`"
            report.error(
                library_codes.KERNEL_IS_CALLER, message, kernel_span(report.node(function), kernel.name), help=help
            )


def _check_requirements(functions: Iterable[NativeFunction], report: CrossReport, *, has_own_signatures: bool) -> None:
    """Report requirements that nothing would check, and layouts that kernels would not get."""
    for function in functions:
        requirements = library_fields(function).requirements
        if requirements is None:
            continue
        at = report.name(function)
        if has_own_signatures or function.manual_kernel_registration:
            message = f"the kernels of `{function.name}` get arguments as they are, so nothing checks what it requires"
            report.error(
                library_codes.CONTRADICTION, message, at, help="let generated code declare and register the kernels"
            )
        elif function.ends_in_autograd:
            message = f"`{function.name}` has kernels for autograd alone, before which nothing is checked"
            report.error(
                library_codes.CONTRADICTION, message, at, help="move the requirements to the operators that it calls"
            )
        elif requirements.copied and function.in_structured_group:
            message = f"the structured kernel of `{function.name}` gets its arguments as they are"
            report.error(
                library_codes.REQUIRED_LAYOUT, message, at, help="refuse other layouts with `!`, as in `contiguous!`"
            )


def _check_conditions(functions: Iterable[NativeFunction], report: CrossReport) -> None:
    """Report overloads of one operation with different conditions."""
    first: dict[object, NativeFunction] = {}
    for function in functions:
        for group in (function.group, function.view_group):
            owner = function if group is None else first.setdefault(group, function)
            if library_fields(owner).condition != library_fields(function).condition:
                message = f"`{function.name}` has another condition than `{owner.name}`"
                also = report.other(owner, "this overload")
                report.error(library_codes.CONDITIONS_DIFFER, message, report.name(function), also=also)


def check_operators_are_new(functions: Iterable[UnlinkedFunction], inputs: Inputs, report: CrossReport) -> None:
    """Report operators that the release has already."""
    names = _released_names(inputs.read_text(NATIVE_FUNCTIONS.inputs[0]).text)
    for function in functions:
        if function.name.text in names:
            message = f"PyTorch already has `{function.namespace}::{function.name}`"
            help = "use a namespace of your own, or another overload name"
            report.error(library_codes.OPERATOR_EXISTS, message, report.name(function), help=help)


def _released_names(text: str) -> frozenset[str]:
    listed = [name.strip() for names in _AUTOGEN.findall(text) for name in names.split(",")]
    return frozenset([*_ENTRY.findall(text), *listed])


def _check_outputs(function: NativeFunction, report: CrossReport) -> None:
    group = function.group
    members = [function] if group is None else group.functions()
    at = key_span(report.node(function), "outputs")
    with_meta = [member for member in members if META in member.kernels]
    if function.has_composite_implicit:
        message = f"`{function.name}` is composite: its outputs are those of the operators that it calls"
        report.error(library_codes.OUTPUT_TWICE, message, at, help="remove `outputs`, or name kernels in `dispatch`")
    elif with_meta:
        message = f"`{with_meta[0].name}` has a kernel for `{META.name}`, which would give the same outputs"
        also = report.other(with_meta[0], "this operator")
        report.error(library_codes.OUTPUT_TWICE, message, at, help="remove one of the two", also=also)
    elif depends_on_values(library_fields(function).outputs) and (
        group is not None or library_fields(function).contracts
    ):
        message = f"`{function.name}` has a size that depends on values, and nobody can make its out argument before"
        report.error(library_codes.OUTPUT_SCHEMA, message, at, help="remove the out overload or the contracts")
    elif group is not None and function is group.out and library_fields(group.functional).outputs:
        message = f"`{group.functional.name}` has declared the outputs already"
        also = report.other(group.functional, "this overload")
        report.error(library_codes.OUTPUT_TWICE, message, at, help="remove one of the two", also=also)


def _check_kernels(functions: Iterable[NativeFunction], report: CrossReport) -> None:
    """Report structured kernels of two operators: such a kernel is a class with the arguments of one operation."""
    owners: dict[tuple[str, str], NativeFunction] = {}
    for function in functions:
        for kernel in _own_kernels(function):
            if not kernel.structured:
                continue
            owner = owners.setdefault((kernel.namespace, kernel.name), function)
            if owner is not function:
                message = f"`{kernel.name}` is also the kernel of `{owner.name}`"
                also = report.other(owner, "the other operator")
                report.error(
                    library_codes.KERNEL_TWICE, message, kernel_span(report.node(function), kernel.name), also=also
                )


def _is_reached(function: NativeFunction, *, is_stable: bool) -> bool:
    """Whether calls of an operator reach one of its kernels: by a tensor among the arguments, or without any."""
    if function.has_composite_kernel or any(
        is_seen_by_dispatcher(argument.type) for argument in function.arguments.all
    ):
        return True
    # The generated kernel of a factory under BackendSelect reads the tensor options.
    by_options = function.is_factory and not is_stable
    return by_options or any(key.name in _CALLED_WITHOUT_TENSORS for key in function.kernels)


def _report_unreached(function: NativeFunction, report: CrossReport) -> None:
    """Report that each call of an operator fails."""
    key, kernel = next(iter(function.kernels.items()))
    message = f"`{function.name}` takes no tensor, so PyTorch never chooses its kernel for `{key.name}`"
    help = f"name it under the key that needs no tensor: `{COMPOSITE_EXPLICIT.name}: {kernel.name}`"
    report.warning(
        library_codes.UNREACHED_KERNEL, message, dispatch_key_span(report.node(function), key.name), help=help
    )


def _report_hidden_tensors(function: NativeFunction, report: CrossReport) -> None:
    """Report tensors at which the dispatcher does not look."""
    for argument in function.arguments.all:
        if holds_tensors(argument.type) and not is_seen_by_dispatcher(argument.type):
            message = f"the dispatcher does not see tensors in `{argument.type} {argument.name}`"
            help = f"take `Tensor[]` or `Tensor?[]`, or name a kernel for `{COMPOSITE_IMPLICIT.name}`"
            report.warning(
                library_codes.HIDDEN_TENSORS, message, argument_span(report.node(function), argument.text), help=help
            )


def _own_kernels(function: NativeFunction) -> Iterator[Kernel]:
    """Different kernels that an entry names, or that it has by its name."""
    seen: set[tuple[str, str]] = set()
    for kernel in chain.from_iterable([written_kernels(chosen) for chosen in function.kernels.values()]):
        if (kernel.namespace, kernel.name) not in seen:
            seen.add((kernel.namespace, kernel.name))
            yield kernel


def public_names(schema: FunctionSchema) -> frozenset[str]:
    """All names that functions of the public API for an overload may have.

    >>> from opwright.schema import parse_schema
    >>> sorted(public_names(parse_schema("add.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)")))
    ['add_out', 'add_outf', 'add_symint_out', 'add_symint_outf']
    """
    forms = (False, True)
    return frozenset(
        [public_api.name(schema, faithful=faithful, symint=symint) for faithful in forms for symint in forms]
    )
