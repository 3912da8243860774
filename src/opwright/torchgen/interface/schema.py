"""Schemas of functions with their arguments and returns, as records over Opwright's."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import ClassVar, Final

from opwright.schema import function as schema_model
from opwright.schema.fault import SchemaFault
from opwright.schema.parser import LENIENT, Grammar, read_argument, read_namespace, read_schema, read_unchecked_schema
from opwright.schema.rules import check_schema
from opwright.schema.signature import signature as model_signature
from opwright.schema.types import Annotation as ModelAnnotation
from opwright.torchgen.interface.faults import Invalid, InvalidText, raised
from opwright.torchgen.interface.keys import SchemaKind
from opwright.torchgen.interface.records import Computed, Record, record
from opwright.torchgen.interface.types import (
    Annotation,
    BaseOperatorName,
    OperatorName,
    Type,
    annotation_of,
    model_annotation_of,
    model_name,
    model_type,
    name_of,
    type_of,
)


def _annotation(origin: schema_model.Argument | schema_model.Return) -> Annotation | None:
    return None if origin.annotation is None else annotation_of(origin.annotation)


def _model_annotation(annotation: Annotation | None) -> ModelAnnotation | None:
    return None if annotation is None else model_annotation_of(annotation)


class _Annotated(Record):
    """What arguments and returns have in common."""

    annotation: Annotation | None

    @property
    def alias_info(self) -> Annotation | None:
        """Annotation."""
        return self.annotation

    @property
    def is_write(self) -> bool:
        """Whether the call writes the value."""
        return self.annotation is not None and self.annotation.is_write


@record()
class Argument(_Annotated):
    """One argument; `default` is the text after `=`."""

    name: str
    type: Type
    default: str | None
    annotation: Annotation | None

    _computed: ClassVar[Computed] = {
        "type": lambda origin: type_of(origin.type),
        "annotation": _annotation,
    }

    @staticmethod
    def parse(arg: str) -> Argument:
        """Argument of a text. Raises InvalidText for a mistake."""
        try:
            return argument_of(read_argument(arg, 0, len(arg), LENIENT))
        except SchemaFault as fault:
            raise raised(fault, arg) from None

    def __str__(self) -> str:
        return model_argument(self).text


@record("name type annotation")
class Return(_Annotated):
    """One return, with or without a name."""

    type: Type
    annotation: Annotation | None
    name: str | None

    @staticmethod
    def parse(arg: str) -> Return:
        """Return of a text. Raises InvalidText for a mistake."""
        returns = parse_returns(arg)
        if len(returns) != 1:
            raise InvalidText(f"`{arg}` is not one return")
        return returns[0]

    def __str__(self) -> str:
        return model_return(self).text


@cache
def argument_of(origin: schema_model.Argument) -> Argument:
    """Record of one of Opwright's arguments; the same one each time."""
    return Argument._of(origin)


def model_argument(a: Argument) -> schema_model.Argument:
    """Opwright's argument of a record."""
    return a._made_from(
        lambda: schema_model.make_argument(a.name, model_type(a.type), a.default, _model_annotation(a.annotation))
    )


@cache
def return_of(origin: schema_model.Return) -> Return:
    """Record of one of Opwright's returns; the same one each time."""
    return Return(type=type_of(origin.type), annotation=_annotation(origin), name=origin.name)


def model_return(r: Return) -> schema_model.Return:
    """Opwright's return of a record."""
    return schema_model.make_return(r.name, model_type(r.type), _model_annotation(r.annotation))


def parse_returns(return_decl: str) -> tuple[Return, ...]:
    """Returns of a text. Raises InvalidText for a mistake."""
    return tuple(map(return_of, _parsed_part(f"f() -> {return_decl}").returns))


@record()
class SelfArgument(Record):
    """Argument `self` of a method."""

    argument: Argument


@record("dtype layout device pin_memory")
class TensorOptionsArguments(Record):
    """Four arguments that C++ packs into one `TensorOptions`."""

    pin_memory: Argument
    device: Argument
    layout: Argument
    dtype: Argument

    def all(self) -> Sequence[Argument]:
        """Four arguments in the order of the schema."""
        return [argument_of(option) for option in model_options(self).all]


def model_options(options: TensorOptionsArguments) -> schema_model.TensorOptions:
    """Opwright's tensor options of a record."""
    return schema_model.TensorOptions(
        *map(model_argument, (options.dtype, options.layout, options.device, options.pin_memory))
    )


def _records(arguments: Sequence[schema_model.Argument]) -> tuple[Argument, ...]:
    return tuple(map(argument_of, arguments))


def _options(origin: schema_model.Arguments) -> TensorOptionsArguments | None:
    if origin.options is None:
        return None
    dtype, layout, device, pin_memory = _records(origin.options.all)
    return TensorOptionsArguments(dtype=dtype, layout=layout, device=device, pin_memory=pin_memory)


_Part = Argument | SelfArgument | TensorOptionsArguments


@record(
    "pre_self_positional self_arg post_self_positional pre_tensor_options_kwarg_only tensor_options"
    " post_tensor_options_kwarg_only out"
)
class Arguments(Record):
    """Arguments of a schema in the groups that calling conventions need."""

    self_arg: SelfArgument | None
    tensor_options: TensorOptionsArguments | None
    out: tuple[Argument, ...]
    pre_self_positional: tuple[Argument, ...]
    post_self_positional: tuple[Argument, ...]
    pre_tensor_options_kwarg_only: tuple[Argument, ...]
    post_tensor_options_kwarg_only: tuple[Argument, ...]

    _computed: ClassVar[Computed] = {
        "self_arg": lambda origin: origin.self_arg and SelfArgument(argument_of(origin.self_arg)),
        "tensor_options": _options,
        "out": lambda origin: _records(origin.out),
        "pre_self_positional": lambda origin: _records(origin.pre_self),
        "post_self_positional": lambda origin: _records(origin.post_self),
        "pre_tensor_options_kwarg_only": lambda origin: _records(origin.pre_options),
        "post_tensor_options_kwarg_only": lambda origin: _records(origin.post_options),
    }

    def __post_init__(self) -> None:
        if self.self_arg is None and any(argument.name == "self" for argument in self.pre_self_positional):
            raise Invalid("an argument before `self` is named `self`")

    @staticmethod
    def parse(args: str) -> Arguments:
        """Arguments of a text. Raises InvalidText for a mistake."""
        return arguments_of(_parsed_part(f"f({args}) -> ()").arguments)

    @staticmethod
    def _preparse(args: str) -> tuple[list[Argument], list[Argument], list[Argument]]:
        """Positional, keyword-only and out arguments of a text."""
        origin = _parsed_part(f"f({args}) -> ()").arguments
        return list(_records(origin.positional)), list(_records(origin.keyword_only)), list(_records(origin.out))

    @property
    def flat_non_out(self) -> Sequence[Argument]:
        """All arguments but out arguments."""
        return list(_records(model_arguments(self).non_out))

    @property
    def flat_positional(self) -> Sequence[Argument]:
        """Positional arguments."""
        return list(_records(model_arguments(self).positional))

    @property
    def flat_kwarg_only(self) -> Sequence[Argument]:
        """Keyword-only arguments but out arguments."""
        return list(_records(model_arguments(self).keyword_only))

    @property
    def flat_all(self) -> Sequence[Argument]:
        """All arguments in the order of the schema."""
        return list(_records(model_arguments(self).all))

    @property
    def post_self_positional_mutable(self) -> Sequence[Argument]:
        """Written arguments after `self`."""
        return [argument for argument in self.post_self_positional if argument.is_write]

    @property
    def positional(self) -> Sequence[Argument | SelfArgument]:
        """Positional arguments, `self` as such."""
        self_argument = [self.self_arg] if self.self_arg is not None else []
        return [*self.pre_self_positional, *self_argument, *self.post_self_positional]

    @property
    def kwarg_only(self) -> Sequence[Argument | TensorOptionsArguments]:
        """Keyword-only arguments but out arguments, tensor options as one."""
        options = [self.tensor_options] if self.tensor_options is not None else []
        return [*self.pre_tensor_options_kwarg_only, *options, *self.post_tensor_options_kwarg_only]

    @property
    def non_out(self) -> Sequence[_Part]:
        """All arguments but out arguments, `self` and tensor options as such."""
        return [*self.positional, *self.kwarg_only]

    @property
    def all(self) -> Sequence[_Part]:
        """All arguments, `self` and tensor options as such."""
        return [*self.non_out, *self.out]

    def mutable_arg_names(self) -> list[str]:
        """Names of the written arguments."""
        return [argument.name for argument in self.flat_all if argument.is_write]

    def has_tensor_arg(self) -> bool:
        """Whether an argument other than an out argument is like a tensor."""
        return any(argument.type.is_tensor_like for argument in model_arguments(self).non_out)

    def has_symint_arg(self) -> bool:
        """Whether an argument other than an out argument is a symbolic integer."""
        return any(argument.type.is_symint_like for argument in model_arguments(self).non_out)

    def has_generator_arg(self) -> bool:
        """Whether an argument other than an out argument is a generator."""
        return any(argument.type.is_generator_like for argument in model_arguments(self).non_out)

    def signature(self, *, strip_default: bool = False) -> Arguments:
        """Arguments that all variants of an operation share."""
        schema = schema_model.FunctionSchema(model_name(_NO_NAME), model_arguments(self), ())
        return arguments_of(model_signature(schema, strip_default=strip_default).arguments)

    def remove_self_annotation(self) -> Arguments:
        """Arguments with a `self` that is not annotated. Raises AssertionError without a `self`."""
        origin = model_arguments(self)
        if origin.self_arg is None:
            raise Invalid("there is no argument `self`")
        plain = schema_model.make_argument(origin.self_arg.name, origin.self_arg.type, origin.self_arg.default)
        positional = tuple([plain if argument is origin.self_arg else argument for argument in origin.positional])
        return arguments_of(schema_model.argument_list(positional, origin.keyword_only, origin.out))

    def with_out_args(self, outs: list[Argument]) -> Arguments:
        """Arguments with other out arguments. Raises AssertionError if there are some already."""
        origin = model_arguments(self)
        if origin.out:
            raise Invalid("there are out arguments already")
        out = tuple(map(model_argument, outs))
        return arguments_of(schema_model.argument_list(origin.positional, origin.keyword_only, out))

    def __str__(self) -> str:
        return str(model_arguments(self))


_NO_NAME: Final = OperatorName(name=BaseOperatorName(base="", inplace=False, dunder_method=False), overload_name="")


@cache
def arguments_of(origin: schema_model.Arguments) -> Arguments:
    """Record of one of Opwright's lists of arguments; the same one each time."""
    return Arguments._of(origin)


def model_arguments(arguments: Arguments) -> schema_model.Arguments:
    """Opwright's list of arguments of a record."""
    return arguments._made_from(lambda: _model_arguments(arguments))


def _model_arguments(arguments: Arguments) -> schema_model.Arguments:
    positional = [part.argument if isinstance(part, SelfArgument) else part for part in arguments.positional]
    options = model_options(arguments.tensor_options).all if arguments.tensor_options is not None else ()
    before = map(model_argument, arguments.pre_tensor_options_kwarg_only)
    after = map(model_argument, arguments.post_tensor_options_kwarg_only)
    return schema_model.argument_list(
        tuple(map(model_argument, positional)),
        (*before, *options, *after),
        tuple(map(model_argument, arguments.out)),
    )


Reader = Callable[[str, int, Grammar], schema_model.FunctionSchema]


def _parsed(text: str, start: int = 0, read: Reader = read_schema) -> schema_model.FunctionSchema:
    """Opwright's schema of a text, with the exceptions of PyTorch's generator."""
    try:
        return read(text, start, LENIENT)
    except SchemaFault as fault:
        raise raised(fault, text) from None


def _parsed_part(text: str) -> schema_model.FunctionSchema:
    """A schema with a part that a caller has alone, so that it need not fit the other parts."""
    return _parsed(text, read=read_unchecked_schema)


@record("name arguments returns")
class FunctionSchema(Record):
    """Schema of an overload."""

    returns: tuple[Return, ...]
    arguments: Arguments
    name: OperatorName

    _computed: ClassVar[Computed] = {
        "returns": lambda origin: tuple(map(return_of, origin.returns)),
        "arguments": lambda origin: arguments_of(origin.arguments),
        "name": lambda origin: name_of(origin.name),
    }

    def __post_init__(self) -> None:
        origin = model_schema(self)
        text = str(origin)
        try:
            check_schema(origin, text, 0)
        except SchemaFault as fault:
            raise raised(fault, text) from None

    @staticmethod
    def parse(func: str) -> FunctionSchema:
        """Schema of a text. Raises InvalidText for a mistake."""
        try:
            namespace, start = read_namespace(func)
        except SchemaFault as fault:
            raise raised(fault, func) from None
        origin = _parsed(func, start)
        if namespace:
            return FunctionSchema._of(origin, name=name_of(origin.name, namespace))
        return FunctionSchema._of(origin)

    @property
    def is_mutable(self) -> bool:
        """Whether the call writes an argument."""
        return model_schema(self).arguments.writes

    @property
    def modifies_arguments(self) -> bool:
        """Whether the schema is in-place, out or mutable."""
        return self.kind() in _WRITING

    def schema_order_arguments(self) -> Iterator[Argument]:
        """Arguments in the order of the schema."""
        return iter(self.arguments.flat_all)

    def returns_are_aliased(self) -> bool:
        """Whether a return is a written argument."""
        return any(result.is_write for result in self.returns)

    def is_functional_fn(self) -> bool:
        """Whether `functional` is in the name of the overload."""
        return "functional" in self.name.overload_name

    def is_out_fn(self) -> bool:
        """Whether there are out arguments."""
        return bool(model_schema(self).arguments.out)

    def kind(self) -> SchemaKind:
        """What the function does with its arguments."""
        return SchemaKind[model_schema(self).kind.name]

    def aliased_return_names(self) -> list[str | None]:
        """For each return the name of the argument that it shares memory with."""
        named = [(argument.annotation, argument.name) for argument in self.arguments.flat_all if argument.annotation]
        names: list[str | None] = []
        for result in self.returns:
            matches = [name for annotation, name in named if annotation == result.annotation]
            if len(matches) > 1:
                raise Invalid(f"`{result}` of `{self}` shares memory with several arguments")
            names.append(matches[0] if matches else None)
        return names

    def signature(
        self, *, strip_default: bool = False, strip_view_copy_name: bool = False, keep_return_names: bool = False
    ) -> FunctionSchema:
        """Schema that all variants of an operation share."""
        shared = model_signature(
            model_schema(self),
            strip_default=strip_default,
            view_form=strip_view_copy_name,
            keep_return_names=keep_return_names,
        )
        return FunctionSchema._of(shared)

    def view_signature(self) -> FunctionSchema:
        """Signature under the name of the view to which the operator belongs."""
        return self.signature(strip_view_copy_name=True)

    def with_name(self, name: OperatorName) -> FunctionSchema:
        """The schema under another name."""
        return FunctionSchema(returns=self.returns, arguments=self.arguments, name=name)

    def has_symint(self) -> bool:
        """Whether an argument is a symbolic integer."""
        return self.arguments.has_symint_arg()

    def __str__(self) -> str:
        text = str(model_schema(self))
        namespace = "" if "name" not in self.__dict__ else self.name.name.namespace
        return f"{namespace}::{text}" if namespace else text


_WRITING: Final = (SchemaKind.inplace, SchemaKind.out, SchemaKind.mutable)


def schema_of(origin: schema_model.FunctionSchema) -> FunctionSchema:
    """Record of one of Opwright's schemas."""
    return FunctionSchema._of(origin)


def model_schema(func: FunctionSchema) -> schema_model.FunctionSchema:
    """Opwright's schema of a record."""
    return func._made_from(
        lambda: schema_model.FunctionSchema(
            model_name(func.name), model_arguments(func.arguments), tuple(map(model_return, func.returns))
        )
    )
