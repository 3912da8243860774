"""The functions and registering statements of C++ sources, and the schema that PyTorch infers from C++ types."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from opwright.schema.base_types import BASE_TYPE_ROWS
from opwright.source.lazy import lazy_pattern
from opwright.source.limits import DEPTH, SCALAR_CHARACTERS
from opwright.source.records import NamedTuple
from opwright.source.span import SourceText
from opwright.syntax.budget import SourceBudget
from opwright.syntax.cpp_source import CppSource
from opwright.syntax.cpp_tokens import Token, arguments, closing_index, text_of

_PLAIN: Final = {
    **{row.cpp_name: row.name for row in BASE_TYPE_ROWS if row.is_inferred}, "string": "str",
    "IntArrayRef": "int[]", "SymIntArrayRef": "SymInt[]", "TensorList": "Tensor[]", "ITensorListRef": "Tensor[]",
    "variable_list": "Tensor[]", "Variable": "Tensor",
}  # fmt: skip
_LISTS: Final = ("vector", "ArrayRef", "List")
_QUALIFIER: Final = re.compile(r"\b(?:const|inline|static|extern|virtual|constexpr|typename)\b|&&?")
_SCOPE: Final = re.compile(r"(?:::)?(?:\b(?:std|at|c10|torch|stable|autograd|detail|headeronly)::)+")
_ALIASED: Final = re.compile(r"(?<![\w:])\w+")
_TEMPLATE: Final = re.compile(r"(\w+)<(.*)>")


#: Types that kernels of the dispatcher cannot have, and functions of Python modules do, with what holds their values.
_NARROWED: Final = {
    **dict.fromkeys(("int", "long", "short", "unsigned", "unsigned int", "unsigned long", "size_t"), "int"),
    **dict.fromkeys(("int32_t", "int16_t", "uint64_t", "uint32_t", "uint16_t", "uint8_t"), "int"),
    **{row.cpp_name: row.name for row in BASE_TYPE_ROWS if row.in_dispatcher and row.cpp and not row.is_inferred},
    "float": "float", "Dtype": "ScalarType",
}  # fmt: skip


def inferred_schema(name: str, result: str, parameters: Sequence[str], aliases: Mapping[str, str]) -> str | None:
    """Schema of a function with these C++ types; None if one of them has no type in schemas.

    `aliases` are names of types with what they stand for.

    >>> inferred_schema("f", "std::tuple<at::Tensor, int64_t>", ["const at::Tensor&", "std::optional<double>"], {})
    'f(Tensor _0, float? _1) -> (Tensor _0, int _1)'
    """
    types = [schema_type(text, aliases) for text in parameters]
    results = result_types(result, aliases)
    if None in types or results is None:
        return None
    taken = ", ".join(f"{type} _{number}" for number, type in enumerate(types))
    given = [f"{type} _{number}" for number, type in enumerate(results)]
    return f"{name}({taken}) -> {given[0] if len(given) == 1 else '(' + ', '.join(given) + ')'}"


def result_types(text: str, aliases: Mapping[str, str], *, is_narrow: bool = False) -> list[str] | None:
    """The types in schemas of the results of a function; None if one of them has none."""
    returned = plain_cpp_type(_ALIASED.sub(lambda match: aliases.get(match[0], match[0]), text))
    match = _TEMPLATE.fullmatch(returned)
    if returned == "void":
        return []
    is_tuple = match is not None and match[1] in (("tuple", "pair") if is_narrow else ("tuple",))
    parts = divide_template(match[2]) if match is not None and is_tuple else [returned]
    types = [schema_type(part, {}, is_narrow=is_narrow) for part in parts]
    return None if None in types else list(map(str, types))


def schema_type(text: str, aliases: Mapping[str, str], *, is_narrow: bool = False) -> str | None:
    """The type in schemas of a C++ type; None if there is none. Numbers may have less than 64 bits if it `is_narrow`.

    >>> schema_type("const std::vector<int>&", {}), schema_type("const std::vector<int>&", {}, is_narrow=True)
    (None, 'int[]')
    """
    text = _ALIASED.sub(lambda match: aliases.get(match[0], match[0]), text)
    if text.count("<") > DEPTH or len(text) > SCALAR_CHARACTERS:
        return None
    return _schema_type(text, {**_PLAIN, **_NARROWED} if is_narrow else _PLAIN)


def plain_cpp_type(text: str) -> str:
    """A type without qualifiers, blanks, and the namespaces of PyTorch and of the language."""
    plain = _SCOPE.sub("", _QUALIFIER.sub(" ", text))
    return re.sub(r"\s*([<>,*])\s*", r"\1", " ".join(plain.split()))


def _schema_type(text: str, plain_types: Mapping[str, str]) -> str | None:
    plain = plain_cpp_type(text)
    if plain in plain_types:
        return plain_types[plain]
    match = _TEMPLATE.fullmatch(plain)
    if match is None:
        return None
    inner = [_schema_type(part, plain_types) for part in divide_template(match[2])]
    if None in inner:
        return None
    if match[1] in _LISTS and len(inner) == 1:
        return f"{inner[0]}[]"
    if match[1] == "optional" and len(inner) == 1:
        return f"{inner[0]}?"
    if match[1] == "tuple":
        return f"({', '.join(map(str, inner))})"
    if match[1] == "Dict" and len(inner) == 2:
        return f"Dict({inner[0]}, {inner[1]})"
    return None


def divide_template(text: str) -> list[str]:
    """Arguments of a template."""
    parts, depth, start = [], 0, 0
    for index, character in enumerate(text):
        depth += (character == "<") - (character == ">")
        if character == "," and not depth:
            parts.append(text[start:index])
            start = index + 1
    return [*parts, text[start:]]


#: A word that only macros have, in place of `static` or `inline`.
_MACRO: Final = lazy_pattern(r"[A-Z][A-Z0-9]*_[A-Z0-9_]*|__\w+")
#: The tokens of a name of a function, with blanks between them: no declaration of a variable is one.
_NAME: Final = lazy_pattern(r"(?:::\s)?\w+(?:\s::\s\w+)*")
#: Words of fundamental types, which no parameter is called.
_FUNDAMENTAL: Final = frozenset(("bool", "char", "double", "float", "int", "long", "short", "signed", "unsigned"))
#: Words of other declarations than functions.
_NO_FUNCTIONS: Final = frozenset((
    "class", "struct", "union", "enum", "template", "using", "typedef", "=", "return", "operator",
))  # fmt: skip
_CHECKS: Final = ("TORCH_CHECK", "STD_TORCH_CHECK")
#: Calls that change no argument.
_ASKING: Final = frozenset((
    "size", "sizes", "stride", "strides", "dim", "numel", "scalar_type", "dtype", "device", "options", "get_device",
    "is_cuda", "is_cpu", "is_contiguous", "contiguous", "checkAllSameGPU", "device_guard", "guard", "empty", "zeros",
    "empty_like", "zeros_like",
))  # fmt: skip
#: Calls that fail unless tensors, of which each has a `TensorArg`, have one dtype and one kind of device.
_SAME_TYPES: Final = frozenset(("checkSameType", "checkAllSameType"))
#: The types for which `AT_DISPATCH_..._TYPES` have cases: a list of `Dispatch_v2.h`, and further dtypes.
DISPATCH_TYPES: Final[Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]]] = {
    "FLOATING_TYPES": (("AT_FLOATING_TYPES",), ()),
    "FLOATING_TYPES_AND_HALF": (("AT_FLOATING_TYPES",), ("Half",)),
    "REDUCED_FLOATING_TYPES": ((), ("BFloat16", "Half")),
    "INTEGRAL_TYPES": (("AT_INTEGRAL_TYPES",), ()),
    "COMPLEX_TYPES": (("AT_COMPLEX_TYPES",), ()),
    "FLOATING_AND_COMPLEX_TYPES": (("AT_FLOATING_TYPES", "AT_COMPLEX_TYPES"), ()),
    "ALL_TYPES": (("AT_ALL_TYPES",), ()),
    "ALL_TYPES_AND_COMPLEX": (("AT_ALL_TYPES_AND_COMPLEX",), ()),
}
#: The body of a function that only calls an operator through the dispatcher.
_DISPATCHED: Final = lazy_pattern(
    r'(?:C10_LOG_API_USAGE_ONCE\("[^"]*"\);)?'
    r"(?:(?:static |const |constexpr )*auto&? (?P<operator>\w+)=|return )"
    r"(?:::)?(?:c10|at)::Dispatcher::singleton\(\)"
    r'\.findSchemaOrThrow\("(?P<name>\w+::\w+)", "(?P<overload>\w*)"\)\.typed<[^;]*>\(\)'
    r"(?(operator);return (?P=operator))\.call\((?P<given>[\w, ]*)\);"
)


class Statement(NamedTuple):
    """A declaration or another statement outside of functions and classes: what is before its body, and the body.

    `scope` are the namespaces around it; an anonymous one is empty. What opens an inline namespace is one, too.
    """

    head: Sequence[Token]
    body: Sequence[Token]
    scope: tuple[str, ...]
    last_line: int


class CppFunction(NamedTuple):
    """A function: its name with its namespaces, its types as texts, and where it is declared.

    `names` are those of the parameters, empty for one without a name. Only its own file can name one that `is_hidden`:
    it is static, or in an anonymous namespace. `forwards_to` is the function to which it only hands its parameters, as
    the source names it; empty if it does more. `dispatches` is the operator that it finds in the dispatcher, if it only
    calls that with its parameters. `checks` are the conditions that it checks before it does anything else.
    """

    name: str
    result: str
    parameters: tuple[str, ...]
    path: str
    is_hidden: bool
    forwards_to: str = ""
    names: tuple[str, ...] = ()
    dispatches: str = ""
    checks: tuple[str, ...] = ()


def statements(source: CppSource) -> Iterator[Statement]:
    """Statements of a source, those in namespaces too. Raises Fault (E0006) if the caller takes too long with them."""
    budget = SourceBudget(SourceText(source.path, source.text))
    tokens = source.tokens
    scope: list[str | None] = []
    start = index = 0
    while index < len(tokens):
        text = tokens[index].text
        if text in ("(", "["):
            index = closing_index(tokens, index)
        elif text == "{":
            head = tokens[start:index]
            inner = _opened_namespace(head)
            if inner is not None:
                at = next((place for place, token in enumerate(head) if token.text == "inline"), None)
                if at is not None:
                    inline = _opened_namespace(head[: at + 2] if at > 1 else head) or ""
                    yield Statement(head, (), (*_names(scope), inline), tokens[index].line)
                scope.append(inner)
            else:
                end = closing_index(tokens, index)
                line = tokens[min(end, len(tokens) - 1)].line
                yield Statement(head, tokens[index + 1 : end], _names(scope), line)
                budget.check_time(tokens[index].start)
                index = end
            start = index + 1
        elif text == "}":
            if scope:
                scope.pop()
            start = index + 1
        elif text == ";":
            yield Statement(tokens[start:index], (), _names(scope), tokens[index].line)
            budget.check_time(tokens[index].start)
            start = index + 1
        index += 1


def _names(scope: Sequence[str | None]) -> tuple[str, ...]:
    return tuple([name for name in scope if name is not None])


def _opened_namespace(head: Sequence[Token]) -> str | None:
    """Namespace that a brace opens: empty for an anonymous one; None for other braces.

    >>> from opwright.syntax.cpp_tokens import cpp_tokens
    >>> _opened_namespace([*cpp_tokens("namespace a::inline b")])
    'a::b'
    """
    texts = [token.text for token in head if token.text != "inline"]
    if "namespace" in texts:
        return "".join(text for text in texts[texts.index("namespace") + 1 :] if text == "::" or text.isidentifier())
    return None


def functions(source: CppSource) -> Iterator[tuple[CppFunction, Statement]]:
    """The functions that a source declares or defines, each with its statement."""
    for statement in statements(source):
        function = function_of(statement, source.path)
        if function is not None:
            yield function, statement


def function_of(statement: Statement, path: str) -> CppFunction | None:
    """Function that a statement declares or defines; None if it does neither."""
    head = statement.head
    opening = next((index for index, token in enumerate(head) if token.text == "("), 0)
    texts = [token.text for token in head[:opening]]
    if opening < 2 or head[opening - 1].kind != "name" or not _NO_FUNCTIONS.isdisjoint(texts):
        return None
    first = opening - 1
    while first >= 2 and texts[first - 1] == "::" and head[first - 2].kind == "name":
        first -= 2
    linkage = ("static", "extern", '"C"')
    typed = [token for token in head[:first] if token.text not in linkage and not _MACRO.fullmatch(token.text)]
    if not typed:
        return None
    named = "".join(texts[first:])
    scope = [name for name in statement.scope if name]
    parameters = typed_parameters(head, opening)
    names = tuple([name for _, name in parameters])
    return CppFunction(
        "::".join([*scope, named]),
        text_of(typed),
        tuple([type for type, _ in parameters]),
        path,
        "" in statement.scope or "static" in texts,
        forwarded_to(statement.body, names),
        names,
        _dispatched_operator(statement.body, names),
        tuple(_first_checks(statement, names)),
    )


def _first_checks(function: Statement, names: Sequence[str]) -> Iterator[str]:
    """The conditions of `TORCH_CHECK` that hold behind the beginning of a body, which changes no parameter there.

    They name parameters where the body names contiguous copies of these. The last one may be a macro that chooses code
    by a dtype, with its arguments before the name.
    """
    body, index = function.body, 0
    tensors: dict[str, str] = {}
    copies: dict[str, str] = {}
    while index + 1 < len(body):
        end = index
        while end < len(body) and body[end].text not in (";", "if", "for", "while", "return"):
            end = closing_index(body, end) + 1 if body[end].text in ("(", "{", "[") else end + 1
        statement = body[index:end]
        if end >= len(body) or body[end].text != ";" or body[index].conditions != function.head[0].conditions:
            return
        texts = [token.text for token in statement]
        is_call = len(statement) > 2 and texts[1] == "("
        if is_call and texts[0] in _CHECKS:
            yield _of_parameters(next(iter(arguments(statement, 1)), ()), copies)
        elif is_call and texts[0].startswith("AT_DISPATCH_"):
            yield f"{texts[0]}({', '.join([_of_parameters(given, copies) for given in arguments(statement, 1)[:-2]])})"
            return
        elif not _SAME_TYPES.isdisjoint(texts):
            first, *others = [tensors[text] for text in texts if text in tensors] or [""]
            yield from [f"{first}.scalar_type()=={other}.scalar_type()" for other in others]
        elif not _only_asks(texts, names):
            return
        for place, text in enumerate(texts[:-4]):
            if text.isidentifier() and texts[place + 1] == "{" and "TensorArg" in texts:
                tensors[text] = texts[place + 2]
            if texts[place + 1 : place + 5 : 3] == ["=", "contiguous"] and texts[place + 2] in names:
                copies[text] = texts[place + 2]
        index = end + 1


def _of_parameters(tokens: Sequence[Token], copies: Mapping[str, str]) -> str:
    """A condition with the parameters in place of their copies, which have the same sizes and dtypes."""
    if any(token.text in ("is_contiguous", "stride", "strides") for token in tokens):
        return text_of(tokens)
    return text_of([token._replace(text=copies.get(token.text, token.text)) for token in tokens])


def _only_asks(texts: Sequence[str], names: Sequence[str]) -> bool:
    """Whether a statement changes none of the named parameters: it declares something, or asks for facts."""
    pairs = [*itertools.pairwise(texts)]
    called = {text for text, sign in pairs if sign == "("}
    changed = {text for text, sign in pairs if sign == "="}
    is_known = called <= _ASKING and changed.isdisjoint(names) and all(text.isidentifier() for text in changed)
    return is_known and "&" not in texts and ("+", "+") not in pairs and ("-", "-") not in pairs


def _dispatched_operator(body: Sequence[Token], names: Sequence[str]) -> str:
    """The operator that a body calls with these names and nothing else, such as `acme::scale`; empty without one."""
    if not any(token.text == "findSchemaOrThrow" for token in body):
        return ""
    match = _DISPATCHED.fullmatch(text_of(body))
    if match is None or match["given"] != ", ".join(names):
        return ""
    return match["name"] + (f".{match['overload']}" if match["overload"] else "")


def called_names(body: Sequence[Token]) -> Iterator[tuple[int, int, str]]:
    """The functions that a body calls by name: where each name begins and ends, and the name with its namespaces."""
    for end in range(1, len(body)):
        if body[end].text != "(" or body[end - 1].kind != "name":
            continue
        first = end - 1
        while first >= 2 and body[first - 1].text == "::" and body[first - 2].kind == "name":
            first -= 2
        first -= first > 0 and body[first - 1].text == "::"
        if not first or body[first - 1].text not in (".", "->"):
            yield first, end, "".join([token.text for token in body[first:end]])


def forwarded_to(body: Sequence[Token], names: Sequence[str]) -> str:
    """Function to which a body only hands the named parameters, in their order; empty if it does anything else.

    `apply` of a class of autograd is none: it records the gradient.
    """
    body = body[1:] if body and body[0].text == "return" else body
    call = next((index for index, token in enumerate(body) if token.text == "("), 0)
    if not call or [token.text for token in body[closing_index(body, call) :]] != [")", ";"]:
        return ""
    callee = body[:call]
    if not _NAME.fullmatch(" ".join([token.text for token in callee])) or callee[-1].text == "apply":
        return ""
    given = [text_of(argument) for argument in arguments(body, call)]
    return "".join([token.text for token in callee]) if given == [*names] else ""


def template_end(head: Sequence[Token]) -> int:
    """Where the parameters of a template end; 0 for a function that is none."""
    depth = 0
    for index, token in enumerate(head if head and head[0].text == "template" else ()):
        depth += (token.text == "<") - (token.text == ">")
        if token.text == ">" and not depth:
            return index
    return 0


def typed_parameters(tokens: Sequence[Token], opening: int) -> list[tuple[str, str]]:
    """The types and the names of the parameters of a function."""
    return list(map(type_and_name, arguments(tokens, opening, has_types=True)))


def type_and_name(parameter: Sequence[Token]) -> tuple[str, str]:
    """The type of a parameter without its default, and its name, empty if it has none."""
    texts = [token.text for token in parameter]
    if "=" in texts:
        parameter = parameter[: texts.index("=")]
    is_named = len(parameter) > 1 and parameter[-1].kind == "name" and parameter[-2].text not in ("::", "const")
    is_named = is_named and parameter[-1].text not in _FUNDAMENTAL
    return (text_of(parameter[:-1]), parameter[-1].text) if is_named else (text_of(parameter), "")
