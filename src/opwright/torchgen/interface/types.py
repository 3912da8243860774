"""Types of the schema language, as records over Opwright's interned types."""

from __future__ import annotations

import enum
from functools import cache
from typing import ClassVar, Final

from opwright.schema import types as model_types
from opwright.schema.fault import SchemaFault
from opwright.schema.type_parser import LENIENT, read_type
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
        """Opwright's type of this one."""
        return self._made_from(self._build)

    def _build(self) -> model_types.Type:
        raise NotImplementedError

    @staticmethod
    def parse(t: str) -> Type:
        """Type of a text. Raises InvalidText if it is not one."""
        try:
            parsed, _, end = read_type(t, 0, LENIENT, allow_annotation=False)
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
    _computed: ClassVar[Computed] = {"elem": lambda origin: type_of(origin.elem), "size": lambda origin: origin.size}

    def _build(self) -> model_types.Type:
        return model_types.list_of(model_type(self.elem), self.size)


@record()
class CustomClassType(Type):
    """A TorchScript class."""

    class_name: str
    _computed: ClassVar[Computed] = {"class_name": lambda origin: origin.class_name}

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
            annotated, parsed, end = read_type(f"Tensor({ann})", 0, LENIENT, allow_annotation=True)
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
