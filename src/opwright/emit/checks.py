"""What must hold for all operators: every emitter has a text for them, and no two have one header.

A fault found here stops a run before any file is written.

`foo_ops.h` belongs to `foo` as well as to `foo_ops`, and `clip.h` to `aten::clip` as well as to `vend::clip`.

Kernels that an author's headers declare are compared with the types that their schemas need in generated code: each has
an object that exists whatever the headers declare, so a mistake is one error of the compiler.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping
from string import ascii_lowercase
from typing import Final

from opwright.cpp.namespaces import enclose, qualified_name
from opwright.cpp.text import guard
from opwright.dialects.native_functions.variants import autogen_names, out_name
from opwright.dialects.nearest import SAME_ARGUMENTS, OverloadIndex, nearest_overload, renamed_overload, schema_span
from opwright.emit.emitter import FilePerUnit, Job
from opwright.emit.registry import emitters, families_with
from opwright.model.catalog import Catalog
from opwright.model.dispatch_key import COMPOSITE_EXPLICIT, COMPOSITE_EXPLICIT_NON_FUNCTIONAL
from opwright.model.native_function import NativeFunction, NativeFunctionsGroup, TypeStyle, ViewGroup
from opwright.release.operator_names.functionalization import NOT_FUNCTIONALIZED
from opwright.schema.function import Argument, SchemaKind, make_argument, required_argument
from opwright.schema.signature import base_of_operation, signature_key
from opwright.schema.tag_rules import TAG_RULES
from opwright.schema.types import OPTIONAL_TENSOR, TENSOR, TENSOR_LIST, annotation
from opwright.source import codes
from opwright.source.diagnostic import Diagnostics, Label, Severity
from opwright.source.records import NamedTuple
from opwright.source.span import Span


def check_emittable(job: Job, sink: Diagnostics) -> None:
    """Reports each operator that some emitter has no text for."""
    _check_writes(job.catalog, sink)
    _check_options(job.catalog, sink)
    _check_groups(job.catalog, sink)
    _check_views(job.catalog, sink)
    check_header_names(job, sink)
    check_functionalization(job, sink)


def _check_writes(catalog: Catalog, sink: Diagnostics) -> None:
    """What is written to is a tensor, not an optional one, and has an alias set of its own."""
    reported: set[Span] = set()
    for function in catalog.functions:
        # Forms that are synthesized from an entry write to the same arguments, which are reported once.
        if not function.arguments.writes or function.entry in reported:
            continue
        written = [argument for argument in function.arguments.all if argument.is_write]
        fault = _fault_of_writes(function, written)
        if fault is not None:
            message, help = fault
            reported.add(function.entry)
            sink.error(codes.UNCLEAR_WRITE, message, function.entry, help=help)


def _fault_of_writes(function: NativeFunction, written: list[Argument]) -> tuple[str, str] | None:
    passes_optional = function.style & (TypeStyle.CONST_REF_MUTABLES | TypeStyle.OPTIONAL_WRITES)
    for index, argument in enumerate(written):
        if argument.type is OPTIONAL_TENSOR and not passes_optional:
            message = f"`{function.name}` writes to the optional tensor `{argument.name}`"
            return message, f"write `{required_argument(argument)}`"
        for other in written[:index]:
            if other.annotation is argument.annotation:
                message = f"`{other.name}` and `{argument.name}` of `{function.name}` are written to as one alias set"
                return message, f"write `{_with_own_alias(argument, function)}`"
    return None


def _with_own_alias(argument: Argument, function: NativeFunction) -> Argument:
    annotations = [other.annotation for other in function.arguments.all if other.annotation is not None]
    used = {name for other in annotations for name in other.before}
    letter = next(letter for letter in (*ascii_lowercase, function.name.base) if letter not in used)
    return make_argument(argument.name, argument.type, argument.default, annotation((letter,), True))


def _check_options(catalog: Catalog, sink: Diagnostics) -> None:
    """Tensor options, and a memory format beside them, have the types that can be packed."""
    for function in catalog.functions:
        options = function.arguments.options
        if options is None or function.is_synthesized:
            continue
        for argument in function.arguments.all:
            is_format = argument.name == "memory_format"
            if (argument in options.all or is_format) and argument.type.text not in _PACKED:
                wanted = "MemoryFormat?" if is_format else f"{argument.type}?"
                message = f"`{argument.name}` of `{function.name}` is of type `{argument.type}`, not `{wanted}`"
                sink.error(codes.OPTIONS_TYPE, message, function.entry)


#: The types of what is packed into tensor options.
_PACKED: Final = frozenset(("ScalarType?", "Layout?", "Device?", "bool?", "MemoryFormat?"))


def _check_groups(catalog: Catalog, sink: Diagnostics) -> None:
    """Functional form of an operation writes nothing, and can be called with what each other form has at hand."""
    for group in catalog.groups:
        if not isinstance(group, NativeFunctionsGroup):
            continue
        functional = group.functional
        for argument in functional.arguments.all if functional.arguments.writes else ():
            if argument.is_write:
                message = (
                    f"`{functional.name}` is the functional form of its operation, and writes to `{argument.name}`"
                )
                help = f"call it `{functional.name.name}_` if it works in place"
                sink.error(codes.UNCLEAR_WRITE, message, functional.entry, help=help)
        if functional.arguments.options is None:
            continue
        for function in group.functions():
            outs = [argument.name for argument in function.arguments.out if argument.type is TENSOR]
            if function.arguments.options is None and "out" not in outs:
                message = (
                    f"`{function.name}` has no tensor `out`, of which its functional form "
                    f"`{functional.name}` could take dtype, layout and device"
                )
                sink.error(codes.OPTIONS_OUT_OF_REACH, message, function.entry)


def _check_views(catalog: Catalog, sink: Diagnostics) -> None:
    """Copying form of a view, which Opwright generates, has a kernel entry and returns tensors."""
    for group in catalog.view_groups:
        if not isinstance(group, ViewGroup) or group.view_copy is None:
            continue
        view, copy = group.view, group.view_copy
        if copy.name.base != f"{view.name.name}_copy":
            continue
        kernel = copy.kernels.get(COMPOSITE_EXPLICIT_NON_FUNCTIONAL)
        if kernel is None:
            message = f"`{copy.name}` is the copying form of `{view.name}` and has no kernel for it"
            help = f"add `{COMPOSITE_EXPLICIT_NON_FUNCTIONAL.name}: {copy.name.name}` to its `dispatch`"
            if copy.has_composite_explicit:
                help = f"write `{COMPOSITE_EXPLICIT_NON_FUNCTIONAL.name}` in place of `{COMPOSITE_EXPLICIT.name}`"
            sink.error(codes.COPY_WITHOUT_KERNEL, message, copy.entry, help=help)
        elif copy.name.text == "view_copy" and copy.library.known_by_name and kernel.name != "view_copy_symint":
            message = f"the kernel of `view_copy` is called `view_copy_symint`, not `{kernel.name}`"
            sink.error(codes.COPY_WITHOUT_KERNEL, message, copy.entry)
        if len(view.schema.returns) != 1 or view.schema.returns[0].type not in (TENSOR, TENSOR_LIST):
            message = f"`{view.name}` returns neither a tensor nor a list of tensors, which is all that can be copied"
            sink.error(codes.VIEW_RETURNS, message, view.entry)


def check_functionalization(job: Job, sink: Diagnostics) -> None:
    """What aliases or writes can be functionalized. For libraries with the stable interface, PyTorch does that.

    What is to be said of operators of others is said to their owner. Operators with forms whose entries have faults are
    left out.
    """
    catalog, absent = job.catalog, job.catalog.absent
    if absent is None or not job.selection.everything:
        return
    if not catalog.is_sound:
        absent = absent | frozenset(_faulty_operations(catalog, sink))
    for group in catalog.view_groups:
        if not isinstance(group, ViewGroup) or group.composite or not group.view.library.defines_operators:
            continue
        if base_of_operation(group.view.name.name) in absent:
            continue
        for view in (group.view, group.view_inplace):
            if view is not None and not _is_plain_view(view):
                message = f"view `{view.name}` must alias its first argument, a tensor, and no other"
                sink.error(codes.VIEW_FORM, message, view.entry)
        if group.view_copy is None:
            message = f"view `{group.view.name}` has no copying form, with the same signature"
            sink.error(codes.VIEW_WITHOUT_COPY, message, group.view.entry)
    index = OverloadIndex(catalog.functions)
    for function in catalog.functions:
        grouped = function.group is not None or function.view_group is not None
        if not function.library.defines_operators or function.library.is_stable:
            continue
        if not grouped and base_of_operation(function.name.name) not in absent and _is_left_alone(function, job):
            _report_not_functional(function, job, index, sink)


def _faulty_operations(catalog: Catalog, sink: Diagnostics) -> Iterator[str]:
    """Names of the operations with an entry that has an error."""
    entries: dict[str, list[tuple[int, str]]] = {}
    for function in catalog.functions:
        place = (function.entry.start, base_of_operation(function.name.name))
        entries.setdefault(function.entry.file.path, []).append(place)
    for places in entries.values():
        places.sort()
    for diagnostic in sink:
        span = diagnostic.span
        if span is None or diagnostic.severity is not Severity.ERROR:
            continue
        places = entries.get(span.file.path, [])
        for start, name in places[: bisect_right(places, (span.start, "\uffff"))][-1:]:
            # Entries with faults are not in the catalog, so the error may be in one that follows.
            if "\n- " not in span.file.text[start : span.start]:
                yield name


def _report_not_functional(function: NativeFunction, job: Job, index: OverloadIndex, sink: Diagnostics) -> None:
    """Report a function that writes and has no group, and why others of its name are not in its group."""
    key = signature_key(function.schema)
    overloads = [member for member in job.by_root[function.root_name] if member.name.base == function.name.base]
    operation = [member for member in overloads if member is not function and signature_key(member.schema) == key]
    message = f"`{function.name}` writes to its arguments, and has neither out nor functional form"
    near = nearest_overload(function, index)
    renamed = renamed_overload(function, index)
    also: tuple[Label, ...] = ()
    at, help = schema_span(function), ""
    if operation:
        other, out = operation[0].name, out_name(function.name)
        message = f"`{function.name}` writes to its arguments, and its operation has `{other}` but no out overload"
        help = f"add an entry for `{out}`, or `autogen: {out}` to that of `{function.name}`"
    elif near is not None:
        message, at, also, help = f"{message}: {near.words}", near.span, (near.other_label,), SAME_ARGUMENTS
    elif renamed is not None:
        help = f"one of the two names may be misspelt: `{function.name.base}`, `{renamed.name.base}`"
        also = (Label(schema_span(renamed), "the same arguments", primary=False),)
    if function.library.keeps_conventions:
        sink.error(codes.NOT_FUNCTIONAL, message, at, help=help or _form_help(function), also=also)
    else:
        message = (
            f"`torch.compile` fails at `{function.name}`: {unfit_result(function)}, and has no functional overload"
        )
        help = help or "return nothing, or add an entry that returns new tensors in place of those that are written"
        sink.warning(codes.NOT_COMPILED, message, at, help=help, also=also)


def unfit_result(function: NativeFunction) -> str:
    """Why PyTorch cannot functionalize a function that writes, as a sentence without its end."""
    returns = function.schema.returns
    if any(result.is_write for result in returns):
        return "it returns what it writes"
    unfit = next(result for result in returns if result.type is not TENSOR or result.annotation is not None)
    return f"it writes to arguments and returns `{unfit.text}`"


def _form_help(function: NativeFunction) -> str:
    forms = ", ".join([name.text for name in autogen_names(function)])
    if forms:
        return f"add `autogen: {forms}`"
    return "delete its `dispatch`: its kernel is then composite, and made of functions that have these forms"


def _is_plain_view(view: NativeFunction) -> bool:
    arguments = view.arguments.non_out
    first = bool(arguments) and arguments[0].type is TENSOR and arguments[0].annotation is not None
    return first and all(argument.annotation is None for argument in arguments[1:])


def _is_left_alone(function: NativeFunction, job: Job) -> bool:
    """Whether an ungrouped operator writes, and is not among those that functionalization knows to leave alone."""
    if function.has_composite_implicit or not function.arguments.writes:
        return False
    if not function.library.in_libtorch:
        has_kernel = any(key.name == "Functionalize" for key in function.kernels)
        if has_kernel or is_functionalized_by_pytorch(function):
            return False
        return functional_form(function, job.by_root[function.root_name]) is None
    names = NOT_FUNCTIONALIZED.in_any_release
    return function.name.text not in names and function.name.name not in names


def is_functionalized_by_pytorch(function: NativeFunction, *, has_tags: bool = True) -> bool:
    """Whether `torch.compile` functionalizes an operator that has no group without a kernel for it.

    PyTorch does so for operators outside `aten` that write to arguments and return new tensors or nothing, and for
    those with the tag `inplace` or `out`. `has_tags` says that such tags are registered.

    >>> import opwright
    >>> is_functionalized_by_pytorch(opwright.load(torch="auto")["record_stream"])
    False
    """
    if function.library.in_libtorch:
        return False
    if has_tags and not function.tags.isdisjoint(TAG_RULES):
        return True
    return all(result.type is TENSOR and result.annotation is None for result in function.schema.returns)


def functional_form(function: NativeFunction, functions: Iterable[NativeFunction]) -> NativeFunction | None:
    """Operator among some that does what another one does, and writes to no argument; None if there is none.

    >>> import opwright
    >>> catalog = opwright.load(torch="auto")
    >>> functional_form(catalog["sinh_"], catalog.functions)
    <native function aten::sinh>
    """
    if function.group is not None:
        return function.group.functional
    operation = [other for other in functions if other.root_name == function.root_name and other is not function]
    functional = [other for other in operation if other.kind is SchemaKind.functional and not other.is_view]
    key = signature_key(function.schema)
    return next((other for other in functional if signature_key(other.schema) == key), None)


#: What may follow an operator's name in the name of one of its headers.
_ENDINGS: Final = ("_ops", "_native", "_meta", "_dispatch")


def check_header_names(job: Job, sink: Diagnostics) -> None:
    """Reports each operator that wants a header of another one's."""
    has_suspects = any(stem in job.by_root for name in job.by_root for stem in _stems(name))
    if not job.options.per_operator_headers or not has_suspects:
        return
    owners: dict[tuple[str, str], str] = {}
    for emitter in emitters(job, families_with("ops")):
        layout = emitter.layout
        if not isinstance(layout, FilePerUnit):
            continue
        for unit in emitter.units(job):
            name: str = unit[0]
            path = layout.path(unit)
            owner = owners.setdefault((emitter.folder, path), name)
            if owner != name:
                first, second = job.by_root[owner][0], job.by_root[name][0]
                message = f"`{owner}` and `{name}` both need the header `{emitter.folder}/{path}`"
                also = (Label(first.entry, "the other one", primary=False),)
                sink.error(codes.SAME_HEADER, message, second.entry, also=also)


def check_headers_of_pytorch(job: Job, sink: Diagnostics) -> None:
    """Reports each operator of another namespace whose headers would hide those of one of PyTorch's operators.

    The headers of a library that is loaded as such are in a folder of its own.
    """
    if not job.options.per_operator_headers:
        return
    for name, functions in job.by_root.items():
        function = functions[0]
        if function.namespace == "aten" or not function.library.in_libtorch:
            continue
        hidden = job.rules.operators.intersection((name, *_stems(name)))
        if hidden:
            owner = f"which is that of PyTorch's own `{max(hidden, key=len)}`"
            message = f"`{function.namespace}::{name}` needs the header `ops/{name}.h`, {owner}"
            help = f"give the operator another name, such as `{function.namespace}_{name}`"
            sink.error(codes.HEADER_OF_PYTORCH, message, function.entry, help=help)


def _stems(name: str) -> tuple[str, ...]:
    """Operators that have a header which is called like the one of `name`, if they exist.

    >>> _stems("foo_ops"), _stems("foo_cpu_dispatch"), _stems("foo")
    (('foo',), ('foo_cpu', 'foo'), ())
    """
    if not name.endswith(_ENDINGS):
        return ()
    stem = name.rpartition("_")[0]
    return (stem, stem.rpartition("_")[0]) if name.endswith("_dispatch") else (stem,)


#: The header that the checks need.
CHECK_HEADER: Final = "opwright/kernel_check.h"


class CheckedKernel(NamedTuple):
    """A kernel: its namespace, its name, its type, and the condition of the preprocessor under which it exists."""

    namespace: str
    name: str
    type: str
    condition: str = ""


def named_kernels(kernels: Iterable[tuple[CheckedKernel, str]]) -> dict[str, tuple[CheckedKernel, str]]:
    """Kernels by the names of their objects, each with the C++ class of the first operator that uses it.

    >>> [*named_kernels([(CheckedKernel("a", "add", "int ()"), "A"), (CheckedKernel("b", "add", "int ()"), "B")])]
    ['add', 'add_2']
    """
    objects: dict[str, tuple[CheckedKernel, str]] = {}
    seen: set[CheckedKernel] = set()
    for kernel, operator in kernels:
        if kernel in seen:
            continue
        seen.add(kernel)
        name, number = kernel.name, 1
        while name in objects:
            number += 1
            name = f"{kernel.name}_{number}"
        objects[name] = kernel, operator
    return objects


def checks_text(objects: Mapping[str, tuple[CheckedKernel, str]], scope: str) -> str:
    """Objects, in the namespace `kernels` of a scope."""
    kernels = [kernel for kernel, _ in objects.values()]
    absent = ", ".join([f"{name}{{}}" for name in dict.fromkeys([kernel.name for kernel in kernels])])
    lines = [enclose(f"{scope}::absent_kernels", f"inline constexpr ::opwright::no_kernel {absent};")]
    lines += [
        enclose(namespace, f"using namespace ::{scope}::absent_kernels;")
        for namespace in dict.fromkeys([kernel.namespace for kernel in kernels])
    ]
    checks = [
        guard(
            kernel.condition,
            f"OPWRIGHT_KERNEL({name}, {qualified_name(kernel.namespace, kernel.name)}, {operator}, {kernel.type});",
        )
        for name, (kernel, operator) in objects.items()
    ]
    body = "\n".join(["namespace {", *checks, "} // namespace"])
    return "\n".join([*lines, enclose(f"{scope}::kernels", body)]) + "\n"
