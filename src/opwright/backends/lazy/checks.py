"""Checks that nodes and kernels of lazy tensors can be generated. They run before Opwright writes any file."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from opwright.backends import backend_codes
from opwright.backends.choices import LazyNames
from opwright.backends.external_backend import BackendEntry
from opwright.backends.lazy import convention as lazy
from opwright.backends.lazy.convention import NodeArguments, NodeConvention
from opwright.backends.lazy.kernel import VIEW_COPY, LazyKernel, has_meta_function, shape_declaration
from opwright.backends.lazy_backend import LazyBackend, NodeEntry, RunLazyBackends
from opwright.convention.shared_types import NoCppType
from opwright.cpp import c_types
from opwright.emit.emitter import Job
from opwright.model.native_function import NativeFunction
from opwright.schema.function import Argument, FunctionSchema, SchemaKind
from opwright.schema.names import OperatorName
from opwright.schema.types import TENSOR
from opwright.source.diagnostic import Diagnostics, Label
from opwright.source.span import Span
from opwright.source.text import SourceFile

#: A fault: its code, its message, and the argument that it is about, if it is about one.
LazyFault = tuple[str, str, Argument | None]

#: The overloads that replace the value of an argument.
_WRITING: Final = (SchemaKind.inplace, SchemaKind.out, SchemaKind.scratch)


def check_lazy(job: Job, sink: Diagnostics) -> None:
    """Report each node and each kernel that cannot be generated."""
    names = job.options.of(LazyNames)
    for backend in job.of(RunLazyBackends).lazy_backends:
        for node in backend.non_native:
            constants = node.properties.constant_scalars
            convention = _convention(names, symint=True, constants=constants)
            _report(faults_of_node(node.schema, convention), node.span, sink)
        for entry in backend.nodes:
            _report(faults_of_node(entry.function.schema, _convention(names)), entry.span, sink)
        sound = [entry for entry in backend.generated if not _check_kernel(entry, names, sink)]
        _check_classes(backend, sink)
        if backend.shape_header is not None:
            _check_shape_functions(sound, backend.shape_header, sink)


def _convention(names: LazyNames, *, symint: bool = False, constants: bool = False) -> NodeConvention:
    return NodeConvention(c_types.base(names.value), symint, constants)


def _report(faults: Iterable[LazyFault], span: Span, sink: Diagnostics) -> bool:
    """Report faults, and tell whether there are any. A span with a schema is narrowed to the argument."""
    reported = False
    for code, message, argument in faults:
        sink.error(code, message, span if argument is None else _argument_span(argument, span))
        reported = True
    return reported


def _argument_span(argument: Argument, span: Span) -> Span:
    start = span.text.find(argument.text)
    return Span(span.file, span.start + start, span.start + start + len(argument.text)) if start >= 0 else span


def faults_of_node(schema: FunctionSchema, convention: NodeConvention) -> Iterator[LazyFault]:
    """What keeps a node from being generated."""
    for argument in schema.arguments.all:
        message = f"`{argument.name}` of `{schema.name}` is a `{argument.type}`"
        try:
            type = lazy.argument_type(argument.type, convention)
        except NoCppType:
            yield backend_codes.LAZY_ARGUMENT_TYPE, message, argument
            continue
        if type.kind == "list":
            yield backend_codes.INPUT_LIST, message, argument
    keyword_only = schema.arguments.keyword_only
    generators = [argument for argument in keyword_only if argument.type.text in ("Generator", "Generator?")]
    if len(generators) > 1:
        names = "` and `".join([argument.name for argument in generators])
        yield backend_codes.SEVERAL_GENERATORS, f"`{schema.name}` has the generators `{names}`", generators[1]


def _check_kernel(entry: BackendEntry, names: LazyNames, sink: Diagnostics) -> bool:
    """Report what keeps a kernel from being generated, and tell whether there is anything."""
    schema = entry.function.schema
    convention = _convention(names, symint=entry.kernel.symint)
    if _report(faults_of_node(schema, convention), entry.span, sink):
        return True
    arguments = lazy.arguments(schema.arguments, convention)
    is_faulty = _report(faults_of_kernel(entry.function, arguments, names), entry.span, sink)
    others = [result.type.text for result in schema.returns if result.type is not TENSOR]
    if others or not schema.returns:
        results = f"a `{others[0]}`" if others else "nothing"
        sink.warning(backend_codes.RESULT_TYPE, f"`{schema.name}` returns {results}", entry.span)
    return is_faulty


def faults_of_inputs(name: OperatorName, arguments: NodeArguments) -> Iterator[LazyFault]:
    """Arguments of a node that its kernel cannot pass to it."""
    for argument in arguments.values:
        inner = argument.type.elem if argument.is_optional else argument.type
        # An optional list of numbers passes as one number does.
        if inner.kind != "base" and not (argument.is_optional and argument.is_number):
            yield backend_codes.INPUT_LIST, f"`{argument.name}` of `{name}` is a `{argument.argument.type}`", None


def faults_of_kernel(function: NativeFunction, arguments: NodeArguments, names: LazyNames) -> Iterator[LazyFault]:
    """What keeps a kernel from being generated whose node has these arguments."""
    name, count = function.name, len(function.schema.returns)
    yield from faults_of_inputs(name, arguments)
    tensors = [argument for argument in arguments.values if not argument.is_number]
    if not tensors and not any(argument.argument.type.text == "Device?" for argument in arguments.scalars):
        yield backend_codes.NO_DEVICE, f"`{name}` has neither tensors nor a device", None
    if function.kind in _WRITING and count != 1:
        yield backend_codes.RESULT_COUNT, f"`{name}` writes to its arguments, and returns {count} results", None
    elif not tensors and (count > 1 or names.create_from_tensor):
        yield backend_codes.RESULTS_WITHOUT_TENSOR, f"`{name}` makes {count} results, and takes no tensor", None
    if VIEW_COPY in function.tags and not function.has_composite_non_functional:
        yield (
            backend_codes.LAZY_COPY_WITHOUT_KERNEL,
            f"`{name}` has no CompositeExplicitAutogradNonFunctional kernel",
            None,
        )


def _check_classes(backend: LazyBackend, sink: Diagnostics) -> None:
    """Report nodes that have the class of another one."""
    first: dict[str, BackendEntry | NodeEntry] = {}
    entries: list[BackendEntry | NodeEntry] = [*backend.generated, *backend.nodes]
    for entry in entries:
        name = lazy.name(entry.function.name)
        owner = first.setdefault(name, entry)
        if owner.function is not entry.function:
            also = [Label(owner.span, "first here", primary=False)]
            message = f"the node of `{entry.function.name}` has the class of `{owner.function.name}`, `{name}`"
            sink.warning(backend_codes.LAZY_SAME_CLASS, message, entry.span, also=also)


#: The name of a shape function in a line that declares it.
_DECLARED: Final = re.compile(r"^.*\bcompute_shape_(\w+)\(.*$", re.MULTILINE)


def _check_shape_functions(entries: Iterable[BackendEntry], header: SourceFile, sink: Diagnostics) -> None:
    """Report kernels whose shape functions the header does not declare, or declares with other parameters."""
    lines = frozenset(header.text.replace("\r\n", "\n").replace("\r", "\n").split("\n"))
    for entry in entries:
        if has_meta_function(entry.function):
            continue
        kernel = LazyKernel(entry.function, entry.kernel.name, entry.kernel.symint)
        declaration = shape_declaration(kernel.name, kernel.signature)
        if declaration not in lines:
            message = f"`{header.path}` does not declare the shape function of `{entry.function.name}`"
            near = [match for match in _DECLARED.finditer(header.text) if match[1] == kernel.name]
            also = [Label(header.span(*match.span()), "other parameters", primary=False) for match in near]
            sink.error(backend_codes.NO_SHAPE_FUNCTION, message, entry.span, help=f"declare `{declaration}`", also=also)
