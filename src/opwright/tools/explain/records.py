"""What `opwright explain` says of an operator, as plain records and as JSON.

The names of records' fields are the names of the fields in JSON. A new release of Opwright may add some, and changes
`FORMAT` if it removes or changes one.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Final

from opwright.source.records import NamedTuple
from opwright.tools.coverage.formats import Data

#: The version of the form of the data.
FORMAT: Final = 1

#: The sections of an explanation in their order, with what each says.
SECTIONS: Final = {
    "schema": "the role of each argument and result",
    "requirements": "what an operator of a library needs of its arguments",
    "operation": "the overloads of the operation, and which are synthesized from what",
    "dispatch": "which kernel runs under each dispatch key",
    "signatures": "the C++ signature under each calling convention",
    "derivative": "formulas, saved values and forward mode",
    "python": "Python signatures, deprecated ones too",
    "symbols": "the generated C++ functions and classes, with their files",
}


class FilePlace(NamedTuple):
    """A line of a file."""

    file: str
    line: int


class ArgumentRecord(NamedTuple):
    """An argument: `role` is `input`, `written`, `viewed`, `out` or `option`, `alias` its set of aliases.

    `default` is as the schema writes it, None if there is none.
    """

    name: str
    type: str
    role: str
    keyword_only: bool
    default: str | None
    alias: str


class ResultRecord(NamedTuple):
    """A result: `of` is the argument that it is, or shares memory with, empty for a new value."""

    name: str
    type: str
    of: str


class SchemaRecord(NamedTuple):
    """The arguments and results of an overload."""

    arguments: tuple[ArgumentRecord, ...]
    results: tuple[ResultRecord, ...]


class SizesRecord(NamedTuple):
    """The pattern of the sizes of an argument or a result."""

    name: str
    pattern: str


class RequirementsRecord(NamedTuple):
    """What an operator needs of its arguments, in sentences; `reference` computes the same, empty if nothing does."""

    sizes: tuple[SizesRecord, ...]
    conditions: tuple[str, ...]
    reference: str


class MemberRecord(NamedTuple):
    """An overload of the operation: its `role` in the group, and what it is synthesized from, empty for entries."""

    name: str
    role: str
    synthesized_from: str
    place: FilePlace


class OperationRecord(NamedTuple):
    """Operation of an overload.

    `role` is that of the overload. `variants` are `function` and `method`. `structured` is the overload with the
    structured kernel, which may be this one, empty if there is none. `facts` are the entry's other fields, as texts.
    """

    role: str
    synthesized_from: str
    variants: tuple[str, ...]
    structured: str
    members: tuple[MemberRecord, ...]
    view_members: tuple[MemberRecord, ...]
    tags: tuple[str, ...]
    facts: tuple[str, ...]


class DispatchRecord(NamedTuple):
    """What runs under a dispatch key.

    `serving` is `kernel`, `composite`, `autograd`, `fallback`, `fallthrough`, `error` or `missing`. `registered_for` is
    the key that the kernel is registered for, which may be an alias, and `kind` what the registered function does:
    `text` says it in words. `kernel` is the C++ function or class that does the work, and `through` the operator that
    it belongs to, if it is another one. `by_hand` are sources of PyTorch in which kernels for the key are registered by
    hand, which may replace this one.
    """

    key: str
    serving: str
    registered_for: str
    kind: str
    text: str
    kernel: str
    through: str
    by_hand: tuple[str, ...]


class ImplementationRecord(NamedTuple):
    """One of several kernels for a dispatch key, in the order in which they are tried.

    It serves calls for which the C++ expression `when` holds, all calls if that is empty. `condition` is what the
    preprocessor tests.
    """

    key: str
    name: str
    kernel: str
    when: str
    condition: str
    priority: int


class SignatureRecord(NamedTuple):
    """A C++ signature; `text` is empty if the convention has none, and `note` then says why."""

    convention: str
    text: str
    note: str = ""


class FormulaRecord(NamedTuple):
    """A formula for the gradients, or in forward mode for the tangents, of some arguments or results."""

    names: tuple[str, ...]
    formula: str
    place: FilePlace


class SavedRecord(NamedTuple):
    """A value that the forward call saves for the backward one."""

    name: str
    type: str
    expression: str
    is_result: bool


class GradientRecord(NamedTuple):
    """Derivatives under a dispatch key, `Default` for all keys without their own."""

    key: str
    node: str
    entry: str
    formulas: tuple[FormulaRecord, ...]
    saved: tuple[SavedRecord, ...]
    forward: tuple[FormulaRecord, ...]
    not_differentiable: tuple[str, ...]


class DerivativeRecord(NamedTuple):
    """What happens to gradients: `status` is one of those of coverage reports, and `text` says it in words."""

    status: str
    text: str
    gradients: tuple[GradientRecord, ...]


class PythonRecord(NamedTuple):
    """A signature that Python callers use; `place` is that of a deprecated one."""

    function: str
    signature: str
    deprecated: bool
    place: FilePlace | None


class SymbolRecord(NamedTuple):
    """A generated function or class. `line` is 0 if no output folder is known."""

    name: str
    file: str
    line: int


class Explanation(NamedTuple):
    """What there is to know about an overload. Sections that nobody asked for are None.

    `entry` is where its entry is, or that of the overload from which it is synthesized. `others` are the other
    overloads of the same name.
    """

    name: str
    schema: str
    release: str
    entry: FilePlace
    synthesized: bool
    others: tuple[str, ...]
    roles: SchemaRecord | None = None
    operation: OperationRecord | None = None
    dispatch: tuple[DispatchRecord, ...] | None = None
    implementations: tuple[ImplementationRecord, ...] = ()
    signatures: tuple[SignatureRecord, ...] | None = None
    derivative: DerivativeRecord | None = None
    python: tuple[PythonRecord, ...] | None = None
    symbols: tuple[SymbolRecord, ...] | None = None
    requirements: RequirementsRecord | None = None


def render_json(explanations: Iterable[Explanation]) -> str:
    """Explanations as JSON."""
    data: Data = {"format": FORMAT, "operators": [_data(explanation) for explanation in explanations]}
    return json.dumps(data, indent=2) + "\n"


def _data(value: object) -> Data:
    """A record, or a value in one, as JSON has it."""
    fields = getattr(value, "_fields", None)
    if fields is not None:
        return {field: _data(getattr(value, field)) for field in fields}
    if isinstance(value, (tuple, list)):
        return [_data(item) for item in value]
    assert value is None or isinstance(value, (bool, int, str)), "records have plain values"
    return value
