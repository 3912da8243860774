"""Functions that go straight to the kernel of one backend, without the dispatcher: `at::cpu::add` and its like.

Their signatures are those of the public C++ API, save that every overload has one of its plain name.
"""

from __future__ import annotations

from opwright.convention import public_api
from opwright.convention.caching import per_function
from opwright.convention.public_api import CppSignature
from opwright.model.native_function import NativeFunction


def signatures(function: NativeFunction, *, symint: bool = True) -> list[tuple[str, CppSignature]]:
    """The names and signatures of the direct functions of an overload."""
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
    return tuple([signature.declaration(name) for name, signature in signatures(function)])


def declarations(function: NativeFunction, macro: str) -> str:
    """The declarations of the direct functions of an overload, which the macro exports."""
    return "\n".join([f"{macro} {declared};" for declared in _declarations(function)])
