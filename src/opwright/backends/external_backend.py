"""Backends outside PyTorch: which operators a backend file implements, under which dispatch keys, and how."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from opwright.backends.wrapper_options import NO_ENTRY_OPTIONS, NO_HEAD_OPTIONS, EntryOptions, HeadOptions
from opwright.model.dispatch_key import DispatchKey
from opwright.model.native_function import Kernel, NativeFunction
from opwright.source.records import Frozen, NamedTuple
from opwright.source.span import Span

if TYPE_CHECKING:
    from opwright.libraries.operator_library import OperatorLibrary


class BackendEntry(NamedTuple):
    """An operator that a backend implements under one dispatch key.

    `kernel` has the name of the kernel, as a member of the backend's class unless the options name another callee.
    `span` is the name of the operator in the file.
    """

    function: NativeFunction
    kernel: Kernel
    span: Span
    options: EntryOptions = NO_ENTRY_OPTIONS

    @property
    def variants(self) -> tuple[BackendEntry, ...]:
        """Entry with each of its kernels."""
        plain, variants = self.options._replace(candidates=()), []
        for own in self.options.candidates:
            options = plain._replace(callee=own.callee, class_name=own.class_name, convention=own.convention)
            variants.append(self._replace(kernel=own.kernel, options=options))
        return tuple(variants) or (self,)


class BackendSection(NamedTuple):
    """Operators that a backend implements under one dispatch key.

    `name` is the key of the section in the file, such as `supported`, and `span` is where this key stands; if the file
    does not have the section, where its first key stands.
    """

    name: str
    key: DispatchKey
    entries: tuple[BackendEntry, ...]
    span: Span

    @property
    def kernels(self) -> dict[NativeFunction, Kernel]:
        """Kernels of the section by function."""
        return {entry.function: entry.kernel for entry in self.entries}


class ExternalBackend(Frozen):
    """A backend outside PyTorch.

    `key` is its dispatch key, and `display_name` stands in C++ names in place of the key's. `cpp_namespace` and
    `class_name` are those of the class whose static members are the kernels. With `out_is_primary`, kernels of out
    overloads implement their groups; otherwise the out and in-place overloads without a kernel copy the result of the
    functional one. With `device_guard`, wrappers check devices and set the current one. `libraries` has the backend's
    own operators. `conventions` are the calling conventions of plug-ins that the file names, with their places.
    """

    __slots__ = (
        "class_name",
        "conventions",
        "cpp_namespace",
        "device_guard",
        "display_name",
        "key",
        "libraries",
        "options",
        "out_is_primary",
        "path",
        "sections",
    )

    def __init__(
        self,
        key: DispatchKey,
        sections: tuple[BackendSection, ...],
        *,
        cpp_namespace: str,
        class_name: str | None = None,
        display_name: str = "",
        out_is_primary: bool = False,
        device_guard: bool = False,
        path: str = "",
        libraries: tuple[OperatorLibrary, ...] = (),
        options: HeadOptions = NO_HEAD_OPTIONS,
        conventions: tuple[tuple[str, Span], ...] = (),
    ) -> None:
        self.key: Final = key
        self.conventions: Final = conventions
        self.sections: Final = sections
        self.cpp_namespace: Final = cpp_namespace
        self.display_name: Final = display_name or key.name
        self.class_name: Final = f"{self.display_name}NativeFunctions" if class_name is None else class_name
        self.out_is_primary: Final = out_is_primary
        self.device_guard: Final = device_guard
        self.path: Final = path
        self.libraries: Final = libraries
        self.options: Final = options

    def section(self, name: str) -> BackendSection | None:
        """Section of that name, None if the file has none."""
        return next((section for section in self.sections if section.name == name), None)

    @property
    def entries(self) -> list[BackendEntry]:
        """Entries of all sections."""
        return [entry for section in self.sections for entry in section.entries]

    @property
    def kernel_owner(self) -> str:
        """Class whose static members are the kernels, with its namespace."""
        return f"{self.cpp_namespace}::{self.class_name}"

    def display_key(self, key: DispatchKey) -> str:
        """Name of one of the backend's dispatch keys, with the display name in place of the device's.

        >>> from opwright.model.dispatch_key import key_named
        >>> backend = ExternalBackend(key_named("PrivateUse1"), (), cpp_namespace="acme", display_name="Acme")
        >>> backend.display_key(key_named("AutogradPrivateUse1"))
        'AutogradAcme'
        """
        return key.name.removesuffix(self.key.name) + self.display_name

    def __repr__(self) -> str:
        return f"<external backend {self.display_name}>"


class RunBackends(NamedTuple):
    """The external backends of a run."""

    backends: tuple[ExternalBackend, ...] = ()
