"""Rules between the fields of one entry, and about its types, which must have a form in C++."""

from __future__ import annotations

import keyword
from collections import Counter
from functools import cache
from typing import Final

from opwright.convention.defaults import has_cpp_form, is_made_symbolic
from opwright.convention.shared_types import has_cpp_type
from opwright.dialects.native_functions.entry_builder import (
    EntryBuilder,
    argument_span,
    dispatch_key_span,
    item_span,
    key_span,
    name_span,
    return_span,
    value_span,
)
from opwright.dialects.native_functions.variants import out_name
from opwright.model.dispatch_key import DispatchKey
from opwright.model.native_function import DeviceCheck, Kernel, Precomputed
from opwright.release.operator_names.loading import KEYWORD_ARGUMENTS, UNSEEDED_DROPOUTS, UNSEEDED_PARTS
from opwright.schema.base_types import LEARNED_TYPES, row_help
from opwright.schema.function import Argument, Arguments, FunctionSchema, Return
from opwright.schema.types import SYMINT, BaseType, ClassType, DispatcherType, ListType, OptionalType, Type
from opwright.source import codes
from opwright.source.diagnostic import did_you_mean
from opwright.source.nodes import Scalar, SequenceNode


@cache
def is_argument_type(type: Type, *, is_strict: bool = True) -> bool:
    """Whether an argument of that type has a form in C++; not `is_strict`, one in libraries.

    >>> from opwright.schema import parse_type
    >>> is_argument_type(parse_type("bool[3]")), is_argument_type(parse_type("bool[]"))
    (True, False)
    >>> is_argument_type(parse_type("bool[]"), is_strict=False)
    True
    """
    return _has_form(type, is_strict) and (not is_strict or not type.is_symint_like or _is_convertible(type))


@cache
def is_return_type(type: Type, *, is_strict: bool = True) -> bool:
    """Whether a return of that type has a form in C++; not `is_strict`, one in libraries.

    >>> from opwright.schema import parse_type
    >>> is_return_type(parse_type("Tensor[]")), is_return_type(parse_type("Tensor[2]"))
    (True, False)
    """
    return _has_form(type, is_strict) and _is_returnable(type)


def check_types(builder: EntryBuilder, schema: FunctionSchema) -> None:
    """Reports arguments and returns without a C++ type, and methods that cannot be called on a tensor."""
    is_strict = builder.context.grammar.is_strict
    if (LEARNED_TYPES or builder.context.absent_types) and _has_absent_type(builder, schema):
        return
    arguments, defaults = _arguments_without_form(schema.arguments, is_strict)
    for argument in arguments:
        message = f"`{argument.type}` of argument `{argument.name}` has no form in C++"
        help = row_help(argument.type.innermost.text) if is_strict else _type_help(argument.type)
        builder.fault(codes.NATIVE_ARGUMENT_TYPE, message, argument_span(builder.node, argument.text), help=help)
    for argument in defaults:
        default = f"default `{argument.default}` of argument `{argument.name}`"
        message = f"the {default} has no form in C++ for type `{argument.type}`"
        optional = f"{argument.type.text.removesuffix('?')}? {argument.name}=None"
        help = f"write `{optional}`, and choose in the kernel" if is_strict else ""
        builder.fault(codes.DEFAULT_FORM, message, argument_span(builder.node, argument.text), help=help)
    for index in _returns_without_form(schema.returns, is_strict):
        result = schema.returns[index]
        at = return_span(builder.node, [result.text for result in schema.returns], index)
        returned_help = row_help(result.type.innermost.text) if is_strict else _type_help(result.type)
        builder.fault(codes.RETURN_TYPE, f"`{result.type}` cannot be returned in C++", at, help=returned_help)
    self_argument = schema.arguments.self_arg
    if builder.method and (self_argument is None or self_argument.type.text != "Tensor"):
        _report_method(builder, schema)


def _report_method(builder: EntryBuilder, schema: FunctionSchema) -> None:
    """Reports why a method cannot be called on a tensor."""
    self_argument = schema.arguments.self_arg
    keyword = next((argument for argument in schema.arguments.keyword_only if argument.name == "self"), None)
    at, help = item_span(builder.node, "variants", "method"), "write `variants: function`"
    if self_argument is not None:
        reason = f"its `self` is a `{self_argument.type}`"
    elif keyword is not None:
        reason = "its `self` is keyword-only"
        at, help = argument_span(builder.node, keyword.text), f"move `{keyword.text}` before the `*`"
    else:
        reason = "it has no argument `self`"
    builder.fault(codes.METHOD_SELF, f"`{schema.name}` cannot be a method: {reason}", at, help=help)


def _has_absent_type(builder: EntryBuilder, schema: FunctionSchema) -> bool:
    """Whether a schema has types that only other releases, or trees, have; each is reported."""
    context = builder.context
    tree_types = frozenset() if context.tree is None else frozenset([type.name for type in context.tree.types])
    absent = context.absent_types.keys() | (LEARNED_TYPES.keys() - tree_types)
    if absent.isdisjoint(_base_types(schema.arguments, schema.returns)):
        return False
    items: list[Argument | Return] = [*schema.arguments.all, *schema.returns]
    for item in items:
        name = item.type.innermost.text
        if name in absent:
            help = context.absent_types.get(name, "")
            builder.fault(
                codes.UNKNOWN_TYPE, f"unknown type `{name}`", argument_span(builder.node, item.text), help=help
            )
    return True


def _type_help(type: Type) -> str:
    """What serves in place of a type that has no form in C++."""
    plain: Type = type.innermost
    if isinstance(plain, ClassType):
        return "register this operator by hand, for which the C++ class is known"
    if not isinstance(plain, DispatcherType):
        return ""
    inside = next((item for item in plain.items if not has_cpp_type(item)), None)
    if plain.name in ("Dict", "") and inside is not None:
        return _type_help(inside)
    if plain.name == "NoneType":
        return "an argument that is always None says nothing: leave it out, or write `Any?`"
    return "write `Any`, or register this operator by hand with a boxed kernel"


# The same lists of arguments and returns occur in many entries.
@cache
def _arguments_without_form(arguments: Arguments, is_strict: bool) -> tuple[list[Argument], list[Argument]]:
    """Arguments whose type has no form in C++, and those whose default needs one and has none."""
    without_form = [argument for argument in arguments.all if not is_argument_type(argument.type, is_strict=is_strict)]
    defaults = [
        argument
        for argument in arguments.all
        if is_strict and argument not in without_form and not _has_written_default(argument)
    ]
    return without_form, defaults


def _has_written_default(argument: Argument) -> bool:
    """Whether PyTorch's headers have a default as it is written."""
    type, default = argument.type, argument.default
    return default is None or (has_cpp_form(type, default) and is_made_symbolic(type, default))


@cache
def _base_types(arguments: Arguments, returns: tuple[Return, ...]) -> frozenset[str]:
    """Names of the base types of a schema."""
    types = [argument.type for argument in arguments.all] + [result.type for result in returns]
    return frozenset([type.innermost.text for type in types])


@cache
def _returns_without_form(returns: tuple[Return, ...], is_strict: bool) -> list[int]:
    """Indices of the returns whose type cannot be returned in C++."""
    return [index for index, result in enumerate(returns) if not is_return_type(result.type, is_strict=is_strict)]


def _has_form(type: Type, is_strict: bool) -> bool:
    return has_cpp_type(type) and not (is_strict and _has_unsized_booleans(type))


def _has_unsized_booleans(type: Type) -> bool:
    """Whether a list of booleans without a size is in the type, which PyTorch's files do not have."""
    if isinstance(type, ListType) and type.elem.text == "bool":
        return type.size is None
    return isinstance(type, ListType | OptionalType) and _has_unsized_booleans(type.elem)


def _is_convertible(type: Type) -> bool:
    """Whether plain integers convert to the symbolic ones of a type: those of an optional list at most."""
    required = type.elem if isinstance(type, OptionalType) else type
    return (required.elem if isinstance(required, ListType) else required) is SYMINT


def _is_returnable(type: Type) -> bool:
    """Whether a type with a form can be returned: C++ returns no optional of a type that is passed by reference."""
    match type:
        case OptionalType():
            return type.elem.text == "Tensor" or _is_value(type.elem)
        case ListType():
            return (type.size is None and _is_returnable(type.elem)) or _is_value(type)
    return True


def _is_value(type: Type) -> bool:
    """Whether a type is passed and returned by value."""
    match type:
        case BaseType():
            return type.name not in ("Tensor", "Scalar")
        case DispatcherType():
            return True
        case OptionalType():
            return _is_value(type.elem)
        case ListType():
            return type.elem.text == "bool"
    return False


_SEEDED: Final = "nondeterministic_seeded"

_KEYWORDS: Final = frozenset(keyword.kwlist)


def check_entry(
    builder: EntryBuilder, schema: FunctionSchema, kernels: dict[DispatchKey, Kernel], tags: frozenset[str]
) -> None:
    """Reports each rule between fields that the entry breaks."""
    check_types(builder, schema)
    library = builder.context.library
    if builder.context.check_more is not None:
        builder.context.check_more(builder, schema)
    if schema.arguments.out:
        _check_out(builder)
    elif schema.name.overload.endswith("out"):
        _check_out_name(builder, schema)
    if builder.structured or builder.structured_delegate is not None:
        _check_structured(builder, schema, kernels)
    if builder.structured_inherits is not None and not builder.structured:
        message = "`structured_inherits` on a function that is not `structured: True`"
        builder.fault(codes.INHERITS, message, key_span(builder.node, "structured_inherits"))
    if builder.precomputed is not None:
        _check_precomputed(builder, builder.precomputed, schema)
    for argument in _keywords(schema.arguments):
        if KEYWORD_ARGUMENTS.in_any_release.get(schema.name.text) != argument.name:
            message = f"argument name `{argument.name}` is a Python keyword"
            at = argument_span(builder.node, argument.text)
            builder.fault(codes.KEYWORD_ARGUMENT, message, at, help=f"write `{argument.name}_`, or another name")
    if builder.manual_kernel_registration and builder.kernels is not None:
        message = "`dispatch` has no effect beside `manual_kernel_registration`"
        builder.fault(codes.MANUAL_DISPATCH, message, key_span(builder.node, "dispatch"))
    if builder.python_module is not None and builder.method:
        message = "a function of a Python module cannot be a method"
        builder.fault(
            codes.MODULE_METHOD, message, value_span(builder.node, "variants"), help="write `variants: function`"
        )
    if builder.cpp_no_default_args:
        _check_no_defaults(builder, schema)
    if builder.context.only_schemas:
        return
    if builder.device_check is not DeviceCheck.NoCheck and schema.name.is_foreach:
        at, message = value_span(builder.node, "device_check"), "`_foreach` functions accept tensors on several devices"
        builder.fault(codes.FOREACH_CHECK, message, at, help="write `device_check: NoCheck`")
    if _SEEDED not in tags and library.defines_operators and _draws_numbers(schema, by_name=library.known_by_name):
        _report_seed(builder, schema)


def _check_out(builder: EntryBuilder) -> None:
    if builder.method or not builder.function:
        message = "a function with out arguments can only have the variant `function`"
        builder.fault(
            codes.OUT_METHOD, message, value_span(builder.node, "variants"), help="write `variants: function`"
        )
    if builder.const_ref_mutables and builder.context.const_ref_excludes_out:
        message = "`use_const_ref_for_mutable_tensors` on a function with out arguments"
        builder.fault(codes.CONST_REF_OUT, message, key_span(builder.node, "use_const_ref_for_mutable_tensors"))


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
    delegates = builder.structured_delegate is not None
    at = key_span(builder.node, "structured_delegate" if delegates else "structured")
    if builder.structured and delegates:
        builder.fault(codes.STRUCTURED_BOTH, "`structured` and `structured_delegate` on one function", at)
    elif builder.structured and not schema.is_out:
        help = f"write `structured_delegate: {out_name(schema.name)}`"
        builder.fault(codes.STRUCTURED_OUT, "`structured` belongs on the out overload", at, help=help)
    elif delegates and schema.is_out:
        builder.fault(codes.DELEGATE_OUT, "an out overload cannot delegate", at, help="write `structured: True`")
    if not builder.device_guard:
        message = "structured kernels always have a device guard"
        builder.fault(codes.STRUCTURED_GUARD, message, value_span(builder.node, "device_guard"))
    if delegates:
        for key in kernels:
            if key.has_structured:
                message = f"kernel for `{key.name}` on a function that delegates to `{builder.structured_delegate}`"
                builder.fault(codes.DELEGATE_DISPATCH, message, dispatch_key_span(builder.node, key.name))


def _check_precomputed(builder: EntryBuilder, precomputed: Precomputed, schema: FunctionSchema) -> None:
    if not builder.structured:
        message = "`precomputed` on a function that is not `structured: True`"
        builder.fault(codes.PRECOMPUTED_STRUCTURED, message, key_span(builder.node, "precomputed"))
    names = {argument.name for argument in schema.arguments.non_out}
    for line in _precomputed_lines(builder):
        replaced, arrow, _ = line.value.partition(" -> ")
        at = line.span_of(0, len(replaced))
        if arrow and replaced not in names:
            message = f"the schema has no argument `{replaced}` to replace"
            builder.fault(codes.PRECOMPUTED_ARGUMENT, message, at, help=did_you_mean(replaced, names))
        elif arrow and replaced == "self" and schema.arguments.self_arg is not None:
            message = "`self` is always passed to the kernel, so the values of this line are passed to nothing"
            builder.context.sink.warning(
                codes.PRECOMPUTED_SELF, message, at, help="write the values in the last line, without `self -> `"
            )
    _check_precomputed_names(builder, precomputed, schema)


def _precomputed_lines(builder: EntryBuilder) -> list[Scalar]:
    lines = builder.node.get("precomputed")
    return [line for line in lines.items if isinstance(line, Scalar)] if isinstance(lines, SequenceNode) else []


def _check_precomputed_names(builder: EntryBuilder, precomputed: Precomputed, schema: FunctionSchema) -> None:
    """Reports values that C++ cannot tell from one another, or from other parameters of the kernel."""
    values = precomputed.values
    flags = Counter([value.name.upper() for value in values])
    parameters = Counter([p.name for p in (*precomputed.parameters_for(schema.arguments), *schema.arguments.out)])
    for value in dict.fromkeys(values):
        if flags[value.name.upper()] > 1:
            message = f"two precomputed values have the template parameter `{value.name.upper()}`"
        elif parameters[value.name] > 1:
            message = f"the kernel has two parameters `{value.name}`"
        else:
            continue
        for line in _precomputed_lines(builder):
            start = line.value.rfind(value.text)
            if start >= 0:
                at = line.span_of(start, start + len(value.text))
                builder.fault(codes.PRECOMPUTED_NAME, message, at, help="give the value another name")


def _check_no_defaults(builder: EntryBuilder, schema: FunctionSchema) -> None:
    defaulted = {argument.name for argument in schema.arguments.all if argument.default is not None}
    for name in sorted(builder.cpp_no_default_args - defaulted):
        message = f"the schema has no argument `{name}` with a default"
        at, help = item_span(builder.node, "cpp_no_default_args", name), did_you_mean(name, sorted(defaulted))
        builder.fault(codes.NO_DEFAULT, message, at, help=help)


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
    help = f"add `tags: {_SEEDED}`"
    if builder.context.library.keeps_conventions:
        builder.fault(codes.SEED_TAG, message, at, help=help)
    else:
        # The dispatcher takes such an operator; that each has the tag is a rule of PyTorch's own file.
        builder.context.sink.warning(codes.SEED_TAG_WARNING, message, at, help=help)
