"""What a dialect is: a kind of input file, how it is recognised, and what it loads into."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from importlib import import_module
from importlib.util import find_spec
from types import MappingProxyType
from typing import Final, Generic, Protocol, TypeVar, cast

from opwright.source.lazy import lazy_pattern
from opwright.source.records import NamedTuple, frozen_fields
from opwright.source.text import SourceFile

# The table of dialects imports this module before it is known whether there is anything to do.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from dataclasses import KW_ONLY
    from types import ModuleType

    from opwright.dialects.values import Releases
    from opwright.model.catalog import Catalog
    from opwright.model.dispatch_key import DispatchKey
    from opwright.model.extra_values import ExtraValues
    from opwright.model.native_function import NativeFunction
    from opwright.release.inputs import Inputs
    from opwright.release.rules import Rules
    from opwright.source.diagnostic import Diagnostics
    from opwright.source.items import ChosenItems
    from opwright.source.nodes import MappingNode, Node, Scalar
    from opwright.source.span import Span

Model = TypeVar("Model")
_Record = TypeVar("_Record")

#: The first field of a YAML file, in a list of mappings or in a mapping.
_FIRST_FIELD: Final = lazy_pattern(r"(?:\s|#[^\n]*\n|---)*(?:- *)?(\w+) *:")


class ExtraKeys(Protocol):
    """Reads the keys that plug-ins declare for one place: entries of a file, or its head."""

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the keys."""

    @property
    def defaults(self) -> ExtraValues:
        """Values of an entry that has none of the keys."""

    def __contains__(self, name: str) -> bool: ...

    def read(self, entries: Iterable[tuple[Scalar, Node]], at: Span, releases: Releases) -> ExtraValues | None:
        """Values of an entry at `at` with these keys, among others; None, with diagnostics, if one has a fault."""


@frozen_fields
class BackendReader:
    """Reads a vendor's file as a backend file.

    `recognizes` tells from the root node whether a file is of the vendor's kind. `rewrite` makes the root of a backend
    file from it, a mapping with `backend`, `cpp_namespace` and sections. Nodes that it takes over, and nodes that it
    builds with `node_at` and `part_of`, have places in the vendor's file, so diagnostics point there. It reports
    mistakes of the file to `context.sink`, and reads further files with `read_beside`. `context` has the rules of the
    release, and the operators if they are loaded.
    """

    name: str
    recognizes: Callable[[Node], bool]
    rewrite: Callable[[Node, LoadContext], MappingNode]
    _: KW_ONLY
    plugin: str = ""

    def __repr__(self) -> str:
        return f"<reader {self.name}>"


class Choices(Protocol):
    """The choices of a run: for each guest a record of its own."""

    def of(self, kind: type[_Record], /) -> _Record:
        """The choices of a guest."""
        ...


class LoadContext(NamedTuple):
    """What a loader may use besides the files of its dialect.

    `sink` takes every fault. `inputs` has the other inputs of the release. `catalog` holds the operators, None while
    they are being loaded, and `functions` are those that entries may name. `ignored_keys` are the dispatch keys that
    the run leaves out. `strict` makes errors of mistakes that the reference accepts; `tolerant` makes warnings of those
    that are errors otherwise, and leaves only the reference's dialect. `read_file` reads files that the files of
    the dialect name by their paths, and `allowed_paths` are files and folders outside of the project that they may
    name. `chosen_items` has the entries of a run that does not load all, by the name of the dialect. With
    `only_reports`, nothing is generated, and a mistake that the report shows is no error. `extra_keys` gives
    the keys that plug-ins declare for a place, and `backend_readers` read vendors' own files. `choices` are those of a
    run that generates, None where files are only looked at.
    """

    sink: Diagnostics
    rules: Rules
    inputs: Inputs
    catalog: Catalog | None = None
    functions: Iterable[NativeFunction] = ()
    ignored_keys: frozenset[DispatchKey] = frozenset()
    strict: bool = False
    tolerant: bool = False
    only_reports: bool = False
    read_file: Callable[[str], SourceFile] = SourceFile.read
    allowed_paths: tuple[str, ...] = ()
    chosen_items: Mapping[str, ChosenItems] = MappingProxyType({})
    extra_keys: Callable[[str], ExtraKeys | None] | None = None
    backend_readers: tuple[BackendReader, ...] = ()
    choices: Choices | None = None

    @property
    def operators(self) -> Catalog:
        """Catalog, for dialects that are loaded after it."""
        assert self.catalog is not None, "this dialect is loaded after the operators"
        return self.catalog

    def extra_keys_at(self, where: str) -> ExtraKeys | None:
        """What reads the keys that plug-ins declare for a place; None if there are none, or in a tolerant run."""
        return None if self.tolerant or self.extra_keys is None else self.extra_keys(where)


@frozen_fields
class Dialect(Generic[Model]):
    """One kind of input file.

    `inputs` are patterns of the names that its files have among the inputs of a release; it has none where users name
    the file in an option. `fields` are fields that only files of this dialect start with: they recognise a file of
    another name. `members` are files of PyTorch's package or source tree besides its inputs, which the loader reads
    itself, whether or not they exist. `package` holds the dialect's modules: its `loader` has a function `load(files,
    context)` that gives a `loads_into`, and its `fields`, if any, a function `json_schema()`. The package of a small
    dialect is one module with these functions. Instead of a package, a dialect may have the functions themselves, as
    `loader` and `json_schema`. A dialect that `is_always_loaded` is part of every
    run whose inputs have a file of it; others are loaded for a family or an option. Where it `is_required`, a run that
    loads it refuses inputs without its file. `loads_into` is a type, or where to import it from, as `module:name`: a
    row of the table does not import its model.

    >>> from opwright.source.text import SourceFile
    >>> tags = Dialect("tags", inputs=("native/tags.yaml",), fields=("tag",), loads_into=dict)
    >>> tags.recognizes_name("native/tags.yaml"), tags.recognizes(SourceFile("mine.yaml", "- tag: core"))
    (True, True)
    """

    name: str
    _: KW_ONLY
    loads_into: type[Model] | str
    inputs: tuple[str, ...] = ()
    fields: tuple[str, ...] = ()
    members: tuple[str, ...] = ()
    package: str = ""
    loader: Callable[[Sequence[SourceFile], LoadContext], Model] | None = None
    json_schema: Callable[[], Mapping[str, object]] | None = None
    is_always_loaded: bool = False
    is_required: bool = False

    @property
    def package_name(self) -> str:
        """Full name of the package, or of the module, with the modules of a dialect that has no functions instead."""
        return self.package or f"opwright.dialects.{self.name}"

    @property
    def model(self) -> type[Model]:
        """Type that files of this dialect load into."""
        if not isinstance(self.loads_into, str):
            return self.loads_into
        module, _, name = self.loads_into.partition(":")
        return cast("type[Model]", getattr(import_module(module), name))

    def __repr__(self) -> str:
        return f"<dialect {self.name}>"

    def recognizes_name(self, name: str) -> bool:
        """Whether an input of that name is a file of this dialect."""
        return any(fnmatchcase(name, pattern) for pattern in self.inputs)

    def recognizes(self, file: SourceFile) -> bool:
        """Whether a file is of this dialect, by its file name or by its first field."""
        name = file.path.replace("\\", "/").rpartition("/")[2]
        if any(fnmatchcase(name, pattern.rpartition("/")[2]) for pattern in self.inputs):
            return True
        first = _FIRST_FIELD.match(file.text)
        return first is not None and first[1] in self.fields

    def files(self, inputs: Inputs) -> list[SourceFile]:
        """Files of this dialect among the inputs. Raises Fault where one is required and missing, or not text."""
        if self.is_required:
            return [inputs.read_text(name) for name in self.inputs]
        return [inputs.read_text(name) for name in inputs.names() if self.recognizes_name(name)]

    def load(self, files: Sequence[SourceFile], context: LoadContext) -> Model:
        """What the files say; faults go to the sink of the context, and entries at fault are then missing."""
        if self.loader is not None:
            return self.loader(files, context)
        return cast("Model", self.module("loader").load(files, context))

    def import_loader(self) -> None:
        """Import the modules that loading uses."""
        if self.loader is None:
            self.module("loader")

    def module(self, name: str) -> ModuleType:
        """Module of the package with this name, or the package itself if it is one module."""
        module = import_module(self.package_name)
        return import_module(f"{self.package_name}.{name}") if hasattr(module, "__path__") else module

    def schema(self) -> Mapping[str, object] | None:
        """The JSON Schema of the files of this dialect; None if it has none."""
        if self.json_schema is not None:
            return self.json_schema()
        if not self.has_schema:
            return None
        schema: Mapping[str, object] = self.module("fields").json_schema()
        return schema

    @property
    def has_schema(self) -> bool:
        """Whether the files of this dialect have a JSON Schema."""
        if self.json_schema is not None or (self.loader is not None and not self.package):
            return self.json_schema is not None
        module = import_module(self.package_name)
        if hasattr(module, "__path__"):
            return find_spec(f"{self.package_name}.fields") is not None
        return hasattr(module, "json_schema")

    def load_inputs(self, context: LoadContext) -> Model | None:
        """Loads the dialect's files among the inputs of the release; None if there are none."""
        files = self.files(context.inputs)
        return self.load(files, context) if files or self.members else None
