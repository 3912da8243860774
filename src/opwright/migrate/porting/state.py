"""What the port of one file reads and collects: the facts of the project, the target, headers, and lines that stay."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from opwright.dialects.derivatives.formula_shapes import walk
from opwright.libraries.dialect.callable_operators import CallableOperators
from opwright.migrate.porting.stable_api import StableName, StableRelease
from opwright.migrate.porting.values import OTHER, UNKNOWN, OptionTexts, value_type
from opwright.migrate.porting.wrappers import NAMESPACE, Wrappers
from opwright.source.diagnostic import shorten
from opwright.source.records import NamedTuple
from opwright.syntax.budget import SourceBudget

if TYPE_CHECKING:
    from tree_sitter import Node

#: What stands in the text in place of a declaration that may go until its scope ends, and in place of what goes.
REMOVED: Final = "\xf8{}\xf8"
DROPPED: Final = "\xfc"
_REMOVED: Final = re.compile(r"\xf8(\d+)\xf8")
_NO_CODE: Final = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:[^"\\\n]|\\.)*"', re.DOTALL)
_NAMES_TENSOR: Final = re.compile(rb"\busing\s+(?:namespace\s+(?:at|torch|c10)\s*;|(?:\w+::)+Tensor\s*;|Tensor\s*=)")
NO_OPTIONS: Final = "the stable API has no options of tensors: pass dtype and device"


class LeftCode(NamedTuple):
    """Code that stays as it is: its line, the code, the reason, and the first release that has what it needs."""

    line: int
    code: str
    reason: str
    since: StableRelease | None = None

    def __str__(self) -> str:
        helps = "" if self.since is None else f" (since PyTorch {self.since[0]}.{self.since[1]})"
        return f"`{self.code}`: {self.reason}{helps}"


class ProjectFacts(NamedTuple):
    """What the sources of a project declare: types of results by function, types of fields, and macros.

    `names_tensor` tells whether they name PyTorch's tensors without a namespace; other libraries have a `Tensor` too.
    """

    results: Mapping[str, str]
    fields: Mapping[str, str]
    macros: frozenset[str]
    names_tensor: bool


class FileState:
    """The state of the port of one file for a `target`, the oldest release that the library serves."""

    def __init__(
        self,
        target: StableRelease,
        operators: CallableOperators,
        wrappers: Wrappers,
        facts: ProjectFacts,
        budget: SourceBudget,
    ) -> None:
        self.budget: Final = budget
        self.target: Final = target
        self.operators: Final = operators
        self.wrappers: Final = wrappers
        self.facts: Final = facts
        self.left: Final[list[LeftCode]] = []
        self.headers: Final[dict[str, None]] = {}
        #: Declarations that may go: the pattern of the name, the text, and what is said of one that stays.
        self._declarations: Final[dict[int, tuple[str, str, LeftCode]]] = {}
        self.has_open_namespace = False
        self.has_lost_cuda = False
        self.has_kept_include = False

    def leave(self, node: Node, reason: str, since: StableRelease | None = None) -> None:
        """Note that the code of a node stays."""
        code = _shown(node_text(node))
        self.left.append(LeftCode(node.start_point[0] + 1, code, reason, since))

    def declare(self, node: Node, name: str, text: str, reason: str) -> str:
        """Note a declaration that goes if its scope has its name, a pattern, no longer. Gives what stands for it."""
        code = LeftCode(node.start_point[0] + 1, _shown(text), reason)
        self._declarations[node.start_byte] = name, text, code
        return REMOVED.format(node.start_byte)

    def settled(self, text: str) -> str:
        """The text of a scope without the declarations that may go, except those whose names it still has."""
        while (mark := max(_REMOVED.finditer(text), key=re.Match.start, default=None)) is not None:
            name, declaration, code = self._declarations[int(mark[1])]
            after = text[mark.end() :]
            # The last one first: one that stays may need those before it.
            is_used = re.search(rf"\b(?:{name})\b", _NO_CODE.sub("", after)) is not None
            if is_used:
                self.left.append(code)
            text = text[: mark.start()] + (declaration if is_used else DROPPED) + after
        return text

    def keep_options(self, node: Node, options: OptionTexts | None) -> None:
        """Note that code needs options, if it does."""
        if options is not None:
            self.leave(node, NO_OPTIONS)

    def take(self, name: StableName, node: Node) -> bool:
        """Whether the target has a name, which the file then uses; otherwise the code of the node stays."""
        if not self.has(name.since):
            is_call = name.text.startswith(f"{NAMESPACE}::")
            lacks = "does not pass all types to the dispatcher" if is_call else f"has no `{name.text}`"
            self.leave(node, f"PyTorch {self.target[0]}.{self.target[1]} {lacks}", name.since)
            return False
        if name.header:
            self.headers[name.header] = None
        self.need_helper(name.text)
        return True

    def has(self, since: StableRelease) -> bool:
        """Whether the target has what a release brought."""
        return since <= self.target

    def need_helper(self, text: str) -> None:
        """Have a function of the generated header, if a name means one."""
        if text.startswith(f"{NAMESPACE}::"):
            self.wrappers.need_helper(text.partition("::")[2])


def _shown(text: str) -> str:
    """Code in a message, on one line."""
    return shorten(" ".join(text.encode("latin-1").decode("utf-8", "replace").split()), 60)


def node_text(node: Node) -> str:
    """The text of a node, each byte as a character."""
    return (node.text or b"").decode("latin-1")


def child_text(node: Node, field: str) -> str:
    """The text of a child by the name of its field; empty if there is none."""
    child = node.child_by_field_name(field)
    return "" if child is None else node_text(child)


def facts_of(roots: Sequence[Node], calls: Node) -> ProjectFacts:
    """The facts that trees of sources declare. A name that they declare with different types has none.

    `calls` is the tree of the header with the calls of operators, whose functions are known with their namespace.
    """
    fields: dict[str, str] = {}
    macros: set[str] = set()
    nodes = [node for root in roots for node in walk(root)]
    for node in nodes:
        if node.type in ("preproc_def", "preproc_function_def"):
            macros.add(child_text(node, "name"))
        elif node.type == "field_declaration":
            declarator = node.child_by_field_name("declarator")
            if declarator is not None and declarator.type == "field_identifier":
                _add(fields, node_text(declarator), value_type(child_text(node, "type")))
    results = _results(nodes) | {f"{NAMESPACE}::{name}": type for name, type in _results(walk(calls)).items()}
    names_tensor = any(_NAMES_TENSOR.search(root.text or b"") for root in roots)
    return ProjectFacts(results, fields, frozenset(macros), names_tensor)


def _results(nodes: Iterable[Node]) -> dict[str, str]:
    """The types of the results of functions that nodes declare."""
    results: dict[str, str] = {}
    for node in nodes:
        parent = node.parent if node.type == "function_declarator" else None
        is_pointer = False
        while parent is not None and parent.type in ("pointer_declarator", "reference_declarator"):
            is_pointer |= parent.type == "pointer_declarator"
            parent = parent.parent
        if parent is not None and parent.type in ("function_definition", "declaration"):
            name, type = child_text(node, "declarator").rpartition("::")[2], child_text(parent, "type")
            if name and type:
                _add(results, name, OTHER if is_pointer else value_type(type))
    return results


def _add(table: dict[str, str], name: str, type: str) -> None:
    table[name] = type if table.get(name, type) == type else UNKNOWN
