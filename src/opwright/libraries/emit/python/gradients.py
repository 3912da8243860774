"""Module `_autograd.py` of a library: the gradients of its operators, where C++ cannot register them.

Kernels for Autograd record a node for each call, as generated C++ does for libraries with the native interface.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from typing import Final

from opwright.convention.dispatcher import returned_arguments
from opwright.emit.checks import functional_form
from opwright.libraries.emit.math_bits import needs_kernels
from opwright.libraries.emit.parts import by_root, has_own_kernel
from opwright.libraries.emit.python.autograd_functions import RecordedCall, divided, redispatch
from opwright.libraries.emit.python.registrations import (
    PackageModule,
    operator_expression,
    parameters_of,
    passed_arguments,
    where_defined,
)
from opwright.libraries.entry_fields import library_fields, recording_operator
from opwright.libraries.operator_library import OperatorLibrary, PythonGradient, gives_list
from opwright.model.native_function import NativeFunction
from opwright.schema.function import Argument, SchemaKind
from opwright.schema.types import holds_tensors
from opwright.source.records import NamedTuple
from opwright.syntax.dispatcher_schemas import is_seen_by_dispatcher
from opwright.syntax.python import string_literal, variable_name


class _Recorded(NamedTuple):
    """A function that a package registers under Autograd, with its gradient, if that is not the one of another.

    `functional` is the form whose result can be copied to the argument that a function without formulas writes, and
    `copied` is the gradient of this form, if it has one.
    """

    function: NativeFunction
    gradient: PythonGradient | None
    functional: NativeFunction | None = None
    copied: PythonGradient | None = None


def _recorded(library: OperatorLibrary) -> list[_Recorded]:
    """Functions with formulas, and those without whose results or written arguments have a history."""
    if not library.is_stable:
        return []
    functions = library.catalog.functions
    gradients = {gradient.function: gradient for gradient in library.derivatives.python}
    with_formulas = {function: gradient for function, gradient in gradients.items() if gradient.formulas}
    operations = by_root(functions)
    recorded = []
    for function in functions:
        if function in with_formulas:
            recorded.append(_Recorded(function, gradients[function]))
        elif function in gradients or _has_history(function):
            gradient = gradients.get(function) or PythonGradient(function)
            functional = _copied_form(function, operations[function.root_name])
            copied = None if functional is None else with_formulas.get(functional)
            recorded.append(_Recorded(function, gradient, functional, copied))
    parts = [function for function in functions if library_fields(function).returned_from is not None]
    return recorded + [_Recorded(function, None) for function in parts] if recorded else []


def _has_history(function: NativeFunction) -> bool:
    """Whether Python records calls of a function without a formula: it is not made of functions that are recorded."""
    fields, arguments = library_fields(function), function.arguments
    if function.has_composite_implicit or fields.returned_from is not None or has_own_kernel(function, "Autograd"):
        return False
    takes = any(is_seen_by_dispatcher(argument.type) for argument in arguments.all)
    return bool(arguments.writes) or (takes and any(holds_tensors(result.type) for result in function.schema.returns))


def _texts(row: _Recorded) -> tuple[str]:
    function, gradient, functional, copied = row
    text = _part(function) if gradient is None else _text(gradient, functional, copied)
    return (where_defined(function, text),)


def _part(function: NativeFunction) -> str:
    """Registration of an operator that returns a part of what another one with a gradient returns."""
    whole = library_fields(function).returned_from
    assert whole is not None
    places = list(library_fields(function).returned)
    called = f'b"{function.namespace}::{whole.name.name}", b"{whole.name.overload}"'
    names = f'b"{function.namespace}", b"{function.name.text}", {called}'
    return f"if _fast:\n    _fast.opwright_register_part({names}, bytes({places}), {len(places)})\n"


def _text(gradient: PythonGradient, functional: NativeFunction | None, copied: PythonGradient | None) -> str:
    """Function that records an operator, its kernels, and their registrations."""
    function = gradient.function
    name = function.name.unambiguous
    # Names with two underscores in front would be others in a class.
    lines = [f"_redispatch_{name} = {operator_expression(function)}._handle.redispatch_boxed", "", ""]
    if gradient.formulas:
        lines += [*RecordedCall(gradient).lines(), "", ""]
    parameters, renaming = parameters_of(function)
    lines += [f"def _{name}_kernel(_keyset, {parameters}):", *[line.rstrip() for line in renaming]]
    lines += _kernel_body(gradient, copied)
    lines += ["", "", f'_library.impl("{function.name.text}", _{name}_kernel, "Autograd", with_keyset=True)']
    # Without a gradient, the kernel counts versions of what is written, and goes on.
    lines += ["if _fast:", f'    _fast.opwright_register(b"{function.namespace}", b"{function.name.text}")']
    if needs_kernels(function):
        lines += [f'_serve_bits("{function.name.text}", _redispatch_{name}, {operator_expression(function)}._schema)']
    lines.append("")
    if functional is not None:
        lines += _functionalized(function, functional)
    return "\n".join(lines)


def _kernel_body(gradient: PythonGradient, copied: PythonGradient | None) -> Iterator[str]:
    """Statements of the kernel. An in-place operator is recorded as a copy of what the functional form gives."""
    function = gradient.function
    if gradient.formulas:
        yield f"    if _is_recorded({_tensors_of(function)}):"
        if recording_operator(function) and not gradient.forward:
            yield f"        if _has_tangents(*_flatten([{_tensors_of(function)}])[0]):"
            yield f"            return {_call_recording(function)}"
        for name in gradient.left_out:
            texts = string_literal(function.name.name), string_literal(name), variable_name(name)
            yield f"        _check_left_out({', '.join(texts)})"
        plain, lists = divided(function)
        variables = ", ".join([variable_name(argument.name) for argument in function.arguments.all])
        keys = f"_OuterCalls(_keyset, {variables})" if gradient.kept else "_keyset"
        passed = [keys, *[variable_name(argument.name) for argument in plain]]
        items = [variable_name(argument.name) for argument in lists]
        if len(lists) > 1:
            passed.append(f"({', '.join([f'len({name})' for name in items])})")
        called = f"_record_{function.name.unambiguous}({', '.join([*passed, *[f'*{name}' for name in items]])})"
        if any(result.is_returned for result in gradient.kept):
            # Further outputs of the node are for the backward pass alone.
            called += f"[:{len(function.schema.returns)}]"
        yield f"        return {f'list({called})' if gives_list(function) else called}"
    else:
        written = [variable_name(argument.name) for argument in function.arguments.all if argument.is_write]
        yield from _unknown_history(function, written, copied)
        if written:
            yield f"    _changed({', '.join(written)})"
    yield "    with _below_autograd():"
    yield f"        return {redispatch(function, passed_arguments(function))}"


def _tensors_of(function: NativeFunction) -> str:
    """What tells whether an argument requires a gradient: PyTorch looks into lists that have only tensors in them."""
    arguments = [argument for argument in function.arguments.all if holds_tensors(argument.type)]
    return ", ".join(
        [
            name if argument.type.text in ("Tensor", "Tensor?", "Tensor[]") else f"*_flatten({name})[0]"
            for argument in arguments
            for name in [variable_name(argument.name)]
        ]
    )


def _unknown_history(function: NativeFunction, written: Sequence[str], copied: PythonGradient | None) -> Iterator[str]:
    """Statements for a call that would record a gradient, of an operator that has no formula itself."""
    tensors = _tensors_of(function)
    if function.arguments.out:
        message = (
            f"{function.name.name}(): functions with out=... arguments don't support automatic differentiation, "
            "but one of the arguments requires grad."
        )
        yield f"    if _would_record({tensors}):"
        yield f"        raise RuntimeError({string_literal(message)})"
    elif recording_operator(function):
        yield f"    if _is_recorded({tensors}):"
        yield f"        return {_call_recording(function)}"
    elif copied is not None and function.kind is SchemaKind.inplace:
        saved = {value.expression for formula in copied.formulas for value in formula.saved}
        yield f"    if _would_record({tensors}):"
        yield f"        return {_copy_of(function, copied.function, cloned=saved.intersection(written))}"
    else:
        name = string_literal(f"{function.namespace}::{function.name.name}")
        run = f"lambda: {redispatch(function, passed_arguments(function))}"
        passed = [name, run, f"[{tensors}]", *([f"[{', '.join(written)}]"] if written else [])]
        yield f"    if _is_recorded({tensors}):"
        yield f"        return _without_formula({', '.join(passed)})"


def _call_recording(function: NativeFunction) -> str:
    """Call of the operator that records a call with the gradients of the reference."""
    name, _, overload = recording_operator(function).partition(".")
    operator = f"getattr(_torch.ops.{function.namespace}.{name}, {string_literal(overload or 'default')})"
    return f"{operator}({', '.join(passed_arguments(function))})"


def _copied_form(function: NativeFunction, operation: Sequence[NativeFunction]) -> NativeFunction | None:
    """Functional form whose result can be copied to the argument that a function writes and returns.

    `operation` has the functions with the same root name.
    """
    functional = functional_form(function, operation)
    returned = returned_arguments(function.schema)
    if functional is None or len(functional.schema.returns) != 1 or len(returned) != 1 or returned[0] is None:
        return None
    return functional


def _copy_of(function: NativeFunction, functional: NativeFunction, cloned: Container[str] = ()) -> str:
    """Expression that copies what the functional form gives to the argument.

    Of the variables in `cloned` the form gets clones: the backward call reads them, and the operator overwrites them.
    """
    (written,) = returned_arguments(function.schema)
    assert written is not None

    def value_of(argument: Argument) -> str:
        name = variable_name(argument.name)
        return f"{name}.clone()" if name in cloned else name

    passed = passed_arguments(function, value_of, only={argument.name for argument in functional.arguments.all})
    return f"{variable_name(written)}.copy_({operator_expression(functional)}({', '.join(passed)}))"


def _functionalized(function: NativeFunction, functional: NativeFunction) -> Iterator[str]:
    """Kernel that `torch.compile` calls. PyTorch itself functionalizes what returns none of its arguments."""
    name = function.name.unambiguous
    parameters, renaming = parameters_of(function)
    yield f"def _{name}_functional({parameters}):"
    yield from [line.rstrip() for line in renaming]
    yield f"    return {_copy_of(function, functional)}"
    yield ""
    yield ""
    yield f'_library.impl("{function.name.text}", _{name}_functional, "Functionalize")'
    yield ""


MODULE: Final = PackageModule("autograd", _recorded, _texts, ("recording", "autograd"))
