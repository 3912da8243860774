"""Lazy tensors: the nodes of a graph that a backend file asks for."""

from __future__ import annotations

import enum
from typing import Final

from opwright.backends.external_backend import BackendEntry, ExternalBackend
from opwright.model.native_function import NativeFunction
from opwright.schema.function import FunctionSchema
from opwright.source.records import Frozen, NamedTuple, frozen_fields
from opwright.source.span import Span
from opwright.source.text import SourceFile


class NodeShape(enum.Enum):
    """How a node gets the shapes of its results."""

    precomputed = "the constructor takes them"
    computed = "the constructor calls a shape function"
    cached = "they are computed when they are first needed"

    __hash__ = object.__hash__


class NodeMember(enum.Enum):
    """Whether a class of nodes has a member function."""

    absent = "no"
    declared = "its declaration, because the backend defines it"
    defined = "its definition"

    __hash__ = object.__hash__


class NodeProperties(NamedTuple):
    """What the class of a node contains. With `constant_scalars`, numbers are part of the node instead of inputs."""

    shape: NodeShape
    lower: NodeMember
    reuse: NodeMember
    create: NodeMember = NodeMember.absent
    constant_scalars: bool = False


#: The properties of nodes of operators.
NATIVE_PROPERTIES: Final = NodeProperties(NodeShape.precomputed, lower=NodeMember.defined, reuse=NodeMember.defined)
#: Those of nodes without an operator, unless the file says otherwise.
NON_NATIVE_PROPERTIES: Final = NodeProperties(NodeShape.cached, lower=NodeMember.declared, reuse=NodeMember.defined)


class NodeEntry(NamedTuple):
    """A function of which only the node is generated; `span` is its name in the file."""

    function: NativeFunction
    span: Span


class NonNativeNode(NamedTuple):
    """A node without an operator of PyTorch: its schema, its kind as a C++ expression if the file has one."""

    schema: FunctionSchema
    op_kind: str
    properties: NodeProperties
    span: Span


@frozen_fields
class LazyBackend(Frozen):
    """A backend with lazy tensors.

    `generated` are the entries whose kernels and nodes are generated. `nodes` are functions of which only the nodes
    are. `shape_header` declares the shape functions, None if they are not checked.
    """

    backend: ExternalBackend
    generated: tuple[BackendEntry, ...]
    nodes: tuple[NodeEntry, ...] = ()
    non_native: tuple[NonNativeNode, ...] = ()
    shape_header: SourceFile | None = None

    def __repr__(self) -> str:
        return f"<lazy tensors of {self.backend!r}>"


class RunLazyBackends(NamedTuple):
    """The external backends of a run that have lazy tensors."""

    lazy_backends: tuple[LazyBackend, ...] = ()
