"""Writes the pages of the documentation that are made from the program itself.

    python -m docs.reference            write them
    python -m docs.reference --check    fail where a page differs from what would be written

`diagnostics.md` comes from the table of codes, `command-line.md` from the parsers, `api.md` from docstrings. The tables
in `library-files.md` and `backend-files.md` come from those of the dialects, those in `from-torchgen.md` from the cases
on which a test runs both generators; the text around them is written by hand. The bars of `images/benchmarks.svg` come
from the figures in `benchmarks.md`.
"""

from __future__ import annotations

import argparse
import inspect
import pkgutil
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import Enum
from functools import partial
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Final, NoReturn
from unittest.mock import patch

import opwright
from docs.pictures import bars
from opwright import torchgen
from opwright.backends.dialect.entry_fields import ENTRY_FIELDS as BACKEND_ENTRY_FIELDS
from opwright.backends.dialect.head_fields import (
    ALLOCATION_FIELDS,
    FALLBACK_FIELDS,
    GUARD_FIELDS,
    OPERATOR_FIELDS,
)
from opwright.backends.dialect.head_fields import HEAD_FIELDS as BACKEND_HEAD_FIELDS
from opwright.backends.dialect.hooks import HOOK_FIELDS, KINDS, WHERE_FIELDS
from opwright.backends.dialect.inherited import INHERITED_FIELDS
from opwright.backends.dialect.kernel_families import FAMILY_FIELDS, PLACEHOLDERS
from opwright.backends.dialect.sections import SECTIONS
from opwright.backends.hooks import HOOK_VALUES
from opwright.cli.arguments import Parser
from opwright.cli.main import COMMANDS, main
from opwright.cli.schema import DOCUMENTS, described_dialects, schema_text
from opwright.dialects.field import Field
from opwright.libraries.declared_outputs import OutputOperation
from opwright.libraries.dialect.expressions import FUNCTIONS, MEMBERS, TensorMember
from opwright.libraries.dialect.fields import LIBRARY_FIELDS, SAMPLE_FIELDS
from opwright.libraries.dialect.head import HEAD_FIELDS
from opwright.libraries.dialect.implementations import IMPLEMENTATION_FIELDS
from opwright.libraries.dialect.outputs import OUTPUT_FIELDS
from opwright.libraries.dialect.references import REFERENCE_FIELDS
from opwright.libraries.dialect.sections import COMMON_FIELDS, SECTION_FIELDS
from opwright.libraries.entry_fields import LIBRARY_POLICIES
from opwright.mobile.upgraders.fields import FILE_FIELDS as BYTECODE_FIELDS
from opwright.mobile.upgraders.fields import OPERATOR_FIELDS as UPGRADED_OPERATOR_FIELDS
from opwright.mobile.upgraders.fields import UPGRADER_FIELDS
from opwright.plugins.code_pages import RANGES, all_codes
from tests.conformance.small.inputs import PROGRAMS, case_programs, load_cases

DOCS: Final = Path(__file__).resolve().parent
COMMAND: Final = "make docs"
_WIDTH: Final = 70
#: What stands before the names of parameters.
_MARKS: Final[Mapping[object, str]] = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}
#: The types of defaults that are shown.
_SHOWN: Final = (bool, int, float, str, tuple, type(None))
_NOTE: Final = f"<!-- Made by `{COMMAND}`: do not edit. -->"


def diagnostics_page() -> str:
    """All diagnostic codes, by range, with their pages."""
    lines = [
        *("# Diagnostics", "", _NOTE, ""),
        "Each diagnostic has a code. `opwright explain CODE` prints the text below for one of them.",
    ]
    for start, subject in RANGES.items():
        codes = [code for code in all_codes() if code.code[1:3] == start]
        if not codes:
            continue
        lines += ["", f"## {subject[0].upper()}{subject[1:]}"]
        for code in codes:
            title, _, text = code.page.partition("\n\n")
            lines += ["", f"### {title}", "", text]
    return "\n".join(lines) + "\n"


class _Declared(Exception):
    """Raised in place of parsing, with the parser that has all its arguments."""


def parser_of(program: Callable[[list[str]], object], words: list[str]) -> Parser:
    """The parser that a program makes, caught when it is about to parse."""

    def stop(parser: Parser, *_: object) -> NoReturn:
        raise _Declared(parser)

    with patch.object(Parser, "parse_args", stop):
        try:
            program(words)
        except _Declared as declared:
            parser: Parser = declared.args[0]
            return parser
    raise AssertionError(f"{program} has parsed nothing")


def command_line_page() -> str:
    """The commands and the drop-in programs with their arguments."""
    lines = ["# Command line", "", _NOTE, "", *_program_lines(parser_of(main, ["--help"]), "opwright")]
    for command in COMMANDS:
        lines += ["", *_program_lines(parser_of(main, [command]), f"opwright {command}")]
    for module in pkgutil.walk_packages(torchgen.__path__, "opwright.torchgen."):
        program = getattr(import_module(module.name), "main", None)
        if program is not None:
            name = module.name.removesuffix(".__main__")
            lines += ["", *_program_lines(parser_of(program, []), f"python -m {name}")]
    return "\n".join(lines) + "\n"


def _program_lines(parser: Parser, name: str) -> Iterator[str]:
    """One program: its description, and a table for each group of arguments."""
    yield f"## {name}"
    yield ""
    yield from _as_text(parser.description or "")
    for title, actions in argument_groups(parser):
        yield from ("", f"| {title} | |", "| --- | --- |")
        for action in actions:
            spelled = ", ".join([f"`{form}`" for form in spellings(action)])
            yield f"| {spelled} | {help_text(parser, action).replace('|', chr(92) + '|')} |"


def argument_groups(parser: Parser) -> Iterator[tuple[str, list[argparse.Action]]]:
    """The groups of a parser's arguments that help texts show, each with its title."""
    # argparse has no public way to list arguments; help texts differ between versions of Python.
    for group in parser._action_groups:
        actions = [action for action in group._group_actions if action.help is not argparse.SUPPRESS]
        if actions:
            title = group.title or ""
            yield {"positional arguments": "arguments", "optional arguments": "options"}.get(title, title), actions


def help_text(parser: Parser, action: argparse.Action) -> str:
    """The help of an argument, with its values in place."""
    return (action.help or "") % {**vars(action), "prog": parser.prog}


def spellings(action: argparse.Action) -> list[str]:
    """How an argument may be written, with what follows it."""
    value = "" if action.nargs == 0 else _value(action)
    return [f"{flag} {value}".strip() for flag in action.option_strings] or [value]


def _value(action: argparse.Action) -> str:
    """What stands for an argument's value."""
    name = action.metavar or ("{" + ",".join(map(str, action.choices)) + "}" if action.choices else action.dest.upper())
    form = {None: "{0}", "?": "[{0}]", "*": "[{0} ...]", "+": "{0} ...", "...": "{0} ..."}[action.nargs]  # type: ignore[index]
    return form.format(name)


def as_blocks(description: str) -> Iterator[tuple[bool, list[str]]]:
    """The blocks of a description, each with whether it is code: its indented lines, commands and lists of them."""
    for paragraph in inspect.cleandoc(description).split("\n\n"):
        lines = paragraph.splitlines()
        prose = [line for line in lines if not line.startswith("  ")]
        code = [line for line in lines if line.startswith("  ")]
        if prose:
            yield False, prose
        if code:
            yield True, inspect.cleandoc("\n".join(code)).splitlines()


def _as_text(description: str) -> Iterator[str]:
    """A description as Markdown."""
    for number, (is_code, lines) in enumerate(as_blocks(description)):
        yield from ([""] if number else [])
        yield from ("```", *lines, "```") if is_code else lines


def api_page() -> str:
    """The public names of the library, with their signatures and docstrings."""
    lines = [
        *("# The library, name by name", "", _NOTE, ""),
        "The public names of `opwright`. [library.md](library.md) shows how to use them together.",
    ]
    for name in sorted(vars(opwright)["__all__"], key=str.lower):
        value = getattr(opwright, name)
        if not isinstance(value, ModuleType):
            lines += ["", *_entry(name, value, "##")]
    for module in (opwright.convention, opwright.cpp):
        for name in module.__all__:
            lines += ["", *_module_lines(import_module(f"{module.__name__}.{name}"))]
    return "\n".join(lines) + "\n"


def _module_lines(module: ModuleType) -> Iterator[str]:
    """A module with its functions and classes."""
    yield from (f"## {module.__name__}", "", *_doc(module))
    for name, value in vars(module).items():
        is_own = getattr(value, "__module__", None) == module.__name__ and not name.startswith("_")
        # `functools.cache` wraps a function in an object.
        member = inspect.unwrap(value) if callable(value) else value
        if is_own and (inspect.isclass(member) or inspect.isfunction(member)):
            yield from ("", *_entry(name, member, "###"))


def _entry(name: str, value: object, level: str) -> Iterator[str]:
    """One name: its heading, its signature, what it says of itself, and the members of a class."""
    yield from (f"{level} {name}", "")
    if inspect.isclass(value):
        yield from ("```python", f"class {name}{_fields(value)}", "```", "", *_doc(value))
        for member, attribute in vars(value).items():
            if not member.startswith("_"):
                yield from _member(member, attribute, f"{level}#", name)
    elif inspect.isfunction(value):
        yield from ("```python", f"def {name}{_signature(value)}", "```", "", *_doc(value))
    else:
        yield from ("```python", _alias(name, _plain(str(value))), "```")


def _alias(name: str, text: str) -> str:
    """The definition of a type alias, on a line of its own where it is long."""
    if len(text) < _WIDTH:
        return f"{name} = {text}"
    shown = text.replace(" | tuple[", "\n    | tuple[")
    return f"{name} = (\n    {shown}\n)"


def _member(name: str, attribute: object, level: str, owner: str) -> Iterator[str]:
    """A property or a method of a class."""
    function = attribute.fget if isinstance(attribute, property) else getattr(attribute, "__func__", attribute)
    if not inspect.isfunction(function) or not function.__doc__:
        return
    shown = f"{name}: {_returns(function)}" if isinstance(attribute, property) else f"def {name}{_signature(function)}"
    yield from ("", f"{level} {owner}.{name}", "", "```python", shown, "```", "", *_doc(function))


def _fields(value: type) -> str:
    """The parameters that a class is called with, if it says them itself."""
    if fields := getattr(value, "_fields", ()):
        defaults, types = getattr(value, "_field_defaults", {}), value.__annotations__
        shown = [f"{name}: {_plain(str(types[name]))}{_default(defaults, name)}" for name in fields]
        return _list(shown)
    init = vars(value).get("__init__")
    return _list(_parameters(init)) if inspect.isfunction(init) else ""


def _default(defaults: dict[str, object], name: str) -> str:
    return f" = {_shown_default(defaults[name])}" if name in defaults else ""


def _shown_default(value: object) -> str:
    """A default, short: values that print their address or all their parts are an ellipsis."""
    if isinstance(value, Enum):
        return f"{type(value).__name__}.{value.name}"
    return repr(value) if type(value) in _SHOWN and len(repr(value)) < _WIDTH else "..."


def _list(parameters: list[str]) -> str:
    """Parameters in parentheses, one to a line where they are many."""
    joined = ", ".join(parameters)
    return f"({joined})" if len(joined) < _WIDTH else "(\n    " + ",\n    ".join(parameters) + ",\n)"


def _signature(function: Callable[..., object]) -> str:
    """The parameters and the result of a function."""
    return f"{_list(_parameters(function))} -> {_returns(function)}"


def _parameters(function: Callable[..., object]) -> list[str]:
    """The parameters of a function, as its source writes their types; without `self`."""
    parts: list[str] = []
    star = False
    for parameter in inspect.signature(function).parameters.values():
        if parameter.name in ("self", "cls"):
            continue
        if parameter.kind is parameter.KEYWORD_ONLY and not star:
            parts.append("*")
        star = star or parameter.kind in (parameter.KEYWORD_ONLY, parameter.VAR_POSITIONAL)
        mark = _MARKS.get(parameter.kind, "")
        default = "" if parameter.default is parameter.empty else f" = {_shown_default(parameter.default)}"
        parts.append(f"{mark}{parameter.name}: {_plain(str(parameter.annotation))}{default}")
    return parts


def _returns(function: Callable[..., object]) -> str:
    return _plain(str(inspect.signature(function).return_annotation))


def _plain(annotation: str) -> str:
    """An annotation without the modules of names, and without quotes."""
    return re.sub(r"\b(?:\w+\.)+(?=[A-Za-z])", "", re.sub(r"^ForwardRef\('(.*?)'.*\)$", r"\1", annotation)).strip("'\"")


def _doc(value: object) -> Iterable[str]:
    """A docstring as Markdown: its examples are blocks of code."""
    lines: list[str] = []
    in_example = False
    for line in inspect.cleandoc(getattr(value, "__doc__", None) or "").splitlines():
        if in_example != (starts := line.startswith(">>>") or (in_example and bool(line.strip()))):
            lines.append("```python" if starts else "```")
            in_example = starts
        lines.append(line)
    return [*lines, "```"] if in_example else lines


#: A table that is made, between comments.
_TABLE: Final = re.compile(r"(<!-- table: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)


def page_with_tables(name: str, table: Callable[[str], str]) -> str:
    """A page that is written by hand, with tables that are made."""
    text = (DOCS / name).read_text(encoding="utf-8")
    return _TABLE.sub(lambda match: f"{match[1]}{table(match[2])}{match[3]}", text)


def _library_table(name: str) -> str:
    """A table of the dialect of libraries."""
    if name == "functions":
        return _table(
            "function | result",
            [f"`{function.name}{function.signature}` | {function.help}" for function in FUNCTIONS.values()],
        )
    if name == "members":
        return _table("member | value", [f"`{_member_text(member)}` | {member.help}" for member in MEMBERS.values()])
    if name == "policies":
        return _words_table("policy | what it does", LIBRARY_POLICIES)
    return _fields_table(_LIBRARY_FIELDS[name])


def _backend_table(name: str) -> str:
    """A table of the dialect of backends."""
    if name in _BACKEND_WORDS:
        return _words_table(*_BACKEND_WORDS[name])
    return _fields_table(_BACKEND_FIELDS[name])


def _upgraders_table(name: str) -> str:
    """A table of the dialect of bytecode."""
    return _fields_table(_UPGRADERS_FIELDS[name])


def _differences_table(name: str) -> str:
    """A table of the inputs that only Opwright, or only the reference, refuses."""
    is_refused = name == "refused"
    rows = []
    for case in load_cases(f"{name}.yaml"):
        programs = case_programs(case)
        shown = "all" if len(programs) == len(PROGRAMS) else ", ".join(f"`{PROGRAMS[program]}`" for program in programs)
        rows.append(" | ".join([*([case["code"]] if is_refused else []), case["kind"], shown]))
    return _table("code | input | programs that accept it" if is_refused else "input | programs that refuse it", rows)


def _fields_table(fields: Iterable[Field]) -> str:
    rows = [f"`{field.name}` | {field.values} | {field.help}" for field in fields]
    return _table("field | value | meaning", rows)


def _words_table(title: str, words: Mapping[str, str]) -> str:
    """A table of words with sentences; each begins with a capital letter and ends with a full stop."""
    sentences = {word: f"{help[0].upper()}{help[1:].rstrip('.')}." for word, help in words.items()}
    return _table(title, [f"`{word}` | {sentence}" for word, sentence in sentences.items()])


def _table(title: str, rows: list[str]) -> str:
    """The lines of a table, with its title row."""
    rule = " | ".join("---" for _ in title.split(" | "))
    return "".join(f"| {row} |\n" for row in (title, rule, *rows))


def _member_text(member: TensorMember) -> str:
    dim = "dim" if member.operation is OutputOperation.size else ""
    return f"{member.name}({dim})" if member.is_called else member.name


_LIBRARY_FIELDS: Final = {
    "head": HEAD_FIELDS,
    "entry": COMMON_FIELDS,
    "library": LIBRARY_FIELDS,
    "section": SECTION_FIELDS,
    "implementation": IMPLEMENTATION_FIELDS,
    "output": OUTPUT_FIELDS,
    "reference": REFERENCE_FIELDS,
    "samples": SAMPLE_FIELDS,
}


#: The sections of a backend file, whose fields have a table of their own.
_SECTIONS: Final = tuple([field for field in BACKEND_HEAD_FIELDS if field.name in SECTIONS])
_OWN_OPERATORS: Final = tuple([field for field in BACKEND_HEAD_FIELDS if field.name in OPERATOR_FIELDS])
_BACKEND_FIELDS: Final = {
    "head": tuple([field for field in BACKEND_HEAD_FIELDS if field not in (*_SECTIONS, *_OWN_OPERATORS)]),
    "operators": _OWN_OPERATORS,
    "sections": _SECTIONS,
    "entry": BACKEND_ENTRY_FIELDS,
    "guard": GUARD_FIELDS,
    "allocation": ALLOCATION_FIELDS,
    "fallback": FALLBACK_FIELDS,
    "family": FAMILY_FIELDS,
    "inherited": INHERITED_FIELDS,
    "hook": HOOK_FIELDS,
    "where": WHERE_FIELDS,
}
_UPGRADERS_FIELDS: Final = {
    "file": BYTECODE_FIELDS,
    "upgrader": UPGRADER_FIELDS,
    "operator": UPGRADED_OPERATOR_FIELDS,
}
_BACKEND_WORDS: Final[dict[str, tuple[str, Mapping[str, str]]]] = {
    "names": ("part | stands for", {f"{{{name}}}": help for name, help in PLACEHOLDERS.items()}),
    "kinds": ("kind | the operator has", {name: kind.value for name, kind in KINDS.items()}),
    "values": ("value | meaning", HOOK_VALUES),
}

PAGES: Final[dict[str, Callable[[], str]]] = {
    "diagnostics.md": diagnostics_page,
    "command-line.md": command_line_page,
    "api.md": api_page,
    "library-files.md": partial(page_with_tables, "library-files.md", _library_table),
    "backend-files.md": partial(page_with_tables, "backend-files.md", _backend_table),
    "from-torchgen.md": partial(page_with_tables, "from-torchgen.md", _differences_table),
    "selective-build.md": partial(page_with_tables, "selective-build.md", _upgraders_table),
    "images/benchmarks.svg": bars,
    **{f"schemas/{name}.json": partial(schema_text, name) for name in (*described_dialects(), *DOCUMENTS)},
}


def run(argv: list[str]) -> int:
    """Write the pages, or compare them with those that are there, and give the exit status."""
    status = 0
    for name, make in PAGES.items():
        path, text = DOCS / name, make()
        if path.is_file() and path.read_text(encoding="utf-8") == text:
            continue
        if argv == ["--check"]:
            print(f"docs/{name} is not what the program says of itself now: run `{COMMAND}`", file=sys.stderr)
            status = 1
        else:
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")
            print(f"docs/{name} written")
    return status


if __name__ == "__main__":
    sys.exit(run(sys.argv[1:]))
