"""What builds for phones add to the compiler: their files, static runtime, and the code around ExecuTorch's kernels."""

from __future__ import annotations

from opwright.dialects.dialect import Dialect

# Programs read tables before they know whether there is anything to do: no import for types.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

    from opwright.mobile.executorch_operators import ExecutorchOperator
    from opwright.mobile.upgrader_tables import UpgraderTables

UPGRADERS: Final[Dialect[UpgraderTables]] = Dialect(
    "upgraders",
    package="opwright.mobile.upgraders",
    fields=("upgraders",),
    loads_into="opwright.mobile.upgrader_tables:UpgraderTables",
)
#: The operators of ExecuTorch. Files of custom operators begin like those of PyTorch's own.
EXECUTORCH: Final[Dialect[tuple[ExecutorchOperator, ...]]] = Dialect(
    "executorch", package="opwright.mobile.executorch_dialect", fields=("op",), loads_into=tuple
)

#: Kinds of files, in the order in which a run loads them.
DIALECTS: Final = (
    UPGRADERS,
    EXECUTORCH,
)

#: The fields of the places where plug-ins may add keys: there are none.
FIELDS: Final[dict[str, str]] = {}

#: The package below `opwright` whose folder `templates` has the templates of a folder of names.
TEMPLATE_PACKAGES: Final = {"executorch": "mobile/executorch"}

#: Templates that are made from PyTorch's: there are none.
MADE_TEMPLATES: Final[dict[str, tuple[str, str]]] = {}

#: Attributes that a job has for plug-ins: a name, and the record that has it.
JOB_FIELDS: Final = {"executorch": "opwright.mobile.executorch_operators:RunExecutorch"}

#: Attributes that functions have for plug-ins: there are none.
FUNCTION_FACTS: Final[dict[str, str]] = {}
