"""The sink of diagnostics: order, duplicates, the gate; suggestions; the table of codes."""

from __future__ import annotations

import ast
import pickle
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import opwright
from opwright.plugins.code_pages import RANGES, all_codes, code_names, find_code
from opwright.source.diagnostic import Diagnostics, Fault, FaultsFound, Label, Severity, did_you_mean
from opwright.source.text import SourceFile

PAGES = Path(opwright.__path__[0]) / "source" / "diagnostics"
FILES = {name: SourceFile(name, "x" * 50) for name in ("a.yaml", "b.yaml")}


def test_another_process_gets_the_suggestion() -> None:
    """A suggestion that is sent to another process is the text alone."""
    assert pickle.loads(pickle.dumps(did_you_mean("CPUU", ["CPU", "CUDA"]))) == "did you mean `CPU`?"


def test_order() -> None:
    """Diagnostics stand by path, offset and code, those without a place first."""
    sink = Diagnostics()
    sink.error("E0002", "m", FILES["b.yaml"].span(1))
    sink.error("E0002", "m", FILES["a.yaml"].span(9))
    sink.error("E0002", "m", FILES["a.yaml"].span(3))
    sink.warning("E0001", "m", FILES["a.yaml"].span(3))
    sink.note("E0009", "m")
    order = [
        (diagnostic.code, diagnostic.span and (diagnostic.span.file.path, diagnostic.span.start))
        for diagnostic in sink.sorted()
    ]
    assert order == [
        ("E0009", None),
        ("E0001", ("a.yaml", 3)),
        ("E0002", ("a.yaml", 3)),
        ("E0002", ("a.yaml", 9)),
        ("E0002", ("b.yaml", 1)),
    ]


@given(st.permutations([(code, offset) for code in ("E0001", "E0002") for offset in range(3)]))
def test_order_does_not_depend_on_arrival(arrivals: list[tuple[str, int]]) -> None:
    """Whatever the order of arrival, the sorted diagnostics are the same."""
    sink = Diagnostics()
    for code, offset in arrivals:
        sink.error(code, "m", FILES["a.yaml"].span(offset))
    places = [(diagnostic.span.start, diagnostic.code) for diagnostic in sink.sorted() if diagnostic.span]
    assert places == sorted(places)
    assert len(places) == len(arrivals)


def test_duplicates_are_dropped() -> None:
    """One finding that two stages report stands once, also if each read the file for itself."""
    sink = Diagnostics()
    for _ in range(2):
        sink.error("E0001", "m", SourceFile("f", "text").span(1, 2), label="l")
    sink.error("E0001", "m", SourceFile("f", "text").span(1, 2), label="other")
    assert len(sink) == 3
    assert len(sink.sorted()) == 2


def test_gate() -> None:
    """Warnings and notes pass the gate; an error stops there and takes all findings with it."""
    sink = Diagnostics()
    sink.warning("W0001", "w")
    sink.note("W0002", "n")
    sink.raise_if_errors()
    before = sink.has_errors
    sink.add(Fault.at("E0001", "e").diagnostic)
    assert (before, sink.has_errors) == (False, True)
    with pytest.raises(FaultsFound) as caught:
        sink.raise_if_errors()
    assert [diagnostic.severity for diagnostic in caught.value.diagnostics] == [
        Severity.ERROR,
        Severity.WARNING,
        Severity.NOTE,
    ]
    assert str(caught.value) == "error[E0001]: e\nwarning[W0001]: w\nnote[W0002]: n"


def test_place_is_the_first_primary_label() -> None:
    """The place of a diagnostic is its first primary label's; without one, the first label's."""
    other = Label(FILES["b.yaml"].span(7), "other", primary=False)
    sink = Diagnostics()
    sink.error("E0001", "m", FILES["a.yaml"].span(3), also=[other])
    sink.error("E0002", "m", also=[other])
    assert [diagnostic.span for diagnostic in sink] == [FILES["a.yaml"].span(3), FILES["b.yaml"].span(7)]


def test_values_cannot_change() -> None:
    """A diagnostic is a value: its fields cannot be set."""
    diagnostic = Fault.at("E0001", "m").diagnostic
    with pytest.raises(AttributeError):
        diagnostic.message = "other"  # type: ignore[misc]


@pytest.mark.parametrize(
    ("word", "suggestion"),
    [
        ("CPUU", "did you mean `CPU`?"),
        ("cuda", "did you mean `CUDA`?"),
        ("CompositeImplicitAutogard", "did you mean `CompositeImplicitAutograd`?"),
        ("Vulkan", ""),
        ("CPU", ""),
        ("", ""),
    ],
)
def test_suggestion(word: str, suggestion: str) -> None:
    """The nearest known word is suggested, and nothing when none is near or the word is known."""
    assert did_you_mean(word, ["CPU", "CUDA", "CompositeImplicitAutograd"]) == suggestion


def code_tables() -> dict[str, dict[str, str]]:
    """The names of codes and the codes, of the compiler and of each wing, by the name of the folder."""
    tables = {}
    for path in Path(opwright.__path__[0]).glob("*/*codes.py"):
        assignments = [node for node in ast.parse(path.read_text()).body if isinstance(node, ast.AnnAssign)]
        tables[path.parent.name] = {
            ast.unparse(node.target): ast.literal_eval(ast.unparse(node.value)) for node in assignments if node.value
        }
    return tables


def test_every_code_has_a_name_and_a_page() -> None:
    """No two names have one code, its form is right, and the codes are those that have a page."""
    values = [value for names in code_tables().values() for value in names.values()]
    assert sorted(values) == list(code_names())
    assert [code for code in values if not re.fullmatch(r"[EW][0-9]{4}", code) or code[1:3] not in RANGES] == []
    assert sorted(path.stem for path in PAGES.iterdir()) == list(code_names())


def test_pages_have_a_heading_and_an_example() -> None:
    """A page starts with its code and a title in a few words; what stands indented is an example."""
    for row in all_codes():
        heading = (PAGES / f"{row.code}.md").read_text(encoding="utf-8").splitlines()[0]
        assert heading == f"# {row.code}: {row.title.strip().rstrip('.')}"
        assert re.search(r"^    \S", row.page, re.MULTILINE), row.code


def test_every_code_is_reported() -> None:
    """Somewhere in the package the name of each code is used."""
    used: set[str] = set()
    for path in Path(opwright.__path__[0]).rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
                used.add(node.id)
            elif isinstance(node, ast.Attribute):
                used.add(node.attr)
    assert not {name for names in code_tables().values() for name in names} - used


def test_a_code_of_one_wing_stands_in_its_folder() -> None:
    """A wing's table has what the wing reports itself, and what it alone reports is in no other table."""
    top = Path(opwright.__path__[0])
    tables = code_tables()
    rooms_by_name: dict[str, set[str]] = {}
    for path in top.rglob("*/*.py"):
        for word in set(re.findall(r"\w+", path.read_text())) if not path.stem.endswith("codes") else ():
            rooms_by_name.setdefault(word, set()).add(path.relative_to(top).parts[0])
    wrong = []
    for place, names in tables.items():
        for name in names:
            homes = rooms_by_name[name] & tables.keys() if len(rooms_by_name[name]) == 1 else set()
            wrong += [f"{name} in {place}, not in {homes}" for home in homes if home != place]
    assert not wrong


def test_a_page_may_go_on_with_another_one() -> None:
    """The page of a warning that is an error elsewhere ends with that of the error."""
    warning, error = find_code("W1309"), find_code("E1309")
    assert warning is not None
    assert error is not None
    assert warning.explanation.endswith(f"elsewhere it is an error, E1309.\n\n{error.explanation}")


def test_find_code() -> None:
    """A code is found in any case; an unknown one is None."""
    row = find_code(" e0001 ")
    assert row is not None
    assert row.title == "the file does not exist"
    assert find_code("E9999") is None
