"""What generated code calls the functions of a library of operators; PyTorch's own operators are one of them."""

from __future__ import annotations

from typing import Final, NamedTuple


class Library(NamedTuple):
    """The names that the C++ code around the operators of a library has.

    `namespace` is that of the operators for the dispatcher; `api` is the C++ namespace of the functions that callers
    use, and the namespaces of everything else are below it. `headers` is the include folder of the headers that are
    made for each operator. `export` is the macro that exports symbols from the library's shared object.

    >>> PYTORCH.operators, Library("acme", "acme", "acme/ops", "ACME_API").native
    ('at::_ops', 'acme::native')
    """

    namespace: str
    api: str
    headers: str
    export: str

    @property
    def operators(self) -> str:
        """The namespace of the operator classes, each with `call` and `redispatch`."""
        return f"{self.api}::_ops"

    @property
    def redispatch(self) -> str:
        """The namespace of the functions that call an operator with a given set of dispatch keys."""
        return f"{self.api}::redispatch"

    @property
    def native(self) -> str:
        """The namespace of kernels whose entry names none."""
        return f"{self.api}::native"

    @property
    def meta(self) -> str:
        """The namespace of the shape functions of structured kernels."""
        return f"{self.api}::meta"


class LibraryFields(NamedTuple):
    """The fields that only the entries of an operator library have."""

    doc: str = ""


#: PyTorch itself. Its generator uses these names for every operator, whatever namespace the entry has.
PYTORCH: Final = Library("aten", "at", "ATen/ops", "TORCH_API")

#: The fields of an entry that has none of them.
NO_LIBRARY_FIELDS: Final = LibraryFields()

__all__ = ["NO_LIBRARY_FIELDS", "PYTORCH", "Library", "LibraryFields"]
