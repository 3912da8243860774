"""Names that entries spell: C++ identifiers, kernels with their namespaces, operators."""

from __future__ import annotations

import re
from typing import Final

from opwright.model.native_function import NATIVE_NAMESPACE
from opwright.schema.function import FunctionSchema

#: A C++ identifier.
IDENTIFIER: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")

#: How many namespaces may stand before the name of a kernel.
KERNEL_NAMESPACES: Final = 2


def default_kernel_name(schema: FunctionSchema) -> str:
    """The kernel of an entry without `dispatch`: the operator's C++ name.

    >>> from opwright.schema import parse_schema
    >>> default_kernel_name(parse_schema("add.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)"))
    'add_out'
    """
    return f"{schema.name.name}_out" if schema.is_out else schema.name.name


def split_kernel(text: str) -> tuple[str, str]:
    """A kernel's C++ namespace and its name; kernels live in `native` of the namespace that is named.

    >>> split_kernel("add_cpu"), split_kernel("mine::deep::add_cpu")
    (('at::native', 'add_cpu'), ('mine::deep::native', 'add_cpu'))
    """
    namespace, colons, name = text.rpartition("::")
    return (f"{namespace}::native" if colons else NATIVE_NAMESPACE), name
