"""What the kernels of autograd's files have in common: names, parameters, views, registration, returned results.

A view shares memory with an argument, its base. Autograd records how the view is made from its base, so that
gradients reach the base after the view was written to.

Each is a function of an operator that does its part (tracing, counting versions, recording gradients) and calls the
operator again for the dispatch keys after its own. `ks` is the set of keys that it was called with.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache

from opwright.convention import dispatcher, public_api
from opwright.convention.caching import per_function
from opwright.emit.aten.units import kernel_argument, own_name
from opwright.emit.emitter import AnyEmitter, Emitter, FragmentContext, Job, OneFile, Sharded, Slots, Unit
from opwright.model.derivatives import DEFAULT_KEY, DifferentiableFunction
from opwright.model.native_function import NativeFunction
from opwright.release.operator_names.autograd import COMPOSED_VIEWS, HAND_WRITTEN, VIEWS
from opwright.release.rules import Rules
from opwright.schema.function import Arguments, SchemaKind
from opwright.source.codes import VIEW_AMONG_RESULTS
from opwright.source.diagnostic import Fault


def autograd_emitter(
    name: str,
    file: str,
    units: Callable[[Job], Sequence[Unit]],
    fragment: Callable[[Unit, FragmentContext], Slots],
    slots: Sequence[str],
    *,
    layout: OneFile | Sharded[Unit] | None = None,
    family: str = "autograd",
) -> AnyEmitter:
    """Emitter of one of autograd's files, or of its shards, whose template has its name; units fill the `slots`."""
    return Emitter(
        name=name,
        family=family,
        template=f"autograd/{file}",
        folder="autograd",
        units=units,
        fragment=fragment,
        layout=layout or OneFile(file),
        file_slots=lambda job: dict.fromkeys(slots, ()),
    )


def view_base(function: NativeFunction, rules: Rules) -> str | None:
    """Name of the argument that the overload's outputs are views of, None where they are no views.

    PyTorch's views are known by name, those of other libraries by their schemas.
    """
    if not function.library.known_by_name:
        aliased = [argument.name for argument in function.arguments.all if argument.annotation is not None]
        return aliased[0] if function.is_view and aliased else None
    name = function.root_name
    return VIEWS.in_release(rules).get(name, "self" if name in COMPOSED_VIEWS.in_any_release else None)


def changes_arguments(function: NativeFunction) -> bool:
    """Whether the overload writes to `self` or to `out`."""
    return function.kind in (SchemaKind.inplace, SchemaKind.out)


def counted_arguments(function: NativeFunction) -> tuple[str, ...]:
    """Names of the arguments whose versions the kernel under ADInplaceOrView counts.

    PyTorch counts those that an overload writes to and returns, other libraries all that it writes to.
    """
    if function.library.takes_any_schema:
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
    """Name of the class that regenerates the view: `AsStridedViewFunc`, `_ConjViewFunc`."""
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


@per_function
def _public_name(function: NativeFunction) -> str:
    return public_api.name(function.schema)


def is_hand_written(function: NativeFunction) -> bool:
    """Whether the kernel of the overload is written by hand."""
    return function.library.known_by_name and _public_name(function) in HAND_WRITTEN.in_any_release


def name_in_messages(function: NativeFunction) -> str:
    """What messages of generated code call the overload: PyTorch's without a namespace."""
    name, library = _public_name(function), function.library
    return name if library.in_libtorch else f"{library.namespace}::{name}"


@per_function
def kernel_name(function: NativeFunction) -> str:
    """The C++ name of the overload's kernel, such as `add_out_out`.

    In other libraries than PyTorch it is not that of a function which formulas can call.
    """
    name, overload = _public_name(function), function.name.overload
    if function.library.takes_any_schema:
        overload = f"{overload}_kernel" if overload else "kernel"
    return f"{name}_{overload}" if overload else name


@per_function
def kernel_head(function: NativeFunction) -> str:
    """The first line of the kernel: return type, name and parameters."""
    return named_head(function, kernel_name(function))


def named_head(function: NativeFunction, name: str) -> str:
    """The first line of a kernel of a name."""
    return dispatcher.signature(function).definition(name, first=f"c10::DispatchKeySet {key_set(function)}")


def key_set(function: NativeFunction) -> str:
    """Name of the parameter that has the keys that the kernel was called with."""
    return own_name(function, "ks")


def kernel_text(head: str, body: str) -> str:
    """Definition of a kernel from its first line and its statements, which are indented."""
    return f"{head} {{\n{body}\n}}\n"


def registration(function: NativeFunction, namespace: str, name: str = "") -> str:
    """Statement that registers the kernel, or one of another name, which stands in a C++ namespace."""
    kernel = kernel_argument(f"{namespace}::{name or kernel_name(function)}", function.library)
    return f'm.impl("{function.name.text}",\n       {kernel}\n);\n'


def redispatch(function: NativeFunction, keys: str) -> str:
    """Call of the operator for those keys of the kernel's that are in `keys`, with the kernel's parameters."""
    names = _argument_names(function.arguments)
    return f"{function.library.operators}::{function.name.unambiguous}::redispatch({key_set(function)} & {keys}{names})"


@cache
def _argument_names(arguments: Arguments) -> str:
    """Names of arguments, to be passed on after another; many overloads have the same."""
    return "".join([f", {argument.name}" for argument in arguments.all])


def declared_results(function: NativeFunction) -> str:
    """Variables that take what the operator returns, as they are declared: `auto result`."""
    returns = function.schema.returns
    names = public_api.return_names(function)
    if len(returns) == 1:
        return f"auto {names[0] if function.library.takes_any_schema else returns[0].name or 'result'}"
    return f"auto [{', '.join(names)}]"


def returned_value(function: NativeFunction) -> str:
    """Expression that a kernel returns: the only result, references to outs, or all results moved into a tuple."""
    names = public_api.return_names(function)
    if len(names) == 1:
        return names[0]
    if function.kind is SchemaKind.out:
        return f"std::forward_as_tuple({', '.join(names)})"
    return f"std::make_tuple({', '.join([f'std::move({name})' for name in names])})"
