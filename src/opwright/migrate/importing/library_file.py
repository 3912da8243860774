"""Writes operators that were read from sources as a library file."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from typing import Final

from opwright.dialects.names import default_kernel_name
from opwright.libraries.dialect.fields import ALIAS_ANALYSES
from opwright.libraries.dialect.loader import public_names
from opwright.libraries.operator_library import BUILD_NAMESPACE
from opwright.migrate.importing.operators import ImportedOperator, ImportedOperators
from opwright.migrate.importing.registration import SourcePlace
from opwright.model.dispatch_key import COMPOSITE_IMPLICIT
from opwright.source.nodes import quoted_scalar
from opwright.source.records import NamedTuple
from opwright.workspace.yaml_scalar import comment, flow_scalar, scalar


class LibraryHead(NamedTuple):
    """What the head of the file says besides what follows from the operators.

    `name` is that of the C++ namespace if the build gives the namespace of the operators. `names` are those that the
    sources declare.
    """

    headers: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    name: str = ""
    derivatives: str = ""
    derivative_headers: tuple[str, ...] = ()
    undeclared: tuple[str, ...] = ()
    names: Collection[str] = ()


#: Stands for the keys of an entry that needs no `dispatch`.
_NONE: Final = " "


#: Stands before what an entry with declared signatures cannot have.
_CHECKED: Final = "the kernels check this; with generated signatures of kernels, the entry can have these fields:"


class _Section(NamedTuple):
    """What entries share: a condition, and the keys of kernels that have the names of their operators."""

    condition: str
    keys: str
    tags: tuple[str, ...]


_NO_SECTION: Final = _Section("", "", ())


def library_text(imported: ImportedOperators, head: LibraryHead) -> str:
    """The text of the file: operators in the order of the sources, but those that share a section together."""
    operators = imported.operators
    namespace = most_common([operator.namespace for operator in operators])
    kernels = [kernel.name for operator in operators for kernel in operator.kernels]
    place = most_common([kernel.rpartition("::")[0] for kernel in kernels])
    lines = [comment(f"From {', '.join(head.sources)}."), f"namespace: {scalar(namespace)}"]
    if namespace == BUILD_NAMESPACE:
        lines[1:] = [f"namespace: {{from: {BUILD_NAMESPACE}}}", f"cpp_namespace: {scalar(head.name)}"]
    elif any(callers(operator) & {*kernels, *head.names} for operator in operators):
        lines.append(f"cpp_namespace: {scalar(f'{namespace}::ops')}")
    if imported.is_stable:
        lines.append("abi: stable")
        if any(operator.tags for operator in operators):
            lines.append('torch: ">=2.12"')
    if kernels:
        lines.append(f"kernel_namespace: {scalar(place or '::')}")
        lines.append("kernel_signatures: declared")
        lines += ["includes:", *[f"- {scalar(header)}" for header in head.headers]]
        lines[-len(head.headers) - 1] += "  # their folders have to be on the include path"
        if head.undeclared:
            told = f"No header declares {', '.join(head.undeclared)}: one of these has to."
            lines += textwrap.wrap(told, 120, initial_indent="# ", subsequent_indent="# ", break_long_words=False)
    if head.derivatives:
        lines.append(f"derivatives: {scalar(head.derivatives)}")
    if head.derivative_headers:
        lines += ["derivative_includes:", *[f"- {scalar(header)}" for header in head.derivative_headers]]
    lines.append("operators:")
    for section, section_text in _sections(operators, place).items():
        entries = [line for operator in section_text for line in _entry(operator, section, namespace, place)]
        lines += _section_lines(section, entries)
    lines += [_comment(where, reason) for where, reason in imported.refused]
    return "\n".join([*lines, ""])


def callers(operator: ImportedOperator) -> set[str]:
    """The functions for callers of an operator, if its C++ namespace has the name of its own."""
    return {f"{operator.namespace}::{name}" for name in public_names(operator.schema)}


def most_common(names: Iterable[str]) -> str:
    """The name that is there most often, the first of several; empty if there is none."""
    counted = Counter(names).most_common(1)
    return counted[0][0] if counted else ""


def _sections(operators: Sequence[ImportedOperator], place: str) -> dict[_Section, list[ImportedOperator]]:
    own = [_Section(operator.condition, _plain_keys(operator, place), operator.tags) for operator in operators]
    counts = Counter(own)
    sections: dict[_Section, list[ImportedOperator]] = {}
    for operator, section in zip(operators, own, strict=True):
        # A section that saves nothing is none.
        saves = section.condition or section.keys.strip() or section.tags
        is_worth = (counts[section] > 2 and saves) or (counts[section] > 1 and section.condition)
        sections.setdefault(section if is_worth else _NO_SECTION, []).append(operator)
    conditions = [*dict.fromkeys(section.condition for section in sections)]
    return {section: sections[section] for section in sorted(sections, key=lambda each: conditions.index(each[0]))}


def _plain_keys(operator: ImportedOperator, place: str) -> str:
    """The keys of an operator whose kernels all have its name, and no condition; empty for others."""
    name = default_kernel_name(operator.schema)
    full = f"{place}::{name}" if place else name
    if any(kernel.name != full or kernel.condition for kernel in operator.kernels):
        return ""
    keys = ", ".join([kernel.key for kernel in operator.kernels])
    # An entry without `dispatch` has such a kernel.
    return _NONE if keys == COMPOSITE_IMPLICIT.name else keys


def _section_lines(section: _Section, entries: list[str]) -> list[str]:
    if section == _NO_SECTION:
        return entries
    fields = [f"if: {scalar(section.condition)}"] if section.condition else []
    fields += [f"dispatch: {section.keys}"] if section.keys.strip() else []
    fields += [_tags(section.tags)] if section.tags else []
    head = [f"- {fields[0]}", *[f"  {field}" for field in fields[1:]], "  operators:"]
    return [*head, *[f"  {line}" for line in entries]]


def _comment(place: SourcePlace, text: str) -> str:
    # What a process says has no place.
    return comment(f"{place}: {text}" if place.first else text)


def _tags(tags: Iterable[str]) -> str:
    return f"tags: [{', '.join(map(flow_scalar, tags))}]"


def _entry(operator: ImportedOperator, section: _Section, namespace: str, place: str) -> list[str]:
    prefix = "" if operator.namespace == namespace else f"{operator.namespace}::"
    lines = [_comment(where, note) for where, note in operator.notes]
    lines.append(f"- func: {scalar(prefix + operator.text)}")
    if operator.condition != section.condition:
        lines.append(f"  if: {scalar(operator.condition)}")
    if operator.tags != section.tags:
        lines.append(f"  {_tags(operator.tags)}")
    if operator.alias_analysis in ALIAS_ANALYSES:
        lines.append(f"  alias_analysis: {operator.alias_analysis}")
    if operator.outputs:
        lines.append(f"  outputs: {scalar(operator.outputs)}")
    if operator.autocast:
        policies = [f"{flow_scalar(device)}: {flow_scalar(policy)}" for device, policy in operator.autocast]
        lines.append(f"  autocast: {{{', '.join(policies)}}}")
    keys = _plain_keys(operator, place)
    if operator.by_hand:
        lines.append("  manual_kernel_registration: True")
    elif not operator.kernels:
        lines.append("  dispatch: {}  # no kernel in the sources")
    elif not keys or (keys != section.keys and keys == _NONE and section.keys):
        kernels = [f"{kernel.key}: {_kernel(kernel.name, kernel.condition, place)}" for kernel in operator.kernels]
        lines.append(f"  dispatch: {{{', '.join(kernels)}}}")
    elif keys not in (section.keys, _NONE):
        lines.append(f"  dispatch: {keys}")
    if operator.requirements:
        lines.append(f"  # {_CHECKED}")
        lines += [f"  # {line}" for line in operator.requirements]
    return lines


def _kernel(name: str, condition: str, place: str) -> str:
    namespace, _, plain = name.rpartition("::")
    shown = flow_scalar(plain if namespace == place else name if namespace else f"::{name}")
    return f"{{kernel: {shown}, if: {quoted_scalar(condition)}}}" if condition else shown
