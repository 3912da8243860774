"""Request for a run, and what it asks for as values that tell a later run whether it is asked for the same.

The values come from the fields of the request: a field that is added is one of them, and a value of a type that nothing
here can tell is an error where the first run meets it.
"""

from __future__ import annotations

import enum
import os
from collections.abc import Callable, Mapping
from functools import partial
from hashlib import sha256
from json import dumps
from types import BuiltinFunctionType, FunctionType, MethodType
from typing import Any, Final, Protocol, TypeVar

from opwright.emit.emitter import Options
from opwright.emit.registry import DEFAULT_FAMILIES
from opwright.files.plan import FileSpec
from opwright.guests import plugins_module
from opwright.model.dispatch_key import DispatchKey
from opwright.model.selection import EVERYTHING, Selection
from opwright.release.inputs import Inputs
from opwright.run.asked_plugins import NO_PLUGINS, RunPlugins
from opwright.source.records import NamedTuple, record_of
from opwright.source.span import SourceText, Span
from opwright.source.text import SourceFile

_Record = TypeVar("_Record")


def run_plugins() -> RunPlugins[Any]:
    """What answers for the plug-ins of runs: their room, which a core lacks."""
    room = plugins_module("run_plugins")
    plugins: RunPlugins[Any] = NO_PLUGINS if room is None else room.PLUGINS
    return plugins


class ChosenOutputs(Protocol):
    """A part of the outputs, as a record whose fields tell it from others."""

    def has(self, spec: FileSpec) -> bool:
        """Whether a file is in this part."""
        ...


class GuestFiles(Protocol):
    """A record with files of a guest."""

    @property
    def files(self) -> tuple[SourceFile, ...]:
        """All of them."""
        ...


class Request(NamedTuple):
    """Request for a run: inputs, output folders by name, families of files, flags.

    `devices` are the flags of optional devices that the run has kernels for, such as `mps`. `shard` is the part of the
    outputs that the run makes, None for all. With `tolerant`, mistakes that PyTorch's generator accepts (selected
    operators that do not exist) are warnings. With `strict`, mistakes in derivatives that it accepts (names and
    functions that do not exist, parts without effect) are errors, not warnings. With `refuses_edits`, an edit of the
    generator in a source tree that is not followed is an error, unless `release` says whose rules to follow.
    `libraries` are the files of operator
    libraries, and `operator_files` files like `native_functions.yaml` with operators of any namespaces: a run of stubs
    adds the operators of both to PyTorch's, and `namespaces` are then those of the stubs, None for all. `backends` are
    the files of external backends, and `guests` are records with files of other guests. `templates` is a folder with
    templates in place of Opwright's own. `read_file` reads the files that others name, and `allowed_paths` are files
    and folders that heads may name although they are outside of their projects. `format_file` gives the formatted bytes
    of the file at a path, and may raise Fault; None leaves files as they are. `plugins` are the plug-ins that the run
    uses, and `input_files` files of the dialects that they add.

    >>> import opwright
    >>> request = Request(opwright.open_inputs(), opwright.build_folders("build"), families=("headers",))
    >>> request.folders["headeronly"]
    'build/torch/headeronly/core'
    """

    inputs: Inputs
    folders: Mapping[str, str]
    families: tuple[str, ...] = DEFAULT_FAMILIES
    options: Options = Options()
    selection: Selection = EVERYTHING
    tolerant: bool = False
    strict: bool = False
    refuses_edits: bool = False
    devices: frozenset[str] = frozenset()
    release: str | None = None
    shard: ChosenOutputs | None = None
    libraries: tuple[SourceFile, ...] = ()
    operator_files: tuple[SourceFile, ...] = ()
    namespaces: tuple[str, ...] | None = None
    backends: tuple[SourceFile, ...] = ()
    guests: tuple[GuestFiles, ...] = ()
    templates: str | None = None
    read_file: Callable[[str], SourceFile] = SourceFile.read
    allowed_paths: tuple[str, ...] = ()
    format_file: Callable[[str, bytes], bytes] | None = None
    plugins: tuple[Any, ...] = ()
    input_files: tuple[SourceFile, ...] = ()

    @property
    def files(self) -> tuple[SourceFile, ...]:
        """All files besides PyTorch's inputs that have operators or name them."""
        own = tuple([file for record in self.guests for file in record.files])
        return self.libraries + self.operator_files + self.backends + own + self.input_files

    def of(self, kind: type[_Record]) -> _Record:
        """The files of a guest."""
        return record_of(kind, self.guests)


#: The fields that are part of the kind of a run (see `RunIdentity`).
_OF_KIND: Final = frozenset(("folders", "families", "shard"))


#: Fields whose values other rooms tell.
_TOLD_ELSEWHERE: Final[Mapping[str, Callable[[Any], object]]] = {
    "inputs": lambda inputs: [inputs.origin, inputs.version_text, inputs.root, inputs.paths()],
    "plugins": lambda plugins: run_plugins().identities(plugins),
}


def request_facts(request: Request) -> dict[str, object]:
    """What a request asks for, by the names of its fields, without those of the kind of its run.

    Raises TypeError for a value of a type that cannot be told.

    >>> import opwright
    >>> facts = request_facts(opwright.Request(opwright.open_inputs(), {}, templates="mine", devices={"xpu", "mps"}))
    >>> facts["templates"], facts["devices"]
    ('mine', ['"mps"', '"xpu"'])
    """
    return {
        name: _TOLD_ELSEWHERE.get(name, _told)(value)
        for name, value in request._asdict().items()
        if name not in _OF_KIND
    }


def kind_facts(request: Request) -> dict[str, object]:
    """What tells the kind of a request's run besides its families and its output folders."""
    return {"shard": _told(request.shard)}


def _told(value: object) -> object:
    """A value as JSON can hold it; another one for every other value."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, Span):
        return [value.file.path, value.start, value.end]
    if isinstance(value, SourceText):
        return [value.path, sha256(value.text.encode("utf-8", "surrogatepass")).hexdigest()]
    if isinstance(value, (enum.Enum, DispatchKey)):
        return [type(value).__name__, value.name]
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return {name: _told(part) for name, part in zip(value._fields, value, strict=True)}
    if isinstance(value, (tuple, list)):
        return [_told(part) for part in value]
    if isinstance(value, (frozenset, set)):
        return sorted(dumps(_told(part), sort_keys=True) for part in value)
    if isinstance(value, Mapping):
        return sorted([dumps([_told(key), _told(part)], sort_keys=True) for key, part in value.items()])
    if callable(value):
        return _told_function(value)
    raise TypeError(f"no run can be told from another by a `{type(value).__name__}`")


def _told_function(value: Callable[..., object]) -> object:
    """The name of a function of this package; for any other, a text that no run has had.

    What a function of others does may depend on anything, so no run that calls it is taken for one of before.
    """
    if isinstance(value, partial):
        return [_told_function(value.func), _told(value.args), _told(value.keywords)]
    owner = value.__self__ if isinstance(value, MethodType) else None
    is_known = owner is None or isinstance(owner, type)
    if isinstance(value, (FunctionType, MethodType, BuiltinFunctionType)) and is_known:
        module, closure = str(value.__module__), getattr(value, "__closure__", None)
        if module.partition(".")[0] == "opwright" and closure is None:
            return f"{module}.{value.__qualname__}"
    return os.urandom(16).hex()
