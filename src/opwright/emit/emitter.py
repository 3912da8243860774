"""What an emitter is: units, a pure function from a unit to text, and a layout of files.

An emitter says what its files are made of; the engine (`opwright.build`) works out the files, fills the templates
and writes. Emitters read and write nothing themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, Generic, NamedTuple, Protocol, TypeVar, cast

from opwright.model.catalog import Catalog
from opwright.model.deprecated import DeprecatedSignature
from opwright.model.derivatives import NO_DERIVATIVES, MatchedDerivatives
from opwright.model.dispatch_key import UNDEFINED, DispatchKey
from opwright.model.native_aot import NativeAotKernel
from opwright.model.native_function import NativeFunction
from opwright.model.selection import EVERYTHING, Selection
from opwright.release.rules import Rules
from opwright.release.tables import ShimTables
from opwright.source.diagnostic import FaultsFound

#: Slot of a template -> its text, or the texts that are listed there. Lists of several units are joined in order.
Slots = Mapping[str, "str | Sequence[str]"]

Unit = TypeVar("Unit")
Fact = TypeVar("Fact")


class Options(NamedTuple):
    """What the flags of a run choose, as far as it changes the text of files.

    `static_dispatch` are the dispatch keys of `--static-dispatch-backend`, whether the run has kernels for them or not.
    `backends` are the dispatch keys whose registrations are wanted (`--backend-whitelist`), None for all.
    `autograd_templates` is what the comments of autograd's files call the folder of their templates, as seen from the
    reference's package: the default is where a source tree has it. `autograd_program` is the program that these
    comments name as their maker: the default is the one that PyTorch's build runs. `disable_autograd` leaves out all
    kernels of autograd, of views and of tracing. `stub_project` is the name of the project that installs the stubs of
    `torch.ops`, None where they are not installed with pip.
    """

    per_operator_headers: bool = True
    rocm: bool = False
    skip_dispatcher_registration: bool = False
    force_schema_registration: bool = False
    static_dispatch: tuple[DispatchKey, ...] = ()
    backends: frozenset[DispatchKey] | None = None
    update_c_shim: bool = False
    extend_c_shim: bool = False
    autograd_templates: str = "../tools/autograd/templates"
    autograd_program: str = "tools/setup_helpers/generate_code.py"
    disable_autograd: bool = False
    stub_project: str | None = None


class Later(Generic[Fact]):
    """A value that is made when it is first asked for, once; so is the refusal to make it.

    >>> later = Later(lambda: print("made") or 1)
    >>> later.get(), later.get()
    made
    (1, 1)
    """

    __slots__ = ("_made", "_make", "_refusal")

    def __init__(self, make: Callable[[], Fact]) -> None:
        self._make = make
        self._made: list[Fact] = []
        self._refusal: FaultsFound | None = None

    def get(self) -> Fact:
        """The value. Raises FaultsFound, each time, if making it did."""
        if self._refusal is not None:
            raise self._refusal
        if not self._made:
            try:
                self._made.append(self._make())
            except FaultsFound as refusal:
                self._refusal = refusal
                raise
        return self._made[0]


class UnitText(Protocol):
    """Makes the text of a unit from slots, as a template of PyTorch's says, whose text is `text`."""

    @property
    def text(self) -> str:
        """The text of the template."""
        ...

    def __call__(self, slots: Slots, /) -> str:
        """The text of a unit. Raises Fault at a slot that has no value."""
        ...


class ListedSlots:
    """The text of a unit where there is no template: the values of its slots, one below the other."""

    text: Final = ""

    def __call__(self, slots: Slots) -> str:
        """The text of a unit."""
        return "\n".join(value if isinstance(value, str) else "\n".join(value) for value in slots.values())


class DeclaredRead(Generic[Fact]):
    """A fact about a whole job that the fragments of an emitter read besides their units.

    An emitter lists its reads, so the engine can tell when its fragments must be made again: it fingerprints
    `fingerprint_key` of the fact, which must hold everything that fragments use of it and be made of functions, groups,
    texts, numbers and tuples of these.
    """

    __slots__ = ("fingerprint_key", "get", "name")

    def __init__(
        self, name: str, get: Callable[[Job], Fact], fingerprint_key: Callable[[Fact], object] = lambda fact: fact
    ) -> None:
        self.name: Final = name
        self.get: Final = get
        self.fingerprint_key: Final = fingerprint_key


class FragmentContext:
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
        """A declared fact. Raises KeyError, a fault of the emitter, where the emitter does not declare the read."""
        return cast(Fact, self._facts[read])


class Job(FragmentContext):
    """One run's input to the emitters: the catalog, the rules of the release, and the options.

    `by_root` maps a root name (`add`) to its overloads; it is the unit of per-operator files, in the order in which
    the names first occur. `derivatives` are those of the functions selected for training, ordered by C++ name; they
    are there where a family of the run needs them, and so are the `deprecated` signatures of Python. Both may be made
    when they are first asked for, which then may raise FaultsFound.
    `native_aot` are the kernels compiled ahead of time. `static_backends` are the dispatch keys whose functions static
    calls name: those of the options, and `Undefined` in place of each that has no kernels. `registration_text` makes
    the text of a unit in `Register{Key}.cpp`. `own_stubs` are the stubs that PyTorch brings, by path; they are there
    where a family of the run needs them. `derived` is where `per_job`
    remembers what follows from the job alone.
    """

    __slots__ = (
        "_deprecated",
        "_derivatives",
        "_shim_tables",
        "by_root",
        "catalog",
        "derived",
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
        derivatives: MatchedDerivatives | Later[MatchedDerivatives] = NO_DERIVATIVES,
        deprecated: Sequence[DeprecatedSignature] | Later[Sequence[DeprecatedSignature]] = (),
        native_aot: Sequence[NativeAotKernel] = (),
        shim_tables: ShimTables | None = None,
        registration_text: UnitText | None = None,
        own_stubs: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(options, rules, selection)
        self.catalog: Final = catalog
        self._derivatives: Final = derivatives
        self._deprecated: Final = deprecated
        self.native_aot: Final = native_aot
        self._shim_tables: Final = shim_tables
        self.registration_text: Final[UnitText] = registration_text or ListedSlots()
        self.own_stubs: Final[Mapping[str, str]] = own_stubs or {}
        self.static_backends: Final = tuple(
            key if catalog.kernels.get(key) else UNDEFINED for key in options.static_dispatch
        )
        by_root: dict[str, list[NativeFunction]] = {}
        for function in catalog.functions:
            by_root.setdefault(function.root_name, []).append(function)
        self.by_root: Final[Mapping[str, Sequence[NativeFunction]]] = by_root
        self.derived: Final[dict[object, object]] = {}

    def context(self, reads: Iterable[DeclaredRead[Any]] = ()) -> FragmentContext:
        """What fragments of an emitter with these reads may see of the job."""
        facts = {read: read.get(self) for read in reads}
        return FragmentContext(self.options, self.rules, self.selection, facts)

    def read(self, read: DeclaredRead[Fact]) -> Fact:
        """Any fact: outside of fragments nothing needs to be declared."""
        return read.get(self)

    @property
    def derivatives(self) -> MatchedDerivatives:
        """The derivatives of the functions that are selected for training."""
        return self._derivatives.get() if isinstance(self._derivatives, Later) else self._derivatives

    @property
    def deprecated(self) -> Sequence[DeprecatedSignature]:
        """The deprecated signatures that Python still takes."""
        return self._deprecated.get() if isinstance(self._deprecated, Later) else self._deprecated

    @property
    def shim_tables(self) -> ShimTables:
        """The operators with a C shim: from the tables of the inputs, else those of the release."""
        return self._shim_tables or self.rules.shim_tables


def per_job(make: Callable[[Job], Fact]) -> Callable[[Job], Fact]:
    """The same function, remembering its answer with the job: for indexes that several emitters select from."""

    def look_up(job: Job) -> Fact:
        found = job.derived.get(make)
        if found is None:
            found = job.derived[make] = make(job)
        return cast(Fact, found)

    look_up.__doc__ = make.__doc__
    look_up.__name__ = make.__name__
    return look_up


class OneFile(NamedTuple):
    """All fragments in one file."""

    path: str


class FilePerUnit(Generic[Unit]):
    """A file for each unit, at the path that the function names."""

    __slots__ = ("path",)

    def __init__(self, path: Callable[[Unit], str]) -> None:
        self.path: Final = path


class Sharded(Generic[Unit]):
    """`shards` files (`Name_0.cpp` ...) by a stable hash of each unit's key, and all of it in `NameEverything.cpp`.

    `path` is the name without either; `key` gives the text that is hashed.
    """

    __slots__ = ("key", "path", "shards")

    def __init__(self, path: str, shards: int, key: Callable[[Unit], str]) -> None:
        self.path: Final = path
        self.shards: Final = shards
        self.key: Final = key


class Emitter(Generic[Unit]):
    """One file, or one family of files of the same template.

    `folder` names the install folder (`aten`, `ops`, `core`, `aoti`, `headeronly`, `autograd`, `python`), `template`
    the template's name, or None if file slots and fragments give a slot `text` that is the whole file.
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

    __slots__ = (
        "belong_to_sources",
        "family",
        "file_slots",
        "folder",
        "fragment",
        "layout",
        "line_names",
        "name",
        "reads",
        "template",
        "units",
    )

    def __init__(
        self,
        *,
        name: str,
        family: str,
        template: str | None,
        folder: str = "aten",
        units: Callable[[Job], Sequence[Unit]],
        fragment: Callable[[Unit, FragmentContext], Slots],
        layout: OneFile | FilePerUnit[Unit] | Sharded[Unit],
        file_slots: Callable[[Job], Slots] = lambda _: {},
        reads: Sequence[DeclaredRead[Any]] = (),
        line_names: str = "",
        belong_to_sources: bool = False,
    ) -> None:
        self.name: Final = name
        self.family: Final = family
        self.template: Final = template
        self.folder: Final = folder
        self.units: Final = units
        self.fragment: Final = fragment
        self.layout: Final = layout
        self.file_slots: Final = file_slots
        self.reads: Final = tuple(reads)
        self.line_names: Final = line_names
        self.belong_to_sources: Final = belong_to_sources


#: An emitter of whatever units; the engine hands units back only to the emitter that they came from.
AnyEmitter = Emitter[Any]

#: What each module of a family exports: its emitters for a job.
EmitterSource = Callable[[Job], Iterable[AnyEmitter]]
