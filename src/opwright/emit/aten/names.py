"""Names of operators, arguments and tags: `aten_interned_strings.h`, `ATenOpList.cpp`, `enum_tag.h`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from opwright.emit.aten.units import file_emitter, overloads
from opwright.emit.emitter import AnyEmitter, Emitter, FragmentContext, Job, OneFile, Slots
from opwright.model.native_function import NativeFunction

#: Alternative spellings of C++ operators, which cannot be names of symbols.
_CPP_WORDS: Final = frozenset(
    ("and", "and_eq", "bitand", "bitor", "compl", "not", "not_eq", "or", "or_eq", "xor", "xor_eq")
)


def interned_strings(job: Job) -> Slots:
    """Names that become symbols at compile time: operators, with and without underscore, and arguments."""
    names: set[str] = set()
    attributes: set[str] = set()
    for function in job.catalog.functions:
        names.add(function.name.name)
        names.add(function.root_name)
        attributes.update([argument.name for argument in function.arguments.all])
    return {
        "aten_symbols": _symbols("aten", names - _CPP_WORDS),
        "attr_symbols": _symbols("attr", attributes),
    }


def _symbols(namespace: str, names: Iterable[str]) -> str:
    return " \\\n".join([f"_({namespace}, {name})" for name in sorted(names)])


def name_entry(function: NativeFunction, context: FragmentContext) -> Slots:
    """The overload's row in the list of PyTorch's operators."""
    return {"aten_ops": (f'{{"{function.library.namespace}::{function.name.name}", "{function.name.overload}"}},',)}


def tags(job: Job) -> Slots:
    """Members of the enumeration of tags."""
    return {"enum_of_valid_tags": ",\n".join(sorted(job.catalog.tags))}


def emitters(job: Job) -> list[AnyEmitter]:
    """Emitters of the three files."""
    return [
        Emitter(
            name="interned_strings_header",
            family="headers",
            template="aten_interned_strings.h",
            folder="core",
            layout=OneFile("aten_interned_strings.h"),
            file_slots=interned_strings,
            line_names=r"_\(aten, (?P<operator>\w+)\)",
        ),
        Emitter(
            name="enum_tag_header",
            family="headers",
            template="enum_tag.h",
            folder="headeronly" if job.rules.enum_tag_is_header_only else "core",
            layout=OneFile("enum_tag.h"),
            file_slots=tags,
            line_names=r"(?P<tag>\w+),?$",
        ),
        file_emitter("operator_list_source", "ATenOpList.cpp", overloads, name_entry, ("aten_ops",), folder="core"),
    ]
