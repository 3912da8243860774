"""What a node of the backward graph saves of the forward call, and how it reads it back."""

from __future__ import annotations

from typing import Final

from opwright.convention import shared_types
from opwright.cpp import c_types
from opwright.cpp.c_types import CType
from opwright.model.derivatives import DifferentiabilityInfo, SavedAttribute, SavedKind
from opwright.release.rules import Rules
from opwright.schema.function import Argument
from opwright.source.codes import UNSAVABLE
from opwright.source.diagnostic import Fault
from opwright.source.records import NamedTuple

_OPTIONAL_SIZES: Final = c_types.optional(c_types.SYMINT_ARRAY_REF)

#: The C++ type of each fact that can be saved in place of a value.
FACTS: Final = {
    SavedKind.SIZES: c_types.SYMINT_ARRAY_REF,
    SavedKind.OPTIONAL_SIZES: _OPTIONAL_SIZES,
    SavedKind.BLOCK_SIZE: _OPTIONAL_SIZES,
    SavedKind.OPTIONS: c_types.TENSOR_OPTIONS,
    SavedKind.INFO: c_types.base("torch::autograd::generated::TypeAndSize"),
    SavedKind.SIZE: c_types.SYMINT,
    SavedKind.NUMEL: c_types.LONG,
    SavedKind.SYM_NUMEL: c_types.SYMINT,
    SavedKind.LIST_SIZES: c_types.vector(c_types.vector(c_types.LONG)),
    SavedKind.LIST_SYM_SIZES: c_types.vector(c_types.vector(c_types.SYMINT)),
    SavedKind.LIST_SCALAR_TYPES: c_types.vector(c_types.SCALAR_TYPE),
    SavedKind.GEOMETRY: c_types.base("at::TensorGeometry"),
    SavedKind.SCALAR_TYPE: c_types.SCALAR_TYPE,
    SavedKind.DIM: c_types.LONG,
    SavedKind.STRIDES: c_types.SYMINT_ARRAY_REF,
    SavedKind.LAYOUT: c_types.LAYOUT,
    SavedKind.CONJUGATE: c_types.BOOL,
}


def saved_type(saved: SavedAttribute, info: DifferentiabilityInfo) -> CType:
    """The C++ type, by value, of what an info's formulas save."""
    if saved.kind is not SavedKind.VALUE:
        return FACTS[saved.kind]
    source = saved.source
    if source is None:
        return c_types.TENSOR_OPTIONS
    style = info.function.style
    if isinstance(source, Argument):
        return shared_types.argument_type(source.type, mutable=source.is_write, symint=True, style=style).value
    return shared_types.return_type(source, style).value


class _FieldForm(NamedTuple):
    """How a node holds values of a type: the type of its field, and the parts of the Python property.

    `getter` and `body` name the parts of the Python property, empty where there is none.
    """

    field: str
    getter: str = ""
    body: str = ""


#: Types of numbers, and how a property converts them to Python objects.
_NUMBERS: Final = {
    c_types.LONG: "long",
    c_types.SYMINT: "symint",
    c_types.DOUBLE: "double",
    c_types.SCALAR: "scalar",
}

#: Types whose values a node holds in a field of another type, mostly by value instead of by reference.
_FIELD_FORMS: Final = {
    c_types.INT_ARRAY_REF: _FieldForm("std::vector<int64_t>", "plain", "longs"),
    c_types.SYMINT_ARRAY_REF: _FieldForm("std::vector<c10::SymInt>", "plain", "symints"),
    c_types.OPTIONAL_INT_ARRAY_REF: _FieldForm("c10::OptionalArray<int64_t>", "optional_array", "longs"),
    c_types.OPTIONAL_SYMINT_ARRAY_REF: _FieldForm("c10::OptionalArray<c10::SymInt>", "optional_array", "symints"),
    c_types.optional(c_types.INT_ARRAY_REF): _FieldForm("c10::OptionalArray<int64_t>", "optional_array", "longs"),
    _OPTIONAL_SIZES: _FieldForm("c10::OptionalArray<c10::SymInt>", "optional_array", "symints"),
    c_types.optional(c_types.array_ref(c_types.DOUBLE)): _FieldForm(
        "c10::OptionalArray<double>", "optional_array", "doubles"
    ),
    c_types.STRING_VIEW: _FieldForm("std::string", "plain", "string"),
    c_types.optional(c_types.STRING_VIEW): _FieldForm("std::optional<std::string>", "optional", "string"),
    c_types.BOOL: _FieldForm("bool", "plain", "bool"),
    **{type: _FieldForm(type.text, "plain", body) for type, body in _NUMBERS.items()},
    **{
        c_types.optional(type): _FieldForm(c_types.optional(type).text, "optional", body)
        for type, body in _NUMBERS.items()
    },
}

_VARIABLES: Final = (c_types.TENSOR, c_types.optional(c_types.TENSOR))
_LISTS: Final = (c_types.TENSOR_LIST, c_types.ITENSOR_LIST_REF, c_types.vector(c_types.TENSOR))
_OPTIONAL_LIST: Final = c_types.c10_list(c_types.optional(c_types.TENSOR))
#: A list of floating-point numbers.
FLOATS: Final = c_types.array_ref(c_types.DOUBLE)
_SCALARS: Final = c_types.array_ref(c_types.SCALAR)

#: With types that PyTorch's generator refuses, or writes a field for that its compiled autograd does not take.
_LIBRARY_FORMS: Final = {
    **_FIELD_FORMS,
    FLOATS: _FieldForm("std::vector<double>"),
    c_types.DEVICE_INDEX: _FIELD_FORMS[c_types.LONG],
    c_types.optional(c_types.DEVICE_INDEX): _FIELD_FORMS[c_types.optional(c_types.LONG)],
}
#: Other types that compiled autograd takes.
_TAKEN: Final = (
    c_types.DEVICE, c_types.BOOL, c_types.SCALAR_TYPE, c_types.LAYOUT, c_types.MEMORY_FORMAT, c_types.TENSOR_OPTIONS,
)  # fmt: skip


class SavedField(NamedTuple):
    """What is decided for one saved attribute of a node.

    `fields` are the node's fields, `released` the statements that let go of them, `unpacked` the statement that reads
    the value and `checked` the one that makes sure that it is still there (both may be empty). `visited` is the field
    that compiled autograd collects, together with whether it is an output where it is a `SavedVariable` (`is_output`
    is None for others). `parameter` is the type by which the backward function takes it. `getter` and `body` name the
    parts of the Python property, empty where there is none.
    """

    name: str
    fields: tuple[str, ...]
    visited: str
    parameter: str
    getter: str
    body: str
    released: tuple[str, ...] = ()
    unpacked: str = ""
    checked: str = ""
    is_output: bool | None = None


def saved_field(saved: SavedAttribute, is_output: bool, info: DifferentiabilityInfo, rules: Rules) -> SavedField:
    """How a node saves one attribute. Raises Fault for a value of a type that no node can save."""
    type = saved_type(saved, info)
    name = saved.name
    if type in _VARIABLES or (type is c_types.SCALAR and is_output):
        return _variable(name, is_output, rules)
    if type in _LISTS or type is _OPTIONAL_LIST:
        if type.kind == "vector" and not (is_output and info.function.name.is_foreach):
            raise _unsavable(saved, type, info)
        return _list_of_variables(name, is_output, type is _OPTIONAL_LIST, rules)
    if type is _SCALARS:
        fields = (f"std::vector<at::Scalar> {name};", f"bool {name}_released_ = false;")
        parameter = "std::vector<at::Scalar>&"
        return SavedField(name, fields, name, parameter, "scalars", "scalars", released=(f"{name}.clear();",))
    forms = _LIBRARY_FORMS if info.function.library.takes_any_schema else _FIELD_FORMS
    field_form = forms.get(type)
    if field_form is None:
        spelt = type.text.lower()
        if "ref" in spelt or "view" in spelt or "*" in spelt or "&" in spelt or _is_refused(saved, type, info):
            raise _unsavable(saved, type, info)
        field_form = _FieldForm(type.text)
    start = " = 0" if type is c_types.LONG else ""
    # The reference takes the field's type up to the first blank.
    parameter = f"{field_form.field.partition(' ')[0]}&"
    field = f"{field_form.field} {name}{start};"
    return SavedField(name, (field,), name, parameter, field_form.getter, field_form.body)


def _is_refused(saved: SavedAttribute, type: CType, info: DifferentiabilityInfo) -> bool:
    """Whether compiled autograd takes no values of a type. PyTorch's operators save none."""
    if not info.function.library.takes_any_schema or saved.kind is not SavedKind.VALUE:
        return False
    # `at::Device` alone has no default constructor.
    return type not in _TAKEN[1:] and type not in map(c_types.optional, _TAKEN)


def _own_pointer(rules: Rules) -> str:
    """Expression by which a node names itself as the one that an output is saved for."""
    return "getptr()" if rules.nodes_are_intrusive else "shared_from_this()"


def _variable(name: str, is_output: bool, rules: Rules) -> SavedField:
    owner = _own_pointer(rules) if is_output else ""
    return SavedField(
        name,
        (f"SavedVariable {name}_;",),
        f"{name}_",
        "Tensor&",
        "variable",
        "variable",
        released=(f"{name}_.reset_data();",),
        unpacked=f"auto {name} = {name}_.unpack({owner});",
        is_output=is_output,
    )


def _list_of_variables(name: str, is_output: bool, is_optional: bool, rules: Rules) -> SavedField:
    if is_optional:
        value, parameter = f"unpack_opt_list({name}_)", "torch::List<std::optional<Tensor>>&"
    else:
        value = f"unpack_list({name}_, {_own_pointer(rules) if is_output else 'nullptr'})"
        parameter = "std::vector<Tensor>&"
    return SavedField(
        name,
        (f"std::vector<SavedVariable> {name}_;", f"bool {name}_released_ = false;"),
        f"{name}_",
        parameter,
        "variables",
        "variables",
        released=(f"{name}_.clear();", f"{name}_released_ = true;"),
        unpacked=f"auto {name} = {value};",
        checked=f"TORCH_CHECK(!{name}_released_, ERR_BACKWARD_TWICE);",
        is_output=is_output,
    )


def _unsavable(saved: SavedAttribute, type: CType, info: DifferentiabilityInfo) -> Fault:
    place = next(
        derivative.span
        for derivative in info.derivatives
        if saved in derivative.saved_inputs + derivative.saved_outputs
    )
    message = f"`{saved.name}` of `{info.name}`, of type `{type.text}`, cannot be saved for the backward call"
    return Fault.at(UNSAVABLE, message, place, label=f"uses `{saved.name}`")
