"""Files from chunks are those that the template gives, and chunks of an old file fit into a new one."""

from __future__ import annotations

import inspect
from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from opwright.build import tokens
from opwright.build.pieces import ABSENT, AnyTemplate, FilePieces, assembled, has_pieces, spliced
from opwright.build.shards import joined_slots
from opwright.build.template import Template, WholeText
from opwright.build.tokens import TOKEN_SIZE, UNSAID, UnitTokens, digest
from opwright.model import native_function
from opwright.source.text import SourceFile
from tests.emit.emitting import job_of

TEMPLATE = Template(SourceFile("f.h", "// $name\n${first}\nnamespace {\n    ${second}\n}\n  ${first}\nend $name\n"))
FRAME = {"name": "at", "second": ["// lead\n"]}

Unit = dict[str, Sequence[str]]

TEXTS = st.lists(
    st.text(st.sampled_from(["a", "{", " ", "\n", "\t", "é", "\r"]), max_size=6)
    | st.sampled_from(["int f();\n", "int g() {\n  return 1;\n}\n\n", "", "\n", "\n\n"]),
    max_size=3,
)
UNITS = st.lists(st.fixed_dictionaries({}, optional={"first": TEXTS, "second": TEXTS}), max_size=6)


def made(template: AnyTemplate, units: Sequence[Unit], frame: Unit) -> tuple[bytes, FilePieces]:
    """A file of all units, whose tokens are those of what they say."""

    def chunks(slot: str, indent: str) -> list[str | None]:
        return [template.chunk(unit[slot], indent) if slot in unit else None for unit in units]

    return assembled(template, frame, {"first", "second", "text"}, chunks, tokens_of(units))


def tokens_of(units: Sequence[Unit]) -> bytes:
    """The tokens of units."""
    return b"".join(digest(repr(unit)) for unit in units)


@given(UNITS)
def test_assembled_file_is_the_rendered_one(units: list[Unit]) -> None:
    """Chunks made one by one and joined are what the template makes of all texts at once."""
    data, pieces = made(TEMPLATE, units, {"first": [], **FRAME})
    assert data.decode() == TEMPLATE.render(joined_slots({"first": [], **FRAME}, units))
    assert len(pieces.tokens) == TOKEN_SIZE * len(units)


@given(UNITS, UNITS, st.lists(st.integers(0, 11), max_size=8), st.booleans())
def test_spliced_file_is_the_assembled_one(old: list[Unit], more: list[Unit], order: list[int], verbatim: bool) -> None:
    """Whatever units stay, go, come or change places, the spliced file is the one made from all of them."""
    template: AnyTemplate = TEMPLATE
    frame: Unit = {"first": ["// head"], **FRAME}
    if verbatim:
        template, frame = WholeText(), {"text": "# head\n"}
        old = [{"text": unit.get("first", [])} for unit in old]
        more = [{"text": unit.get("second", [])} for unit in more]
    before, pieces = made(template, old, frame)
    pool = old + more
    new = [pool[place] for place in order if place < len(pool)]
    asked: list[int] = []

    def chunk(slot: str, indent: str, place: int) -> str | None:
        asked.append(place)
        return template.chunk(new[place][slot], indent) if slot in new[place] else None

    expected, expected_pieces = made(template, new, frame)
    if pieces.slots is None:
        return
    result = spliced(template, frame, {"first", "second", "text"}, chunk, tokens_of(new), pieces, before)
    if result is not None:
        assert result[0] == expected
        assert result[1] == expected_pieces or expected_pieces.slots is None
    known = {tokens_of([unit]) for unit in old}
    if len({tokens_of([unit]) for unit in new}) == len(new):
        # A unit that stands there twice may be made once more.
        assert all(tokens_of([new[place]]) not in known for place in asked)


def test_units_that_share_lines_have_no_pieces() -> None:
    """A slot inside a line cannot be told apart by lines."""
    assert has_pieces(TEMPLATE, {"first", "second"})
    assert not has_pieces(TEMPLATE, {"name"})


def test_absent_chunks_are_told_from_empty_ones() -> None:
    """A unit that puts an empty line into a slot is not one that puts nothing there."""
    assert TEMPLATE.chunk(["\n"], "  ") == ""
    assert TEMPLATE.chunk(["", ""], "  ") is None
    assert ABSENT < 0


def test_tokens_cover_all_that_a_function_holds() -> None:
    """Every attribute of a function is either said in its token or named among those that need not be."""
    said = inspect.getsource(tokens)
    names = set(native_function.UnlinkedFunction.__slots__) - UNSAID
    assert not [name for name in names if f"one.{name}" not in said]


def test_tokens_follow_groups() -> None:
    """An edit of one member of a group changes the tokens of all, and no other; moving an entry changes none."""
    entries = (
        "- func: f(Tensor self) -> Tensor\n  dispatch:\n    CPU: f_cpu\n"
        "- func: f.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)\n  dispatch:\n    CPU: f_out\n"
        "- func: g(Tensor self) -> Tensor\n"
    )
    assert changed(entries, entries.replace("f_out", "f_out_cpu")) == {"f", "f.out"}
    assert token_table("# a comment\n\n" + entries) == token_table(entries)


def test_tokens_of_entries_with_anchors_follow_what_they_stand_for() -> None:
    """What an alias or a merge brings into an entry is not in the entry's own text."""
    entries = (
        "- func: f(Tensor self) -> Tensor\n  dispatch: &kernels\n    CPU: one\n"
        "- func: g(Tensor self) -> Tensor\n  dispatch: *kernels\n"
        "- func: h(Tensor self) -> Tensor\n"
    )
    assert changed(entries, entries.replace("one", "two")) == {"f", "g"}


def test_forms_made_of_one_entry_have_tokens_of_their_own() -> None:
    """They stand where the entry stands, and change with it."""
    entries = "- func: f(Tensor self) -> Tensor\n  dispatch:\n    CompositeExplicitAutograd: f\n  autogen: f.out\n"
    before, after = token_table(entries), token_table(entries.replace("ExplicitAutograd: f", "ExplicitAutograd: ff"))
    assert len({*before.values(), *after.values()}) == 4


def changed(before: str, after: str) -> set[str]:
    """The overloads whose tokens an edit changes."""
    old, new = token_table(before), token_table(after)
    return {name for name in old if old[name] != new[name]}


def token_table(entries: str) -> dict[str, bytes | None]:
    """The token of each overload."""
    table = UnitTokens()
    return {one.name.text: table.of(one) for one in job_of(entries).catalog.functions}


def test_units_of_unknown_kinds_have_no_token() -> None:
    """What is not known to be plain data has none, and neither has what holds it; equal rows have equal ones."""
    table = UnitTokens()
    assert table.of(object()) is None
    assert table.of(("a", [object()])) is None
    assert table.of(("a", ("b", None, 1))) == table.of(["a", ["b", None, 1]])
    assert table.of(("ab", "c")) != table.of(("a", "bc"))
    assert table.of((("a",), "b")) != table.of((("a", "b"),))
