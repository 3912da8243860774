"""Registrations of a part's kernels under each dispatch key, and the wrappers that some kernels need."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from opwright.convention import dispatcher
from opwright.cpp.namespaces import enclose, qualified_name
from opwright.cpp.text import guard, include_line, string_literal
from opwright.emit.aten.backend import (
    Backend,
    KernelUnit,
    WrappedUnit,
    WrapperKind,
    kernel_signature,
)
from opwright.emit.aten.register import structured_kernels
from opwright.emit.aten.register import wrapper as plain
from opwright.emit.aten.register.devices import guard_headers
from opwright.emit.aten.register.helpers import allocation_helpers, allocation_of
from opwright.emit.emitter import FragmentContext
from opwright.libraries.emit.checks import checked_kernels
from opwright.libraries.emit.meta_kernels import has_meta_kernel
from opwright.libraries.emit.overlap import OVERLAP_HEADER, checks_overlap, is_checked_under, overlap_check
from opwright.libraries.emit.parts import LibraryPart, Section
from opwright.libraries.emit.requirements import check_call, copied_arguments, has_checks, written_checks
from opwright.libraries.kernels import condition_of, python_function
from opwright.model.dispatch_key import ANY_DEVICE_ALLOCATION, CUDA, LIBRARY_KEYS, META, DispatchKey
from opwright.model.native_function import Kernel, NativeFunction, NativeFunctionsGroup
from opwright.source.records import NamedTuple

#: Stands for a type that the stable API lacks, with which nothing is compared.
AS_DECLARED: Final = "::opwright::as_declared"


def kernel_assertions(
    kernel: str, name: str, operator: str, arguments: Sequence[tuple[str, str]], results: tuple[str, str], scope: str
) -> str:
    """Assertions about a kernel, under a name of their own. In a template, compilers show both types.

    The operator has `arguments` with types, and `results` as a type and as messages show it. `scope` is the namespace
    of the templates that compare, which a header of the interface has.
    """
    what = f"the kernel `{kernel.removeprefix('::')}` of `{operator}` must"
    count = len(arguments)
    rows = [(f"has_parameters<Kernel, {count}>", f"{what} take {count} arguments")]
    rows += [
        (f"takes<Kernel, {number}, {type}>", f"{what} take `{argument}` as `{type}`, or as what this converts to")
        for number, (argument, type) in enumerate(arguments)
        if type != AS_DECLARED
    ]
    rows.append((f"gives<Kernel, {results[0]}>", f"{what} give `{results[1]}`"))
    assertions = [f'  static_assert({scope}::{test},\n      "{message}");' for test, message in rows]
    head = ["template <class Kernel>", f"static constexpr bool {name}_fits() {{"]
    return "\n".join([*head, *assertions, "  return true;", "}", f"static_assert({name}_fits<decltype({kernel})>());"])


#: What declares the operators that allocate outputs of keys without allocation functions of their own.
_EMPTY_BY_DISPATCH: Final = ("ATen/ops/empty.h", "ATen/ops/empty_strided.h")

#: What checks launches of kernels.
LAUNCH_HEADER: Final = "opwright/launch.h"

#: What registers kernels for operators of others.
_IMPLEMENTED_HEADER: Final = "opwright/implemented.h"

#: What registers kernels with signatures of their own.
_OWN_SIGNATURE: Final = "opwright/own_signature.h"


def section(part: LibraryPart, context: FragmentContext) -> Section:
    """The wrappers and registrations of every key with kernels."""
    includes: list[str] = []
    texts = []
    checked = checked_kernels(part)
    kernels = _kernels_by_key(part)
    for key in LIBRARY_KEYS.values():
        # Under the other keys, only an entry's kernels lead to wrappers.
        if key not in kernels and (key is not META or not part.library.defines_operators):
            continue
        backend = _backend(part, key, kernels.get(key, {}), checked)
        wrapped = [(unit, kinds) for unit in part.units if (kinds := _wrapped_overloads(backend, unit))]
        if wrapped:
            text = _key_text(part, backend, wrapped, context)
            is_boxed = part.has_own_signatures and not _has_structured(wrapped)
            headers = [_OWN_SIGNATURE] if is_boxed else _includes(backend, wrapped, context)
            functions = [function for _, kinds in wrapped for function, _ in kinds]
            if any(function in backend.checks and checks_overlap(function) for function in functions):
                headers.append(OVERLAP_HEADER)
            headers += [] if part.library.defines_operators else [_IMPLEMENTED_HEADER]
            headers += [LAUNCH_HEADER] if has_launch_checks(key) and not part.has_own_signatures else []
            if part.wrappers is not None and any(map(backend.has_hooks, functions)):
                headers += part.wrappers.includes
            conditions = {_condition(function, backend) for function in functions}
            condition = conditions.pop() if len(conditions) == 1 else ""
            if condition:
                # Builds without the kernels may lack the headers.
                text = guard(condition, "\n".join([*map(include_line, headers), text])) + "\n"
            else:
                includes += headers
            texts.append(text)
    return Section(tuple(includes), "\n".join(texts))


def _wrapped_overloads(backend: Backend, unit: KernelUnit) -> tuple[tuple[NativeFunction, WrapperKind], ...]:
    """Overloads of a unit that are registered here. Under Meta, others have a kernel that takes symbols."""
    overloads = backend.wrapped_overloads(unit)
    if backend.key is not META:
        return overloads
    return tuple([(function, kind) for function, kind in overloads if not has_meta_kernel(function)])


def _kernels_by_key(part: LibraryPart) -> dict[DispatchKey, dict[NativeFunction, Kernel]]:
    kernels: dict[DispatchKey, dict[NativeFunction, Kernel]] = {}
    for function in part.functions:
        for key, kernel in function.kernels.items():
            if not python_function(kernel):
                kernels.setdefault(key, {})[function] = kernel
    return kernels


def _backend(
    part: LibraryPart,
    key: DispatchKey,
    kernels: dict[NativeFunction, Kernel],
    checked: Mapping[tuple[NativeFunction, Kernel], str],
) -> Backend:
    wrappers = part.wrappers
    wrapper = wrappers if wrappers is not None and key.name.endswith(wrappers.key) else None
    # A library names the keys of its kernels: those of backends that have only out overloads are not generated.
    make = Backend if wrapper is None else wrapper.make
    return make(
        key,
        kernels,
        device_guard=has_guard(key),
        generates=key is META,
        default_allocation=ANY_DEVICE_ALLOCATION if key.is_dense else None,
        callees={
            function: checked[function, kernel] for function, kernel in kernels.items() if (function, kernel) in checked
        },
        shown_name="" if wrapper is None else key.name.removesuffix(wrapper.key) + wrapper.display_name,
        checks=_checks(part, key),
        passed=_passed(part, key),
    )


def _checks(part: LibraryPart, key: DispatchKey) -> dict[NativeFunction, str]:
    """Checks with which wrappers begin: what operators require, that no memory is shared, and of launches."""
    if not is_checked_under(key):
        return {}
    checks: dict[NativeFunction, str] = {}
    for function in part.functions:
        # Declared kernels are checked before they run, by a function of its own.
        texts = [launch_check(function)] if has_launch_checks(key) and not part.has_own_signatures else []
        texts += [overlap_check(function)] if checks_overlap(function) else []
        texts += [check_call(function, key)] if has_checks(function) else []
        texts += [] if key.is_composite else written_checks(function)
        if texts:
            checks[function] = "\n".join(texts)
    return checks


def _passed(part: LibraryPart, key: DispatchKey) -> dict[NativeFunction, dict[str, str]]:
    """What wrappers pass in place of arguments: those in the layout that kernels need."""
    if not is_checked_under(key):
        return {}
    return {function: copied for function in part.functions if (copied := copied_arguments(function))}


def stream_comment(functions: Iterable[NativeFunction], stream: str, check: str) -> str:
    """Comment of a header with kernels for devices that have streams: where they launch, and what reports errors.

    For CUDA, a function gives the stream, and a macro checks a launch. The text is empty if there are no such kernels.
    """
    if not any(has_guard(key) for function in functions for key in function.kernels):
        return ""
    return (
        f"// Kernels of a device launch on its current stream, which for CUDA `{stream}` gives:\n"
        "// callers choose it, and CUDA graphs record it. They wait for nothing, and return before they have run.\n"
        f"// After a launch, `{check}()` reports what is wrong with it.\n\n"
    )


def has_launch_checks(key: DispatchKey) -> bool:
    """Whether launches of the kernels of a key are checked where a macro says so.

    >>> from opwright.model.dispatch_key import CPU
    >>> has_launch_checks(CUDA), has_launch_checks(CPU)
    (True, False)
    """
    return key.device is CUDA.device and is_checked_under(key)


def launch_check(function: NativeFunction) -> str:
    """Statement that checks the launches of the scope that it begins."""
    return f"OPWRIGHT_LAUNCHES({string_literal(f'{function.namespace}::{function.name.text}')});"


def has_guard(key: DispatchKey) -> bool:
    """Whether wrappers set the current device: that of keys of which PyTorch's generator knows nothing may matter.

    >>> from opwright.model.dispatch_key import CPU, key_named
    >>> has_guard(CPU), has_guard(key_named("PrivateUse1"))
    (False, True)
    """
    if key.device is None or key.name.startswith("Autograd"):
        return False
    return key.device.has_guard or not key.device.is_known


def _has_structured(wrapped: list[WrappedUnit]) -> bool:
    return any(kind is WrapperKind.structured for _, kinds in wrapped for _, kind in kinds)


def _includes(backend: Backend, wrapped: list[WrappedUnit], context: FragmentContext) -> list[str]:
    """Headers for guards, and for allocating the outputs of structured kernels.

    The guard of a device stands in the classes of structured kernels alone; other headers of a device need its SDK.
    """
    headers = []
    if _has_structured(wrapped):
        lines = guard_headers(backend.key, rocm=context.options.rocm, rules=context.rules).splitlines()
        headers += [line.removeprefix("#include <").removesuffix(">") for line in lines if "Guard" in line]
    if any(function.arguments.options is not None for _, kinds in wrapped for function, _ in kinds):
        headers.append("ATen/Context.h")
    if any(_handles_devices(function, backend) for _, kinds in wrapped for function, _ in kinds):
        headers += ["ATen/DeviceGuard.h", "ATen/core/op_registration/adaption.h"]
    if not _has_structured(wrapped):
        return headers
    allocation = allocation_of(backend)
    headers.append("opwright/structured.h")
    if allocation is None:
        return headers
    return [*headers, *([allocation.header] if allocation.header else _EMPTY_BY_DISPATCH)]


class _Registered(NamedTuple):
    """What is registered for an overload: an expression, and the definition of the wrapper that it names, if any."""

    function: NativeFunction
    expression: str
    definition: str = ""


def _key_text(part: LibraryPart, backend: Backend, wrapped: list[WrappedUnit], context: FragmentContext) -> str:
    """Wrappers under one key, in a namespace of their own, and the registrations."""
    registered = [
        _registered_structured(function, unit, backend, context)
        if kind is WrapperKind.structured and isinstance(unit, NativeFunctionsGroup)
        else _registered_function(function, kind, backend, has_own_signatures=part.has_own_signatures)
        for unit, kinds in wrapped
        for function, kind in kinds
    ]
    conditions = [_condition(entry.function, backend) for entry in registered]
    statements = [
        guard(condition, f'  m.impl("{entry.function.name.text}", {_implementation(part, entry)});')
        for condition, entry in zip(conditions, registered, strict=True)
    ]
    text = "\n".join([f"TORCH_LIBRARY_IMPL({part.library.namespace}, {backend.key.name}, m) {{", *statements, "}"])
    definitions = [
        guard(condition, entry.definition)
        for condition, entry in zip(conditions, registered, strict=True)
        if entry.definition
    ]
    if not definitions:
        return f"{text}\n"
    helpers = _structured_helpers(backend) if _has_structured(wrapped) else []
    body = "\n".join(["namespace {", "using namespace at;", *helpers, *definitions, "} // namespace", "", text])
    return enclose(f"{part.library.api}::registered_{backend.key.lower}", body) + "\n"


def _implementation(part: LibraryPart, entry: _Registered) -> str:
    """What `m.impl` takes: the kernel of an operator of others compares schemas first."""
    if part.library.defines_operators:
        return entry.expression
    schema = string_literal(f"{part.library.namespace}::{entry.function.schema.written_text}")
    return f"::opwright::implementation({string_literal(part.library.api)}, {schema}, {entry.expression})"


def _condition(function: NativeFunction, backend: Backend) -> str:
    """Condition of the kernel that a function has here: its own, or that of the overload whose kernel serves it."""
    group = function.group
    for member in (function, *(() if group is None else (group.out, group.functional))):
        if member in backend.kernels:
            return condition_of(backend.kernels[member])
    return ""


def _structured_helpers(backend: Backend) -> list[str]:
    return [
        "using ::opwright::check_inplace;",
        "using ::opwright::resize_out;",
        'C10_DIAGNOSTIC_PUSH_AND_IGNORED_IF_DEFINED("-Wunused-function")',
        *allocation_helpers(backend),
        "C10_DIAGNOSTIC_POP()",
    ]


def _registered_structured(
    function: NativeFunction, group: NativeFunctionsGroup, backend: Backend, context: FragmentContext
) -> _Registered:
    wrapper = structured_kernels.structured_wrapper(function, backend)
    definition = structured_kernels.definition(wrapper, group, backend, context)
    return _Registered(function, f"&{wrapper.name}", definition)


def _registered_function(
    function: NativeFunction, kind: WrapperKind, backend: Backend, *, has_own_signatures: bool
) -> _Registered:
    """A kernel of the dispatcher's type, or of its own, is registered itself; others have a wrapper.

    Registrations of pointers compile faster than those of functions, for functions of one type share their code.
    """
    if kind is WrapperKind.kernel and has_own_signatures:
        return _registered_as_declared(function, backend)
    if kind is WrapperKind.kernel and not _needs_wrapper(function, backend):
        if function in backend.callees:
            return _Registered(function, f"{backend.callees[function]}.pointer")
        kernel = backend.kernels[function]
        pointer = f"{function.library.operators}::{function.name.unambiguous}::ptr_schema"
        return _Registered(function, f"static_cast<{pointer}>(&{kernel.namespace}::{kernel.name})")
    wrapper = plain.plain_wrapper(function, kind, backend)
    return _Registered(function, f"&{wrapper.name}", plain.definition(wrapper, backend))


def _registered_as_declared(function: NativeFunction, backend: Backend) -> _Registered:
    """A kernel with a signature of its own, after the check of its arguments, if they are checked, on the stack."""
    kernel = backend.kernels[function]
    name = qualified_name(kernel.namespace, kernel.name)
    assertions = _own_assertions(function, name)
    check = backend.checks.get(function)
    if check is None:
        return _Registered(function, f"::opwright::own_signature<&{name}>()", assertions)
    arguments = function.arguments.all
    values = [
        f"  const c10::IValue& {argument.name} = torch::jit::peek(stack, {place}, {len(arguments)});"
        for place, argument in enumerate(arguments)
        if argument.type.is_tensor_like
    ]
    checking = f"check_{function.name.unambiguous}"
    definition = "\n".join(
        [f"void {checking}(const torch::jit::Stack& stack) {{", *values, f"  {check}", "}", assertions]
    )
    return _Registered(function, f"::opwright::checked_own_signature<&{name}, &{checking}>()", definition)


def _own_assertions(function: NativeFunction, kernel: str) -> str:
    """Comparison of a kernel with a signature of its own with the schema of its operator."""
    signature = dispatcher.signature(function)
    arguments = [(binding.name, binding.type.text) for binding in signature.bindings]
    results, operator = (signature.returns.text,) * 2, f"{function.namespace}::{function.name}"
    return kernel_assertions(kernel, function.name.unambiguous, operator, arguments, results, "::opwright::own")


def _needs_wrapper(function: NativeFunction, backend: Backend) -> bool:
    """Whether a wrapper converts arguments, checks them, or sets devices."""
    kernel = backend.kernels[function]
    if kernel_signature(function, kernel).type != dispatcher.signature(function).type:
        return True
    is_changed = function in backend.checks or function in backend.passed
    return is_changed or _handles_devices(function, backend) or backend.has_hooks(function)


def _handles_devices(function: NativeFunction, backend: Backend) -> bool:
    """Whether a wrapper checks or sets devices."""
    handling = backend.device_handling(function)
    return handling.check or handling.guard
