"""What differs between the contracts of two forms of an operator: the calls that they take, and what these give.

Conditions are compared as sets of calls. A form whose conditions are among those of the other takes all calls that the
other takes, and so does one whose conditions each follow from one of the other. What this does not decide, drawn calls
do, and the report says so.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Final, TypeAlias, TypeVar

from opwright.libraries.declared_outputs import OutputExpression, OutputOperation, dtype_codes
from opwright.libraries.emit.python.output_text import described_expression
from opwright.libraries.entry_fields import library_fields, requirements_of
from opwright.libraries.requirements import Requirement, Requirements, ValueCondition
from opwright.model.native_function import NativeFunction
from opwright.source.records import NamedTuple
from opwright.tools.diff.calls import CallJudge, Drawing, DrawnCall, NotJudged, shown_call
from opwright.tools.diff.records import Audience, Level, Reason

#: Whom a call breaks that is no longer taken, or gives something else.
_CALLERS: Final = frozenset((Audience.python, Audience.cpp, Audience.serialized))

#: How many calls are drawn for a pair of forms, and the fewest of those that both judged which say something.
_DRAWN: Final = 2000
_FEWEST: Final = 20

#: A message about a call that is refused: what it is about, what that has, and what it has to have.
_MESSAGE: Final = re.compile(r"(.*?) (?:has|have|is|are) .*, and (ha(?:s|ve) to .+)", re.DOTALL)
_LAYOUT: Final = re.compile(r"(.*) is not (.*), and has to be", re.DOTALL)

_Judgement = TypeVar("_Judgement")
_Set: TypeAlias = "dict[tuple[object, ...], Requirement]"


class _Evidence(NamedTuple):
    """What drawn calls show: a call that is no longer taken, and one that is taken now.

    Both forms judged so many, of which the old one took so many.
    """

    lost: str
    gained: str
    judged: int
    taken: int


def contract_reasons(old: NativeFunction, new: NativeFunction) -> Iterator[Reason]:
    """What differs between the calls that two forms take, and between the results that they declare.

    Their arguments have the same names: what differs in schemas, others say.
    """
    before, after = _checks(old), _checks(new)
    lost = [check for key, check in after.items() if key not in before and not _follows(key, before)]
    gained = [check for key, check in before.items() if key not in after and not _follows(key, after)]
    if lost or gained:
        yield from _condition_reasons(old, new, lost, gained)
    yield from _value_reasons(old, new)
    yield from _output_reasons(old, new)


def _value_reasons(old: NativeFunction, new: NativeFunction) -> Iterator[Reason]:
    """What differs between the values that tensors may have, by what the entries say: drawn calls have no values."""
    before, after = _values(old), _values(new)
    for value in after:
        if not any(_says(earlier, value) for earlier in before):
            yield Reason(f"it needs values of `{value.name}`: `{value.written}`", _CALLERS)
    for value in before:
        if not any(_says(later, value) for later in after):
            yield Reason(f"it no longer needs values of `{value.name}`: `{value.written}`", level=Level.minor)


def _values(function: NativeFunction) -> tuple[ValueCondition, ...]:
    return (requirements_of(function) or Requirements()).values


def _says(first: ValueCondition, second: ValueCondition) -> bool:
    """Whether what one says of values says what another one does too."""
    if (first.name, first.each, first.given, first.places) != (second.name, second.each, second.given, second.places):
        return False
    if first.condition is None or second.condition is None:
        is_stricter = (first.written, second.written) == ("increasing", "ascending")
        return first.condition is second.condition and (first.written == second.written or is_stricter)
    return _implies(first.condition, second.condition)


def _checks(function: NativeFunction) -> _Set:
    checks = (requirements_of(function) or Requirements()).checks
    return {(check.condition, check.given, check.each): check for check in checks}


def _follows(key: tuple[object, ...], others: _Set) -> bool:
    """Whether a condition follows from one of others, about the same arguments."""
    condition, given, each = key
    assert isinstance(condition, OutputExpression)
    return any(
        other_given == given and other_each == each and _implies(other, condition)
        for other, other_given, other_each in others
        if isinstance(other, OutputExpression)
    )


#: The operation -> the operations whose comparison with the same number follows from it.
_STRICT: Final = {
    OutputOperation.less: (OutputOperation.less, OutputOperation.less_equal),
    OutputOperation.less_equal: (OutputOperation.less_equal,),
    OutputOperation.greater: (OutputOperation.greater, OutputOperation.greater_equal),
    OutputOperation.greater_equal: (OutputOperation.greater_equal,),
}


def _implies(first: OutputExpression, second: OutputExpression) -> bool:
    """Whether a condition holds wherever another one does, by its form."""
    if first == second:
        return True
    if first.operation is OutputOperation.both:
        return any(operand is not None and _implies(operand, second) for operand in first.operands)
    if second.operation is OutputOperation.both:
        return all(operand is not None and _implies(first, operand) for operand in second.operands)
    if second.operation is OutputOperation.either:
        return any(operand is not None and _implies(first, operand) for operand in second.operands)
    if first.operands[:1] != second.operands[:1]:
        return False
    if first.operation is second.operation is OutputOperation.dtype_in:
        return set(dtype_codes(first.text)) <= set(dtype_codes(second.text))
    if first.operation is second.operation is OutputOperation.text_in:
        return set(first.text.splitlines()) <= set(second.text.splitlines())
    limits = [_number(each) for each in (first, second)]
    if first.operation not in _STRICT or second.operation not in _STRICT or None in limits:
        return False
    mine, other = (limit for limit in limits if limit is not None)
    is_upper = OutputOperation.less_equal in _STRICT[first.operation]
    if is_upper != (OutputOperation.less_equal in _STRICT[second.operation]):
        return False
    if mine == other:
        return second.operation in _STRICT[first.operation]
    return mine < other if is_upper else mine > other


def _number(expression: OutputExpression) -> float | None:
    """The number with which a condition compares something, if it is one."""
    right = expression.operands[-1] if len(expression.operands) == 2 else None
    if right is None or right.operation is not OutputOperation.literal or right.text in ("true", "false", ""):
        return None
    return float(right.text)


def _condition_reasons(
    old: NativeFunction, new: NativeFunction, lost: Sequence[Requirement], gained: Sequence[Requirement]
) -> Iterator[Reason]:
    evidence = _drawn(old, new, seeks=(bool(lost), bool(gained)))
    texts = [", ".join(map(_text, checks)) for checks in (lost, gained)]
    if lost:
        says = f"it needs: {texts[0]}"
        if evidence is not None and evidence.lost:
            yield Reason(f"{says}; it no longer takes {evidence.lost}", _CALLERS)
        elif evidence is None or evidence.taken < _FEWEST or (not gained and _is_stricter(lost, old)):
            # A condition more, which nothing before says: drawn calls are no proof that it is idle.
            yield Reason(f"{says}; no drawn call shows it", _CALLERS)
        else:
            told = f"no call of {evidence.taken} that were taken, of {evidence.judged} drawn ones, is refused"
            yield Reason(f"{says}; {told}", level=Level.minor)
    if gained and not (evidence is not None and evidence.lost and not evidence.gained):
        shown = f"; it takes {evidence.gained}" if evidence is not None and evidence.gained else ""
        yield Reason(f"it no longer needs: {texts[1]}{shown}", level=Level.minor)


def _is_stricter(checks: Sequence[Requirement], old: NativeFunction) -> bool:
    """Whether a condition is about arguments that the old form has. Of others its calls have the defaults."""
    names = {argument.name for argument in old.arguments.all}
    return any(check.arguments() <= names for check in checks)


def _text(check: Requirement) -> str:
    """What a condition asks for: its own text, or that of the message without the values of a call."""
    if check.written:
        return f"`{check.written}`"
    parts = [part if isinstance(part, str) else f"`{described_expression(part)}`" for part in check.message]
    message = "".join(parts)
    layout = _LAYOUT.fullmatch(message)
    if layout is not None:
        return f"{layout[1]} has to be {layout[2]}"
    needed = _MESSAGE.fullmatch(message)
    return f"`{described_expression(check.condition)}`" if needed is None else f"{needed[1]} {needed[2]}"


def _drawn(old: NativeFunction, new: NativeFunction, seeks: tuple[bool, bool]) -> _Evidence | None:
    """What drawn calls show of those that are lost, and of those that are gained; None if they show nothing."""
    lost = gained = ""
    judged = taken = 0
    for call, (before, after) in _judged_calls(old, new, CallJudge.refusal):
        judged += 1
        taken += before is None
        if before is None and after is not None and not lost:
            lost = shown_call(call)
        if before is not None and after is None and not gained:
            gained = shown_call(call)
        if all(shown or not is_sought for shown, is_sought in zip((lost, gained), seeks, strict=True)):
            break
    return _Evidence(lost, gained, judged, taken) if taken or gained else None


def _judged_calls(
    old: NativeFunction, new: NativeFunction, judge: Callable[[CallJudge, DrawnCall], _Judgement]
) -> Iterator[tuple[DrawnCall, tuple[_Judgement, _Judgement]]]:
    """Drawn calls with the arguments of both forms, and what is said of each; the rest has its defaults.

    Those are left out of which nothing can be said.
    """
    names = {argument.name for argument in old.arguments.all} & {argument.name for argument in new.arguments.all}
    forms = [
        (CallJudge(form), [(argument.name, argument.default_value) for argument in form.arguments.all])
        for form in (old, new)
    ]
    for drawn in Drawing((old, new)).calls(_DRAWN):
        call = {name: value for name, value in drawn.items() if name in names}
        try:
            before, after = (
                judge(each, {name: call.get(name, default) for name, default in defaults}) for each, defaults in forms
            )
        except NotJudged:
            continue
        yield call, (before, after)


def _output_reasons(old: NativeFunction, new: NativeFunction) -> Iterator[Reason]:
    before, after = library_fields(old).outputs, library_fields(new).outputs
    if bool(before) != bool(after):
        if before:
            text = "it no longer says what it returns, so that traces cannot run it"
            yield Reason(text, frozenset((Audience.python,)))
        else:
            text = "it says what it returns, so that traces can run it; what it returned before is not known"
            yield Reason(text, level=Level.minor)
        return
    facts = [[(output.size, output.dtype, output.device) for output in outputs] for outputs in (before, after)]
    if facts[0] == facts[1]:
        return
    compared = 0
    for call, (first, second) in _judged_calls(
        old, new, lambda judge, call: None if judge.refusal(call) else judge.results(call)
    ):
        if first is None or second is None:
            continue
        compared += 1
        texts = [", ".join(map(str, results)) for results in (first, second)]
        if texts[0] != texts[1]:
            yield Reason(f"{shown_call(call)} gives {texts[1]} instead of {texts[0]}", _CALLERS)
            return
    if compared < _FEWEST:
        yield Reason("its declared results differ by their text; no drawn call shows it", _CALLERS)
    else:
        yield Reason(f"its declared results have another text, and are the same in {compared} drawn calls")
