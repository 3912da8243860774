"""Types of the schema language, as interned values, and their alias annotations.

Equal types are the same object, so work that depends only on a type (its C++ form, its Python form) is done once per
type and looked up by identity.

>>> optional(list_of(base("Tensor"), None)).text
'Tensor[]?'
>>> optional(base("int")) is optional(base("int"))
True
"""

from __future__ import annotations

from functools import cache
from typing import Final, final

from opwright.schema.base_types import BASE_TYPE_ROWS, forms_of
from opwright.source.records import not_fingerprinted


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


_INTERNED: Final[dict[tuple[tuple[str, ...], bool, tuple[str, ...]], Annotation]] = {}


def annotation(before: tuple[str, ...], is_write: bool, after: tuple[str, ...] = ()) -> Annotation:
    """Annotation with these alias sets."""
    key = (before, is_write, after)
    annotation = _INTERNED.get(key)
    if annotation is None:
        annotation = _INTERNED.setdefault(key, Annotation(before, is_write, after))
    return annotation


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

    def __init__(self, name: str, items: tuple[Type, ...], text: str) -> None:
        super().__init__(text, None, False, None)
        self.name: Final = name
        self.items: Final = items


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


@cache
def _base_type(name: str) -> BaseType:
    return BaseType(name)


#: The base types by name, with those that trees between releases have taught.
BASES: Final = forms_of(lambda row: _base_type(row.name) if row.in_files else None)
_CLASSES: Final[dict[str, ClassType]] = {}
_DISPATCHER_TYPES: Final[dict[str, DispatcherType]] = {}
_OPTIONALS: Final[dict[Type, OptionalType]] = {}
_LISTS: Final[dict[tuple[Type, int | None], ListType]] = {}


def base(name: str) -> BaseType:
    """Base type of this name. Raises KeyError if there is none."""
    return BASES[name]


def class_type(class_name: str) -> ClassType:
    """The TorchScript class type of this (dotted) class name."""
    type = _CLASSES.get(class_name)
    if type is None:
        type = _CLASSES.setdefault(class_name, ClassType(class_name))
    return type


def dispatcher_type(name: str, items: tuple[Type, ...] | None = None) -> DispatcherType:
    """Type of this name that only the dispatcher has, with parameters unless `items` is None.

    >>> dispatcher_type("Dict", (base("str"), TENSOR)).text, dispatcher_type("", (base("int"), TENSOR)).text
    ('Dict(str, Tensor)', '(int, Tensor)')
    """
    text = name if items is None else f"{name}({', '.join([item.text for item in items])})"
    type = _DISPATCHER_TYPES.get(text)
    if type is None:
        type = _DISPATCHER_TYPES.setdefault(text, DispatcherType(name, items or (), text))
    return type


def optional(elem: Type) -> OptionalType:
    """Type `elem?`."""
    type = _OPTIONALS.get(elem)
    if type is None:
        type = _OPTIONALS.setdefault(elem, OptionalType(elem))
    return type


def list_of(elem: Type, size: int | None) -> ListType:
    """Type `elem[]`, or `elem[size]`."""
    type = _LISTS.get((elem, size))
    if type is None:
        type = _LISTS.setdefault((elem, size), ListType(elem, size))
    return type


def is_seen_by_dispatcher(type: Type) -> bool:
    """Whether the dispatcher looks at the tensors of a type: it looks into lists, and no deeper.

    >>> [is_seen_by_dispatcher(type) for type in (OPTIONAL_TENSOR, TENSOR_LIST, optional(TENSOR_LIST))]
    [True, True, False]
    """
    item = type.elem if isinstance(type, ListType) else type
    return item is TENSOR or item is OPTIONAL_TENSOR


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
