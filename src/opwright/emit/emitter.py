"""What an emitter is: units, a pure function from a unit to text, and a layout of files.

An emitter declares what its files are made of. The engine (`opwright.run.output_writer`) works out the files, fills the
templates and writes. Emitters read and write no files themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Concatenate, Final, Generic, ParamSpec, Protocol, TypeVar, cast

from opwright.guests import job_record
from opwright.model.catalog import Catalog
from opwright.model.derivatives import NO_DERIVATIVES, MatchedDerivatives
from opwright.model.dispatch_key import UNDEFINED, DispatchKey
from opwright.model.more_inputs import DeprecatedSignature, NativeAotKernel
from opwright.model.native_function import NativeFunction
from opwright.model.selection import EVERYTHING, Selection
from opwright.release.rules import Rules
from opwright.release.tables import ShimTables
from opwright.source.diagnostic import FaultsFound
from opwright.source.records import Copyable, NamedTuple, frozen_fields, record_of

if TYPE_CHECKING:
    from dataclasses import KW_ONLY

#: Slot of a template -> its text, or the texts that are listed there. Lists of several units are joined in order.
Slots = Mapping[str, "str | Sequence[str]"]

Unit = TypeVar("Unit")
Fact = TypeVar("Fact")
Key = ParamSpec("Key")
_Record = TypeVar("_Record")


class Options(NamedTuple):
    """Choices of a run that change the text of files."""

    per_operator_headers: bool = True
    #: Whether the files are for ROCm's compiler.
    rocm: bool = False
    #: Sources include the headers of their operators alone, long ones are split, no file has what others have, and the
    #: header that every source reads has the classes of methods alone: files that the reference does not write, which
    #: compile faster.
    lean: bool = False
    skip_dispatcher_registration: bool = False
    force_schema_registration: bool = False
    #: Dispatch keys of `--static-dispatch-backend`, with or without kernels in the run.
    static_dispatch: tuple[DispatchKey, ...] = ()
    #: Dispatch keys whose registrations the run writes (`--backend-whitelist`), None for all.
    backends: frozenset[DispatchKey] | None = None
    update_c_shim: bool = False
    extend_c_shim: bool = False
    #: Folder of templates that the comments of autograd's files name, relative to the reference's package: by default
    #: its path in a source tree.
    autograd_templates: str = "../tools/autograd/templates"
    #: Program that these comments name: by default the one that PyTorch's build runs.
    autograd_program: str = "tools/setup_helpers/generate_code.py"
    #: Leaves out all kernels of autograd, of views and of tracing.
    disable_autograd: bool = False
    #: Name of the project that installs the stubs of `torch.ops`, None if pip does not install them.
    stub_project: str | None = None
    #: Program that the comments of registrations name: by default the one that makes the families of the run.
    program: str | None = None
    #: The choices of guests: for each a record of its own, unless all of them are the defaults.
    guests: tuple[object, ...] = ()

    @property
    def own_headers(self) -> bool:
        """Whether each source includes the headers of its own operators alone, where others include those of all."""
        return self.lean and self.per_operator_headers

    def of(self, kind: type[_Record]) -> _Record:
        """The choices of a guest."""
        return record_of(kind, self.guests)


class Lazy(Generic[Fact]):
    """A value that is computed when it is first needed, once. If computing it fails, it is not tried again.

    >>> lazy = Lazy(lambda: print("computed") or 1)
    >>> lazy.get(), lazy.get()
    computed
    (1, 1)
    """

    __slots__ = ("_compute", "_error", "_values")

    def __init__(self, compute: Callable[[], Fact]) -> None:
        self._compute = compute
        self._values: list[Fact] = []
        self._error: FaultsFound | None = None

    def get(self) -> Fact:
        """Value. Raises FaultsFound, each time, if computing it did."""
        if self._error is not None:
            raise self._error
        if not self._values:
            try:
                self._values.append(self._compute())
            except FaultsFound as error:
                self._error = error
                raise
        return self._values[0]


class UnitText(Protocol):
    """Makes the text of a unit from slots, with one of PyTorch's templates, whose text is `text`."""

    @property
    def text(self) -> str:
        """Text of the template."""
        ...

    def __call__(self, slots: Slots, /) -> str:
        """Text of a unit. Raises Fault at a slot that has no value."""
        ...


class ListedSlots:
    """Text of a unit without a template: the values of its slots, one below the other."""

    text: Final = ""

    def __call__(self, slots: Slots) -> str:
        """Text of a unit."""
        return "\n".join(value if isinstance(value, str) else "\n".join(value) for value in slots.values())


@frozen_fields
class DeclaredRead(Generic[Fact]):
    """A fact about a whole job that the fragments of an emitter read besides their units.

    An emitter lists its reads, so the engine can tell when its fragments must be made again: it fingerprints
    `fingerprint_key` of the fact, by default all of it; a narrower one must have everything that fragments use of it.
    `depends_on` are functions of a job with which alone the fact is the same: runs
    after an edit, which load few functions, load these too.
    """

    name: str
    get: Callable[[Job], Fact]
    fingerprint_key: Callable[[Fact], object] = lambda fact: fact
    depends_on: Callable[[Job], Iterable[NativeFunction]] = lambda _: ()


class FragmentContext(Copyable):
    """What a fragment may read besides its unit: options, rules, selection, and the reads its emitter declares."""

    __slots__ = ("_facts", "options", "rules", "selection")

    def __init__(
        self, options: Options, rules: Rules, selection: Selection, facts: Mapping[DeclaredRead[Any], Any] | None = None
    ) -> None:
        self.options: Final = options
        self.rules: Final = rules
        self.selection: Final = selection
        self._facts: Final[Mapping[DeclaredRead[Any], Any]] = facts or {}

    def read(self, read: DeclaredRead[Fact]) -> Fact:
        """A declared fact. Raises KeyError, which is a bug of the emitter, if it does not declare the read."""
        return cast("Fact", self._facts[read])


class Job(FragmentContext):
    """One run's input to the emitters: the catalog, the rules of the release, and the options.

    `by_root` maps a root name (`add`) to its overloads, in the order in which the names first occur; it has the units
    of per-operator files. `derivatives` are those of the functions selected for training, ordered by C++ name, and
    `deprecated` are the deprecated signatures of Python; both are loaded only if a family of the run needs them, maybe
    when they are first read, which then may raise FaultsFound. `native_aot` are the kernels compiled ahead of time.
    `static_backends` are the dispatch keys whose functions static calls name: those of the options, with `Undefined` in
    place of each key without kernels. `registration_text` makes the text of a unit in `Register{Key}.cpp`. `own_stubs`
    are the stub files of PyTorch itself, by path, if a family of the run needs them. `more_inputs` has what dialects
    that are not built in loaded, by the name of the dialect. `guests` are records of what guests loaded, such as
    operator libraries or external backends; their fields are attributes of the job too, for plug-ins: `job.backends`.
    `extensions`, what plug-ins add to wrappers, become one of these records.
    `cache` has what `per_job` functions computed.
    """

    __slots__ = (
        "_deprecated",
        "_derivatives",
        "_shim_tables",
        "by_root",
        "cache",
        "catalog",
        "guests",
        "more_inputs",
        "native_aot",
        "own_stubs",
        "registration_text",
        "static_backends",
    )

    def __init__(
        self,
        catalog: Catalog,
        rules: Rules,
        options: Options,
        selection: Selection = EVERYTHING,
        derivatives: MatchedDerivatives | Lazy[MatchedDerivatives] = NO_DERIVATIVES,
        deprecated: Sequence[DeprecatedSignature] | Lazy[Sequence[DeprecatedSignature]] = (),
        native_aot: Sequence[NativeAotKernel] = (),
        shim_tables: ShimTables | None = None,
        registration_text: UnitText | None = None,
        own_stubs: Mapping[str, str] | None = None,
        more_inputs: Mapping[str, object] | None = None,
        guests: Sequence[object] = (),
        extensions: object = None,
    ) -> None:
        super().__init__(options, rules, selection)
        self.catalog: Final = catalog
        self._derivatives: Final = derivatives
        self._deprecated: Final = deprecated
        self.native_aot: Final = native_aot
        self._shim_tables: Final = shim_tables
        self.registration_text: Final[UnitText] = registration_text or ListedSlots()
        self.own_stubs: Final[Mapping[str, str]] = own_stubs or {}
        self.more_inputs: Final[Mapping[str, object]] = more_inputs or {}
        self.guests: Final = tuple(guests) if extensions is None else (*guests, extensions)
        self.static_backends: Final = tuple(
            key if catalog.kernels.get(key) else UNDEFINED for key in options.static_dispatch
        )
        by_root: dict[str, list[NativeFunction]] = {}
        for function in catalog.functions:
            by_root.setdefault(function.root_name, []).append(function)
        # As tuples, because units hold them, and fingerprints that are computed once hold for values that never change.
        self.by_root: Final[Mapping[str, Sequence[NativeFunction]]] = {
            name: tuple(functions) for name, functions in by_root.items()
        }
        self.cache: Final[dict[object, object]] = {}

    #: What copies pass on: the extensions are among the guests.
    _extensions: Final = None

    def of(self, kind: type[_Record]) -> _Record:
        """What a guest loaded."""
        return record_of(kind, self.guests)

    # If type checkers saw this method, they would allow any name.
    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> object:
            """A field of a guest's record, which plug-ins of version 1 of the API read without naming the record."""
            record = None if name.startswith("_") else job_record(name)
            if record is None:
                raise AttributeError(f"a job has no `{name}`")
            return getattr(self.of(record), name)

    def context(self, reads: Iterable[DeclaredRead[Any]] = ()) -> FragmentContext:
        """Context of the fragments of an emitter with these reads."""
        facts = {read: read.get(self) for read in reads}
        return FragmentContext(self.options, self.rules, self.selection, facts)

    def read(self, read: DeclaredRead[Fact]) -> Fact:
        """Any fact: code outside of fragments need not declare its reads."""
        return read.get(self)

    @property
    def derivatives(self) -> MatchedDerivatives:
        """Derivatives of the functions that are selected for training."""
        return self._derivatives.get() if isinstance(self._derivatives, Lazy) else self._derivatives

    @property
    def deprecated(self) -> Sequence[DeprecatedSignature]:
        """Deprecated signatures that Python still takes."""
        return self._deprecated.get() if isinstance(self._deprecated, Lazy) else self._deprecated

    @property
    def shim_tables(self) -> ShimTables:
        """Operators with a C shim: from the tables of the inputs, else from those of the release."""
        return self._shim_tables or self.rules.shim_tables


def per_job(make: Callable[Concatenate[Job, Key], Fact]) -> Callable[Concatenate[Job, Key], Fact]:
    """A decorator: the job caches results of the function. For indexes that several emitters select from.

    What it takes besides the job is a part of the cache's key.
    """

    def look_up(job: Job, /, *key: Key.args, **named: Key.kwargs) -> Fact:
        cache_key = (make, *key, *named.items())
        value = job.cache.get(cache_key)
        if value is None:
            value = job.cache[cache_key] = make(job, *key, **named)
        return cast("Fact", value)

    look_up.__doc__ = make.__doc__
    look_up.__name__ = make.__name__
    return look_up


class OneFile(NamedTuple):
    """All fragments in one file."""

    path: str


class FilePerUnit(Generic[Unit]):
    """A file for each unit, at the path that the function gives."""

    __slots__ = ("path",)

    def __init__(self, path: Callable[[Unit], str]) -> None:
        self.path: Final = path


@frozen_fields
class Sharded(Generic[Unit]):
    """`shards` files (`Name_0.cpp` ...) by a stable hash of each unit's key, and all units in `NameEverything.cpp`.

    `path` is the path without these endings; `key` gives the text that is hashed.
    """

    path: str
    shards: int
    key: Callable[[Unit], str]


@frozen_fields
class Emitter(Copyable, Generic[Unit]):
    """One file, or one family of files of the same template.

    `folder` names the install folder (`aten`, `ops`, `core`, `aoti`, `headeronly`, `autograd`, `python`), `template`
    the template's name, or None if file slots and fragments give a slot `text` that is the whole file. A file that has
    only its file slots needs neither `units` nor `fragment`.
    `file_slots` gives the slots that belong to the file and not to a unit. If units fill such a slot as well, their
    texts follow the file's own. All shards have the same file slots. `reads` are the facts about the whole job that
    fragments read besides their unit. Files that `belong_to_sources` are kept in the user's source tree: a run writes
    them, and no later run removes them.

    >>> names = Emitter(
    ...     name="names",
    ...     family="notes",
    ...     template=None,
    ...     units=lambda job: job.catalog.functions,
    ...     fragment=lambda function, context: {"text": (f"{function.name}\\n",)},
    ...     layout=OneFile("names.txt"),
    ... )
    >>> names.folder, names.layout.path
    ('aten', 'names.txt')
    """

    _: KW_ONLY
    name: str
    family: str
    template: str | None
    layout: OneFile | FilePerUnit[Unit] | Sharded[Unit]
    units: Callable[[Job], Sequence[Unit]] = lambda _: ()
    fragment: Callable[[Unit, FragmentContext], Slots] = lambda _unit, _context: {}
    folder: str = "aten"
    file_slots: Callable[[Job], Slots] = lambda _: {}
    reads: Sequence[DeclaredRead[Any]] = ()
    line_names: str = ""
    belong_to_sources: bool = False


#: An emitter of whatever units; the engine hands units back only to the emitter that they came from.
AnyEmitter = Emitter[Any]

#: What each module of a family exports: its emitters for a job.
EmitterSource = Callable[[Job], Iterable[AnyEmitter]]
