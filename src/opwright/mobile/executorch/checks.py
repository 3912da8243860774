"""What keeps the files of ExecuTorch from being right, found before any of them is written."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from opwright.convention import shared_types
from opwright.convention.shared_types import NoCppType
from opwright.emit.emitter import Job
from opwright.mobile.executorch import convention as executorch
from opwright.mobile.executorch.custom_operators import stub_result
from opwright.mobile.executorch.evalues import unheld_list
from opwright.mobile.executorch.units import boolean_lists, is_selected, tensors_of_key
from opwright.mobile.executorch_choices import ExecutorchOptions
from opwright.mobile.executorch_operators import ExecutorchOperator, RunExecutorch
from opwright.source import codes
from opwright.source.diagnostic import Diagnostics
from opwright.source.span import Span

#: The codes of mistakes, by whether they are warnings.
_UNHELD_LIST: Final = {False: codes.UNHELD_LIST, True: codes.UNHELD_LIST_WARNING}
_SEVERAL_RESULTS: Final = {False: codes.SEVERAL_RESULTS, True: codes.SEVERAL_RESULTS_WARNING}


def check_types(job: Job, sink: Diagnostics) -> None:
    """Report operators with types that have no C++ types."""
    for operator in job.of(RunExecutorch).executorch.operators:
        _has_types(operator, job, sink)


def check_functions(job: Job, sink: Diagnostics) -> None:
    """Report functions in `Functions.h` that call nothing."""
    for operator in job.of(RunExecutorch).executorch.operators:
        _check_function(operator, job, sink)


def check_registrations(job: Job, sink: Diagnostics) -> None:
    """Report operators whose kernels cannot be registered, and those whose registrations are wrong."""
    options = job.options.of(ExecutorchOptions)
    unregistered: list[ExecutorchOperator] = []
    for operator in job.of(RunExecutorch).executorch.operators:
        if not _has_types(operator, job, Diagnostics()):
            continue
        if operator.is_custom and stub_result(operator.function.schema) is None:
            message = f"no stub can return what `{operator.name}` returns"
            sink.error(codes.NO_STUB, message, operator.function.entry)
        if not operator.kernels or not job.selection.is_root_named(operator.name):
            continue
        _check_keys(operator, job, sink)
        if any(is_selected(operator, kernel, job.selection, options) for kernel in operator.kernels):
            _check_registration(operator, job, sink)
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
        sink.error(codes.NO_TYPE, message, function.entry)
        return False
    return True


def _check_function(operator: ExecutorchOperator, job: Job, sink: Diagnostics) -> None:
    """Report a function that calls nothing."""
    kernel, options = operator.kernel, job.options.of(ExecutorchOptions)
    is_atens = options.aten_mode and not operator.is_custom
    if options.as_reference and not is_atens and len(operator.kernels) == 1 and kernel and not kernel.is_default:
        message = f"the function of `{operator.name}` calls nothing, because it has no default kernel"
        sink.warning(codes.SPECIAL_KERNEL, message, operator.function.entry)


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
            sink.error(codes.MISSING_KERNEL, message, at, help="add a kernel whose `arg_meta` is `null`")


def _check_registration(operator: ExecutorchOperator, job: Job, sink: Diagnostics) -> None:
    """Report a boxed function that would not compile."""
    function, options = operator.function, job.options.of(ExecutorchOptions)
    arguments, outs = function.arguments.all, function.arguments.out
    if not outs and not function.schema.returns:
        message = f"`{operator.name}` has neither returns nor `out` arguments"
        sink.error(codes.NO_RESULT, message, function.entry)
    for argument in arguments:
        wrong = unheld_list(argument.type)
        if options.aten_mode and argument.type.text == "bool[]":
            wrong = argument.type.text
        if wrong:
            message = f"no value of ExecuTorch holds the list `{argument.text}` of `{operator.name}`"
            _reporter(job, sink)(_UNHELD_LIST[options.as_reference], message, function.entry)
    if not outs and len(function.schema.returns) > 1:
        message = f"`{operator.name}` returns {len(function.schema.returns)} values and has no `out` arguments"
        _reporter(job, sink)(_SEVERAL_RESULTS[options.as_reference], message, function.entry)
    if not options.as_reference:
        return
    if not arguments:
        message = f"the call of the kernel of `{operator.name}` has a comma after the context"
        sink.warning(codes.NO_ARGUMENTS, message, function.entry)
    count = len(boolean_lists(function))
    if options.aten_mode and count > 1:
        message = f"`{operator.name}` has {count} lists of booleans, which declare the same variable"
        sink.warning(codes.REPEATED_VARIABLE, message, function.entry)


def _reporter(job: Job, sink: Diagnostics) -> Callable[[str, str, Span], None]:
    """What reports a mistake that is a warning if the outputs are those of ExecuTorch's program."""
    return sink.warning if job.options.of(ExecutorchOptions).as_reference else sink.error


def _report_unregistered(operators: Iterable[ExecutorchOperator], job: Job, sink: Diagnostics) -> None:
    """Report operators without a registration: in one message if the selection has no keys at all."""
    names = [operator.name for operator in operators]
    if not names:
        return
    if not job.selection.edge_kernels:
        subject = f"`{names[0]}`" if len(names) == 1 else f"{len(names)} selected operators"
        message = f"no kernel is registered for {subject}: the selection has no `et_kernel_metadata`"
        sink.warning(codes.NOT_REGISTERED, message)
        return
    for name in names:
        selected = job.selection.operators.get(name)
        at = None if selected is None else selected.span
        sink.warning(codes.NOT_REGISTERED, f"no kernel is registered for `{name}`, which has no keys", at)
