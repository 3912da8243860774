"""Rules within one schema beyond its grammar.

They are those that PyTorch's generator enforces. Each violation is a SchemaFault at the words that cause it.
"""

from __future__ import annotations

from typing import NoReturn

from opwright.schema.fault import SchemaFault
from opwright.schema.function import FunctionSchema, Return, SchemaKind
from opwright.schema.types import TENSOR, ListType
from opwright.source import codes


class _Spans:
    """Finds parts of a schema in its text, for faults."""

    def __init__(self, text: str, start: int) -> None:
        self.text = text
        self.start = start
        self.arguments = text.index("(", start)
        self.returns = max(text.rfind("->"), 0) + 2

    def name(self) -> tuple[int, int]:
        return self.start, self.arguments

    def overload(self) -> tuple[int, int]:
        dot = self.text.find(".", self.start, self.arguments)
        return (dot + 1, self.arguments) if dot >= 0 else self.name()

    def argument(self, item: str) -> tuple[int, int]:
        start = self.text.find(item, self.arguments)
        return (start, start + len(item)) if start >= 0 else self.name()

    def result(self) -> tuple[int, int]:
        start = self.returns + (1 if self.text[self.returns : self.returns + 1] == " " else 0)
        return start, len(self.text)


def check_schema(schema: FunctionSchema, text: str, start: int) -> None:
    """Raises SchemaFault for the first rule that `schema`, which starts at `start` in `text`, breaks."""
    arguments = schema.arguments
    if (
        schema.kind is SchemaKind.functional
        and not arguments.writes_before_self
        # A functional schema may write `self`, as that of `set_data` does.
        and not (arguments.self_arg is not None and arguments.self_arg.is_write)
        and not any(result.is_write for result in schema.returns)
    ):
        return
    spans = _Spans(text, start)
    _check_pre_self(schema, spans)
    _check_overload(schema, spans)
    _check_kinds(schema, spans)
    _check_out_returns(schema, spans)
    _check_positional_returns(schema, spans)
    _check_return_aliases(schema, spans)
    _check_return_count(schema, spans)
    _check_inplace(schema, spans)
    _check_options(schema, spans)


def _check_pre_self(schema: FunctionSchema, spans: _Spans) -> None:
    for argument in schema.arguments.pre_self:
        if argument.is_write:
            message = f"argument `{argument.name}` is written and precedes `self`"
            raise SchemaFault(codes.MUTABLE_BEFORE_SELF, message, *spans.argument(argument.text))


def _check_overload(schema: FunctionSchema, spans: _Spans) -> None:
    if "functional" in schema.name.overload and schema.kind is not SchemaKind.functional:
        message = f"overload `{schema.name.overload}` says functional, the function is {schema.kind.name}"
        raise SchemaFault(codes.FUNCTIONAL_OVERLOAD, message, *spans.overload())


def _check_kinds(schema: FunctionSchema, spans: _Spans) -> None:
    if schema.name.inplace and schema.arguments.out:
        for out in schema.arguments.out:
            if out.name == "self":
                message = f"`self` of the in-place function `{schema.name.name}` is keyword-only"
                help = f"move `{out.text}` before the `*`"
                raise SchemaFault(codes.KIND_CONFLICT, message, *spans.argument(out.text), help=help)
        message = f"`{schema.name.name}` has the name of an in-place function and out arguments"
        raise SchemaFault(codes.KIND_CONFLICT, message, *spans.name())


def _check_out_returns(schema: FunctionSchema, spans: _Spans) -> None:
    """Checks that each out argument has the annotation of its return."""
    for out, result in zip(schema.arguments.out, schema.returns, strict=False):
        if out.annotation is not result.annotation:
            message = f"out argument `{out.name}` and its return have different annotations"
            raise SchemaFault(
                codes.RETURN_ALIAS, message, *spans.result(), help=f"return `{out.text.rsplit(' ', 1)[0]}`"
            )


def _check_positional_returns(schema: FunctionSchema, spans: _Spans) -> None:
    """Checks that no written positional argument after `self` is returned."""
    for argument in schema.arguments.post_self:
        if argument.is_write and any(argument.annotation is result.annotation for result in schema.returns):
            message = f"written argument `{argument.name}` is returned; only `self` and out arguments can be"
            help = f"write `*, {argument.text}`" if argument.name.startswith("out") else ""
            raise SchemaFault(codes.RETURN_ALIAS, message, *spans.argument(argument.text), help=help)


def _check_return_aliases(schema: FunctionSchema, spans: _Spans) -> None:
    written = [result for result in schema.returns if result.is_write]
    if not written:
        return
    if len(written) != len(schema.returns):
        message = "either all returns are written arguments or none are"
        returns = written[0].text if len(written) == 1 else f"({', '.join([result.text for result in written])})"
        raise SchemaFault(
            codes.MIXED_RETURNS,
            message,
            *spans.result(),
            help=f"write the others to out arguments, or return `{returns}` alone",
        )
    aliases = {argument.annotation for argument in schema.arguments.out}
    if schema.arguments.self_arg is not None:
        aliases.add(schema.arguments.self_arg.annotation)
    for result in written:
        if result.annotation not in aliases:
            _refuse_alias(result, schema, spans)


def _refuse_alias(result: Return, schema: FunctionSchema, spans: _Spans) -> NoReturn:
    """Raises the fault of a return that aliases no argument that may be returned."""
    plain = [
        argument
        for argument in schema.arguments.keyword_only
        if argument.type is result.type and argument.annotation is None
    ]
    unmarked = next((argument for argument in plain if argument.name == "out"), plain[0] if plain else None)
    if unmarked is None:
        message = f"return `{result.text}` aliases neither `self` nor an out argument"
        raise SchemaFault(codes.RETURN_ALIAS, message, *spans.result())
    message = f"`{result.text}` is returned, and `{unmarked.name}` is not marked as written"
    help = f"write `{result.text.partition(' ')[0]} {unmarked.name}`"
    raise SchemaFault(codes.RETURN_ALIAS, message, *spans.argument(unmarked.text), help=help)


def _check_return_count(schema: FunctionSchema, spans: _Spans) -> None:
    outs = schema.arguments.out
    if not outs:
        return
    if all(isinstance(out.type, ListType) for out in outs):
        if schema.returns:
            message = "a function whose outs are tensor lists returns nothing"
            raise SchemaFault(codes.RETURN_COUNT, message, *spans.result())
        return
    wanted = sum(1 for out in outs if not out.name.startswith("_scratch_"))
    if any(out.type is not TENSOR for out in outs) and schema.returns == ():
        return
    if len(schema.returns) != wanted:
        message = f"{wanted} out argument(s), {len(schema.returns)} return(s)"
        raise SchemaFault(codes.RETURN_COUNT, message, *spans.result())


def _check_inplace(schema: FunctionSchema, spans: _Spans) -> None:
    if not schema.name.inplace:
        return
    self_arg = schema.arguments.self_arg
    if self_arg is None or not self_arg.is_write:
        message = f"in-place function `{schema.name.name}` does not write `self`"
        raise SchemaFault(codes.INPLACE_SELF, message, *spans.name(), help="write `Tensor(a!) self`")
    if self_arg.type is TENSOR:
        if len(schema.returns) != 1 or schema.returns[0].annotation is not self_arg.annotation:
            raise SchemaFault(codes.INPLACE_SELF, "in-place function does not return `self`", *spans.result())
    elif schema.returns:
        message = "in-place function on a list returns nothing"
        raise SchemaFault(codes.INPLACE_SELF, message, *spans.result())


def _check_options(schema: FunctionSchema, spans: _Spans) -> None:
    if schema.arguments.options is not None:
        message = f"tensor options on a function that is {schema.kind.name}"
        raise SchemaFault(codes.OPTIONS_PLACE, message, *spans.argument(schema.arguments.options.dtype.text))
