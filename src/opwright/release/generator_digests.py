"""Whether the generator in a tree is one that Opwright follows, and which of its parts are not, by their digests.

A part is a function, a method, or a constant of a module or a class. Its digest is one of its syntax tree, so comments,
docstrings, blanks and line breaks do not count; imports are no parts. Nothing of a generator is run or kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache
from hashlib import sha256
from typing import TYPE_CHECKING, Final

from opwright.release.store import FORWARDS, GENERATOR
from opwright.release.tree_facts import LISTS
from opwright.release.version import NEWEST, Version, parse_version
from opwright.source.codes import UNKNOWN_GENERATOR
from opwright.source.records import NamedTuple
from opwright.source.text import read_own_text

if TYPE_CHECKING:
    import ast

    from opwright.release.view import Inputs
    from opwright.source.diagnostic import Diagnostics

_DATA: Final = "data/generator_digests.txt"
#: The parts whose names and values are read from a tree, so that Opwright follows them whatever they are.
READ: Final = frozenset(
    [
        "dispatch_keys",
        "STRUCTURED_DISPATCH_KEYS",
        "BaseTypeToCppMapping",
        *(name for names in LISTS.values() for name in names),
    ]
)
_READ_PREFIXES: Final = ("BaseTy.", "base_type_to_")
#: Fields of nodes that differ between versions of Python for the same code.
_NO_CODE: Final = frozenset(("ctx", "kind", "type_comment"))
_SHOWN: Final = 5


class KnownFile(NamedTuple):
    """A file of the generators that a tree may have: the digests of its texts, and those of the parts by release."""

    name: str
    texts: frozenset[str]
    parts: tuple[frozenset[str], ...]


def check_generator(inputs: Inputs, version: Version, sink: Diagnostics, *, strict: bool = False) -> None:
    """Tell which parts of the generator in a tree or an installation are none of the release, nor of the one before it.

    Opwright follows its own rules, so it ignores what such a part does: a warning (W0507), or an error if `strict`.
    """
    # These files decide nothing, so they are none of the reads of an action that is described.
    inputs = inputs.with_store(inputs._store)
    program = inputs.read_optional(GENERATOR[0]) if inputs.root is not None else None
    if program is None or program.text.startswith(FORWARDS):
        return
    unknown = [part for file in known_files(version) for part in _unknown_parts(inputs, file)]
    if not unknown:
        return
    more = f"\nand {len(unknown) - _SHOWN} more" if len(unknown) > _SHOWN else ""
    count = "a part differs" if len(unknown) == 1 else f"{len(unknown)} parts differ"
    (sink.error if strict else sink.warning)(
        UNKNOWN_GENERATOR,
        f"{count} from the generator of PyTorch {version.series}, which is followed, in {inputs.origin}",
        notes=["changed: " + "\n".join(unknown[:_SHOWN]) + more],
        help=f"`opwright conformance {inputs.root}` runs both and compares their files",
    )


def _unknown_parts(inputs: Inputs, file: KnownFile) -> Iterator[str]:
    """The parts of a file that no known generator has, in words; a part that is gone is seen where no other is."""
    source = inputs.read_optional(file.name)
    if source is None or text_digest(source.text) in file.texts:
        return
    path = inputs.display_path(file.name)
    try:
        parts = parts_of(source.text)
    except SyntaxError:
        yield f"`{path}`, which cannot be parsed"
        return
    digests = frozenset(digest for _, digest in parts)
    names = [name for name, digest in parts if not any(digest in release for release in file.parts)]
    yield from (f"`{name}` in `{path}`" for name in dict.fromkeys(names))
    if not names and not any(release <= digests for release in file.parts):
        yield f"a part of `{path}` that is gone"


def text_digest(text: str) -> str:
    """The digest of a whole file, whatever its line ends."""
    return _digest(text.replace("\r\n", "\n"))


def parts_of(text: str) -> list[tuple[str, str]]:
    """The names of the parts of a module that Opwright does not read, and their digests.

    >>> one, other = (parts_of(f"N = 1\\ndef f(): {body}") for body in ("return 2", "  # Why.\\n  return (2)"))
    >>> [name for name, _ in one], one == other, one == parts_of("N = 1\\ndef f(): return 3")
    (['N', 'f'], True, False)
    """
    import ast

    return [
        (name, _digest(f"{name} {_canonical(node)}"))
        for name, node in _named_parts(ast.parse(text).body, "")
        if name not in READ and not name.startswith(_READ_PREFIXES)
    ]


def _named_parts(body: Iterable[ast.stmt], prefix: str) -> Iterator[tuple[str, ast.AST]]:
    import ast

    for node in body:
        if isinstance(node, ast.ClassDef):
            yield from _named_parts(node.body, f"{prefix}{node.name}.")
            yield f"{prefix}{node.name}", ast.Tuple([*node.bases, *node.decorator_list])
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield f"{prefix}{node.name}", node
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            target = node.target if isinstance(node, ast.AnnAssign) else node.targets[0]
            yield f"{prefix}{ast.unparse(target)}", node
        elif isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            yield from _named_parts(node.body, prefix)
        elif not isinstance(node, (ast.Import, ast.ImportFrom)) and not _is_docstring(node):
            yield f"{prefix}{ast.unparse(node).partition(chr(10))[0]}", node


def _is_docstring(node: object) -> bool:
    import ast

    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def _canonical(value: object) -> str:
    """A syntax tree as text, the same under each version of Python."""
    import ast

    if isinstance(value, ast.AST):
        fields = [(name, _canonical(getattr(value, name, None))) for name in value._fields if name not in _NO_CODE]
        shown = ",".join([f"{name}={text}" for name, text in fields if text not in ("None", "[]")])
        return f"{type(value).__name__}({shown})"
    if isinstance(value, list):
        return f"[{','.join([_canonical(item) for item in value if not _is_docstring(item)])}]"
    return repr(value)


def _digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()[:8]


@cache
def known_files(version: Version) -> tuple[KnownFile, ...]:
    """The files of the generators of a release and of the one before it, which a tree between the two may have."""
    last = min(version.minor, NEWEST.minor) if version.major == NEWEST.major else NEWEST.minor
    files: dict[str, tuple[set[str], dict[int, set[str]]]] = {}
    for line in read_own_text(__package__, _DATA).splitlines():
        words = line.split()
        if line.startswith("["):
            texts, parts = files[line.strip("[]")] = set(), {last - 1: set(), last: set()}
        elif words and not line.startswith("#"):
            kind, since, until, *digests = words
            first = parse_version(since).minor
            end = NEWEST.minor + 1 if until == "-" else parse_version(until).minor
            for minor in parts:
                if first <= minor < end:
                    (texts if kind == "text" else parts[minor]).update(digests)
    return tuple(
        KnownFile(name, frozenset(texts), tuple([frozenset(release) for release in parts.values() if release]))
        for name, (texts, parts) in files.items()
        if texts
    )
