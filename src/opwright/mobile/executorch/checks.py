"""What keeps the files of ExecuTorch from being right, found before any of them is written."""

from __future__ import annotations

from collections.abc import Iterable

from opwright.convention import shared_types
from opwright.convention.shared_types import NoCppType
from opwright.emit.emitter import Job
from opwright.mobile import mobile_codes
from opwright.mobile.executorch import convention as executorch
from opwright.mobile.executorch.custom_operators import stub_result
from opwright.mobile.executorch.evalues import unheld_list
from opwright.mobile.executorch.units import boolean_lists, is_selected, operators, tensors_of_key
from opwright.mobile.executorch_choices import ExecutorchOptions
from opwright.mobile.executorch_operators import ExecutorchOperator
from opwright.source.diagnostic import Diagnostics


def check_types(job: Job, sink: Diagnostics) -> None:
    """Report operators with types that have no C++ types."""
    for operator in operators(job):
        _has_types(operator, job, sink)


def check_functions(job: Job, sink: Diagnostics) -> None:
    """Report functions in `Functions.h` that call nothing."""
    options = job.options.of(ExecutorchOptions)
    for operator in operators(job) if options.as_reference else ():
        kernel, is_atens = operator.kernel, options.aten_mode and not operator.is_custom
        if not is_atens and len(operator.kernels) == 1 and kernel and not kernel.is_default:
            message = f"the function of `{operator.name}` calls nothing, because it has no default kernel"
            sink.warning(mobile_codes.SPECIAL_KERNEL, message, operator.function.entry)


def check_registrations(job: Job, sink: Diagnostics) -> None:
    """Report operators whose kernels cannot be registered, and those whose registrations are wrong."""
    options = job.options.of(ExecutorchOptions)
    unregistered: list[ExecutorchOperator] = []
    for operator in operators(job):
        if not _has_types(operator, job, Diagnostics()):
            continue
        if operator.is_custom and stub_result(operator.function.schema) is None:
            message = f"no stub can return what `{operator.name}` returns"
            sink.error(mobile_codes.NO_STUB, message, operator.function.entry)
        if not operator.kernels or not job.selection.is_root_named(operator.name):
            continue
        _check_keys(operator, job, sink)
        if any(is_selected(operator, kernel, job.selection, options) for kernel in operator.kernels):
            _check_registration(operator, options, sink)
        else:
            unregistered.append(operator)
    _report_unregistered(unregistered, job, sink)


def _has_types(operator: ExecutorchOperator, job: Job, sink: Diagnostics) -> bool:
    """Whether all types of an operator's schema have C++ types; otherwise reports it."""
    function = operator.function
    try:
        if job.options.of(ExecutorchOptions).aten_mode:
            for argument in function.arguments.all:
                shared_types.argument_type(argument.type, mutable=argument.is_write, symint=False, style=function.style)
        else:
            executorch.signature(function)
    except NoCppType as type:
        message = f"ExecuTorch has no C++ type for `{type}`, which is in the schema of `{operator.name}`"
        sink.error(mobile_codes.NO_TYPE, message, function.entry)
        return False
    return True


def _check_keys(operator: ExecutorchOperator, job: Job, sink: Diagnostics) -> None:
    """Report keys of calls for which an operator has no kernel."""
    if any(kernel.is_default for kernel in operator.kernels):
        return
    keys = {tensors_of_key(kernel.key) for kernel in operator.kernels}
    selected = job.selection.operators.get(operator.name)
    at = operator.function.entry if selected is None or selected.span is None else selected.span
    for key in job.selection.edge_kernels.get(operator.name, ()):
        if tensors_of_key(key) not in keys:
            message = f"no kernel of `{operator.name}` is for `{key}`"
            sink.error(mobile_codes.MISSING_KERNEL, message, at, help="add a kernel whose `arg_meta` is `null`")


def _check_registration(operator: ExecutorchOperator, options: ExecutorchOptions, sink: Diagnostics) -> None:
    """Report a boxed function that would not compile. What ExecuTorch's program writes all the same is a warning."""
    function, is_warning = operator.function, options.as_reference
    report = sink.warning if is_warning else sink.error
    arguments, outs = function.arguments.all, function.arguments.out
    if not outs and not function.schema.returns:
        message = f"`{operator.name}` has neither returns nor `out` arguments"
        sink.error(mobile_codes.NO_RESULT, message, function.entry)
    for argument in arguments:
        if unheld_list(argument.type) or (options.aten_mode and argument.type.text == "bool[]"):
            message = f"no value of ExecuTorch holds the list `{argument.text}` of `{operator.name}`"
            report(
                mobile_codes.UNHELD_LIST_WARNING if is_warning else mobile_codes.UNHELD_LIST, message, function.entry
            )
    if not outs and len(function.schema.returns) > 1:
        message = f"`{operator.name}` returns {len(function.schema.returns)} values and has no `out` arguments"
        report(
            mobile_codes.SEVERAL_RESULTS_WARNING if is_warning else mobile_codes.SEVERAL_RESULTS,
            message,
            function.entry,
        )
    if not options.as_reference:
        return
    if not arguments:
        message = f"the call of the kernel of `{operator.name}` has a comma after the context"
        sink.warning(mobile_codes.NO_ARGUMENTS, message, function.entry)
    count = len(boolean_lists(function))
    if options.aten_mode and count > 1:
        message = f"`{operator.name}` has {count} lists of booleans, which declare the same variable"
        sink.warning(mobile_codes.REPEATED_VARIABLE, message, function.entry)


def _report_unregistered(unregistered: Iterable[ExecutorchOperator], job: Job, sink: Diagnostics) -> None:
    """Report operators without a registration: in one message if the selection has no keys at all."""
    names = [operator.name for operator in unregistered]
    if not names:
        return
    if not job.selection.edge_kernels:
        subject = f"`{names[0]}`" if len(names) == 1 else f"{len(names)} selected operators"
        message = f"no kernel is registered for {subject}: the selection has no `et_kernel_metadata`"
        sink.warning(mobile_codes.NOT_REGISTERED, message)
        return
    for name in names:
        selected = job.selection.operators.get(name)
        at = None if selected is None else selected.span
        sink.warning(mobile_codes.NOT_REGISTERED, f"no kernel is registered for `{name}`, which has no keys", at)
