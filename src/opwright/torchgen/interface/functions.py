"""Native functions, their groups and their kernels, as records over Opwright's."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import import_module
from operator import attrgetter
from typing import ClassVar, Final

from opwright.dialects.native_functions.fields import ROWS
from opwright.model import dispatch_key as key_table
from opwright.model import native_function as model
from opwright.model.dispatch_key import DispatchKey as ModelKey
from opwright.schema.function import Argument as ModelArgument
from opwright.schema.names import OperatorName as ModelName
from opwright.schema.signature import signature_key
from opwright.source.span import Span
from opwright.source.text import SourceFile
from opwright.torchgen.interface.faults import Invalid
from opwright.torchgen.interface.keys import (
    DeviceCheckType,
    DispatchKey,
    ScalarType,
    SchemaKind,
    UfuncInnerLoop,
    UfuncKey,
    Variant,
    ViewSchemaKind,
    is_structured_dispatch_key,
    model_key,
)
from opwright.torchgen.interface.records import Computed, Record, record
from opwright.torchgen.interface.schema import (
    Argument,
    FunctionSchema,
    argument_of,
    model_argument,
    model_schema,
    schema_of,
)
from opwright.torchgen.interface.types import OperatorName, model_name, name_of
from opwright.torchgen.utils import OrderedSet


@record("file line")
class Location(Record):
    """Line of a file where an entry starts."""

    line: int
    file: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


def file_of(place: object) -> str:
    """File of a place; programs also give a mere text for it."""
    return place.file if isinstance(place, Location) else str(place)


def location_of(origin: model.UnlinkedFunction) -> Location:
    """Where the entry of one of Opwright's functions starts."""
    return Location(line=origin.entry.line, file=origin.entry.file.path)


@record("replace add")
class Precompute(Record):
    """Values that a structured kernel's shape function computes for its computation."""

    add: list[Argument]
    replace: dict[str, list[Argument]]

    def __post_init__(self) -> None:
        for argument in (*self.add, *[argument for listed in self.replace.values() for argument in listed]):
            if argument.name.upper() == argument.name:
                raise Invalid(
                    f"precomputed `{argument.name}` is all upper-case, like the template parameter made from it"
                )

    @staticmethod
    def parse(src: object) -> Precompute:
        """Values of a list of lines `argument -> type name, ...`. Raises AssertionError if it is not one."""
        if not isinstance(src, list):
            raise Invalid(f"`precomputed` is a list of lines, not {type(src).__name__}")
        lines = [line.partition(" -> ") for line in src]
        if any(not arrow for _, arrow, _ in lines[:-1]):
            raise Invalid("only the last line of `precomputed` may omit ` -> `")
        replace = {name: _argument_list(rest) for name, arrow, rest in lines if arrow}
        return Precompute(
            add=[item for line, arrow, _ in lines if not arrow for item in _argument_list(line)], replace=replace
        )

    def to_list(self) -> list[str]:
        """Lines of the replaced arguments."""
        return [f"{name} -> {', '.join(map(str, listed))}" for name, listed in self.replace.items()]


def _argument_list(text: str) -> list[Argument]:
    return [Argument.parse(item.strip()) for item in text.split(",")]


def _precompute(origin: model.UnlinkedFunction) -> Precompute | None:
    values = origin.precomputed
    if values is None:
        return None
    replace = {name: list(map(argument_of, arguments)) for name, arguments in values.replace.items()}
    return Precompute(add=list(map(argument_of, values.add)), replace=replace)


def _loops(origin: model.UnlinkedFunction) -> dict[UfuncKey, UfuncInnerLoop]:
    loops: dict[UfuncKey, UfuncInnerLoop] = {}
    for loop in origin.ufunc.values():
        key = UfuncKey[loop.key.name]
        dtypes = OrderedSet([ScalarType[dtype] for dtype in loop.dtypes])
        loops[key] = UfuncInnerLoop(ufunc_key=key, supported_dtypes=dtypes, name=loop.name)
    return loops


def _has_kernel(key: ModelKey) -> Callable[[model.UnlinkedFunction], bool]:
    return lambda origin: key in origin.kernels


#: The fields of a function that say whether a composite key has a kernel.
_COMPOSITES: Final = {
    "has_composite_implicit_autograd_kernel": key_table.COMPOSITE_IMPLICIT,
    "has_composite_implicit_autograd_nested_tensor_kernel": key_table.COMPOSITE_IMPLICIT_NESTED,
    "has_composite_explicit_autograd_kernel": key_table.COMPOSITE_EXPLICIT,
    "has_composite_explicit_autograd_non_functional_kernel": key_table.COMPOSITE_EXPLICIT_NON_FUNCTIONAL,
}

#: The fields of functions whose values have other forms in records.
_OTHER_FORMS: Final = frozenset(
    ("tags", "autogen", "cpp_no_default_args", "device_check", "structured_delegate", "precomputed", "ufunc")
)

#: The fields of entries that have the same values in records, by their names there.
_SAME: Final = {row.field.name: row.attribute for row in ROWS if row.attribute and row.attribute not in _OTHER_FORMS}


@record(
    "namespace func use_const_ref_for_mutable_tensors device_guard device_check python_module category_override"
    " variants manual_kernel_registration manual_cpp_binding loc autogen ufunc_inner_loop structured"
    " structured_delegate structured_inherits precomputed cpp_no_default_args is_abstract"
    f" {' '.join(_COMPOSITES)} tags",
    {name: getattr(model.NO_FIELDS, attribute) for name, attribute in _SAME.items()},
)
class NativeFunction(Record):
    """One overload with the fields of its entry."""

    func: FunctionSchema
    loc: Location
    tags: set[str]
    variants: set[Variant]
    autogen: list[OperatorName]
    namespace: str
    python_module: str | None
    category_override: str | None
    cpp_no_default_args: set[str]
    device_check: DeviceCheckType
    device_guard: bool
    is_abstract: bool
    structured: bool
    structured_delegate: OperatorName | None
    structured_inherits: str | None
    precomputed: Precompute | None
    ufunc_inner_loop: dict[UfuncKey, UfuncInnerLoop]
    manual_cpp_binding: bool
    manual_kernel_registration: bool
    use_const_ref_for_mutable_tensors: bool
    has_composite_explicit_autograd_kernel: bool
    has_composite_explicit_autograd_non_functional_kernel: bool
    has_composite_implicit_autograd_kernel: bool
    has_composite_implicit_autograd_nested_tensor_kernel: bool

    _computed: ClassVar[Computed] = {
        "func": lambda origin: schema_of(origin.schema),
        "loc": location_of,
        "tags": lambda origin: set(origin.tags),
        "variants": lambda origin: {variant for variant in Variant if getattr(origin, variant.name)},
        "autogen": lambda origin: list(map(name_of, origin.autogen)),
        "cpp_no_default_args": lambda origin: set(origin.cpp_no_default_args),
        "device_check": lambda origin: DeviceCheckType[origin.device_check.name],
        "structured_delegate": lambda origin: origin.structured_delegate and name_of(origin.structured_delegate),
        "precomputed": _precompute,
        "ufunc_inner_loop": _loops,
        **{name: attrgetter(attribute) for name, attribute in _SAME.items()},
        **{name: _has_kernel(key) for name, key in _COMPOSITES.items()},
    }

    def __hash__(self) -> int:
        return hash((self.namespace, self.func))

    @staticmethod
    def from_yaml(
        ei: dict[str, object], loc: Location, valid_tags: set[str], ignore_keys: set[DispatchKey] | None = None
    ) -> tuple[NativeFunction, dict[DispatchKey, dict[OperatorName, BackendMetadata]]]:
        """Function of an entry, and its kernels. Raises AssertionError if the entry has a mistake."""
        # Loading needs this module, and few callers load single entries.
        generator = import_module("opwright.torchgen.interface.generator")
        function: NativeFunction
        function, kernels = generator.function_of_entry(ei, loc, valid_tags, ignore_keys)
        return function, kernels

    @property
    def has_composite_kernel(self) -> bool:
        """Whether a composite key, except that of nested tensors, has a kernel."""
        return model_function(self).has_composite_kernel

    @property
    def is_view_op(self) -> bool:
        """Whether the overload is a view."""
        return model_function(self).is_view

    @property
    def view_schema_kind(self) -> ViewSchemaKind:
        """How the result shares memory with the arguments."""
        return ViewSchemaKind[model_function(self).view_kind.name]

    @property
    def root_name(self) -> str:
        """The operator's name without in-place underscore and overload."""
        return self.func.name.name.base

    @property
    def part_of_structured_group(self) -> bool:
        """Whether the function is structured or delegates to one that is."""
        return self.structured or self.structured_delegate is not None

    def validate_unstructured(self) -> None:
        """Raise AssertionError if the function is a part of a structured group."""
        if self.part_of_structured_group:
            raise Invalid(f"`{self.func.name}` is structured, and its operation has no functional and out overload")


def function_of(origin: model.UnlinkedFunction, **fields: object) -> NativeFunction:
    """Record of one of Opwright's functions."""
    return NativeFunction._of(origin, **fields)


def _model_loops(loops: dict[UfuncKey, UfuncInnerLoop]) -> dict[model.UfuncKey, model.UfuncLoop]:
    pairs = [(model.UfuncKey[key.name], loop) for key, loop in loops.items()]
    return {
        key: model.UfuncLoop(key, loop.name, tuple([dtype.name for dtype in loop.supported_dtypes]))
        for key, loop in pairs
    }


def _model_precompute(values: Precompute | None) -> model.Precomputed | None:
    if values is None:
        return None
    replace: dict[str, tuple[ModelArgument, ...]] = {}
    for name, listed in values.replace.items():
        replace[name] = tuple(map(model_argument, listed))
    return model.Precomputed(replace, tuple(map(model_argument, values.add)))


def start_of_file(f: NativeFunction) -> Span:
    """What messages about a function point at whose place in its file is not known."""
    return SourceFile(file_of(f.loc), "").span(0, 0)


def _unlinked(f: NativeFunction) -> model.UnlinkedFunction:
    kernels = {
        key: model.Kernel(key, str(f.func.name.name), "at::native", False)
        for name, key in _COMPOSITES.items()
        if getattr(f, name)
    }
    fields = model.EntryFields(
        function=Variant.function in f.variants,
        method=Variant.method in f.variants,
        ufunc=_model_loops(f.ufunc_inner_loop),
        precomputed=_model_precompute(f.precomputed),
        device_check=model.DeviceCheck[f.device_check.name],
        autogen=tuple(map(model_name, f.autogen)),
        tags=frozenset(f.tags),
        cpp_no_default_args=frozenset(f.cpp_no_default_args),
        structured_delegate=None if f.structured_delegate is None else model_name(f.structured_delegate),
        **{attribute: getattr(f, name) for name, attribute in _SAME.items()},
    )
    return model.UnlinkedFunction(
        fields,
        schema=model_schema(f.func),
        namespace=f.namespace,
        entry=start_of_file(f),
        kernels=kernels,
        is_synthesized="generated" in f.tags,
        is_abstract=f.is_abstract,
    )


def model_function(f: NativeFunction) -> model.NativeFunction:
    """Opwright's function of a record."""
    origin = f._made_from(lambda: _unlinked(f))
    if origin.__class__ is model.UnlinkedFunction:
        model.link_functions([origin], (), ())
    assert isinstance(origin, model.NativeFunction)
    return origin


def _check_members(name: str, functions: list[NativeFunction], *, view_form: bool = False) -> None:
    """Raise AssertionError if the members of a group have different signatures or namespaces."""
    keys = {signature_key(model_schema(f.func), strip_default=view_form, view_form=view_form) for f in functions}
    if len(keys) > 1:
        listed = "; ".join([str(f.func) for f in functions])
        raise Invalid(f"the overloads of `{name}` have different signatures: {listed}")
    if len({f.namespace for f in functions}) > 1:
        raise Invalid(f"the overloads of `{name}` are in different namespaces")


def _present(*functions: NativeFunction | None) -> list[NativeFunction]:
    return [function for function in functions if function is not None]


@record("functional inplace mutable out")
class NativeFunctionsGroup(Record):
    """Overloads of one operation."""

    out: NativeFunction
    functional: NativeFunction
    inplace: NativeFunction | None
    mutable: NativeFunction | None

    def __post_init__(self) -> None:
        members = list(self.functions())
        _check_members(str(self.functional.func.name), members)
        if not self.structured:
            for member in members:
                member.validate_unstructured()
            return
        wrong = [f for f in _present(self.functional, self.inplace) if f.structured_delegate != self.out.func.name]
        if wrong:
            raise Invalid(f"`{wrong[0].func.name}` has to delegate to the structured `{self.out.func.name}`")

    @property
    def structured(self) -> bool:
        """Whether the operation is written as a structured kernel."""
        return self.out.structured

    @property
    def root_name(self) -> str:
        """Base name of the functional overload."""
        return self.functional.root_name

    def signature(self) -> FunctionSchema:
        """Schema that all members share."""
        return self.out.func.signature()

    def functions(self) -> Iterator[NativeFunction]:
        """Members: functional, out, in-place, mutable."""
        return iter(_present(self.functional, self.out, self.inplace, self.mutable))

    @staticmethod
    def from_dict(d: dict[SchemaKind, NativeFunction]) -> NativeFunctionsGroup | None:
        """Group of functions by their kinds; None if there is no functional or no out overload."""
        functional, out = d.get(SchemaKind.functional), d.get(SchemaKind.out)
        if len(d) > 1 and SchemaKind.scratch in d:
            raise Invalid(f"`{d[SchemaKind.scratch].func.name}` belongs to no group")
        if functional is None or out is None:
            return None
        inplace, mutable = d.get(SchemaKind.inplace), d.get(SchemaKind.mutable)
        return NativeFunctionsGroup(out=out, functional=functional, inplace=inplace, mutable=mutable)


def model_group(g: NativeFunctionsGroup) -> model.NativeFunctionsGroup:
    """Opwright's group of a record. Its members are those of the records, or copies of these that know the group."""
    return g._made_from(lambda: _linked_group(g))


def _linked_group(g: NativeFunctionsGroup) -> model.NativeFunctionsGroup:
    members = list(map(model_function, g.functions()))
    group = members[0].group
    if group is not None and group.functions() == members:
        return group
    fresh = [None if f is None else _linked_copy(f) for f in (g.inplace, g.mutable)]
    group = model.NativeFunctionsGroup(_linked_copy(g.functional), _linked_copy(g.out), *fresh)
    for member in group.functions():
        object.__setattr__(member, "group", group)
    return group


def _linked_copy(f: NativeFunction) -> model.NativeFunction:
    return model.link_functions([_unlinked(f)], (), ())[0]


@record("view view_copy view_inplace")
class NativeFunctionsViewGroup(Record):
    """A view with its copying form and its in-place form."""

    view_inplace: NativeFunction | None
    view_copy: NativeFunction | None
    view: NativeFunction

    def __post_init__(self) -> None:
        if not self.view.is_view_op:
            raise Invalid(f"`{self.view.func.name}` is no view")
        _check_members(str(self.view.func.name), list(self.functions()), view_form=True)
        needs_copy = gets_generated_view_copy(self.view) and not self.composite
        if self.view_copy is None and needs_copy:
            raise Invalid(f"the view `{self.view.func.name}` has no copying form")

    @property
    def root_name(self) -> str:
        """The view's base name."""
        return self.view.root_name

    @property
    def composite(self) -> bool:
        """Whether the view consists of other views."""
        return self.view.has_composite_implicit_autograd_kernel

    def functions(self, *, include_copy: bool = True) -> Iterator[NativeFunction]:
        """Members: view, in-place, copy."""
        copying = self.view_copy if include_copy else None
        return iter(_present(self.view, self.view_inplace, copying))


#: The views whose copying form is written by hand.
_COPIED_BY_HAND: Final = ("narrow",)


def gets_generated_view_copy(f: NativeFunction) -> bool:
    """Whether a view has a copying form whose kernel is generated."""
    is_own = not f.has_composite_implicit_autograd_kernel and "inplace_view" not in f.tags
    return f.is_view_op and is_own and not f.func.name.name.base.endswith("_inverse")


def get_view_copy_name(f: NativeFunction) -> OperatorName:
    """Name of the copying form of a view. Raises AssertionError if it has none."""
    if not gets_generated_view_copy(f) and str(f.func.name) not in _COPIED_BY_HAND:
        raise Invalid(f"`{f.func.name}` has no copying form")
    name = model_name(f.func.name)
    return name_of(ModelName(f"{name.base}_copy", name.overload))


@record("kernel structured cpp_namespace")
class BackendMetadata(Record):
    """The C++ function that implements an overload under a dispatch key."""

    cpp_namespace: str
    structured: bool
    kernel: str

    def supports_symint(self) -> bool:
        """Whether the function takes symbolic integers."""
        return "_symint" in self.kernel


def metadata_of(kernel: model.Kernel, *, structured: bool = False) -> BackendMetadata:
    """Record of one of Opwright's kernels, which may be structured though Opwright has no such for its key."""
    structured = structured or kernel.structured
    return BackendMetadata(cpp_namespace=kernel.namespace, structured=structured, kernel=kernel.name)


def model_kernel(metadata: BackendMetadata, key: ModelKey) -> model.Kernel:
    """Opwright's kernel of a record."""
    return model.Kernel(key, metadata.kernel, metadata.cpp_namespace, metadata.structured)


def kernels_of(functions: list[model.UnlinkedFunction], key: ModelKey) -> dict[OperatorName, BackendMetadata]:
    """Kernels under a key of the functions that have one."""
    may_be_structured = is_structured_dispatch_key(DispatchKey[key.name])
    return {
        name_of(function.name): metadata_of(function.kernels[key], structured=may_be_structured and function.structured)
        for function in functions
    }


@record("dispatch_key use_out_as_primary device_guard external index")
class BackendIndex(Record):
    """Kernels under one dispatch key by operator."""

    index: dict[OperatorName, BackendMetadata]
    dispatch_key: DispatchKey
    external: bool
    device_guard: bool
    use_out_as_primary: bool

    _computed: ClassVar[Computed] = {"index": lambda origin: kernels_of(*origin)}

    @staticmethod
    def grow_index(
        parent_index: dict[DispatchKey, dict[OperatorName, BackendMetadata]],
        child_index: dict[DispatchKey, dict[OperatorName, BackendMetadata]],
    ) -> None:
        """Add kernels to others. Raises AssertionError if an operator has a kernel under the key already."""
        for key, kernels in child_index.items():
            known_kernels = parent_index.setdefault(key, {})
            for name, metadata in kernels.items():
                if name in known_kernels:
                    raise Invalid(f"`{name}` has two kernels for `{key}`")
                known_kernels[name] = metadata

    def primary(self, g: NativeFunctionsGroup) -> NativeFunction:
        """Member of a group whose kernel serves the others."""
        return g.out if self.use_out_as_primary else g.functional

    def has_kernel(self, g: NativeFunction | NativeFunctionsGroup) -> bool:
        """Whether a function, or the primary member of a group, has a kernel."""
        return self.get_kernel(g) is not None

    def get_kernel(self, g: NativeFunction | NativeFunctionsGroup) -> BackendMetadata | None:
        """Kernel of a function, or of the primary member of a group."""
        function = self.primary(g) if isinstance(g, NativeFunctionsGroup) else g
        return self.index.get(function.func.name)

    def native_function_class_name(self) -> str | None:
        """Class of the kernels of a backend outside PyTorch."""
        return f"{self.dispatch_key}NativeFunctions" if self.external else None


def index_of(key: DispatchKey, functions: list[model.UnlinkedFunction]) -> BackendIndex:
    """Kernels of PyTorch's functions under a key."""
    row = model_key(key)
    return BackendIndex._of(
        (functions, row), dispatch_key=key, external=False, device_guard=row.device_guard, use_out_as_primary=True
    )


def gets_generated_out_inplace_wrapper(f: NativeFunction, g: NativeFunctionsGroup, b: BackendIndex) -> bool:
    """Whether the kernel of an out or in-place overload is made from that of the functional one."""
    is_functional = f.func.kind() is SchemaKind.functional
    return not is_functional and not b.has_kernel(f) and b.has_kernel(g.functional)
