"""Checks of operator libraries that need to know which code is generated."""

from __future__ import annotations

from opwright.convention.dispatcher import returned_arguments
from opwright.dialects.nearest import schema_span
from opwright.emit.emitter import Job
from opwright.emit.library.meta_kernels import has_meta_kernel
from opwright.emit.library.python.fakes import has_fake
from opwright.model.dispatch_key import META
from opwright.model.native_function import NativeFunction
from opwright.schema.function import SchemaKind
from opwright.source.codes import NO_SHAPES
from opwright.source.diagnostic import Diagnostics

__all__ = ["check_shapes"]


def check_shapes(job: Job, sink: Diagnostics) -> None:
    """Warn about operators whose results have no shapes while PyTorch traces."""
    for library in job.libraries:
        lacks_shapes = _lacks_fake if library.is_stable else _lacks_shapes
        for function in library.catalog.functions:
            if lacks_shapes(function):
                message = f"tracing fails at `{function.name}`: nothing says which sizes and dtypes its results have"
                is_new = None in returned_arguments(function.schema)
                help = "declare `outputs`, or name a kernel for `Meta`" if is_new else "name a kernel for `Meta`"
                sink.warning(NO_SHAPES, message, schema_span(function), help=help)


def _lacks_fake(function: NativeFunction) -> bool:
    return not (has_fake(function) or function.has_composite_kernel or META in function.kernels)


def _lacks_shapes(function: NativeFunction) -> bool:
    if function.is_synthesized or function.in_structured_group or function.has_composite_kernel:
        return False
    # In-place overloads without a kernel for Meta return the argument that they write.
    if META in function.kernels or has_meta_kernel(function) or function.kind is SchemaKind.inplace:
        return False
    types = [argument.type for argument in function.arguments.all]
    types += [result.type for result in function.schema.returns]
    return any(type.is_tensor_like for type in types)
