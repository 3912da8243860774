"""Compares what sources register with what the generated code of a library file registers."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Mapping, Sequence
from typing import Final

from opwright.extension.generated import update_code
from opwright.importing.cpp_reader import read_cpp_sources
from opwright.importing.operators import ImportedOperator, import_operators
from opwright.source.diagnostic import Diagnostics
from opwright.source.named_tuple import NamedTuple
from opwright.source.text import SourceFile
from opwright.syntax.cpp import joined_conditions

__all__ = ["RegistrationComparison", "compare_registrations", "generated_operators"]

#: Tags that follow from the name or the kind of an operator.
_IMPLIED_TAGS: Final = frozenset(("inplace", "out"))
#: The kernels of authors in generated code; all others are generated.
_OWN: Final = re.compile(r"own_signature<&::([\w:]+)>")


class RegistrationComparison(NamedTuple):
    """How many operators are equal, and how the others differ."""

    equal: int
    differences: tuple[str, ...]


def generated_operators(file: SourceFile, torch: str, sink: Diagnostics) -> tuple[ImportedOperator, ...]:
    """The operators that the generated code of a library file registers. Raises what a run for the file raises.

    Plug-ins that the file names are not loaded: a comparison runs no code.
    """
    with tempfile.TemporaryDirectory() as folder:
        code = update_code([file], folder, torch=torch, loads_plugins=False, sink=sink)
        sources = [SourceFile.read(path) for path in code.sources if os.path.basename(path).startswith("register")]
    names = {name for source in sources for name in _OWN.findall(source.text)}
    statements = [
        row for row in read_cpp_sources(sources, {}).statements if row.schema or row.is_stable or row.kernel in names
    ]
    return import_operators(statements).operators


def compare_registrations(
    wanted: Sequence[ImportedOperator], generated: Sequence[ImportedOperator]
) -> RegistrationComparison:
    """Compare operators by schema, tags, condition, and the key, name and condition of each kernel."""
    theirs = {(operator.namespace, operator.name): _facts(operator) for operator in wanted}
    ours = {(operator.namespace, operator.name): _facts(operator) for operator in generated}
    differences = [f"`{space}::{name}` is not generated" for space, name in theirs if (space, name) not in ours]
    differences += [f"`{space}::{name}` is not in the sources" for space, name in ours if (space, name) not in theirs]
    equal = 0
    for (space, name), facts in theirs.items():
        other = ours.get((space, name))
        if other is None:
            continue
        unlike = [what for what in facts if facts[what] != other[what]]
        equal += not unlike
        differences += [
            f"`{space}::{name}` differs in its {what}: `{facts[what]}`, and `{other[what]}` is generated"
            for what in unlike
        ]
    return RegistrationComparison(equal, tuple(differences))


def _facts(operator: ImportedOperator) -> Mapping[str, object]:
    kernels = {
        kernel.key: (kernel.name, *_parts(joined_conditions((operator.condition, kernel.condition))))
        for kernel in operator.kernels
    }
    return {
        "schema": str(operator.schema),
        "tags": sorted({*operator.tags} - _IMPLIED_TAGS),
        "condition": _parts(operator.condition),
        "kernels": dict(sorted(kernels.items())),
    }


def _parts(condition: str) -> list[str]:
    """The conditions that a condition joins, in the order of the alphabet."""
    parts, depth, start = [], 0, 0
    for index, character in enumerate(condition):
        depth += (character == "(") - (character == ")")
        if not depth and condition[index : index + 2] == "&&":
            parts.append(condition[start:index].strip())
            start = index + 2
    return sorted({part for part in (*parts, condition[start:].strip()) if part})
