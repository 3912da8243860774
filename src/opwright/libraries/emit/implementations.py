"""Functions that choose among several kernels of an operator for one dispatch key, in each call."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final, TypeAlias

from opwright.convention import dispatcher
from opwright.cpp.namespaces import enclose, qualified_name
from opwright.cpp.signature import Signature
from opwright.cpp.text import guard, string_literal
from opwright.cpp.translation import translated_call
from opwright.emit.aten.backend import kernel_signature
from opwright.emit.emitter import FragmentContext
from opwright.libraries import stable_convention as stable
from opwright.libraries.emit.checks import checked_kernels
from opwright.libraries.emit.parts import LibraryPart, Section
from opwright.libraries.emit.requirements import copied_arguments, layouts_of_taken
from opwright.libraries.kernels import KernelChoice, condition_of, implementations_of, is_checked, python_function
from opwright.model.library import Library
from opwright.model.native_function import Kernel, NativeFunction
from opwright.schema.function import FunctionSchema
from opwright.schema.names import OperatorName
from opwright.schema.types import ListType

#: What chooses, and the header with it.
IMPLEMENTATIONS_HEADER: Final = "opwright/implementations.h"
#: What calls Python functions, and other operators, with the stable interface.
STABLE_CALL_HEADER: Final = "opwright/stable_call.h"

#: The kernels of a function for one key, and the call of each as an expression.
_Calls: TypeAlias = Callable[[KernelChoice], str]


def chosen_kernels(functions: Iterable[NativeFunction]) -> Iterator[tuple[NativeFunction, Kernel]]:
    """Functions with several kernels for a key, each with the kernel that chooses."""
    for function, kernel in _called_kernels(functions):
        if not is_checked(kernel):
            yield function, kernel


def _called_kernels(functions: Iterable[NativeFunction]) -> Iterator[tuple[NativeFunction, Kernel]]:
    """Functions whose kernel chooses among several, and those whose kernel in Python is checked in C++ before."""
    for function in functions:
        for kernel in function.kernels.values():
            if implementations_of(kernel) and not python_function(kernel) and not function.manual_kernel_registration:
                yield function, kernel


def python_operator(function: NativeFunction, choice: KernelChoice) -> str:
    """Name of the operator by which C++ calls a Python function.

    >>> from opwright.model.dispatch_key import CPU
    >>> import opwright
    >>> python_operator(opwright.load()["add.Tensor"], KernelChoice(Kernel(CPU, "fast", "", False), "", 0, "m:fast"))
    '_add_Tensor_CPU_fast'
    """
    return f"_{function.name.unambiguous}_{choice.kernel.key.name}_{choice.kernel.name}"


def _python_choices(functions: Iterable[NativeFunction]) -> Iterator[tuple[NativeFunction, KernelChoice]]:
    """The Python functions that C++ chooses, each with its overload."""
    for function, kernel in _called_kernels(functions):
        for choice in implementations_of(kernel):
            if choice.python:
                yield function, choice


def calls_python(functions: Iterable[NativeFunction]) -> bool:
    """Whether C++ chooses a Python function among the kernels of some functions."""
    return any(True for _ in _python_choices(functions))


def place_of(function: NativeFunction, kernel: Kernel) -> str:
    """What the implementations for a key of an overload are called where one of them is forced."""
    return f"{function.name.text}/{kernel.key.name}"


def section(part: LibraryPart, context: FragmentContext) -> Section:
    """Functions that choose; and in the first part of a library the operator that forces a kernel."""
    checked = checked_kernels(part)
    in_python = list(_python_choices(part.functions))
    texts = [_python_call(function, choice) for function, choice in in_python]
    for function, kernel in _called_kernels(part.functions):
        texts += _native_texts(function, kernel, checked)
    if not texts and not part.forces_implementations:
        return Section()
    force = _FORCE if part.forces_implementations else ""
    text = _in_namespace(part.library, texts, force) + _python_definitions(part.library, in_python, "")
    return Section((IMPLEMENTATIONS_HEADER, *(["c10/core/DispatchKeySet.h"] if in_python else [])), text)


def _python_call(function: NativeFunction, choice: KernelChoice) -> str:
    """Function that calls a Python function. The operator has a kernel for this key, whatever came before it."""
    signature, operator = dispatcher.signature(function), python_operator(function, choice)
    # A composite kernel runs under any key of a device.
    key = choice.kernel.key.name if choice.kernel.key.device is not None else "CPU"
    passed = ", ".join(
        [f"c10::DispatchKeySet(c10::DispatchKey::{key})", *[binding.name for binding in signature.bindings]]
    )
    return "\n".join(
        [
            f"{signature.definition(operator)} {{",
            "  static auto op = c10::Dispatcher::singleton()",
            f'      .findSchemaOrThrow("{function.namespace}::{operator}", "")',
            f"      .typed<{function.library.operators}::{function.name.unambiguous}::schema>();",
            f"  return op.redispatch({passed});",
            "}",
        ]
    )


def _python_definitions(library: Library, in_python: list[tuple[NativeFunction, KernelChoice]], prefix: str) -> str:
    """Operators by which C++ calls Python functions; Python registers their kernels."""
    lines = []
    for function, choice in in_python:
        name = OperatorName(python_operator(function, choice))
        schema = FunctionSchema(name, function.arguments, function.schema.returns)
        lines.append(f"  m.def({string_literal(str(schema))});\n")
    return f"\n{prefix}TORCH_LIBRARY_FRAGMENT({library.namespace}, m) {{\n{''.join(lines)}}}\n" if lines else ""


def _in_namespace(library: Library, texts: list[str], force: str) -> str:
    """Functions of a source file, and what one of the files has for all: the operator that forces a kernel."""
    lines = ["std::vector<::opwright::Implementations*>& all_implementations();"]
    lines += ["namespace {", *texts, "} // namespace"] if texts else []
    lines += [_ALL] if force else []
    forced = force.format(namespace=library.namespace, scope=library.implementations)
    return enclose(library.implementations, "\n".join(lines)) + f"\n{forced}"


_ALL: Final = """\
std::vector<::opwright::Implementations*>& all_implementations() {
  static std::vector<::opwright::Implementations*> all;
  return all;
}"""

_FORCE: Final = """
TORCH_LIBRARY_FRAGMENT({namespace}, m) {{
  m.def("_force_implementation(str place, int number) -> int", [](std::string place, int64_t number) {{
    return ::opwright::Implementations::force(::{scope}::all_implementations(), place, number);
  }});
}}
"""

_FORCE_STABLE: Final = """
namespace {{
int64_t opwright_force_implementation(std::string place, int64_t number) {{
  return ::opwright::Implementations::force(::{scope}::all_implementations(), place, number);
}}
}} // namespace
STABLE_TORCH_LIBRARY_FRAGMENT({namespace}, m) {{
  m.def("_force_implementation(str place, int number) -> int");
}}
STABLE_TORCH_LIBRARY_IMPL({namespace}, CompositeImplicitAutograd, m) {{
  m.impl("_force_implementation", TORCH_BOX(&opwright_force_implementation));
}}
"""


def _native_texts(
    function: NativeFunction, kernel: Kernel, checked: Mapping[tuple[NativeFunction, Kernel], str]
) -> list[str]:
    signature = kernel_signature(function, kernel)

    def call(choice: KernelChoice) -> str:
        choice_kernel = choice.kernel
        if choice.python:
            wanted = dispatcher.signature(function).bindings
            return translated_call(python_operator(function, choice), signature.bindings, wanted)
        callee = checked.get((function, choice_kernel)) or qualified_name(choice_kernel.namespace, choice_kernel.name)
        return translated_call(callee, signature.bindings, kernel_signature(function, choice_kernel).bindings)

    return _texts(function, kernel, signature, call)


def takes_over(kernel: Kernel) -> bool:
    """Whether a Python function takes over the calls of a kernel, with their tensors, once C++ has checked them.

    That is for the stable interface. Composite kernels also get batched tensors, which are not checked.
    """
    return is_checked(kernel) and not kernel.key.is_composite


def taking_over(function: NativeFunction, kernel: Kernel, name: str, statements: Iterable[str]) -> str:
    """Function that checks a call and lets a Python function take it over."""
    copied, taken, passed = copied_arguments(function), [], []
    for place, (argument, binding) in enumerate(
        zip(function.arguments.all, stable.signature(function).bindings, strict=True)
    ):
        is_tensor = argument.type.is_tensor_like and not isinstance(argument.type, ListType)
        owner = binding.name if is_tensor else f"opwright_{binding.name}"
        type = binding.type.text
        taken.append(f"auto {owner} = ::opwright::stable_call::taken<{type}>(opwright_stack[{place}]);")
        if is_tensor:
            passed.append(binding.name)
        else:
            taken.append(f"const {type} {binding.name} = {owner};")
            passed.append(copied.get(argument.name, binding.name))
    operator = string_literal(f"{function.namespace}::{python_operator(function, implementations_of(kernel)[0])}")
    call = f"::opwright::call_instead({', '.join([operator, 'opwright_stack', *passed])});"
    body = "".join([f"  {line}\n" for line in (*taken, *statements, *layouts_of_taken(function), call)])
    return f"void {name}(StableIValue* opwright_stack, uint64_t, uint64_t) {{\n{body}}}"


def stable_text(library: Library, functions: Iterable[NativeFunction]) -> str:
    """Functions that choose, for a library with the stable interface; empty if it has none."""
    functions, texts = list(functions), []
    for function, kernel in _called_kernels(functions):
        if takes_over(kernel):
            continue
        signature = stable.signature(function)
        passed = ", ".join([binding.name for binding in signature.bindings])
        calls = {
            implementation: f"{_stable_callee(function, implementation, signature)}{passed})"
            for implementation in implementations_of(kernel)
        }
        texts += _texts(function, kernel, signature, calls.__getitem__)
    force = _FORCE_STABLE if any(True for _ in chosen_kernels(functions)) else ""
    return _in_namespace(library, texts, force) if texts else ""


def stable_definitions(library: Library, functions: Iterable[NativeFunction]) -> str:
    """Operators by which C++ calls Python functions with the stable interface; empty if it calls none."""
    return _python_definitions(library, list(_python_choices(functions)), "STABLE_").lstrip()


def _stable_callee(function: NativeFunction, choice: KernelChoice, signature: Signature) -> str:
    """Call of a kernel up to its arguments. C++ calls a Python function as an operator."""
    if not choice.python:
        return f"{qualified_name(choice.kernel.namespace, choice.kernel.name)}("
    name = f"{function.namespace}::{python_operator(function, choice)}"
    return f'::opwright::call<{signature.returns.text}>("{name}", ""{", " if signature.bindings else ""}'


def _texts(function: NativeFunction, kernel: Kernel, signature: Signature, call: _Calls) -> list[str]:
    """Object that knows which kernel is forced, and the function that chooses, or calls the only one."""
    if is_checked(kernel):
        only = call(implementations_of(kernel)[0])
        return [guard(condition_of(kernel), f"{signature.definition(kernel.name)} {{\n  return {only};\n}}")]
    choice = f"{kernel.name}_choice"
    names = ", ".join([string_literal(implementation.kernel.name) for implementation in implementations_of(kernel)])
    operator = string_literal(f"{function.namespace}::{function.name.name}")
    place = string_literal(place_of(function, kernel))
    steps = [
        guard(
            condition_of(implementation.kernel) if condition_of(implementation.kernel) != condition_of(kernel) else "",
            _step(number, implementation, call),
        )
        for number, implementation in enumerate(implementations_of(kernel))
    ]
    definition = "\n".join(
        [
            f"::opwright::Implementations {choice}(all_implementations(), {operator}, {place}, {{{names}}});",
            f"{signature.definition(kernel.name)} {{",
            f"  const int64_t opwright_forced = {choice}.forced();",
            *steps,
            f"  {choice}.refuse(opwright_forced);",
            "}",
        ]
    )
    return [guard(condition_of(kernel), definition)]


def _step(number: int, choice: KernelChoice, call: _Calls) -> str:
    """Statement that calls a kernel if it serves the call."""
    forced = f"opwright_forced == {number}"
    serves = f"opwright_forced < 0 ? bool({choice.when}) : {forced}"
    condition = serves if choice.when else f"opwright_forced < 0 || {forced}"
    return f"  if ({condition}) {{\n    return {call(choice)};\n  }}"
