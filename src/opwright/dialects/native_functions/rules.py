"""Rules between the fields of one entry."""

from __future__ import annotations

import keyword
from functools import cache
from typing import Final

from opwright.dialects.native_functions.entry_builder import (
    EntryBuilder,
    argument_span,
    dispatch_key_span,
    item_span,
    name_span,
)
from opwright.dialects.native_functions.type_rules import check_types
from opwright.dialects.native_functions.variants import out_name
from opwright.model.dispatch_key import DispatchKey
from opwright.model.library import PYTORCH
from opwright.model.native_function import DeviceCheck, Kernel
from opwright.release.operator_names.loading import KEYWORD_ARGUMENTS, UNSEEDED_DROPOUTS, UNSEEDED_PARTS
from opwright.schema.function import Argument, Arguments, FunctionSchema
from opwright.source import codes
from opwright.source.diagnostic import did_you_mean
from opwright.source.nodes import Scalar, Sequence

_SEEDED: Final = "nondeterministic_seeded"

_KEYWORDS: Final = frozenset(keyword.kwlist)


def check_entry(
    builder: EntryBuilder, schema: FunctionSchema, kernels: dict[DispatchKey, Kernel], tags: frozenset[str]
) -> None:
    """Reports each rule between fields that the entry breaks."""
    check_types(builder, schema)
    if schema.arguments.out:
        _check_out(builder)
    elif schema.name.overload.endswith("out"):
        _check_out_name(builder, schema)
    if builder.structured or builder.structured_delegate is not None:
        _check_structured(builder, schema, kernels)
    if builder.structured_inherits is not None and not builder.structured:
        message = "`structured_inherits` on a function that is not `structured: True`"
        builder.fault(codes.INHERITS, message, builder.key_span("structured_inherits"))
    if builder.precomputed is not None:
        _check_precomputed(builder, schema)
    for argument in _keywords(schema.arguments):
        if KEYWORD_ARGUMENTS.in_any_release.get(schema.name.text) != argument.name:
            message = f"argument name `{argument.name}` is a Python keyword"
            builder.fault(codes.KEYWORD_ARGUMENT, message, argument_span(builder.node, argument.text))
    if builder.manual_kernel_registration and builder.kernels is not None:
        message = "`dispatch` has no effect beside `manual_kernel_registration`"
        builder.fault(codes.MANUAL_DISPATCH, message, builder.key_span("dispatch"))
    if builder.python_module is not None and builder.method:
        message = "a function of a Python module cannot be a method"
        builder.fault(codes.MODULE_METHOD, message, builder.value_span("variants"), help="write `variants: function`")
    if builder.cpp_no_default_args:
        _check_no_defaults(builder, schema)
    if builder.context.only_schemas:
        return
    if builder.device_check is not DeviceCheck.NoCheck and schema.name.is_foreach:
        at = (
            builder.value_span("device_check")
            if builder.node.get("device_check") is not None
            else name_span(builder.node)
        )
        message = "`_foreach` functions accept tensors on several devices"
        builder.fault(codes.FOREACH_CHECK, message, at, help="write `device_check: NoCheck`")
    if _SEEDED not in tags and _draws_numbers(schema, by_name=builder.context.library is PYTORCH):
        _report_seed(builder, schema)


def _check_out(builder: EntryBuilder) -> None:
    if builder.method or not builder.function:
        message = "a function with out arguments can only have the variant `function`"
        builder.fault(codes.OUT_METHOD, message, builder.value_span("variants"), help="write `variants: function`")
    if builder.const_ref_mutables and builder.context.const_ref_excludes_out:
        message = "`use_const_ref_for_mutable_tensors` on a function with out arguments"
        builder.fault(codes.CONST_REF_OUT, message, builder.key_span("use_const_ref_for_mutable_tensors"))


def _check_out_name(builder: EntryBuilder, schema: FunctionSchema) -> None:
    """Checks that an overload named like an out overload marks its `out` as written."""
    overload = schema.name.overload
    if overload != "out" and not overload.endswith("_out"):
        return
    for argument in schema.arguments.keyword_only:
        if argument.name == "out" and argument.annotation is None:
            message = f"`out` of `{schema.name}` is not marked as written"
            help = f"write `{argument.type.text}(a!) out`, and return `{argument.type.text}(a!)`"
            builder.fault(codes.UNMARKED_OUT, message, argument_span(builder.node, argument.text), help=help)


def _check_structured(builder: EntryBuilder, schema: FunctionSchema, kernels: dict[DispatchKey, Kernel]) -> None:
    field = "structured" if builder.structured else "structured_delegate"
    if builder.structured and builder.structured_delegate is not None:
        message = "`structured` and `structured_delegate` on one function"
        builder.fault(codes.STRUCTURED_BOTH, message, builder.key_span("structured_delegate"))
    elif builder.structured and not schema.is_out:
        help = f"write `structured_delegate: {out_name(schema.name)}`"
        builder.fault(
            codes.STRUCTURED_OUT, "`structured` belongs on the out overload", builder.key_span(field), help=help
        )
    elif builder.structured_delegate is not None and schema.is_out:
        help = "write `structured: True`"
        message = "an out overload cannot delegate"
        builder.fault(codes.DELEGATE_OUT, message, builder.key_span(field), help=help)
    if not builder.device_guard:
        message = "structured kernels always have a device guard"
        builder.fault(codes.STRUCTURED_GUARD, message, builder.value_span("device_guard"))
    if builder.structured_delegate is not None:
        for key in kernels:
            if key.has_structured:
                message = f"kernel for `{key.name}` on a function that delegates to `{builder.structured_delegate}`"
                builder.fault(codes.DELEGATE_DISPATCH, message, dispatch_key_span(builder.node, key.name))


def _check_precomputed(builder: EntryBuilder, schema: FunctionSchema) -> None:
    if not builder.structured:
        message = "`precomputed` on a function that is not `structured: True`"
        builder.fault(codes.PRECOMPUTED_STRUCTURED, message, builder.key_span("precomputed"))
    names = {argument.name for argument in schema.arguments.non_out}
    lines = builder.node.get("precomputed")
    for line in lines.items if isinstance(lines, Sequence) else ():
        if isinstance(line, Scalar) and " -> " in line.value:
            replaced = line.value.partition(" -> ")[0]
            if replaced not in names:
                message = f"the schema has no argument `{replaced}` to replace"
                at = line.span_of(0, len(replaced))
                builder.fault(codes.PRECOMPUTED_ARGUMENT, message, at, help=did_you_mean(replaced, names))


def _check_no_defaults(builder: EntryBuilder, schema: FunctionSchema) -> None:
    defaulted = {argument.name for argument in schema.arguments.all if argument.default is not None}
    for name in sorted(builder.cpp_no_default_args - defaulted):
        message = f"the schema has no argument `{name}` with a default"
        builder.fault(codes.NO_DEFAULT, message, item_span(builder.node, "cpp_no_default_args", name))


@cache
def _keywords(arguments: Arguments) -> tuple[Argument, ...]:
    """The arguments named like Python keywords."""
    return tuple([argument for argument in arguments.all if argument.name in _KEYWORDS])


@cache
def _random_arguments(arguments: Arguments) -> tuple[bool, bool]:
    """Whether an argument that is not an output is a generator, and whether any is named after dropout."""
    takes_generator = any(argument.type.is_generator_like for argument in arguments.non_out)
    return takes_generator, any("dropout" in argument.name for argument in arguments.all)


def _draws_numbers(schema: FunctionSchema, *, by_name: bool) -> bool:
    """Whether the function draws random numbers, as an argument or, `by_name`, a name like those of PyTorch's tells."""
    name = schema.name.text
    takes_generator, has_dropout = _random_arguments(schema.arguments)
    if not by_name:
        return takes_generator
    if takes_generator or ("rand" in name and not any(part in name for part in UNSEEDED_PARTS.in_any_release)):
        return True
    if "dropout" not in name and not has_dropout:
        return False
    return "backward" not in name and schema.name.name not in UNSEEDED_DROPOUTS.in_any_release


def _report_seed(builder: EntryBuilder, schema: FunctionSchema) -> None:
    at = name_span(builder.node)
    if "rand" not in schema.name.text and "dropout" not in schema.name.text:
        for argument in schema.arguments.all:
            if argument.type.is_generator_like or "dropout" in argument.name:
                at = argument_span(builder.node, argument.text)
                break
    message = f"`{schema.name}` draws random numbers and is not tagged `{_SEEDED}`"
    builder.fault(codes.SEED_TAG, message, at, help=f"add `tags: {_SEEDED}`")
