"""Kernels of the stable interface with signatures of their own: their comparison with schemas, and registration."""

from __future__ import annotations

from typing import Final

from opwright.convention import stable
from opwright.schema.function import FunctionSchema
from opwright.schema.types import Type

__all__ = ["SIGNATURE_HEADER", "declared_check", "declared_registration"]

#: What registers such kernels.
SIGNATURE_HEADER: Final = "opwright/stable_signature.h"
#: Stands for a type that the stable API lacks.
_AS_DECLARED: Final = "::opwright::as_declared"


def declared_registration(kernel: str, schema: FunctionSchema) -> str:
    """What `m.impl` takes for a kernel.

    >>> from opwright.schema import parse_schema
    >>> declared_registration("::acme::f", parse_schema("f(Scalar a, float b) -> int"))
    '&::opwright::declared_kernel<&::acme::f, ::opwright::results<int64_t>, ::opwright::as_declared, double>::boxed'
    """
    types = [f"&{kernel}", _results(schema), *[_argument(argument.type) for argument in schema.arguments.all]]
    return f"&::opwright::declared_kernel<{', '.join(types)}>::boxed"


def declared_check(kernel: str, schema: FunctionSchema, operator: str, name: str) -> str:
    """The comparison of a kernel with the schema of its operator. It is a template: compilers then show both types."""
    arguments = schema.arguments.all
    what = f"the kernel `{kernel[2:]}` of `{operator}` must"
    checks = [_assertion(f"has_parameters<Kernel, {len(arguments)}>", f"{what} take {len(arguments)} arguments")]
    for number, argument in enumerate(arguments):
        type = _argument(argument.type)
        if type != _AS_DECLARED:
            message = f"{what} take `{argument.name}` as `{type}`, or as what this converts to"
            checks.append(_assertion(f"takes<Kernel, {number}, {type}>", message))
    results = _results(schema)
    checks.append(_assertion(f"gives<Kernel, {results}>", f"{what} give `{_shown_results(schema)}`"))
    return "\n".join(
        [
            "template <class Kernel>",
            f"static constexpr bool {name}_fits() {{",
            *checks,
            "  return true;",
            "}",
            f"static_assert({name}_fits<decltype({kernel})>());",
        ]
    )


def _assertion(condition: str, message: str) -> str:
    return f'  static_assert(::opwright::{condition},\n      "{message}");'


def _argument(type: Type) -> str:
    own = stable.argument_type(type)
    return _AS_DECLARED if own is None else own.text


def _result_types(schema: FunctionSchema) -> list[str]:
    types = [stable.return_type(result.type) for result in schema.returns]
    return [_AS_DECLARED if type is None else type.text for type in types]


def _results(schema: FunctionSchema) -> str:
    return f"::opwright::results<{', '.join(_result_types(schema))}>"


def _shown_results(schema: FunctionSchema) -> str:
    types = _result_types(schema)
    return types[0] if len(types) == 1 else f"std::tuple<{', '.join(types)}>" if types else "void"
