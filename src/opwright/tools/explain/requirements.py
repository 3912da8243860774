"""What an operator needs of its arguments, in sentences: what `dims`, `dtypes`, `layout` and `requires` say."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from opwright.libraries.emit.python.output_text import described_expression
from opwright.model.native_function import NativeFunction
from opwright.model.requirements import Requirement, ValueCondition, index_name
from opwright.tools.explain.records import RequirementsRecord, SizesRecord

#: What refused calls are told before what has to be: `x` has rank 2, and has to have rank 1.
_IS: Final = re.compile(r" (?:has|are|is) (?!to ).*?, and (?=(?:has|have) to )")
_IS_NOT: Final = re.compile(r" is not (.*), and has to be$")


def requirements_record(function: NativeFunction) -> RequirementsRecord | None:
    """What an overload needs, of which nothing is said if its entry says nothing."""
    requirements, reference = function.requirements, function.library_fields.reference
    if requirements is None and reference is None:
        return None
    sizes = [] if requirements is None else [SizesRecord(name, dims.text) for name, dims in requirements.dims]
    conditions: list[str] = []
    if requirements is not None:
        names = [result.name for result in function.schema.returns]
        results = [name or (f"result{index}" if len(names) > 1 else "return") for index, name in enumerate(names)]
        patterns = zip(results, requirements.results, strict=False)
        sizes += [SizesRecord(name, dims.text) for name, dims in patterns if dims is not None]
        conditions += [required_text(requirement) for requirement in requirements.checks]
        conditions += [
            f"the kernel gets a copy of `{argument.name}` if it is not {words[1]}"
            for argument in requirements.copied
            if (words := _IS_NOT.search(str(argument.refusal.message[-1]))) is not None
        ]
        conditions += [_value_text(value) for value in requirements.values]
        conditions += _sums(function, results)
    return RequirementsRecord(tuple(sizes), tuple(conditions), "" if reference is None else reference.path)


def _value_text(value: ValueCondition) -> str:
    """What is said of the values of a tensor."""
    name = f"each of `{value.name}`" if value.each else f"`{value.name}`"
    if value.condition is None:
        return f"the values of {name} have to be {value.written}"
    return f"the values of {name} fulfil `{value.written}`"


def _sums(function: NativeFunction, results: list[str]) -> Iterator[str]:
    requirements = function.requirements
    assert requirements is not None
    if requirements.linear:
        names = ", ".join([f"`{name}`" for name in requirements.linear])
        yield f"the results are linear in {names}{', taken together' if len(requirements.linear) > 1 else ''}"
    for name, is_sum in zip(results, requirements.sums, strict=False):
        if is_sum:
            yield f"`{name}` is a sum over the dimensions that are computed one by one"


def required_text(requirement: Requirement) -> str:
    """What has to hold, from the message for calls for which it does not.

    Expressions stand for the values that messages show.
    """
    parts = requirement.message
    # Conditions of the author's are followed by the values of what they name.
    has_values = len(parts) > 1 and str(parts[1]).startswith((", and `", " and `"))
    shown = parts[:1] if has_values else parts
    texts = [part if isinstance(part, str) else described_expression(part) for part in shown]
    text = _IS_NOT.sub(r" has to be \1", _IS.sub(" ", "".join(texts), count=1))
    if requirement.each:
        text = text.replace(f"`{requirement.each}[{index_name(requirement.each)}]`", f"each of `{requirement.each}`")
    names = [f"`{argument.text}`" for argument in requirement.given]
    given = f", if {' and '.join(names)} {'is' if len(names) == 1 else 'are'} given" if names else ""
    condition = requirement.written
    return f"{text}{f': `{condition}`' if condition and f'`{condition}`' not in text else ''}{given}"
