"""Sections of backend files: the dispatch key of each, and what its entries may be."""

from __future__ import annotations

from typing import Final

from opwright.backends import backend_codes
from opwright.model.dispatch_key import LIBRARY_KEYS, DispatchKey, key_named
from opwright.source.diagnostic import Fault
from opwright.source.records import NamedTuple
from opwright.source.span import Span


class SectionKind(NamedTuple):
    """A kind of sections.

    `prefix` is what its dispatch key begins with before the name of the device, and `help` a sentence for users. With
    `is_own`, PyTorch's generator does not know the section.
    """

    name: str
    prefix: str
    help: str
    is_own: bool = True

    @property
    def is_dense(self) -> bool:
        """Whether the entries are kernels of the backend's dispatch key."""
        return not self.prefix


_ROWS: Final = (
    SectionKind("supported", "", "The operators with kernels for the backend.", is_own=False),
    SectionKind("full_codegen", "", "Operators that lazy tensors generate; here like `supported`.", is_own=False),
    SectionKind("autograd", "Autograd", "The operators with kernels for the backend's Autograd key.", is_own=False),
    SectionKind("sparse", "Sparse", "The operators with kernels for sparse tensors in COO format."),
    SectionKind("sparse_csr", "SparseCsr", "The operators with kernels for sparse tensors in compressed formats."),
    SectionKind("quantized", "Quantized", "The operators with kernels for quantized tensors."),
    SectionKind("nested_tensor", "NestedTensor", "The operators with kernels for nested tensors."),
    SectionKind("autocast", "Autocast", "The operators with a policy or a kernel under autocast."),
)

#: The sections by name, in the order of the documentation and of the generated files.
SECTIONS: Final = {kind.name: kind for kind in _ROWS}

#: The section that has the entries of all dense sections.
DENSE: Final = SECTIONS["supported"]


def section_key(kind: SectionKind, key: DispatchKey, at: Span) -> DispatchKey:
    """Dispatch key of a section. Raises Fault if the device has no such key."""
    name = kind.prefix + key.name
    try:
        return key_named(name)
    except KeyError:
        message = f"`{key}` has no `{kind.prefix}` key, which `{kind.name}` needs"
        others = [other.removeprefix(kind.prefix) for other in LIBRARY_KEYS if other.startswith(kind.prefix)]
        help = "write `PrivateUse1`" if "PrivateUse1" in others else ""
        raise Fault.at(backend_codes.UNKNOWN_BACKEND, message, at, help=help) from None
