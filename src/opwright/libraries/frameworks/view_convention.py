"""Convention of kernels that get borrowed tensors (`abi: dlpack`), whatever framework calls them.

Schema order, then a tensor for each result that is none of the arguments; nothing is returned, and there are no
defaults. Source of the types: `opwright/tensor_view.h`.
"""

from __future__ import annotations

from typing import Final

from opwright.convention.dispatcher import returned_arguments
from opwright.convention.native import name
from opwright.cpp import c_types
from opwright.cpp.binding import Binding
from opwright.cpp.signature import Signature
from opwright.libraries.emit.python.overloads import calls_another_form
from opwright.libraries.operator_library import OperatorLibrary
from opwright.model.native_function import Kernel, NativeFunction
from opwright.schema.function import Argument
from opwright.schema.types import ListType, OptionalType, Type
from opwright.source.records import NamedTuple


class ViewType(NamedTuple):
    """How a type is passed.

    `kind` is the word of `opwright::Kind`, and `cpp` the type of a parameter. `value` reads it from the `Value` `{0}`,
    and `facts` what checks ask of it.
    """

    kind: str
    cpp: str
    value: str
    facts: str


def _number(kind: str, cpp: str, member: str) -> ViewType:
    return ViewType(kind, cpp, member, member)


def _list(kind: str, cpp: str) -> ViewType:
    value = f"::opwright::list_in<{cpp}>({{0}})"
    return ViewType(kind, f"::opwright::Span<{cpp}>", value, value)


_VIEW: Final = "::opwright::TensorView"
_TYPES: Final = {
    "Tensor": ViewType("tensor", _VIEW, "::opwright::tensor_in({0})", "::opwright::facts_in({0})"),
    "Tensor[]": ViewType(
        "tensors",
        f"::opwright::Span<{_VIEW}>",
        f"::opwright::list_in<{_VIEW}>({{0}})",
        "::opwright::list_facts_in({0})",
    ),
    "int": _number("integer", "int64_t", "{0}.integer"),
    "float": _number("real", "double", "{0}.real"),
    "bool": _number("boolean", "bool", "({0}.integer != 0)"),
    "str": _number("text", "::std::string_view", "::opwright::text_in({0})"),
    "int[]": _list("integers", "int64_t"),
    "float[]": _list("reals", "double"),
    "bool[]": _list("booleans", "bool"),
}
_OPTIONAL_TENSOR: Final = ViewType(
    "tensor",
    f"::std::optional<{_VIEW}>",
    "::opwright::optional_tensor_in({0})",
    "::opwright::optional_facts_in({0})",
)


def view_type(type: Type) -> ViewType | None:
    """How a type of an argument is passed; None if the convention has no form of it.

    >>> from opwright.schema import parse_schema
    >>> arguments = parse_schema("f(Tensor? x, SymInt[2] size, Scalar s) -> ()").arguments.all
    >>> [None if (form := view_type(argument.type)) is None else form.cpp for argument in arguments]
    ['::std::optional<::opwright::TensorView>', '::opwright::Span<int64_t>', None]
    """
    if isinstance(type, OptionalType):
        if type.text == "Tensor?":
            return _OPTIONAL_TENSOR
        inner = view_type(type.elem)
        if inner is None or isinstance(type.elem, OptionalType) or inner.kind == "tensors":
            return None
        value = f"::opwright::optional_in({{0}}, {inner.value})"
        return inner._replace(cpp=f"::std::optional<{inner.cpp}>", value=value, facts=value)
    item = type.elem.text if isinstance(type, ListType) else type.text
    return _TYPES.get(item.replace("SymInt", "int") + ("[]" if isinstance(type, ListType) else ""))


def passed_type(argument: Argument) -> ViewType:
    """How an argument is passed, of an operator that checks let pass."""
    form = view_type(argument.type)
    assert form is not None, f"`{argument}` has no form"
    return form


class NewResult(NamedTuple):
    """A result that a kernel writes: its position among the results, and the name of the parameter."""

    position: int
    name: str


def new_results(function: NativeFunction) -> list[NewResult]:
    """The results that are none of the arguments."""
    names = returned_arguments(function.schema)
    returns = function.schema.returns
    new = [place for place, name in enumerate(names) if name is None]
    taken = {argument.name for argument in function.arguments.all}
    results = []
    for place in new:
        chosen = returns[place].name or ("out" if len(new) == 1 else f"out{place}")
        while chosen in taken:
            chosen += "_"
        taken.add(chosen)
        results.append(NewResult(place, chosen))
    return results


def written_arguments(function: NativeFunction) -> list[Argument]:
    """The arguments that a call changes."""
    return [argument for argument in function.arguments.all if argument.is_write]


def signature(function: NativeFunction) -> Signature:
    """Signature of a kernel. Raises ValueError for a type without a form; checks report these first."""
    bindings = []
    for argument in function.arguments.all:
        form = view_type(argument.type)
        if form is None:
            raise ValueError(f"kernels over borrowed tensors take no `{argument.type}`")
        bindings.append(Binding(argument.name, argument.name, c_types.base(form.cpp), argument))
    bindings += [Binding(result.name, result.name, c_types.base(_VIEW), None) for result in new_results(function)]
    return Signature(name(function.schema), c_types.VOID, tuple(bindings))


#: The devices of kernels, and the word of each in `opwright::KernelDevice`.
DEVICES: Final = {"CPU": "cpu", "CUDA": "cuda"}


class ViewOperator(NamedTuple):
    """An operator that frameworks call, its place in the table, and its kernels by the word of their devices."""

    function: NativeFunction
    place: int
    kernels: dict[str, Kernel]

    @property
    def name(self) -> str:
        """Name of the operator in JAX and TVM FFI, which have no overloads."""
        return self.function.name.unambiguous


def returned_places(operator: ViewOperator) -> str:
    """C++ text of the number of results and their places: the number of a new one, or `~` that of an argument."""
    names = [argument.name for argument in operator.function.arguments.all]
    places, count = [], 0
    for returned in returned_arguments(operator.function.schema):
        places.append(str(count) if returned is None else f"~{names.index(returned)}")
        count += returned is None
    return f"{len(places)}, {', '.join(places) or '0'}"


class ViewLibrary(NamedTuple):
    """A library whose kernels get borrowed tensors, with the operators that have kernels."""

    library: OperatorLibrary
    operators: tuple[ViewOperator, ...]

    @property
    def namespace(self) -> str:
        """Namespace of the operators."""
        return self.library.library.namespace

    @property
    def package(self) -> str:
        """Folder of the Python modules."""
        return self.library.python_package.replace(".", "/")

    @property
    def table(self) -> str:
        """Name of the C function that gives the table of operators."""
        return f"opwright_{self.namespace}_operators"


def shared_functions(library: OperatorLibrary) -> list[NativeFunction]:
    """The operators of a library that the author writes kernels for, which each framework gets."""
    return [
        function
        for function in library.catalog.functions
        if function.kernels and not function.is_synthesized and not calls_another_form(function)
    ]


def view_library(library: OperatorLibrary) -> ViewLibrary:
    """A library with the table of its operators."""
    operators = [
        ViewOperator(
            function,
            place,
            {DEVICES[key.name]: kernel for key, kernel in function.kernels.items() if key.name in DEVICES},
        )
        for place, function in enumerate(shared_functions(library))
    ]
    return ViewLibrary(library, tuple(operators))
