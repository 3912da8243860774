"""Compares what sources register with what the code from a library file, and what stays of the sources, register.

PyTorch's dispatcher decides what a call runs: a process registers a stub for each kernel of one side, then of the
other, and answers with what the dispatcher would call for each of its keys. Kernels are the same if they have the same
name and the same conditions of the preprocessor. What Opwright generates differs on purpose: each such difference has
its reason. Without PyTorch, registrations are compared by their texts alone.
"""

from __future__ import annotations

import contextlib
import json
import re
import tempfile
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Final, TypeAlias, cast

from opwright.cpp.namespaces import qualified_name
from opwright.cpp.text import joined_conditions
from opwright.libraries.emit.generated_kernels import has_generated_kernel
from opwright.libraries.emit.python.overloads import calls_another_form
from opwright.libraries.entry_fields import Autocast, library_fields, outputs_of, requirements_of
from opwright.libraries.kernels import implementations_of, written_kernels
from opwright.libraries.operator_library import LibraryDerivatives, OperatorLibrary
from opwright.migrate.importing.explained import shown_names
from opwright.migrate.importing.operators import either_conditions
from opwright.migrate.importing.process import answer_of
from opwright.migrate.importing.registration import RegistrationStatement
from opwright.model.dispatch_key import META
from opwright.model.native_function import NativeFunction
from opwright.schema.fault import SchemaFault
from opwright.source.records import NamedTuple
from opwright.source.terminal import counted
from opwright.syntax.dispatcher_schemas import read_written_schema

#: A namespace, and the name of an operator with its overload.
OperatorKey: TypeAlias = "tuple[str, str]"

#: Tags that follow from the name or the kind of an operator.
IMPLIED_TAGS: Final = frozenset(("inplace", "out"))
#: Keys for which `custom_op` registers functions of PyTorch, and those for devices that are not the author's.
_CUSTOM_OP_KEYS: Final = re.compile(r"Autograd\w*|ADInplaceOrView|BackendSelect|Meta")
_FALLTHROUGH: Final = re.compile(r"makeFallthrough\(\)|fallthrough_kernel$")
_NOT_IMPLEMENTED: Final = "autogradNotImplementedFallback"
#: Keys that a message names before it counts the others.
_SHOWN_KEYS: Final = 3

#: What Opwright generates for keys: the start of a key -> what its kernel does.
_GENERATED: Final = {
    "ADInplaceOrView": "counts the versions of written arguments",
    "Functionalize": "functionalizes the operator",
    META.name: "has the sizes of declared `outputs`",
    "Autocast": "casts arguments as `autocast` says",
    "FuncTorchBatched": "runs the operator under `vmap`",
    "Autograd": "records gradients by formulas",
}
_RAISES: Final = "raises in the backward pass, because the operator has no formulas"
#: A kernel that serves no device by itself.
_OTHER_FORM: Final = "calls another form of the operator"
_PACKAGE: Final = "serves the generated Python package"
#: The kernel that `custom_op` registers for Autograd and for Meta.
_CUSTOM_OP: Final = "belongs to `custom_op`"


class Registered(NamedTuple):
    """A kernel for one key: its names, each with its conditions; if Opwright or PyTorch makes it, what it `does`.

    `arguments` are those with formulas, where it records gradients by formulas.
    """

    names: tuple[tuple[str, ...], ...]
    does: str = ""
    is_fallthrough: bool = False
    arguments: frozenset[str] = frozenset()

    def __str__(self) -> str:
        if self.does:
            return f"a kernel that {self.does}"
        if self.is_fallthrough:
            return "a fallthrough"
        return " or ".join(
            [f"`{name}`{f' if {joined_conditions(rest)}' if rest else ''}" for name, *rest in self.names]
        )


class RegisteredDefinition(NamedTuple):
    """The definition of an operator. One by `custom_op` has the kernels that this registers.

    `python_module` is what `set_python_module` says of it, and `alias_analysis` what TorchScript assumes of it.
    """

    schema: str
    tags: tuple[str, ...]
    condition: tuple[str, ...]
    custom_op: str = ""
    python_module: str = ""
    alias_analysis: str = ""


class RegisteredSide:
    """What one side registers: operators, kernels for their keys, and keys with kernels for all operators."""

    def __init__(self) -> None:
        self.definitions: Final[dict[OperatorKey, RegisteredDefinition]] = {}
        self.kernels: Final[dict[OperatorKey, dict[str, Registered]]] = {}
        self.fallbacks: Final[dict[str, str]] = {}

    def add(self, statements: Iterable[RegistrationStatement]) -> None:
        """Add what statements register, in the place of what is registered for the same key of an operator."""
        defined: dict[OperatorKey, list[RegistrationStatement]] = {}
        kernels: dict[tuple[OperatorKey, str], list[RegistrationStatement]] = {}
        for row in statements:
            operator = row.operator
            if row.schema:
                defined.setdefault(operator, []).append(row)
            # What `register_torch_dispatch` registers is a rule in Python, of which the dispatcher knows nothing.
            for key in row.keys if row.keys != ("Python",) else ():
                kernels.setdefault((operator, key), []).append(row)
        for operator, rows in defined.items():
            schema = rows[0].schema
            with contextlib.suppress(SchemaFault):
                schema = str(read_written_schema(schema))
            self.definitions[operator] = RegisteredDefinition(
                schema,
                tuple(dict.fromkeys(tag for row in rows for tag in row.tags)),
                _parts(either_conditions([row.conditions for row in rows])),
                rows[0].by_hand if rows[0].registrar == "custom_op" else "",
                rows[0].python_module,
                rows[0].alias_analysis,
            )
        for (operator, key), rows in kernels.items():
            definition = self.definitions.get(operator)
            condition = definition.condition if definition is not None else ()
            self.kernels.setdefault(operator, {})[key] = _registered(rows, condition)


def _registered(rows: Sequence[RegistrationStatement], condition: Sequence[str]) -> Registered:
    """The kernel that statements register for a key of an operator, which exists under a condition."""
    by_name: dict[str, list[tuple[str, ...]]] = {}
    for row in rows:
        by_name.setdefault(row.kernel or row.by_hand or f"the policy {row.policy}", []).append(row.conditions)
    names = [(name, *_parts((*condition, *either_conditions(conditions)))) for name, conditions in by_name.items()]
    text = rows[0].by_hand
    does = _RAISES if _NOT_IMPLEMENTED in text else ""
    return Registered(tuple(sorted(names)), does, _FALLTHROUGH.search(text) is not None)


def as_generated(
    library: OperatorLibrary | None, function: NativeFunction | None, key: str, registered: Registered
) -> Registered:
    """What generated code registers for a key: the author's kernels by their names, or what Opwright's kernel does.

    An operator that is no function of a library belongs to the generated Python package.
    """
    if library is None or function is None:
        return Registered((), _PACKAGE)
    kernel = next((kernel for named, kernel in function.kernels.items() if named.name == key), None)
    is_made = calls_another_form(function) if library.is_stable else has_generated_kernel(function)
    if kernel is not None and not is_made:
        names = [qualified_name(written.namespace, written.name) for written in written_kernels(kernel)]
        names += [choice.python.rpartition(":")[2] for choice in implementations_of(kernel) if choice.python]
        conditions = registered.names[0][1:]
        return Registered(tuple(sorted((name.removeprefix("::"), *conditions) for name in names)))
    if registered.does or registered.is_fallthrough:
        return registered
    does = next((does for start, does in _GENERATED.items() if key.startswith(start)), _OTHER_FORM)
    if does != _GENERATED["Autograd"]:
        return Registered((), does)
    arguments = _arguments_with_formulas(library.derivatives, function)
    return Registered((), does if arguments else _RAISES, arguments=arguments)


def declared_fields(derivatives: LibraryDerivatives, function: NativeFunction) -> frozenset[str]:
    """What a library file says of an operator that may make it do more than the original did."""
    fields = library_fields(function)
    values = {
        "outputs": outputs_of(function),
        "requirements": requirements_of(function),
        "autocast": fields.autocast != Autocast(),
        "batch_rule": fields.batch_rule,
        "derivatives": _arguments_with_formulas(derivatives, function),
    }
    return frozenset(name for name, value in values.items() if value)


def _arguments_with_formulas(derivatives: LibraryDerivatives, function: NativeFunction) -> frozenset[str]:
    in_cpp = [matched for matched in derivatives.matched.functions if matched.function is function]
    infos = [info for matched in in_cpp for info in matched.infos.values()]
    in_python = [gradient for gradient in derivatives.python if gradient.function is function]
    formulas = [formula for gradient in in_python for formula in gradient.formulas]
    names = {argument.name for info in infos for argument in info.differentiable_arguments}
    return frozenset(names.union(*[formula.arguments for formula in formulas]))


def _parts(conditions: Iterable[str]) -> tuple[str, ...]:
    """The conditions that a condition joins, in the order of the alphabet."""
    condition, parts, depth, start = joined_conditions(dict.fromkeys(conditions)), [], 0, 0
    for index, character in enumerate(condition):
        depth += (character == "(") - (character == ")")
        if not depth and condition[index : index + 2] == "&&":
            parts.append(condition[start:index].strip())
            start = index + 2
    return tuple(sorted({part for part in (*parts, condition[start:].strip()) if part}))


class RegistrationDifference(NamedTuple):
    """A difference of an operator: `lost`, `added`, or `intended` for a reason, which is the text."""

    kind: str
    operator: str
    text: str


class RegistrationComparison(NamedTuple):
    """How many operators are equal but for what is intended, the differences, and what was compared, in words.

    `proved` are the operators without a difference that is lost or added, as the dispatcher says, and `alike` those
    that count as equal. `undecided` are those of which a run alone decides what is registered.
    """

    alike: frozenset[OperatorKey]
    differences: tuple[RegistrationDifference, ...]
    compared: str
    proved: frozenset[OperatorKey]
    undecided: frozenset[OperatorKey] = frozenset()

    def without(self, undecided: Collection[OperatorKey]) -> RegistrationComparison:
        """The comparison in which operators do not count as equal of which a run alone decides what is registered."""
        return self._replace(alike=self.alike.difference(undecided), undecided=frozenset(undecided))

    @property
    def summary(self) -> str:
        """How many operators are alike, how many differences there are, and what was compared and what not."""
        count = len(self.unexplained)
        parts = [
            f"the sources and the file register {counted(len(self.alike), 'operator')} alike",
            are(count, "lost or added", "difference"),
            are(len(self.differences) - count, "intended"),
        ]
        if self.undecided:
            names = shown_names(["::".join(operator) for operator in sorted(self.undecided)])
            parts.append(f"{are(len(self.undecided), 'not compared', 'operator')} ({names})")
        return f"{', '.join(parts)}; compared are {self.compared}"

    def by_difference(self) -> dict[RegistrationDifference, list[str]]:
        """The operators by the differences that they share."""
        operators: dict[RegistrationDifference, list[str]] = {}
        for difference in self.differences:
            operators.setdefault(difference._replace(operator=""), []).append(difference.operator)
        return operators

    @property
    def unexplained(self) -> list[RegistrationDifference]:
        """What is lost or added."""
        return [difference for difference in self.differences if difference.kind != "intended"]


class _Loaded(NamedTuple):
    """What the dispatcher says of the operators of one side. What PyTorch answers for a key itself is a text.

    `refused` are the registrations that PyTorch refuses, with its messages.
    """

    schemas: Mapping[OperatorKey, str]
    tags: Mapping[OperatorKey, frozenset[str]]
    tables: Mapping[OperatorKey, Mapping[str, Registered | str]]
    refused: Mapping[OperatorKey, set[str]]


def _by_text(side: RegisteredSide) -> _Loaded:
    """What the texts of a side say: no more than what it registers."""
    definitions = side.definitions
    return _Loaded(
        {key: definition.schema for key, definition in definitions.items()},
        {key: frozenset(definition.tags) for key, definition in definitions.items()},
        side.kernels,
        {},
    )


class _Row(NamedTuple):
    """What a process registers as a stub, and what its answer then stands for. `keys` are those of `custom_op`."""

    what: str
    operator: OperatorKey
    text: str
    tags: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()
    stands_for: Registered = Registered(())


def _rows(side: RegisteredSide) -> Iterator[_Row]:
    for operator, definition in side.definitions.items():
        schema, tags, registered = definition.schema, definition.tags, Registered(((definition.custom_op,),))
        if definition.custom_op:
            keys = tuple([key for key, kernel in side.kernels[operator].items() if kernel == registered])
            yield _Row("custom_op", operator, schema, tags, keys, stands_for=registered)
        else:
            yield _Row("define", operator, schema, tags)
    for operator, kernels in side.kernels.items():
        custom_op = side.definitions[operator].custom_op if operator in side.definitions else ""
        for key, kernel in kernels.items():
            # These go into functions that `custom_op` registers.
            if not custom_op or not (key in (META.name, "Autograd") or kernel.names == ((custom_op,),)):
                what = "fallthrough" if kernel.is_fallthrough else "kernel"
                yield _Row(what, operator, key, stands_for=kernel)
    for key, text in side.fallbacks.items():
        stands_for = Registered(((text,),), is_fallthrough=_FALLTHROUGH.search(text) is not None)
        what = "fallback_fallthrough" if stands_for.is_fallthrough else "fallback"
        yield _Row(what, ("_", ""), key, stands_for=stands_for)


def load_sides(sides: Sequence[RegisteredSide]) -> tuple[str, list[_Loaded]]:
    """What the dispatcher says of each side, and the release of PyTorch. Raises Fault if the process fails."""
    rows = [[*_rows(side)] for side in sides]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "sides.json"
        sent = [[(row.what, *row.operator, row.text, row.tags, row.keys) for row in side] for side in rows]
        path.write_text(json.dumps(sent), encoding="utf-8")
        answer = answer_of("answers", str(path), (), doing="asking PyTorch's dispatcher")
    release, loaded = cast("tuple[str, list[_Answers]]", answer)
    return release, [
        _loaded(side, sent_rows, answers) for side, sent_rows, answers in zip(sides, rows, loaded, strict=True)
    ]


#: Of each operator its names, its schema and tags, and the keys with the number of a row, or PyTorch's text, for each;
#: and of each row that PyTorch refuses, the number and the message.
_Answers: TypeAlias = (
    "tuple[list[tuple[str, str, str, list[str], list[tuple[int | str, list[str]]]]], list[tuple[int, str]]]"
)


def _loaded(side: RegisteredSide, rows: Sequence[_Row], answers: _Answers) -> _Loaded:
    written = _by_text(side)
    schemas, tags, tables = {**written.schemas}, {**written.tags}, {**written.tables}
    refused: dict[OperatorKey, set[str]] = {}
    for number, message in answers[1]:
        row = rows[number]
        refused.setdefault(row.operator, set()).add(f"{row.text}: {message}")
    for namespace, name, schema, own_tags, table in answers[0]:
        operator = namespace, name
        schemas[operator], tags[operator] = schema, frozenset(own_tags)
        tables[operator] = {
            key: _answer(rows[number], key, side) if isinstance(number, int) else number
            for number, keys in table
            for key in keys
        }
    return _Loaded(schemas, tags, tables, refused)


def _answer(row: _Row, key: str, side: RegisteredSide) -> Registered:
    """What answers for a key: what a row registers, or what `custom_op` registers besides."""
    if row.what != "custom_op" or not _CUSTOM_OP_KEYS.fullmatch(key):
        return row.stands_for
    given = side.kernels[row.operator].get("Autograd" if key.startswith("Autograd") else key)
    return given if given is not None else Registered((), _CUSTOM_OP)


class Explanations(NamedTuple):
    """What explains differences, and what differs beside the dispatcher.

    `recording` says which kernels of operators record gradients themselves, `gradients` are the arguments to which the
    classes of Autograd's kernels give gradients, as far as these were read, and `wrong_types` is what is said of
    kernels with other types than generated code calls them with. The classes of operators that are `raising` only raise
    in the backward pass.
    """

    recording: Mapping[OperatorKey, str]
    gradients: Mapping[OperatorKey, frozenset[str]]
    wrong_types: Mapping[OperatorKey, Sequence[str]]
    raising: frozenset[OperatorKey] = frozenset()


def compare_registrations(
    before: RegisteredSide, after: RegisteredSide, explanations: Explanations
) -> RegistrationComparison:
    """Compare two sides, as PyTorch's dispatcher would call their operators if PyTorch is installed."""
    compared = "schemas, alias analyses, tags, conditions, names of kernels, their types where sources define them"
    is_asked = find_spec("torch") is not None
    if is_asked:
        release, (was, now) = load_sides([before, after])
        compared += f", and what the dispatcher of PyTorch {release} calls for each of its keys"
    else:
        was, now = _by_text(before), _by_text(after)
        compared += " by key, as texts: without PyTorch, no dispatcher says what it calls"
    comparison = _Comparison(before, after, was, now, explanations)
    operators = dict.fromkeys((*before.definitions, *after.definitions))
    differences = {operator: tuple(comparison.of(operator)) for operator in operators}
    alike = [name for name, rows in differences.items() if all(difference.kind == "intended" for difference in rows)]
    return RegistrationComparison(
        frozenset(before.definitions.keys() & alike),
        tuple([difference for rows in differences.values() for difference in rows]),
        compared,
        frozenset(alike if is_asked else ()),
    )


class _Comparison(NamedTuple):
    before: RegisteredSide
    after: RegisteredSide
    was: _Loaded
    now: _Loaded
    explanations: Explanations

    def of(self, operator: OperatorKey) -> Iterator[RegistrationDifference]:
        """The differences of an operator."""
        shown = "::".join(operator)
        before, after = self.before.definitions.get(operator), self.after.definitions.get(operator)
        if after is None:
            yield RegistrationDifference("lost", shown, "it is not generated")
        elif before is None:
            kernels = [*self.after.kernels.get(operator, {}).values()]
            is_made = bool(kernels) and all(kernel.does for kernel in kernels)
            what = f", and has {kernels[0]}" if is_made else ""
            yield RegistrationDifference("intended" if is_made else "added", shown, f"it is not in the sources{what}")
        if before is None or after is None:
            return
        for what, old, new in (
            ("schema", self.was.schemas[operator], self.now.schemas[operator]),
            ("tags", *[", ".join(sorted(side.tags[operator] - IMPLIED_TAGS)) for side in (self.was, self.now)]),
            ("alias analysis", before.alias_analysis or "from_schema", after.alias_analysis or "from_schema"),
            ("condition", joined_conditions(before.condition), joined_conditions(after.condition)),
        ):
            if old != new:
                yield RegistrationDifference(
                    "lost", shown, f"its {what}: `{old}` in the sources, and `{new}` generated"
                )
        for text in self.explanations.wrong_types.get(operator, ()):
            yield RegistrationDifference("lost", shown, text)
        for message in self.now.refused.get(operator, set()) - self.was.refused.get(operator, set()):
            yield RegistrationDifference("lost", shown, f"PyTorch refuses {message}")
        old_table, new_table = self.was.tables.get(operator, {}), self.now.tables.get(operator, {})
        if before.python_module and before.python_module != after.python_module:
            has_kernel = isinstance(new_table.get(META.name), Registered)
            kind, reason = ("intended", ", and its kernel for Meta needs no module") if has_kernel else ("lost", "")
            text = f'`set_python_module("{before.python_module}")` covers it no more{reason}'
            yield RegistrationDifference(kind, shown, text)
        changes: dict[tuple[str, str, str], dict[str, str]] = {}
        for key in dict.fromkeys((*old_table, *new_table)):
            old_answer, new_answer = old_table.get(key, ""), new_table.get(key, "")
            if old_answer != new_answer:
                kind, reason = self._explained(operator, key, old_answer, new_answer)
                changes.setdefault((kind, _shown(new_answer), reason), {})[key] = _shown(old_answer)
        for (kind, now, reason), was in changes.items():
            more = len(was) - _SHOWN_KEYS
            keys = f"{', '.join([*was][:_SHOWN_KEYS])}{f' and {more} more keys' if more > 0 else ''}"
            answered = " or ".join(dict.fromkeys(was.values()))
            yield RegistrationDifference(kind, shown, f"{answered} answers for {keys}, and now {now}{reason}")

    def _explained(
        self, operator: OperatorKey, key: str, old: Registered | str, new: Registered | str
    ) -> tuple[str, str]:
        """Whether an answer of the dispatcher that differs is lost, added or intended, and more about the reason."""
        if isinstance(new, str):
            # What `custom_op` registers in place of a fake only raises.
            if isinstance(old, Registered) and old.does == _CUSTOM_OP and key == META.name:
                return "intended", ": both raise"
            is_generated = bool(self.after.kernels.get(operator))
            return "lost", "" if is_generated else "; `--by-hand` reads the source that is to register it"
        if not new.does:
            return ("added" if isinstance(old, str) else "lost"), ""
        if isinstance(old, Registered) and old.does == _CUSTOM_OP:
            return "intended", ""
        if new.does == _RAISES:
            if isinstance(old, Registered) and operator in self.explanations.raising:
                return "intended", ", as its class does"
            recording = self.explanations.recording.get(operator) if isinstance(old, str) else None
            is_lost = isinstance(old, Registered) or recording is not None
            return ("lost" if is_lost else "intended"), f"; {recording}" if recording else ""
        if isinstance(old, str):
            return "intended", ""
        if new.does == _GENERATED["Autograd"]:
            missing = self.explanations.gradients.get(operator, frozenset()) - new.arguments
            named = ", ".join([f"`{name}`" for name in sorted(missing)])
            return ("lost", f", but not of {named}") if missing else ("intended", "")
        is_declared = new.does in (_GENERATED[META.name], _GENERATED["Autocast"], _GENERATED["FuncTorchBatched"])
        return ("intended" if is_declared else "lost"), ""


def raises_in_backward(registered: Registered) -> bool:
    """Whether a generated kernel raises in the backward pass, because its operator has no formulas."""
    return registered.does == _RAISES


def _shown(answer: Registered | str) -> str:
    return str(answer) if isinstance(answer, Registered) else answer or "nothing"


def are(number: int, what: str, noun: str = "") -> str:
    """What a number of things are, with the verb that goes with the number.

    >>> are(1, "lost or added", "difference"), are(0, "intended"), are(2_000, "intended")
    ('1 difference is lost or added', '0 are intended', '2,000 are intended')
    """
    shown = counted(number, noun) if noun else f"{number:,}"
    return f"{shown} {'is' if number == 1 else 'are'} {what}"
