"""What a plug-in is: one object with everything that it adds."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from opwright.source.records import Copyable

if TYPE_CHECKING:
    from opwright.backends.extensions import KernelConvention, KernelSelector, RegistrationChange, WrapperHook
    from opwright.dialects.dialect import BackendReader, Dialect
    from opwright.emit.family import Family
    from opwright.plugins.code_pages import Code
    from opwright.plugins.extra_keys import ExtraKey
    from opwright.plugins.lint import BackendLint, OperatorLint

#: The version of the API that this Opwright has.
API_VERSION: Final = 1

#: What a plug-in adds only to runs that name it.
_CHANGES: Final = (
    "backend_readers", "extra_keys", "kernel_conventions", "kernel_selectors", "lints", "registration_changes",
    "wrapper_hooks",
)  # fmt: skip


class Plugin(Copyable):
    """A plug-in: its name, the version of the API that it is written for, and what it adds.

    A plug-in is a module with a `plugin = Plugin(...)`. What it holds are values and functions; it never assigns to
    anything of Opwright.

    `families` are families of files, with their emitters, and `dialects` kinds of input files. `codes` are the codes of
    its own diagnostics: an upper-case prefix and four digits, such as `ACME0001`. `lints` are checks that `opwright
    check` makes. `templates` is a folder beside the module with the templates of its emitters, which name them as
    `NAME:FILE`. `headers` is a folder beside the module with support headers, which a run copies into the folder
    `include` of the outputs. `extra_keys` are keys of entries and heads, and `backend_readers` read vendors' own files
    as backend files. `wrapper_hooks` add statements to the wrappers of backends, `kernel_selectors` choose among
    kernels, `registration_changes` change what is registered, and `kernel_conventions` say how kernels take their
    arguments.

    >>> plugin = Plugin("acme", api=1)
    >>> plugin
    <plug-in acme>
    """

    __slots__ = (
        "api",
        "backend_readers",
        "codes",
        "dialects",
        "extra_keys",
        "families",
        "file",
        "headers",
        "is_named",
        "kernel_conventions",
        "kernel_selectors",
        "lints",
        "name",
        "registration_changes",
        "templates",
        "version",
        "wrapper_hooks",
    )

    def __init__(
        self,
        name: str,
        *,
        api: int,
        version: str = "",
        families: Sequence[Family] = (),
        dialects: Sequence[Dialect[object]] = (),
        codes: Sequence[Code] = (),
        lints: Sequence[OperatorLint | BackendLint] = (),
        extra_keys: Sequence[ExtraKey] = (),
        backend_readers: Sequence[BackendReader] = (),
        wrapper_hooks: Sequence[WrapperHook] = (),
        kernel_selectors: Sequence[KernelSelector] = (),
        registration_changes: Sequence[RegistrationChange] = (),
        kernel_conventions: Sequence[KernelConvention] = (),
        templates: str = "",
        headers: str = "",
    ) -> None:
        self.name: Final = name
        self.api: Final = api
        self.version: Final = version
        self.families: Final = families
        self.dialects: Final = dialects
        self.codes: Final = codes
        self.lints: Final = lints
        self.extra_keys: Final = extra_keys
        self.backend_readers: Final = backend_readers
        self.wrapper_hooks: Final = wrapper_hooks
        self.kernel_selectors: Final = kernel_selectors
        self.registration_changes: Final = registration_changes
        self.kernel_conventions: Final = kernel_conventions
        self.templates: Final = templates
        self.headers: Final = headers
        self.is_named = True
        """Whether a run names the plug-in; one that is only installed adds families, dialects and codes alone."""
        self.file = str(sys._getframe(1).f_globals.get("__file__") or "")
        """The file of the module that made the plug-in; empty if there is none, as in an interactive session."""

    def without_changes(self) -> Plugin:
        """Plug-in with only what it adds to a run that does not name it: families, dialects and codes."""
        unnamed = self.replace(**dict.fromkeys(_CHANGES, ()))
        unnamed.is_named = False
        unnamed.file = self.file
        return unnamed

    def __repr__(self) -> str:
        return f"<plug-in {self.name}>"
