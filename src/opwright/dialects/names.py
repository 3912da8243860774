"""Names in entries: C++ identifiers, and kernels with their namespaces."""

from __future__ import annotations

import re
from typing import Final

from opwright.model.native_function import NATIVE_NAMESPACE
from opwright.schema.function import FunctionSchema

#: A C++ identifier.
IDENTIFIER: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")

#: The most namespaces that a kernel name may have.
KERNEL_NAMESPACES: Final = 2


def default_kernel_name(schema: FunctionSchema) -> str:
    """The kernel name of an entry without `dispatch`, which is the operator's C++ name.

    >>> from opwright.schema import parse_schema
    >>> default_kernel_name(parse_schema("add.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)"))
    'add_out'
    """
    return f"{schema.name.name}_out" if schema.is_out else schema.name.name


def split_kernel(text: str) -> tuple[str, str]:
    """The C++ namespace and the name of a kernel. Kernels are declared in `native` inside the namespace that is named.

    >>> split_kernel("add_cpu"), split_kernel("mine::deep::add_cpu")
    (('at::native', 'add_cpu'), ('mine::deep::native', 'add_cpu'))
    """
    namespace, colons, name = text.rpartition("::")
    return (f"{namespace}::native" if colons else NATIVE_NAMESPACE), name
