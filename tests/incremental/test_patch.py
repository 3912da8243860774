"""Files from chunks are those that the template gives, and chunks of an old file fit into a new one."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opwright.files.template import Template, WholeText
from opwright.incremental.fingerprints import FINGERPRINT_SIZE, fingerprint
from opwright.incremental.patch import ABSENT, FileContents, FileSpans, RenderedFile, assemble, patch
from opwright.source.text import SourceFile

TEMPLATE = Template(SourceFile("f.h", "// $name\n${first}\nnamespace {\n    ${second}\n}\n  ${first}\nend $name\n"))
FILE_SLOTS = {"name": "at", "second": ["// lead\n"]}

Unit = dict[str, Sequence[str]]

TEXTS = st.lists(
    st.text(st.sampled_from(["a", "{", " ", "\n", "\t", "é", "\r"]), max_size=6)
    | st.sampled_from(["int f();\n", "int g() {\n  return 1;\n}\n\n", "", "\n", "\n\n"]),
    max_size=3,
)
UNITS = st.lists(st.fixed_dictionaries({}, optional={"first": TEXTS, "second": TEXTS}), max_size=6)


class UnitChunks:
    """What units put into the slots of a template, and the units that were asked for their chunk."""

    def __init__(self, template: Template, units: Sequence[Unit]) -> None:
        self.template = template
        self.units = units
        self.asked: list[int] = []

    def chunks(self, slot: str, indent: str) -> list[str | None]:
        """The chunk of each unit."""
        return [self.template.chunk(unit[slot], indent) if slot in unit else None for unit in self.units]

    def chunk(self, slot: str, indent: str, number: int) -> str | None:
        """The chunk of one unit."""
        self.asked.append(number)
        unit = self.units[number]
        return self.template.chunk(unit[slot], indent) if slot in unit else None

    def texts(self, slot: str) -> list[str]:
        """The texts of all units."""
        return [text for unit in self.units for text in unit.get(slot, [])]


FILLED = {"first", "second", "text"}


def assembled(template: Template, units: Sequence[Unit], file_slots: Unit) -> tuple[bytes, FileSpans]:
    """A file of all units, whose fingerprints are those of what they hold."""
    contents = FileContents(template, file_slots, FILLED, UnitChunks(template, units), fingerprints_of(units))
    data, spans = assemble(contents)
    assert data is not None
    return data, spans


def fingerprints_of(units: Sequence[Unit]) -> bytes:
    """The fingerprints of units."""
    return b"".join(fingerprint(repr(unit)) for unit in units)


def joined(file_slots: Unit, units: Sequence[Unit]) -> Unit:
    """The slots of a file with the texts of all units."""
    slots = dict(file_slots)
    for unit in units:
        for name, value in unit.items():
            slots[name] = [*slots.get(name, ()), *value]
    return slots


@given(UNITS)
def test_assembled_file_is_the_rendered_one(units: list[Unit]) -> None:
    """Chunks made one by one and joined are what the template makes of all texts at once."""
    data, spans = assembled(TEMPLATE, units, {"first": [], **FILE_SLOTS})
    assert data.decode() == TEMPLATE.render(joined({"first": [], **FILE_SLOTS}, units))
    assert len(spans.fingerprints) == FINGERPRINT_SIZE * len(units)
    assert spans.slots is not None


@given(UNITS, UNITS, st.lists(st.integers(0, 11), max_size=8), st.booleans())
def test_patched_file_is_the_assembled_one(old: list[Unit], more: list[Unit], order: list[int], verbatim: bool) -> None:
    """Whatever units stay, go, come or change places, the patched file is the one made from all of them."""
    template = TEMPLATE
    file_slots: Unit = {"first": ["// head"], **FILE_SLOTS}
    if verbatim:
        template, file_slots = WholeText(), {"text": "# head\n"}
        old = [{"text": unit.get("first", [])} for unit in old]
        more = [{"text": unit.get("second", [])} for unit in more]
    before, spans = assembled(template, old, file_slots)
    pool = old + more
    new = [pool[number] for number in order if number < len(pool)]
    chunks = UnitChunks(template, new)
    result = patch(FileContents(template, file_slots, FILLED, chunks, fingerprints_of(new)), spans, before)
    assert result == assembled(template, new, file_slots)
    known = {fingerprints_of([unit]) for unit in old}
    if len({fingerprints_of([unit]) for unit in new}) == len(new):
        # A unit that stands there twice may be made once more.
        assert all(fingerprints_of([new[number]]) not in known for number in chunks.asked)


@given(UNITS, st.dictionaries(st.integers(0, 5), st.fixed_dictionaries({}, optional={"first": TEXTS, "second": TEXTS})))
def test_replaced_chunks_give_the_assembled_file(old: list[Unit], edited: dict[int, Unit]) -> None:
    """With new chunks of some units the file is the one made from all units, or it is left to others."""
    file_slots: Unit = {"first": ["// head"], **FILE_SLOTS}
    before, spans = assembled(TEMPLATE, old, file_slots)
    edited = {number: unit for number, unit in edited.items() if number < len(old)}
    new = [edited.get(number, unit) for number, unit in enumerate(old)]
    assert replaced(before, spans, new) in (None, assembled(TEMPLATE, new, file_slots))


def replaced(before: bytes, spans: FileSpans, new: list[Unit]) -> RenderedFile | None:
    """A file with the chunks of the units of a new one that changed, without the file slots."""
    return patch(FileContents(TEMPLATE, None, FILLED, UnitChunks(TEMPLATE, new), fingerprints_of(new)), spans, before)


@pytest.mark.parametrize("number", range(3))
def test_usual_chunks_are_replaced(number: int) -> None:
    """Chunks that end in a line break can be replaced, also the last one, whose line break is cut off."""
    old: list[Unit] = [{"first": [f"int f{index}();\n"], "second": [f"int g{index}();\n"]} for index in range(3)]
    file_slots: Unit = {"first": [], **FILE_SLOTS}
    before, spans = assembled(TEMPLATE, old, file_slots)
    new = [*old]
    new[number] = {"first": ["int longer();\n"], "second": ["h();\n\n"]}
    assert replaced(before, spans, new) == assembled(TEMPLATE, new, file_slots)


def test_absent_chunks_are_told_from_empty_ones() -> None:
    """A unit that puts an empty line into a slot is not one that puts nothing there."""
    assert TEMPLATE.chunk(["\n"], "  ") == ""
    assert TEMPLATE.chunk(["", ""], "  ") is None
    assert ABSENT < 0
