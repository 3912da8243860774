"""Drafts of a derivative file, from the autograd classes that kernels apply, and from calls of functions without any.

A kernel for Autograd that applies a class is what a derivative says: with a formula, nothing of it is needed. Where the
class has no formulas, or the kernel is that of all devices, the draft is a comment, and the class stays.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Final

from opwright.migrate.importing.autograd_classes import AppliedClass, AutogradClass
from opwright.migrate.importing.autograd_gradients import Gradients, gradients_of
from opwright.migrate.importing.operators import is_apart
from opwright.migrate.importing.registration import RegistrationStatement, SourcePlace
from opwright.model.dispatch_key import META
from opwright.schema.fault import SchemaFault
from opwright.source.records import NamedTuple
from opwright.syntax.cpp_functions import CppFunction
from opwright.syntax.cpp_source import CPP_HEADERS
from opwright.syntax.dispatcher_schemas import read_written_schema
from opwright.workspace.yaml_scalar import comment, scalar

#: Names of PyTorch that classes write in several ways.
_TENSOR: Final = re.compile(r"(?<![\w:.])(?:(?:torch|at)::)?(?:autograd::)?(?:Tensor|Variable)\b(?!::)")
_OF_TORCH: Final = re.compile(r"(?<![\w:])torch::(?=k[A-Z]\w+\b|\w+\()")
#: Nodes save sizes as symbolic integers; this makes integers of them.
_SIZES: Final = re.compile(r"((?:\bgrads\[\d+\]|\b\w+)\.)(size|stride)(?:s\(\)|\((-?\w+)\))")
_CALLED: Final = re.compile(r"(?<![\w.>:])((?:\w+::)*\w+)\(")
_SHARED: Final = "its kernel serves all devices; with kernels for devices, these formulas take the place of the class"
_BY_HAND: Final = "the kernels of the operator stay by hand"
_DOES_MORE: Final = "forward does more than to call the operator's kernel with its arguments"


class DraftedDerivatives(NamedTuple):
    """The text of a derivative file, what it makes needless, and the functions that its formulas call.

    `taken` are statements, which register kernels for Autograd; `deletable` are the functions and classes of these.
    `gradients` are the arguments with formulas, by the namespace and the name of the operator, none for results without
    gradients, and `raising` the operators whose classes only raise in the backward pass.
    """

    text: str = ""
    taken: Sequence[RegistrationStatement] = ()
    deletable: Sequence[SourcePlace] = ()
    called: frozenset[str] = frozenset()
    gradients: Mapping[tuple[str, str], frozenset[str]] = MappingProxyType({})
    raising: frozenset[tuple[str, str]] = frozenset()


def draft_derivatives(
    statements: Sequence[RegistrationStatement],
    classes: Iterable[tuple[AppliedClass, AutogradClass]],
    by_hand: Collection[tuple[str, str]] = (),
) -> DraftedDerivatives:
    """Derivatives of operators whose kernels apply classes, or that lose gradients, but for those `by_hand`."""
    schemas = {row.operator: row.schema for row in statements if row.schema}
    applied: dict[str, list[tuple[AppliedClass, AutogradClass]]] = {}
    for function, given in classes:
        name = "::".join([*filter(None, function.scope), function.function])
        applied.setdefault(name, []).append((function, given))
    entries: list[str] = []
    taken: list[RegistrationStatement] = []
    deletable: list[SourcePlace] = []
    called: set[str] = set()
    arguments: dict[tuple[str, str], frozenset[str]] = {}
    raising: set[tuple[str, str]] = set()
    for row in statements:
        schema = schemas.get(row.operator, "")
        if row.loses and schema and row.operator not in by_hand:
            parsed = read_written_schema(schema)
            if parsed.returns and not any(argument.is_write for argument in parsed.arguments.all):
                none = Gradients({}, (False,) * len(parsed.returns))
                entries += [comment(f"{row.place}: {row.loses}"), *_entry(f"{row.namespace}::{schema}", none)]
                arguments[row.operator] = frozenset()
        same = applied.get(row.kernel, []) if row.keys and row.kernel else []
        same = [pair for pair in same if pair[0].place.path == row.place.path] or same
        if len(same) != 1 or not schema:
            continue
        ((function, given),) = same
        own_key = all(key.startswith("Autograd") for key in row.keys)
        gradients = _renamed(function, given, schema)
        kernels = [
            other.kernel
            for other in statements
            if other.operator == row.operator and other.keys and not other.records
            if not all(key.startswith(("Autograd", "Autocast", META.name)) for key in other.keys)
        ]
        shared = f"the kernel for {', '.join(row.keys)} applies it" if is_apart(row.keys) else _SHARED
        reason = gradients.reason or ("" if own_key else shared)
        if not reason and (row.operator in by_hand or not any(kernels)):
            reason = _BY_HAND
        if not reason and not _is_call(gradients.forward, given, row, schema, kernels):
            reason = _DOES_MORE
        lines = _entry(f"{row.namespace}::{schema}", gradients) if gradients.formulas else []
        if reason:
            head = f"{given.place}: `{given.name}` of `{row.name}` stays by hand: {reason}"
            entries += [comment(head), *[f"# {line}" for line in lines]]
            continue
        raises = ", whose backward only raises, as that of an operator without formulas does"
        entries += [comment(f"{given.place}: from `{given.name}`{raises if gradients.only_raises else ''}"), *lines]
        taken.append(row)
        raising.update([row.operator] if gradients.only_raises else [])
        arguments[row.operator] = frozenset([name for names in gradients.formulas for name in names])
        deletable += [given.place, function.place]
        called.update(name for formula in gradients.formulas.values() for name in _CALLED.findall(formula))
    text = "".join([f"{line}\n" for line in entries])
    return DraftedDerivatives(text, taken, deletable, frozenset(called), arguments, frozenset(raising))


def _is_call(call: str, given: AutogradClass, row: RegistrationStatement, schema: str, kernels: Sequence[str]) -> bool:
    """Whether forward only calls the operator: its one kernel, or the dispatcher, with the arguments of the schema."""
    callee, _, handed = call.partition("(")
    names = [argument.name for argument in read_written_schema(schema).arguments.all]
    if handed != f"{', '.join(names)})":
        return False
    operator = f"{row.namespace}::{row.name.partition('.')[0]}"
    is_named = any(token.kind == "text" and operator in token.text for token in given.forward)
    return set(kernels) == {callee} or operator in given.dispatched or is_named


def _renamed(function: AppliedClass, given: AutogradClass, schema: str) -> Gradients:
    """Formulas of a class with the names that the schema gives to what the function hands on."""
    try:
        parsed = read_written_schema(schema)
    except SchemaFault as fault:
        return Gradients({}, (), fault.message)
    types = {argument.name: str(argument.type) for argument in parsed.arguments.all}
    if len(types) != len(function.parameters) or len(function.given) != len(given.parameters):
        return Gradients({}, (), "its parameters are not those of the schema")
    by_parameter = dict(zip(function.parameters, types, strict=True))
    named = {
        parameter: by_parameter.get(text) for parameter, text in zip(given.parameters, function.given, strict=True)
    }
    several = len(parsed.returns) > 1
    results = [
        (f"result{index}" if several else "result")
        if result.name is None
        else result.name + ("_return" if result.name in types else "")
        for index, result in enumerate(parsed.returns)
    ]
    gradients = gradients_of(given, named, results)
    if function.results != len(results) and not gradients.reason:
        gradients = gradients._replace(reason=f"`{function.function}` does more than to apply it")
    if any(named[name] is None for names in gradients.formulas for name in names):
        return gradients._replace(formulas={}, reason="it computes a gradient for what is no argument")
    by_name = {name: argument for name, argument in named.items() if argument is not None}
    cpp_types = dict(zip(given.parameters, given.types, strict=True))
    taken = {argument: (types[argument], cpp_types[name]) for name, argument in by_name.items()}
    formulas = {
        tuple([by_name[name] for name in names]): _as_formula(formula, taken)
        for names, formula in gradients.formulas.items()
    }
    undefined = [by_name[name] for name in gradients.undefined if name in by_name and "Tensor" in types[by_name[name]]]
    return gradients._replace(formulas=formulas, undefined=tuple(undefined))


def _as_formula(text: str, taken: Mapping[str, tuple[str, str]]) -> str:
    """An expression as a formula has it. `taken` are the types of arguments: in the schema, and in `forward`."""
    text = _SIZES.sub(_integers, _OF_TORCH.sub("at::", _TENSOR.sub("at::Tensor", text)))
    for name, (type, cpp) in taken.items():
        word = rf"(?<![\w.:]){name}\b"
        if type == "Tensor?":
            # A node saves an optional tensor as a tensor, which may be undefined.
            text = re.sub(rf"{word}\.has_value\(\)", f"{name}.defined()", text)
            text = re.sub(rf"{word}\.value(?:\(\)|_or\((?:at::Tensor)?(?:\(\)|{{}})\))", name, text)
            text = re.sub(rf"(^|[(,?:={{;] ?)\*{word}", rf"\1{name}", re.sub(rf"{word}->", f"{name}.", text))
        elif type == "SymInt" and "SymInt" not in cpp:
            text = re.sub(word, f"{name}.guard_int(__FILE__, __LINE__)", text)
        elif type.startswith("SymInt[") and "SymInt" not in cpp:
            text = re.sub(word, f"C10_AS_INTARRAYREF_SLOW({name})", text)
    return text


def _integers(match: re.Match[str]) -> str:
    tensor, what, index = match[1], match[2], match[3]
    if index is None or index.isdigit():
        return f"C10_AS_INTARRAYREF_SLOW({tensor}sym_{what}s())" + (f"[{index}]" if index else "")
    return f"{tensor}sym_{what}({index}).guard_int(__FILE__, __LINE__)"


def _entry(schema: str, gradients: Gradients) -> list[str]:
    lines = [f"- name: {scalar(schema)}"]
    if not all(gradients.differentiable):
        lines.append(f"  output_differentiability: [{', '.join(map(str, gradients.differentiable))}]")
    lines += [f"  {scalar(', '.join(names))}: {scalar(formula)}" for names, formula in gradients.formulas.items()]
    return [*lines, *[f"  {scalar(name)}: non_differentiable" for name in gradients.undefined]]


def headers_of(called: Iterable[str], declared: Mapping[str, CppFunction]) -> list[str]:
    """Headers that declare the functions that formulas call."""
    paths = {declared[name].path for name in called if name in declared}
    return sorted([path for path in paths if path.endswith(CPP_HEADERS)])
