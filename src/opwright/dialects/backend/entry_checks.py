"""Checks of an entry's options against each other, against its operator, and against the head of the file."""

from __future__ import annotations

from opwright.dialects.backend.entry_builder import BackendEntryBuilder
from opwright.dialects.backend.entry_kernels import (
    PYTORCH_KERNELS,
    inherited_kernel,
    pattern_name,
    shared_kernel,
)
from opwright.dialects.backend.head import is_own_dialect
from opwright.dialects.backend.kernel_families import KernelFamily
from opwright.model.external_backend import Implementation
from opwright.model.library import PYTORCH
from opwright.model.native_function import DeviceCheck, NativeFunction
from opwright.source import codes

__all__ = ["check_entry", "is_differentiated_inside"]

#: Options of kernels that wrappers call alone.
_NEEDS = {"define_meta": "structured", "register_meta": "define_meta"}


def check_entry(entry: BackendEntryBuilder) -> None:
    """Report what is wrong between the options of an entry, its operator and the head."""
    if entry.failed:
        return
    _check_needs(entry)
    _check_families(entry)
    match entry.options.implementation:
        case Implementation.structured | Implementation.stub:
            _check_structured(entry)
        case Implementation.fallback:
            _check_fallback(entry)
        case Implementation.refused:
            pass
        case Implementation.kernel | Implementation.inherited:
            _check_kernel(entry)
    _check_composite(entry)
    _check_policy(entry)
    _check_kernel_names(entry)
    _check_repeated_facts(entry)


def _check_needs(entry: BackendEntryBuilder) -> None:
    options = entry.options
    values = {
        "structured": options.implementation is Implementation.structured,
        "define_meta": options.define_meta,
        "register_meta": options.register_meta,
    }
    for option, needed in _NEEDS.items():
        if values[option] and not values[needed]:
            message = f"`{option}` needs `{needed}: true`"
            entry.fault(codes.NEEDS_OPTION, message, entry.key_span(option), help=f"add `{needed}: true`")


def _check_families(entry: BackendEntryBuilder) -> None:
    """Report a structured kernel in several families: its shape function would run before one is chosen."""
    if entry.families and entry.options.implementation is Implementation.structured:
        message = f"the structured kernel of `{entry.function.name}` can be in one family only"
        entry.fault(codes.FAMILY, message, entry.key_span("family"), help="name one family, or delete `structured`")


def _check_structured(entry: BackendEntryBuilder) -> None:
    """Report structured kernels of operators that cannot have one."""
    function, option = entry.function, "stub" if entry.options.implementation is Implementation.stub else "structured"
    at = entry.key_span(option)
    if not function.in_structured_group:
        message = f"`{function.name}` is not structured in PyTorch"
        entry.fault(codes.NOT_STRUCTURED, message, at, help=f"delete `{option}`")
    elif not function.structured:
        message = f"`{function.name}` is made from the structured kernel of `{function.structured_delegate}`"
        help = f"write `{function.structured_delegate}` in place of `{function.name}`"
        entry.fault(codes.NOT_STRUCTURED, message, entry.name.span, help=help)
    elif not entry.section.kind.is_dense:
        message = f"`{entry.section.kind.name}` cannot have structured kernels"
        entry.fault(codes.NOT_STRUCTURED, message, at, help="move the entry to `supported`")
    elif not entry.section.head.out_is_primary:
        message = f"`{option}` needs `use_out_as_primary: true`"
        help = "add `use_out_as_primary: true` to the head of the file"
        entry.fault(codes.NEEDS_OUT_AS_PRIMARY, message, at, help=help)
    elif option == "stub" and shared_kernel(function) is None:
        message = f"PyTorch has no kernel of `{function.name}` that devices share"
        entry.fault(codes.NO_INHERITED_KERNEL, message, at, help="write `structured: true` and a kernel")


def _check_fallback(entry: BackendEntryBuilder) -> None:
    if entry.function.is_view and not entry.section.head.options.fallback_copies_views:
        message = f"`{entry.function.name}` is a view, and the CPU's result is a copy"
        help = "write `inherit: shared`" if shared_kernel(entry.function) is not None else "write a kernel"
        entry.fault(codes.FALLBACK_VIEW, message, entry.key_span("fallback"), help=help)


def _check_kernel(entry: BackendEntryBuilder) -> None:
    """Check a kernel that is named or inherited, and mark PyTorch's own."""
    if entry.source:
        entry.options = entry.options._replace(implementation=Implementation.inherited)
        kernel, help = inherited_kernel(entry.function, entry.source, entry.section.kind)
        at = entry.key_span("inherit")
        if kernel is None:
            name, source = entry.function.name, "the CPU and CUDA alike" if entry.source == "shared" else entry.source
            entry.fault(codes.NO_INHERITED_KERNEL, f"PyTorch has no kernel of `{name}` for {source}", at, help=help)
        elif kernel.structured:
            message = f"PyTorch's kernel of `{entry.function.name}` is structured"
            is_shared = shared_kernel(entry.function) is not None
            help = "write `stub: true`" if is_shared else "write `structured: true` and a kernel"
            entry.fault(codes.NO_INHERITED_KERNEL, message, at, help=help)
    elif entry.kernel.rpartition("::")[0] == PYTORCH_KERNELS:
        entry.options = entry.options._replace(implementation=Implementation.inherited)


def _check_composite(entry: BackendEntryBuilder) -> None:
    """Report kernels that would take the derivative from a composite operator."""
    function, options = entry.function, entry.options
    is_foreign = function.namespace != PYTORCH.namespace
    if not entry.section.kind.is_dense or is_foreign or entry.section.load.only_reports:
        return
    if function.has_composite_implicit and entry.name.value in entry.section.head.names("autograd"):
        return
    may_override = options.override_composite or entry.section.head.options.override_composite
    if is_differentiated_inside(function) and not may_override:
        message = f"`{function.name}` consists of other operators, and loses its derivative with a kernel of its own"
        help = "" if entry.section.load.tolerant else "write `override_composite: true`, or delete the entry"
        if is_own_dialect(entry.section.head):
            entry.fault(codes.COMPOSITE_OVERRIDE, message, entry.name.span, help=help)
        else:
            entry.warning(codes.COMPOSITE_OVERRIDE_WARNING, message, entry.name.span, help=help)
    elif options.override_composite and not function.has_composite_implicit:
        message = f"`{function.name}` is no composite operator, so `override_composite` has no effect"
        entry.warning(codes.NO_EFFECT, message, entry.key_span("override_composite"))


def is_differentiated_inside(function: NativeFunction) -> bool:
    """Whether PyTorch differentiates the operators that a function consists of, not the function itself.

    If a device of PyTorch's own has a kernel, autograd has a formula.
    """
    has_kernels = function.in_structured_group or any(key.is_dense for key in function.kernels)
    return function.has_composite_implicit and not has_kernels


def _check_policy(entry: BackendEntryBuilder) -> None:
    if entry.options.policy and entry.section.kind.name != "autocast":
        message = f"`{entry.section.kind.name}` has no policies"
        entry.fault(codes.NEEDS_OPTION, message, entry.key_span("policy"), help="move the entry to `autocast`")


def _check_kernel_names(entry: BackendEntryBuilder) -> None:
    """Warn of names for kernels that are not the backend's own, and of the usual name."""
    reason = "policy" if entry.options.policy else ""
    if entry.way is not None and entry.way.value != "structured":
        reason = entry.way.value
    for option in ("family", "kernel_name"):
        if reason and option in entry.keys:
            message = f"`{option}` has no effect, because `{reason}` says which kernel runs"
            entry.warning(codes.NO_EFFECT, message, entry.key_span(option))
    family = entry.section.head.families.get(entry.family, KernelFamily())
    if not reason and entry.kernel_name and entry.kernel_name == pattern_name(entry, family):
        _report_repeated_fact("kernel_name", entry)


def _check_repeated_facts(entry: BackendEntryBuilder) -> None:
    """Warn of options that say what holds without them."""
    function, options, head = entry.function, entry.options, entry.section.head
    if options.device_guard and not head.device_guard:
        message = "`device_guard` has no effect, because the head of the file has no `device_guard: true`"
        entry.warning(codes.NO_EFFECT, message, entry.key_span("device_guard"))
    elif options.device_guard is not None and options.device_guard == (function.device_guard and head.device_guard):
        _report_repeated_fact("device_guard", entry)
    head_checks = head.device_guard if head.options.device_check is None else head.options.device_check
    checks = head_checks and function.device_check is DeviceCheck.ExactSame
    if options.device_check is not None and options.device_check == checks:
        _report_repeated_fact("device_check", entry)
    if options.device_guard and not head.device_guard:
        entry.options = options._replace(device_guard=None)


def _report_repeated_fact(option: str, entry: BackendEntryBuilder) -> None:
    if entry.section.head.is_rewritten:
        # The author of the file did not write the option.
        return
    message = f"`{option}` repeats what holds for `{entry.function.name}` without it"
    entry.warning(codes.REPEATS_INHERITED, message, entry.key_span(option), help=f"delete `{option}`")
