"""The structured kernels of a backend: the classes that declare them, and the headers that these derive from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from opwright.convention import structured
from opwright.cpp.namespaces import enclose
from opwright.emit.aten.native_headers import structured_class_body
from opwright.emit.aten.units import include
from opwright.model.external_backend import BackendEntry, ExternalBackend, Implementation
from opwright.model.native_function import NativeFunctionsGroup
from opwright.release.tables import kernel_stubs

__all__ = [
    "class_declaration",
    "group_of",
    "header_lines",
    "structured_declarations",
    "structured_includes",
    "stub_notes",
]

#: The header with macros for kernel files.
_MACROS: Final = "#include <opwright/privateuse1.h>"


def group_of(entry: BackendEntry) -> NativeFunctionsGroup | None:
    """The group whose structured kernel an entry names, None if its kernel is a function."""
    return entry.function.group if entry.kernel.structured else None


def class_declaration(entry: BackendEntry, group: NativeFunctionsGroup, macro: str = "") -> str:
    """The declaration of a structured kernel: a class with `impl`, and with `meta` if the backend has its own.

    `base` is then PyTorch's class, whose `meta` the backend's own may call.
    """
    own = ""
    if entry.options.define_meta:
        parent = f"{group.library.meta}::structured_{structured.meta_name(group)}"
        returns = "void" if group.out.precomputed is None else "meta_return_ty"
        parameters = ", ".join([binding.declaration for binding in structured.meta_arguments(group)])
        own = f"using base = {parent};\n{returns} meta({parameters});\n"
    return f"struct {macro}{structured_class_body(group, entry.kernel, own)}"


def structured_declarations(backend: ExternalBackend, macro: str = "") -> list[str]:
    """The structured kernels of families in namespaces: those of each namespace, sorted; `macro` exports them."""
    classes: dict[str, list[str]] = {}
    for entry, group in _own_kernels(backend):
        if entry.options.callee:
            namespace = entry.options.callee.rpartition("::")[0]
            classes.setdefault(namespace, []).append(class_declaration(entry, group, macro))
    return [enclose(namespace, "\n".join(["", *sorted(texts), ""])) for namespace, texts in classes.items()]


def stub_notes(backend: ExternalBackend) -> list[str]:
    """A comment with the loops that PyTorch's structured kernels call, so that the author knows what to bind."""
    lines = [
        f"//   {entry.function.name}: {_stubs_text(entry.kernel.name)}"
        for section in backend.sections
        for entry in section.entries
        if entry.options.implementation is Implementation.stub
    ]
    return ["\n".join([_STUB_HEAD, *lines])] if lines else []


_STUB_HEAD: Final = """\
// Operators with `stub: true` run PyTorch's kernels. In the namespace at::native,
// REGISTER_PRIVATEUSE1_DISPATCH(STUB, &LOOP) binds a loop of the backend to each stub that they call:"""


def _stubs_text(kernel: str) -> str:
    """What a kernel calls."""
    stubs = kernel_stubs().get(kernel)
    if stubs is None:
        return f"see structured_{kernel}::impl"
    if not stubs:
        return "calls other operators"
    headers = dict.fromkeys([stub.header for stub in stubs])
    return "; ".join(
        f"{', '.join([stub.name for stub in stubs if stub.header == header])} of {header}" for header in headers
    )


def _own_kernels(backend: ExternalBackend) -> Iterator[tuple[BackendEntry, NativeFunctionsGroup]]:
    """The entries and groups with structured kernels of the backend's own."""
    for section in backend.sections:
        for entry in section.entries:
            group = group_of(entry)
            if group is not None and entry.options.implementation is Implementation.structured:
                yield entry, group


def structured_includes(backend: ExternalBackend) -> list[str]:
    """The `#include` lines for PyTorch's shape functions, from which the structured kernels of a backend derive."""
    return sorted({include(group.out, "_meta") for _, group in _own_kernels(backend)})


def header_lines(backend: ExternalBackend) -> Iterable[str]:
    """The lines before the classes: what declares PyTorch's shape functions, and the macros for kernel files."""
    headers = structured_includes(backend)
    if not headers:
        return ()
    return (
        *headers,
        _MACROS,
        "#ifndef TORCH_PRIVATEUSE1_CLASS",
        f"#define TORCH_PRIVATEUSE1_CLASS {backend.class_name}",
        "#endif",
        "",
    )
