"""Schema language of PyTorch operators: types, arguments and schemas, parsed and printed.

`print(parse_schema(text)) == text` for every schema.
"""

from __future__ import annotations

from opwright.schema.defaults import DefaultValue, NamedConstant
from opwright.schema.fault import SchemaFault
from opwright.schema.function import Argument, Arguments, FunctionSchema, Return, SchemaKind, TensorOptions
from opwright.schema.names import OperatorName
from opwright.schema.parser import parse_schema, parse_type
from opwright.schema.signature import signature
from opwright.schema.types import Annotation, BaseType, ClassType, ListType, OptionalType, Type

__all__ = [
    "Annotation",
    "Argument",
    "Arguments",
    "BaseType",
    "ClassType",
    "DefaultValue",
    "FunctionSchema",
    "ListType",
    "NamedConstant",
    "OperatorName",
    "OptionalType",
    "Return",
    "SchemaFault",
    "SchemaKind",
    "TensorOptions",
    "Type",
    "parse_schema",
    "parse_type",
    "signature",
]
