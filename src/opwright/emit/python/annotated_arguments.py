"""`annotated_fn_args.py`: what PyTorch's tests of `__torch_function__` call each function with."""

from __future__ import annotations

from functools import cache
from typing import Final, TypeAlias

from opwright.convention.python.bound import FFT, LINALG, NN, SPECIAL, TENSOR_METHODS, TORCH, is_in_module
from opwright.convention.python.parameter import NoPythonType, type_name
from opwright.emit.emitter import AnyEmitter, Emitter, FragmentContext, Job, OneFile, Slots
from opwright.emit.python.refusals import fault_of
from opwright.emit.python.units import bound_functions
from opwright.model.native_function import NativeFunction
from opwright.release.operator_names.python_bindings import CALLED_WITHOUT_KEYWORDS
from opwright.schema.function import Argument

#: The modules, each with the object that its functions are attributes of.
_OBJECTS: Final = (
    (TORCH, "torch._C._VariableFunctions"),
    (NN, "torch._C._nn"),
    (LINALG, "torch._C._linalg"),
    (SPECIAL, "torch._C._special"),
    (FFT, "torch._C._fft"),
    (TENSOR_METHODS, "torch.Tensor"),
)


@cache
def _dictionary(argument: Argument, is_keyword: bool) -> str:
    listed = argument.type.list_like
    size = ""
    if listed is not None and listed.size and listed.elem.text != "bool":
        size = f", 'size': {listed.size}"
    spelled = type_name(argument.type, sized=False)
    return f"{{'is_kwarg_only': '{is_keyword}', 'name': '{argument.name}', 'simple_type': '{spelled}'{size}}}"


def entry(function: NativeFunction) -> str:
    """The overload's name with the arguments that a call has to have."""
    name = function.name.name
    arguments = [(argument, False) for argument in function.arguments.positional]
    if name not in CALLED_WITHOUT_KEYWORDS.in_any_release:
        arguments += [(argument, True) for argument in function.arguments.keyword_only]
    try:
        described = [
            _dictionary(argument, is_keyword) for argument, is_keyword in arguments if argument.default is None
        ]
    except NoPythonType as refusal:
        raise fault_of(function, refusal) from None
    return f"{name}: [{', '.join(described)}],"


_Held: TypeAlias = tuple[str, NativeFunction]
"""A function with the object that it is an attribute of."""


def _held_functions(job: Job) -> list[_Held]:
    held: list[_Held] = []
    for module, holder in _OBJECTS:
        groups: dict[str, list[NativeFunction]] = {}
        for function in bound_functions(job):
            if is_in_module(function, module):
                groups.setdefault(function.name.name, []).append(function)
        held += [(holder, function) for group in groups.values() for function in group]
    return held


def _line(held: _Held, context: FragmentContext) -> Slots:
    return {"annotated_args": (f"    {held[0]}.{entry(held[1])}",)}


def emitters(job: Job) -> list[AnyEmitter]:
    """Emitter of the file."""
    return [
        Emitter(
            name="annotated_arguments",
            family="annotated",
            template="autograd/annotated_fn_args.py.in",
            folder="testing",
            units=_held_functions,
            fragment=_line,
            layout=OneFile("annotated_fn_args.py"),
            line_names=r"torch[\w.]*\.(?P<operator>\w+): \[",
            file_slots=lambda job: {"annotated_args": ()},
        )
    ]
