"""Module `_autograd.py` of a library: the gradients of its operators, where C++ cannot register them.

Kernels for Autograd record a node for each call, as generated C++ does for libraries with the native interface.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence

from opwright.convention.dispatcher import returned_arguments
from opwright.emit.aten.functional_forms import by_root, functional_form
from opwright.emit.autograd.kernels import recording_operator
from opwright.emit.emitter import AnyEmitter, FragmentContext, Job, Slots
from opwright.libraries.emit.math_bits import needs_kernels
from opwright.libraries.emit.openings import NAMESPACE, opening
from opwright.libraries.emit.parts import has_own_kernel
from opwright.libraries.emit.python.autograd_functions import RecordedCall, divided, redispatch
from opwright.libraries.emit.python.registrations import (
    module_emitter,
    operator_expression,
    parameters_of,
    passed_arguments,
    where_defined,
)
from opwright.libraries.operator_library import OperatorLibrary, PythonGradient, RunLibraries, gives_list
from opwright.model.native_function import NativeFunction
from opwright.schema.function import Argument, SchemaKind
from opwright.schema.types import holds_tensors, is_seen_by_dispatcher
from opwright.source.records import NamedTuple
from opwright.syntax.python import string_literal, variable_name


class _Gradients(NamedTuple):
    """Gradients of a package."""

    package: str
    namespace: str
    gradients: tuple[PythonGradient, ...]
    functions: tuple[NativeFunction, ...]


def _packages(job: Job) -> Sequence[_Gradients]:
    return [
        _Gradients(library.python_package, library.library.namespace, gradients, library.catalog.functions)
        for library in job.of(RunLibraries).libraries
        if (gradients := registered_gradients(library))
    ]


def registered_gradients(library: OperatorLibrary) -> tuple[PythonGradient, ...]:
    """What a package registers under Autograd: formulas, and what operators without formulas return or write."""
    if not library.is_stable or library.owner is not None:
        return ()
    gradients = {gradient.function: gradient for gradient in library.derivatives.python}
    return tuple(
        [
            gradients.get(function) or PythonGradient(function)
            for function in library.catalog.functions
            if function in gradients or _has_history(function)
        ]
    )


def _has_history(function: NativeFunction) -> bool:
    """Whether Python records calls of a function without a formula: it is not made of functions that are recorded."""
    fields, arguments = function.library_fields, function.arguments
    if function.has_composite_implicit or fields.returned_from is not None or has_own_kernel(function, "Autograd"):
        return False
    takes = any(is_seen_by_dispatcher(argument.type) for argument in arguments.all)
    return bool(arguments.writes) or (takes and any(holds_tensors(result.type) for result in function.schema.returns))


def _module(unit: _Gradients, context: FragmentContext) -> Slots:
    operations = by_root(unit.functions)
    recorded = {gradient.function: gradient for gradient in unit.gradients if gradient.formulas}
    texts = []
    for gradient in unit.gradients:
        function = gradient.function
        functional = _copied_form(function, operations[function.root_name]) if not gradient.formulas else None
        copied = None if functional is None else recorded.get(functional)
        texts.append(where_defined(function, _text(gradient, functional, copied)))
    texts += [where_defined(function, text) for function in unit.functions if (text := _part(function))]
    return {"text": "\n\n".join([opening("recording", "autograd", values={NAMESPACE: unit.namespace}), *texts])}


def _part(function: NativeFunction) -> str:
    """Registration of an operator that returns a part of what another one with a gradient returns; empty for others."""
    whole = function.library_fields.returned_from
    if whole is None:
        return ""
    places = list(function.library_fields.returned)
    called = f'b"{function.namespace}::{whole.name.name}", b"{whole.name.overload}"'
    names = f'b"{function.namespace}", b"{function.name.text}", {called}'
    return f"if _fast:\n    _fast.opwright_register_part({names}, bytes({places}), {len(places)})\n"


def _text(gradient: PythonGradient, functional: NativeFunction | None, copied: PythonGradient | None) -> str:
    """Function that records an operator, its kernels, and their registrations.

    `functional` is the form whose result can be copied to the argument that the operator writes; `copied` is its
    gradient, if it has one.
    """
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


def emitters(job: Job) -> list[AnyEmitter]:
    """Emitter of the module."""
    return [module_emitter("autograd", _packages, _module)]
