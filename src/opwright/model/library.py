"""What generated code calls the functions of a library of operators; PyTorch's operators are one of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from opwright.model.extra_values import NO_VALUES, ExtraValues
from opwright.source.records import NamedTuple

if TYPE_CHECKING:
    from opwright.model.declared_outputs import DeclaredOutputs
    from opwright.model.requirements import Requirements
    from opwright.schema.function import FunctionSchema


class Library(NamedTuple):
    """Names that the C++ code around the operators of a library has, and in what its operators differ from others.

    `namespace` is that of the operators for the dispatcher; `api` is the C++ namespace of the functions that callers
    use, and the namespaces of everything else are below it, but for that of the backward graph if `graph_namespace`
    names another. `headers` is the include folder of the headers that are made for each operator. `export` is the macro
    that exports symbols from the library's shared object.

    Code of a library that is `in_libtorch` is compiled as a part of PyTorch, and uses what PyTorch does not export: it
    calls methods of tensors, and PyTorch neither functionalizes nor traces its operators as those of others. Kernels of
    one with `kernels_in_native` are in namespaces called `native`, and what is made for a kernel is in the namespace
    around it. Entries of one that `keeps_conventions` have the forms of `native_functions.yaml` alone, and groups of
    their overloads are complete. Operators of one that is `known_by_name` stand in tables of `release/operator_names/`
    with what their schemas do not say. Code of one that `takes_any_schema` also fits schemas that no operator of
    PyTorch's has, such as those with an argument that has the name of one of its variables. A library that does not
    have `defines_operators` has kernels for those that another one defines in `namespace`. The code of one that
    `is_stable` uses PyTorch's stable interface alone, with which PyTorch makes forms of operators that need them.

    >>> PYTORCH.operators, Library("acme", "acme", "acme/ops", "ACME_API").native
    ('at::_ops', 'acme::native')
    """

    namespace: str
    api: str
    headers: str
    export: str
    graph_namespace: str = ""
    in_libtorch: bool = False
    kernels_in_native: bool = False
    keeps_conventions: bool = False
    known_by_name: bool = False
    takes_any_schema: bool = True
    defines_operators: bool = True
    is_stable: bool = False

    @property
    def operators(self) -> str:
        """Namespace of the operator classes, each with `call` and `redispatch`."""
        return f"{self.api}::_ops"

    @property
    def redispatch(self) -> str:
        """Namespace of the functions that call an operator with a given set of dispatch keys."""
        return f"{self.api}::redispatch"

    @property
    def native(self) -> str:
        """Namespace of kernels whose entry names no namespace."""
        return f"{self.api}::native"

    @property
    def meta(self) -> str:
        """Namespace of the shape functions of structured kernels."""
        return f"{self.api}::meta"

    @property
    def functionalization(self) -> str:
        """Namespace of the records of views and the functions that invert views."""
        return f"{self.api}::functionalization"

    @property
    def implementations(self) -> str:
        """Namespace of the functions that choose among the kernels for one dispatch key."""
        return f"{self.api}::implementations"

    @property
    def unboxing(self) -> str:
        """Namespace of the boxed functions."""
        return f"{self.api}::unboxing"

    @property
    def graph(self) -> str:
        """Namespace of the nodes of the backward graph."""
        return self.graph_namespace or f"{self.api}::autograd"


class Autocast(NamedTuple):
    """Policies of an operator under autocast: one for all devices, empty if there is none, and those of devices.

    Those of arguments hold on all devices; an argument without one stays as it is.
    """

    everywhere: str = ""
    by_device: tuple[tuple[str, str], ...] = ()
    by_argument: tuple[tuple[str, str], ...] = ()


class Reference(NamedTuple):
    """A Python function of PyTorch's operators that computes what an operator does, as the text `module:function`.

    `tolerances` say how far the results of kernels may be from its results, for some dtypes. It computes on devices
    without a kernel if `is_fallback` is true.
    """

    path: str
    tolerances: tuple[tuple[str, float], ...] = ()
    is_fallback: bool = True


class LibraryFields(NamedTuple):
    """Fields that PyTorch's entries lack: those of an operator library, and those that plug-ins declare.

    `batch_rule` is the C++ function, with its namespace, that vmap calls. `outputs` are the declared outputs, see
    `NativeFunction.declared_outputs`. `samples` are the Python texts of the arguments of calls that tests make;
    `sample_generator` is a Python function that gives more, and tests draw others if `draws_samples` is true. The
    preprocessor tests `condition`, such as `!defined(USE_ROCM)`: the operator exists where it holds. `values` are those
    of the keys that plug-ins declare. `contracts` are the overloads that are made from the operator, and `made_tags`
    their tags. An overload that is made so calls the operator `contract_of`. An operator that has `saved` results is
    internal, and its entry has the schema `written`; the one with the name of the entry is `returned_from` it, and
    `returned` are the places of its results. The kernel of an operator that `allows_overlap` gets written arguments
    that share memory with others, and one that `serves_inplace` a result that is its argument `self`. `requirements`
    are what the operator needs of its arguments, see `NativeFunction.requirements`. `alias_analysis` is what
    TorchScript assumes of it in place of what the schema says: `conservative`, `pure_function`, or empty. `reference`
    is a function of PyTorch's operators that computes the same. What is `deprecated` says since when, and what serves
    instead; nothing for all others.
    """

    doc: str = ""
    autocast: Autocast = Autocast()
    batch_rule: str = ""
    condition: str = ""
    outputs: DeclaredOutputs = ()
    samples: tuple[str, ...] = ()
    sample_generator: str = ""
    draws_samples: bool = True
    values: ExtraValues = NO_VALUES
    contracts: tuple[str, ...] = ()
    made_tags: frozenset[str] = frozenset()
    contract_of: FunctionSchema | None = None
    saved: tuple[str, ...] = ()
    written: FunctionSchema | None = None
    returned_from: FunctionSchema | None = None
    returned: tuple[int, ...] = ()
    allows_overlap: bool = False
    serves_inplace: bool = False
    requirements: Requirements | None = None
    alias_analysis: str = ""
    reference: Reference | None = None
    deprecated: str = ""

    def made(self, **differing: Any) -> LibraryFields:  # noqa: ANN401
        """The fields of an operator that is made from the one with these, which has all but those of the entry alone.

        `differing` are the fields in which it differs besides.

        >>> fields = LibraryFields(doc="Mean.", batch_rule="acme::mean_rule").made(condition="defined(ACME)")
        >>> fields.doc, fields.batch_rule, fields.condition
        ('Mean.', '', 'defined(ACME)')
        """
        if self == NO_LIBRARY_FIELDS and not differing:
            return NO_LIBRARY_FIELDS
        return self._replace(**{**_OF_MADE, **differing})


#: PyTorch itself. Its generator uses these names for every operator, whatever namespace the entry has.
PYTORCH: Final = Library(
    "aten",
    "at",
    "ATen/ops",
    "TORCH_API",
    graph_namespace="torch::autograd::generated",
    in_libtorch=True,
    kernels_in_native=True,
    keeps_conventions=True,
    known_by_name=True,
    takes_any_schema=False,
)

#: The namespace of a library that gets its namespace when it is compiled: the macro that names it. PyTorch's builds of
#: extensions define it.
BUILD_NAMESPACE: Final = "TORCH_EXTENSION_NAME"

#: The fields of an entry that has none of them.
NO_LIBRARY_FIELDS: Final = LibraryFields()

#: The fields about the kernels, the calls and the forms of the entry alone, with the values of a made operator.
_OF_MADE: Final = {
    name: NO_LIBRARY_FIELDS._asdict()[name]
    for name in (
        *(
            "autocast",
            "batch_rule",
            "contracts",
            "made_tags",
            "reference",
            "samples",
            "sample_generator",
            "draws_samples",
            "saved",
            "values",
            "written",
        ),
        *("contract_of", "returned_from", "returned"),
    )
}


def library_names(namespace: str, cpp_namespace: str = "") -> Library:
    """Names around the operators of a namespace, in the C++ namespace of that name unless another one is given.

    >>> library_names("acme").operators, library_names("acme", "acme::ops").headers
    ('acme::_ops', 'acme/ops')
    """
    api = cpp_namespace or namespace
    name = api.replace("::", "_") if namespace == BUILD_NAMESPACE else namespace
    return Library(namespace, api, api.replace("::", "/"), f"{name.upper()}_API")
