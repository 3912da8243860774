"""Type annotations of operators in stubs, for calls as `torch.ops.NAMESPACE.OPERATOR`.

The annotations use aliases that each stub module defines (`_Tensor`, `_int`, ...), because an operator or overload may
be called `int` or `Tensor`, which would shadow the type.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Final

from opwright.schema.base_types import forms_of
from opwright.schema.defaults import REDUCTIONS
from opwright.schema.function import Argument, Return
from opwright.schema.types import ClassType, DispatcherType, ListType, OptionalType, Type
from opwright.source.records import NamedTuple


class Form(NamedTuple):
    """Annotations of a base type as an argument and as a result."""

    argument: str
    result: str


#: Base type -> its annotations. Enumerations (dtypes, layouts, ...) are returned as integers.
_FORMS: Final = forms_of(lambda row: Form(row.stub, row.stub_result or row.stub))

#: A type of the dispatcher whose values have no class in Python, such as `Future(Tensor)`.
_ANY: Final = Form("_Any", "_Any")

#: Objects of TorchScript classes have no class in Python.
_CLASS: Final = Form("_ScriptObject", "_ScriptObject")

#: Item types for which one value may stand for the whole list, if the list has a size: `int[2] stride=1`.
_REPEATED: Final = frozenset(("int", "SymInt", "float"))


@cache
def argument_type(type: Type) -> str:
    """Annotation of an argument.

    >>> from opwright.schema import parse_type
    >>> argument_type(parse_type("int[2]?")), argument_type(parse_type("Tensor?[]"))
    ('_int | _Sequence[_int] | None', '_Sequence[_Tensor | None]')
    >>> from opwright.syntax.dispatcher_schemas import read_written_schema
    >>> schema = read_written_schema("f(Dict(str, int[]) x, (int, Any) y) -> ()")
    >>> [argument_type(argument.type) for argument in schema.arguments.all]
    ['_dict[_str, _Sequence[_int]]', '_tuple[_int, _Any]']
    """
    if isinstance(type, OptionalType):
        return f"{argument_type(type.elem)} | None"
    if isinstance(type, ListType):
        item = argument_type(type.elem)
        many = f"_Sequence[{item}]"
        return f"{item} | {many}" if type.size is not None and type.elem.text in _REPEATED else many
    return _form(type).argument


def _form(type: Type) -> Form:
    match type:
        case ClassType():
            return _CLASS
        case DispatcherType(name="Dict" | "" as name, items=items):
            container = "_dict" if name else "_tuple"
            hints = [", ".join(map(hint, items)) or "()" for hint in (argument_type, _result_hint)]
            return Form(*[f"{container}[{hint}]" for hint in hints])
        case DispatcherType():
            return _FORMS.get(type.text, _ANY)
    return _FORMS[type.text]


@cache
def return_type(returns: tuple[Return, ...]) -> str:
    """Annotation of what a call returns: None, one value, or a tuple.

    >>> from opwright.schema import parse_schema
    >>> return_type(parse_schema("max.dim(Tensor self, int dim) -> (Tensor values, Tensor indices)").returns)
    '_tuple[_Tensor, _Tensor]'
    """
    hints = [_result_hint(result.type) for result in returns]
    if len(hints) == 1:
        return hints[0]
    return f"_tuple[{', '.join(hints)}]" if hints else "None"


def _result_hint(type: Type) -> str:
    if isinstance(type, OptionalType):
        return f"{_result_hint(type.elem)} | None"
    if isinstance(type, ListType):
        return f"_list[{_result_hint(type.elem)}]"
    return _form(type).result


_NUMBER: Final = re.compile(r"-?[0-9]+(?:\.[0-9]*)?(?:e-?[0-9]+)?")

#: Constants as defaults. Reductions are integers in Python.
_DEFAULTS: Final = {
    **{name: str(number) for name, number in REDUCTIONS.items()},
    "None": "None",
    "True": "True",
    "False": "False",
}


def default_text(argument: Argument) -> str:
    """The Python literal of an argument's default; `...` if there is none.

    >>> from opwright.schema import parse_schema
    >>> schema = parse_schema("f(Tensor x, int[2] a=1, int b=Mean, ScalarType c=long, str d='mean') -> Tensor")
    >>> [default_text(one) for one in schema.arguments.all[1:]]
    ['1', '1', '...', "'mean'"]
    """
    text = argument.default or "..."
    if text == "None":
        # `None` is also the name of a reduction.
        return "None" if argument.type.is_nullable else _DEFAULTS[text]
    if text[0] in "'\"":
        return text if "\\" not in text else "..."
    return _DEFAULTS.get(text) or (text if _NUMBER.fullmatch(text) else "...")
