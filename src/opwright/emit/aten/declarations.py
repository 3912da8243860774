"""`Declarations.yaml`: all overloads with their C++ types, for generators of bindings in other languages.

Its entries have few different items, because most arguments occur in many of PyTorch's operators. So the text of each
item is cached.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Final

from yaml.emitter import Emitter as PyYamlEmitter
from yaml.resolver import Resolver

from opwright.convention import dispatcher, public_api, shared_types
from opwright.convention.defaults import default_expression
from opwright.cpp import c_types
from opwright.cpp.binding import Binding
from opwright.emit.aten.units import overloads
from opwright.emit.emitter import AnyEmitter, Emitter, FragmentContext, Job, OneFile, Slots
from opwright.model.native_function import NativeFunction, TypeStyle
from opwright.schema.function import Argument, Return
from opwright.schema.types import OptionalType, Type

#: By a text's first character: the patterns of texts that YAML 1.1 does not read as strings.
_OTHER_FORMS: Final = Resolver.yaml_implicit_resolvers

_ESCAPES: Final = PyYamlEmitter.ESCAPE_REPLACEMENTS

#: The characters that cannot start a plain scalar; those below cannot start it if a blank follows.
_STARTS: Final = frozenset("#,[]{}&*!|>'\"%@`")
_STARTS_BEFORE_BLANK: Final = frozenset("?:-")


def text_scalar(text: str) -> str:
    """A string on one line: plain if YAML reads it back as that string, otherwise in single quotes.

    Texts with other characters than printable ASCII are in double quotes. So are texts with line breaks, because PyYAML
    folds some of them in single quotes.

    >>> print(text_scalar("at::Tensor &"), text_scalar("{}"), text_scalar("1"), text_scalar("é"))
    at::Tensor & '{}' '1' "\\xE9"
    """
    if not (text.isascii() and text.isprintable()):
        return f'"{"".join([_escape(character) for character in text])}"'
    if _is_plain(text):
        return text
    return "'" + text.replace("'", "''") + "'"


name_scalar = cache(text_scalar)
"""`text_scalar` with a cache, for texts that occur often."""


def scalar(value: str | bool | int | float | None) -> str:
    """Scalar of any value.

    >>> scalar(None), scalar(True), scalar(-1), scalar(1e-5), scalar("no")
    ('null', 'true', '-1', '1.0e-05', "'no'")
    """
    match value:
        case str():
            return name_scalar(value)
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case int():
            return str(value)
        case float():
            return _number(value)


def _number(value: float) -> str:
    if math.isnan(value):
        return ".nan"
    if math.isinf(value):
        return ".inf" if value > 0 else "-.inf"
    text = repr(value)
    # YAML 1.1 reads a number with an exponent as a string unless the number has a point.
    return text if "." in text else text.replace("e", ".0e")


def _is_plain(text: str) -> bool:
    first = text[:1]
    if first in _STARTS or not first or first == " " or text[-1] in " :":
        return False
    if first in _STARTS_BEFORE_BLANK and text[1:2] in ("", " "):
        return False
    if ": " in text or " #" in text or text.startswith(("---", "...")):
        return False
    forms = _OTHER_FORMS.get(first)
    return forms is None or not any(form.match(text) for _, form in forms)


def _escape(character: str) -> str:
    if character in _ESCAPES:
        return "\\" + str(_ESCAPES[character])
    if " " <= character <= "~":
        return character
    code = ord(character)
    if code <= 0xFF:
        return f"\\x{code:02X}"
    return f"\\u{code:04X}" if code <= 0xFFFF else f"\\U{code:08X}"


YamlValue = str | bool | int | float | None


def _item(fields: dict[str, YamlValue]) -> str:
    """An item of a list: a mapping, sorted by keys."""
    return "  - " + "\n    ".join([f"{key}: {scalar(fields[key])}" for key in sorted(fields)]) + "\n"


def _yaml_list(items: list[str]) -> str:
    return "\n" + "".join(items) if items else " []\n"


def default_value(text: str) -> str | bool | int | float:
    """Value of a default's C++ expression if the expression is a YAML literal too, otherwise its text."""
    if text in ("true", "false"):
        return text == "true"
    for number in (int, float):
        try:
            return number(text)
        except ValueError:
            continue
    return text


def _dynamic_type(type: Type, style: TypeStyle) -> str:
    """The C++ type of a value without `optional`, and with concrete integers."""
    while isinstance(type, OptionalType):
        type = type.elem
    if type.text == "Tensor":
        return c_types.TENSOR.text
    return shared_types.argument_type(type, mutable=False, symint=False, style=style).text


@cache
def _argument_item(argument: Argument, style: TypeStyle, is_keyword: bool, is_out: bool, field: str | None) -> str:
    """Item of an argument. `field` is the name of the return that an out argument becomes."""
    type = argument.type
    fields: dict[str, YamlValue] = {
        "annotation": None if argument.annotation is None else argument.annotation.text,
        "dynamic_type": _dynamic_type(type, style),
        "is_nullable": type.is_nullable,
        "name": argument.name,
        "type": public_api.argument_type(argument, symint=False, style=style).text,
    }
    if argument.default is not None:
        fields["default"] = default_value(default_expression(argument.default, type, symint=False))
    if is_keyword:
        fields["kwarg_only"] = True
    if is_out:
        fields["output"] = fields["allocate"] = True
        if field is not None:
            fields["field_name"] = field
    items = type.list_like
    # The C++ type of booleans has the size already.
    if items is not None and items.size is not None and items.elem.text != "bool":
        fields["size"] = items.size
    return _item(fields)


@cache
def _options_item(binding: Binding) -> str:
    fields: dict[str, YamlValue] = {
        "annotation": None,
        "dynamic_type": binding.type.text,
        "is_nullable": False,
        "kwarg_only": True,
        "name": binding.name,
        "type": binding.type.text,
    }
    if binding.default is not None:
        fields["default"] = binding.default
    return _item(fields)


def _arguments(function: NativeFunction) -> tuple[str, str]:
    """Arguments in the order of the public C++ API, outs first and options packed, and in the schema's order."""
    arguments, style = function.arguments, function.style
    positional = [_argument_item(argument, style, False, False, None) for argument in arguments.positional]
    keywords = [_argument_item(argument, style, True, False, None) for argument in arguments.keyword_only]
    fields = [result.name for result in function.schema.returns] if arguments.out else []
    fields += [None] * (len(arguments.out) - len(fields))
    outs = [
        _argument_item(argument, style, False, True, field or None)
        for argument, field in zip(arguments.out, fields, strict=False)
    ]
    packed = keywords
    if arguments.options is not None:
        first = len(arguments.pre_options)
        packed = [
            *keywords[:first],
            _options_item(public_api.options_binding(arguments.options)),
            *keywords[first + 4 :],
        ]
    return _yaml_list(outs + positional + packed), _yaml_list(positional + keywords + outs)


@cache
def _return_item(result: Return, name: str, style: TypeStyle) -> str:
    fields: dict[str, YamlValue] = {
        "dynamic_type": _dynamic_type(result.type, style),
        "name": name,
        "type": shared_types.return_type(result, style).text,
    }
    if result.name:
        fields["field_name"] = result.name
    return _item(fields)


#: Whether the overload is a method, and whether it is a function -> the classes and namespaces that have it.
_CALLERS: Final = {
    (False, False): "  - Type",
    (False, True): "  - Type\n  - namespace",
    (True, False): "  - Type\n  - Tensor",
    (True, True): "  - Type\n  - Tensor\n  - namespace",
}

_BOOLS: Final = {False: "false", True: "true"}


def entry(function: NativeFunction) -> str:
    """Entry of one overload."""
    schema, style, name = function.schema, function.style, function.name
    packed, in_order = _arguments(function)
    convention = dispatcher.concrete_signature if schema.has_symint else dispatcher.signature
    names = public_api.return_names(function)
    returns = [_return_item(result, shown, style) for result, shown in zip(schema.returns, names, strict=True)]
    is_factory = function.arguments.options is not None and not function.method
    return f"""\
- name: {name_scalar(public_api.name(schema))}
  operator_name: {name_scalar(name.name)}
  overload_name: {name_scalar(name.overload)}
  manual_kernel_registration: {_BOOLS[function.manual_kernel_registration]}
  category_override: {name_scalar(function.category_override or "")}
  schema_string: {text_scalar(f"{function.library.namespace}::{schema}")}
  arguments:{packed}\
  schema_order_cpp_signature: {text_scalar(convention(function).type)}
  schema_order_arguments:{in_order}\
  method_of:
{_CALLERS[function.method, function.function]}
  mode: native
  python_module: {name_scalar(function.python_module or "")}
  returns:{_yaml_list(returns)}\
  inplace: {_BOOLS[name.inplace]}
  is_factory_method: {_BOOLS[is_factory]}
  abstract: {_BOOLS[function.is_abstract]}
  device_guard: {_BOOLS[function.device_guard]}
  with_gil: false
  deprecated: false
  has_math_kernel: {_BOOLS[function.has_composite_implicit]}
"""


def _fragment(function: NativeFunction, context: FragmentContext) -> Slots:
    return {"text": (entry(function),)}


def _file_slots(job: Job) -> Slots:
    """An empty list if there are no overloads."""
    return {"text": () if job.catalog.functions else "[]\n"}


def emitters(job: Job) -> list[AnyEmitter]:
    """Emitter of the file."""
    return [
        Emitter(
            name="declarations_yaml",
            family="declarations_yaml",
            template=None,
            units=overloads,
            fragment=_fragment,
            layout=OneFile("Declarations.yaml"),
            file_slots=_file_slots,
        )
    ]
