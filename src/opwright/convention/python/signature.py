"""Signatures of Python functions and methods."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from opwright.convention import public_api
from opwright.convention.python.parameter import (
    OPTIONS_OF_INPUT,
    Parameter,
    factory_options,
    out_parameter,
    parameter,
)
from opwright.model.native_function import NativeFunction
from opwright.schema.function import Arguments, FunctionSchema
from opwright.source.records import Copyable, frozen_fields, not_fingerprinted
from opwright.source.span import Span


@not_fingerprinted(
    **dict.fromkeys(
        ("inputs", "keywords", "options", "out"),
        "they are made from the schema and the function, which an overload holds besides",
    ),
)
@frozen_fields
class PythonSignature(Copyable):
    """Parameters of a Python function or method.

    `inputs` are positional, `keywords` keyword-only, followed by `out` and the tensor `options`. `schema` is the schema
    that the signature is made from. A deprecated signature also has the arguments that it passes to the C++ function
    (`passed`: names of arguments, and constants) and its `span` in `deprecated.yaml`; otherwise both are None.
    """

    schema: FunctionSchema
    inputs: tuple[Parameter, ...]
    keywords: tuple[Parameter, ...]
    out: Parameter | None
    options: tuple[Parameter, ...]
    method: bool
    passed: tuple[str, ...] | None
    span: Span | None

    def __repr__(self) -> str:
        return f"<Python signature {self.text}>"

    @property
    def name(self) -> str:
        """Name of the function."""
        return self.schema.name.name

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """All parameters, in their order."""
        return self.inputs + self.keywords + (() if self.out is None else (self.out,)) + self.options

    @property
    def deprecated(self) -> bool:
        """Whether the signature is a deprecated one."""
        return self.passed is not None

    @property
    def text(self) -> str:
        """Signature in the language of the argument parser.

        >>> from opwright.schema import parse_schema
        >>> python_signature(parse_schema("add.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)")).text
        'add(Tensor input, *, Tensor out=None)'
        """
        return self._text(self.parameters)

    @property
    def text_without_out(self) -> str:
        """The text without `out`."""
        return self._text(self.without_out)

    @property
    def without_out(self) -> tuple[Parameter, ...]:
        """All parameters except `out`."""
        return self.inputs + self.keywords + self.options

    def _text(self, parameters: Sequence[Parameter]) -> str:
        texts = (
            [parameter.method_text for parameter in parameters]
            if self.method
            else [parameter.text for parameter in parameters]
        )
        count = len(self.inputs)
        if len(texts) > count:
            texts.insert(count, "*")
        return f"{self.name}({', '.join(texts)}){'' if self.passed is None else '|deprecated'}"

    def with_options(self, options: tuple[Parameter, ...]) -> PythonSignature:
        """A copy with other tensor options."""
        if options is self.options:
            return self
        return self.replace(options=options)


def python_signature(
    schema: FunctionSchema,
    *,
    category: str | None = None,
    method: bool = False,
    passed: tuple[str, ...] | None = None,
    span: Span | None = None,
) -> PythonSignature:
    """Signature of a schema as a function, or as a method of its argument `self`.

    `category` is the entry's `category_override`. Deprecated signatures have `passed` and `span`.
    """
    inputs, keywords, out = _parameters(schema.arguments, method)
    return PythonSignature(schema, inputs, keywords, out, _options(schema, category), method, passed, span)


@cache
def _parameters(
    arguments: Arguments, method: bool
) -> tuple[tuple[Parameter, ...], tuple[Parameter, ...], Parameter | None]:
    positional = arguments.positional
    if method and arguments.self_arg is not None:
        positional = arguments.pre_self + arguments.post_self
    return (
        tuple([parameter(argument) for argument in positional]),
        tuple([parameter(option) for option in arguments.pre_options + arguments.post_options]),
        out_parameter(arguments.out) if arguments.out else None,
    )


def function_signature(function: NativeFunction, *, method: bool) -> PythonSignature:
    """Signature of an overload."""
    return python_signature(function.schema, category=function.category_override, method=method)


def is_factory_schema(schema: FunctionSchema) -> bool:
    """Whether a result is a tensor and no argument is."""
    return not _takes_tensor(schema.arguments) and any(result.type.is_tensor_like for result in schema.returns)


@cache
def _takes_tensor(arguments: Arguments) -> bool:
    return any(argument.type.is_tensor_like for argument in arguments.non_out)


def _options(schema: FunctionSchema, category: str | None) -> tuple[Parameter, ...]:
    """Tensor options. Operators that make a tensor have them even if their schema does not."""
    if category == "dummy":
        return ()
    name = public_api.name(schema)
    if category in ("new", "like") or name.startswith("new_") or name.endswith("_like"):
        return OPTIONS_OF_INPUT
    if category == "factory" or is_factory_schema(schema):
        return factory_options(schema.arguments.options)
    return ()
