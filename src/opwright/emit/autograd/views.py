"""Which operators give views, as autograd sees it.

A view shares memory with an argument, its base. Autograd records how the view is made from its base, so that
gradients reach the base after the view was written to.
"""

from __future__ import annotations

from opwright.convention import public_api
from opwright.emit.autograd.kernels import is_hand_written
from opwright.model.derivatives import DEFAULT_KEY, DifferentiableFunction
from opwright.model.library import PYTORCH
from opwright.model.native_function import NativeFunction
from opwright.release.operator_names.autograd import COMPOSED_VIEWS, VIEWS
from opwright.schema.function import SchemaKind
from opwright.source.codes import VIEW_AMONG_RESULTS
from opwright.source.diagnostic import Fault


def view_base(function: NativeFunction) -> str | None:
    """The name of the argument that the overload's outputs are views of, None where they are no views.

    PyTorch's views are known by name, those of other libraries by their schemas.
    """
    if function.library is not PYTORCH:
        aliased = [argument.name for argument in function.arguments.all if argument.annotation is not None]
        return aliased[0] if function.is_view and aliased else None
    name = function.root_name
    return VIEWS.in_any_release.get(name, "self" if name in COMPOSED_VIEWS.in_any_release else None)


def changes_arguments(function: NativeFunction) -> bool:
    """Whether the overload writes to `self` or to `out`."""
    return function.kind in (SchemaKind.inplace, SchemaKind.out)


def counted_arguments(function: NativeFunction) -> tuple[str, ...]:
    """The names of the arguments whose versions the kernel under ADInplaceOrView counts.

    PyTorch counts those that an overload writes to and returns, other libraries all that it writes to.
    """
    if function.library is not PYTORCH:
        return tuple([argument.name for argument in function.arguments.all if argument.is_write])
    return tuple(public_api.return_names(function)) if changes_arguments(function) else ()


def has_kernel(function: DifferentiableFunction) -> bool:
    """Whether the function has a generated kernel: where it needs a derivative or has one.

    All others call functions that have one.
    """
    return (function.function.needs_derivative or function.has_derivatives) and not is_hand_written(function.function)


def gives_list(function: NativeFunction) -> bool:
    """Whether the overload returns a list of tensors, each of which is a view by its index."""
    returns = function.schema.returns
    return len(returns) == 1 and returns[0].type.is_tensor_like and returns[0].type.list_like is not None


def class_name(function: NativeFunction) -> str:
    """The name of the class that makes the view again: `AsStridedViewFunc`, `_ConjViewFunc`."""
    name = f"{function.name.unambiguous}_view_func"
    private = "_" if name.startswith("_") else ""
    return private + "".join([part.title() for part in name.split("_")])


def is_differentiable_view(differentiable_function: DifferentiableFunction) -> bool:
    """Whether the result of a view carries gradients; raises Fault where there are several that do."""
    function, info = differentiable_function.function, differentiable_function.infos.get(DEFAULT_KEY)
    returns = function.schema.returns
    if info is not None and info.output_differentiability is not None:
        count = sum(info.output_differentiability)
    else:
        without = info.non_differentiable if info is not None else ()
        names = public_api.return_names(function)
        count = sum(
            [result.type.is_tensor_like and name not in without for name, result in zip(names, returns, strict=True)]
        )
        if info is not None and info.uses_single_grad:
            count = min(count, 1)
    if count > 1:
        message = f"view `{function.name}` has {count} differentiable results"
        raise Fault.at(VIEW_AMONG_RESULTS, message, function.entry)
    return count == 1
