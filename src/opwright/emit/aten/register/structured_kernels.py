"""Wrappers of structured kernels.

Each of the functional, in-place and out overloads has a class that derives from the kernel's class, and provides the
outputs that `meta` sets. The wrapper creates an object of the class, calls `meta` and `impl`, and returns the outputs.
Under `Meta` there is no `impl`. Under `CompositeExplicitAutogradNonFunctional` the wrapper calls the out overload
instead.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Final

from opwright.convention import native, public_api, structured
from opwright.cpp import c_types
from opwright.cpp.binding import Expression
from opwright.cpp.translation import AvailableValue, Untranslatable, translate
from opwright.emit.aten import native_aot
from opwright.emit.aten.backend import Backend, KernelWrapper, WrapperKind
from opwright.emit.aten.register.devices import device_check, structured_guard
from opwright.emit.emitter import FragmentContext
from opwright.model.dispatch_key import COMPOSITE_EXPLICIT_NON_FUNCTIONAL, META, DispatchKey
from opwright.model.native_function import Kernel, NativeFunction, NativeFunctionsGroup, TypeStyle
from opwright.schema.function import Argument, SchemaKind
from opwright.schema.types import TENSOR
from opwright.source import codes
from opwright.source.diagnostic import Fault
from opwright.source.records import NamedTuple


class OutputClass(NamedTuple):
    """Class that provides the outputs of one overload.

    `inherits`: a parent class keeps track of outputs too, so the class calls the parent's methods. `guard` is the type
    of the class's device guard, or empty; `moves_guard`: outputs move the guard to their device. `names`: outputs may
    have dimension names.
    """

    name: str
    parent: str
    kind: SchemaKind
    outputs: int
    inherits: bool
    guard: str
    moves_guard: bool
    names: bool
    passes_proxies: bool = False


def structured_wrapper(function: NativeFunction, backend: Backend) -> KernelWrapper:
    """Wrapper of an overload with a structured kernel."""
    kernel = backend.kernels.get(function)
    symint = kernel is not None and kernel.symint
    signature = native.symint_signature(function) if symint else native.signature(function)
    name = f"wrapper_{backend.display_name}_{signature.name}"
    return KernelWrapper(function, WrapperKind.structured, name, signature)


def output_class(
    function: NativeFunction, group: NativeFunctionsGroup, backend: Backend, context: FragmentContext
) -> OutputClass:
    """Class of one overload under one backend."""
    name, parent = _class_names(group, backend)
    # Kernels write to proxies of outputs, which have the strides that they need. In-place wrappers of PyTorch pass
    # `self`, and then overwrite it with the proxy, which has no values.
    passes_self = not backend.external and not function.library.takes_any_schema
    passes_proxies = function.kind is SchemaKind.out or (function.kind is SchemaKind.inplace and not passes_self)
    has_guard = backend.device_handling(function).guards_outputs
    return OutputClass(
        name=f"{name}_{function.kind.name}",
        parent=parent,
        kind=function.kind,
        outputs=len(function.schema.returns),
        inherits=group.out.structured_inherits is not None,
        guard=structured_guard(backend, rocm=context.options.rocm, rules=context.rules) if has_guard else "",
        moves_guard=backend.moves_guard and has_guard,
        names=context.rules.set_output_takes_names,
        passes_proxies=passes_proxies,
    )


def _class_names(group: NativeFunctionsGroup, backend: Backend) -> tuple[str, str]:
    suffix = backend.key.generated_suffix
    if suffix:
        name = f"structured_{structured.meta_name(group)}"
        return f"{name}_{suffix}", f"{group.library.meta}::{name}"
    return f"structured_{_group_kernel(group, backend).name}", structured_parent(group, backend)


def structured_parent(group: NativeFunctionsGroup, backend: Backend) -> str:
    """Class of a group's structured kernel."""
    kernel = _group_kernel(group, backend)
    return backend.callees.get(group.out) or f"{backend.owner(kernel)}::structured_{kernel.name}"


def _group_kernel(group: NativeFunctionsGroup, backend: Backend) -> Kernel:
    kernel = backend.kernel(group)
    assert kernel is not None, "a group without a kernel has no structured wrappers"
    return kernel


_MOVE_GUARD: Final = """\
        auto current_device = guard_.current_device();
        if (C10_UNLIKELY(current_device.has_value())) {
          TORCH_INTERNAL_ASSERT(*current_device == options.device(),
            "structured kernels don't support multi-device outputs");
        } else {
          guard_.reset_device(options.device());
        }
"""
_CREATE: Final = "        outputs_[output_idx] = create_out(sizes, strides, options);\n"
_CHECK_INPLACE: Final = """\
        const auto& out = outputs_[output_idx].get();
        check_inplace(out, sizes, options);
"""
_RESIZE: Final = """\
        const auto& out = outputs_[output_idx].get();
        resize_out(out, sizes, strides, options);
"""
_PROXY: Final = """\
        auto maybe_proxy = maybe_create_proxy(out, sizes, strides, options);
        if (C10_UNLIKELY(maybe_proxy.has_value())) {
            proxy_outputs_[output_idx] = std::move(maybe_proxy).value();
        }
"""
_PROPAGATE_NAMES: Final = """\
        if (!names.empty()) {
          namedinference::propagate_names(outputs_[output_idx], names);
        }
"""
_PARENT_LAST: Final = """\
        // super must happen after, so that downstream can use maybe_get_output
        // to retrieve the output
"""

#: The statements that provide an output, by the kind of the overload.
_PROVIDES: Final = {
    SchemaKind.functional: _CREATE,
    SchemaKind.inplace: _CHECK_INPLACE,
    SchemaKind.out: _RESIZE,
}


def print_class(output: OutputClass) -> str:
    """The class's definition."""
    bodies = provision(output, replaces=True), provision(output, replaces=False)
    return class_with(output, constructor(output), setters(output, *bodies))


def class_with(output: OutputClass, constructor: str, setters: str) -> str:
    """The class's definition with this constructor, and with these methods that `meta` calls."""
    result = "outputs_[output_idx]"
    if output.kind is not SchemaKind.functional:
        result = f"proxy_outputs_[output_idx].has_value() ? *proxy_outputs_[output_idx] : {result}.get()"
    return (
        f"struct {output.name} final : public {output.parent} {{\n"
        f"{constructor}{setters}"
        "    const Tensor& maybe_get_output(int64_t output_idx) override {\n"
        f"      return {result};\n"
        "    }\n"
        f"{_fields(output)}"
        "};"
    )


def constructor(output: OutputClass) -> str:
    """Constructor of the class, with its line break; nothing if there is nothing to construct from."""
    if output.kind is SchemaKind.functional:
        return ""
    if output.kind is SchemaKind.inplace:
        return f"    {output.name}(Tensor& self) : outputs_{{std::ref(self)}} {{}}\n"
    outs = [f"out{index}" for index in range(output.outputs)]
    parameters = ", ".join([f"Tensor& {out}" for out in outs])
    references = ", ".join([f"std::ref({out})" for out in outs])
    return f"    {output.name}({parameters}) : outputs_{{ {references} }} {{}}\n"


def provision(output: OutputClass, *, replaces: bool) -> str:
    """Statements that provide an output; with `replaces`, a proxy replaces one whose strides do not fit."""
    proxy = _PROXY if replaces and output.kind is not SchemaKind.functional else ""
    return f"{_MOVE_GUARD if output.moves_guard else ''}{_PROVIDES[output.kind]}{proxy}"


def setters(output: OutputClass, strided: str, raw_strided: str) -> str:
    """Methods that `meta` calls with the sizes and options of an output, with the statements that provide it."""
    return f"{_setter(output, 'strided', strided)}{_setter(output, 'raw_strided', raw_strided)}"


def _setter(output: OutputClass, strides: str, body: str) -> str:
    """One of these methods. `strides` is the end of its name."""
    names, passed = (", DimnameList names", ", names") if output.names else ("", "")
    parent = f"{output.parent}::set_output_raw_strided(output_idx, sizes, strides, options{passed});"
    return (
        f"    void set_output_{strides}(\n"
        "        int64_t output_idx, IntArrayRef sizes, IntArrayRef strides,\n"
        f"        TensorOptions options{names}\n"
        "    ) override {\n"
        f"{body}"
        f"{_PROPAGATE_NAMES if output.names else ''}{_PARENT_LAST}"
        f"{f'        {parent}{chr(10)}' if output.inherits else ''}"
        "    }\n"
    )


def _fields(output: OutputClass) -> str:
    guard = f"    {output.guard} guard_;\n" if output.guard else ""
    if output.kind is SchemaKind.functional:
        return f"    std::array<Tensor, {output.outputs}> outputs_;\n{guard}"
    return (
        f"    std::array<std::reference_wrapper<Tensor>, {output.outputs}> outputs_;\n"
        f"    std::array<::std::optional<Tensor>, {output.outputs}> proxy_outputs_;\n{guard}"
    )


def definition(
    wrapper: KernelWrapper,
    group: NativeFunctionsGroup,
    backend: Backend,
    context: FragmentContext,
    print_output: Callable[[OutputClass], str] = print_class,
) -> str:
    """Class of the overload and the wrapper that uses it."""
    output = output_class(wrapper.function, group, backend, context)
    checks = backend.device_guard or backend.device_handling(wrapper.function).check
    check = f"{device_check(wrapper.function, wrapper.name, backend)}\n" if checks else ""
    body = structured_body(wrapper, output, group, backend.key, context)
    return (
        f"{print_output(output)}\n"
        f"{wrapper.signature.definition(wrapper.name)} {{\n"
        f"{backend.first_statements(wrapper)}{check}{backend.surrounded(wrapper, body)}\n"
        "}"
    )


def structured_body(
    wrapper: KernelWrapper, output: OutputClass, group: NativeFunctionsGroup, key: DispatchKey, context: FragmentContext
) -> str:
    """Statements of a wrapper: an object of the class of its outputs, the calls, and the result."""
    function = wrapper.function
    taken = {SchemaKind.functional: "", SchemaKind.inplace: "(self)"}.get(
        function.kind, f"({_names(function.arguments.out)})"
    )
    return (
        f"{output.name} op{taken};\n{_run(wrapper, output, group, key, context)}return {_result_expression(function)};"
    )


def _names(arguments: Sequence[Argument]) -> str:
    return ", ".join([argument.name for argument in arguments])


def check_tensor_outputs(group: NativeFunctionsGroup) -> None:
    """Raise Fault if an out argument of a structured group is not a tensor, because `meta` sets only tensors."""
    for argument in group.out.arguments.out:
        if argument.type is not TENSOR:
            message = (
                f"out argument `{argument.name}` of structured `{group.out.name}` is not a tensor but `{argument.type}`"
            )
            raise Fault.at(codes.STRUCTURED_OUTPUT, message, group.out.entry)


def check_arguments(group: NativeFunctionsGroup) -> None:
    """Raise Fault if wrappers cannot pass an argument of a structured group to `meta`, because of its type."""
    for argument in group.functional.arguments.non_out:
        if not _reaches_meta(argument, group.functional.style):
            message = f"argument `{argument.name}` of structured `{group.out.name}` cannot be `{argument.type}`"
            raise Fault.at(codes.STRUCTURED_ARGUMENT, message, group.out.entry)


@cache
def _reaches_meta(argument: Argument, style: TypeStyle) -> bool:
    """Whether a wrapper with types of that style can pass an argument to `meta`."""
    wanted = structured.binding(argument)
    for symint in (False, True):
        available = native.binding(argument, symint=symint, style=style, keeps_default=False)
        try:
            translate((available,), (wanted,))
        except Untranslatable:
            return False
    return True


def _run(
    wrapper: KernelWrapper, output: OutputClass, group: NativeFunctionsGroup, key: DispatchKey, context: FragmentContext
) -> str:
    """Calls of `meta` and `impl`, and the copies of proxies into the outputs that they replace."""
    function, precomputed = wrapper.function, group.out.precomputed
    check_tensor_outputs(group)
    available: tuple[AvailableValue, ...] = wrapper.signature.bindings
    lines = [f"op.meta({', '.join(translate(available, structured.meta_arguments(group)))});"]
    if precomputed is not None:
        lines = [f"auto precompute = {lines[0]}", "(void)precompute;"]
        bindings = [structured.binding(value) for value in precomputed.values]
        available += tuple([Expression(f"precompute.{item.name}", item.role, item.type) for item in bindings])
    form = "op.maybe_get_output({})" if output.passes_proxies else "op.outputs_[{}]"
    tensor = c_types.mut_ref(c_types.TENSOR)
    outs = enumerate(structured.out_arguments(group))
    available += tuple([Expression(form.format(index), binding.role, tensor) for index, binding in outs])
    if key is COMPOSITE_EXPLICIT_NON_FUNCTIONAL:
        prefix = public_api.MANUAL_PREFIX if function.manual_cpp_binding else ""
        name = prefix + public_api.name(group.out.schema, faithful=True)
        wanted = public_api.function_signatures(group.out).most_faithful.bindings
        lines.append(f"{group.library.api}::{name}({', '.join(translate(available, wanted))});")
    elif key is not META:
        passed = ", ".join(translate(available, structured.impl_arguments(group)))
        aot_kernel = native_aot.kernel_for(group, key, context)
        lines.append(f"op.impl({passed});" if aot_kernel is None else native_aot.attempt(aot_kernel, passed))
    if function.kind is not SchemaKind.functional:
        lines += [
            f"if (op.proxy_outputs_[{index}].has_value()) "
            f"op.outputs_[{index}].get().copy_(*op.proxy_outputs_[{index}]);"
            for index in range(len(function.schema.returns))
        ]
    return "\n".join(lines) + "\n"


def _result_expression(function: NativeFunction) -> str:
    if function.kind is SchemaKind.inplace:
        return "self"
    count = len(function.schema.returns)
    if function.kind is SchemaKind.functional:
        if count == 1:
            return "std::move(op.outputs_[0])"
        moved = ", ".join([f"std::move(op.outputs_[{index}])" for index in range(count)])
        return f"std::make_tuple({moved})"
    outs = function.arguments.out
    return outs[0].name if count == 1 else f"std::forward_as_tuple({_names(outs)})"
