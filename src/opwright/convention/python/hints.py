"""Type hints of Python functions: the declarations in PyTorch's stub files.

Annotations use the names that PyTorch's stubs import, such as `_int`, `_size` and `Number`.

>>> from opwright.convention.python.signature import python_signature
>>> from opwright.release.version import parse_version
>>> from opwright.schema import parse_schema
>>> hints = Hints(Rules(parse_version("2.13")))
>>> print(hints.declaration(python_signature(parse_schema("mix(Tensor self, *, Scalar by=1) -> Tensor"))))
def mix(input: Tensor, *, by: Number | _complex = 1) -> Tensor: ...
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from opwright.convention.python.call import names_of
from opwright.convention.python.parameter import NoPythonType, Parameter
from opwright.convention.python.signature import PythonSignature
from opwright.release.rules import Rules
from opwright.schema.base_types import forms_of
from opwright.schema.function import Return
from opwright.schema.types import BaseType, ListType, OptionalType, Type
from opwright.source.records import NamedTuple

#: Base type -> its annotation as an argument. That of `Scalar` depends on the release.
_ARGUMENTS: Final = forms_of(lambda row: None if row.python is None else row.python.hint or None)

#: C++ default -> Python default, where they differ.
_DEFAULTS: Final = {
    "::std::nullopt": "None",
    "{}": "None",
    "c10::MemoryFormat::Contiguous": "contiguous_format",
}

#: What the program for stubs corrects in the finished declarations of functions, after lines are broken.
_CORRECTIONS: Final = (("at::Reduction::Mean", "1"), (": Tensor = None", ": Tensor | None = None"))

#: Longer declarations are broken into lines.
_WIDTH: Final = 80


def corrected(declaration: str) -> str:
    """A declaration of a function as stubs have it: a C++ default has its Python value, and None is in the type.

    >>> corrected("def f(mode: _int = at::Reduction::Mean, *, grad_input: Tensor = None) -> Tensor: ...")
    'def f(mode: _int = 1, *, grad_input: Tensor | None = None) -> Tensor: ...'
    """
    for text, replacement in _CORRECTIONS:
        declaration = declaration.replace(text, replacement)
    return declaration


def _or_none(text: str) -> str:
    return text if text.endswith("| None") else f"{text} | None"


class HintedParameter(NamedTuple):
    """A parameter with its annotation, and the text of its default, None without one."""

    name: str
    hint: str
    default: str | None

    @property
    def text(self) -> str:
        """Parameter as a declaration has it."""
        ending = "" if self.default is None else f" = {self.default}"
        return f"{self.name}: {self.hint}{ending}"


class Hints:
    """Declarations of one release: functions and methods, and the classes of named results."""

    def __init__(self, rules: Rules) -> None:
        self._accepts_no_list: Final = rules.stub_lists_accept_none
        self._foreach_returns_lists: Final = rules.stub_foreach_returns_lists
        scalar = _ARGUMENTS["Scalar"]
        self._base: Final = {
            **_ARGUMENTS,
            "Scalar": f"{scalar} | PySymType" if rules.stub_numbers_are_symbolic else scalar,
        }
        self._arguments: Final[dict[Type, str]] = {}
        self._results: Final[dict[Type, str]] = {}

    def argument(self, type: Type) -> str:
        """Annotation of an argument. Raises NoPythonType if its type has none.

        >>> from opwright.release.version import parse_version
        >>> from opwright.schema import parse_type
        >>> hints = Hints(Rules(parse_version("2.13")))
        >>> hints.argument(parse_type("int[2]")), hints.argument(parse_type("SymInt?"))
        ('_int | _size', '_int | SymInt | None')
        """
        hint = self._arguments.get(type)
        if hint is None:
            hint = self._arguments[type] = self.new_argument(type)
        return hint

    def new_argument(self, type: Type) -> str:
        """Annotation of an argument that is not in the cache. Raises NoPythonType."""
        if isinstance(type, OptionalType):
            return _or_none(self.argument(type.elem))
        if isinstance(type, BaseType) and type.name in self._base:
            return self._base[type.name]
        if not isinstance(type, ListType):
            raise NoPythonType(type.text)
        items, sized = type.elem.text, type.size is not None
        if items == "int":
            return "_int | _size" if sized else "_size"
        if type.is_tensor_like:
            return self._tensor_list(type, sized=sized)
        item = self.argument(type.elem)
        return f"{item} | Sequence[{item}]" if sized and items == "SymInt" else f"Sequence[{item}]"

    def _tensor_list(self, type: ListType, *, sized: bool) -> str:
        item = "Tensor | None" if type.is_nullable and not self._accepts_no_list else "Tensor"
        lists = f"tuple[{item}, ...] | list[{item}]"
        if sized:
            lists = f"Tensor | {lists}"
        return _or_none(lists) if type.is_nullable or self._accepts_no_list else lists

    def result(self, type: Type) -> str:
        """Annotation of a result, which is narrower than that of an argument."""
        hint = self._results.get(type)
        if hint is None:
            hint = self._results[type] = self._result(type)
        return hint

    def _result(self, type: Type) -> str:
        if isinstance(type, OptionalType):
            return _or_none(self.result(type.elem))
        if isinstance(type, ListType):
            return f"tuple[{self.result(type.elem)}, ...]"
        return "_device" if type.text == "Device" else self.argument(type)

    def returned(self, signature: PythonSignature) -> str:
        """Annotation of what a call returns: None, one value, a tuple, or a class of named results."""
        returns = signature.schema.returns
        if names_of(returns):
            return f"torch.return_types.{signature.name}"
        if len(returns) == 1:
            return self.result(returns[0].type)
        return self._tuple(returns) if returns else "None"

    def _tuple(self, returns: tuple[Return, ...]) -> str:
        return f"tuple[{', '.join([self.result(result.type) for result in returns])}]"

    def parameter(self, parameter: Parameter, *, method: bool, deprecated: bool) -> HintedParameter:
        """A parameter of a method or a function with its annotation and default."""
        name, hint, default = parameter.name, self.argument(parameter.type), parameter.default
        if name == "self" and hint == "Tensor" and not method and not deprecated:
            name = "input"
        elif name == "from":
            name = "from_"
        elif deprecated and parameter.outs:
            # Another declaration has no `out`, so here it needs no default.
            default = None
        elif not deprecated and name == "out":
            hint = _or_none(hint)
        return HintedParameter(name, hint, None if default is None else _default(default, parameter.type))

    def _parameter(self, parameter: Parameter, signature: PythonSignature) -> HintedParameter:
        return self.parameter(parameter, method=signature.method, deprecated=signature.deprecated)

    def parameters(self, signature: PythonSignature, chosen: Sequence[Parameter]) -> list[str]:
        """Some parameters of a signature, with the mark before those that are keyword-only."""
        texts = [self._parameter(parameter, signature).text for parameter in chosen]
        if len(texts) > len(signature.inputs):
            texts.insert(len(signature.inputs), "*")
        return texts

    def declaration(self, signature: PythonSignature, *, with_out: bool = True) -> str:
        """Declaration of a function or a method, optionally without `out`."""
        chosen = signature.parameters if with_out else signature.without_out
        parameters = self.parameters(signature, chosen)
        if signature.method and not signature.deprecated:
            parameters.insert(0, "self")
        text = declaration(signature.name, parameters, self.returned(signature))
        if self._foreach_returns_lists and signature.name.startswith("_foreach_"):
            # The shorter text decides where the declaration is broken into lines.
            text = text.replace(") -> None:", ") -> tuple[Tensor, ...] | list[Tensor]:")
        return text

    def spread_declaration(self, signature: PythonSignature, *, with_out: bool = True) -> str | None:
        """Declaration for calls that pass the only positional list of integers as several arguments: `ones(2, 3)`.

        None if there is no such list, and for deprecated signatures.
        """
        if signature.deprecated or len(signature.inputs) != 1:
            return None
        first = signature.inputs[0]
        if not isinstance(first.type, ListType) or first.type.elem.text not in ("int", "SymInt"):
            return None
        chosen = signature.parameters if with_out else signature.without_out
        rest = [self._parameter(parameter, signature).text for parameter in chosen[1:]]
        parameters = ["self"] if signature.method else []
        parameters += [f"*{first.name}: {self.argument(first.type.elem)}", *rest]
        return declaration(signature.name, parameters, self.returned(signature))

    def result_class(self, signature: PythonSignature) -> str | None:
        """Class of named results, or None if the results have no names."""
        returns = signature.schema.returns
        names = names_of(returns)
        if not names:
            return None
        items = self._tuple(returns)
        fields = [
            f"    @property\n    def {name}(self) -> {self.result(result.type)}: ..."
            for name, result in zip(names, returns, strict=True)
        ]
        listed = "\n".join(fields)
        return f"""class {signature.name}({items}):  # fmt: skip
{listed}
    def __new__(
        cls,
        sequence: {items},
    ) -> Self:  # fmt: skip
        ...
    n_fields: Final[_int] = {len(names)}
    n_sequence_fields: Final[_int] = {len(names)}
    n_unnamed_fields: Final[_int] = 0
    def __init_subclass__(cls) -> NoReturn: ...  # prohibit subclassing
"""


def _default(text: str, type: Type) -> str:
    if isinstance(type, ListType) and type.elem.text == "int" and text.startswith("{") and text.endswith("}"):
        return f"({', '.join([item.strip() for item in text[1:-1].split(',')])})"
    return _DEFAULTS.get(text, text)


def declaration(name: str, parameters: Sequence[str], result: str | None = None) -> str:
    """A function of a stub; each parameter has a line of its own if all together are too long for one.

    >>> declaration("f", ["x: int"], "str")
    'def f(x: int) -> str: ...'
    """
    returns = "" if result is None else f" -> {result}"
    line = f"def {name}({', '.join(parameters)}){returns}: ..."
    if len(line) <= _WIDTH or list(parameters) in ([], ["self"]):
        return line
    lines = [f"def {name}(", *[f"    {parameter}," for parameter in parameters], f"){returns}: ..."]
    if max(map(len, lines)) <= _WIDTH:
        return "\n".join(lines)
    # The formatter of PyTorch's sources would break such a declaration at the wrong place.
    return "\n".join([*lines[:-1], f"){returns}:  # fmt: skip", "    ..."])
