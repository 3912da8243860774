"""Outputs of emitters, made from what an earlier run left as far as that is the same.

A file is made again only where a token of its units, its frame or its template differs; and then only the fragments of
the units that differ are asked for, if the file can be told apart into chunks. Without a past, everything is made.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING, Final, cast

from opwright.build.outputs import frame_of, joined_and_finished
from opwright.build.past import EmitterPast
from opwright.build.pieces import FilePieces, assembled, has_pieces, spliced
from opwright.build.plan import Emitted, Output
from opwright.build.shards import EVERYTHING, shard_number, shard_path
from opwright.build.template import Template, WholeText
from opwright.build.tokens import UnitTokens, digest
from opwright.emit.emitter import AnyEmitter, FilePerUnit, Job, OneFile, Slots

if TYPE_CHECKING:
    from opwright.build.engine import Renderer

__all__ = ["Maker", "named_emitters", "placed_units"]


class _WatchedJob:
    """A job that notices when more of it is looked at than what its token says: options, rules, selection."""

    __slots__ = (
        "_job", "native_aot", "options", "registration_text", "read", "rules", "selection", "static_backends",
        "was_searched",
    )  # fmt: skip

    def __init__(self, job: Job) -> None:
        self._job = job
        self.options = job.options
        self.rules = job.rules
        self.selection = job.selection
        self.native_aot = job.native_aot
        self.static_backends = job.static_backends
        self.registration_text = job.registration_text
        # What emitters declare that they read is part of the job's token.
        self.read = job.read
        self.was_searched = False

    def __getattr__(self, name: str) -> object:
        self.was_searched = True
        return getattr(self._job, name)


class Maker:
    """Makes the outputs of a job's emitters, and remembers how in `present`.

    `past` is what an earlier run of the same job remembers of each emitter; `is_intact` tells whether a file is as
    that run left it. A maker that `remembers` nothing has no past and leaves none, and saves the work for it.
    """

    def __init__(
        self,
        job: Job,
        renderer: Renderer,
        past: Mapping[str, EmitterPast] | None = None,
        is_intact: Callable[[str], bool] = lambda _: False,
        *,
        remembers: bool = True,
    ) -> None:
        self.job: Final = job
        self.renderer: Final = renderer
        self.past: Final[Mapping[str, EmitterPast]] = past or {}
        self.is_intact: Final = is_intact
        self.remembers: Final = remembers
        self.tokens: Final = UnitTokens()
        self.present: Final[dict[str, EmitterPast]] = {}

    def emitted(self, emitters: Iterable[AnyEmitter]) -> Iterator[Emitted]:
        """Each emitter's name with its outputs, for the engine."""
        for make in self.tasks(emitters):
            yield make()

    def tasks(self, emitters: Iterable[AnyEmitter]) -> Iterator[Callable[[], Emitted]]:
        """For each emitter what gives its name and outputs, in whichever process that is called."""
        for name, emitter in named_emitters(emitters):
            yield partial(self._emitted, emitter, name)

    def _emitted(self, emitter: AnyEmitter, name: str) -> Emitted:
        return emitter.name, self.outputs(emitter, name)

    def outputs(self, emitter: AnyEmitter, name: str) -> Iterator[Output]:
        """The files of one emitter, as its layout says; of a sharded family the file with everything comes first."""
        family = _Family(self, emitter, self.past.get(name))
        apart = isinstance(emitter.layout, FilePerUnit)
        for path, shard_id, places in placed_units(emitter, family.units):
            if apart:
                make = partial(family.file_of_unit, places[0], path)
            else:
                make = partial(family.file_of_units, path, shard_id, places)
            yield Output(emitter.folder, path, emitter.template, {}, make)
        if family.was_asked and self.remembers:
            self.present[name] = family.remembered()


def named_emitters(emitters: Iterable[AnyEmitter]) -> Iterator[tuple[str, AnyEmitter]]:
    """Emitters with the names by which they are remembered: of the same name there may be several."""
    names: dict[str, int] = {}
    for emitter in emitters:
        name = f"{emitter.family} {emitter.name}"
        names[name] = names.get(name, 0) + 1
        yield f"{name} {names[name]}", emitter


def placed_units(emitter: AnyEmitter, units: Sequence[object]) -> Iterator[tuple[str, str, Sequence[int]]]:
    """Path and shard of each file of an emitter, with the places of its units."""
    layout = emitter.layout
    every = range(len(units))
    if isinstance(layout, FilePerUnit):
        for place in every:
            yield layout.path(units[place]), "", (place,)
    elif isinstance(layout, OneFile):
        yield layout.path, "", every
    else:
        shards: list[list[int]] = [[] for _ in range(layout.shards)]
        for place in every:
            shards[shard_number(layout.key(units[place]), layout.shards)].append(place)
        yield shard_path(layout.path, EVERYTHING), EVERYTHING, every
        for number, places in enumerate(shards):
            yield shard_path(layout.path, f"_{number}"), f"_{number}", places


class _Family:
    """The files of one emitter in one run."""

    def __init__(self, maker: Maker, emitter: AnyEmitter, past: EmitterPast | None) -> None:
        self.emitter: Final = emitter
        self.units: Final[Sequence[object]] = emitter.units(maker.job)
        self.was_asked = False
        self._maker: Final = maker
        self._job: Final = maker.job
        self._watched: Final = _WatchedJob(maker.job)
        self._earlier: Final = past
        self._made: Final[dict[str, FilePieces]] = {}
        self._fragments: Final[dict[int, Slots]] = {}
        self._chunks: Final[dict[tuple[str, str], list[str | None]]] = {}
        self._last: tuple[Sequence[int], bytes, FilePieces] | None = None

    # What all files share, worked out when the first of them is asked for.

    @cached_property
    def _frame(self) -> Slots:
        return frame_of(self.emitter, self._job)

    @cached_property
    def _frame_token(self) -> bytes:
        return digest(repr(sorted(self._frame.items())))

    @cached_property
    def _template(self) -> Template | WholeText:
        name = self.emitter.template
        return WholeText() if name is None else self._maker.renderer.template(name)[0]

    @cached_property
    def _template_token(self) -> bytes:
        template = self._template
        return digest("" if isinstance(template, WholeText) else template.source.text)

    @cached_property
    def _tokens(self) -> list[bytes] | None:
        """The token of each unit; None where not all have one, and where nothing is remembered."""
        if not self._maker.remembers:
            return None
        of = self._maker.tokens.of
        tokens = [of(unit) for unit in self.units]
        return None if None in tokens else cast("list[bytes]", tokens)

    @cached_property
    def _past(self) -> EmitterPast | None:
        """What the earlier run remembers, if its files had the same template."""
        past = self._earlier
        same = past is not None and self._tokens is not None and past.template == self._template_token
        return past if same else None

    @cached_property
    def _filled(self) -> frozenset[str]:
        """The slots that any unit fills."""
        return frozenset().union(*self._all_fragments)

    @cached_property
    def _all_fragments(self) -> list[Slots]:
        """The fragments of all units."""
        return [self._fragment(place) for place in range(len(self.units))]

    def remembered(self) -> EmitterPast:
        """What the next run needs to know."""
        filled: frozenset[str] = frozenset()
        if not isinstance(self.emitter.layout, FilePerUnit):
            filled = self._past.filled if self._past is not None and "_filled" not in self.__dict__ else self._filled
        local = self._tokens is not None and not self._watched.was_searched
        saved, unsaved = (self._made, {}) if local else ({}, self._made)
        return EmitterPast(self._template_token, self._frame_token, filled, saved, unsaved)

    # Files.

    def file_of_unit(self, place: int, path: str, target: str) -> bytes | None:
        """The bytes of the file of one unit; None where the one on disk is right."""
        self.was_asked = True
        token = self._tokens[place] if self._tokens is not None else b""
        pieces = self._made[path] = FilePieces(token, None)
        if self._is_kept(path, pieces.tokens, target):
            return None
        return self._rendered(self._frame, [self.emitter.fragment(self.units[place], cast("Job", self._watched))])

    def file_of_units(self, path: str, shard_id: str, places: Sequence[int], target: str) -> bytes | None:
        """The bytes of a file of many units; None where the one on disk is right."""
        self.was_asked = True
        tokens = b"".join([self._tokens[place] for place in places]) if self._tokens is not None else b""
        if self._is_kept(path, tokens, target):
            self._made[path] = self._past.files[path] if self._past is not None else FilePieces(tokens, None)
            return None
        values = {**self._frame, "shard_id": shard_id} if shard_id else self._frame
        made = self._repeated(places) or self._spliced(path, values, places, tokens, target)
        if made is None:
            made = self._assembled(values, places, tokens)
        data, self._made[path] = made
        self._last = (places, data, self._made[path])
        return data

    def _is_kept(self, path: str, tokens: bytes, target: str) -> bool:
        past = self._past
        if past is None or past.frame != self._frame_token:
            return False
        pieces = past.files.get(path)
        return pieces is not None and pieces.tokens == tokens and self._maker.is_intact(target)

    def _repeated(self, places: Sequence[int]) -> tuple[bytes, FilePieces] | None:
        """The file made just before, if this one has the same units and does not say which of the shards it is."""
        last = self._last
        if last is None or len(last[0]) != len(places) or "shard_id" in self._template.names:
            return None
        return last[1:] if list(last[0]) == list(places) else None

    def _spliced(
        self, path: str, values: Slots, places: Sequence[int], tokens: bytes, target: str
    ) -> tuple[bytes, FilePieces] | None:
        past = self._past
        earlier = past.files.get(path) if past is not None else None
        if past is None or earlier is None or earlier.slots is None or not self._maker.is_intact(target):
            return None
        if not past.filled:
            # There were no units, so it is not known which slots those of now fill.
            return None
        try:
            with open(target, "rb") as stream:
                old = stream.read()
            chunk = partial(self._new_chunk, places, past.filled)
            return spliced(self._template, self._commented(values), past.filled, chunk, tokens, earlier, old)
        except (OSError, KeyError, UnicodeEncodeError):
            return None

    def _new_chunk(
        self, places: Sequence[int], filled: frozenset[str], slot: str, indent: str, place: int
    ) -> str | None:
        fragment = self._fragment(places[place])
        if not filled.issuperset(fragment):
            # A slot that no unit filled before: then the file's pieces are not those that the template needs now.
            raise KeyError(slot)
        value = fragment.get(slot)
        return None if value is None else self._template.chunk(value, indent)

    def _assembled(self, values: Slots, places: Sequence[int], tokens: bytes) -> tuple[bytes, FilePieces]:
        """The bytes from the fragments of all units, with pieces if the file can be told apart."""
        template, filled = self._template, self._filled
        if self.emitter.finish is None and has_pieces(template, filled):

            def chunks(slot: str, indent: str) -> list[str | None]:
                found = self._all_chunks(slot, indent)
                return found if len(places) == len(found) else [found[place] for place in places]

            try:
                data, pieces = assembled(template, self._commented(values), filled, chunks, tokens)
            except (KeyError, UnicodeEncodeError):
                # The renderer finds the same and says what is wrong.
                pass
            else:
                if b'"""\n' not in data:
                    return data, pieces
        empty: Slots = {**dict.fromkeys(filled, ()), **values}
        return self._rendered(empty, [self._fragment(place) for place in places]), FilePieces(tokens, None)

    def _all_chunks(self, slot: str, indent: str) -> list[str | None]:
        """The chunks of all units in a slot, made once for all files."""
        found = self._chunks.get((slot, indent))
        if found is None:
            chunk = self._template.chunk
            values = [fragment.get(slot) for fragment in self._all_fragments]
            found = [None if value is None else chunk(value, indent) for value in values]
            self._chunks[slot, indent] = found
        return found

    def _commented(self, values: Slots) -> Slots:
        name = self.emitter.template
        if name is None or "generated_comment" in values:
            return values
        return {**values, "generated_comment": self._maker.renderer.template(name)[1]}

    def _rendered(self, values: Slots, fragments: Sequence[Slots]) -> bytes:
        slots = joined_and_finished(self.emitter, cast("Job", self._watched), values, fragments)
        return self._maker.renderer.render(self.emitter.template, slots)

    def _fragment(self, place: int) -> Slots:
        found = self._fragments.get(place)
        if found is None:
            found = self._fragments[place] = self.emitter.fragment(self.units[place], cast("Job", self._watched))
        return found
