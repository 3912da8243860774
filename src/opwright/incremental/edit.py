"""Files of an emitter after an edit that changed few entries, of whose operations alone the units are known.

A run after an edit loads the entries of these operations twice: as the previous build read them, and as they are now.
The fingerprints of the units before the edit show where the units stand in each file; there the chunks of the units
after the edit take their place. The rest of the file is as the previous build made it.

That holds only if the edit changes nothing but these units. So the units must be those of the same functions, each unit
from before the edit must be in its file, and what fragments that are made again share must be the same as in the
previous build. Otherwise `NotLocal` is raised, and the run loads all operators.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Final

from opwright.emit.emitter import AnyEmitter
from opwright.incremental.emitter_files import EmitterFiles, FragmentCounts, JobFiles, UnitChunks
from opwright.incremental.fingerprints import FINGERPRINT_SIZE, held_by
from opwright.incremental.patch import FileContents, FileSpans, RenderedFile, patch
from opwright.model.derivatives import DifferentiabilityInfo, DifferentiableFunction
from opwright.model.native_function import NativeFunction, NativeFunctionsGroup, ViewGroup

if TYPE_CHECKING:
    from opwright.files.plan import FileSpec
    from opwright.incremental.previous_build import EmitterState, PreviousFile


class NotLocal(Exception):
    """Raised where an edit may change more than the units of the operations whose entries changed."""


def operator_names(unit: object) -> tuple[str, ...]:
    """What decides where a unit stands in a file: its operators with their kinds, in order, and other texts in it.

    >>> import opwright
    >>> operator_names(("torch.Tensor", opwright.load()["relu"]))
    ('torch.Tensor', 'relu functional')
    """
    return tuple(_operator_names(unit))


def _operator_names(unit: object) -> Iterator[str]:
    if isinstance(unit, NativeFunction):
        # C++ names, by which some files are sorted, follow from both.
        yield f"{unit.name.text} {unit.kind.name}"
    elif isinstance(unit, DifferentiableFunction):
        yield from _operator_names((unit.function, *unit.infos.items()))
    elif isinstance(unit, DifferentiabilityInfo):
        yield from _operator_names((unit.function, unit.node_name))
    elif isinstance(unit, (NativeFunctionsGroup, ViewGroup)):
        yield from _operator_names(tuple(unit.functions()))
        if isinstance(unit, NativeFunctionsGroup) and unit.structured:
            yield "structured"
    elif isinstance(unit, (tuple, list)):
        for item in unit:
            yield from _operator_names(item)
    elif isinstance(unit, Mapping):
        yield from _operator_names(list(unit.items()))
    elif isinstance(unit, str):
        yield unit
    else:
        # Texts in records are not names, and may change.
        yield from [name for part in held_by(unit) if not isinstance(part, str) for name in _operator_names(part)]


class EditedFiles(EmitterFiles):
    """Files of one emitter after an edit.

    `before` are those of the same emitter with the entries as they were. Rendering raises NotLocal.
    """

    def __init__(self, before: EmitterFiles, emitter: AnyEmitter, build: JobFiles) -> None:
        super().__init__(before.name, emitter, build)
        self._before: Final = before
        self._units_before: Final = {spec.path: spec.units for spec in before.specs()}

    def specs(self) -> Iterator[FileSpec]:
        """Files that have units of the edited operations. Raises NotLocal if they are others than before."""
        before, specs = self._before, list(super().specs())
        # Facts and slots of the file may depend on all operators. If the edit does not change what those of its
        # operations add to them, it does not change what all operators add to them.
        if (
            [spec.path for spec in specs] != list(self._units_before)
            or self._context_fingerprint != before._context_fingerprint
            or self._file_slots_fingerprint != before._file_slots_fingerprint
        ):
            raise NotLocal(self.name)
        return iter(specs)

    @cached_property
    def _last_state(self) -> EmitterState:
        previous = self._build.previous
        state = None if previous is None else previous.emitters.get(self.name)
        if state is None:
            raise NotLocal(self.name)
        return state

    def render(self, spec: FileSpec, previous: PreviousFile | None = None) -> RenderedFile:
        """Bytes of a file with the units of the edit, and its spans."""
        if previous is None:
            raise NotLocal(spec.path)
        rendered = self._render_edited(spec, previous)
        self.spans[spec.path] = rendered.spans
        self._files_made += rendered.data is not None
        return rendered

    def _render_edited(self, spec: FileSpec, previous: PreviousFile) -> RenderedFile:
        spans, state = previous.spans, self._last_state
        fingerprints, changed = self._replace_units(spec, spans)
        if not changed:
            return RenderedFile(None, spans)
        if state.template != self._template_fingerprint or state.context != self._context_fingerprint:
            raise NotLocal(spec.path)
        if self._has_file_per_unit:
            if state.file_slots != self._file_slots_fingerprint:
                raise NotLocal(spec.path)
            return self._render_unit(spec)
        if not all(state.filled.issuperset(self.fragment(number)) for number in changed.values()):
            raise NotLocal(spec.path)
        contents = FileContents(self.template, None, state.filled, UnitChunks(self, changed), fingerprints)
        file = patch(contents, spans, previous.read())
        if file is None:
            raise NotLocal(spec.path)
        return file

    def _replace_units(self, spec: FileSpec, spans: FileSpans) -> tuple[bytes, dict[int, int]]:
        """Fingerprints of a file's units after the edit, and the numbers of changed units by those in the file."""
        before, units_before = self._before, self._units_before[spec.path]
        if len(units_before) != len(spec.units):
            raise NotLocal(spec.path)
        fingerprints, changed, start = bytearray(spans.fingerprints), {}, 0
        for number_before, number in zip(units_before, spec.units, strict=True):
            fingerprint_before, fingerprint = before._fingerprints[number_before], self._fingerprints[number]
            position = _only_index(spans.fingerprints, fingerprint_before)
            if position < start:
                raise NotLocal(spec.path)
            start = position + 1
            if fingerprint == fingerprint_before:
                continue
            if operator_names(self.units[number]) != operator_names(before.units[number_before]):
                raise NotLocal(spec.path)
            changed[position] = number
            fingerprints[position * FINGERPRINT_SIZE : start * FINGERPRINT_SIZE] = fingerprint
        return bytes(fingerprints), changed

    # What remains of the run.

    def state(self) -> EmitterState:
        """What the next build needs to know."""
        return self._last_state._replace(files={**self._last_state.files, **self.spans})

    def fragment_counts(self) -> FragmentCounts:
        """How many fragments and files this run made, and how many it did not need to make."""
        files = self._last_state.files
        counts = [len(spans.fingerprints) // FINGERPRINT_SIZE for spans in files.values()]
        units = sum(counts) if self._has_file_per_unit else max(counts, default=0)
        return FragmentCounts(
            self._fragments_made, units - self._fragments_made, self._files_made, len(files) - self._files_made
        )


def _only_index(fingerprints: bytes, fingerprint: bytes) -> int:
    """Number of the only unit that has a fingerprint; -1 if none has it, or several have."""
    start = fingerprints.find(fingerprint)
    is_only = start == fingerprints.rfind(fingerprint) and start % FINGERPRINT_SIZE == 0
    return start // FINGERPRINT_SIZE if is_only else -1
