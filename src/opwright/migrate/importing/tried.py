"""What calls of an original show, in the statements that register its operators, and in lines for the user."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from opwright.migrate.importing.operators import RECORDS, is_below_autograd
from opwright.migrate.importing.recorded_calls import TriedCalls
from opwright.migrate.importing.registration import RegistrationStatement
from opwright.model.dispatch_key import META
from opwright.source.terminal import counted

#: A kind of fact -> what is said of it, with the argument.
_TOLD: Final = {
    "writes": "the kernel writes `{0}`, which the schema does not say: write `Tensor(a!) {0}`",
    "overlaps": "elements of `{0}`, which is written, share memory: write `overlap: allowed`",
    "shares": "a result has memory of `{0}`, as `Tensor(a)` says",
    "returns": "it returns `{0}` itself, as `Tensor(a)` says",
    "records": f"gradients flow through the kernel: {RECORDS}",
    "fake": "its fake is wrong: {0}",
}
_OF_FUNCTIONS: Final = "it writes `{0}`, as the schema in the file says"
#: What is said for each kind even if the schema says it.
_ALWAYS: Final = frozenset(("writes", "overlaps", "records", "fake"))


def arguments_of_functions(tried: TriedCalls) -> dict[str, dict[str, int]]:
    """What calls show of functions of modules, by the name of the function, such as `f` of `acme._C.f`.

    The arguments that a function writes have no number. Those that no call writes have that of the calls.
    """
    functions: dict[str, dict[str, int]] = {}
    for name in tried.calls:
        if "::" not in name:
            shown = functions.setdefault(name.rpartition(".")[2], {})
            for argument, count in tried.of(name, "leaves"):
                shown[argument] = shown.get(argument, 0) + count
    for name in tried.calls:
        if "::" not in name:
            functions[name.rpartition(".")[2]].update({argument: 0 for argument, _ in tried.of(name, "writes")})
    return functions


def with_tried(statements: Sequence[RegistrationStatement], tried: TriedCalls) -> list[RegistrationStatement]:
    """Statements with notes about what calls show, and with the kernels that record gradients."""
    keys = [(*row.operator, key) for row in statements for key in row.keys]
    graded = {(namespace, name) for namespace, name, key in keys if key.startswith("Autograd")}
    below = {(space, name) for space, name, key in keys if key != META.name and is_below_autograd([key])} - graded
    rows = []
    losing = {
        name.rpartition(".")[2]: name
        for name in tried.calls
        if "::" not in name and tried.of(name, "loses") and not tried.of(name, "records")
    }
    for row in statements:
        operator = f"{row.namespace}::{row.name}"
        if row.is_bound and row.schema and row.name in losing:
            ((_, count),) = tried.of(losing[row.name], "loses")
            told = f"{_shown_count(count, tried.calls[losing[row.name]])} that results have no gradients"
            row = row._replace(loses=told)
        if row.schema and not row.is_bound:
            is_below = row.operator in below
            row = row._replace(notes=(*row.notes, *_notes(operator, tried, is_below=is_below)))
        is_called = bool(row.keys) and is_below_autograd(row.keys) and row.operator in below
        if is_called and row.kernel and not row.gives and tried.of(operator, "records"):
            row = row._replace(gives="operators, as calls show")
        rows.append(row)
    return rows


def _shown_count(count: int, calls: int) -> str:
    return f"{count} of {counted(calls, 'call')} {'shows' if count == 1 else 'show'}"


def _notes(operator: str, tried: TriedCalls, *, is_below: bool) -> Iterator[str]:
    written = {name for name, _ in tried.of(operator, "declared")}
    for kind in ("writes", "overlaps", "shares", "returns", "records", "fake"):
        if kind == "records" and not is_below:
            continue
        for name, count in tried.of(operator, kind):
            if kind != "returns" or name not in written:
                yield f"{_shown_count(count, tried.calls[operator])} that {_TOLD[kind].format(name)}"


def tried_lines(tried: TriedCalls) -> list[str]:
    """How many calls were repeated, what they show that schemas do not say, and what could not be stored."""
    lines = []
    for operator in tried.calls:
        for kind in sorted(_ALWAYS - {"records"}):
            # Functions of modules have no schema before they are operators.
            text = _TOLD[kind] if "::" in operator or kind != "writes" else _OF_FUNCTIONS
            for name, count in tried.of(operator, kind):
                calls = counted(tried.calls[operator], "call")
                lines.append(f"tried: `{operator}`: in {count} of {calls}, {text.format(name)}")
    raised = sum(tried.stored.calls.values()) - sum(tried.calls.values())
    lines.append(
        f"tried with the original: {counted(len(tried.calls), 'operator')}, "
        f"{counted(sum(tried.calls.values()), 'call')}"
        + (f"; {counted(raised, 'more call')} raised errors" if raised else "")
    )
    lines += [f"not tried: {counted(count, 'call')}: {why}" for why, count in tried.stored.not_stored.items()]
    return lines
