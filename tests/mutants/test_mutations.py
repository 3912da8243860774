"""The mutation tester makes the mutants that it should, the same ones for a seed, and counts them right."""

from __future__ import annotations

import pytest
import yaml

from tests.conformance.test_conformance import BROAD
from tests.mutants.__main__ import EQUIVALENT, Workshop, drawn_modules, main, sample
from tests.mutants.mutations import Mutant, Source
from tests.mutants.report import Result, print_results
from tests.mutants.rooms import ROOMS, ROOT, guards_of, room_modules, room_of
from tests.mutants.sandbox import Reached, text_digest


def changed(text: str) -> set[str]:
    """The lines that the mutants of a module have in place of its own, for those that compile."""
    source = Source("module.py", text)
    mutants = [mutant for line in source.lines for mutant in source.mutants(line)]
    return {mutant.after.strip() for mutant in mutants if mutant.compiles()}


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("x = a < b", {"x = (a <= b)"}),
        ("x = a is None", {"x = (a is not None)"}),
        ("x = a and b", {"x = (a or b)"}),
        ("x = not a", {"x = (a)"}),
        ("x = a + b", {"x = (a - b)"}),
        ("x = 1", {"x = 2", "x = 0"}),
        ("x = True", {"x = False"}),
        ("x = 'word'", {"x = 'wordXX'", 'x = ""'}),
        ("x = f'{a} word'", {"x = f'{a} wordXX'"}),
        ("x = a[b:]", {"x = a[b:-1]"}),
        ("x = a[:b]", {"x = a[1:b]"}),
        ("x = f(a, b)", {"x = f(b, a)"}),
        ("x = f(a, key=b)", {"x = f(a)"}),
        ("f(a)", {"pass"}),
        ("x.y = a", {"pass"}),
        ("x += a", {"pass"}),
        ("x = a if b else c", {"x = a if (not b) else c"}),
        ("x = [a for a in b if a]", {"x = [a for a in b if (not a)]"}),
        ("for a in b:\n    break", {"continue"}),
        ("def f():\n    return a", {"return None"}),
        ("def f():\n    if a:\n        return", {"if (not a):", "if False:"}),
    ],
)
def test_each_operator_changes_its_expression(text: str, lines: set[str]) -> None:
    """Each kind of slip is made once for each expression or statement of its kind, and nothing else is."""
    assert changed(text) == lines


@pytest.mark.parametrize(
    "text",
    [
        '"""A docstring with a number."""',
        "x: Literal['word']",
        "def f(a: 'word') -> 'word':\n    ...",
        "@lru_cache(maxsize=1)\nclass A:\n    ...",
        "if TYPE_CHECKING:\n    x = 1",
        "assert a == 1, 'word'",
        "raise AssertionError(f'{a} word')",
        "class A:\n    def __repr__(self):\n        return 'word'",
    ],
)
def test_what_no_behaviour_depends_on_stays(text: str) -> None:
    """Documentation, annotations, decorators, invariants and representations for debugging have no mutants."""
    assert {line for line in changed(text) if not line.startswith(("pass", "raise"))} == set()


def test_messages_are_told_from_other_texts() -> None:
    """A text of several words is a message; a word, and a piece of C++, are not."""
    source = Source("module.py", "f('no operator has this name')\nf('name')\nf('auto it = std::move(it); return it;')")
    kinds = [{mutant.operator for mutant in source.mutants(line)} - {"statement deleted"} for line in (1, 2, 3)]
    assert kinds == [{"message"}, {"text"}, {"text"}]


def test_a_mutant_knows_the_lines_of_its_statement() -> None:
    """A mutant counts as reached where its statement runs: all lines of a simple one, the head of a compound one."""
    source = Source("module.py", "x = f(\n    1,\n    a,\n)\nif b(\n    2\n):\n    y = 3\n")
    statements = {line: {mutant.statement for mutant in source.mutants(line)} for line in (2, 6, 8)}
    assert statements == {2: {range(1, 5)}, 6: {range(5, 8)}, 8: {range(8, 9)}}


def test_the_callers_of_a_statement_run_first() -> None:
    """Tests that call a statement are told from those that have it from an import, and from those that fail anyway."""
    [mutant] = Source("module.py", "x = (\n    a < b\n)").mutants(2)
    lines = {"1": [0], "2": [2, 1], "4": [3]}
    tests = {"t::a": 2.0, "t::b": 1.0, "t::c": 3.0, "t::d": 4.0}
    reached = Reached("", 10, ["t::b"], tests, {"module.py": (text_digest(mutant.original), lines)})
    assert reached.callers(mutant) == {"t::a": 2.0, "t::c": 3.0}
    imported = Reached("", 10, [], tests, {"module.py": (text_digest(mutant.original), {"2": []})})
    assert imported.reaches(mutant)
    assert imported.callers(mutant) == {}
    edited = Reached("", 10, [], tests, {"module.py": ("other", {"4": [3]})})
    assert edited.reaches(mutant)
    assert edited.callers(mutant) == {}


def test_the_seed_determines_the_mutants() -> None:
    """The same seed draws the same mutants, another seed others, and a room only its own."""
    first = [mutant.key for mutant in sample(8, 1, ["cpp"])]
    assert first == [mutant.key for mutant in sample(8, 1, ["cpp"])]
    assert first != [mutant.key for mutant in sample(8, 2, ["cpp"])]
    assert len(first) == 8
    assert all(module.startswith("src/opwright/cpp/") for module, _, _ in first)


@pytest.mark.thorough
def test_rooms_are_drawn_by_the_seed() -> None:
    """A small sample comes from as many different rows of the table as asked for, and a seed determines them."""
    modules = drawn_modules(4, 1)
    assert modules == drawn_modules(4, 1) != drawn_modules(4, 2)
    assert len({room_of(module) for module in modules}) == 4
    assert {mutant.module for mutant in sample(20, 1, modules)} <= set(modules)


def test_a_small_sample_is_drawn_from_few_rooms(monkeypatch: pytest.MonkeyPatch) -> None:
    """`--rooms` limits what `--count` and `--seed` draw."""
    drawn: list[Mutant] = []

    def results(_: Workshop, mutants: list[Mutant]) -> list[Result]:
        drawn.extend(mutants)
        return []

    monkeypatch.setattr("sys.argv", ["mutants", "--count", "9", "--rooms", "2", "--seed", "3"])
    monkeypatch.setattr(Workshop, "__init__", lambda *_: None)
    monkeypatch.setattr(Workshop, "results", results)
    monkeypatch.setattr("resource.setrlimit", lambda *_: None)
    assert main() == 0
    assert drawn
    assert {mutant.module for mutant in drawn} <= set(drawn_modules(2, 3))


def test_every_room_has_modules_and_tests() -> None:
    """The table of rooms names modules and tests that exist, and leaves out no sub-package with code."""
    modules = room_modules()
    assert [room for room in ROOMS if not modules[room]] == []
    tests = [name for names in ROOMS.values() for name in names]
    assert [name for name in tests if not (ROOT / "tests" / name.partition("::")[0]).exists()] == []
    jobs = {name.partition("[")[2].rstrip("]") for name in tests if "[" in name}
    assert jobs <= set(BROAD)
    functions = {tuple(name.split("[")[0].split("::")) for name in tests if "::" in name}
    assert [pair for pair in functions if f"def {pair[1]}(" not in (ROOT / "tests" / pair[0]).read_text()] == []
    packages = {path.parent.name for path in (ROOT / "src" / "opwright").glob("*/__init__.py")}
    assert packages - {room.split("/")[0] for room in ROOMS} == set()


def test_a_part_of_a_room_has_guards_of_its_own() -> None:
    """A part of a room has its own tests, and can be drawn by the name of the room."""
    modules = sorted((ROOT / "tests" / "executorch").glob("test_*.py"))
    assert guards_of("src/opwright/mobile/executorch/job.py") == [path.relative_to(ROOT).as_posix() for path in modules]
    assert {room_of(mutant.module) for mutant in sample(60, 1, ["tools"])} > {"tools/check", "tools/diff"}


def test_equivalent_mutants_still_exist() -> None:
    """Each mutant that the data file excuses is one that the tester makes; after a change of its line, it goes."""
    rows = yaml.safe_load(EQUIVALENT.read_text(encoding="utf-8"))
    gone = []
    for row in rows:
        source = Source(row["module"], (ROOT / row["module"]).read_text(encoding="utf-8"))
        keys = {mutant.key for line in source.lines for mutant in source.mutants(line)}
        if (row["module"], row["before"], row["after"]) not in keys:
            gone.append(row)
    assert gone == []


def test_equivalent_mutants_and_messages_are_counted_apart(capsys: pytest.CaptureFixture[str]) -> None:
    """The score is that of mutants in code that are not equivalent; a mutant without an end is killed."""
    source = Source("module.py", "x = f(a, b)\n'no operator has this name'")
    [code] = source.mutants(1)
    message = Mutant("module.py", "message", "a", "b", range(1), 1, (0, 0), "", "")
    outcomes = ("killed", "timeout", "survived", "unreached", "equivalent")
    results = [Result("cpp/binding", code, outcome) for outcome in outcomes] + [Result("cpp", message, "killed")]
    assert print_results(results) == 50
    printed = capsys.readouterr().out
    assert "module.py:1: arguments swapped, survived\n- x = f(a, b)\n+ x = f(b, a)\n" in printed
    assert "| cpp | 4 | 2 | 50% | 1 | 1 of 1 |" in printed
