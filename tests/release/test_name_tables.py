from __future__ import annotations

import ast
import pkgutil
import re
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import get_args

import pytest

import opwright
from opwright.backends.hook_statements import FALLBACK_FUNCTION
from opwright.backends.operator_names import STAND_INS
from opwright.convention import public_api
from opwright.guests import GUESTS
from opwright.libraries.operator_names import LATER_OVERLOADS, WHOLE_OVERLOAD
from opwright.release import operator_names
from opwright.release.behaviour import COMPLEX_GRADIENTS
from opwright.release.inputs import from_installed
from opwright.release.name_table import NameForm, NameMap, Names, NameTable
from opwright.release.rules import Rules
from opwright.release.tables import operators
from opwright.release.tree_facts import LISTS
from opwright.release.version import NEWEST, OLDEST, Version, is_between, version_of
from tests.test_layering import modules

SERIES = [Version(2, minor) for minor in range(OLDEST.minor, NEWEST.minor + 1)]


#: The modules with tables: those of the compiler, and one of each guest that has some.
TABLE_MODULES = (
    *[f"{operator_names.__name__}.{module.name}" for module in pkgutil.iter_modules(operator_names.__path__)],
    *[f"{guest}.operator_names" for guest in GUESTS if find_spec(f"{guest}.operator_names") is not None],
)


def tables() -> Iterator[tuple[str, NameMap | NameTable]]:
    """Every table of operator names, with its module and name."""
    for module in TABLE_MODULES:
        for name, value in vars(import_module(module)).items():
            if isinstance(value, NameMap | NameTable):
                yield f"{module}.{name}", value


EVERY_TABLE = dict(tables())


@cache
def installed_names() -> dict[NameForm, frozenset[str]]:
    """The names of the installed release's operators in each form, and those that patterns are compared with."""
    functions = opwright.load("auto").functions
    names: dict[NameForm, frozenset[str]] = {
        "operator": frozenset(function.name.name for function in functions),
        "root": frozenset(function.root_name for function in functions),
        "overload": frozenset(function.name.text for function in functions),
        "unambiguous": frozenset(function.name.unambiguous for function in functions),
        "C++ name": frozenset(public_api.name(function.schema) for function in functions),
    }
    names["kernel"] = frozenset(kernel.name for function in functions for kernel in function.kernels.values())
    names["root or C++ name"] = names["root"] | names["C++ name"]
    return {**names, "prefix": names["C++ name"], "suffix": names["C++ name"], "part": names["unambiguous"]}


def exists(name: str, form: NameForm) -> bool:
    """Whether the installed release has an operator that a name or pattern of a table stands for."""
    names = installed_names()[form]
    match form:
        case "prefix":
            return any(other.startswith(name) for other in names)
        case "suffix":
            return any(other.endswith(name) for other in names)
        case "part":
            return any(name in other for other in names)
        case _:
            return name in names


def has_operator(version: Version, name: str, form: NameForm) -> bool:
    """Whether a release has an operator that a name or part of a name in a table stands for."""
    if form == "part":
        return any(name in other for other in operators(version))
    base = name.partition(".")[0]
    return not {base, base.rstrip("_"), base.removesuffix("_out")}.isdisjoint(operators(version))


def test_rows_follow_their_release_range() -> None:
    """A name that joins in one release and leaves in another is listed from the first to before the second."""
    table = NameTable("Some.", Names("always", "Why."), Names("brief", "Why.", since="2.11", until="2.13"))
    listed = ["brief" in table.in_release(Rules(Version(2, minor))) for minor in (9, 10, 11, 12, 13, 15)]
    assert listed == [False, False, True, True, False, False]
    assert all("always" in table.in_release(Rules(version)) for version in SERIES)
    assert table.in_any_release == {"always", "brief"}


def test_a_text_changes_between_releases() -> None:
    """A map may give a name one text in older releases and another one in newer releases."""
    table = NameMap(
        "Some.", Names("f", "Why.", value="old", until="2.12"), Names("f", "Why.", value="new", since="2.12")
    )
    assert [table.in_release(Rules(Version(2, minor)))["f"] for minor in (11, 12)] == ["old", "new"]


@pytest.mark.parametrize("name", EVERY_TABLE)
def test_every_row_has_range_and_reason(name: str) -> None:
    """Each table and row explains itself in sentences, has names, and a range within the releases known."""
    table = EVERY_TABLE[name]
    assert table.form in get_args(NameForm)
    assert table.what.endswith(".")
    assert table.rows
    for row in table.rows:
        assert row.names
        assert row.reason.endswith("."), row.names
        assert bool(row.value) == isinstance(table, NameMap), row.names
        assert any(is_between(version, row.since, row.until) for version in SERIES), row.names
        assert {row.since, row.until} <= {None, *[version.series for version in SERIES]}, row.names


def test_constants_of_the_generator_have_a_table_each() -> None:
    """The constants that are read from a tree are those of the tables, and of the operators with complex gradients."""
    listed = {constant for table in EVERY_TABLE.values() for constant in table.listed_in}
    assert {*listed, *COMPLEX_GRADIENTS} == {name for names in LISTS.values() for name in names}


@pytest.mark.parametrize("name", EVERY_TABLE)
def test_no_name_is_listed_twice(name: str) -> None:
    """No name stands twice in what a table has for one release."""
    for version in SERIES:
        rows = [row for row in EVERY_TABLE[name].rows if is_between(version, row.since, row.until)]
        names = [name for row in rows for name in row.names]
        assert len(names) == len(set(names)), version


@pytest.mark.parametrize("name", EVERY_TABLE)
def test_every_name_exists_in_the_installed_release(name: str) -> None:
    """A name that is listed for the installed release is one of its operators, unless its row says `absent`."""
    table = EVERY_TABLE[name]
    version = version_of(from_installed())
    rows = [row for row in table.rows if is_between(version, row.since, row.until)]
    wrong = [
        f"{name} {'exists' if row.absent else 'is dead'}"
        for row in rows
        for name in row.names
        if exists(name, table.form) is row.absent
    ]
    assert wrong == []


@pytest.mark.parametrize("name", EVERY_TABLE)
def test_ranges_are_those_of_the_operators(name: str) -> None:
    """A name whose row has a range joins and leaves with its operator, so that code without rules may ask for all."""
    table = EVERY_TABLE[name]
    for row in table.rows:
        if row.since is None and row.until is None:
            continue
        for listed in row.names:
            known = [has_operator(version, listed, table.form) for version in SERIES]
            expected = [is_between(version, row.since, row.until) for version in SERIES]
            if table.form in ("overload", "unambiguous", "part"):
                # An overload may be newer than its operator, and may be removed before it; a part may be listed later.
                assert all(known[index] for index, is_listed in enumerate(expected) if is_listed), listed
            else:
                assert known == expected, listed


def test_newer_arguments_are_those_of_the_overloads() -> None:
    """The arguments that came later are arguments of the overload, with defaults for programs without them."""
    catalog = opwright.load("auto")
    named = LATER_OVERLOADS.in_release(Rules(version_of(from_installed())))
    assert len(named) >= 4
    for name, text in named.items():
        if text != WHOLE_OVERLOAD:
            defaults = {argument.name: argument.default for argument in catalog[name].arguments.all}
            assert all(defaults[argument] is not None for argument in text.split()), name


def test_stand_ins_are_functions_of_our_headers() -> None:
    """What stands in for a kernel of the CPU is a function of the headers for backends."""
    folder = Path(opwright.__file__).parent / "libraries" / "include" / "opwright"
    text = "".join([path.read_text(encoding="utf-8") for path in sorted(folder.glob("*.h"))])
    names = set(STAND_INS.in_any_release.values()) - {FALLBACK_FUNCTION}
    assert len(names) >= 4
    assert [name for name in names if not re.search(rf"^inline [^;{{}}]*\b{name}\(", text, re.MULTILINE)] == []


# Module and first name of lists that treat no operator specially.
OTHER_LISTS = {
    # Commands of the program.
    ("opwright.cli.main", "where"),
    # The allocation helpers call these operators, so their file includes the headers.
    ("opwright.emit.aten.register.helpers", "empty"),
    # The members of a group of views, by their roles.
    ("opwright.tools.dump.data", "view"),
    # Python's augmented assignments are part of the grammar of names.
    ("opwright.schema.names", "add"),
    # Functions of C++'s <cmath>, which formulas call for numbers.
    ("opwright.libraries.dialect.formula_names", "cos"),
    # Functions of C++'s <cmath>, and what the stable headers and the tensors of C++ have.
    ("opwright.migrate.porting.run", "exp"),
    # Methods of tensors in sources whose results may be views: some are of pybind11 and of accessors.
    ("opwright.migrate.importing.argument_uses", "value"),
    ("opwright.syntax.cpp_functions", "size"),
    ("opwright.syntax.cpp_functions", "is_contiguous"),
    ("opwright.migrate.porting.methods", "options"),
    ("opwright.migrate.porting.methods", "size"),
    ("opwright.migrate.porting.stable_api", "empty_like"),
    ("opwright.migrate.porting.stable_api", "fill_.Scalar"),
    ("opwright.migrate.porting.stable_api", "add"),
    # What numbers in calls of C++ become, by how PyTorch converts them.
    ("opwright.migrate.porting.stable_api", "bitwise_and"),
    ("opwright.migrate.porting.stable_api", "clamp"),
    ("opwright.migrate.porting.stable_api", "index_fill"),
    ("opwright.migrate.porting.stable_api", "pow.Scalar"),
    # Methods that every whole list of operators has, and lists of few lack.
    ("opwright.dialects.derivatives.formula_checks", "expand"),
    # Words of reductions, which operators that take texts take.
    ("opwright.tools.diff.calls", ""),
    # C++ has words for its logical operators.
    ("opwright.libraries.dialect.python_formulas", "&&"),
    # JSON Schema has words for the least and the greatest number.
    ("opwright.mobile.upgraders.fields", "type"),
}


@pytest.mark.thorough
@pytest.mark.xdist_group("tests")  # with others that read the syntax trees of all modules
def test_lists_of_operators_are_tables() -> None:
    """No module outside `release/` but those of tables has a list of three or more operator names; see `name_lists`."""
    wrong = [
        f"{module}:{line} {names}"
        for module, tree in modules().items()
        if not module.startswith("opwright.release.") and module not in TABLE_MODULES
        for line, names in name_lists(tree)
        if (module, names[0]) not in OTHER_LISTS
    ]
    assert wrong == []


def name_lists(tree: ast.AST) -> Iterator[tuple[int, list[str]]]:
    """Line and names of the literals of which at least half are names of operators, three at least."""
    operators = frozenset().union(*installed_names().values())
    slots = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Assign) and is_slots(node.targets[0])}
    for node in ast.walk(tree):
        if id(node) in slots:
            continue
        items = node.keys if isinstance(node, ast.Dict) else getattr(node, "elts", [])
        names = [item.value for item in items if isinstance(item, ast.Constant) and isinstance(item.value, str)]
        if len(names) >= 3 and 2 * len(operators.intersection(names)) >= len(names):
            yield getattr(node, "lineno", 0), names


def is_slots(target: ast.expr) -> bool:
    """Whether an assignment declares the attributes of a class."""
    return isinstance(target, ast.Name) and target.id == "__slots__"


@pytest.mark.parametrize(
    ("code", "count"),
    [
        ("names = frozenset(('add', 'sub', 'mul'))", 1),
        ("bases = {'view': 'self', 'expand': 'self', 'no_operator': 'self'}", 1),
        ("words = ['add', 'colour', 'shape_of']", 0),
        ("pair = ('add', 'sub')", 0),
        ("class View:\n    __slots__ = ('view', 'view_copy', 'expand')", 0),
    ],
)
def test_lists_of_operators_are_seen(code: str, count: int) -> None:
    """The search sees sets and dictionaries of operator names, and leaves other words and fields alone."""
    assert len(list(name_lists(ast.parse(code)))) == count


@pytest.mark.thorough
def test_every_table_is_used() -> None:
    """Some module imports each table."""
    package = Path(opwright.__file__).parent
    imported = {
        f"{node.module}.{alias.name}"
        for path in package.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom) and node.module in TABLE_MODULES
        for alias in node.names
    }
    assert sorted(set(EVERY_TABLE) - imported) == []
