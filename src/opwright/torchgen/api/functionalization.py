"""Convention of functionalization: the names of `torchgen.api.functionalization`."""

from __future__ import annotations

from typing import NamedTuple, cast

from opwright.convention import functionalization as views
from opwright.cpp import c_types
from opwright.model.native_function import NativeFunction as ModelFunction
from opwright.model.native_function import TypeStyle
from opwright.schema.function import FunctionSchema as ModelSchema
from opwright.torchgen.interface.cpp_types import Binding, CType, bindings_of, ctype_of, current_style
from opwright.torchgen.interface.faults import Invalid
from opwright.torchgen.interface.functions import NativeFunction, NativeFunctionsViewGroup
from opwright.torchgen.interface.schema import FunctionSchema, model_schema

_NAMESPACE = "at::functionalization"


def classname(func: FunctionSchema, with_namespace: bool = False) -> str:
    """Class that holds the arguments of a view."""
    name = views.class_name(model_schema(func))
    return f"{_NAMESPACE}::{name}" if with_namespace else name


def name(
    g: NativeFunctionsViewGroup, *, is_reverse: bool, include_namespace: bool, reapply_views: bool | None = None
) -> str:
    """Function that replays a view or writes it back."""
    if is_reverse:
        return reverse_name(g.view, include_namespace)
    if not include_namespace or reapply_views is None:
        raise Invalid("the name of a view that is replayed has a namespace and says whether views are views")
    chosen = g.view if reapply_views else g.view_copy
    if chosen is None:
        raise Invalid(f"`{g.view.func.name}` has no copying form")
    return f"at::_ops::{chosen.func.name.unambiguous_name()}::call"


def reverse_name(f: NativeFunction, include_namespace: bool) -> str:
    """Function that writes a changed view back into its base."""
    name = views.inverse_name(model_schema(f.func))
    return f"{_NAMESPACE}::FunctionalInverses::{name}" if include_namespace else name


def returns_type(func: FunctionSchema) -> CType:
    """Type that both functions return."""
    return ctype_of(c_types.TENSOR)


def is_multi_output(func: FunctionSchema) -> bool:
    """Whether a view returns several tensors."""
    return views.has_many_outputs(model_schema(func))


def op_arguments(func: FunctionSchema, is_reverse: bool) -> list[Binding]:
    """Arguments of the function that replays a view or writes it back."""
    arguments = views.reverse_arguments if is_reverse else views.forward_arguments
    return bindings_of(arguments(model_schema(func), current_style()))


class _View(NamedTuple):
    """What Opwright's convention asks of a view."""

    schema: ModelSchema
    style: TypeStyle


def _members(func: FunctionSchema) -> views.ViewMetaMembers:
    view = cast("ModelFunction", _View(model_schema(func), current_style()))
    return views.view_meta_members(view, owns_tensors=False)


def base_ctor_arguments(func: FunctionSchema) -> list[Binding]:
    """What the constructor of a view's class passes to its base class."""
    return bindings_of(_members(func).base_parameters)


def extra_ctor_arguments(func: FunctionSchema) -> list[Binding]:
    """What the constructor of a view's class stores."""
    return bindings_of(_members(func).parameters)


def attributes(func: FunctionSchema, owning: bool = True) -> list[Binding]:
    """Fields of a view's class; with `owning`, no list refers to the memory of the caller."""
    members = _members(func)
    return bindings_of(members.fields if owning else members.parameters)
