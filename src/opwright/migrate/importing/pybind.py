"""Modules of pybind11 and nanobind: what they define, and the same names as a Python module over operators."""

from __future__ import annotations

import keyword
import os
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Final

from opwright.migrate.importing.argument_uses import WRITTEN, Definition, Use
from opwright.migrate.importing.registration import SourcePlace
from opwright.schema.base_types import BASE_TYPE_ROWS
from opwright.source.diagnostic import shorten
from opwright.source.records import NamedTuple
from opwright.syntax.cpp_functions import CppFunction, divide_template, typed_parameters
from opwright.syntax.cpp_tokens import Token, arguments, closing_index, cpp_tokens, text_of
from opwright.workspace.yaml_scalar import comment

MODULE_MACROS: Final = ("PYBIND11_MODULE", "NB_MODULE")
#: What the first line has of each file that an import writes for a module, by which the next import knows it.
MARK: Final = " Written by `opwright import`"
#: What says nothing about the arguments of a function.
_POLICIES: Final = re.compile(r"(?:\w+::)*(?:call_guard|return_value_policy|rv_policy|prepend|sibling|scope|sig)\b.*")
_ARGUMENT: Final = re.compile(r"(?:\w+::)*arg\(.*")
_KEYWORDS: Final = re.compile(r"(?:\w+::)*kw_only\(\)")
_POSITIONS: Final = re.compile(r"(?:\w+::)*pos_only\(\)")
#: Tokens of a default, or of a cast; a longer one is not read.
_LONGEST: Final = 500
#: A word without a namespace before it.
_WORD: Final = re.compile(r"(?<![\w:])[A-Za-z_]\w*")
_STANDARD_HEADERS: Final = {
    "vector": "vector", "tuple": "tuple", "pair": "utility", "optional": "optional", "string": "string",
    "string_view": "string_view", "array": "array",
}  # fmt: skip
_QUALIFIERS: Final = dict.fromkeys(_STANDARD_HEADERS, "std::") | dict.fromkeys(
    (*[row.cpp_name for row in BASE_TYPE_ROWS if row.cpp.startswith("at::")], "IntArrayRef", "TensorList", "ArrayRef"),
    "at::",
)
#: One with a leading zero is octal.
_INTEGER: Final = re.compile(r"0|-?[1-9]\d*")
_NUMBER: Final = re.compile(r"-?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")
_NONE: Final = re.compile(r"(?:\w+::)*(?:none\(\)|nullopt)|nullptr|NULL|\{\}|std::optional<.*>(?:\(\)|\{\})")
_LIST: Final = re.compile(r"(?:std::vector<.*>)?(?:\((\{.*\})\)|(\{.*\}))")


class BoundArgument(NamedTuple):
    """An argument with the name that Python gives it, empty for one without, and its default in schemas, if any."""

    name: str
    default: Sequence[Token] = ()


class BoundArguments(NamedTuple):
    """What a definition says of its arguments, and its documentation.

    Those from `keywords` on are for keywords alone, those before `positions` have no names. `unread` is what was not
    understood.
    """

    named: Sequence[BoundArgument] = ()
    doc: str = ""
    keywords: int | None = None
    positions: int = 0
    unread: str = ""


class BoundFunction(NamedTuple):
    """A function of a module: its name there, its operator, its parameters as Python writes them, and its place.

    A conditional one is only in some builds of the module.
    """

    name: str
    submodule: str
    operator: str
    parameters: Sequence[str]
    given: Sequence[str]
    doc: str
    place: SourcePlace
    is_conditional: bool = False


class BoundModule(NamedTuple):
    """A module: its name, the namespace of its operators, what it has, and what of it was not read.

    `submodules` have their documentation, and `values` are constants as Python writes them.
    """

    name: str
    namespace: str
    doc: str
    place: SourcePlace
    functions: Sequence[BoundFunction]
    submodules: Mapping[str, str]
    values: Mapping[str, str]
    missing: Sequence[tuple[SourcePlace, str]]

    @property
    def places(self) -> list[SourcePlace]:
        """The places of the functions."""
        return [function.place for function in self.functions]


class ModuleCall(NamedTuple):
    """A statement of a module: a method with its arguments, and the submodule that it is called on.

    A statement that is no such call has no method. `value` is what is assigned to the call.
    """

    method: str
    arguments: Sequence[Sequence[Token]]
    submodule: str
    tokens: Sequence[Token]
    last_line: int
    value: Sequence[Token] = ()


def module_calls(
    body: Sequence[Token], variable: str, text_value: Callable[[Sequence[Token]], str | None]
) -> Iterator[ModuleCall]:
    """Statements of a module whose C++ variable has a name."""
    variables = {variable: ""}
    start = index = 0
    while index < len(body):
        if body[index].text in ("(", "[", "{"):
            index = closing_index(body, index)
        if index < len(body) and (
            body[index].text == ";" or (body[index].text == "}" and body[start].text != variable)
        ):
            tokens, start = body[start:index], index + 1
            if tokens and tokens[0].text not in ("using", "namespace"):
                yield from _calls_of(tokens, body[index].line, variables, text_value)
        index += 1


def _calls_of(
    tokens: Sequence[Token],
    last_line: int,
    variables: dict[str, str],
    text_value: Callable[[Sequence[Token]], str | None],
) -> Iterator[ModuleCall]:
    texts = [token.text for token in tokens]
    declares = "=" in texts and texts[-1] == ")" and "def_submodule" in texts
    at = texts.index("=") + 1 if declares else 0
    if len(texts) < at + 5 or texts[at] not in variables or texts[at + 1] != ".":
        yield ModuleCall("", (), "", tokens, last_line)
        return
    submodule = variables[texts[at]]
    while at + 3 < len(tokens) and texts[at + 1] == "." and texts[at + 3] == "(":
        method, given, end = texts[at + 2], arguments(tokens, at + 3, has_types=True), closing_index(tokens, at + 3)
        value = tokens[end + 2 :] if texts[end + 1 : end + 2] == ["="] else ()
        if method == "def_submodule" and "=" in texts[:at] and given:
            name = text_value(given[0]) or ""
            variables[texts[texts.index("=") - 1]] = f"{submodule}.{name}" if submodule else name
        yield ModuleCall(method, given, submodule, tokens, last_line, value)
        at = end


def bound_arguments(
    parts: Iterable[Sequence[Token]], text_value: Callable[[Sequence[Token]], str | None]
) -> BoundArguments:
    """What stands behind the function in a definition."""
    named: list[BoundArgument] = []
    doc, unread = "", ""
    keywords, positions = None, 0
    for part in parts:
        text = text_of(part)
        texts = [token.text for token in part]
        is_literal = len(part) > 1 and part[0].kind == "text" and texts[1] == "_a"
        if (value := text_value(part)) is not None:
            doc = value
        elif is_literal or _ARGUMENT.fullmatch(text):
            given = part[:1] if is_literal else next(iter(arguments(part, texts.index("("))), ())
            default = part[texts.index("=") + 1 :] if "=" in texts else ()
            named.append(BoundArgument(text_value(given) or "", default))
        elif _KEYWORDS.fullmatch(text):
            keywords = len(named)
        elif _POSITIONS.fullmatch(text):
            positions = len(named)
        elif not _POLICIES.fullmatch(text):
            unread = unread or text
    if not unread and not all(argument.name.isidentifier() for argument in named):
        unread = "an argument without a name"
    return BoundArguments(named, doc, keywords, positions, unread)


def default_text(tokens: Sequence[Token], type: str, text_value: Callable[[Sequence[Token]], str | None]) -> str | None:
    """A default of C++ as schemas and Python write it, for an argument of a type; None if it has no such form.

    >>> from opwright.syntax.cpp_tokens import cpp_tokens
    >>> [default_text([*cpp_tokens(text)], type, lambda _: None) for text, type in (
    ...     ("1e-6f", "float"), ("false", "bool"), ("c10::nullopt", "Tensor?"), ("{1, 2}", "int[]"), ("010", "int"))]
    ['1e-6', 'False', 'None', '[1, 2]', None]
    """
    if len(tokens) > _LONGEST:
        return None
    text = text_of(tokens)
    if type.endswith("?"):
        return "None" if _NONE.fullmatch(text) else default_text(tokens, type[:-1], text_value)
    if type.endswith("[]"):
        if _LIST.fullmatch(text) is None:
            return None
        opening = next(index for index, token in enumerate(tokens) if token.text == "{")
        items = [default_text(part, type[:-2], text_value) for part in arguments(tokens, opening)]
        return None if None in items else f"[{', '.join(map(str, items))}]"
    if type == "str":
        value = text_value(tokens)
        if value is None or not value.replace("\n", "").isprintable():
            return None
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'
    if type == "bool":
        return {"true": "True", "false": "False", "1": "True", "0": "False"}.get(text)
    if type in ("int", "float", "Scalar"):
        number = text if "x" in text else re.sub(r"(?<=[\d.])[fFlLuU]+$", "", text)
        return number if (_INTEGER if type == "int" else _NUMBER).fullmatch(number) else None
    return None


def schema_text(
    name: str, types: Sequence[str], results: Sequence[str], arguments: Sequence[str], written: Iterable[int],
    returned: int | None, keywords: int | None,
) -> str:  # fmt: skip
    """A schema: types with the names and defaults of arguments, some of which are written.

    `returned` is the written argument that the function gives back.

    >>> schema_text("f", ["Tensor", "Tensor?", "int"], ["Tensor"], ["x", "y", "n=1"], [0, 1], 0, 2)
    'f(Tensor(a!) x, Tensor(b!)? y, *, int n=1) -> Tensor(a!)'
    """
    sets = {number: f"Tensor({chr(ord('a') + count)}!)" for count, number in enumerate(written)}
    shown = [
        f"{type.replace('Tensor', sets.get(number, 'Tensor'))} {argument}"
        for number, (type, argument) in enumerate(zip(types, arguments, strict=True))
    ]
    if keywords is not None and keywords < len(shown):
        shown.insert(keywords, "*")
    given = [sets[returned]] if returned is not None and list(results) == ["Tensor"] else list(results)
    return f"{name}({', '.join(shown)}) -> {given[0] if len(given) == 1 else '(' + ', '.join(given) + ')'}"


def use_note(name: str, use: Use) -> str:
    """What to say of an argument that is written, or may be."""
    where = f"{os.path.normpath(use.path)}:{use.line}"
    if use.callee:
        written = ", which is written" if use.level == WRITTEN else ""
        return f"`{name}` may be written: its memory goes to {use.callee}{written} at {where}"
    if use.level == WRITTEN:
        return f"`{name}` is written at {where}"
    return f"`{name}` may be written: it is a reference that is not const"


def python_names(names: Sequence[str]) -> list[str]:
    """Names for arguments, where C++ has none or Python has another meaning."""
    given = [name or f"arg{number}" for number, name in enumerate(names)]
    return [f"{name}_" if keyword.iskeyword(name) else name for name in given]


def lambda_function(tokens: Sequence[Token], path: str) -> Definition | None:
    """A lambda as a function, without a result if it declares none; None for anything else."""
    texts = [token.text for token in tokens]
    if texts[:1] != ["["] or texts[-1:] != ["}"]:
        return None
    opening = closing_index(tokens, 0) + 1
    end = closing_index(tokens, opening) if texts[opening] == "(" else opening - 1
    body = next((index for index in range(end + 1, len(texts)) if texts[index] == "{"), -1)
    if body < 0:
        return None
    parameters = typed_parameters(tokens, opening) if texts[opening] == "(" else []
    arrow = texts.index("->", end, body) if "->" in texts[end:body] else -1
    result = text_of(tokens[arrow + 1 : body]) if arrow >= 0 else "" if "return" in texts[body:] else "void"
    types, names = tuple([type for type, _ in parameters]), tuple([name for _, name in parameters])
    function = CppFunction("", result, types, path, True, names=names)
    return Definition(function, tokens[body + 1 : -1])


def overload_cast(tokens: Sequence[Token]) -> tuple[Sequence[Token], Sequence[str] | None]:
    """Function in a cast that chooses one of several, and the types of its parameters, None without one."""
    if len(tokens) > _LONGEST:
        return tokens, None
    text = text_of(tokens)
    match = re.fullmatch(r"(?:static_cast|(?:\w+::)*overload_cast)<(.*)>\((.*)\)", text, re.DOTALL)
    if match is None:
        return tokens, None
    types = match[1] if "overload_cast" in text.partition("<")[0] else match[1].rpartition("(")[2].rpartition(")")[0]
    return [*cpp_tokens(match[2])], divide_template(types) if types else []


def header_text(
    functions: Iterable[CppFunction], aliases: Mapping[str, str], inline: Collection[str], *, is_stable: bool
) -> str:
    """A header that declares functions, with names of types that mean the same everywhere, and `inline` namespaces."""
    qualifiers = {**_QUALIFIERS, "Tensor": "torch::stable::"} if is_stable else _QUALIFIERS
    lines = []
    for function in functions:
        namespace, _, name = function.name.rpartition("::")
        types = [_qualified(type, aliases, qualifiers) for type in (function.result, *function.parameters)]
        declared = f"{types[0]} {name}({', '.join(types[1:])});"
        lines.append(_inside(namespace, declared, inline) if namespace else declared)
    standard = sorted({name for name in _STANDARD_HEADERS if any(f"std::{name}" in line for line in lines)})
    tensors = "<torch/types.h>" if any("torch::" in line for line in lines) else "<ATen/core/Tensor.h>"
    includes = ["<torch/csrc/stable/tensor.h>" if is_stable else tensors]
    includes += [f"<{name}>" for name in dict.fromkeys(_STANDARD_HEADERS[name] for name in standard)]
    head = [f"//{MARK}: the kernels that no header declared.", "#pragma once"]
    return "\n".join([*head, *[f"#include {name}" for name in includes], "", *lines, ""])


def _inside(namespace: str, declared: str, inline: Collection[str]) -> str:
    """A declaration in a namespace.

    >>> _inside("a::b::v1::c", "int f();", {"a::b::v1"})
    'namespace a::b { inline namespace v1 { namespace c { int f(); } } }'
    """
    opened: list[str] = []
    levels = namespace.split("::")
    for depth, level in enumerate(levels, 1):
        if "::".join(levels[:depth]) in inline:
            opened.append(f"inline namespace {level}")
        elif opened and not opened[-1].startswith("inline"):
            opened[-1] += f"::{level}"
        else:
            opened.append(f"namespace {level}")
    return "".join([f"{text} {{ " for text in opened]) + declared + " }" * len(opened)


def _qualified(type: str, aliases: Mapping[str, str], qualifiers: Mapping[str, str]) -> str:
    text = _WORD.sub(lambda match: aliases.get(match[0], match[0]), type)
    text = re.sub(r"__restrict__|\b(?:static|inline)\b", "", text)
    return _WORD.sub(lambda match: qualifiers.get(match[0], "") + match[0], text)


def module_text(module: BoundModule) -> str:
    """Python module: functions that call operators, with the names, defaults and texts of the C++ module."""
    lines = [f"#{MARK}, for callers of the C++ module: a function for each operator."]
    lines += [comment(f"{place}: {shorten(reason)} is not here.") for place, reason in module.missing]
    lines += [_quoted(module.doc)] if module.doc else []
    lines += ["", *(["import sys", "import types", ""] if module.submodules else []), "import torch", ""]
    lines.append("# The library with the operators has to be loaded before a function is called.")
    lines.append(f"_operators = torch.ops.{module.namespace}")
    lines += [f"{name} = {value}" for name, value in module.values.items()]
    for name, doc in module.submodules.items():
        variable = name.replace(".", "_")
        lines += ["", f'{variable} = types.ModuleType(__name__ + ".{name}", {_quoted(doc) if doc else None})']
        lines.append(f"sys.modules[{variable}.__name__] = {variable}")
        parent, _, plain = name.rpartition(".")
        lines += [f"{parent.replace('.', '_')}.{plain} = {variable}"] if parent else []
    overloads: dict[tuple[str, str], list[BoundFunction]] = {}
    for function in module.functions:
        overloads.setdefault((function.submodule, function.name), []).append(function)
    for (submodule, name), same in overloads.items():
        first = same[0]
        variable = submodule.replace(".", "_")
        defined = f"_{variable}_{name}" if submodule else name
        parameters, given = ["*arguments, **named"] * 2
        if len(same) == 1:
            parameters, given = ", ".join(first.parameters), ", ".join(first.given)
        docs = [function.doc for function in same if function.doc]
        lines += ["", "", f"def {defined}({parameters}):"]
        lines += [f"    {_quoted(chr(10).join(docs))}"] if docs else []
        lines.append(f"    return _operators.{first.operator}({given})")
        if submodule:
            lines += ["", "", f'{defined}.__name__ = "{name}"', f"{variable}.{name} = {defined}"]
    lines += _some_builds([same for same in overloads.values() if all(each.is_conditional for each in same)])
    return "\n".join([*lines, ""])


def _some_builds(functions: Sequence[Sequence[BoundFunction]]) -> list[str]:
    """What makes functions, each with its overloads, those of the module only where the library has their operators."""
    if not functions:
        return []
    lines = ["", "", "# What only some builds have is found if the library that is loaded has it.", "_some_builds = {"]
    submodules = dict.fromkeys([first.submodule for first, *_ in functions if first.submodule])
    for first, *_ in functions:
        owner = f"vars({first.submodule.replace('.', '_')})" if first.submodule else "globals()"
        path = f"{first.submodule}.{first.name}" if first.submodule else first.name
        lines.append(f'    "{path}": ("{first.operator}", {owner}.pop("{first.name}")),')
    lines += ["}", "", "", "def __getattr__(name):", '    operator, function = _some_builds.get(name, ("", None))']
    lines += ["    if function is not None and hasattr(_operators, operator):", "        return function"]
    lines += ['    raise AttributeError(f"this build of {__name__} has no {name}")']
    for name in submodules:
        lines += ["", "", f'{name.replace(".", "_")}.__getattr__ = lambda name: __getattr__("{name}." + name)']
    return lines


def _quoted(text: str) -> str:
    is_plain = text.replace("\n", "").isprintable() and "\\" not in text and not text.endswith('"')
    return f'"""{text}"""' if is_plain and '"""' not in text else repr(text)
