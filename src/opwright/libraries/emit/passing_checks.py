"""Checks that the generated kernels of an operator can handle what it takes and what it returns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from opwright.dialects.nearest import SAME_ARGUMENTS, schema_span, word_span
from opwright.emit.aten.vmap import plumbing_kind
from opwright.emit.autograd.kernels import has_kernel
from opwright.emit.autograd.variable_type import is_unpacked
from opwright.emit.checks import functional_form
from opwright.libraries.emit.boxed_calls import has_constructor
from opwright.libraries.emit.parts import by_root, has_own_kernel
from opwright.libraries.entry_fields import library_fields, outputs_of
from opwright.libraries.library_codes import NO_CONVERSION
from opwright.libraries.operator_library import OperatorLibrary
from opwright.model.derivatives import DifferentiableFunction
from opwright.model.native_function import NativeFunction, NativeFunctionsGroup, ViewGroup
from opwright.schema.function import Return, SchemaKind
from opwright.schema.types import ListType, OptionalType, Type
from opwright.source.codes import NO_FUNCTIONAL
from opwright.source.diagnostic import Diagnostics
from opwright.source.records import NamedTuple


class _Feature(NamedTuple):
    """Code that is generated for an operator: its name, what the user does to have none, and the results it takes.

    `results` is None if any result serves.
    """

    name: str
    help: str
    results: frozenset[str] | None


_COMPOSITE: Final = "give the operator a kernel for `CompositeImplicitAutograd`"
_RULE: Final = _Feature("a batching rule", "remove `batch_rule`", frozenset(("Tensor", "Tensor[]")))
_DERIVATIVE: Final = _Feature("a derivative", "remove the derivative", frozenset(("Tensor", "Tensor?", "Tensor[]")))
_FORWARD: Final = _Feature("a forward formula", "remove the formula", frozenset(("Tensor", "Tensor[]")))
#: Takes any arguments: it is boxed where it could not take them one by one.
_AUTOGRAD: Final = _Feature("", "", None)
_VIEW: Final = _Feature("a view", _COMPOSITE, None)
_MADE: Final = _Feature("a synthesized overload", "remove `autogen`", frozenset(("Tensor", "Tensor[]")))
_WRITE: Final = _Feature(
    "functionalization", "name a kernel for `Functionalize`, or " + _COMPOSITE, frozenset(("Tensor", "Tensor[]"))
)


def check_passing(library: OperatorLibrary, sink: Diagnostics) -> None:
    """Report arguments and results that generated kernels cannot handle, at the argument, once for each overload."""
    differentiable = library.differentiable_functions()
    roots = by_root(library.catalog.functions)
    for function in library.catalog.functions:
        if function.is_synthesized:
            continue
        derivative = differentiable[function]
        _check_group(function, sink)
        features = list(_features(derivative, roots[function.root_name]))
        check_alias_sets(function, bool(features), sink)
        for feature in features:
            if feature is not _AUTOGRAD and _check_types(function, feature, sink):
                break


def _features(derivative: DifferentiableFunction, operation: Sequence[NativeFunction]) -> Iterator[_Feature]:
    """What is generated for an overload that takes its tensors one by one."""
    function, group = derivative.function, derivative.function.group
    if library_fields(function).batch_rule and plumbing_kind(function) is not None:
        yield _RULE
    if any(derivative.forward.values()):
        yield _FORWARD
    if derivative.infos:
        yield _DERIVATIVE
    if function.arguments.writes and has_kernel(derivative) and not _is_left_to_author(function):
        yield _AUTOGRAD
    if function.has_composite_implicit:
        return
    if isinstance(function.view_group, ViewGroup) and not function.view_group.composite:
        yield _VIEW
    if isinstance(group, NativeFunctionsGroup) and (group.out.is_synthesized or group.functional.is_synthesized):
        yield _MADE
    is_functional = function.kind is SchemaKind.functional
    if not is_functional and functional_form(function, operation) is not None:
        yield _WRITE


def _is_left_to_author(function: NativeFunction) -> bool:
    """Whether the author wrote what autograd does."""
    return has_own_kernel(function, "Autograd") and has_own_kernel(function, "ADInplaceOrView")


def _check_types(function: NativeFunction, feature: _Feature, sink: Diagnostics) -> bool:
    for argument in function.arguments.all:
        type, is_view = argument.type, feature is _VIEW
        is_hidden = argument.is_write and feature is _DERIVATIVE and type.text.startswith("Tensor?[")
        if is_hidden or not is_unpacked(type) or (is_view and not _is_held(type)):
            message = f"generated code for {feature.name} cannot pass on `{type} {argument.name}`"
            help = feature.help if is_view or is_hidden else f"take `Tensor[]` or `Tensor?[]`, or {feature.help}"
            sink.error(NO_CONVERSION, message, word_span(function, argument.text), help=help)
            return True
    for result in function.schema.returns:
        if result.type.is_tensor_like and feature.results is not None and result.type.text not in feature.results:
            message = f"generated code for {feature.name} cannot make a result `{result.type}`"
            help = f"return `Tensor` or `Tensor[]`, or {feature.help}"
            sink.error(NO_CONVERSION, message, schema_span(function), help=help)
            return True
    return False


def _is_held(type: Type) -> bool:
    """Whether the object that regenerates a view holds values of a type.

    It holds no lists of tensors, no symbols inside of items of lists, and no lists of symbols that may be absent.
    """
    if not has_constructor(type):
        return False
    if isinstance(type, OptionalType):
        return not (isinstance(type.elem, ListType) and type.is_symint_like)
    return not (isinstance(type, ListType) and type.is_tensor_like)


def check_alias_sets(function: NativeFunction, has_features: bool, sink: Diagnostics) -> None:
    """Report a result with an alias set that is that of no argument, where generated code looks for the argument.

    Code of features and of declared outputs does; else that of a result that is written, unless a kernel returns it
    under any name beside the arguments that it writes.
    """
    is_sought = has_features or bool(outputs_of(function))
    if not is_sought and function.arguments.writes:
        return
    tensors, lists = {"*"}, set[str]()
    for argument in function.arguments.all:
        if argument.annotation is not None:
            sets = tensors if argument.type.list_like is None else lists
            sets.update(argument.annotation.before, argument.annotation.after)
    for result in function.schema.returns:
        annotation = result.annotation
        if annotation is None or _owners(result, tensors, lists, is_sought).issuperset(annotation.before):
            continue
        if is_sought or annotation.is_write:
            form = "list" if isinstance(result.type, ListType) else "tensor"
            owner = f"no {form}" if (tensors | lists).issuperset(annotation.before) else "no argument"
            message = f"`{function.name}` returns `{result.text}`, and {owner} has this annotation"
            help = f"give it to the {form} that the operator returns, or return a new `{result.type}`"
            sink.error(NO_CONVERSION, message, schema_span(function), help=help)


def _owners(result: Return, tensors: set[str], lists: set[str], is_sought: bool) -> set[str]:
    """The alias sets that a result may have: a list can be views of one tensor, and is written as a list alone."""
    if not is_sought:
        return tensors | lists
    if not isinstance(result.type, ListType):
        return tensors
    return lists if result.annotation is not None and result.annotation.is_write else tensors | lists


def _check_group(function: NativeFunction, sink: Diagnostics) -> None:
    """A structured kernel serves the overloads of an operation."""
    if function.structured and function.group is None:
        message = f"`{function.name}` is structured, and has no functional overload"
        sink.error(NO_FUNCTIONAL, message, schema_span(function), help=SAME_ARGUMENTS)
