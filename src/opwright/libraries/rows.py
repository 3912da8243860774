"""What operator libraries add to the compiler: their files, and where their templates and fields are."""

from __future__ import annotations

from opwright.dialects.dialect import Dialect

# Programs read tables before they know whether there is anything to do: no import for types.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

    from opwright.libraries.operator_library import OperatorLibrary

LIBRARY: Final[Dialect[tuple[OperatorLibrary, ...]]] = Dialect(
    "library",
    package="opwright.libraries.dialect",
    fields=("namespace", "cpp_namespace", "implements", "operators"),
    loads_into=tuple,
)

#: Kinds of files, in the order in which a run loads them.
DIALECTS: Final = (LIBRARY,)

#: The fields of the places where plug-ins may add keys: a module, and the name of a tuple there.
FIELDS: Final = {"library entry": "opwright.libraries.dialect.fields:LIBRARY_FIELDS"}

#: The package below `opwright` whose folder `templates` has the templates of a folder of names.
TEMPLATE_PACKAGES: Final = {"library": "libraries/emit", "frameworks": "libraries/frameworks"}

#: Templates that are made from PyTorch's: there are none.
MADE_TEMPLATES: Final[dict[str, tuple[str, str]]] = {}

#: Attributes that a job has for plug-ins: a name, and the record that has it.
JOB_FIELDS: Final = {"libraries": "opwright.libraries.operator_library:RunLibraries"}

#: Attributes that functions have for plug-ins: a name, and the function that tells it.
FUNCTION_FACTS: Final = {
    "library_fields": "opwright.libraries.entry_fields:library_fields",
    "declared_outputs": "opwright.libraries.entry_fields:outputs_of",
    "requirements": "opwright.libraries.entry_fields:requirements_of",
}
