"""Kernels of the stable interface with signatures of their own: their comparison with schemas, and registration."""

from __future__ import annotations

from typing import Final

from opwright.convention import stable
from opwright.emit.library.kernel_assertions import AS_DECLARED, Expected, kernel_assertions
from opwright.schema.function import FunctionSchema
from opwright.schema.types import Type

#: What registers such kernels.
SIGNATURE_HEADER: Final = "opwright/stable_signature.h"


def declared_registration(kernel: str, schema: FunctionSchema) -> str:
    """What `m.impl` takes for a kernel.

    >>> from opwright.schema import parse_schema
    >>> declared_registration("::acme::f", parse_schema("f(Scalar a, float b) -> int"))
    '&::opwright::declared_kernel<&::acme::f, ::opwright::results<int64_t>, ::opwright::as_declared, double>::boxed'
    """
    types = [f"&{kernel}", _results(schema), *[_argument(argument.type) for argument in schema.arguments.all]]
    return f"&::opwright::declared_kernel<{', '.join(types)}>::boxed"


def declared_check(kernel: str, schema: FunctionSchema, operator: str, name: str) -> str:
    """The comparison of a kernel with the schema of its operator."""
    arguments = tuple([(argument.name, _argument(argument.type)) for argument in schema.arguments.all])
    expected = Expected(operator, arguments, _results(schema), _shown_results(schema), "::opwright")
    return kernel_assertions(kernel, name, expected)


def _argument(type: Type) -> str:
    own = stable.argument_type(type)
    return AS_DECLARED if own is None else own.text


def _result_types(schema: FunctionSchema) -> list[str]:
    types = [stable.return_type(result.type) for result in schema.returns]
    return [AS_DECLARED if type is None else type.text for type in types]


def _results(schema: FunctionSchema) -> str:
    return f"::opwright::results<{', '.join(_result_types(schema))}>"


def _shown_results(schema: FunctionSchema) -> str:
    types = _result_types(schema)
    return types[0] if len(types) == 1 else f"std::tuple<{', '.join(types)}>" if types else "void"
