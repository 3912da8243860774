"""`RegisterCodegenUnboxedKernels.cpp` or `RegisterKernels.cpp`: a boxed function for each kernel, and its registration.

A boxed function takes the arguments and the result of a call on a stack of `EValue`s, converts them, and calls the
kernel.
"""

from __future__ import annotations

from collections.abc import Sequence

from opwright.emit.aten.units import NO_SLOTS
from opwright.emit.emitter import AnyEmitter, Emitter, FragmentContext, Job, Sharded, Slots
from opwright.mobile.executorch import convention as executorch
from opwright.mobile.executorch.evalues import ValueChoices, ValueConversion, convert
from opwright.mobile.executorch.units import KernelEntry, boolean_lists, function_signature, is_selected, kernels
from opwright.mobile.executorch_choices import ExecutorchOptions
from opwright.schema.function import Argument

#: The indentation of statements in a boxed function.
_IN_BODY = " " * 8


def _fragment(entry: KernelEntry, context: FragmentContext) -> Slots:
    if not is_selected(entry.operator, entry.kernel, context.selection, context.options.of(ExecutorchOptions)):
        return NO_SLOTS
    return {"unboxed_kernels": [_registration(entry, context)]}


def _registration(entry: KernelEntry, context: FragmentContext) -> str:
    operator, kernel = entry
    options = context.options.of(ExecutorchOptions)
    function = operator.function
    names_indices = not options.as_reference and len(boolean_lists(function)) > 1
    choices = ValueChoices(function.style, options.aten_mode, names_indices)
    # The signature of PyTorch's function is in the order of the schema too, unless it packs tensor options.
    bindings = function_signature(operator, aten_mode=options.aten_mode).bindings
    arguments = [binding.argument for binding in bindings if isinstance(binding.argument, Argument)]
    conversions = [convert(argument, choices) for argument in arguments]
    taken = [f"EValue& {argument.name} = *stack[{index}];" for index, argument in enumerate(arguments)]
    converted = [line for each in conversions for line in (*each.declarations, *each.statements)]
    count, outs = len(arguments), function.arguments.out
    # What precedes the call of the kernel and follows it, and the positions of the outputs on the stack.
    before, after, outputs = "", "", [count]
    if outs and function.schema.returns:
        outputs = [*range(count - len(outs), count)]
    elif outs:
        after = f"stack[{count}] = &{outs[0].name};"
    else:
        returned = function_signature(operator, aten_mode=options.aten_mode).returns.text
        before, after = f"{returned} result_ = ", f"*stack[{count}] = EValue(result_);"
    key = "" if kernel.is_default else f'\n    "{kernel.key}",'
    logs = [
        f"internal::event_tracer_log_evalue(context.internal_event_tracer(), *stack[{output}]);" for output in outputs
    ]
    return "\n".join(
        [
            "",
            "Kernel(",
            f'    "{operator.name}",{key}',
            f"    []({executorch.CONTEXT}, Span<EValue*> stack) {{",
            f"{_IN_BODY}ET_KERNEL_CHECK_MSG(context, stack.size() == {count + 1}, InvalidProgram, /*void*/, "
            f'"Expected %" ET_PRIsize_t "args received %" ET_PRIsize_t, (size_t){count + 1}, stack.size());',
            _IN_BODY + "\n\t".join(taken + converted),
            "",
            f"{_IN_BODY}try {{" if options.exception_boundary else "",
            f"{_IN_BODY}internal::EventTracerProfileOpScope event_tracer_op_scope("
            f'context.internal_event_tracer(), "native_call_{function.name}");',
            f'{_IN_BODY}EXECUTORCH_SCOPE_PROF("native_call_{function.name}");',
            f"{_IN_BODY}{before}{_call(entry, conversions, context)}",
            f"{_IN_BODY}{after}",
            _IN_BODY + "\n".join(logs),
            "",
            *(_CATCH if options.exception_boundary else [""]),
            "    }",
            "),",
            "",
        ]
    )


#: What follows the call of a kernel whose exceptions are caught.
_CATCH = (
    f"{_IN_BODY}}} catch (const std::exception& ex) {{",
    f'{_IN_BODY}  ET_LOG(Error, "Kernel threw an exception: %s", ex.what());',
    f"{_IN_BODY}  context.fail(torch::executor::Error::Internal);",
    f"{_IN_BODY}}}",
)


def _call(entry: KernelEntry, conversions: Sequence[ValueConversion], context: FragmentContext) -> str:
    """Call of the kernel, in ATen mode of the function in `Functions.h`."""
    operator, kernel = entry
    options = context.options.of(ExecutorchOptions)
    callee = f"{kernel.namespace}::{kernel.name}"
    if options.aten_mode:
        name = function_signature(operator, aten_mode=True).name
        callee = f"torch::executor::{operator.function.namespace}::{name}"
    passed = ", ".join([conversion.name for conversion in conversions])
    # ExecuTorch's program writes the comma after the context also where nothing follows.
    comma = ", " if passed or options.as_reference else ""
    return f"{callee}(context{comma}{passed});"


def _file_slots(job: Job) -> Slots:
    return {
        "fn_header": ["Functions.h" if job.options.of(ExecutorchOptions).aten_mode else "NativeFunctions.h"],
        "unboxed_kernels": (),
    }


def emitters(job: Job) -> list[AnyEmitter]:
    """Emitter of the file, as one shard and as a whole."""
    is_manual = job.options.of(ExecutorchOptions).manual_registration
    name = "RegisterKernels" if is_manual else "RegisterCodegenUnboxedKernels"
    return [
        Emitter(
            name="executorch_kernels_source",
            family="executorch_sources",
            template=f"executorch/{name}.cpp",
            folder="executorch",
            units=kernels,
            fragment=_fragment,
            file_slots=_file_slots,
            layout=Sharded(f"{name}.cpp", 1, lambda entry: f"{entry.operator.function.root_name}:{entry.kernel.key}"),
        )
    ]
