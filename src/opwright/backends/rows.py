"""What backends outside of PyTorch add to the compiler: their files, and where their templates and fields are."""

from __future__ import annotations

from opwright.dialects.dialect import Dialect

# Programs read tables before they know whether there is anything to do: no import for types.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

    from opwright.backends.external_backend import ExternalBackend
    from opwright.backends.lazy_backend import LazyBackend

BACKEND: Final[Dialect[tuple[ExternalBackend, ...]]] = Dialect(
    "backend", package="opwright.backends.dialect", fields=("backend",), loads_into=tuple
)
#: The sections of a backend file for lazy tensors.
LAZY: Final[Dialect[tuple[LazyBackend, ...]]] = Dialect(
    "lazy", package="opwright.backends.dialect.lazy", loads_into=tuple
)

#: Kinds of files, in the order in which a run loads them.
DIALECTS: Final = (
    BACKEND,
    LAZY,
)

#: The fields of the places where plug-ins may add keys: a module, and the name of a tuple there.
FIELDS: Final = {
    "backend head": "opwright.backends.dialect.head_fields:HEAD_FIELDS",
    "backend entry": "opwright.backends.dialect.entry_fields:ENTRY_FIELDS",
}

#: The package below `opwright` whose folder `templates` has the templates of a folder of names: all are PyTorch's.
TEMPLATE_PACKAGES: Final[dict[str, str]] = {}

#: Templates that are made from PyTorch's: name -> that one, and the module whose `template_slots` fill it, if any does.
MADE_TEMPLATES: Final = {
    "backend/RegisterDispatchKey.cpp": ("RegisterDispatchKey.cpp", "opwright.backends.emit.registrations"),
    "lazy/RegisterDispatchKey.cpp": ("RegisterDispatchKey.cpp", "opwright.backends.lazy.files"),
    **{f"lazy/{name}": (name, "") for name in ("DispatchKeyNativeFunctions.cpp", "LazyIr.h", "LazyNonNativeIr.h")},
}

#: Attributes that a job has for plug-ins: a name, and the record that has it.
JOB_FIELDS: Final = {
    "backends": "opwright.backends.external_backend:RunBackends",
    "lazy_backends": "opwright.backends.lazy_backend:RunLazyBackends",
    "extensions": "opwright.backends.extensions:EmitExtensions",
}

#: Attributes that functions have for plug-ins: there are none.
FUNCTION_FACTS: Final[dict[str, str]] = {}
