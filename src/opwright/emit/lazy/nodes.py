"""`LazyIr.h` and `LazyNonNativeIr.h`: the classes of nodes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Final, TypeAlias

from opwright.cpp.namespaces import closing, opening
from opwright.emit.emitter import AnyEmitter, Emitter, FragmentContext, Job, OneFile, Slots
from opwright.emit.lazy.node import LazyNode, node_of, non_native_node
from opwright.emit.lazy.units import ordered_functions
from opwright.model.lazy_backend import LazyBackend
from opwright.syntax.cpp import include_line, quoted_include_line

#: What the headers include besides the base class of nodes.
_INCLUDED: Final = (
    "ATen/core/Formatting.h",
    "c10/core/ScalarType.h",
    "torch/csrc/lazy/core/hash.h",
    "torch/csrc/lazy/core/ir.h",
    "torch/csrc/lazy/core/shape.h",
    "optional",
    "vector",
)
_INCLUDED_NON_NATIVE: Final = (
    "torch/csrc/lazy/core/ir.h",
    "torch/csrc/lazy/core/ir_builder.h",
    "torch/csrc/lazy/core/internal_ops/ltc_ops.h",
    "torch/csrc/lazy/core/shape_inference.h",
)


#: Prints the class of a node.
PrintNode: TypeAlias = Callable[[LazyNode, FragmentContext], str]


def nodes_header(backend: LazyBackend, print_node: PrintNode, family: str) -> AnyEmitter:
    """The emitter of the nodes of operators."""
    return Emitter(
        name="nodes_header",
        family=family,
        template="lazy/LazyIr.h",
        folder=family,
        units=partial(_nodes, backend),
        fragment=partial(_node_fragment, print_node),
        file_slots=partial(_node_slots, backend),
        layout=OneFile("LazyIr.h"),
    )


def non_native_nodes_header(backend: LazyBackend, print_node: PrintNode, family: str) -> AnyEmitter:
    """The emitter of the nodes without an operator."""
    return Emitter(
        name="non_native_nodes_header",
        family=family,
        template="lazy/LazyNonNativeIr.h",
        folder=family,
        units=partial(_non_native_nodes, backend),
        fragment=partial(_non_native_fragment, print_node),
        file_slots=partial(_non_native_slots, backend),
        layout=OneFile("LazyNonNativeIr.h"),
    )


def _nodes(backend: LazyBackend, job: Job) -> Sequence[LazyNode]:
    symint = {entry.function: False for entry in backend.nodes}
    symint |= {entry.function: entry.kernel.symint for entry in backend.generated}
    value = job.options.lazy.value
    return [node_of(function, value, symint=symint[function]) for function in ordered_functions(symint.keys(), job)]


def _non_native_nodes(backend: LazyBackend, job: Job) -> Sequence[LazyNode]:
    return [non_native_node(node, job.options.lazy.value) for node in backend.non_native]


def _node_fragment(print_node: PrintNode, node: LazyNode, context: FragmentContext) -> Slots:
    return {"ir_declarations": [print_node(node, context)]}


def _non_native_fragment(print_node: PrintNode, node: LazyNode, context: FragmentContext) -> Slots:
    return {"non_native_ir_nodes": [print_node(node, context)]}


def _node_slots(backend: LazyBackend, job: Job) -> Slots:
    header = job.options.lazy.node_base_header
    return {
        "lazy_ir_sysinc": list(map(include_line, _INCLUDED)),
        "lazy_ir_inc": [] if header is None else [quoted_include_line(header)],
        "ir_declarations": [],
        **_namespace(backend),
    }


def _non_native_slots(backend: LazyBackend, job: Job) -> Slots:
    header = job.options.lazy.node_base_header
    paths = [*_INCLUDED_NON_NATIVE, *([header] if header else [])]
    return {
        "lazy_non_native_ir_inc": list(map(include_line, paths)),
        "non_native_ir_nodes": [],
        **_namespace(backend),
    }


def _namespace(backend: LazyBackend) -> Slots:
    namespace = backend.backend.cpp_namespace
    return {"namespace_prologue": opening(namespace), "namespace_epilogue": closing(namespace)}
