"""The files of lazy tensors, and how their code is printed: what a backend changes that lowers graphs in its own way.

The files are the same for all backends. A package with a style of its own registers a family whose module has this:

    STYLE = LazyStyle(TORCHSCRIPT.nodes._replace(lower=lower_to_mine), TORCHSCRIPT.kernels)

    def emitters(job: Job) -> list[AnyEmitter]:
        return [emitter for backend in job.lazy_backends for emitter in lazy_emitters(backend, STYLE, "mine")]
"""

from __future__ import annotations

from typing import Final, Protocol

from opwright.emit.backend.headers import native_functions_header
from opwright.emit.emitter import AnyEmitter, FragmentContext, Job
from opwright.emit.lazy import kernel, node
from opwright.emit.lazy.kernel import KernelStyle, LazyKernel, kernel_definition
from opwright.emit.lazy.native_functions import native_functions_source
from opwright.emit.lazy.node import LazyNode, NodeStyle, node_class
from opwright.emit.lazy.nodes import nodes_header, non_native_nodes_header
from opwright.emit.lazy.registrations import registration_sources
from opwright.model.lazy_backend import LazyBackend
from opwright.source.named_tuple import NamedTuple


class LazyPrinter(Protocol):
    """What prints the nodes and kernels of a backend."""

    def print_node(self, own: LazyNode, context: FragmentContext, /) -> str:
        """The class of a node."""
        ...

    def print_kernel(self, own: LazyKernel, owner: str, context: FragmentContext, /) -> str:
        """The definition of a kernel, a member of the class `owner`."""
        ...


class LazyStyle(NamedTuple):
    """The functions that print what backends print in their own ways."""

    nodes: NodeStyle
    kernels: KernelStyle

    def print_node(self, own: LazyNode, context: FragmentContext) -> str:
        """The class of a node."""
        return node_class(own, self.nodes, context.options.lazy, context.rules)

    def print_kernel(self, own: LazyKernel, owner: str, context: FragmentContext) -> str:
        """The definition of a kernel, a member of the class `owner`."""
        return kernel_definition(own, owner, self.kernels, context.options.lazy)


#: Nodes that are never used again, and lowered by the backend.
PLAIN: Final = LazyStyle(node.PLAIN, kernel.DEFAULT)
#: The TorchScript backend of PyTorch.
TORCHSCRIPT: Final = LazyStyle(node.TORCHSCRIPT, kernel.DEFAULT)

#: The styles that a run can name.
STYLES: Final = {"plain": PLAIN, "torchscript": TORCHSCRIPT}


def lazy_emitters(backend: LazyBackend, printer: LazyPrinter, family: str) -> list[AnyEmitter]:
    """The emitters of all files of a backend, whose output folder has the name of their family."""
    return [
        native_functions_header(backend.backend, family),
        *registration_sources(backend, family),
        native_functions_source(backend, printer.print_kernel, family),
        nodes_header(backend, printer.print_node, family),
        non_native_nodes_header(backend, printer.print_node, family),
    ]


def emitters(job: Job) -> list[AnyEmitter]:
    """The emitters of all files of the run's backends with lazy tensors, in the style that the run names."""
    style = STYLES[job.options.lazy.style]
    return [emitter for backend in job.lazy_backends for emitter in lazy_emitters(backend, style, "lazy")]
