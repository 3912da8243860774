"""What of a running library its sources explain: the process says what exists, and the sources say where."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from opwright.migrate.importing.always_run import AT_RUN_TIME
from opwright.migrate.importing.process import PROCESS, LoadedLibrary, LoadedOperator, statements_of
from opwright.migrate.importing.registration import RegistrationStatement
from opwright.model.dispatch_key import META
from opwright.source.records import NamedTuple

#: Tags that follow from the name or the kind of an operator, or that `custom_op` gives.
_IMPLIED_TAGS: Final = frozenset(
    ("inplace", "out", "pt2_compliant_tag", "needs_exact_strides", "needs_fixed_stride_order")
)
#: Where PyTorch registers for functions of `torch.library`.
_OF_PYTORCH: Final = ("torch/_library/", "torch/library.py")
_STAYS: Final = "it stays in the sources, and the file has no entry for it"
#: Names that a line has before it counts the others.
_SHOWN: Final = 12


class ExplainedLibrary(NamedTuple):
    """Statements with what the process has beside them, and the lines that say what the sources do not explain.

    `registered` is how many operators and functions of modules the process has, `defined` how many of the operators the
    sources define, `read` how many they explain with all kernels, and `by_hand` the names of those that stay by hand.
    """

    statements: Sequence[RegistrationStatement]
    lines: Sequence[str]
    registered: int
    defined: int
    read: int
    by_hand: Sequence[str]

    @property
    def summary(self) -> str:
        """The counts, such as `73 registered in the process, 59 read, 14 stay by hand (acme::f and 13 more)`."""
        names = f" ({shown_names(self.by_hand)})" if self.by_hand else ""
        stay = f"{len(self.by_hand):,} {'stays' if len(self.by_hand) == 1 else 'stay'} by hand{names}"
        return f"{self.registered:,} registered in the process, {self.read:,} read, {stay}"


def shown_names(names: Sequence[str]) -> str:
    """Names, the first of them if there are many."""
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join([f"`{name}`" for name in names[:_SHOWN]]) + more


def operator_of_function(name: str) -> str:
    """The name of the operator that a function of a module becomes.

    >>> operator_of_function("sub.f")
    'sub_f'
    """
    return name.replace(".", "_")


def explained(loaded: LoadedLibrary, statements: Sequence[RegistrationStatement]) -> ExplainedLibrary:
    """Compare what a process has with what was read, and give statements in which nothing of the process is missing."""
    by_operator: dict[tuple[str, str], list[RegistrationStatement]] = {}
    for row in statements:
        by_operator.setdefault(row.operator, []).append(row)
    complete: list[RegistrationStatement] = []
    lines: list[str] = []
    by_hand: list[str] = []
    refused = read = 0
    for operator, loaded_operator in loaded.operators.items():
        rows = by_operator.get(operator, [])
        name = "::".join(operator)
        refusal = _refusal(rows, loaded_operator, loaded.parsed)
        if refusal:
            keys = ", ".join(loaded_operator.kernels) or "no kernel"
            lines.append(f"not explained: `{name}` ({keys}): {refusal}; {_STAYS}")
            by_hand.append(name)
            refused += 1
            # What a condition decides about is named with its place, too.
            complete += [row for row in rows if row.at_run_time]
            continue
        missing = [key for key in loaded_operator.kernels if not _explains(rows, loaded_operator, key)]
        for key in missing:
            place = loaded_operator.places[key]
            where = ", registered in Python" if _is_of_pytorch(place) else f", registered at {place}" if place else ""
            told = "its kernels stay by hand as far as one for this key would take its place"
            lines.append(f"not explained: `{name}`: no source that was read has its kernel for {key}{where}; {told}")
            complete.append(_by_process(operator, key))
        lines += [f"not explained: `{name}`: {text}" for text in _differences(rows, loaded_operator)]
        read += not missing
        by_hand += [name] if missing or any(row.by_hand for row in rows) else []
        complete += rows
    absent = [row for rows in by_operator.values() for row in rows if row.operator not in loaded.operators]
    # What a module of pybind11 has is no operator yet.
    if defined := list(dict.fromkeys(["::".join(row.operator) for row in absent if row.schema and not row.is_bound])):
        lines.append(f"not in the process: {shown_names(defined)}: this build of the sources does not register them")
    lines += _others(loaded.others)
    functions = {operator_of_function(name) for _, name in loaded.functions}
    lacking = [row.name for row in statements if row.is_bound and row.name.partition(".")[0] not in functions]
    if lacking and loaded.functions:
        names = shown_names(list(dict.fromkeys(lacking)))
        lines.append(f"not in the process: {names}: this build of the sources does not define these functions")
    bound = {row.name.partition(".")[0] for row in statements if row.is_bound}
    unbound = [f"{module}.{name}" for module, name in loaded.functions if operator_of_function(name) not in bound]
    lines += [f"not explained: `{name}`: no source that was read has this function; it stays there" for name in unbound]
    scripted = _scripted(loaded)
    lines += _scripted_lines(scripted)
    by_hand += [*unbound, *scripted]
    read += len(loaded.functions) - len(unbound)
    # What a condition of the build leaves out is known by its source alone.
    statements = [*complete, *absent]
    count = len(loaded.operators)
    registered = count + len(loaded.functions) + len(scripted)
    return ExplainedLibrary(statements, lines, registered, count - refused, read, by_hand)


def whole_process(loaded: LoadedLibrary) -> ExplainedLibrary:
    """All operators of a process, without sources. No kernel has a name, so kernels stay by hand."""
    names = ["::".join(operator) for operator, loaded_operator in loaded.operators.items() if loaded_operator.kernels]
    scripted = _scripted(loaded)
    lines = [*_others(loaded.others), *_scripted_lines(scripted)]
    count = len(loaded.operators)
    return ExplainedLibrary(statements_of(loaded), lines, count + len(scripted), count, 0, [*names, *scripted])


def _scripted(loaded: LoadedLibrary) -> list[str]:
    """The names of operators that TorchScript alone has, and of methods of its classes."""
    return list(dict.fromkeys([schema.partition("(")[0] for schema in loaded.scripted]))


def _scripted_lines(names: Sequence[str]) -> list[str]:
    return [f"not explained: `{name}`: TorchScript alone has it; it stays in the sources" for name in names]


def _refusal(rows: Sequence[RegistrationStatement], loaded_operator: LoadedOperator, parsed: Mapping[str, str]) -> str:
    """Why no entry can stand for an operator; empty if one can."""
    if any(row.schema and row.at_run_time for row in rows) and all(row.at_run_time for row in rows if row.schema):
        return AT_RUN_TIME
    schemas = {parsed.get(row.schema, row.schema) for row in rows if row.schema and not row.at_run_time}
    if not schemas:
        return "no source that was read defines it"
    if loaded_operator.schema not in schemas:
        return f"the sources define it as `{min(schemas)}`, and the process has `{loaded_operator.schema}`"
    return ""


def _explains(rows: Sequence[RegistrationStatement], loaded_operator: LoadedOperator, key: str) -> bool:
    """Whether a source has the kernel for a key, or PyTorch registers it for a function of `torch.library`."""
    if any(key in row.keys for row in rows):
        return True
    is_custom = any(row.registrar == "custom_op" for row in rows)
    return is_custom and _is_of_pytorch(loaded_operator.places[key])


def _is_of_pytorch(place: str) -> bool:
    """Whether the dispatcher has the place of PyTorch's own Python for a kernel, and not that of its function."""
    return any(part in place for part in _OF_PYTORCH)


def _by_process(operator: tuple[str, str], key: str) -> RegistrationStatement:
    """A kernel that only the process has: none may be generated for its key."""
    by_hand = f"a kernel for {key}, which no source that was read has"
    return RegistrationStatement(*operator, PROCESS, keys=(key,), by_hand=by_hand, is_unread=True)


def _differences(rows: Sequence[RegistrationStatement], loaded_operator: LoadedOperator) -> Iterator[str]:
    """What the process has of an operator, and the file says otherwise."""
    tags = {tag for row in rows if row.schema for tag in row.tags}
    if different := sorted((loaded_operator.tags ^ tags) - _IMPLIED_TAGS):
        side = "the process" if loaded_operator.tags - tags else "the sources"
        yield f"the tags {', '.join(different)} are only in {side}"
    alias = next((row.alias_analysis for row in rows if row.alias_analysis), "from_schema")
    if loaded_operator.alias_analysis and loaded_operator.alias_analysis.replace("_kind", "") != alias:
        yield f"its alias analysis is `{loaded_operator.alias_analysis}` in the process, and `{alias}` in the sources"
    faked = any(key == META.name or row.registrar == "custom_op" for row in rows for key in row.keys)
    if loaded_operator.in_python and not faked and not any(row.python_module for row in rows):
        yield f"Python has {', '.join(loaded_operator.in_python)} for it, which stays where it is"


def _others(others: Mapping[str, Sequence[str]]) -> Iterator[str]:
    for key, names in others.items():
        yield f"not explained: kernels for {key} of {shown_names(names)}, operators of others: they stay in the sources"
