"""Rules between entries: within a group of overloads, and for the names by which entries refer to each other."""

from __future__ import annotations

from collections.abc import Sequence

from opwright.dialects.native_functions.entry_builder import dispatch_key_span, item_span, kernel_span, value_span
from opwright.dialects.native_functions.operations import Operation
from opwright.dialects.native_functions.report import CrossReport
from opwright.dialects.native_functions.variants import is_set_operator
from opwright.dialects.nearest import first_difference, nearest_overload
from opwright.model.dispatch_key import COMPOSITE_IMPLICIT, COMPOSITE_IMPLICIT_NESTED
from opwright.model.library import PYTORCH
from opwright.model.native_function import Kernel, NativeFunctionsGroup, UnlinkedFunction, ViewGroup
from opwright.schema.function import SchemaKind
from opwright.schema.names import OperatorName
from opwright.schema.signature import signature_key
from opwright.source import codes
from opwright.source.diagnostic import Label, did_you_mean

_GENERATED = "generated"


def check_ungrouped(operation: Operation, report: CrossReport) -> None:
    """Reports each rule that is broken by an operation whose overloads form no group."""
    members = operation.members
    for function in members.values():
        _check_kernel_namespaces(function, report)
        if function.autogen and not operation.is_left_alone:
            _check_autogen([function], report)
    if len(members) > 1:
        _check_forms(members, report)


def _check_forms(members: dict[SchemaKind, UnlinkedFunction], report: CrossReport) -> None:
    """Checks that several overloads include a functional one and none with scratch space."""
    first = next(iter(members.values()))
    scratch = members.get(SchemaKind.scratch)
    if scratch is not None:
        message = f"`{scratch.name}` has `_scratch_` arguments and other overloads of its signature"
        report.error(codes.SCRATCH_GROUP, message, report.name(scratch))
    elif (
        first.library.keeps_conventions
        and SchemaKind.functional not in members
        and not report.concerns_absent(first.name.base)
    ):
        _reports_misfit(list(members.values()), report, "add one of the same signature")


def _reports_misfit(members: list[UnlinkedFunction], report: CrossReport, otherwise: str = "") -> bool:
    """Reports the overload that was probably meant as the functional form of `members`, if there is one."""
    shown = ", ".join(f"`{member.name}`" for member in members)
    nearest = [nearest_overload(member, report.index, _is_functional) for member in members]
    differences = [near for near in nearest if near is not None]
    near = min(differences, key=lambda difference: difference.edits, default=None)
    # The members agree with each other, so the diagnostic points at the one that differs.
    misfit = None if near is None else near.reversed
    message = f"no functional overload beside {shown}"
    return report.report_alone(codes.NO_FUNCTIONAL, message, members[0], misfit, otherwise)


def _is_functional(function: UnlinkedFunction) -> bool:
    return function.kind is SchemaKind.functional


def check_group(group: NativeFunctionsGroup, report: CrossReport) -> None:
    """Reports each rule that a group breaks."""
    if report.concerns_absent(group.functional.name.base):
        return
    members = group.functions()
    functional = group.functional
    is_asked = (
        not functional.is_synthesized
        or "generated" not in functional.tags
        or any(functional.name in function.autogen for function in members)
    )
    if not is_asked and _reports_misfit([function for function in members if not function.is_synthesized], report):
        return
    for member in members:
        if member.namespace != group.functional.namespace:
            message = f"`{member.name}` is in namespace `{member.namespace}`, `{group.functional.name}` in another"
            also = report.other(group.functional, f"in `{group.functional.namespace}`")
            report.error(codes.GROUP_NAMESPACE, message, report.name(member), also=also)
        if member.in_structured_group != group.structured:
            _report_mixture(member, group, report)
    if group.mutable is not None and not group.functional.name.functional_overload:
        message = f"the functional overload beside mutable `{group.mutable.name}` is not named `..._functional`"
        also = report.other(group.mutable, "the mutable one")
        report.error(codes.FUNCTIONAL_NAME, message, report.name(group.functional), also=also)
    if any(result.annotation is not None for result in functional.schema.returns):
        written = group.inplace or group.mutable or group.out
        message = f"`{functional.name}` returns a view, and `{written.name}` of the same signature writes"
        also = report.other(written, "the one that writes")
        report.error(codes.FUNCTIONAL_ALIASES, message, report.name(functional), also=also)
    if group.structured:
        _check_structured(group, report)
    _check_kernel_namespaces(group.out, report)
    _check_autogen(members, report)


def _report_mixture(function: UnlinkedFunction, group: NativeFunctionsGroup, report: CrossReport) -> None:
    if group.structured:
        message = f"`{function.name}` does not delegate to structured `{group.out.name}`"
        at, also = report.name(function), report.other(group.out, "structured")
        report.error(codes.STRUCTURED_MIX, message, at, help=f"add `structured_delegate: {group.out.name}`", also=also)
    else:
        _check_delegate(function, group.out, report)


def _check_structured(group: NativeFunctionsGroup, report: CrossReport) -> None:
    out = group.out
    for key in (COMPOSITE_IMPLICIT, COMPOSITE_IMPLICIT_NESTED):
        if key in out.kernels:
            message = f"structured `{out.name}` has an implicit composite kernel"
            report.error(codes.STRUCTURED_COMPOSITE, message, dispatch_key_span(report.node(out), key.name))
    for function in (group.functional, group.inplace):
        if function is not None:
            _check_delegate(function, out, report)


def _check_delegate(function: UnlinkedFunction, out: UnlinkedFunction, report: CrossReport) -> None:
    delegate = function.structured_delegate
    if delegate is not None and delegate != out.name and function not in report.faulty_delegates:
        message = f"`{function.name}` delegates to `{delegate}`, its out overload is `{out.name}`"
        help = f"write `structured_delegate: {out.name}`"
        report.error(codes.DELEGATE_OTHER, message, value_span(report.node(function), "structured_delegate"), help=help)


def _spelt(kernel: Kernel) -> str:
    """Kernel as PyTorch's entries spell it."""
    if kernel.namespace == PYTORCH.native:
        return kernel.name
    return f"{kernel.namespace.removesuffix('::native')}::{kernel.name}"


def _check_kernel_namespaces(function: UnlinkedFunction, report: CrossReport) -> None:
    """Checks that all kernels of a function have one C++ namespace, in which PyTorch's wrappers of them are.

    Those of other libraries are where the library's functions are.
    """
    if len(function.kernels) < 2 or not function.library.kernels_in_native:
        return
    first, *others = function.kernels.values()
    for kernel in others:
        if kernel.namespace != first.namespace:
            message = f"the kernels of `{function.name}` are in `{first.namespace}` and `{kernel.namespace}`"
            at = kernel_span(report.node(function), _spelt(kernel))
            report.error(codes.KERNEL_NAMESPACES, message, at)
            return


def _check_autogen(members: Sequence[UnlinkedFunction], report: CrossReport) -> None:
    """Checks that `autogen` names exactly the overloads that are generated."""
    generated = sorted(member.name.text for member in members if _GENERATED in member.tags)
    asking = [member for member in members if member.autogen]
    asked = {name.text for overload in asking for name in overload.autogen}
    if asked == set(generated):
        return
    wanted = ", ".join(generated)
    if not asking:
        entries = [member.entry for member in members if member.is_synthesized]
        base = next((member for member in members if not member.is_synthesized and member.entry in entries), members[0])
        shown = ", ".join([f"`{name}`" for name in generated])
        message = f"no `autogen` lists the overloads that are made from `{base.name}`: {shown}"
        schemas = ", ".join(f"`{member.schema}`" for member in members if member.is_synthesized)
        help = f"add an entry for {schemas}, or `autogen: {wanted}` to synthesize it"
        report.error(codes.AUTOGEN_MISSING, message, report.name(base), help=help)
        return
    wrong = next(
        ((overload, name) for overload in asking for name in overload.autogen if name.text not in generated),
        None,
    )
    help = f"write `autogen: {wanted}`" if generated else "delete `autogen`"
    if wrong is not None:
        function, name = wrong
        message = f"`autogen` names `{name}`, which is not made from this entry"
        report.error(codes.AUTOGEN_WRONG, message, item_span(report.node(function), "autogen", name.text), help=help)
    else:
        missing = ", ".join(f"`{name}`" for name in generated if name not in asked)
        message = f"`autogen` does not name {missing}, which is made too"
        report.error(codes.AUTOGEN_WRONG, message, value_span(report.node(asking[0]), "autogen"), help=help)


def check_view_group(group: ViewGroup, report: CrossReport) -> None:
    """Reports each rule that a view group breaks."""
    view, copy, inplace = group.view, group.view_copy, group.view_inplace
    if copy is not None:
        _check_copy(view, copy, report)
    elif _needs_copy(view) and not report.concerns_absent(view.name.base):
        message = f"view `{view.name}` has no copying form"
        name = f"{view.name.base}_copy"
        copies = [
            function for function in report.functions if function.name.base == name and not function.is_synthesized
        ]
        differences = [near for function in copies for near in [first_difference(function, view)] if near is not None]
        if differences:
            near = min(differences, key=lambda difference: difference.edits)
            report.difference(codes.NO_VIEW_COPY, message, near, help="it takes the arguments of the view")
        else:
            overload = f".{view.name.overload}" if view.name.overload else ""
            help = f"add an entry for `{name}{overload}` of the same signature, tagged `view_copy`"
            report.error(codes.NO_VIEW_COPY, message, report.name(view), help=help)
    if inplace is not None:
        _check_inplace_view(view, inplace, report)


def _needs_copy(view: UnlinkedFunction) -> bool:
    """Whether functionalization needs a copying form; composite views are decomposed before it.

    So are views of libraries with kernels for autograd alone.
    """
    if view.has_composite_implicit or "inplace_view" in view.tags:
        return False
    if not view.library.keeps_conventions and view.ends_in_autograd:
        return False
    return not view.name.base.endswith("_inverse")


def _check_copy(view: UnlinkedFunction, copy: UnlinkedFunction, report: CrossReport) -> None:
    if signature_key(view.schema) != signature_key(copy.schema, view_form=True):
        message = f"view `{view.name}` is named like a copying form"
        report.error(codes.VIEW_COPY_NAME, message, report.name(view), also=report.other(copy, "shares its signature"))
    elif not copy.name.base.endswith(("_copy", "_scatter")):
        # Two functions of one name and kind have been reported already.
        if copy.kind is not view.kind:
            message = (
                f"`{copy.name}` has the signature of view `{view.name}`, but does not have the name of its copying form"
            )
            also = report.other(view, "the view")
            report.error(codes.VIEW_COPY_NAME, message, report.name(copy), also=also)
    elif "view_copy" not in copy.tags:
        message = f"`{copy.name}` is the copying form of view `{view.name}` and is not tagged `view_copy`"
        also = report.other(view, "the view")
        report.error(codes.VIEW_COPY_TAG, message, report.name(copy), help="add `tags: view_copy`", also=also)


def _check_inplace_view(view: UnlinkedFunction, inplace: UnlinkedFunction, report: CrossReport) -> None:
    for key in (COMPOSITE_IMPLICIT, COMPOSITE_IMPLICIT_NESTED):
        if key in view.kernels and key not in inplace.kernels:
            message = f"`{view.name}` has a kernel for `{key}`, its in-place form `{inplace.name}` has none"
            also = report.other(view, "the view")
            report.error(codes.VIEW_COMPOSITE, message, report.name(inplace), also=also)


def without_repetitions(functions: list[UnlinkedFunction], report: CrossReport) -> list[UnlinkedFunction]:
    """Functions, each overload once. Reports a second entry for an overload and leaves it out."""
    first: dict[str, UnlinkedFunction] = {}
    unique: list[UnlinkedFunction] = []
    for function in functions:
        text = function.name.text
        earlier = first.setdefault(text, function)
        if earlier is function:
            unique.append(function)
            continue
        report.repeat(function)
        code, message = codes.OVERLOAD_TWICE, f"second entry for `{text}`"
        help = "delete one of them, or give one another overload name"
        if earlier.namespace != function.namespace:
            code, help = codes.TWO_NAMESPACES, ""
            message = f"`{text}` is in the namespaces `{earlier.namespace}` and `{function.namespace}`"
        report.error(code, message, report.name(function), also=report.other(earlier, "first entry"), help=help)
    return unique


def check_names(functions: list[UnlinkedFunction], report: CrossReport) -> None:
    """Reports structured delegates that do not match, and in-place views without their view."""
    _check_delegates(functions, report)
    names = [overload.name for overload in functions]
    plain = {(name.base, name.dunder) for name in names if not name.inplace and not name.functional_overload}
    for function in functions:
        name = function.name
        if not function.is_view:
            continue
        if "inplace_view" not in function.tags:
            if name.inplace:
                message = f"`{name}` is an in-place view and is not tagged `inplace_view`"
                report.error(codes.INPLACE_VIEW_TAG, message, report.name(function), help="add `tags: inplace_view`")
        elif is_set_operator(function):
            continue
        elif not name.inplace:
            message = f"`{name}` is tagged `inplace_view`, but its name does not end with `_`"
            at = item_span(report.node(function), "tags", "inplace_view")
            report.error(codes.INPLACE_VIEW_NAME, message, at)
        elif (name.base, name.dunder) not in plain and not report.concerns_absent(name.base):
            message = f"in-place view `{name}` has no out-of-place form `{name.base}`"
            report.error(codes.INPLACE_VIEW_ALONE, message, report.name(function))


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
        at = value_span(report.node(sources[0]), "structured_delegate")
        also = [
            Label(value_span(report.node(other), "structured_delegate"), f"`{other.name}` too", primary=False)
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
