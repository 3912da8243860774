"""The entry that judges: which operator a text names, and what the oracle has to know of it."""

from __future__ import annotations

import os
import re
from typing import Final

from opwright.emit.registry import build_folders
from opwright.libraries import library_codes
from opwright.libraries.emit.openings import opening_body, opening_source
from opwright.libraries.emit.python.fakes import check_function
from opwright.libraries.emit.python.references import unread_arguments
from opwright.libraries.entry_fields import library_fields, requirements_of
from opwright.libraries.operator_library import OperatorLibrary, RunLibraries
from opwright.model.native_function import NativeFunction
from opwright.release.inputs import open_inputs
from opwright.run.generation import Generation
from opwright.run.request import Request
from opwright.schema.function import Argument
from opwright.schema.names import OperatorName
from opwright.source.diagnostic import Diagnostics, Fault, did_you_mean
from opwright.source.records import NamedTuple
from opwright.source.text import SourceFile

_FAMILIES: Final = ("library",)
#: `acme.yaml::rms_norm`, `acme.yaml::acme::rms_norm` and `acme.yaml`.
_ENTRY: Final = re.compile(r"(?P<file>.*?\.ya?ml)(?:::(?P<name>[\w:.]+))?", re.DOTALL)


class JudgedEntry(NamedTuple):
    """An operator with its library, and the file that says what it does."""

    function: NativeFunction
    library: OperatorLibrary
    file: SourceFile

    @property
    def operator(self) -> str:
        """The operator as `acme::rms_norm`."""
        return f"{self.function.namespace}::{self.function.name}"

    @property
    def name(self) -> OperatorName:
        """The name as the entry has it. What saves results is an internal operator."""
        written = library_fields(self.function).written
        return self.function.name if written is None else written.name

    @property
    def arguments(self) -> tuple[Argument, ...]:
        """The arguments in the order of the schema."""
        return self.function.arguments.all


def read_entry(text: str) -> JudgedEntry:
    """The entry of a text such as `acme.yaml::rms_norm`. Raises FaultsFound or Fault (E1213) with what is wrong.

    >>> read_entry("acme.py")
    Traceback (most recent call last):
      ...
    opwright.source.diagnostic.Fault: error[E1213]: `acme.py` names no entry
      help: write the library file and the operator: `acme.yaml::rms_norm`
    """
    match = _ENTRY.fullmatch(text)
    if match is None:
        help = "write the library file and the operator: `acme.yaml::rms_norm`"
        raise Fault.at(library_codes.NO_ENTRY, f"`{text}` names no entry", help=help)
    return entry_of(SourceFile.read(match["file"]), match["name"] or "")


def entry_of(file: SourceFile, name: str) -> JudgedEntry:
    """The entry with a name, or the only one, of a library file. Raises FaultsFound or Fault (E1213)."""
    sink = Diagnostics()
    request = Request(open_inputs("auto"), build_folders("", _FAMILIES), _FAMILIES, libraries=(file,))
    libraries = Generation(request, sink).job.of(RunLibraries).libraries
    sink.raise_if_errors()
    entries = [
        JudgedEntry(function, library, file)
        for library in libraries
        for function in library.catalog.functions
        if library_fields(function).returned_from is None and not function.is_synthesized
    ]
    named = {f"{entry.function.namespace}::{entry.name}": entry for entry in entries}
    wanted = [key for key in named if not name or name in (key, key.partition("::")[2])]
    if len(wanted) != 1:
        several = f"{len(wanted)} operators" if wanted else "no operator"
        message = f"`{file.path}` has {several}{f' `{name}`' if name else ''}"
        names = [key.partition("::")[2] for key in named]
        help = did_you_mean(name, names) or f"it has {', '.join([f'`{key}`' for key in names[:20]])}"
        raise Fault.at(library_codes.NO_ENTRY, message, help=str(help))
    return named[wanted[0]]


def module_folders(entry: JudgedEntry, folders: tuple[str, ...]) -> list[str]:
    """Where the module of a reference is looked for first: the folder of the library file, then those of the user."""
    return [os.path.dirname(os.path.abspath(entry.file.path)), *folders]


def oracle_facts(entry: JudgedEntry, folders: tuple[str, ...]) -> dict[str, object]:
    """What an oracle has to know of an entry with a reference. `folders` are those of modules of Python."""
    function = entry.function
    fields, requirements = library_fields(function), requirements_of(function)
    assert fields.reference is not None
    check = check_function(function, "_check")
    opening = "import functools as _functools\nimport operator as _operator\nimport torch as _torch\n"
    opening += "import torch._prims_common as _common\n"
    copied = () if requirements is None else requirements.copied
    positional = [argument.name for argument in function.arguments.positional]
    unread = unread_arguments(function)
    layouts = " ".join([str(check.condition) for check in (requirements.checks if requirements is not None else ())])
    is_aligned = "aligned" in [layout for argument in copied for layout in argument.layouts] or "'aligned'" in layouts
    return {
        "do": "entry",
        "engine": opening_source("judging"),
        "check": f"{opening}{opening_body('outputs')}\n{check}" if check else "",
        "reference": fields.reference.path,
        "tolerances": dict(fields.reference.tolerances),
        "folders": module_folders(entry, folders),
        "arguments": [
            {
                "name": argument.name,
                "keyword": argument.name not in positional,
                "written": argument.is_write,
                "unread": argument.name in unread,
                "default": _plain_default(argument),
            }
            for argument in entry.arguments
        ],
        "returns": [result.annotation is not None and result.annotation.is_write for result in function.schema.returns],
        "copied": {argument.name: list(argument.layouts) for argument in copied},
        "alignment": 16 if is_aligned else 1,
    }


def _plain_default(argument: Argument) -> object:
    """The default value of an argument as JSON has it."""
    value = argument.default_value
    if isinstance(value, tuple):
        return list(value)
    return value if isinstance(value, (bool, int, float, str)) else None
