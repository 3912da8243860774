"""Native functions: entries of `native_functions.yaml`, and overloads synthesized from them."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final, Protocol, cast

from opwright.guests import function_fact
from opwright.model.dispatch_key import (
    COMPOSITE_EXPLICIT,
    COMPOSITE_EXPLICIT_NON_FUNCTIONAL,
    COMPOSITE_IMPLICIT,
    COMPOSITE_IMPLICIT_NESTED,
    DispatchKey,
)
from opwright.model.extra_values import NO_VALUES, ExtraValues
from opwright.model.library import PYTORCH, Library
from opwright.schema.function import Argument, Arguments, FunctionSchema, SchemaKind
from opwright.schema.names import OperatorName
from opwright.source.records import Copyable, Frozen, fields_copier, frozen_fields, not_fingerprinted
from opwright.source.span import Span

if TYPE_CHECKING:
    from dataclasses import KW_ONLY


@frozen_fields
class Kernel(Copyable):
    """The C++ function that implements an overload under a dispatch key.

    `namespace` is the full C++ namespace, empty for the global one. A kernel with `_symint` in its name takes
    symbolic integers, and so does one with `takes_symint`.
    """

    key: DispatchKey
    name: str
    namespace: str
    structured: bool
    _: KW_ONLY
    takes_symint: bool = False

    @property
    def symint(self) -> bool:
        """Whether the kernel takes symbolic integers."""
        return self.takes_symint or "_symint" in self.name

    def __repr__(self) -> str:
        return f"<kernel {self.namespace}::{self.name} for {self.key.name}>"


class DeviceCheck(enum.Enum):
    """Whether a wrapper checks that all tensors are on the same device."""

    NoCheck = "NoCheck"
    ExactSame = "ExactSame"


class TypeStyle(enum.IntFlag):
    """How an entry changes the C++ types of its arguments."""

    # Many caches are keyed by a style, and the hash of an enumeration is a function in Python.
    __hash__ = int.__hash__

    PLAIN = 0
    CONST_REF_MUTABLES = 1
    """Written tensors are passed as `const Tensor &` (`use_const_ref_for_mutable_tensors`)."""
    ILIST_REF = 2
    """Lists of tensors are passed as `ITensorListRef` (members of structured groups)."""
    OPTIONAL_WRITES = 4
    """Written tensors may be missing, and written arguments are returned by value (mutable operators of libraries)."""
    HELD_LISTS = 8
    """Lists of optional symbols and scalars are passed as the dispatcher holds them (libraries)."""


@frozen_fields
class Precomputed:
    """Values that a structured kernel's `meta` computes for its `impl`.

    `replace` maps an argument's name to the values that replace it; those of `add` follow the other arguments.
    A kernel always gets `self` as it is: values that an entry writes in its place are computed and passed to nothing.
    """

    replace: dict[str, tuple[Argument, ...]]
    add: tuple[Argument, ...]

    @property
    def values(self) -> tuple[Argument, ...]:
        """All values that `meta` computes, in the order of the entry."""
        return (*[value for values in self.replace.values() for value in values], *self.add)

    def parameters_for(self, arguments: Arguments) -> tuple[Argument, ...]:
        """What `impl` takes for the arguments of the functional overload: replacements in place, and added values."""
        parameters: list[Argument] = []
        for argument in arguments.non_out:
            is_kept = argument is arguments.self_arg
            parameters += (argument,) if is_kept else self.replace.get(argument.name, (argument,))
        return (*parameters, *self.add)


class UfuncKey(enum.Enum):
    """Loops a ufunc entry may name."""

    CUDAFunctor = "CUDAFunctor"
    CUDAFunctorOnOther = "CUDAFunctorOnOther"
    CUDAFunctorOnSelf = "CUDAFunctorOnSelf"
    CPUScalar = "CPUScalar"
    CPUVector = "CPUVector"
    ScalarOnly = "ScalarOnly"
    Generic = "Generic"


@frozen_fields
class UfuncLoop:
    """One inner loop of a ufunc: the name of the C++ function, and its dtypes in order."""

    key: UfuncKey
    name: str
    dtypes: tuple[str, ...]


_NO_LOOPS: Final[dict[UfuncKey, UfuncLoop]] = {}

#: (are written tensors constant references, are lists of tensors passed as to structured kernels) -> style
_STYLES: Final = {
    (False, False): TypeStyle.PLAIN,
    (True, False): TypeStyle.CONST_REF_MUTABLES,
    (False, True): TypeStyle.ILIST_REF,
    (True, True): TypeStyle.CONST_REF_MUTABLES | TypeStyle.ILIST_REF,
}


@frozen_fields
class EntryFields:
    """Fields of an entry besides its schema and its kernels, each with its type and its default.

    Everything else about them is in the table of `dialects/native_functions/fields.py`. What derives from this class
    has the fields: the entry while it is read, and the functions themselves.

    >>> EntryFields(method=True).method, EntryFields().device_check.name
    (True, 'ExactSame')
    """

    function: bool = True
    method: bool = False
    structured: bool = False
    structured_delegate: OperatorName | None = None
    structured_inherits: str | None = None
    precomputed: Precomputed | None = None
    ufunc: dict[UfuncKey, UfuncLoop] = _NO_LOOPS
    device_check: DeviceCheck = DeviceCheck.ExactSame
    device_guard: bool = True
    manual_cpp_binding: bool = False
    manual_kernel_registration: bool = False
    python_module: str | None = None
    category_override: str | None = None
    cpp_no_default_args: frozenset[str] = frozenset()
    const_ref_mutables: bool = False
    autogen: tuple[OperatorName, ...] = ()
    tags: frozenset[str] = frozenset()


#: The names of the fields, and what gives them to a function.
FIELD_NAMES: Final = tuple(EntryFields.__annotations__)
_copy_fields: Final = fields_copier(FIELD_NAMES)
#: The values of fields that an entry does not have.
NO_FIELDS: Final = EntryFields()

#: The fields that tell how PyTorch's builds bind the operator of an entry, and which kernels the entry has itself. A
#: made operator has the values of an entry without them, and no device is checked or guarded for its kernel, which
#: calls another operator. It has all other fields of the entry.
_OF_THE_ENTRY_ALONE: Final = (
    *("function", "method", "python_module", "category_override", "manual_cpp_binding", "cpp_no_default_args"),
    *("structured", "structured_delegate", "structured_inherits", "precomputed", "ufunc", "autogen"),
    "manual_kernel_registration",
)
_OF_MADE: Final = {
    **{name: getattr(NO_FIELDS, name) for name in _OF_THE_ENTRY_ALONE},
    "device_check": DeviceCheck.NoCheck,
    "device_guard": False,
}


class GuestFields(Protocol):
    """The fields that entries have in the files of a guest. The compiler passes them on, and knows none of them."""

    def of_form(self) -> GuestFields:
        """Those of a form that `autogen` asks for."""
        ...


#: Why fingerprints leave out what conventions often ask for.
_OF_SCHEMA: Final = "it is that of the schema"


@not_fingerprinted(
    arguments=_OF_SCHEMA,
    cache="what conventions remember follows from the other fields",
    entry="where the entry stands is in no output, and what it says is in the other fields",
    kind=_OF_SCHEMA,
    name=_OF_SCHEMA,
    root_name=_OF_SCHEMA,
    group="the fingerprint of a function covers all functions that are linked with it",
    view_group="the fingerprint of a function covers all functions that are linked with it",
)
class UnlinkedFunction(EntryFields):
    """One overload with the fields of its entry, before `link_functions` sets its groups.

    `entry` is the span of the entry; for an overload that `is_synthesized`, that of the entry from which it was made.
    `kernels` maps dispatch keys to kernels, an implicit composite included. `is_abstract` says that the function has
    other kernels than an implicit composite one, which is differentiated through the functions that it calls. A
    synthesized overload is abstract if the function from which it was made is. `needs_derivative` says the same, but
    counts kernels for keys that the run leaves out, because autograd's files are for builds with all of them. `library`
    has the C++ names around the function. `guest_fields` are the fields that PyTorch's entries lack, if the entry has
    some; what guests know by them are attributes too, for plug-ins: `function.declared_outputs`. `values` are those of
    the keys that plug-ins declare for entries; a synthesized overload has none. `cache` is where conventions remember
    what follows from the function alone.
    """

    __slots__ = (
        *(
            "arguments",
            "cache",
            "entry",
            "group",
            "guest_fields",
            "is_abstract",
            "is_synthesized",
            "is_view",
            "kernels",
            "kind",
            "library",
        ),
        *("name", "namespace", "needs_derivative", "root_name", "schema", "style", "values", "view_group"),
    )

    def __init__(
        self,
        fields: EntryFields,
        *,
        namespace: str,
        schema: FunctionSchema,
        entry: Span,
        kernels: dict[DispatchKey, Kernel],
        is_synthesized: bool = False,
        is_abstract: bool | None = None,
        has_ignored_kernels: bool = False,
        library: Library = PYTORCH,
        guest_fields: GuestFields | None = None,
        values: ExtraValues = NO_VALUES,
    ) -> None:
        _copy_fields(self, fields)
        self.namespace: Final = namespace
        self.library: Final = library
        self.guest_fields = guest_fields
        self.values: Final = values
        self.schema: Final = schema
        self.name: Final = schema.name
        self.root_name: Final = schema.name.base
        self.arguments: Final = schema.arguments
        self.kind: Final = schema.kind
        self.entry: Final = entry
        self.kernels: Final = kernels
        self.is_synthesized: Final = is_synthesized
        if is_abstract is None:
            delegates = self.structured_delegate is not None
            is_abstract = delegates or not kernels or not kernels.keys() <= _IMPLICIT_KEYS
        self.is_abstract: Final = is_abstract
        self.needs_derivative: Final = is_abstract or has_ignored_kernels
        self.is_view: Final = is_view_schema(schema, self.tags)
        style = _STYLES[self.const_ref_mutables, self.in_structured_group]
        if library.takes_any_schema:
            style |= TypeStyle.HELD_LISTS
            if schema.kind is SchemaKind.mutable:
                style |= TypeStyle.OPTIONAL_WRITES
        self.style: Final = style
        self.cache: Final[dict[object, object]] = {}
        self.group: Final[NativeFunctionsGroup | None] = None
        self.view_group: Final[ViewGroup | None] = None

    def made(
        self, schema: FunctionSchema, kernel: Kernel, differing: Mapping[str, Any], guest_fields: GuestFields | None
    ) -> UnlinkedFunction:
        """An operator made from this one, whose only kernel calls another operator.

        It has every field of this one but those of the entry alone and those that are `differing`: a field that is
        added is one of every made operator. Where the kernel is an implicit composite, the operators that it calls have
        the derivatives.
        """
        values = {name: getattr(self, name) for name in FIELD_NAMES}
        is_composite = kernel.key in _IMPLICIT_KEYS
        return UnlinkedFunction(
            EntryFields(**{**values, **_OF_MADE, **differing}),
            namespace=self.namespace,
            schema=schema,
            entry=self.entry,
            kernels={kernel.key: kernel},
            is_synthesized=True,
            is_abstract=self.is_abstract and not is_composite,
            has_ignored_kernels=self.needs_derivative and not is_composite,
            library=self.library,
            guest_fields=guest_fields,
        )

    def __str__(self) -> str:
        return f"{self.namespace}::{self.schema}"

    def __repr__(self) -> str:
        return f"<native function {self.namespace}::{self.name}>"

    @property
    def in_structured_group(self) -> bool:
        """Whether the function is structured or delegates to one that is."""
        return self.structured or self.structured_delegate is not None

    @property
    def has_composite_kernel(self) -> bool:
        """Whether a composite key, except that of nested tensors, has a kernel."""
        return self.has_composite_implicit or self.has_composite_explicit or self.has_composite_non_functional

    @property
    def is_factory(self) -> bool:
        """Whether the function has tensor options, and does not take unspecified options from a tensor.

        Names of PyTorch's operators tell which do. Those of libraries say nothing.

        >>> import opwright
        >>> catalog = opwright.load()
        >>> [name for name in ("zeros", "zeros_like", "new_zeros") if catalog[name].is_factory]
        ['zeros']
        """
        if self.arguments.options is None:
            return False
        name = self.name.name
        return not self.library.known_by_name or not (name.endswith("_like") or name.startswith("new_"))

    @property
    def has_composite_implicit(self) -> bool:
        """Whether there is a CompositeImplicitAutograd kernel."""
        return COMPOSITE_IMPLICIT in self.kernels

    @property
    def ends_in_autograd(self) -> bool:
        """Whether all kernels are for Autograd keys, so that no key after those sees a call."""
        return bool(self.kernels) and all(key.name.startswith("Autograd") for key in self.kernels)

    @property
    def has_composite_implicit_nested(self) -> bool:
        """Whether there is a CompositeImplicitAutogradNestedTensor kernel."""
        return COMPOSITE_IMPLICIT_NESTED in self.kernels

    @property
    def has_composite_explicit(self) -> bool:
        """Whether there is a CompositeExplicitAutograd kernel."""
        return COMPOSITE_EXPLICIT in self.kernels

    @property
    def has_composite_non_functional(self) -> bool:
        """Whether there is a CompositeExplicitAutogradNonFunctional kernel, written or made by a structured group."""
        return COMPOSITE_EXPLICIT_NON_FUNCTIONAL in self.kernels

    @property
    def view_kind(self) -> ViewKind:
        """How the result shares memory with the arguments."""
        if not self.is_view:
            return ViewKind.non_aliasing
        return ViewKind.aliasing_inplace if self.name.inplace else ViewKind.aliasing

    # If type checkers saw this method, they would allow any name.
    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> object:
            """What a guest knows of the function, for plug-ins of version 1 of the API, which do not name the guest."""
            fact = None if name.startswith("_") else function_fact(name)
            if fact is None:
                raise AttributeError(f"a function has no `{name}`")
            return fact(self)


class NativeFunction(UnlinkedFunction, Frozen):
    """One overload with the fields of its entry (see `UnlinkedFunction`), and with the groups to which it belongs.

    >>> import opwright
    >>> relu = opwright.load()["relu"]
    >>> {key.name: kernel.name for key, kernel in relu.kernels.items() if key.name in ("CPU", "MkldnnCPU")}
    {'CPU': 'relu', 'MkldnnCPU': 'mkldnn_relu'}
    """

    __slots__ = ()


_IMPLICIT_KEYS: Final = frozenset((COMPOSITE_IMPLICIT, COMPOSITE_IMPLICIT_NESTED))


class ViewKind(enum.Enum):
    """How the result of a function shares memory with its arguments."""

    aliasing = "aliasing"
    aliasing_inplace = "aliasing_inplace"
    non_aliasing = "non_aliasing"


#: Functions tagged `inplace_view` that are not functionalized as views, because they change the size of storage.
_RESIZES: Final = ("resize_", "resize_as_")


def is_view_schema(schema: FunctionSchema, tags: frozenset[str]) -> bool:
    """Whether an overload is a view.

    It is one if a return aliases an argument that is not written, if an argument joins the wildcard set, or if it is
    tagged as an in-place view. An irregular schema does not say enough to regenerate its views.
    """
    if not schema.is_regular:
        return False
    for result in schema.returns:
        if result.annotation is not None and not result.is_write:
            return True
    if "inplace_view" in tags and schema.name.text not in _RESIZES:
        return True
    return schema.arguments.joins_wildcard


@frozen_fields
class NativeFunctionsGroup(Frozen):
    """Overloads of one operation: a functional and an out one, and an in-place and a mutable one if they exist.

    >>> import opwright
    >>> group = opwright.load()["relu"].group
    >>> group.functional.name.text, group.inplace.name.text, group.out.name.text, group.out.is_synthesized
    ('relu', 'relu_', 'relu.out', True)
    """

    functional: NativeFunction
    out: NativeFunction
    inplace: NativeFunction | None
    mutable: NativeFunction | None

    @property
    def structured(self) -> bool:
        """Whether the operation is written as a structured kernel."""
        return self.out.structured

    @property
    def root_name(self) -> str:
        """Base name that all members share."""
        return self.functional.root_name

    @property
    def library(self) -> Library:
        """Library of the members."""
        return self.functional.library

    def functions(self) -> list[NativeFunction]:
        """Members: functional, out, in-place, mutable."""
        members = (self.functional, self.out, self.inplace, self.mutable)
        return [member for member in members if member is not None]


@frozen_fields
class ViewGroup(Frozen):
    """A view with its copying form and its in-place form, if they exist.

    >>> import opwright
    >>> [one.name.text for one in opwright.load()["t"].view_group.functions()]
    ['t', 't_', 't_copy']
    """

    view: NativeFunction
    view_copy: NativeFunction | None
    view_inplace: NativeFunction | None

    @property
    def root_name(self) -> str:
        """The view's base name."""
        return self.view.root_name

    @property
    def library(self) -> Library:
        """Library of the members."""
        return self.view.library

    @property
    def composite(self) -> bool:
        """Whether the view consists of other views, which are functionalized instead."""
        return self.view.has_composite_implicit or self.view.ends_in_autograd

    def functions(self, *, include_copy: bool = True) -> list[NativeFunction]:
        """Members: view, in-place, copy."""
        members = [self.view]
        if self.view_inplace is not None:
            members.append(self.view_inplace)
        if self.view_copy is not None and include_copy:
            members.append(self.view_copy)
        return members


def link_functions(
    functions: Iterable[UnlinkedFunction], groups: Iterable[NativeFunctionsGroup], view_groups: Iterable[ViewGroup]
) -> tuple[NativeFunction, ...]:
    """Sets the groups of the functions to those of which they are members, and freezes the functions.

    Raises ValueError if a function is linked already: a catalog is linked once, while it is built.
    """
    linked = tuple(functions)
    for function in linked:
        if function.__class__ is not UnlinkedFunction:
            raise ValueError(f"{function!r} is linked already")
    set_attribute = object.__setattr__
    for group in groups:
        for member in group.functions():
            set_attribute(member, "group", group)
    for view_group in view_groups:
        for member in view_group.functions():
            set_attribute(member, "view_group", view_group)
    for function in linked:
        # Both classes have the same slots. Freezing here is faster than a constructor that checks each assignment.
        function.__class__ = NativeFunction
    return cast("tuple[NativeFunction, ...]", linked)
