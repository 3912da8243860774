"""Dispatch-key functions such as `at::cpu::add`, which call the kernel of one backend without the dispatcher.

They have the names and signatures of the public C++ API, even if the overload's public functions are written by hand.
"""

from __future__ import annotations

from opwright.convention import public_api
from opwright.convention.caching import per_function
from opwright.convention.public_api import CppSignature
from opwright.model.native_function import NativeFunction


def signatures(function: NativeFunction, *, symint: bool = True) -> list[tuple[str, CppSignature]]:
    """The names and signatures of an overload's dispatch-key functions."""
    cpp_signatures = public_api.function_signatures(function).all(symint=symint)
    if not function.manual_cpp_binding:
        return [(signature.name, signature) for signature in cpp_signatures]
    schema = function.schema
    return [
        (public_api.name(schema, faithful=signature.faithful, symint=signature.symint), signature)
        for signature in cpp_signatures
    ]


@per_function
def _declarations(function: NativeFunction) -> tuple[str, ...]:
    return _declared(function, symint=True)


def _declared(function: NativeFunction, *, symint: bool) -> tuple[str, ...]:
    return tuple([signature.declaration(name) for name, signature in signatures(function, symint=symint)])


def declarations(function: NativeFunction, macro: str, *, symint: bool = True) -> str:
    """The declarations of an overload's dispatch-key functions, which the macro exports."""
    declared = _declarations(function) if symint else _declared(function, symint=False)
    return "\n".join([f"{macro} {text};" for text in declared])
