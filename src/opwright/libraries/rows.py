"""What operator libraries add to the compiler: their files, and the code around their operators."""

from __future__ import annotations

from opwright.dialects.dialect import Dialect
from opwright.emit.family import Check, Family

# Programs read the rows before they know whether there is anything to do: no import for types.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

    from opwright.model.operator_library import OperatorLibrary

LIBRARY: Final[Dialect[tuple[OperatorLibrary, ...]]] = Dialect(
    "library",
    package="opwright.libraries.dialect",
    fields=("namespace", "cpp_namespace", "operators"),
    loads_into=tuple,
)

#: Kinds of files, in the order in which a run loads them.
DIALECTS: Final = (LIBRARY,)

#: Families of files.
FAMILIES: Final = (
    Family(
        "library",
        "the code around the operators of libraries",
        emitters=(
            *map("opwright.libraries.emit.{}".format, ("headers", "sources", "operator_tests", "c_shims", "stable")),
            *map(
                "opwright.libraries.emit.python.{}".format,
                ("module", "loader", "fakes", "overlaps", "overloads", "gradients"),
            ),
            *map(
                "opwright.libraries.emit.python.{}".format,
                ("autocasts", "batch_rules", "sharding", "implementations", "kernels", "references", "cache_keys"),
            ),
        ),
        folders={"include": "include", "source": "src", "python": "python", "tests": "tests"},
        imports=("opwright.libraries.dialect.loader",),
        checks=(
            *map(Check, ("opwright.libraries.emit.checks:check_shapes", "opwright.libraries.emit.checks:check_cpp")),
            *map(
                Check, ("opwright.libraries.emit.checks:check_stable", "opwright.libraries.emit.checks:check_c_shims")
            ),
        ),
        by_default=False,
        serves_libraries=True,
    ),
)

#: The fields of the places where plug-ins may add keys: a module, and the name of a tuple there.
FIELDS: Final = {"library entry": "opwright.libraries.dialect.fields:LIBRARY_FIELDS"}

#: The package below `opwright` whose folder `templates` has the templates of a folder of names.
TEMPLATE_PACKAGES: Final = {"library": "libraries/emit"}

#: Templates that are made from PyTorch's: there are none.
MADE_TEMPLATES: Final[dict[str, tuple[str, str]]] = {}
