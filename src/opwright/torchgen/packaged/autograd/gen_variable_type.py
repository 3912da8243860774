"""Kernels that record gradients: the names of `torchgen.packaged.autograd.gen_variable_type`.

Programs may change the set of operators whose formulas hold for complex values, and replace the function that unpacks
arguments, `gen_inplace_or_view_type.unpack_args`.
"""

from __future__ import annotations

from typing import Final

from opwright.emit.autograd.kernels import registration
from opwright.emit.autograd.variable_type import NAMESPACE, body
from opwright.emit.autograd.wrapper_call import INDENT, UnpackedArguments, unpack_all
from opwright.emit.autograd.wrappers import wrapper, wrapper_name
from opwright.emit.emitter import FragmentContext, Options
from opwright.model.derivatives import DEFAULT_KEY
from opwright.model.selection import EVERYTHING
from opwright.release.rules import Rules
from opwright.torchgen.api.autograd import dispatch_strategy
from opwright.torchgen.interface.derivatives import NativeFunctionWithDifferentiabilityInfo, model_differentiable
from opwright.torchgen.interface.faults import Invalid, faults_as_assertions
from opwright.torchgen.interface.functions import NativeFunction, model_function
from opwright.torchgen.interface.installed import installed_rules
from opwright.torchgen.packaged.autograd import gen_inplace_or_view_type

#: The operators whose derivatives hold for complex tensors, by name without overload.
GRADIENT_IMPLEMENTED_FOR_COMPLEX: Final = set(installed_rules().complex_gradients)


class _RulesOfCallers(Rules):
    """Rules of the installed release, with the set that callers may change."""

    @property
    def complex_gradients(self) -> frozenset[str]:
        """Operators whose derivatives hold for complex tensors, by name without overload."""
        return frozenset(GRADIENT_IMPLEMENTED_FOR_COMPLEX)


_CONTEXT: Final = FragmentContext(
    Options(), _RulesOfCallers(installed_rules().version, installed_rules().tree), EVERYTHING
)


def emit_body(fn: NativeFunctionWithDifferentiabilityInfo, key: str = DEFAULT_KEY) -> list[str]:
    """Lines of the kernel of a function under a dispatch key, for the body of a `METHOD_DEFINITION`.

    Raises AssertionError for a function that autograd has no kernel for, or if its derivatives do not fit it.
    """
    if dispatch_strategy(fn) != "use_derived":
        raise Invalid(f"`{fn.func.func.name}` consists of other operators, which have kernels of their own")
    differentiable = model_differentiable(fn)
    with faults_as_assertions():
        text = body(wrapper(differentiable, key), _unpacked(fn.func), _CONTEXT)
    return [line.removeprefix(INDENT) for line in text.split("\n")]


def _unpacked(f: NativeFunction) -> UnpackedArguments:
    """Parameters of a function's kernel, unpacked as callers want them."""
    statements, bindings = gen_inplace_or_view_type.unpack_args(f)
    parameters = unpack_all(model_function(f)).parameters
    named = [parameter._replace(name=binding.name) for parameter, binding in zip(parameters, bindings, strict=True)]
    return UnpackedArguments(tuple(named), statements)


def gen_wrapper_registration(f: NativeFunction, key: str = DEFAULT_KEY) -> str:
    """Statement that registers the kernel of a function under a dispatch key."""
    function = model_function(f)
    return registration(function, NAMESPACE, wrapper_name(function, key))
