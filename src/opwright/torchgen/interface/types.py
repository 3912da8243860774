"""Names of operators and types of the schema language, as records over what Opwright has."""

from __future__ import annotations

import enum
from functools import cache
from typing import ClassVar, Final

from opwright.schema import types as model_types
from opwright.schema.fault import SchemaFault
from opwright.schema.names import AUGMENTED, parsed_operator_name
from opwright.schema.names import OperatorName as ModelName
from opwright.schema.parser import LENIENT, read_namespace, read_operator_name
from opwright.schema.type_parser import read_file_type
from opwright.schema.types import Annotation as ModelAnnotation
from opwright.schema.types import annotation as model_annotation
from opwright.torchgen.interface.faults import Invalid, InvalidText, raised
from opwright.torchgen.interface.records import Computed, Record, record

#: The number of a base type in the enumeration is its place here; Dimname left the language, and older files have it.
_NAMES: Final = (*[name for name in model_types.BASE_TYPES if name != "Dimname"], "Dimname")


class BaseTy(enum.Enum):
    """A base type of the schema language."""

    _ignore_ = "name_ number_"
    for number_, name_ in enumerate(_NAMES, 1):
        vars()[name_] = number_


class Type(Record):
    """A type of the schema language; each has one of the classes below."""

    def _origin_type(self) -> model_types.Type:
        return self._made_from(self._build)

    def _build(self) -> model_types.Type:
        raise NotImplementedError

    @staticmethod
    def parse(t: str) -> Type:
        """Type of a text. Raises InvalidText if it is not one."""
        try:
            parsed, _, end = read_file_type(t, 0, LENIENT, allow_annotation=False)
        except SchemaFault as fault:
            raise raised(fault, t) from None
        if end != len(t):
            raise InvalidText(f"text after the type in `{t}`")
        return type_of(parsed)

    def __str__(self) -> str:
        return self._origin_type().text

    def is_base_ty_like(self, base_ty: BaseTy) -> bool:
        """Whether the innermost type of optionals and lists is a base type."""
        return self._origin_type().innermost.text == base_ty.name

    def is_tensor_like(self) -> bool:
        """Whether the innermost type is Tensor."""
        return self._origin_type().is_tensor_like

    def is_generator_like(self) -> bool:
        """Whether the innermost type is Generator."""
        return self._origin_type().is_generator_like

    def is_symint_like(self) -> bool:
        """Whether the innermost type is SymInt."""
        return self._origin_type().is_symint_like

    def is_nullable(self) -> bool:
        """Whether the type is an optional, or a list of optionals."""
        return self._origin_type().is_nullable

    def is_list_like(self) -> ListType | None:
        """Type if it is a list, or the list of an optional one."""
        listed = self._origin_type().list_like
        if listed is None:
            return None
        shown = type_of(listed)
        assert isinstance(shown, ListType)
        return shown


@cache
def type_of(origin: model_types.Type) -> Type:
    """Record of one of Opwright's types; the same one each time."""
    return _CLASSES[type(origin)]._of(origin)


@record()
class BaseType(Type):
    """One of the built-in types."""

    name: BaseTy
    _computed: ClassVar[Computed] = {"name": lambda origin: BaseTy[origin.name]}

    def __str__(self) -> str:
        return self.name.name

    def _build(self) -> model_types.Type:
        return model_types.base(self.name.name)


@record()
class OptionalType(Type):
    """A value or None."""

    elem: Type
    _computed: ClassVar[Computed] = {"elem": lambda origin: type_of(origin.elem)}

    def _build(self) -> model_types.Type:
        return model_types.optional(model_type(self.elem))


@record()
class ListType(Type):
    """A list, or a list of a given length."""

    elem: Type
    size: int | None
    _computed: ClassVar[Computed] = {"elem": lambda origin: type_of(origin.elem)}

    def _build(self) -> model_types.Type:
        return model_types.list_of(model_type(self.elem), self.size)


@record()
class CustomClassType(Type):
    """A TorchScript class."""

    class_name: str

    def _build(self) -> model_types.Type:
        return model_types.class_type(self.class_name)


_CLASSES: Final[dict[type[model_types.Type], type[Type]]] = {
    model_types.BaseType: BaseType,
    model_types.OptionalType: OptionalType,
    model_types.ListType: ListType,
    model_types.ClassType: CustomClassType,
}


def model_type(t: Type) -> model_types.Type:
    """Opwright's type of a record."""
    return t._origin_type()


@record("alias_set is_write alias_set_after")
class Annotation(Record):
    """An alias annotation, such as `a!`."""

    is_write: bool
    alias_set: tuple[str, ...]
    alias_set_after: tuple[str, ...]

    @staticmethod
    def parse(ann: str) -> Annotation:
        """Annotation of a text without parentheses. Raises AssertionError if it is not one."""
        try:
            annotated, parsed, end = read_file_type(f"Tensor({ann})", 0, LENIENT, allow_annotation=True)
        except SchemaFault as fault:
            raise Invalid(f"`{ann}` is no alias annotation: {fault.message}") from None
        if parsed is None or end != len(ann) + len("Tensor()"):
            raise Invalid(f"`{ann}` is no alias annotation")
        assert annotated is model_types.TENSOR
        return annotation_of(parsed)

    def __str__(self) -> str:
        return model_annotation_of(self).text


#: The annotation of values that a call writes.
WRITTEN: Final = model_annotation(("a",), True)


@cache
def annotation_of(origin: ModelAnnotation) -> Annotation:
    """Record of one of Opwright's annotations; the same one each time."""
    return Annotation(alias_set=origin.before, is_write=origin.is_write, alias_set_after=origin.after)


def model_annotation_of(ann: Annotation) -> ModelAnnotation:
    """Opwright's annotation of a record."""
    return model_annotation(tuple(ann.alias_set), ann.is_write, tuple(ann.alias_set_after))


#: The augmented assignments of Python.
AUGMENTED_ASSIGNMENT_NAMES: Final = list(AUGMENTED)


@record("base inplace dunder_method functional_overload namespace")
class BaseOperatorName(Record):
    """Parts of an operator's name without its overload."""

    dunder_method: bool
    inplace: bool
    base: str
    namespace: str | None = None
    functional_overload: bool = False

    @staticmethod
    def parse(op: str) -> BaseOperatorName:
        """Parts of a name. Raises AssertionError if PyTorch's operators cannot have it."""
        return OperatorName.parse(op).name

    def __str__(self) -> str:
        name = _model_name(self, "").name
        return name if self.namespace is None else f"{self.namespace}::{name}"


@record("name overload_name")
class OperatorName(Record):
    """An operator's name with its overload."""

    overload_name: str
    name: BaseOperatorName

    @staticmethod
    def parse(op_name: str) -> OperatorName:
        """Parts of a name. Raises AssertionError if PyTorch's operators cannot have it."""
        try:
            namespace, start = read_namespace(op_name)
            return name_of(read_operator_name(op_name, start), namespace)
        except SchemaFault as fault:
            raise Invalid(str(raised(fault, op_name))) from None

    def __str__(self) -> str:
        return f"{self.name}.{self.overload_name}" if self.overload_name else f"{self.name}"

    def unambiguous_name(self) -> str:
        """Name as one identifier."""
        return f"{self.name}_{self.overload_name}" if self.overload_name else f"{self.name}"

    def remove_inplace(self) -> OperatorName:
        """Name of the overload that is not in-place."""
        return self.with_overload(self.overload_name)

    def with_overload(self, overload: str) -> OperatorName:
        """Name of another overload, which is not in-place."""
        base = BaseOperatorName(base=self.name.base, inplace=False, dunder_method=self.name.dunder_method)
        return OperatorName(name=base, overload_name=overload)


@cache
def _base_name(name: str, namespace: str) -> BaseOperatorName:
    parts = parsed_operator_name(name, "")
    return BaseOperatorName(
        inplace=parts.inplace,
        base=parts.base,
        dunder_method=parts.dunder,
        functional_overload=parts.functional_overload,
        namespace=namespace or None,
    )


def name_of(origin: ModelName, namespace: str = "") -> OperatorName:
    """Record of one of Opwright's names."""
    return OperatorName(name=_base_name(origin.name, namespace), overload_name=origin.overload)


def _model_name(name: BaseOperatorName, overload: str) -> ModelName:
    return ModelName(
        name.base,
        overload,
        inplace=name.inplace,
        dunder=name.dunder_method,
        functional_overload=name.functional_overload,
    )


def model_name(name: OperatorName) -> ModelName:
    """Opwright's name of a record, which has no namespace."""
    return _model_name(name.name, name.overload_name)
