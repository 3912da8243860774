"""Operators from the statements that register them: each schema with its kernels, and what stays by hand."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from opwright.cpp.text import joined_conditions
from opwright.dialects.names import CPP_WORDS
from opwright.dialects.native_functions.rules import is_argument_type, is_return_type
from opwright.libraries import stable_convention as stable
from opwright.libraries.dialect.conditions import condition_fault
from opwright.migrate.importing.always_run import AT_RUN_TIME
from opwright.migrate.importing.drafted_requirements import drafted_requirements
from opwright.migrate.importing.registration import RegistrationStatement, SourcePlace
from opwright.model.dispatch_key import (
    COMPOSITE_EXPLICIT,
    COMPOSITE_EXPLICIT_NON_FUNCTIONAL,
    COMPOSITE_IMPLICIT,
    LIBRARY_KEYS,
    META,
)
from opwright.model.native_function import is_view_schema
from opwright.schema.fault import SchemaFault
from opwright.schema.function import FunctionSchema
from opwright.source.records import NamedTuple
from opwright.syntax.cpp_types import CppType, read_type
from opwright.syntax.dispatcher_schemas import read_written_schema

#: What an author does about a kernel that records gradients itself.
RECORDS: Final = (
    "write a derivative, register it for CompositeImplicitAutograd, or keep it where it is registered, with "
    "`manual_kernel_registration: True` in place of `dispatch`"
)
_KEYS: Final = {key.name for key in LIBRARY_KEYS.values()}
#: What takes the place of a Python function that is registered for a key.
_ADVICE: Final = {
    META.name: "declare `outputs` in its place, or prove them with `--outputs-from`",
    "Autograd": "write a derivative in its place",
    "Autocast": "declare `autocast` in its place",
    "FuncTorchBatched": "it stays, or name a `batch_rule`",
}
#: The numbers that are converted, by the number that the dispatcher passes.
_NARROWED: Final = {"double": frozenset(("float",)), "long": frozenset(("int", "unsigned", "short", "size"))}
#: Types that are read alike.
_OWNERS: Final = {"HeaderOnlyArrayRef": "vector", "string_view": "string", "stable Tensor": "Tensor"}

_SAME, _CONVERTED, _OTHER = range(3)


class ImportedKernel(NamedTuple):
    """A kernel of an operator: its key, its C++ name, and the condition that it has besides that of the operator."""

    key: str
    name: str
    condition: str = ""


class ImportedOperator(NamedTuple):
    """An operator. If it is `by_hand`, all of its kernels stay; if not, those that no entry can name still may.

    `requirements` are the lines of fields for what its kernels check, and `autocast` are policies by device.
    """

    namespace: str
    schema: FunctionSchema
    text: str
    tags: tuple[str, ...]
    condition: str
    kernels: tuple[ImportedKernel, ...]
    by_hand: bool
    notes: tuple[tuple[SourcePlace, str], ...]
    outputs: str = ""
    alias_analysis: str = ""
    requirements: tuple[str, ...] = ()
    autocast: tuple[tuple[str, str], ...] = ()

    @property
    def is_silent(self) -> bool:
        """Whether the operator returns nothing and writes nothing, so far as its schema says."""
        return not self.schema.returns and not any(argument.is_write for argument in self.schema.arguments.all)

    @property
    def name(self) -> str:
        """The name with the overload, without the namespace."""
        return self.schema.name.text

    @property
    def key(self) -> tuple[str, str]:
        """The namespace, and the name with the overload."""
        return self.namespace, self.name


class ImportedOperators(NamedTuple):
    """Operators, the statements that a library file takes the place of, and those that stay, with the reason.

    `refused` are the schemas that a library file cannot have.
    """

    operators: tuple[ImportedOperator, ...]
    taken: tuple[SourcePlace, ...]
    left: tuple[tuple[SourcePlace, str], ...]
    is_stable: bool
    refused: tuple[tuple[SourcePlace, str], ...] = ()


def import_operators(statements: Sequence[RegistrationStatement]) -> ImportedOperators:
    """The operators that statements register, in their order."""
    by_name: dict[tuple[str, str], list[RegistrationStatement]] = {}
    for statement in _with_views_by_hand(statements):
        by_name.setdefault(statement.operator, []).append(statement)
    merged = [_Operator(same_name) for same_name in by_name.values()]
    return ImportedOperators(
        tuple([each.operator for each in merged if each.operator is not None]),
        tuple([place for each in merged for place in each.taken]),
        tuple([row for each in merged for row in each.left]),
        any(statement.is_stable and statement.schema for statement in statements),
        tuple([row for each in merged for row in each.refused]),
    )


def with_unnamed_kernels(statements: Iterable[RegistrationStatement]) -> list[RegistrationStatement]:
    """Statements with what unnamed kernels give: those in Python of operators that C++ has, and lambdas beside others.

    Other operators with such kernels have no generated code.
    """
    rows = [*statements]
    named = {row.operator for row in rows if row.kernel and not _is_python(row)}
    in_cpp = {row.operator for row in rows if row.schema and not _is_python(row)} | named
    graded = {row.operator for row in rows if any(key.startswith("Autograd") for key in row.keys)}
    for number, row in enumerate(rows):
        if row.operator in (in_cpp if _is_python(row) else named) - graded and _may_record(row):
            rows[number] = row._replace(gives="what it calls")
    return rows


def _may_record(row: RegistrationStatement) -> bool:
    """Whether a kernel in Python, or a lambda, may call operators that record gradients under PyTorch's fallback."""
    is_below = bool(row.keys) and META.name not in row.keys and is_below_autograd(row.keys)
    is_function = "fallthrough" not in row.by_hand if _is_python(row) else row.by_hand.startswith("[")
    return is_below and is_function and not row.registrar


def _with_views_by_hand(statements: Sequence[RegistrationStatement]) -> Iterator[RegistrationStatement]:
    """Statements in which the kernels of a view stay by hand, unless the sources have the copying form of it, too.

    An operator that has the name of this form alone has no entry: its kernel would be generated from the view.
    """
    with_kernel = {(*row.operator, key) for row in statements for key in row.keys}
    copies = {row.operator for row in statements if "view_copy" in row.tags}
    copies = {copy for copy in copies if (*copy, COMPOSITE_EXPLICIT_NON_FUNCTIONAL.name) in with_kernel}
    views: dict[tuple[str, str], str] = {}
    for row in statements if any("(a" in row.schema for row in statements) else ():
        with contextlib.suppress(SchemaFault):
            schema = read_written_schema(row.schema)
            copy = f"{schema.name.base}_copy" + (f".{schema.name.overload}" if schema.name.overload else "")
            is_composite = (*row.operator, COMPOSITE_IMPLICIT.name) in with_kernel
            is_whole = is_composite or (row.namespace, copy) in copies
            if is_view_schema(schema, frozenset(row.tags)) and not is_whole:
                views[row.operator] = copy
    named = {(namespace, copy): view for (namespace, view), copy in views.items()}
    for row in statements:
        copy = views.get(row.operator, "")
        view = named.get(row.operator, "") if row.schema and "view_copy" not in row.tags else ""
        told = f"functionalization of a view needs its copying form, `{copy}` with the tag `view_copy`"
        row = row._replace(notes=(*row.notes, told)) if copy and row.schema else row
        refusal = f"it has the name of the copying form of `{view}`, and not the tag `view_copy`"
        row = row._replace(refusal=row.refusal or refusal) if view else row
        yield row._replace(by_hand=row.by_hand or row.kernel or "a view") if copy and row.keys else row


class _Operator:
    """An operator from all statements about it."""

    def __init__(self, statements: Sequence[RegistrationStatement]) -> None:
        self.taken: list[SourcePlace] = []
        self.left: list[tuple[SourcePlace, str]] = []
        self.refused: list[tuple[SourcePlace, str]] = []
        self.operator: ImportedOperator | None = None
        definitions = self._definitions([row for row in statements if row.schema and not row.at_run_time])
        if not definitions:
            told = f"the sources have no schema for `{'::'.join(statements[0].operator)}`"
            if any(row.schema for row in statements):
                told = f"`{statements[0].name}`: {AT_RUN_TIME}"
            # What was not read has its own words.
            here = [row for row in statements if not row.is_unread and not self.refused]
            self.left += [(row.place, told) for row in here if not row.schema or row.at_run_time]
            return
        defining = set(definitions)
        self.left += [
            (row.place, f"`{row.name}`: {AT_RUN_TIME}") for row in statements if row.schema and row.at_run_time
        ]
        statement_rows = [row for row in statements if not row.schema or row in defining]
        read_rows = [row for row in statement_rows if not row.is_unread]
        added = [row for row in read_rows if _is_python(row) and not _is_python(definitions[0])]
        staying = set(added)
        others = [row for row in statement_rows if row not in staying]
        # Without a kernel of another kind, nothing is to be generated either.
        is_by_hand = any(row.gives for row in added) and not any(row.keys for row in others)
        for row in added:
            advice = (text for key in row.keys for start, text in _ADVICE.items() if key.startswith(start))
            stays = f"its gradients are gone: {RECORDS}" if row.gives and not is_by_hand else "it stays"
            self.left.append(
                (row.place, f"Python adds to `{row.name}` for {', '.join(row.keys)}: {next(advice, stays)}")
            )
        self._build(definitions, others, is_by_hand=is_by_hand)

    def _definitions(self, statements: Sequence[RegistrationStatement]) -> list[RegistrationStatement]:
        """The statements with the schema of the first of them; others stay."""
        alike: list[RegistrationStatement] = []
        first = ""
        for statement in statements:
            unfit = [condition for condition in statement.conditions if condition_fault(condition)]
            if unfit or not statement.namespace.isidentifier():
                what = f"the condition `{unfit[0]}`" if unfit else f"the namespace `{statement.namespace}`"
                self.left.append((statement.place, f"a library file cannot have {what} of `{statement.name}`"))
                continue
            try:
                parsed = read_written_schema(statement.schema)
                refusal = statement.refusal or _missing_form(parsed) or _parameter_refusal(parsed)
            except SchemaFault as fault:
                refusal = fault.message
            if refusal:
                self.refused.append((statement.place, f"`{'::'.join(statement.operator)}` stays by hand: {refusal}"))
                continue
            first = first or str(parsed)
            if str(parsed) == first:
                alike.append(statement)
            else:
                self.left.append((statement.place, f"`{statement.name}` has another schema here, which stays by hand"))
        return alike

    def _build(
        self,
        definitions: Sequence[RegistrationStatement],
        statements: Sequence[RegistrationStatement],
        *,
        is_by_hand: bool,
    ) -> None:
        first = definitions[0]
        conditions = either_conditions([row.conditions for row in definitions])
        notes = [(row.place, note) for row in statements for note in row.notes]
        parsed = read_written_schema(first.schema)
        for row in statements:
            if row.is_stable and row.parameters:
                notes += [(row.place, note) for note in type_notes(parsed, row.parameters)]
        is_graded = any(key.startswith("Autograd") for row in statements for key in row.keys)
        # Calls may show it too, whose note says what to do.
        if not is_graded and not any(note.endswith(RECORDS) for _, note in notes):
            told = f"records under PyTorch's fallback: {RECORDS}"
            notes += [
                (row.place, f"`{row.kernel or row.by_hand}` gives the result of {row.gives}, whose gradient it {told}")
                for row in statements
                if row.gives
            ]
        by_hand = {
            row
            for row in statements
            if (row.keys and (row.by_hand or row.refusal or not _KEYS.issuperset(row.keys)))
            or any(map(condition_fault, row.conditions))
            or row.is_stable is not first.is_stable
            or _records_itself(row)
            or (row.keys and row.at_run_time)
        }
        kernels: dict[str, list[RegistrationStatement]] = {}
        for row in statements:
            for key in row.keys if not row.policy else ():
                kernels.setdefault(key, []).append(row)
        policies = {
            row.keys[0].removeprefix("Autocast"): row.policy for row in statements if row.policy and not row.at_run_time
        }
        by_hand.update(row for rows in kernels.values() if len({row.kernel for row in rows}) > 1 for row in rows)
        named = [row for row in statements if row.keys and row not in by_hand]
        is_beside = bool(named) and all(is_apart(row.keys) and not _records_itself(row) for row in by_hand)
        is_by_hand = is_by_hand or (bool(by_hand) and not is_beside)
        if is_by_hand:
            # There is nothing to do about a kernel that stays.
            notes = [(place, note.removesuffix(f": {RECORDS}")) for place, note in notes]
        defining = set(definitions)
        for row in [row for row in statements if row in by_hand][: 1 if is_by_hand else None]:
            keys = ", ".join(row.keys)
            what = f"`{row.by_hand}`" if row.by_hand else f"a kernel for {keys}"
            what += f": {row.refusal}" if row.refusal else ""
            what += "" if row.is_stable is first.is_stable else " through the other C++ interface"
            if _records_itself(row):
                what = f"`{row.kernel}`, which applies `{row.records}`, a class of autograd, for {keys}"
            what = f", because of {f'the kernel for {keys}: {AT_RUN_TIME}' if row.at_run_time else what}"
            if row.is_unread:
                what = f": {row.by_hand}{' may register any' if row.place.first else ''}"
            subject = "kernels stay" if is_by_hand else f"kernel for {keys} stays"
            notes.append((row.place, f"the {subject} by hand{what}"))
        for row in statements:
            is_definition = row in defining
            if (not is_by_hand and row not in by_hand) or (is_definition and not row.keys):
                self.taken.append(row.place)
            elif not row.place.first or row.is_unread:
                # The statements of a process are not known, and code that was not read is named once.
                continue
            elif is_definition:
                self.left.append((row.place, f"the schema of `{row.name}` is generated: {_kernel_alone(row)}"))
            else:
                why = f": {AT_RUN_TIME}" if row.at_run_time else ""
                self.left.append((row.place, f"the kernel of `{row.name}` is registered by hand{why}"))
        imported = []
        for key, rows in kernels.items() if not is_by_hand else ():
            if by_hand.isdisjoint(rows):
                own = [part for part in either_conditions([row.conditions for row in rows]) if part not in conditions]
                imported.append(ImportedKernel(key, rows[0].kernel, joined_conditions(own)))
        self.operator = ImportedOperator(
            first.namespace,
            parsed,
            first.schema,
            tuple(dict.fromkeys(tag for row in definitions for tag in row.tags)),
            joined_conditions(conditions),
            tuple(imported),
            is_by_hand,
            tuple(notes),
            alias_analysis=first.alias_analysis,
            requirements=tuple(drafted_requirements(parsed, statements)),
            autocast=() if is_by_hand else tuple(policies.items()),
        )


def _missing_form(schema: FunctionSchema) -> str:
    """What in the schema of a library has no form in C++; empty if all has one.

    >>> _missing_form(read_written_schema("f(Future(Tensor) x) -> ()"))
    '`Future(Tensor) x` has no form in C++'
    """
    texts = [part.text for part in schema.arguments.all if not is_argument_type(part.type, is_strict=False)]
    texts += [result.text for result in schema.returns if not is_return_type(result.type, is_strict=False)]
    return f"`{texts[0]}` has no form in C++" if texts else ""


def _parameter_refusal(schema: FunctionSchema) -> str:
    """Why arguments cannot be parameters in generated C++, with what they write; empty if all can."""
    words = [argument.name for argument in schema.arguments.all if argument.name in CPP_WORDS]
    if words:
        return f"the argument name `{words[0]}` is a C++ keyword"
    written = [str(argument.annotation) for argument in schema.arguments.all if argument.is_write]
    returned = {str(result.annotation) for result in schema.returns if result.is_write}
    is_unclear = len(written) > len({*written}) or not returned.issubset(written)
    return "its written arguments and results have no alias set each" if is_unclear else ""


def _records_itself(row: RegistrationStatement) -> bool:
    """Whether a kernel records gradients itself, which a generated kernel for Autograd would keep it from doing."""
    return bool(row.records) and not all(
        key.startswith("Autograd") or key == COMPOSITE_IMPLICIT.name for key in row.keys
    )


def is_apart(keys: Iterable[str]) -> bool:
    """Whether kernels may be registered beside generated code, which has none for these keys that nobody asked for."""
    own_keys = [LIBRARY_KEYS[key] for key in keys if key in LIBRARY_KEYS and not key.startswith("Autocast")]
    return all(key.device is not None and not key.name.startswith("Autograd") for key in own_keys)


def is_below_autograd(keys: Iterable[str]) -> bool:
    """Whether PyTorch's kernels for Autograd are called before kernels for these keys, unless others are there."""
    return all(is_apart([key]) or key.startswith(COMPOSITE_EXPLICIT.name) for key in keys)


def _is_python(row: RegistrationStatement) -> bool:
    return row.place.path.endswith(".py")


def _kernel_alone(row: RegistrationStatement) -> str:
    """What registers the kernel of a statement without the schema."""
    if row.is_bound:
        return f"register its kernel in a `TORCH_LIBRARY_IMPL({row.namespace}, {row.keys[0]}, m)`"
    if _is_python(row):
        return f'write `@torch.library.impl("{row.namespace}::{row.name}", "{row.keys[0]}")` in place of the definition'
    return f'write `m.impl("{row.name}", ...)` in place of `m.def`'


def either_conditions(alternatives: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    """The conditions that hold where those of one of the alternatives do."""
    different = list(dict.fromkeys(alternatives))
    if len(different) == 1:
        return different[0]
    common = [part for part in different[0] if all(part in difference for difference in different)]
    rest = [joined_conditions([part for part in difference if part not in common]) for difference in different]
    if "" in rest:
        return tuple(common)
    return (*common, " || ".join([f"({part})" if "&&" in part else part for part in rest]))


def type_notes(schema: FunctionSchema, parameters: Sequence[str]) -> Iterator[str]:
    """What to say of parameters that have other types than `TORCH_BOX` reads for the arguments of a schema.

    >>> from opwright.schema import parse_schema
    >>> schema = parse_schema("f(Tensor x, float scale, int[] sizes) -> Tensor")
    >>> list(type_notes(schema, ["const Tensor&", "float", "std::vector<double>"]))[0]
    'the kernel takes `scale` as `float`, which generated code converts; `TORCH_BOX` passes something else'
    """
    arguments = schema.arguments.all
    parameters = [text for text in parameters if text != "void"]
    if len(arguments) != len(parameters):
        yield f"the kernel takes {len(parameters)} arguments, and does not compile: the schema has {len(arguments)}"
        return
    for argument, text in zip(arguments, parameters, strict=True):
        wanted = stable.argument_type(argument.type)
        relation = _SAME if wanted is None else _relation(read_type(wanted.text), read_type(text))
        what = f"the kernel takes `{argument.name}` as `{text}`"
        if relation == _CONVERTED:
            yield f"{what}, which generated code converts; `TORCH_BOX` passes something else"
        elif relation == _OTHER:
            yield f"{what}, and does not compile: no `{argument.type}` becomes that"


def _relation(wanted: CppType | None, wanted_type: CppType | None) -> int:
    if wanted is None or wanted_type is None:
        return _SAME
    meanings = {_OWNERS.get(meaning, meaning) for meaning in wanted_type.meanings}
    if wanted_type.reference == "*":
        return _OTHER
    if not meanings.isdisjoint([_OWNERS.get(meaning, meaning) for meaning in wanted.meanings]):
        return max(map(_relation, wanted.arguments, wanted_type.arguments), default=_SAME)
    narrowed = [_NARROWED.get(meaning, frozenset[str]()) for meaning in wanted.meanings]
    return _CONVERTED if any(not meanings.isdisjoint(numbers) for numbers in narrowed) else _OTHER
