"""C++ types, parameters and expressions, as records over Opwright's interned types."""

from __future__ import annotations

import dataclasses
import enum
from abc import ABC
from collections.abc import Callable, Iterable
from functools import cache
from typing import ClassVar, Final, TypeVar

from opwright.cpp import c_types
from opwright.cpp.binding import POSSIBLY_REDUNDANT_MEMORY_FORMAT
from opwright.cpp.binding import Binding as ModelBinding
from opwright.model.native_function import TypeStyle
from opwright.schema.function import Argument as ModelArgument
from opwright.torchgen import local
from opwright.torchgen.interface.keys import ScalarType
from opwright.torchgen.interface.records import Computed, Record, record
from opwright.torchgen.interface.schema import Argument, SelfArgument, TensorOptionsArguments, argument_of
from opwright.torchgen.interface.types import BaseTy


class SpecialArgName(enum.Enum):
    """Role of a value that no argument has by name."""

    possibly_redundant_memory_format = 1


ArgName = str | SpecialArgName


@record()
class BaseCppType(Record):
    """A named C++ type; `ns` is empty in the global namespace."""

    ns: str | None
    name: str

    def __str__(self) -> str:
        return f"{self.ns}::{self.name}" if self.ns else self.name


class CType(Record, ABC):
    """A C++ type; each has one of the classes below, or that of a caller, which prints itself."""

    def _build(self) -> c_types.CType:
        return c_types.base(self.cpp_type())

    def cpp_type(self, *, strip_ref: bool = False) -> str:
        """Type as C++ spells it, without the outermost reference if `strip_ref`."""
        ctype = model_ctype(self)
        return ctype.bare if strip_ref else ctype.text

    def remove_const_ref(self) -> CType:
        """Type without references, also inside."""
        return ctype_of(model_ctype(self).value)


@cache
def ctype_of(origin: c_types.CType) -> CType:
    """Record of one of Opwright's C++ types; the same one each time."""
    return _CLASSES.get(origin.kind, BaseCType)._of(origin)


@record()
class Wrapping(CType):
    """A C++ type around another one."""

    elem: CType
    _computed: ClassVar[Computed] = {"elem": lambda origin: ctype_of(origin.elem)}

    def _build(self) -> c_types.CType:
        return _CONSTRUCTORS[type(self)](model_ctype(self.elem))


def wrapping(kind: str, constructor: Callable[[c_types.CType], c_types.CType]) -> Callable[[type[Kind]], type[Kind]]:
    """A decorator for the record of a kind of Opwright's C++ types, which a constructor makes."""

    def register(cls: type[Kind]) -> type[Kind]:
        _CLASSES[kind] = cls
        _CONSTRUCTORS[cls] = constructor
        return cls

    return register


Kind = TypeVar("Kind", bound=Wrapping)

_CONSTRUCTORS: Final[dict[type[CType], Callable[[c_types.CType], c_types.CType]]] = {}
_CLASSES: Final[dict[str, type[CType]]] = {}


@record()
class BaseCType(CType):
    """A named C++ type as a type."""

    type: BaseCppType
    _computed: ClassVar[Computed] = {"type": lambda origin: cpp_type_of(origin.text)}

    def _build(self) -> c_types.CType:
        return c_types.base(str(self.type))


@wrapping("const_ref", c_types.const_ref)
class ConstRefCType(Wrapping):
    """`const T &`."""


@wrapping("mut_ref", c_types.mut_ref)
class MutRefCType(Wrapping):
    """`T &`."""


@wrapping("optional", c_types.optional)
class OptionalCType(Wrapping):
    """`::std::optional<T>`."""


@wrapping("list", c_types.c10_list)
class ListCType(Wrapping):
    """`c10::List<T>`."""


@wrapping("array_ref", c_types.array_ref)
class ArrayRefCType(Wrapping):
    """`at::ArrayRef<T>`."""


@wrapping("vector", c_types.vector)
class VectorCType(Wrapping):
    """`::std::vector<T>`."""


@wrapping("vectorized", c_types.vectorized)
@record()
class VectorizedCType(Wrapping):
    """`at::vec::Vectorized<T>`."""

    elem: BaseCType


@record()
class ArrayCType(CType):
    """`::std::array<T,size>`."""

    elem: CType
    size: int
    _computed: ClassVar[Computed] = {
        "elem": lambda origin: ctype_of(origin.elem),
        "size": lambda origin: int(origin.text.rpartition(",")[2].rstrip(">")),
    }

    def _build(self) -> c_types.CType:
        return c_types.array(model_ctype(self.elem), self.size)


@record()
class TupleCType(CType):
    """`::std::tuple<...>`."""

    elems: list[CType]
    _computed: ClassVar[Computed] = {"elems": lambda origin: list(map(ctype_of, origin.elems))}

    def _build(self) -> c_types.CType:
        return c_types.tuple_of(tuple(map(model_ctype, self.elems)))


_CLASSES.update(base=BaseCType, array=ArrayCType, tuple=TupleCType)


def cpp_type_of(text: str) -> BaseCppType:
    """Named type of a text: its namespace is what precedes the last `::` outside of parameters."""
    name, bracket, parameters = text.partition("<")
    namespace, _, name = name.rpartition("::")
    return BaseCppType(namespace, name + bracket + parameters)


def model_ctype(type: CType) -> c_types.CType:
    """Opwright's C++ type of a record."""
    return type._made_from(type._build)


@record()
class NamedCType(Record):
    """A C++ type with the role of the value that has it."""

    name: ArgName
    type: CType

    def with_name(self, name: str) -> NamedCType:
        """Type with another role."""
        return dataclasses.replace(self, name=name)

    def remove_const_ref(self) -> NamedCType:
        """Type without references, with the same role."""
        return dataclasses.replace(self, type=self.type.remove_const_ref())

    def cpp_type(self, *, strip_ref: bool = False) -> str:
        """Type as C++ spells it."""
        return self.type.cpp_type(strip_ref=strip_ref)


Part = Argument | TensorOptionsArguments | SelfArgument


@record()
class Binding(Record):
    """A C++ parameter: its name, its type with its role, the argument of the schema, and its default."""

    name: str
    nctype: NamedCType
    argument: Part
    default: str | None = None

    @property
    def type(self) -> str:
        """Type as C++ spells it."""
        return self.nctype.cpp_type()

    def rename(self, name: str) -> Binding:
        """Parameter under another name, with the same role."""
        return dataclasses.replace(self, name=name)

    def with_name(self, name: str) -> Binding:
        """Parameter under another name, with the same role."""
        return self.rename(name)

    def no_default(self) -> Binding:
        """Parameter without its default."""
        return dataclasses.replace(self, default=None)

    def decl(self, *, func_ptr_cast: bool = False) -> str:
        """Parameter in a declaration, or its type alone for the type of a pointer."""
        default = "" if self.default is None else f"={self.default}"
        return self.type if func_ptr_cast else f"{self.defn()}{default}"

    def defn(self) -> str:
        """Parameter in a definition."""
        return f"{self.type} {self.name}"


@record()
class Expr(Record):
    """A C++ expression with its type and role."""

    expr: str
    type: NamedCType


_NO_ARGUMENT: Final = Argument.parse("Tensor self")


def binding_of(origin: ModelBinding, part: Part | None = None) -> Binding:
    """Record of one of Opwright's parameters; `part` is its argument if Opwright's parameter does not know it."""
    if part is None:
        part = argument_of(origin.argument) if isinstance(origin.argument, ModelArgument) else _NO_ARGUMENT
    role: ArgName = origin.role
    if role == POSSIBLY_REDUNDANT_MEMORY_FORMAT:
        role = SpecialArgName.possibly_redundant_memory_format
    return Binding(origin.name, NamedCType(role, ctype_of(origin.type)), part, origin.default)


def bindings_of(origins: Iterable[ModelBinding], options: Part | None = None) -> list[Binding]:
    """Records of parameters; `options` is the argument of those that stand for tensor options."""
    return [binding_of(origin, None if isinstance(origin.argument, ModelArgument) else options) for origin in origins]


def role_of(named: NamedCType) -> str:
    """Role of a value as Opwright has it."""
    return named.name.name if isinstance(named.name, SpecialArgName) else named.name


def current_style() -> TypeStyle:
    """Choices of `torchgen.local`; the plain ones outside of its blocks."""
    try:
        style = TypeStyle.CONST_REF_MUTABLES if local.use_const_ref_for_mutable_tensors() else TypeStyle.PLAIN
        return style | TypeStyle.ILIST_REF if local.use_ilistref_for_tensor_lists() else style
    except (AssertionError, AttributeError):
        return TypeStyle.PLAIN


#: The C++ types that `torchgen.api.types` names, each with its name there.
_NAMES: Final = """
byteT=uint8_t charT=int8_t shortT=int16_t int32T=int32_t longT=int64_t doubleT=double floatT=float boolT=bool
voidT=void halfT=at::Half complexHalfT=c10::complex<c10::Half> complexFloatT=c10::complex<float>
complexDoubleT=c10::complex<double> bfloat16T=at::BFloat16 float8_e5m2T=at::Float8_e5m2
float8_e5m2fnuzT=at::Float8_e5m2fnuz float8_e4m3fnT=at::Float8_e4m3fn float8_e4m3fnuzT=at::Float8_e4m3fnuz
float8_e8m0fnuT=at::Float8_e8m0fnu stringT=c10::string_view generatorT=at::Generator scalarTypeT=at::ScalarType
tensorT=at::Tensor optionalTensorRefT=at::OptionalTensorRef tensorListT=at::TensorList
iTensorListRefT=at::ITensorListRef iOptTensorListRefT=at::IOptTensorListRef dimnameT=at::Dimname
dimnameListT=at::DimnameList dimVectorT=at::DimVector layoutT=at::Layout deviceT=at::Device
deviceIndexT=at::DeviceIndex scalarT=at::Scalar optionalScalarRefT=at::OptionalScalarRef
memoryFormatT=at::MemoryFormat qschemeT=at::QScheme storageT=at::Storage streamT=at::Stream
intArrayRefT=at::IntArrayRef optionalIntArrayRefT=at::OptionalIntArrayRef
optionalSymIntArrayRefT=at::OptionalSymIntArrayRef tensorOptionsT=at::TensorOptions
typeAndSizeT=torch::autograd::generated::TypeAndSize tensorGeometryT=at::TensorGeometry SymIntT=c10::SymInt
SymBoolT=c10::SymBool symIntArrayRefT=c10::SymIntArrayRef scalar_t=scalar_t opmath_t=opmath_t
"""
NAMED_TYPES: Final = {name: cpp_type_of(text) for name, _, text in [pair.partition("=") for pair in _NAMES.split()]}

#: The C++ type of each base type, and of each dtype.
BaseTypeToCppMapping: Final = {
    BaseTy[name]: cpp_type_of(ctype.text) for name, ctype in c_types.BASE_TYPES.items() if name in BaseTy.__members__
}
ScalarTypeToCppMapping: Final = {
    dtype: NAMED_TYPES["int32T" if dtype.name == "Int" else f"{dtype.name[0].lower()}{dtype.name[1:]}T"]
    for dtype in ScalarType
    if dtype.name != "BFloat16"
}

#: The C++ types of arguments that are lists of tensors.
TENSOR_LIST_LIKE_CTYPES: Final = [
    c_types.TENSOR_LIST.text,
    c_types.const_ref(c_types.c10_list(c_types.optional(c_types.TENSOR))).text,
    c_types.const_ref(c_types.ITENSOR_LIST_REF).text,
]
