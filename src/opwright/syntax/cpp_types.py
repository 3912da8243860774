"""Types of C++ as texts, and whether two of them are certainly different."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from opwright.schema.base_types import BASE_TYPE_ROWS
from opwright.source.records import NamedTuple
from opwright.syntax.cpp_tokens import Token, cpp_tokens

#: The fundamental types by a name for those that may be the same, with the words of each in the order of the alphabet.
_SAME: Final = {
    "int": "int, int signed, signed, int32_t",
    "unsigned": "unsigned, int unsigned, uint32_t",
    "short": "short, int short, int16_t",
    "long": "long, int long, long long, int long long, int64_t, ptrdiff_t, ssize_t",
    "size": "long unsigned, int long unsigned, long long unsigned, uint64_t, size_t",
}
_ALONE: Final = ("bool", "char", "double", "float", "void")
_FUNDAMENTAL: Final = {name: name for name in _ALONE} | {
    words: name for name, forms in _SAME.items() for words in forms.split(", ")
}
_WORDS: Final = frozenset(" ".join(_FUNDAMENTAL).split())
#: The classes and aliases whose meaning is known by their whole names. Those with one value may be the same.
_NAMES: Final = {
    **{f"{space}::{name}": name for space in ("at", "c10", "torch") for name in (
        *[row.cpp_name for row in BASE_TYPE_ROWS if "::" in row.cpp and row.is_held], "List", "Dict",
        "ArrayRef", "OptionalArrayRef", "IntArrayRef", "SymIntArrayRef", "OptionalIntArrayRef", "TensorList",
        "OptionalSymIntArrayRef", "ITensorListRef", "IValue", "optional",
    )},
    **{f"std::{name}": name for name in (
        "optional", "vector", "tuple", "string", "string_view", "array", "pair", "map", "unordered_map",
    )},
    **{f"std::{name}": _FUNDAMENTAL[name] for name in ("int64_t", "int32_t", "int16_t", "size_t", "ptrdiff_t")},
    **{row.stable: f"stable {row.name}" for row in BASE_TYPE_ROWS if row.stable.startswith("torch::stable::")},
    **{row.stable: row.name for row in BASE_TYPE_ROWS if row.stable.startswith("torch::headeronly::")},
    "torch::headeronly::HeaderOnlyArrayRef": "HeaderOnlyArrayRef",
    "torch::headeronly::IntHeaderOnlyArrayRef": "IntHeaderOnlyArrayRef",
}  # fmt: skip
#: Names that are aliases of others, which a text may use in their place.
_ALIASES: Final = {
    "IntArrayRef": "ArrayRef<int64_t>", "SymIntArrayRef": "ArrayRef<SymInt>", "TensorList": "ArrayRef<Tensor>",
    "OptionalIntArrayRef": "OptionalArrayRef<int64_t>", "OptionalSymIntArrayRef": "OptionalArrayRef<SymInt>",
    "IntHeaderOnlyArrayRef": "HeaderOnlyArrayRef<int64_t>",
}  # fmt: skip
#: Names that mean one of these wherever they have no namespace: nobody calls something else so.
_SHORT: Final = {"Tensor": frozenset(("Tensor", "stable Tensor"))}


class CppType(NamedTuple):
    """A type: what its name may mean, the arguments of the template, whether it is `const`, and `&`, `&&` or `*`."""

    meanings: frozenset[str]
    arguments: tuple[CppType | None, ...] = ()
    is_const: bool = False
    reference: str = ""


def read_type(text: str) -> CppType | None:
    """Type that a text names; None if it has a name of which the meaning is not known, or another form.

    >>> read_type("const std::optional<double>&").reference, read_type("scalar_t"), read_type("Options<int>")
    ('&', None, None)
    """
    tokens = [*cpp_tokens(text)]
    own, rest = _read(tokens)
    return own if own is not None and not rest else None


def are_different(first: CppType | None, second: CppType | None) -> bool:
    """Whether two types of parameters or results are certainly different; a `const` of a value makes no difference.

    >>> are_different(read_type("at::IntArrayRef"), read_type("c10::ArrayRef<long>"))
    False
    >>> are_different(read_type("at::Tensor"), read_type("const at::Tensor &"))
    True
    >>> are_different(read_type("scalar_t"), read_type("double"))
    False
    """
    if first is None or second is None:
        return False
    if first.reference != second.reference or first.meanings.isdisjoint(second.meanings):
        return True
    if first.reference and first.is_const is not second.is_const:
        return True
    if len(first.arguments) != len(second.arguments):
        # Templates have arguments by default.
        return False
    return any(map(are_different, first.arguments, second.arguments))


def _read(tokens: Sequence[Token]) -> tuple[CppType | None, Sequence[Token]]:
    """Type at the beginning of tokens, None for one that is not known, and the tokens behind it."""
    words: list[str] = []
    arguments: tuple[CppType | None, ...] = ()
    is_const = False
    index = 0
    while index < len(tokens) and (tokens[index].kind == "name" or tokens[index].text == "::"):
        if tokens[index].text == "const":
            is_const = True
        else:
            words.append(tokens[index].text)
        index += 1
    rest = tokens[index:]
    if rest and rest[0].text == "<":
        read = _read_arguments(rest[1:])
        if read is None:
            return None, rest
        arguments, rest = read
    if rest and rest[0].text == "const":
        is_const, rest = True, rest[1:]
    count = next((number for number, token in enumerate(rest) if token.text not in ("&", "*")), len(rest))
    reference, rest = "".join([token.text for token in rest[:count]]), rest[count:]
    meanings, arguments = _meanings(words, arguments)
    return (CppType(meanings, arguments, is_const, reference) if meanings else None), rest


def _read_arguments(tokens: Sequence[Token]) -> tuple[tuple[CppType | None, ...], Sequence[Token]] | None:
    """Arguments of a template behind its bracket, and the tokens behind them; None for others than types."""
    arguments: list[CppType | None] = []
    while tokens:
        argument, rest = _read(tokens)
        arguments.append(argument)
        if not rest or len(rest) == len(tokens):
            return None
        if rest[0].text == ">":
            return tuple(arguments), rest[1:]
        if rest[0].text != ",":
            return None
        tokens = rest[1:]
    return None


def _meanings(
    words: list[str], arguments: tuple[CppType | None, ...]
) -> tuple[frozenset[str], tuple[CppType | None, ...]]:
    """What words mean as the name of a type; nothing if that is not known. Aliases are followed."""
    if not _WORDS.isdisjoint(words):
        meaning = _FUNDAMENTAL.get(" ".join(sorted(words)))
        return (frozenset(() if meaning is None else (meaning,))), arguments
    name = "".join(words).removeprefix("::")
    if name in _SHORT:
        return _SHORT[name], arguments
    meaning = _NAMES.get(name)
    if meaning is None:
        return frozenset(), ()
    alias = _ALIASES.get(meaning)
    if alias is not None:
        template, _, argument = alias.rstrip(">").partition("<")
        return frozenset((template,)), (read_type(argument if argument == "int64_t" else f"at::{argument}"),)
    return frozenset((meaning,)), arguments
