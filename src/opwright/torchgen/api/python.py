"""Python signatures of functions: the names of `torchgen.api.python`."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import ClassVar, Final

from opwright.convention.python import parameter as parameters
from opwright.convention.python.call import (
    WRAPPED,
    DispatchLambda,
    NoFieldName,
    NoTensorOptions,
    call_arguments,
    dispatch_lambda,
    dispatch_target,
    names_of,
    result_type,
)
from opwright.convention.python.hints import Hints, declaration
from opwright.convention.python.signature import PythonSignature as ModelSignature
from opwright.convention.python.signature import python_signature
from opwright.schema.function import Arguments as ModelArguments
from opwright.schema.function import FunctionSchema as ModelSchema
from opwright.schema.function import argument_list, make_argument
from opwright.schema.names import OperatorName
from opwright.schema.types import TENSOR, BaseType, list_of
from opwright.schema.types import Type as ModelType
from opwright.torchgen.interface.functions import NativeFunction, model_function
from opwright.torchgen.interface.installed import installed_rules
from opwright.torchgen.interface.plain_integers import with_plain_integers, with_plain_types
from opwright.torchgen.interface.records import Computed, Record, record
from opwright.torchgen.interface.schema import (
    Argument,
    FunctionSchema,
    Return,
    argument_of,
    model_argument,
    model_return,
    model_schema,
    return_of,
)
from opwright.torchgen.interface.types import Type, model_type, type_of

#: The C++ types that a Python function can return.
SUPPORTED_RETURN_TYPES: Final = set(WRAPPED)

#: The tensor options of Python functions and their types.
TENSOR_OPTIONS_FIELDS: Final = {option.name: option.type.text for option in parameters.OPTIONS_OF_INPUT}


#: What PyTorch's generator says of two mistakes that its own functions have; programs may look for the texts.
_UNNAMED: Final = "Unnamed field is not supported by codegen"
_RESERVED: Final = "argument named requires_grad is reserved, should not explicitly add it in the schema"


@contextmanager
def _refusals() -> Iterator[None]:
    """A block, or a function, that raises the exceptions of PyTorch's generator."""
    try:
        yield
    except parameters.NoPythonType as type:
        raise RuntimeError(f"Python functions have no form of the type `{type}`") from None
    except NoTensorOptions as name:
        raise RuntimeError(f"`{name}` makes a tensor and takes no tensor options") from None
    except NoFieldName:
        raise ValueError(_UNNAMED) from None


class _EmptyHints(Hints):
    """Hints of PyTorch's generator, which has an empty annotation for a base type without one."""

    def new_argument(self, type: ModelType) -> str:
        """Annotation of an argument, empty for a base type without one."""
        try:
            return super().new_argument(type)
        except parameters.NoPythonType:
            if isinstance(type, BaseType):
                return ""
            raise


@cache
def _hints() -> Hints:
    return _EmptyHints(installed_rules())


@record()
class PythonReturns(Record):
    """Returns of a Python function."""

    returns: tuple[Return, ...]


@record()
class PythonArgument(Record):
    """A parameter of a Python function; `default_init` is the C++ expression that stands for an absent value."""

    name: str
    type: Type
    default: str | None
    default_init: str | None

    _computed: ClassVar[Computed] = {
        "type": lambda origin: type_of(origin.type),
        "default_init": lambda origin: origin.initial,
    }

    def _build(self) -> parameters.Parameter:
        return parameters.Parameter(self.name, model_type(self.type), self.default, initial=self.default_init)

    @_refusals()
    def argument_str(self, *, method: bool = False, symint: bool = True) -> str:
        """Parameter in the language of the argument parser."""
        parameter = model_parameter(self)
        text = parameter.method_text if method else parameter.text
        return text if symint else with_plain_integers(text)

    @_refusals()
    def argument_str_pyi(self, *, method: bool = False, deprecated: bool = False) -> str:
        """Parameter in a stub."""
        return _hints().parameter(model_parameter(self), method=method, deprecated=deprecated).text


@record()
class PythonOutArgument(PythonArgument):
    """Parameter for out arguments."""

    outputs: tuple[PythonArgument, ...]

    _computed: ClassVar[Computed] = {
        **PythonArgument._computed,
        "outputs": lambda origin: tuple(map(argument, map(argument_of, origin.outs))),
    }

    def _build(self) -> parameters.Parameter:
        outs = tuple([make_argument(output.name, model_type(output.type), output.default) for output in self.outputs])
        type = model_type(self.type)
        return parameters.Parameter(self.name, type, self.default, initial=self.default_init, outs=outs)

    @staticmethod
    def from_outputs(outputs: tuple[PythonArgument, ...]) -> PythonOutArgument | None:
        """Parameter for outputs; None if there are none. Raises RuntimeError if one of several is no tensor."""
        if not outputs:
            return None
        first = outputs[0]
        name, type = first.name, first.type
        if len(outputs) > 1:
            wrong = [output for output in outputs if not output.type.is_tensor_like()]
            if wrong:
                raise RuntimeError(f"`{wrong[0].name}` is one of several outputs and no tensor")
            name, type = "out", type_of(list_of(TENSOR, len(outputs)))
        return PythonOutArgument(name=name, type=type, default="None", default_init=None, outputs=outputs)


@cache
def _argument_of(origin: parameters.Parameter) -> PythonArgument:
    """Record of one of Opwright's parameters; the same one each time."""
    return (PythonOutArgument if origin.outs else PythonArgument)._of(origin)


def model_parameter(a: PythonArgument) -> parameters.Parameter:
    """Opwright's parameter of a record."""
    return a._made_from(a._build)


def _reading_parameters(name: str) -> Callable[[ModelSignature], object]:
    return lambda origin: tuple(map(_argument_of, getattr(origin, name)))


@record()
class PythonSignature(Record):
    """Signature of a Python function or method."""

    name: str
    input_args: tuple[PythonArgument, ...]
    input_kwargs: tuple[PythonArgument, ...]
    output_args: PythonOutArgument | None
    returns: PythonReturns
    tensor_options_args: tuple[PythonArgument, ...]
    method: bool

    _computed: ClassVar[Computed] = {
        "input_args": _reading_parameters("inputs"),
        "input_kwargs": _reading_parameters("keywords"),
        "output_args": lambda origin: origin.out and _argument_of(origin.out),
        "returns": lambda origin: PythonReturns(tuple(map(return_of, origin.schema.returns))),
        "tensor_options_args": _reading_parameters("options"),
    }

    @property
    def deprecated(self) -> bool:
        """Whether the signature is a deprecated one."""
        return False

    def _build(self) -> ModelSignature:
        returns = tuple(map(model_return, self.returns.returns))
        return _model_signature(self, ModelSchema(OperatorName(self.name), _NO_ARGUMENTS, returns), None)

    def arguments(
        self, *, skip_outputs: bool = False, skip_tensor_options: bool = False
    ) -> tuple[PythonArgument | PythonOutArgument, ...]:
        """Parameters in their order."""
        outs = () if skip_outputs or self.output_args is None else (self.output_args,)
        options = () if skip_tensor_options else self.tensor_options_args
        return (*self.input_args, *self.input_kwargs, *outs, *options)

    def arguments_count(self) -> int:
        """Number of parameters."""
        return len(self.arguments())

    def output_idx(self) -> int:
        """Position of the parameter for out arguments."""
        return len(self.input_args) + len(self.input_kwargs)

    @_refusals()
    def signature_str(self, *, skip_outputs: bool = False, symint: bool = True) -> str:
        """Signature in the language of the argument parser."""
        origin = model_signature(self)
        text = origin.text_without_out if skip_outputs else origin.text
        return text if symint else with_plain_integers(text)

    @_refusals()
    def signature_str_pyi(self, *, skip_outputs: bool = False) -> str:
        """Declaration in a stub."""
        return _hints().declaration(model_signature(self), with_out=not skip_outputs)

    @_refusals()
    def signature_str_pyi_vararg(self, *, skip_outputs: bool = False) -> str | None:
        """Declaration for calls that pass the only list of integers as several arguments; None without such.

        Raises IndexError if the outputs that are skipped are the only parameters.
        """
        if skip_outputs and not self.deprecated and self.arguments_count() and not self.arguments(skip_outputs=True):
            raise IndexError("tuple index out of range")
        return _hints().spread_declaration(model_signature(self), with_out=not skip_outputs)


@record()
class PythonSignatureDeprecated(PythonSignature):
    """A signature of `deprecated.yaml`, with the arguments that it passes to the C++ function."""

    deprecated_schema: FunctionSchema
    deprecated_args_exprs: tuple[str, ...]

    @property
    def deprecated(self) -> bool:
        """Whether the signature is a deprecated one."""
        return True

    def _build(self) -> ModelSignature:
        return _model_signature(self, model_schema(self.deprecated_schema), tuple(self.deprecated_args_exprs))


_NO_ARGUMENTS: Final[ModelArguments] = argument_list((), (), ())


def _model_signature(ps: PythonSignature, schema: ModelSchema, passed: tuple[str, ...] | None) -> ModelSignature:
    return ModelSignature(
        schema,
        tuple(map(model_parameter, ps.input_args)),
        tuple(map(model_parameter, ps.input_kwargs)),
        None if ps.output_args is None else model_parameter(ps.output_args),
        tuple(map(model_parameter, ps.tensor_options_args)),
        ps.method,
        passed,
        None,
    )


def model_signature(ps: PythonSignature) -> ModelSignature:
    """Opwright's signature of a record."""
    return ps._made_from(ps._build)


@record()
class PythonSignatureNativeFunctionPair(Record):
    """A function with one of its signatures."""

    signature: PythonSignature
    function: NativeFunction


@record()
class PythonSignatureGroup(Record):
    """Functions that one signature of the parser calls: one without `out`, and one with it."""

    signature: PythonSignature
    base: NativeFunction
    outplace: NativeFunction | None

    @classmethod
    def from_pairs(
        cls, functional: PythonSignatureNativeFunctionPair, out: PythonSignatureNativeFunctionPair | None
    ) -> PythonSignatureGroup:
        """Group of a function and its out form. The signature is that with `out`, and the options of the other."""
        if out is None:
            return PythonSignatureGroup(signature=functional.signature, base=functional.function, outplace=None)
        options = functional.signature.tensor_options_args
        signature = dataclasses.replace(out.signature, tensor_options_args=options)
        return PythonSignatureGroup(signature=signature, base=functional.function, outplace=out.function)


@_refusals()
def argument_type_str(t: Type, *, simple_type: bool = False, symint: bool = True) -> str:
    """Type of a parameter in the language of the argument parser; without the length of lists if `simple_type`."""
    text = parameters.type_name(model_type(t), sized=not simple_type)
    if not simple_type and str(t) == "Tensor?[]":
        return f"const {text} &"
    return text if symint else with_plain_integers(text)


def argument_type_size(t: Type) -> int | None:
    """Length of a list, if its type has one; None for lists of booleans."""
    listed = t.is_list_like()
    return None if listed is None or str(listed.elem) == "bool" else listed.size


def argument(a: Argument) -> PythonArgument:
    """Parameter for an argument."""
    return _argument_of(parameters.parameter(model_argument(a)))


def signature(f: NativeFunction, *, method: bool = False, pyi: bool = False) -> PythonSignature:
    """Signature of a function, or of a method. Raises ValueError if an argument is named `requires_grad`."""
    return signature_from_schema(f.func, category_override=f.category_override, method=method)


@_refusals()
def signature_from_schema(
    func: FunctionSchema, *, category_override: str | None, method: bool = False, pyi: bool = False
) -> PythonSignature:
    """Signature of a schema. Raises ValueError if an argument is named `requires_grad`."""
    schema = model_schema(func)
    if any(argument.name == "requires_grad" for argument in schema.arguments.all):
        raise ValueError(_RESERVED)
    return PythonSignature._of(python_signature(schema, category=category_override, method=method))


def format_function_signature(name: str, arguments: Iterable[str] = (), return_type: str | None = None) -> str:
    """A function of a stub; each parameter has a line of its own if all together are too long for one.

    >>> format_function_signature("f", ["x: int"], "str")
    'def f(x: int) -> str: ...'
    """
    return declaration(name, list(arguments), return_type)


def has_tensor_options(f: NativeFunction) -> bool:
    """Whether a function has the four tensor options."""
    return f.func.arguments.tensor_options is not None


@_refusals()
def structseq_fieldnames(returns: tuple[Return, ...]) -> list[str]:
    """Fields of a structure with the returns; empty if they have no names. Raises ValueError if only some have."""
    return list(names_of(tuple(map(model_return, returns))))


@_refusals()
def argument_type_str_pyi(t: Type) -> str:
    """Type of a parameter in a stub. Raises RuntimeError if it has none."""
    return _hints().argument(model_type(t))


@_refusals()
def return_type_str_pyi(t: Type) -> str:
    """Type of a result in a stub. Raises RuntimeError if it has none."""
    return _hints().result(model_type(t))


@_refusals()
def returns_structseq_pyi(signature: PythonSignature) -> tuple[str, str] | None:
    """Name and the text of the class of named results in a stub; None if the results have no names."""
    text = _hints().result_class(model_signature(signature))
    return None if text is None else (signature.name, text)


@_refusals()
def returns_str_pyi(signature: PythonSignature) -> str:
    """Type of all results in a stub."""
    return _hints().returned(model_signature(signature))


@record()
class DispatchLambdaArgument(Record):
    """A parameter of the lambda that calls the C++ function."""

    name: str
    type_str: str
    is_out_arg: bool


@record()
class PythonArgParserOutputExpr(Record):
    """Expression of a value that the parser read."""

    name: str
    expr: str
    index: int
    argument: PythonArgument

    @property
    def is_none_expr(self) -> str:
        """Expression that says whether the caller passed no value."""
        return f"_r.isNone({self.index})"


@record()
class DispatchLambdaArgumentExprs(Record):
    """Arguments of the lambda, and the statements before it."""

    exprs: Sequence[str]
    inits: Sequence[str]


def _lambda(ps: PythonSignature, f: NativeFunction, *, symint: bool = True) -> DispatchLambda:
    called = dispatch_lambda(model_signature(ps), model_function(f))
    return called if symint else called._replace(parameters=list(map(with_plain_types, called.parameters)))


@_refusals()
def dispatch_lambda_args(
    ps: PythonSignature, f: NativeFunction, symint: bool = True
) -> tuple[DispatchLambdaArgument, ...]:
    """Parameters of the lambda that calls a function for a signature."""
    schema = ps.deprecated_schema if isinstance(ps, PythonSignatureDeprecated) else f.func
    outs = [out.name for out in schema.arguments.out]
    called = _lambda(ps, f, symint=symint)
    return tuple(
        [
            DispatchLambdaArgument(name=name, type_str=text.removesuffix(f" {name}"), is_out_arg=name in outs)
            for name, text in zip(called.names, called.parameters, strict=True)
        ]
    )


def dispatch_lambda_return_str(f: NativeFunction) -> str:
    """The C++ type that the lambda returns. Raises RuntimeError if it has no conversion to a Python object."""
    text = result_type(model_function(f))
    if text not in WRAPPED:
        raise RuntimeError(f"`{f.func.name}` returns `{text}`, which has no conversion to a Python object")
    return text


def cpp_dispatch_target(f: NativeFunction) -> str:
    """The C++ function that the lambda calls."""
    return dispatch_target(model_function(f))


@_refusals()
def cpp_dispatch_exprs(f: NativeFunction, *, python_signature: PythonSignature | None = None) -> tuple[str, ...]:
    """Arguments that the lambda passes to the C++ function."""
    return tuple(_lambda(python_signature or signature(f), f).passed)


@_refusals()
def arg_parser_unpack_method(t: Type, default: str | None, default_init: str | None, *, symint: bool = True) -> str:
    """The parser's method that reads a value of a type. Raises RuntimeError if there is none."""
    reader = parameters.Parameter("x", model_type(t), default, initial=default_init).reader
    return reader if symint else with_plain_integers(reader)


@_refusals()
def arg_parser_output_expr(arg_index: int, a: PythonArgument, *, symint: bool = True) -> PythonArgParserOutputExpr:
    """Expression of the value of a parameter. Raises RuntimeError if the parser cannot read its type."""
    parameter = model_parameter(a)
    read = parameter.read(arg_index)
    expr = read if symint else with_plain_integers(read)
    return PythonArgParserOutputExpr(name=a.name, expr=expr, index=arg_index, argument=a)


def arg_parser_output_exprs(
    ps: PythonSignature, f: NativeFunction, *, symint: bool = True
) -> dict[str, PythonArgParserOutputExpr]:
    """Expressions of the values of all parameters, by their names."""
    return {a.name: arg_parser_output_expr(index, a, symint=symint) for index, a in enumerate(ps.arguments())}


@_refusals()
def dispatch_lambda_exprs(
    ps: PythonSignature, f: NativeFunction, *, symint: bool = True
) -> DispatchLambdaArgumentExprs:
    """Arguments of the lambda, made from the values that the parser read. Raises RuntimeError."""
    origin, function = model_signature(ps), model_function(f)
    names = dispatch_lambda(origin, function).names
    guards = installed_rules().devices_initialized_only_for_dispatched_calls
    called = call_arguments(origin, function, names, guards_device=guards)
    texts = (called.passed, called.prepared)
    passed, prepared = texts if symint else (list(map(with_plain_integers, listed)) for listed in texts)
    return DispatchLambdaArgumentExprs(exprs=tuple(passed), inits=list(prepared))
