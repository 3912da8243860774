"""Rules between entries: the names by which entries refer to each other."""

from __future__ import annotations

from opwright.dialects.native_functions.report import CrossReport
from opwright.model.library import PYTORCH
from opwright.model.native_function import UnlinkedFunction
from opwright.release.operator_names.loading import SET_OPERATORS
from opwright.schema.names import OperatorName
from opwright.source import codes
from opwright.source.diagnostic import Label, did_you_mean


def without_repetitions(functions: list[UnlinkedFunction], report: CrossReport) -> list[UnlinkedFunction]:
    """The functions, each overload once. Reports a second entry for an overload and leaves it out."""
    first: dict[str, UnlinkedFunction] = {}
    unique: list[UnlinkedFunction] = []
    for function in functions:
        text = function.name.text
        earlier = first.setdefault(text, function)
        if earlier is function:
            unique.append(function)
            continue
        report.repeat(function)
        if earlier.namespace == function.namespace:
            also = report.other(earlier, "first entry")
            report.error(codes.OVERLOAD_TWICE, f"second entry for `{text}`", report.name(function), also=also)
        else:
            message = f"`{text}` is in the namespaces `{earlier.namespace}` and `{function.namespace}`"
            also = report.other(earlier, "first entry")
            report.error(codes.TWO_NAMESPACES, message, report.name(function), also=also)
    return unique


def check_names(functions: list[UnlinkedFunction], report: CrossReport) -> None:
    """Reports structured delegates that do not match, and in-place views without their view."""
    _check_delegates(functions, report)
    plain = {(overload.name.base, overload.name.dunder) for overload in functions if _is_plain(overload.name)}
    for function in functions:
        if function.is_view and function.name.inplace and "inplace_view" not in function.tags:
            message = f"`{function.name}` is an in-place view and is not tagged `inplace_view`"
            report.error(codes.INPLACE_VIEW_TAG, message, report.name(function), help="add `tags: inplace_view`")
        if "inplace_view" in function.tags and function.is_view:
            _check_inplace_view(function, plain, report)


def _is_plain(name: OperatorName) -> bool:
    return not name.inplace and not name.functional_overload


def _check_delegates(functions: list[UnlinkedFunction], report: CrossReport) -> None:
    """Reports each structured delegate that is not structured or does not exist, once."""
    delegating: dict[OperatorName, list[UnlinkedFunction]] = {}
    for function in functions:
        delegate = function.structured_delegate
        if delegate is not None and not report.concerns_absent(delegate.base):
            delegating.setdefault(delegate, []).append(function)
    by_name = {function.name: function for function in functions} if delegating else {}
    for delegate, sources in delegating.items():
        target = by_name.get(delegate)
        if target is not None and target.structured:
            continue
        report.faulty_delegates.update(sources)
        at = report.value(sources[0], "structured_delegate")
        also = [
            Label(report.value(other, "structured_delegate"), f"`{other.name}` too", primary=False)
            for other in sources[1:]
        ]
        if target is not None:
            message = f"`{sources[0].name}` delegates to `{delegate}`, which is not `structured: True`"
            report.error(codes.DELEGATE_PLAIN, message, at, also=[*report.other(target, "not structured"), *also])
        else:
            structured = [overload.name.text for overload in functions if overload.structured]
            message = f"`{sources[0].name}` delegates to `{delegate}`, for which there is no entry"
            help = did_you_mean(delegate.text, structured, f"add an entry for `{delegate}` with `structured: True`")
            report.error(codes.DELEGATE_MISSING, message, at, help=help, also=also)


def _check_inplace_view(function: UnlinkedFunction, plain: set[tuple[str, bool]], report: CrossReport) -> None:
    name = function.name
    if function.library is PYTORCH and name.name in SET_OPERATORS.in_any_release:
        return
    if not name.inplace:
        message = f"`{name}` is tagged `inplace_view`, but its name does not end with `_`"
        report.error(codes.INPLACE_VIEW_NAME, message, report.word(function, "tags", "inplace_view"))
    elif (name.base, name.dunder) not in plain and not report.concerns_absent(name.base):
        message = f"in-place view `{name}` has no out-of-place form `{name.base}`"
        report.error(codes.INPLACE_VIEW_ALONE, message, report.name(function))
