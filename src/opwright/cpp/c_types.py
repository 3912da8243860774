"""C++ types as interned values: two types are equal exactly when they are the same object.

>>> const_ref(optional(TENSOR)).text
'const ::std::optional<at::Tensor> &'
>>> const_ref(TENSOR) is const_ref(TENSOR), const_ref(TENSOR).bare
(True, 'at::Tensor')
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Final

from opwright.schema.base_types import forms_of
from opwright.source.records import not_fingerprinted


@not_fingerprinted(value="it may be the type itself, and follows from the kind and the elements")
class CType:
    """A C++ type.

    `text` is the type as C++ spells it, and `bare` the same without the outermost reference. `kind` is the constructor
    (`base`, `const_ref`, `mut_ref`, `optional`, `list`, `array_ref`, `vector`, `array`, `tuple`, `dict`, `vectorized`,
    or one of a guest's), and `elems` are its arguments.
    """

    __slots__ = ("bare", "elems", "kind", "text", "value")

    def __init__(self, kind: str, text: str, elems: tuple[CType, ...], bare: str | None = None) -> None:
        self.kind: Final = kind
        self.text: Final = text
        self.elems: Final = elems
        self.bare: Final = text if bare is None else bare
        self.value: Final[CType] = _value_type(self)

    @property
    def elem(self) -> CType:
        """The only type inside."""
        return self.elems[0]

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"<C++ type {self.text}>"


def _value_type(type: CType) -> CType:
    """Type without any `&`, also inside: a type that can be stored by value."""
    if type.kind == "base":
        return type
    if type.kind in ("const_ref", "mut_ref"):
        return type.elems[0].value
    inside = tuple(elem.value for elem in type.elems)
    if inside == type.elems:
        return type
    return _CONSTRUCTORS[type.kind](*inside)


#: Constructor of each kind of types that are made of others.
_CONSTRUCTORS: Final[dict[str, Callable[..., CType]]] = {
    "tuple": lambda *elems: tuple_of(elems),
    "dict": lambda *elems: dict_of(*elems),
}


def interning(kind: str, spelling: Callable[[str], str], *, reference: bool = False) -> Callable[[CType], CType]:
    """Constructor of types of another kind, each of which is made of one type."""

    @cache
    def constructor(elem: CType) -> CType:
        return _intern(kind, spelling(elem.text), (elem,), elem.bare if reference else None)

    constructor.__doc__ = f"The type `{spelling('T')}`."
    _CONSTRUCTORS[kind] = constructor
    return constructor


const_ref = interning("const_ref", "const {} &".format, reference=True)
mut_ref = interning("mut_ref", "{} &".format, reference=True)
optional = interning("optional", "::std::optional<{}>".format)
c10_list = interning("list", "c10::List<{}>".format)
array_ref = interning("array_ref", "at::ArrayRef<{}>".format)
vector = interning("vector", "::std::vector<{}>".format)
vectorized = interning("vectorized", "at::vec::Vectorized<{}>".format)


def base(text: str) -> CType:
    """Named type, spelt with its namespace."""
    return _intern("base", text, ())


def array(elem: CType, size: int) -> CType:
    """Type `::std::array<elem,size>`."""
    return _intern("array", f"::std::array<{elem.text},{size}>", (elem,))


def dict_of(key: CType, value: CType) -> CType:
    """Type `c10::Dict<key, value>`."""
    return _intern("dict", f"c10::Dict<{key.text}, {value.text}>", (key, value))


def tuple_of(elems: tuple[CType, ...]) -> CType:
    """Type `::std::tuple<...>`."""
    return _intern("tuple", f"::std::tuple<{','.join([elem.text for elem in elems])}>", elems)


#: Constructor and spelling -> type. `setdefault` is atomic, unlike `functools.cache`: two threads get the same type.
_TYPES: Final[dict[tuple[str, str], CType]] = {}


def _intern(kind: str, text: str, elems: tuple[CType, ...], bare: str | None = None) -> CType:
    key = (kind, text)
    ctype = _TYPES.get(key)
    return _TYPES.setdefault(key, CType(kind, text, elems, bare)) if ctype is None else ctype


#: The C++ value type of each base type of the schema language that has one.
BASE_TYPES: Final = forms_of(lambda row: base(row.cpp) if row.cpp else None)

VOID: Final = base("void")
BOOL: Final = BASE_TYPES["bool"]
LONG: Final = BASE_TYPES["int"]
DOUBLE: Final = BASE_TYPES["float"]
STRING_VIEW: Final = BASE_TYPES["str"]
SCALAR_TYPE: Final = BASE_TYPES["ScalarType"]
TENSOR: Final = BASE_TYPES["Tensor"]
OPTIONAL_TENSOR_REF: Final = base("at::OptionalTensorRef")
TENSOR_LIST: Final = base("at::TensorList")
ITENSOR_LIST_REF: Final = base("at::ITensorListRef")
IOPT_TENSOR_LIST_REF: Final = base("at::IOptTensorListRef")
DIMNAME_LIST: Final = base("at::DimnameList")
LAYOUT: Final = BASE_TYPES["Layout"]
DEVICE: Final = BASE_TYPES["Device"]
DEVICE_INDEX: Final = BASE_TYPES["DeviceIndex"]
SCALAR: Final = BASE_TYPES["Scalar"]
OPTIONAL_SCALAR_REF: Final = base("at::OptionalScalarRef")
MEMORY_FORMAT: Final = BASE_TYPES["MemoryFormat"]
INT_ARRAY_REF: Final = base("at::IntArrayRef")
OPTIONAL_INT_ARRAY_REF: Final = base("at::OptionalIntArrayRef")
OPTIONAL_SYMINT_ARRAY_REF: Final = base("at::OptionalSymIntArrayRef")
TENSOR_OPTIONS: Final = base("at::TensorOptions")
SYMINT: Final = BASE_TYPES["SymInt"]
SYMINT_ARRAY_REF: Final = base("c10::SymIntArrayRef")
SCALAR_T: Final = base("scalar_t")
OPMATH_T: Final = base("opmath_t")
