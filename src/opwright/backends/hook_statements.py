"""Statements around the call of a kernel: hooks of backend files and plug-ins, and the CPU's kernel if it fails.

Statements in place of a call run as the body of a function object if something else is around them, so hooks nest: the
first hook of the file is the outermost one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from typing import Final

from opwright.backends.extensions import PLACEHOLDER
from opwright.backends.hooks import Hook, HookPosition, Implementation
from opwright.convention import dispatcher
from opwright.cpp.text import indent
from opwright.emit.aten.backend import Backend, KernelWrapper
from opwright.model.library import PYTORCH
from opwright.model.native_function import NativeFunction
from opwright.source.records import NamedTuple

#: The boxed function of generated sources that runs the CPU's kernel of an operator.
FALLBACK_FUNCTION: Final = "run_on_cpu"

#: What declares the result that hooks of functions without one get.
_HEADER: Final = "opwright/hooks.h"
_RESULT: Final = "opwright_result"
_NO_RESULT: Final = "::opwright::no_result"
#: The values that functions get as expressions, all others as strings.
_EXPRESSIONS: Final = ("arguments", "tensors", "result", "call")


def hook_headers(hooks: Iterable[Hook]) -> list[str]:
    """The headers of Opwright that the code of hooks needs."""
    return [_HEADER] if any("result" in hook.passes or "{result}" in hook.text for hook in hooks) else []


class Surroundings(NamedTuple):
    """What is around the call of a wrapper's kernel: hooks, the first of which is the outermost one.

    With `cpu_on_error`, the wrapper runs the CPU's kernel if the call throws.
    """

    hooks: tuple[Hook, ...]
    cpu_on_error: bool


def statements_before_check(wrapper: KernelWrapper, backend: Backend, hooks: Iterable[Hook]) -> str:
    """Lines of a wrapper before the device check; empty if no hook has any."""
    before = [hook for hook in hooks if hook.position is HookPosition.before_check]
    if not before:
        return ""
    values = hook_values(wrapper, backend)
    return indent("\n".join([_hook_text(hook, values) for hook in before])) + "\n"


def surrounded_statements(
    wrapper: KernelWrapper, backend: Backend, surroundings: Surroundings, body: str, call: str
) -> str:
    """Statements of a wrapper from those that compute and return its result, which may be those of a call alone."""
    if call:
        body = f"return {call};"
    else:
        call = _closure_call(body, wrapper)
    values = hook_values(wrapper, backend)
    if surroundings.cpu_on_error:
        body = _with_fallback(wrapper, backend, call)
        call = _closure_call(body, wrapper)
    by_position: dict[HookPosition, list[Hook]] = {position: [] for position in HookPosition}
    for hook in surroundings.hooks:
        by_position[hook.position].append(hook)
    for hook in reversed(by_position[HookPosition.around]):
        body = _hook_text(hook, {**values, "call": call})
        call = _closure_call(body, wrapper)
    before = [_hook_text(hook, values) for hook in by_position[HookPosition.before]]
    after = [_hook_text(hook, values) for hook in by_position[HookPosition.after]]
    if after:
        returned = f"\nreturn {_RESULT};" if _has_result(wrapper) else ""
        first = f"decltype(auto) {_RESULT} = {call};" if _has_result(wrapper) else f"{call};"
        body = "\n".join([first, *after]) + returned
    return indent("\n".join([*before, body]))


def applies(hook: Hook, function: NativeFunction, backend: Backend, implementation: Implementation) -> bool:
    """Whether a hook of a file is one of the wrapper of an overload that is implemented so."""
    if hook.kinds and implementation not in hook.kinds:
        return False
    if hook.keys and not {backend.key.name, backend.display_name} & {*hook.keys}:
        return False
    names = (function.name.text, f"{function.namespace}::{function.name.text}")
    return not hook.names or any(fnmatchcase(name, pattern) for name in names for pattern in hook.names)


def hook_values(wrapper: KernelWrapper, backend: Backend) -> dict[str, str]:
    """What hooks may refer to, except the call."""
    function = wrapper.function
    arguments = function.arguments.all
    return {
        "name": f"{function.namespace}::{function.name.text}",
        "namespace": function.namespace,
        "operator": function.name.name,
        "overload": function.name.overload,
        "key": backend.key.name,
        "wrapper": wrapper.name,
        "returns": wrapper.signature.returns.text,
        "arguments": ", ".join([argument.name for argument in arguments]),
        "tensors": ", ".join([argument.name for argument in arguments if argument.type.is_tensor_like]),
        "result": _RESULT if _has_result(wrapper) else _NO_RESULT,
    }


def _has_result(wrapper: KernelWrapper) -> bool:
    return bool(wrapper.function.schema.returns)


def _hook_text(hook: Hook, values: Mapping[str, str]) -> str:
    if not hook.call:
        return filled_text(hook.text, values).rstrip("\n")
    is_around = hook.position is HookPosition.around
    closure = f"[&]() -> {values['returns']} {{ return {values['call']}; }}" if is_around else ""
    passes = [*hook.passes, "call"] if is_around and "call" not in hook.passes else hook.passes
    passed = {**values, "call": closure}
    texts = [passed[name] if name in _EXPRESSIONS else f'"{passed[name]}"' for name in passes]
    arguments = ", ".join(filter(None, texts))
    return f"{'return ' if is_around else ''}{hook.call}({arguments});"


def filled_text(text: str, values: Mapping[str, str]) -> str:
    """A text with values in place of their names in braces; other braces stay as they are."""
    return PLACEHOLDER.sub(lambda match: values.get(match[1], match[0]), text)


def _with_fallback(wrapper: KernelWrapper, backend: Backend, call: str) -> str:
    """Statements that run the CPU's kernel if a call throws one of PyTorch's errors."""
    function = wrapper.function
    name = f"{function.namespace}::{function.name.text}"
    symint = "_symint" if wrapper.signature is dispatcher.signature(function) else ""
    fallback = f"at::native::call_fallback_fn{symint}<&{FALLBACK_FUNCTION}, {operator_class(function)}>::call"
    return (
        f"try {{\n  return {call};\n"
        "} catch (const c10::Error& error) {\n"
        f'  TORCH_WARN_ONCE("`{name}` runs on the CPU, because its kernel for {backend.display_name} failed: ",\n'
        "      error.what_without_backtrace());\n"
        f"  return {fallback}({wrapper.signature.arguments});\n"
        "}"
    )


def operator_class(function: NativeFunction) -> str:
    """The C++ class with the name and the type of an operator."""
    if function.namespace == PYTORCH.namespace:
        return f"{PYTORCH.operators}::{function.name.unambiguous}"
    return f"at::{_own_class(function)}"


def operator_class_definition(function: NativeFunction) -> str:
    """Definition of that class in a source, for an operator for which PyTorch has none; empty for others."""
    if function.namespace == PYTORCH.namespace:
        return ""
    signature = dispatcher.signature(function)
    return (
        f"namespace at {{ namespace {{\nstruct {_own_class(function)} {{\n"
        f"  using schema = {signature.type};\n"
        f'  static constexpr const char* name = "{function.namespace}::{function.name.name}";\n'
        f'  static constexpr const char* overload_name = "{function.name.overload}";\n'
        f"  static {signature.definition('call')} {{\n"
        "    static const auto handle =\n"
        "        c10::Dispatcher::singleton().findSchemaOrThrow(name, overload_name).typed<schema>();\n"
        f"    return handle.call({signature.arguments});\n"
        "  }\n};\n} } // anonymous namespace of at\n"
    )


def _own_class(function: NativeFunction) -> str:
    return f"operator_{function.namespace}_{function.name.unambiguous}"


def _closure_call(body: str, wrapper: KernelWrapper) -> str:
    """An expression that runs statements and has the value that they return."""
    return f"[&]() -> {wrapper.signature.returns.text} {{\n{indent(body)}\n}}()"
