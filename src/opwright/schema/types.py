"""Types of the schema language, as interned values, and their alias annotations.

Equal types are the same object, so work that depends only on a type (its C++ form, its Python form) is done once per
type and looked up by identity.

>>> optional(list_of(base("Tensor"), None)).text
'Tensor[]?'
>>> optional(base("int")) is optional(base("int"))
True
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeVar, final

from opwright.schema.base_types import BASE_TYPE_ROWS, forms_of
from opwright.source.records import not_fingerprinted

_Key = TypeVar("_Key")
_Value = TypeVar("_Value")


class Interned(dict[_Key, _Value]):
    """Values that are made once for each key. Threads that make one at the same time get the same object."""

    def __init__(self, make: Callable[[_Key], _Value]) -> None:
        self._make: Final = make

    def __missing__(self, key: _Key) -> _Value:
        return self.setdefault(key, self._make(key))


class Annotation:
    """The `(a!)` of `Tensor(a!)`: alias sets before and after the call, and whether the call writes.

    `before` and `after` are tuples of alias names, of which `*` is the wildcard. Interned: equal annotations are the
    same object.

    >>> annotation(("a",), True, ()).text
    'a!'
    >>> annotation(("a",), False, ("*",)).text
    'a -> *'
    """

    __slots__ = ("after", "before", "is_write", "text")

    def __init__(self, before: tuple[str, ...], is_write: bool, after: tuple[str, ...]) -> None:
        self.before: Final = before
        self.is_write: Final = is_write
        self.after: Final = after
        self.text: Final = "|".join(before) + ("!" if is_write else "") + (" -> " + "|".join(after) if after else "")

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"<annotation ({self.text})>"


_ANNOTATIONS: Final[Interned[tuple[tuple[str, ...], bool, tuple[str, ...]], Annotation]] = Interned(
    lambda key: Annotation(*key)
)


def annotation(before: tuple[str, ...], is_write: bool, after: tuple[str, ...] = ()) -> Annotation:
    """Annotation with these alias sets."""
    return _ANNOTATIONS[before, is_write, after]


#: Why fingerprints leave out what a type refers to: it may be the type itself.
_FOLLOWS: Final = "it follows from the text, which tells types apart"

#: The names of the base types.
BASE_TYPES: Final = tuple([row.name for row in BASE_TYPE_ROWS if row.in_files])

#: The base types that the dispatcher's parser does not have.
ONLY_IN_FILES: Final = tuple([row.name for row in BASE_TYPE_ROWS if not row.in_dispatcher])

#: The names of types without parameters that the dispatcher alone has.
DISPATCHER_NAMES: Final = tuple([row.name for row in BASE_TYPE_ROWS if not row.in_files])

#: The prefix of the name of a TorchScript class in a schema.
CLASS_PREFIX: Final = "__torch__.torch.classes."


@not_fingerprinted(innermost=_FOLLOWS, list_like=_FOLLOWS)
class Type:
    """A type of the schema language, with its `text`.

    `is_tensor_like`, `is_symint_like` and `is_generator_like` describe the innermost type of optionals and lists.
    `is_nullable` says that the type is an optional or a list of optionals. `list_like` is the type if it is a list, or
    an optional one, else None.
    """

    __slots__ = (
        "innermost", "is_generator_like", "is_nullable", "is_symint_like", "is_tensor_like", "list_like", "text",
    )  # fmt: skip

    def __init__(self, text: str, innermost: Type | None, is_nullable: bool, list_like: ListType | None) -> None:
        self.text: Final = text
        self.innermost: Final[Type] = innermost or self
        name = self.innermost.text
        self.is_tensor_like: Final = name == "Tensor"
        self.is_symint_like: Final = name == "SymInt"
        self.is_generator_like: Final = name == "Generator"
        self.is_nullable: Final = is_nullable
        self.list_like: Final = list_like

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"<type {self.text}>"


@final
class BaseType(Type):
    """One of the built-in types, such as `Tensor` or `SymInt`."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        super().__init__(name, None, False, None)
        self.name: Final = name


@final
class ClassType(Type):
    """A TorchScript class; `class_name` is what follows `__torch__.torch.classes.`."""

    __slots__ = ("class_name",)

    def __init__(self, class_name: str) -> None:
        super().__init__(CLASS_PREFIX + class_name, None, False, None)
        self.class_name: Final = class_name


@final
class DispatcherType(Type):
    """A type that the dispatcher has and PyTorch's files do not: `Any`, `Dict(str, Tensor)`.

    `name` is that of the type; a tuple `(int, Tensor)` has none. `items` are its parameters.
    """

    __slots__ = ("items", "name")

    def __init__(self, name: str, items: tuple[Type, ...] | None) -> None:
        text = name if items is None else f"{name}({', '.join([item.text for item in items])})"
        super().__init__(text, None, False, None)
        self.name: Final = name
        self.items: Final = items or ()


@final
class OptionalType(Type):
    """A value or None: `elem?`."""

    __slots__ = ("elem",)

    def __init__(self, elem: Type) -> None:
        super().__init__(f"{elem.text}?", elem.innermost, True, elem.list_like)
        self.elem: Final = elem


@final
class ListType(Type):
    """A list, `elem[]`, or a list of a given length, `elem[size]`, for which one scalar can stand for all items."""

    __slots__ = ("elem", "size")

    def __init__(self, elem: Type, size: int | None) -> None:
        shown = "" if size is None else str(size)
        super().__init__(f"{elem.text}[{shown}]", elem.innermost, elem.is_nullable, self)
        self.elem: Final = elem
        self.size: Final = size


_BASE_TYPES: Final = Interned(BaseType)
_CLASSES: Final = Interned(ClassType)
_DISPATCHER_TYPES: Final[Interned[tuple[str, tuple[Type, ...] | None], DispatcherType]] = Interned(
    lambda key: DispatcherType(*key)
)
_OPTIONALS: Final = Interned(OptionalType)
_LISTS: Final[Interned[tuple[Type, int | None], ListType]] = Interned(lambda key: ListType(*key))
#: The base types by name, with those that trees between releases have taught.
BASES: Final = forms_of(lambda row: _BASE_TYPES[row.name] if row.in_files else None)


def base(name: str) -> BaseType:
    """Base type of this name. Raises KeyError if there is none."""
    return BASES[name]


def class_type(class_name: str) -> ClassType:
    """The TorchScript class type of this (dotted) class name."""
    return _CLASSES[class_name]


def dispatcher_type(name: str, items: tuple[Type, ...] | None = None) -> DispatcherType:
    """Type of this name that only the dispatcher has, with parameters unless `items` is None.

    >>> dispatcher_type("Dict", (base("str"), TENSOR)).text, dispatcher_type("", (base("int"), TENSOR)).text
    ('Dict(str, Tensor)', '(int, Tensor)')
    """
    return _DISPATCHER_TYPES[name, items]


def optional(elem: Type) -> OptionalType:
    """Type `elem?`."""
    return _OPTIONALS[elem]


def list_of(elem: Type, size: int | None) -> ListType:
    """Type `elem[]`, or `elem[size]`."""
    return _LISTS[elem, size]


def holds_tensors(type: Type) -> bool:
    """Whether values of a type can have tensors, at any depth.

    >>> holds_tensors(dispatcher_type("Dict", (base("str"), TENSOR_LIST))), holds_tensors(base("Storage"))
    (True, False)
    """
    inner = type.innermost
    return inner is TENSOR or (isinstance(inner, DispatcherType) and any(map(holds_tensors, inner.items)))


TENSOR: Final = base("Tensor")
SYMINT: Final = base("SymInt")
BOOL: Final = base("bool")
SCALAR: Final = base("Scalar")
OPTIONAL_TENSOR: Final = optional(TENSOR)
TENSOR_LIST: Final = list_of(TENSOR, None)
