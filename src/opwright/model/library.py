"""What generated code calls the functions of a library of operators; PyTorch's operators are one of them."""

from __future__ import annotations

from typing import Final

from opwright.source.records import NamedTuple


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
