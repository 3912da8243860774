"""Compares an original library with its port as they run, each loaded alone in a process of its own."""

from __future__ import annotations

import ast
import contextlib
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, TypeAlias

from opwright.dialects.python_source import PARSE_ERRORS
from opwright.migrate.importing.comparison import (
    IMPLIED_TAGS,
    OperatorKey,
    RegisteredSide,
    RegistrationDifference,
    are,
    raises_in_backward,
)
from opwright.migrate.importing.explained import operator_of_function, shown_names
from opwright.migrate.importing.process import LoadedLibrary, LoadedOperator
from opwright.migrate.importing.pybind import python_names
from opwright.migrate.importing.recorded_calls import CallComparison
from opwright.schema.fault import SchemaFault
from opwright.source.records import NamedTuple
from opwright.source.terminal import counted
from opwright.syntax.dispatcher_schemas import read_written_schema

#: How pybind11 names an argument that has no name.
_UNNAMED: Final = re.compile(r"arg\d+")


_COMPARED: Final = (
    "schemas, tags, alias analyses, the keys that have kernels, which of these are fallthroughs, and fakes, rules and "
    "modules with fakes in Python"
)
#: Arguments as far as they can be read.
_Arguments: TypeAlias = "Sequence[KnownArgument] | None"
_CALLS: Final = "calls: results, written arguments, gradients and errors"
#: How calls were repeated besides.
_WAYS: Final = {
    "gradients": "with gradients",
    "second gradients": "with second gradients",
    "fake": "with fake tensors",
    "compiled": "compiled",
    "vmap": "under `vmap`",
    "autocast": "under autocast",
    "tangents": "in forward mode",
}


class KnownArgument(NamedTuple):
    """An argument: its name, whether it is given by name alone, and its default, None for none or an unknown one.

    A name is empty if nothing says it. A default is the text of its value.
    """

    name: str
    is_keyword: bool
    has_default: bool
    default: str | None

    def differs(self, other: KnownArgument) -> str | None:
        """What another function says otherwise of this argument; None if nothing does."""
        if self.name and self.name != other.name:
            return f"its argument `{self.name}` is `{other.name}` in the port"
        if self.is_keyword != other.is_keyword:
            kinds = ["by name alone" if side.is_keyword else "by position too" for side in (self, other)]
            return f"its argument `{other.name}` is given {kinds[0]}, and {kinds[1]} in the port"
        shown = [_default(side) for side in (self, other)]
        if self.has_default != other.has_default or (None not in shown and shown[0] != shown[1]):
            was, now = (text or "a default" for text in shown)
            return f"its argument `{other.name}` has {was}, and {now} in the port"
        return None


class ProcessComparison(NamedTuple):
    """The differences, how many operators and kernels were compared, and operators whose gradients are not known.

    `uncalled` are those without a call, and `functions` how many functions the modules of the original have. Of
    `unread` functions, not all arguments were compared.
    """

    differences: Sequence[RegistrationDifference]
    operators: int
    kernels: int
    unknown: Sequence[str]
    calls: CallComparison | None = None
    uncalled: Sequence[str] = ()
    functions: int = 0
    unread: int = 0

    def count(self, *kinds: str) -> int:
        """How many differences are of one of these kinds."""
        return sum(difference.kind in kinds for difference in self.differences)

    @property
    def unexplained(self) -> int:
        """How many differences no line of the library file explains."""
        return self.count("lost", "added", "changed")

    @property
    def not_compared(self) -> list[str]:
        """What of functions and of calls was not compared, with counts."""
        rows = [f"names and defaults of arguments of {counted(self.unread, 'function')} of modules"] * bool(self.unread)
        if self.calls is not None:
            rows += [f"{what} ({counted(count, 'call')})" for what, count in self.calls.skipped.items()]
        if self.uncalled:
            rows.append(f"{counted(len(self.uncalled), 'operator')} without a call: {shown_names(self.uncalled)}")
        return rows

    @property
    def summary(self) -> str:
        """What was compared, and what was not."""
        told = are(self.unexplained, "lost, added or changed", "difference")
        told += f", {are(self.count('intended'), 'intended')}"
        if raising := self.count("raises"):
            verb = "raises" if raising == 1 else "raise"
            told += f", and {raising} {verb} in the backward pass where the original warns and gives no gradient"
        operators = f"{counted(self.operators, 'operator')}, {counted(self.kernels, 'kernel')}"
        operators += f", {counted(self.functions, 'function')} of modules" if self.functions else ""
        if self.calls is None:
            return (
                f"compared in two processes: {operators}: {told}; compared are {_COMPARED}; not compared are {_CALLS}"
            )
        ways = ", ".join([f"{count:,} {_WAYS[part]}" for part, count in self.calls.parts.items() if part in _WAYS])
        calls = counted(sum(self.calls.calls.values()), "call")
        return (
            f"compared in two processes: {operators}, {calls}: {told}; compared are {_COMPARED}; and of calls results, "
            f"written arguments, versions, shared memory and errors ({ways or 'nothing else'})"
        )


def compare_processes(
    original: LoadedLibrary, port: LoadedLibrary, generated: RegisteredSide, calls: CallComparison | None = None
) -> ProcessComparison:
    """Compare what two processes have for the namespaces of the original; `generated` is what a library file says.

    `calls` are those that both repeated.
    """
    differences: list[RegistrationDifference] = []
    unknown: list[str] = []
    namespaces = {namespace for namespace, _ in original.operators}
    for operator, old in original.operators.items():
        new = port.operators.get(operator)
        if new is None:
            differences.append(_difference("lost", operator, "the port does not register it"))
            continue
        differences += _facts(operator, old, new)
        differences += _keys(operator, old, new, generated, unknown)
    added = sorted(port.operators.keys() - original.operators.keys())
    more = [operator for operator in added if operator[0] in namespaces]
    differences += [_difference("added", operator, "the original does not register it") for operator in more]
    differences += _others(original.others, port.others)
    named = {name.partition(".")[0] for _, name in port.operators}
    schemas = {name: port.operators[namespace, name].schema for namespace, name in added}
    unread = 0
    for module, name in original.functions:
        if (module, name) not in port.functions and operator_of_function(name) not in named:
            differences.append(_difference("lost", (f"{module}.{name}",), "the port has neither an operator nor it"))
            continue
        overloads = _overloads((module, name), original, port, schemas)
        for was, now in overloads:
            facts = _differing_arguments(was, now) if was is not None and now is not None else ()
            differences += [_difference("changed", (f"{module}.{name}",), fact) for fact in facts]
        unread += not overloads or any(None in pair for pair in overloads)
    for kind, side, other in (("lost", original, port), ("added", port, original)):
        for schema in sorted({*side.scripted} - {*other.scripted}):
            differences.append(_difference(kind, (schema.partition("(")[0],), f"`{schema}` of TorchScript"))
    kernels = sum(len(old.kernels) for old in original.operators.values())
    names = ["::".join(operator) for operator in original.operators]
    names += [f"{module}.{name}" for module, name in original.functions]
    uncalled: list[str] = []
    if calls is not None:
        differences += calls.differences
        uncalled = [name for name in names if name not in calls.calls]
        # Calls show whether gradients are recorded.
        unknown = [name for name in unknown if name in uncalled]
    counts = len(original.operators), kernels
    return ProcessComparison(differences, *counts, unknown, calls, uncalled, len(original.functions), unread)


def _difference(kind: str, operator: Sequence[str], text: str) -> RegistrationDifference:
    return RegistrationDifference(kind, "::".join(operator), text)


def _facts(operator: OperatorKey, old: LoadedOperator, new: LoadedOperator) -> Iterator[RegistrationDifference]:
    for what, before, after in (
        ("schema", old.schema, new.schema),
        ("tags", ", ".join(sorted(old.tags - IMPLIED_TAGS)), ", ".join(sorted(new.tags - IMPLIED_TAGS))),
        ("alias analysis", old.alias_analysis, new.alias_analysis),
    ):
        if before != after:
            text = f"its {what}: `{before}` in the original, and `{after}` in the port"
            yield _difference("changed", operator, text)
    for kind, side, other in (("lost", old, new), ("added", new, old)):
        for fact in side.in_python:
            if fact not in other.in_python:
                yield _difference(kind, operator, f"{fact} in Python")


def _overloads(
    function: tuple[str, str], original: LoadedLibrary, port: LoadedLibrary, schemas: Mapping[str, str]
) -> list[tuple[_Arguments, _Arguments]]:
    """The arguments of a function's overloads, each with those of the port's, or of the operator in its place."""
    operator = operator_of_function(function[1])
    offered = port.signatures.get(function, ())
    pairs: list[tuple[_Arguments, _Arguments]] = []
    for number, text in enumerate(original.signatures.get(function, ()), 1):
        now: _Arguments = None
        if function not in port.functions:
            schema = schemas.get(operator if number == 1 else f"{operator}.overload{number}")
            now = arguments_of_schema(schema) if schema is not None else None
        elif number <= len(offered):
            now = arguments_of_signature(offered[number - 1])
        pairs.append((arguments_of_signature(text), now))
    return pairs


def _differing_arguments(was: Sequence[KnownArgument], now: Sequence[KnownArgument]) -> Iterator[str]:
    if len(was) != len(now):
        yield f"it takes {counted(len(was), 'argument')}, and the port takes {len(now)}"
        return
    yield from filter(None, map(KnownArgument.differs, was, now))


def _keys(
    operator: OperatorKey, old: LoadedOperator, new: LoadedOperator, generated: RegisteredSide, unknown: list[str]
) -> Iterator[RegistrationDifference]:
    """The keys whose kernels differ. What the library file says is intended; what only raises is not known to be."""
    generated_kernels = generated.kernels.get(operator, {})
    for key in dict.fromkeys((*old.kernels, *new.kernels)):
        before, after = old.kernels.get(key), new.kernels.get(key)
        does = generated_kernels[key] if key in generated_kernels and generated_kernels[key].does else None
        if after is None:
            yield _difference("lost", operator, f"its kernel for {key}")
        elif before is None and does is not None and raises_in_backward(does):
            unknown.append("::".join(operator))
        elif before is None:
            reason = f", {does}, as the library file says" if does is not None else ""
            kind = "intended" if does is not None else "added"
            yield _difference(kind, operator, f"its kernel for {key}{reason}")
        elif (before == "fallthrough") != (after == "fallthrough"):
            names = ["a fallthrough" if kind == "fallthrough" else "a kernel" for kind in (before, after)]
            yield _difference("changed", operator, f"{names[0]} for {key} is {names[1]} in the port")
        elif does is not None and raises_in_backward(does):
            yield _difference("changed", operator, f"its kernel for {key} is {does}")


def _others(old: Mapping[str, Sequence[str]], new: Mapping[str, Sequence[str]]) -> Iterator[RegistrationDifference]:
    """Kernels for operators of other libraries: only one side registers them."""
    for key in dict.fromkeys((*old, *new)):
        for kind, side, other in (("lost", old, new), ("added", new, old)):
            elsewhere = set(other.get(key, ()))
            for name in side.get(key, ()):
                if name not in elsewhere:
                    yield RegistrationDifference(kind, name, f"a kernel for {key} of an operator of another library")


def _default(argument: KnownArgument) -> str | None:
    if not argument.has_default:
        return "no default"
    return None if argument.default is None else f"the default `{argument.default}`"


def arguments_of_signature(text: str) -> list[KnownArgument] | None:
    """The arguments in the first line of a function's text; None if that is no signature.

    >>> [tuple(row) for row in arguments_of_signature("f(x: torch.Tensor, *, by: float = 1.0) -> None")]
    [('x', False, False, None), ('by', True, True, '1')]
    >>> arguments_of_signature("f(x: a::B)") is None
    True
    """
    # The value of an object has a form that Python does not read.
    text = re.sub(r"= <[^<>]*>", "= ...", text)
    try:
        (function,) = ast.parse(f"def {text}: ...").body
    except PARSE_ERRORS:
        return None
    if not isinstance(function, ast.FunctionDef) or function.args.vararg or function.args.kwarg:
        return None
    given = function.args
    positional = [*given.posonlyargs, *given.args]
    defaults: list[ast.expr | None] = [*[None] * (len(positional) - len(given.defaults)), *given.defaults]
    rows = [*zip(positional, defaults, strict=True), *zip(given.kwonlyargs, given.kw_defaults, strict=True)]
    names = python_names([argument.arg for argument, _ in rows])
    arguments = []
    for number, (name, (_, default)) in enumerate(zip(names, rows, strict=True)):
        value = None
        # A default that is no constant of Python has no value.
        with contextlib.suppress(*PARSE_ERRORS, TypeError):
            value = _text(ast.literal_eval(default)) if default is not None else None
        name = "" if _UNNAMED.fullmatch(name) else name
        arguments.append(KnownArgument(name, number >= len(positional), default is not None, value))
    return arguments


def arguments_of_schema(text: str) -> list[KnownArgument] | None:
    """The arguments of an operator; None if the schema cannot be read.

    >>> [tuple(row) for row in arguments_of_schema("f(Tensor x, *, float by=1., int[] n=[1]) -> ()")]
    [('x', False, False, None), ('by', True, True, '1'), ('n', True, True, '[1]')]
    """
    try:
        arguments = read_written_schema(text).arguments
    except SchemaFault:
        return None
    rows = []
    for number, argument in enumerate(arguments.all):
        value = argument.default_value
        # What has a name of its own, such as `Mean`, is no value of Python.
        default = _text(value) if value is not None or argument.default == "None" else None
        is_keyword = number >= len(arguments.positional)
        rows.append(KnownArgument(argument.name, is_keyword, argument.default is not None, default))
    return rows


def _text(value: object) -> str | None:
    """A value as text, the same for a number of C++ and of Python, whatever the width of the C++ one."""
    if isinstance(value, (list, tuple)):
        texts = [_text(part) for part in value]
        return None if None in texts else f"[{', '.join(map(str, texts))}]"
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return f"{value:.7g}"
    return repr(value) if value is None or isinstance(value, (bool, str)) else None
