"""Operator libraries: what a library file says of the operators of one namespace, derivatives in Python included."""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Final

from opwright.emit.aten.backend import Backend
from opwright.libraries.entry_fields import recording_operator
from opwright.model.catalog import Catalog
from opwright.model.derivatives import NO_DERIVATIVES, ConstantResult, DifferentiableFunction, MatchedDerivatives
from opwright.model.library import Library
from opwright.model.native_function import NativeFunction
from opwright.schema.function import Argument
from opwright.schema.types import ListType
from opwright.source.records import Copyable, NamedTuple, frozen_fields
from opwright.source.span import Span

if TYPE_CHECKING:
    from dataclasses import KW_ONLY


#: The namespace of a library that gets its namespace when it is compiled: the macro that names it. PyTorch's builds of
#: extensions define it.
BUILD_NAMESPACE: Final = "TORCH_EXTENSION_NAME"


def library_names(namespace: str, cpp_namespace: str = "") -> Library:
    """Names around the operators of a namespace, in the C++ namespace of that name unless another one is given.

    >>> library_names("acme").operators, library_names("acme", "acme::ops").headers
    ('acme::_ops', 'acme/ops')
    """
    api = cpp_namespace or namespace
    name = api.replace("::", "_") if namespace == BUILD_NAMESPACE else namespace
    return Library(namespace, api, api.replace("::", "/"), f"{name.upper()}_API")


class SavedForm(enum.Enum):
    """How a value is kept from the forward call: as a tensor, as tensors of a list, or as anything else."""

    TENSOR = enum.auto()
    TENSORS = enum.auto()
    FACT = enum.auto()


class SavedValue(NamedTuple):
    """What is kept: the name that formulas read, and the expression of the forward call."""

    name: str
    expression: str
    form: SavedForm


class PythonFormula(NamedTuple):
    """A backward formula for one or more arguments.

    `gradients` are the positions of the results whose gradients it reads, and `asked` those of them that it asks
    whether they are defined. `span` is where the formula stands.
    """

    text: str
    arguments: tuple[str, ...]
    saved: tuple[SavedValue, ...]
    gradients: frozenset[int]
    asked: frozenset[int]
    span: Span | None = None


class PythonForward(NamedTuple):
    """A forward formula for one or more results, by position. `tangents` are the arguments whose tangents it reads."""

    text: str
    results: tuple[int, ...]
    tangents: tuple[str, ...]


class PythonGradient(NamedTuple):
    """Formulas of an operator, and whether each of its results is differentiable.

    Arguments that are `left_out` have no formula, and may require no gradients. `kept` are results without a gradient
    that formulas read.

    Without formulas, what the operator returns and writes to raises in the backward pass.
    """

    function: NativeFunction
    formulas: tuple[PythonFormula, ...] = ()
    differentiable: tuple[bool, ...] = ()
    forward: tuple[PythonForward, ...] = ()
    left_out: tuple[str, ...] = ()
    kept: tuple[ConstantResult, ...] = ()


def is_tensor_list(argument: Argument) -> bool:
    """Whether an argument is a list of tensors."""
    return isinstance(argument.type, ListType) and argument.type.is_tensor_like


def gives_list(function: NativeFunction) -> bool:
    """Whether a function returns one list."""
    returns = function.schema.returns
    return len(returns) == 1 and isinstance(returns[0].type, ListType)


def overloads_with_dtype(function: NativeFunction, overloads: Iterable[NativeFunction]) -> Iterator[NativeFunction]:
    """Overloads that take the arguments of a function and a dtype after them.

    Loading reports a function with a policy that needs one if there is none with its condition.
    """
    type_texts = [argument.type.text for argument in function.arguments.all]
    for overload in overloads:
        types = [argument.type.text for argument in overload.arguments.all]
        is_named_alike = overload.namespace == function.namespace and overload.name.base == function.name.base
        if is_named_alike and types in ([*type_texts, "ScalarType"], [*type_texts, "ScalarType?"]):
            yield overload


class LibraryDerivatives(NamedTuple):
    """Derivatives of the operators of a library.

    `matched` are its functions with the derivatives that they use, in the order of the catalog. `includes` are the
    headers that declare the author's functions in formulas. `called` are the names of PyTorch's operators that formulas
    call as functions. `python` are those that the Python package of a library with the stable interface registers.
    """

    matched: MatchedDerivatives = NO_DERIVATIVES
    includes: tuple[str, ...] = ()
    called: tuple[str, ...] = ()
    python: tuple[PythonGradient, ...] = ()


#: The derivatives of a library whose head names no file with derivatives.
NO_LIBRARY_DERIVATIVES: Final = LibraryDerivatives()


class OwnWrappers(NamedTuple):
    """What the head of a backend file says of the wrappers of its own operators, for the keys of its device.

    `display_name` stands in their names in place of `key`. `make` takes what `Backend` does and makes one of the class
    that has what the head says. `includes` are the headers with what hooks name.
    """

    key: str
    display_name: str
    make: Callable[..., Backend]
    includes: tuple[str, ...] = ()


class Owner(NamedTuple):
    """Who defines the operators that a library has kernels for: their namespace, and the Python module."""

    namespace: str
    module: str


@frozen_fields
class OperatorLibrary(Copyable):
    """Operators of one namespace.

    `library` has the names of the C++ code around them. `catalog` has its operators alone. `includes` are the
    headers that declare the author's kernels, as `#include` directives name them; if there are none, the kernels
    are declared by generated code. `derivatives` are those of the operators. `python_package` is the Python package
    with their functions, and `doc` what the library is for. `abi` is the C++ interface of PyTorch that the library
    uses, `native` or `stable`, or `dlpack` if its kernels get borrowed tensors, from each of the `frameworks`. Then
    generated code for PyTorch uses the stable interface. `oldest_release` is the first release that a library with
    the stable interface serves, such as `(2, 10)`; `releases` are the known ones that its files name. `c_shims` are
    the devices for which AOTInductor gets C shims.
    With `has_own_signatures`, kernels have the C++ signatures with which the headers of `includes` declare them,
    not those that follow from their schemas. `wrappers` are those of operators in a backend file. A library with an
    `owner` has kernels alone, for operators that this one defines.
    """

    library: Library
    catalog: Catalog
    _: KW_ONLY
    includes: tuple[str, ...] = ()
    derivatives: LibraryDerivatives = NO_LIBRARY_DERIVATIVES
    python_package: str = ""
    doc: str = ""
    abi: str = "native"
    c_shims: tuple[str, ...] = ()
    oldest_release: tuple[int, int] = (2, 10)
    releases: tuple[tuple[int, int], ...] = ()
    has_own_signatures: bool = False
    wrappers: OwnWrappers | None = None
    frameworks: tuple[str, ...] = ()
    owner: Owner | None = None

    @property
    def is_stable(self) -> bool:
        """Whether the code for PyTorch uses the stable C++ interface alone."""
        return self.library.is_stable

    @property
    def takes_views(self) -> bool:
        """Whether the kernels get borrowed tensors."""
        return self.abi == "dlpack"

    def differentiable_functions(self) -> dict[NativeFunction, DifferentiableFunction]:
        """The operators, each with the derivatives that it uses, and with what records its calls."""
        matched = {function.function: function for function in self.derivatives.matched.functions}
        return {
            function: matched.get(function, DifferentiableFunction(function, {}, {}))._replace(
                recorder=recording_operator(function)
            )
            for function in self.catalog.functions
        }

    def __repr__(self) -> str:
        return f"<operator library {self.library.namespace}>"


class RunLibraries(NamedTuple):
    """The operator libraries of a run, each with a catalog of its own."""

    libraries: tuple[OperatorLibrary, ...] = ()
