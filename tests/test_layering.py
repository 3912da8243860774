"""The house stands as planned: packages import from above alone, nothing runs in circles, and no release is special."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[1] / "src"

# A module imports from packages that stand before its own in the list of docs/architecture.md, and from its own. The
# packages of a wing stand below it, further in.
PAGE = SOURCE.parent / "docs" / "architecture.md"


def packages_of(page: str) -> Iterator[str]:
    """The packages in the order of the page: `emit`, or `tools/check` for one of a wing."""
    wing = ""
    for indent, name in re.findall(r"^( {2}| {4})(\w+)/(?= |$)", page.split("src/opwright/\n")[1], re.MULTILINE):
        wing = wing if len(indent) == 4 else name
        yield name if wing == name else f"{wing}/{name}"


ORDER = tuple(packages_of(PAGE.read_text(encoding="utf-8")))
#: The wings beside the compiler, which the page calls so.
WINGS = tuple(re.findall(r"^  (\w+)/ +wing: ", PAGE.read_text(encoding="utf-8"), re.MULTILINE))

# The reference is a program to compare with; what is not in the standard library must be named in pyproject.toml.
FORBIDDEN = {"torch", "torchgen", "tools"}


@cache
def modules() -> dict[str, ast.Module]:
    """The syntax trees of all modules of the package, by dotted name; a package's name stands for its face."""
    trees = {}
    for path in sorted((SOURCE / "opwright").rglob("*.py")):
        parts = path.relative_to(SOURCE).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        trees[name] = ast.parse(path.read_text(encoding="utf-8"), filename=str(path))
    return trees


@cache
def is_package(name: str) -> bool:
    """Whether `name` is a package and not a module in one."""
    return (SOURCE / Path(*name.split(".")) / "__init__.py").is_file()


def imported(name: str, tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Line and dotted name of everything that the module `name` imports, also inside functions or for types only."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name
        elif isinstance(node, ast.ImportFrom):
            base = absolute(name, node)
            for alias in node.names:
                # `from package import module` names a module, `from module import thing` does not.
                longer = f"{base}.{alias.name}"
                yield node.lineno, longer if longer in modules() else base


def absolute(name: str, node: ast.ImportFrom) -> str:
    """The absolute name of the module that an import statement in the module `name` imports from."""
    if not node.level:
        return node.module or ""
    steps = node.level - 1 if is_package(name) else node.level
    home = name.split(".")
    return ".".join([*home[: len(home) - steps], *([node.module] if node.module else [])])


#: These say that a Python is too old, or run before the package does.
READ_BY_OLD_PYTHONS = {"opwright", "opwright.builds.bazel.compile_packages"}


def room(name: str) -> str:
    """The package of the list that a module stands in; nothing for the face and the entry points of the whole."""
    parts = name.split(".")[1:]
    return next((place for place in ("/".join(parts[:2]), "".join(parts[:1])) if place in ORDER), "")


def rank(name: str) -> float:
    """How late in the order a module stands; the face of the whole package stands just before the programs."""
    return ORDER.index(room(name)) if room(name) else ORDER.index("cli") - 0.5


def test_every_package_has_its_place() -> None:
    """The page lists the packages that there are: a new one is entered before anything is written in it."""
    modules_outside = [name for name in modules() if name.count(".") > 1 and not room(name)]
    assert not modules_outside
    wings = {path.parent.name for path in (SOURCE / "opwright").glob("*/README.md")}
    assert wings == set(WINGS) <= {place.split("/")[0] for place in ORDER}


#: Where the tables of the compiler ask for the rows of its guests. It names their modules, and imports none by itself.
DOOR = "opwright.guests"


def test_imports_point_upwards() -> None:
    """No module imports from a package that stands after its own; the compiler's tables ask at the door."""
    wrong = []
    for name, tree in modules().items():
        if not room(name):
            continue
        for line, target in imported(name, tree):
            if not target.startswith("opwright") or target == DOOR:
                continue
            if rank(target) > rank(name):
                wrong.append(f"{name}:{line} imports {target}")
    assert not wrong


def test_compiler_names_no_wing() -> None:
    """No module of the compiler imports from a wing, or names a module of one in a string that is imported later."""
    names = {f"opwright.{wing}" for wing in WINGS}
    wrong = []
    for name, tree in modules().items():
        if not room(name) or room(name).split("/")[0] in WINGS:
            continue
        strings = [(node.lineno, node.value) for node in ast.walk(tree) if isinstance(node, ast.Constant)]
        targets = [*imported(name, tree), *((line, text) for line, text in strings if isinstance(text, str))]
        wrong += [f"{name}:{line} {text}" for line, text in targets if ".".join(text.split(".")[:2]) in names]
    assert not wrong


def test_no_circles() -> None:
    """No module imports itself by way of others; imports for types alone count too."""
    arrows = {
        name: {target for _, target in imported(name, tree) if target in modules() and target != name}
        for name, tree in modules().items()
    }
    assert find_circle(arrows) == []


@pytest.mark.parametrize(
    ("arrows", "circle"),
    [
        ({"a": {"b"}, "b": {"c"}, "c": set()}, []),
        ({"a": {"b"}, "b": {"c"}, "c": {"b"}}, ["b", "c", "b"]),
        ({"a": {"b", "c"}, "b": {"d"}, "c": {"d"}, "d": set()}, []),
    ],
)
def test_circles_are_found(arrows: dict[str, set[str]], circle: list[str]) -> None:
    """The search that the test above relies on finds a circle where there is one and none where paths only meet."""
    assert find_circle(arrows) == circle


def find_circle(arrows: dict[str, set[str]]) -> list[str]:
    """One circle of arrows, as the names along it with the first one again at the end, or nothing."""
    done: set[str] = set()
    trail: list[str] = []

    def walk(name: str) -> list[str]:
        if name in trail:
            return [*trail[trail.index(name) :], name]
        if name in done:
            return []
        trail.append(name)
        for target in sorted(arrows[name]):
            if circle := walk(target):
                return circle
        trail.pop()
        done.add(name)
        return []

    for start in sorted(arrows):
        if circle := walk(start):
            return circle
    return []


#: Parts of generated modules, which are read as text.
COPIED = "opwright.libraries.emit.openings."


def test_reference_is_never_imported() -> None:
    """Nothing in the package imports the generator inside PyTorch, and no statement imports PyTorch.

    Builds of operator libraries, and programs that import a user's modules, import PyTorch with a call. What is copied
    into generated modules imports PyTorch, and is imported by none of the others.
    """
    wrong = [
        f"{name}:{line} imports {target}"
        for name, tree in modules().items()
        for line, target in imported(name, tree)
        if not name.startswith(COPIED) and (target.split(".")[0] in FORBIDDEN or target.startswith(COPIED))
    ]
    assert not wrong


#: The rooms in which versions are versions: those of releases, of which `PYTORCH` is the package, and of their inputs.
OF_RELEASES = {"release", "wheels"}


@pytest.mark.thorough
def test_releases_differ_in_one_table_alone() -> None:
    """No version is made, asked for or compared but to find a release and its inputs: a rule is asked by its name."""
    wrong = []
    for name, tree in modules().items():
        if room(name) in OF_RELEASES:
            continue
        wrong += [f"{name}:{line} {what}" for line, what in version_uses(tree)]
    assert not wrong


def version_uses(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """The places where code looks at the version of a release to decide something."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and called_name(node.func) in {"Version", "SpecifierSet"}:
            yield node.lineno, "makes a version"
        elif isinstance(node, ast.Compare):
            for side in (node.left, *node.comparators):
                if isinstance(side, ast.Attribute) and side.attr in {"version", "release"}:
                    yield node.lineno, f"compares `.{side.attr}`"


def called_name(function: ast.expr) -> str:
    """The last part of the name of a called function."""
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""


@pytest.mark.parametrize(
    ("code", "count"),
    [
        ("if Version(text) >= limit: pass", 1),
        ("if rules.version >= (2, 14): pass", 1),
        ("if rules.owns_view_values: pass", 0),
        ("print(release.version)", 0),
    ],
)
def test_version_uses_are_found(code: str, count: int) -> None:
    """The search that the test above relies on sees comparisons, and lets a version be printed."""
    assert len(list(version_uses(ast.parse(code)))) == count


@pytest.mark.thorough
def test_libraries_differ_by_traits_alone() -> None:
    """No code asks whether a library is PyTorch: it asks for one of the traits by which libraries differ."""
    wrong = []
    for name, tree in modules().items():
        for node in ast.walk(tree) if room(name) not in OF_RELEASES else ():
            sides = (node.left, *node.comparators) if isinstance(node, ast.Compare) else ()
            wrong += [f"{name}:{side.lineno}" for side in sides if isinstance(side, ast.Name) and side.id == "PYTORCH"]
    assert not wrong


#: What a text ends with before a value that only a writer of `opwright.cpp.text` may put there.
WRITTEN = ("#include <", '#include "')


def handwritten(tree: ast.Module) -> Iterator[ast.JoinedStr]:
    """The f-strings in which a value is a part of an include."""
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            for text, value in zip(node.values, node.values[1:], strict=False):
                is_text = isinstance(text, ast.Constant) and str(text.value).endswith(WRITTEN)
                if is_text and isinstance(value, ast.FormattedValue):
                    yield node


@pytest.mark.thorough
def test_includes_are_written_in_one_place() -> None:
    """No module formats an include by hand, so none writes one that its header ends."""
    wrong = [name for name, tree in modules().items() for _ in handwritten(tree)]
    assert set(wrong) == {"opwright.cpp.text"}


def test_modules_start_the_same_way() -> None:
    """Every module says first what it is for, and annotations are never evaluated."""
    wrong = []
    for name, tree in modules().items():
        futures = {
            alias.name
            for node in tree.body
            if isinstance(node, ast.ImportFrom) and node.module == "__future__"
            for alias in node.names
        }
        # Pythons without this feature read some modules, which quote their annotations.
        if not ast.get_docstring(tree) or ("annotations" not in futures and name not in READ_BY_OLD_PYTHONS):
            wrong.append(name)
    assert not wrong
