"""A record is copied with `replace`: a copy that lists fields loses those that the record gets later."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from functools import cache

import pytest

from opwright.source.records import Copyable, NamedTuple
from tests.test_layering import modules


class Point(Copyable):
    """A record with a value that its constructor works out, and one behind a property."""

    __slots__ = ("_label", "x", "y")

    def __init__(self, x: int, *, y: int | None = None, label: str = "") -> None:
        self.x = x
        self.y = x if y is None else y
        self._label = label

    @property
    def label(self) -> str:
        """The label, which nothing may read before it is needed."""
        raise AssertionError("a copy does not need it")


class Pair(NamedTuple):
    """A named tuple, which has its own `_replace`."""

    first: int
    second: int = 2


def test_a_copy_has_all_other_fields() -> None:
    """`replace` changes the fields that it is given and keeps all others, without reading properties."""
    copy = Point(1, y=2, label="here").replace(x=3)
    assert (copy.x, copy.y, copy._label) == (3, 2, "here")
    assert Pair(1)._replace(first=5) == Pair(5, 2)


def test_an_unknown_field_is_refused() -> None:
    """A field that the record does not have is a mistake, not a silent attribute."""
    with pytest.raises(TypeError, match="z"):
        Point(1).replace(z=3)


@pytest.mark.thorough
def test_no_record_is_copied_field_by_field() -> None:
    """No call of a constructor passes most of the fields of another object of the same class."""
    wrong = [f"{name}:{line} {text}" for name, tree in modules().items() for line, text in copies(tree, fields())]
    assert not wrong


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("def f(p: Point): return Point(p.x, y=p.y, label=p.label, shade=3)", True),
        ("def f(p: Point | None): return Point(p.x, y=3, label=p.label, shade=p.shade)", True),
        ("class Point:\n  def f(self): return Point(3, y=self.y, label=self.label, shade=self.shade)", True),
        ("p = Point(1)\nq = Point(p.x, p.y, p.label)", True),
        ("def f(p: Point): return Point(p.x, y=Lazy(lambda: p.y), label=p.label)", True),
        ("def f(p: Point): return Point(p.y, y=p.x, label=p.label, shade=p.shade)", False),
        ("def f(p: Other): return Point(p.x, y=p.y, label=p.label, shade=p.shade)", False),
        ("def f(p: Point): return Point(p.x, y=2, label='')", False),
    ],
)
def test_copies_are_found(code: str, found: bool) -> None:
    """The search that the test above relies on finds copies, and no records that merely share names of fields."""
    assert bool(list(copies(ast.parse(code), {"Point": ("x", "y", "label", "shade")}))) == found


@cache
def fields() -> dict[str, tuple[str, ...]]:
    """The parameters of the constructor of each class of the package that has more than one."""
    found: dict[str, tuple[str, ...]] = {}
    for tree in modules().values():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef) and len(names := constructor_parameters(node)) > 1:
                found[node.name] = names
    return found


def constructor_parameters(node: ast.ClassDef) -> tuple[str, ...]:
    """What the constructor of a class takes: its own parameters, or the annotated fields of a named tuple."""
    for member in node.body:
        if isinstance(member, ast.FunctionDef) and member.name == "__init__":
            arguments = member.args
            return tuple([argument.arg for argument in (*arguments.args, *arguments.kwonlyargs)][1:])
    annotated = [member.target for member in node.body if isinstance(member, ast.AnnAssign)]
    return tuple([target.id for target in annotated if isinstance(target, ast.Name)])


def copies(tree: ast.Module, records: dict[str, tuple[str, ...]]) -> Iterator[tuple[int, str]]:
    """Line and text of each call of a constructor that passes more than half of the fields of one object on."""
    for scope, owner in scopes(tree, ""):
        classes = classes_of_names(scope, owner)
        for node in own_nodes(scope):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in records:
                name = node.func.id
                passed = Counter(passed_fields(node, records[name]))
                for source, count in passed.items():
                    if classes.get(source) == name and count > 2 and 2 * count >= len(records[name]):
                        yield node.lineno, f"{name} copies {count} fields of `{source}`"


def scopes(node: ast.AST, owner: str) -> Iterator[tuple[ast.AST, str]]:
    """The module and each of its functions, with the class that it is a member of."""
    if isinstance(node, ast.Module | ast.FunctionDef):
        yield node, owner
    for child in ast.iter_child_nodes(node):
        yield from scopes(child, node.name if isinstance(node, ast.ClassDef) else owner)


def own_nodes(scope: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a scope without those of functions inside it."""
    for child in ast.iter_child_nodes(scope):
        if not isinstance(child, ast.FunctionDef | ast.ClassDef):
            yield child
            yield from own_nodes(child)


def classes_of_names(scope: ast.AST, owner: str) -> dict[str, str]:
    """The class of each name in a scope, as far as annotations, constructors and handlers of exceptions say it."""
    classes = {}
    if isinstance(scope, ast.FunctionDef):
        for argument in (*scope.args.posonlyargs, *scope.args.args, *scope.args.kwonlyargs):
            if argument.annotation is not None:
                classes[argument.arg] = plain_class(argument.annotation)
        if scope.args.args and scope.args.args[0].arg == "self":
            classes["self"] = owner
    for node in own_nodes(scope):
        match node:
            case ast.AnnAssign(target=ast.Name(id=name), annotation=annotation):
                classes[name] = plain_class(annotation)
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call(func=ast.Name(id=constructor))):
                classes[name] = constructor
            case ast.ExceptHandler(type=ast.Name(id=caught), name=str(name)):
                classes[name] = caught
    return classes


def plain_class(annotation: ast.expr) -> str:
    """The class that an annotation names, without `None` and parameters."""
    text = ast.unparse(annotation).removesuffix(" | None")
    return text.partition("[")[0].rpartition(".")[2]


def passed_fields(call: ast.Call, parameters: tuple[str, ...]) -> Iterator[str]:
    """The name of the object, for each parameter of a constructor that gets its attribute of the same name."""
    named = [*zip(parameters, call.args, strict=False), *[(keyword.arg, keyword.value) for keyword in call.keywords]]
    for field, value in named:
        inner = value.args[0] if isinstance(value, ast.Call) and len(value.args) == 1 else value
        inner = inner.body if isinstance(inner, ast.Lambda) else inner
        match inner:
            case ast.Attribute(value=ast.Name(id=source), attr=attribute) if attribute == field:
                yield source
