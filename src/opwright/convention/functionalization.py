"""Convention of functionalization: how views are replayed on their base, and written back into it.

Each view operator has a `ViewMeta` class, whose objects hold the arguments of a view by value. `forward` calls the view
(or its copying form) on a base; `reverse` calls the hand-written inverse, which writes a changed view back into the
base. Both take the dispatcher's arguments, with `base` as the first one.
"""

from __future__ import annotations

from typing import Final

from opwright.convention import dispatcher, shared_types
from opwright.cpp import c_types
from opwright.cpp.binding import Binding
from opwright.model.native_function import NativeFunction, TypeStyle, ViewGroup
from opwright.schema.function import Argument, FunctionSchema
from opwright.source.records import NamedTuple

INVERSE_RETURN_MODE: Final = c_types.base("at::functionalization::InverseReturnMode")


def _parameter(name: str, type: c_types.CType) -> Binding:
    return Binding(name, name, type, None)


BASE: Final = _parameter("base", c_types.const_ref(c_types.TENSOR))
MUTATED_VIEW: Final = _parameter("mutated_view", c_types.const_ref(c_types.TENSOR))
HAS_SYMBOLIC_INPUTS: Final = _parameter("has_symbolic_inputs", c_types.BOOL)
OUT_INDEX: Final = _parameter("out_index", c_types.LONG)
#: The index of an output where a view is recorded by lambdas.
VIEW_INDEX: Final = _parameter("mutated_view_idx", c_types.LONG)
REAPPLY_VIEWS: Final = _parameter("reapply_views", c_types.BOOL)
RETURN_MODE: Final = _parameter("inverse_return_mode", INVERSE_RETURN_MODE)


def class_name(schema: FunctionSchema) -> str:
    """Name of the `ViewMeta` class of a view.

    >>> from opwright.schema import parse_schema
    >>> class_name(parse_schema("select.int(Tensor(a) self, int dim, SymInt index) -> Tensor(a)"))
    'select_int_ViewMeta'
    """
    return f"{schema.name.unambiguous}_ViewMeta"


def inverse_name(schema: FunctionSchema) -> str:
    """Name of the hand-written function that writes a changed view back into its base."""
    return f"{schema.name.unambiguous}_inverse"


def has_many_outputs(schema: FunctionSchema) -> bool:
    """Whether a view returns several tensors; the index of each is part of its `ViewMeta`."""
    returns = schema.returns
    return len(returns) > 1 or (len(returns) == 1 and returns[0].type.list_like is not None)


def _owning_binding(argument: Argument, style: TypeStyle, owns_tensors: bool) -> Binding:
    held = shared_types.argument_type(argument.type, mutable=argument.is_write, symint=True, style=style, owning=True)
    if owns_tensors and argument.type.is_tensor_like:
        held = held.value
    return _parameter(argument.name, held)


class ViewMetaMembers(NamedTuple):
    """The parameters and fields of a `ViewMeta` class.

    The constructor passes `base_parameters` to the base class and stores its other `parameters` in `fields`.
    """

    base_parameters: tuple[Binding, ...]
    parameters: tuple[Binding, ...]
    fields: tuple[Binding, ...]


def view_meta_members(function: NativeFunction, *, owns_tensors: bool, index: Binding = OUT_INDEX) -> ViewMetaMembers:
    """Members of a view's class; `owns_tensors` says that tensors are held by value too."""
    schema, style = function.schema, function.style
    arguments = schema.arguments.all[1:]
    many = has_many_outputs(schema)
    common = (REAPPLY_VIEWS, RETURN_MODE)
    return ViewMetaMembers(
        (HAS_SYMBOLIC_INPUTS, index) if many else (HAS_SYMBOLIC_INPUTS,),
        common + tuple([dispatcher.binding(argument, style=style) for argument in arguments]),
        common + tuple([_owning_binding(argument, style, owns_tensors) for argument in arguments]),
    )


def forward_arguments(schema: FunctionSchema, style: TypeStyle) -> tuple[Binding, ...]:
    """Arguments with which `forward` calls the view."""
    return (BASE, *[dispatcher.binding(argument, style=style) for argument in schema.arguments.all[1:]])


def reverse_arguments(schema: FunctionSchema, style: TypeStyle, index: Binding = OUT_INDEX) -> tuple[Binding, ...]:
    """Arguments with which `reverse` calls the inverse."""
    indices = (index,) if has_many_outputs(schema) else ()
    rest = [dispatcher.binding(argument, style=style) for argument in schema.arguments.all[1:]]
    return (BASE, MUTATED_VIEW, RETURN_MODE, *indices, *rest)


def inverse_declaration(group: ViewGroup, index: Binding = OUT_INDEX) -> str:
    """Declaration of the inverse of a view."""
    schema = group.view.schema
    parameters = ", ".join([argument.definition for argument in reverse_arguments(schema, group.view.style, index)])
    return f"static at::Tensor {inverse_name(schema)}({parameters});"
