"""Names in entries: C++ identifiers, and kernels with their namespaces."""

from __future__ import annotations

from typing import Final

from opwright.model.library import PYTORCH, Library
from opwright.schema.function import FunctionSchema
from opwright.source.patterns import lazy_pattern

#: A C++ identifier.
IDENTIFIER: Final = lazy_pattern(r"[A-Za-z_][A-Za-z0-9_]*")

#: The words of C++ that cannot be names.
_WORDS_OF_CPP: Final = """
alignas alignof and asm auto bitand bitor bool break case catch char class compl const continue decltype default delete
do double dynamic_cast else enum explicit export extern false float for friend goto if inline int long mutable namespace
new noexcept not nullptr operator or private protected public register requires return short signed sizeof static struct
switch template this throw true try typedef typeid typename union unsigned using virtual void volatile wchar_t while xor
"""
CPP_WORDS: Final = frozenset(_WORDS_OF_CPP.split())

#: The most namespaces that the name of a kernel of PyTorch's may have.
KERNEL_NAMESPACES: Final = 2


def default_kernel_name(schema: FunctionSchema) -> str:
    """The kernel name of an entry without `dispatch`, which is the operator's C++ name.

    >>> from opwright.schema import parse_schema
    >>> default_kernel_name(parse_schema("add.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)"))
    'add_out'
    """
    return f"{schema.name.name}_out" if schema.is_out else schema.name.name


def split_kernel(text: str, library: Library = PYTORCH) -> tuple[str, str]:
    """The C++ namespace and the name of a kernel.

    In PyTorch's entries, a kernel is in the namespace `native` inside the one that its name has. In those of other
    libraries, the name says where the kernel is.

    >>> split_kernel("add_cpu"), split_kernel("mine::deep::add_cpu")
    (('at::native', 'add_cpu'), ('mine::deep::native', 'add_cpu'))
    >>> acme = Library("acme", "acme", "acme/ops", "ACME_API")
    >>> split_kernel("add_cpu", acme), split_kernel("mine::deep::add_cpu", acme)
    (('acme::native', 'add_cpu'), ('mine::deep', 'add_cpu'))
    """
    namespace, colons, name = text.rpartition("::")
    if not colons:
        return library.native, name
    return (f"{namespace}::native" if library is PYTORCH else namespace), name
