"""Whether the generator in a tree is one that Opwright follows, and which of its parts are not, by their digests.

A part is a function, a method, a constant of a module or a class, an item of a table of types, or an import. Its digest
is one of its syntax tree, so comments, docstrings, blanks and line breaks do not count. Nothing of a generator is run.

The program that PyTorch's build calls for autograd and Python is in source trees alone, and Opwright's program of that
name stands in its place. Its functions are compared without checks, annotations and texts of help, which differ from
tree to tree.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from functools import cache
from hashlib import sha256
from typing import TYPE_CHECKING, Final

from opwright.release.generator_files import FORWARDS, GENERATOR
from opwright.release.store import BUILD_PROGRAM, TREE_VERSION
from opwright.release.tree_facts import LISTS
from opwright.release.version import NEWEST, Version, is_known_release, parse_version
from opwright.schema.base_types import BASE_TYPE_ROWS
from opwright.source.codes import UNKNOWN_GENERATOR
from opwright.source.records import NamedTuple
from opwright.source.text import read_own_text

if TYPE_CHECKING:
    import ast

    from opwright.release.rules import Rules
    from opwright.release.view import Inputs
    from opwright.source.diagnostic import Diagnostics

_DATA: Final = "data/generator_digests.txt"
#: Constants that a tree between releases teaches whole, if they are literals: all that decides by them reads the tree.
#: `make generator-edits` edits each, and fails if one of these is not followed. Those left out are read for a part.
_TAUGHT: Final = frozenset([constant for constants in LISTS.values() for constant in constants]) - {
    "OUT_OPS_THAT_DONT_GET_GROUPED_PROPERLY",
    "MUTABLE_OPS_THAT_CANNOT_GET_AN_OUT_VARIANT",
    "INPLACE_OPS_THAT_DONT_GET_GROUPED_PROPERLY",
}
#: Tables with an item for each base type. Of a type that Opwright has no row of, a tree teaches the items.
_TYPE_TABLES: Final = (
    "BaseTypeToCppMapping", "base_type_to_c_type", "base_type_to_aten_type", "base_type_to_callsite_expr",
)  # fmt: skip
_TYPES: Final = "BaseTy"
_KNOWN_TYPES: Final = frozenset([row.name for row in BASE_TYPE_ROWS])
_SHOWN: Final = 5
#: The modules of one family alone, which no other files depend on: the folder, and the family.
_OF_ONE_FAMILY: Final = (("torchgen/static_runtime/", "static_runtime"),)
#: Fields of nodes that do not count in the program of PyTorch's build, and the digests of its functions in known trees.
_LEFT_OUT: Final = frozenset(("annotation", "returns"))
_KNOWN_PROGRAM: Final = frozenset(
    ["9468b5c7", "ab3500fa", "155f7a0e", "f163af45", "abfde4e7", "3597130d", "b1ccb09e", "b5d7823c", "287b4529"]
)
#: Fields of nodes that differ between versions of Python for the same code.
_NO_CODE: Final = frozenset(("ctx", "kind", "type_comment"))


class GeneratorPart(NamedTuple):
    """A part of a module; `is_taught` tells that Opwright reads what it says from a tree between releases."""

    name: str
    digest: str
    is_taught: bool


class KnownFile(NamedTuple):
    """A file of the generators that a tree may have: the digests of its texts, and those of the parts by release.

    `lists` are those of constants that a tree between releases teaches.
    """

    name: str
    texts: frozenset[str]
    parts: tuple[frozenset[str], ...]
    lists: frozenset[str]


def check_generator(
    inputs: Inputs,
    rules: Rules,
    sink: Diagnostics,
    *,
    families: Iterable[str] | None = None,
    strict: bool = False,
    refuse: bool = False,
) -> None:
    """Tell which parts of the generator in a tree or an installation are none of the release, nor of the one before it.

    Opwright follows its own rules, so it ignores what such a part does: an error (W0507) if `strict`, or, to `refuse`
    what a source tree edits, there; a warning elsewhere. A tree with the version of a release has that one's parts.
    What no file of the `families` depends on is left out.
    """
    # These files decide nothing, so they are none of the reads of an action that is described.
    inputs = inputs.with_store(inputs._store)
    program = inputs.read_optional(GENERATOR[0]) if inputs.root is not None else None
    if program is None or program.text.startswith(FORWARDS) or inputs.root is None:
        return
    version, teaches = rules.version, rules.tree is not None
    files = known_files(version, is_exact=not teaches and is_known_release(inputs.version_text))
    others = tuple([folder for folder, family in _OF_ONE_FAMILY if families is not None and family not in families])
    asked = [file for file in files if not others or not file.name.startswith(others)]
    unknown = [part for file in asked for part in _unknown_parts(inputs, file, teaches=teaches)]
    is_refused = strict or (refuse and os.path.isfile(os.path.join(inputs.root, TREE_VERSION)))
    if unknown:
        _tell(unknown, inputs, version, sink, is_refused=is_refused)
    unsure = build_program_edits(inputs.root)
    if unsure:
        _tell([f"`{name}` in `{path}`" for name, path in unsure], inputs, version, sink, is_refused=strict)


def _tell(unknown: list[str], inputs: Inputs, version: Version, sink: Diagnostics, *, is_refused: bool) -> None:
    more = f"\nand {len(unknown) - _SHOWN} more" if len(unknown) > _SHOWN else ""
    count = "a part differs" if len(unknown) == 1 else f"{len(unknown)} parts differ"
    runs = f"`opwright conformance {inputs.root}` runs both and compares their files"
    tolerant = "; to write what the known generator writes, add `--tolerate-generator-edits`" if is_refused else ""
    (sink.error if is_refused else sink.warning)(
        UNKNOWN_GENERATOR,
        f"{count} from the generator of PyTorch {version.series}, which is followed, in {inputs.origin}",
        notes=["changed: " + "\n".join(unknown[:_SHOWN]) + more],
        help=f"{runs}{tolerant}",
    )


def _unknown_parts(inputs: Inputs, file: KnownFile, *, teaches: bool) -> Iterator[str]:
    """The parts of a file that no known generator has, in words; a part that is gone is seen where no other is.

    If the tree `teaches`, its own lists, and its own types, are known.
    """
    source = inputs.read_optional(file.name)
    if source is None or text_digest(source.text) in file.texts:
        return
    path = inputs.display_path(file.name)
    try:
        parts = parts_of(source.text)
    except SyntaxError:
        yield f"`{path}`, which cannot be parsed"
        return
    followed = frozenset().union(*file.parts, file.lists)
    names = [part.name for part in parts if part.digest not in followed and not (teaches and part.is_taught)]
    yield from (f"`{name}` in `{path}`" for name in dict.fromkeys(names))
    digests = frozenset([part.digest for part in parts])
    missing = _TAUGHT.intersection(LISTS.get(file.name, ())) - {part.name for part in parts}
    if not names and (missing or not any(release <= digests for release in file.parts)):
        yield f"a part of `{path}` that is gone"


def text_digest(text: str) -> str:
    """The digest of a whole file, whatever its line ends."""
    return digest_of(text.replace("\r\n", "\n"))


def parts_of(text: str) -> list[GeneratorPart]:
    """The parts of a module.

    >>> one, other = (parts_of(f"N = 1\\ndef f(): {body}") for body in ("return 2", "  # Why.\\n  return (2)"))
    >>> [part.name for part in one], one == other, one == parts_of("N = 1\\ndef f(): return 3")
    (['N', 'f'], True, False)
    >>> [part.is_taught for part in parts_of("RESET_GRAD_ACCUMULATOR = {'a', 'b'}\\nRESET_GRAD_ACCUMULATOR = a | b")]
    [True, False]
    """
    import ast

    return [
        GeneratorPart(name, digest_of(f"{name} {canonical(node)}"), is_taught)
        for name, node, is_taught in _named_parts(ast.parse(text).body, "")
    ]


_NamedNodes = Iterator[tuple[str, "ast.AST", bool]]


def _named_parts(body: Iterable[ast.stmt], prefix: str, *, for_types: bool = False) -> _NamedNodes:
    import ast

    for node in body:
        if isinstance(node, ast.ClassDef):
            yield from _named_parts(node.body, f"{prefix}{node.name}.", for_types=for_types)
            base = ast.Tuple([*node.bases, *node.decorator_list, *[word.value for word in node.keywords]])
            yield f"{prefix}{node.name}", base, False
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield f"{prefix}{node.name}", node, False
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            yield from _named_constants(node, prefix)
        elif isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            yield from _named_parts(node.body, prefix, for_types=True)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            if not for_types:
                yield from _named_imports(node)
        elif not is_docstring(node):
            yield f"{prefix}{ast.unparse(node).partition(chr(10))[0]}", node, False


def _named_constants(node: ast.Assign | ast.AnnAssign, prefix: str) -> _NamedNodes:
    """A constant, or the items of a table of types."""
    import ast

    target = node.target if isinstance(node, ast.AnnAssign) else node.targets[0]
    name, value = ast.unparse(target), node.value
    if name in _TYPE_TABLES and isinstance(value, ast.Dict):
        for key, item in zip(value.keys, value.values, strict=True):
            shown = "**" if key is None else ast.unparse(key)
            yield f"{name}[{shown}]", item, shown.partition(".")[2] not in _KNOWN_TYPES and shown != "**"
        return
    is_new_type = prefix == f"{_TYPES}." and name not in _KNOWN_TYPES
    yield f"{prefix}{name}", node, is_new_type or (name in _TAUGHT and _is_literal(value))


def _is_literal(value: ast.expr | None) -> bool:
    """Whether a value is a collection of texts, or a dictionary of texts, as it stands or given to a type."""
    import ast

    if isinstance(value, ast.Call) and len(value.args) == 1 and not value.keywords:
        value = value.args[0] if ast.unparse(value.func) in ("set", "frozenset", "dict", "OrderedDict") else None
    items = [*value.keys, *value.values] if isinstance(value, ast.Dict) else getattr(value, "elts", [None])
    return all(isinstance(item, ast.Constant) and isinstance(item.value, str) for item in items)


def _named_imports(node: ast.Import | ast.ImportFrom) -> _NamedNodes:
    """What a module imports, each name by itself: the order of imports is that of a formatter."""
    import ast

    module = "" if isinstance(node, ast.Import) else f"from {'.' * node.level}{node.module or ''} "
    for alias in node.names:
        yield f"{module}import {ast.unparse(alias)}", ast.Tuple([]), False


@cache
def known_files(version: Version, *, is_exact: bool = False) -> tuple[KnownFile, ...]:
    """The files of the generators of a release and of the one before it, which a tree between the two may have.

    For what has exactly the release (`is_exact`), only those of the release.
    """
    last = min(version.minor, NEWEST.minor) if version.major == NEWEST.major else NEWEST.minor
    minors = (last,) if is_exact else (last - 1, last)
    files: dict[str, tuple[set[str], dict[int, set[str]], set[str]]] = {}
    for line in read_own_text(__package__, _DATA).splitlines():
        words = line.split()
        if line.startswith("["):
            texts, parts, lists = files[line.strip("[]")] = set(), {minor: set() for minor in minors}, set()
        elif words and not line.startswith("#"):
            kind, since, until, *digests = words
            first = parse_version(since).minor
            end = NEWEST.minor + 1 if until == "-" else parse_version(until).minor
            for minor in parts:
                if first <= minor < end:
                    {"text": texts, "list": lists}.get(kind, parts[minor]).update(digests)
    return tuple(
        KnownFile(
            name,
            frozenset(texts),
            tuple([frozenset(release) for release in parts.values() if release]),
            frozenset(lists),
        )
        for name, (texts, parts, lists) in files.items()
        if texts
    )


def build_program_edits(root: str) -> list[tuple[str, str]]:
    """The functions and constants of the program in a source tree that no known tree has, each with the file's path."""
    path = os.path.join(root, *BUILD_PROGRAM.split("/"))
    try:
        with open(path, encoding="utf-8") as file:
            parts = program_parts(file.read())
    except (OSError, SyntaxError, ValueError):
        return []
    # Other programs of that name, such as one that calls Opwright, are none of PyTorch's.
    is_program = any(name == "generate_code" for name, _ in parts)
    return [(name, path) for name, digest in parts if is_program and digest not in _KNOWN_PROGRAM]


def program_parts(text: str) -> list[tuple[str, str]]:
    """The functions and constants of a program, with their digests.

    >>> texts = ["def f(x: int):\\n  assert x\\n  return g(x)", "def f(x):\\n  if not x:\\n    raise E\\n  return g(x)"]
    >>> program_parts(texts[0]) == program_parts(texts[1]) != program_parts("def f(x): return x")
    True
    """
    import ast

    nodes = [node for node in ast.parse(text).body if isinstance(node, (ast.FunctionDef, ast.Assign))]
    names = [node.name if isinstance(node, ast.FunctionDef) else ast.unparse(node.targets[0]) for node in nodes]
    for node in nodes:
        for inner in ast.walk(node):
            _leave_out_checks(inner)
    return [(name, digest_of(canonical(node, _LEFT_OUT))) for name, node in zip(names, nodes, strict=True)]


def _leave_out_checks(node: ast.AST) -> None:
    """Take the checks out of a block of statements, and the help out of a call."""
    import ast

    if isinstance(node, ast.Call):
        node.keywords = [word for word in node.keywords if word.arg not in ("help", "description")]
    body = getattr(node, "body", None)
    if isinstance(body, list):
        vars(node)["body"] = [statement for statement in body if not _is_check(statement)]


def _is_check(node: ast.stmt) -> bool:
    import ast

    raises = (
        isinstance(node, ast.If) and not node.orelse and len(node.body) == 1 and isinstance(node.body[0], ast.Raise)
    )
    return isinstance(node, ast.Assert) or raises


def canonical(value: object, left_out: frozenset[str] = frozenset()) -> str:
    """A syntax tree as text, the same under each version of Python, without the fields that are left out.

    >>> import ast
    >>> canonical(ast.parse("x = (1)")) == canonical(ast.parse("x=1  # Why."))
    True
    """
    import ast

    if isinstance(value, ast.AST):
        names = [name for name in value._fields if name not in _NO_CODE and name not in left_out]
        fields = [(name, canonical(getattr(value, name, None), left_out)) for name in names]
        shown = ",".join([f"{name}={text}" for name, text in fields if text not in ("None", "[]")])
        return f"{type(value).__name__}({shown})"
    if isinstance(value, list):
        return f"[{','.join([canonical(item, left_out) for item in value if not is_docstring(item)])}]"
    return repr(value)


def is_docstring(node: object) -> bool:
    """Whether a statement is a text alone."""
    import ast

    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def digest_of(text: str) -> str:
    """A short digest of a text."""
    return sha256(text.encode()).hexdigest()[:8]
