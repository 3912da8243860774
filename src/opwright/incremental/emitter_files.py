"""Files of one emitter in one run: their specs, and how each is rendered.

`EmitterFiles.render` is the one way to a file's bytes. A dry run needs only the specs. A fresh run renders without a
previous build. A later run leaves a file alone if the fingerprints of its units, file slots, template and context are
those of the previous build; otherwise it renders the fragments of the units that changed, and takes the chunks of the
others out of the file on disk.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property, partial
from typing import TYPE_CHECKING, Final, TypeVar

from opwright.emit.emitter import AnyEmitter, Emitter, FilePerUnit, FragmentContext, Job, Slots
from opwright.emit.registry import FAMILIES
from opwright.files.plan import FileSpec, file_specs
from opwright.files.template import WholeText
from opwright.incremental.fingerprints import UnitFingerprints, fingerprint
from opwright.incremental.patch import FileContents, FileSpans, RenderedFile, assemble, changed_units, patch
from opwright.source.codes import MISSING_SLOT, NO_FINGERPRINT, NO_UTF8
from opwright.source.diagnostic import Diagnostic, Diagnostics, Fault, FaultsFound
from opwright.source.records import NamedTuple

if TYPE_CHECKING:
    from opwright.files.template import Template, Templates
    from opwright.incremental.previous_build import EmitterState, PreviousBuild, PreviousFile

_Found = TypeVar("_Found")


class FragmentCounts(NamedTuple):
    """How many fragments of an emitter a run made, and how many it did not need to make; the same for its files."""

    made: int
    reused: int
    files_made: int
    files_reused: int


class JobFiles:
    """Makes the files of a job's emitters, from what the previous build left as far as it is the same."""

    def __init__(self, job: Job, templates: Templates, previous: PreviousBuild | None = None) -> None:
        self.job: Final = job
        self.templates: Final = templates
        self.fingerprints: Final = UnitFingerprints()
        self.job_fingerprint: Final = self.fingerprints.of_context(job)
        # With other options, rules or another selection, nothing of the previous build is reused.
        states = previous.emitters.values() if previous is not None else ()
        fits = any(state.context.startswith(self.job_fingerprint) for state in states)
        self.previous: Final = previous if fits else None

    def tasks(self, emitters: Iterable[AnyEmitter]) -> Iterator[Callable[[], EmitterFiles]]:
        """For each emitter a call that gives its files, in whichever process it is called."""
        for name, emitter in named_emitters(emitters):
            yield partial(EmitterFiles, name, emitter, self)


def named_emitters(emitters: Iterable[AnyEmitter]) -> Iterator[tuple[str, AnyEmitter]]:
    """Emitters with the names under which their state is kept: several may have the same name."""
    counts: dict[str, int] = {}
    for emitter in emitters:
        name = f"{emitter.family} {emitter.name}"
        counts[name] = counts.get(name, 0) + 1
        yield f"{name} {counts[name]}", emitter


class EmitterFiles:
    """Files of one emitter in one run."""

    def __init__(self, name: str, emitter: AnyEmitter, build: JobFiles) -> None:
        self.name: Final = name
        self.emitter: Final = emitter
        self.units: Final[Sequence[object]] = emitter.units(build.job)
        self._build: Final = build
        self.spans: Final[dict[str, FileSpans]] = {}
        """Those of each file that was rendered, or found up to date."""
        self._fragments: Final[dict[int, Slots]] = {}
        self._chunks: Final[dict[tuple[str, str], list[str | None]]] = {}
        self._last: tuple[Sequence[int], RenderedFile] | None = None
        self._fragments_made = 0
        self._files_made = 0
        self._reported: Final[set[tuple[object, ...]]] = set()

    def specs(self) -> Iterator[FileSpec]:
        """Files of the emitter."""
        return file_specs(self.emitter, self.units, lean=self._build.job.options.lean)

    def render(self, spec: FileSpec, previous: PreviousFile | None = None) -> RenderedFile:
        """Bytes of a file and its spans.

        Raises Fault if its template cannot be read, a slot has no value (E0601), or the text has no UTF-8 form (E0609).
        """
        rendered = self._up_to_date(spec, previous) or self._same_as_last(spec.units)
        if rendered is None:
            try:
                rendered = self._render_unit(spec) if self._has_file_per_unit else self._render_units(spec, previous)
            except UnicodeEncodeError as error:
                name = self.emitter.template
                maker = "the output's text" if name is None else f"template `{name}`"
                character = f"U+{ord(error.object[error.start]):04X}"
                message = f"{maker} gives a text with {character}, which has no UTF-8 form"
                raise Fault.at(NO_UTF8, message) from None
            self._last = spec.units, rendered
        self.spans[spec.path] = rendered.spans
        self._files_made += rendered.data is not None
        return rendered

    def new_diagnostics(self, raised: Fault | FaultsFound) -> list[Diagnostic]:
        """Diagnostics of a fault that no other file of the emitter had at the same place.

        They name its plug-in, and those about slots the module to change.
        """
        diagnostics = raised.diagnostics if isinstance(raised, FaultsFound) else [raised.diagnostic]
        plugin = FAMILIES[self.emitter.family].plugin if self.emitter.family in FAMILIES else ""
        new: list[Diagnostic] = []
        for diagnostic in diagnostics:
            if plugin and f"plug-in `{plugin}`" not in diagnostic.message:
                note = f"the emitter `{self.emitter.name}` is of the plug-in `{plugin}`"
                diagnostic = diagnostic._replace(notes=(*diagnostic.notes, note))
            elif diagnostic.code == MISSING_SLOT:
                makers = [self.emitter.fragment, self.emitter.file_slots, type(self.emitter)]
                modules = [getattr(maker, "__module__", Emitter.__module__) for maker in makers]
                module = next((name for name in modules if name != Emitter.__module__), Emitter.__module__)
                note = f"the emitter `{self.emitter.name}` of the module `{module}` gives the slots of this template"
                diagnostic = diagnostic._replace(notes=(*diagnostic.notes, note))
            # Several functions may share a formula, and a function of a plug-in may fail for thousands of files.
            span = diagnostic.span
            place = (span.file.path, span.start, span.end) if span is not None else diagnostic.message
            identity = diagnostic.code, place
            if identity not in self._reported:
                self._reported.add(identity)
                new.append(diagnostic)
        return new

    # What all files share, computed when the first of them is rendered.

    @cached_property
    def _has_file_per_unit(self) -> bool:
        return isinstance(self.emitter.layout, FilePerUnit)

    @cached_property
    def _context(self) -> FragmentContext:
        return self._build.job.context(self.emitter.reads)

    @cached_property
    def _context_fingerprint(self) -> bytes:
        build = self._build
        return build.job_fingerprint + self._fingerprinted(lambda table: table.of_emitter(self.emitter, build.job))

    @cached_property
    def _file_slots(self) -> Slots:
        slots = self.emitter.file_slots(self._build.job)
        name = self.emitter.template
        if name is None or "generated_comment" in slots:
            return slots
        return {**slots, "generated_comment": self._build.templates[name].comment}

    @cached_property
    def _file_slots_fingerprint(self) -> bytes:
        return self._build.fingerprints.of(sorted(self._file_slots.items()))

    @cached_property
    def template(self) -> Template:
        """Template of the emitter's files."""
        name = self.emitter.template
        return WholeText() if name is None else self._build.templates[name].template

    @cached_property
    def _template_fingerprint(self) -> bytes:
        return fingerprint(self.template.text)

    @cached_property
    def _fingerprints(self) -> list[bytes]:
        return self._fingerprinted(lambda table: table.of_all(self.units))

    def _fingerprinted(self, find: Callable[[UnitFingerprints], _Found]) -> _Found:
        """Fingerprints. Raises Fault for a value without one (E2313)."""
        try:
            return find(self._build.fingerprints)
        except TypeError as error:
            message = f"the emitter `{self.emitter.name}` cannot be used: {error}"
            help = "make units of operators, groups, texts, numbers, and tuples, mappings and objects of these"
            raise Fault.at(NO_FINGERPRINT, message, help=help) from None

    @cached_property
    def _state(self) -> EmitterState | None:
        """State of the previous build, if its chunks may be reused: template and context are the same."""
        build = self._build.previous
        state = None if build is None else build.emitters.get(self.name)
        if state is None or state.template != self._template_fingerprint:
            return None
        return state if state.context == self._context_fingerprint else None

    @cached_property
    def _filled_slots(self) -> frozenset[str]:
        return frozenset().union(*[self.fragment(number) for number in range(len(self.units))])

    def fragment(self, number: int) -> Slots:
        """Fragment of a unit, rendered once. Raises FaultsFound with the faults of all units."""
        fragment = self._fragments.get(number)
        if fragment is None:
            try:
                fragment = self._fragments[number] = self._make_fragment(number)
            except (Fault, FaultsFound):
                raise FaultsFound(self._fragment_faults) from None
        return fragment

    @cached_property
    def _fragment_faults(self) -> list[Diagnostic]:
        """Faults of all units, so that a run reports the same whichever fragments it reuses."""
        sink = Diagnostics()
        for number in range(len(self.units)):
            try:
                self._make_fragment(number)
            except (Fault, FaultsFound) as fault:
                sink.take(fault)
        return list(sink)

    def _make_fragment(self, number: int) -> Slots:
        self._fragments_made += 1
        return self.emitter.fragment(self.units[number], self._context)

    def chunk(self, number: int, slot: str, indent: str) -> str | None:
        """Chunk of a unit in a slot."""
        value = self.fragment(number).get(slot)
        return None if value is None else self.template.chunk(value, indent)

    def chunks(self, slot: str, indent: str) -> list[str | None]:
        """Chunks of all units in a slot, made once for all files."""
        chunks = self._chunks.get((slot, indent))
        if chunks is None:
            chunk = self.template.chunk
            values = [self.fragment(number).get(slot) for number in range(len(self.units))]
            chunks = [None if value is None else chunk(value, indent) for value in values]
            self._chunks[slot, indent] = chunks
        return chunks

    # Files.

    def _up_to_date(self, spec: FileSpec, previous: PreviousFile | None) -> RenderedFile | None:
        if previous is None or self._state is None or self._state.file_slots != self._file_slots_fingerprint:
            return None
        is_same = previous.spans.fingerprints == self._file_fingerprints(spec.units)
        return RenderedFile(None, previous.spans) if is_same else None

    def _file_fingerprints(self, units: Sequence[int]) -> bytes:
        """Fingerprints of the units of a file, one after the other."""
        fingerprints = self._fingerprints
        return fingerprints[units[0]] if len(units) == 1 else b"".join([fingerprints[number] for number in units])

    def _same_as_last(self, units: Sequence[int]) -> RenderedFile | None:
        """File rendered just before, if this one has the same units and does not show its shard."""
        if self._last is None or "shard_id" in self.template.names:
            return None
        last_units, rendered = self._last
        return rendered if len(last_units) == len(units) and list(last_units) == list(units) else None

    def _render_unit(self, spec: FileSpec) -> RenderedFile:
        """File of one unit. Such files are rendered whole: there are thousands, each of one chunk."""
        fragment, own = self._make_fragment(spec.units[0]), self._file_slots
        slots = {**own, **fragment}
        for name in own.keys() & fragment.keys():
            slots[name] = [*_texts(own[name]), *_texts(fragment[name])]
        return RenderedFile(self.template.render(slots).encode(), FileSpans(self._file_fingerprints(spec.units), None))

    def _render_units(self, spec: FileSpec, previous: PreviousFile | None) -> RenderedFile:
        """File of many units, spliced if possible."""
        slots = {**self._file_slots, "shard_id": spec.shard} if spec.shard else self._file_slots
        fingerprints = self._file_fingerprints(spec.units)
        chunks = UnitChunks(self, spec.units)
        state = self._state
        if previous is not None and state is not None:
            contents = FileContents(self.template, slots, state.filled, chunks, fingerprints)
            changed = changed_units(previous.spans.fingerprints, fingerprints)
            # Where the chunks of changed units go cannot be told if one fills a slot that no unit filled before.
            if all(state.filled.issuperset(self.fragment(spec.units[number])) for number in changed):
                # The file on disk, or its slots, may not be those of the previous build after all.
                with suppress(OSError, KeyError):
                    file = patch(contents, previous.spans, previous.read())
                    if file is not None:
                        return file
        filled = self._filled_slots
        try:
            return assemble(FileContents(self.template, slots, filled, chunks, fingerprints))
        except KeyError:
            raise self.template.missing_slot({**dict.fromkeys(filled, ()), **slots}) from None

    # What remains of the run.

    def state(self) -> EmitterState:
        """What the next build needs to know."""
        from opwright.incremental.previous_build import EmitterState

        filled: frozenset[str] = frozenset()
        if not self._has_file_per_unit:
            reused = self._state is not None and "_filled_slots" not in self.__dict__
            filled = self._state.filled if self._state is not None and reused else self._filled_slots
        job, reads = self._build.job, self.emitter.reads
        return EmitterState(
            self._context_fingerprint,
            self._template_fingerprint,
            self._file_slots_fingerprint,
            filled,
            self.spans,
            tuple([function.name.text for read in reads for function in read.depends_on(job)]),
        )

    def fragment_counts(self) -> FragmentCounts:
        """How many fragments and files this run made, and how many it did not need to make."""
        fragments_made, files_made = self._fragments_made, self._files_made
        return FragmentCounts(
            fragments_made, len(self.units) - fragments_made, files_made, len(self.spans) - files_made
        )


class UnitChunks:
    """What units put into the slots of a file. `units` has the number of each by its place in the file."""

    __slots__ = ("_files", "_units")

    def __init__(self, files: EmitterFiles, units: Sequence[int] | Mapping[int, int]) -> None:
        self._files = files
        self._units = units

    def chunks(self, slot: str, indent: str) -> Sequence[str | None]:
        """Chunk of each unit in a slot that has its lines to itself."""
        chunks = self._files.chunks(slot, indent)
        return chunks if len(self._units) == len(chunks) else [chunks[number] for number in self._units]

    def chunk(self, slot: str, indent: str, number: int) -> str | None:
        """Chunk of one unit."""
        return self._files.chunk(self._units[number], slot, indent)

    def texts(self, slot: str) -> Sequence[str]:
        """Texts of all units in a slot, in order."""
        return [text for number in self._units for text in _texts(self._files.fragment(number).get(slot, ()))]


def _texts(value: str | Sequence[str]) -> Sequence[str]:
    if isinstance(value, str):
        return [value] if value else []
    return value
