"""The files that the rename of an argument concerns, and whether generated code then differs in its name alone."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import Final

from opwright.dialects.table import DERIVATIVES, NATIVE_FUNCTIONS
from opwright.emit.emitter import Job
from opwright.emit.registry import DEFAULT_FAMILIES, emitters
from opwright.libraries.dialect.head import read_head
from opwright.libraries.entry_fields import library_fields
from opwright.libraries.rows import LIBRARY
from opwright.model.native_function import NativeFunction
from opwright.release.inputs import Inputs
from opwright.release.tree import rules_of
from opwright.schema.names import FOREACH_PREFIX
from opwright.schema.signature import base_of_operation
from opwright.source.diagnostic import Diagnostics, Severity
from opwright.source.items import split_items
from opwright.source.nodes import MappingNode, SequenceNode
from opwright.source.records import NamedTuple
from opwright.source.span import Span
from opwright.source.text import SourceFile
from opwright.source.yaml import load_yaml
from opwright.tools.diff.outputs import DIGEST
from opwright.tools.explain.loading import ExplainRequest, load_part
from opwright.tools.files.file_kinds import owners_of
from opwright.tools.lsp.library import derivatives_path, load_library
from opwright.tools.lsp.operators import entries_of, plain_name
from opwright.tools.lsp.project import Project, kind_of, tree_of
from opwright.workspace.overlay import with_texts

_TOKEN: Final = re.compile(r"\w+|[^\w\s]")
#: Names that stand for themselves, and so would hide an argument; members of other things do not.
_OWN_NAME: Final = re.compile(r"(?<![\w.\"'])(?<!->)(?<!::)[A-Za-z_]\w*(?![\w\"'])")
_STRING_OR_COMMENT: Final = re.compile(r"\"(?:[^\"\\\n]|\\.)*\"|(?m://.*$)")


class Renamed(NamedTuple):
    """The old and the new name of an argument, and the names of the arguments of all operators in the code."""

    old: str
    new: str
    arguments: frozenset[str]

    @property
    def pattern(self) -> re.Pattern[str]:
        """The old name, alone or in a word with `_`."""
        return re.compile(rf"(?<![A-Za-z0-9]){self.old}(?![A-Za-z0-9])")

    def apply(self, token: str) -> str:
        """A token with the new name in place of the old one."""
        return self.pattern.sub(self.new, token)


def other_difference(before: Job, after: Job, families: Sequence[str], renamed: Renamed) -> str | None:
    """What the code of two jobs differs in besides the name of an argument; None if in nothing else.

    A name that is made from the argument's, such as that of a saved value, differs likewise. None of the new names may
    be another thing before, but for arguments of other operators.
    """
    for text, other in zip_longest(_texts(before, families), _texts(after, families), fillvalue=""):
        if text != other:
            difference = _difference(text, other, renamed)
            if difference is not None:
                return difference
    return None


def _difference(text: str, other: str, renamed: Renamed) -> str | None:
    """What two texts differ in besides the name of an argument."""
    tokens, others = _TOKEN.findall(text), _TOKEN.findall(other)
    taken = set(_OWN_NAME.findall(_STRING_OR_COMMENT.sub("", text))) - renamed.arguments
    for index, (token, changed) in enumerate(zip_longest(tokens, others, fillvalue="")):
        if token != changed and not _is_renamed(token, changed, renamed):
            if sorted(map(renamed.apply, tokens)) == sorted(others):
                return "it is sorted by the names of arguments, so choose one that keeps the order"
            return "`" + " ".join(others[max(0, index - 3) : index + 4]) + "`"
        if token != changed and changed in taken:
            return f"`{changed}` is the name of another thing there"
    return None


def _is_renamed(token: str, changed: str, renamed: Renamed) -> bool:
    """Whether a token differs from another one in the name, which may be a part of it, of a word with `_`."""
    parts = renamed.pattern.split(token)
    # The other word of `value_value` may be no argument.
    return re.fullmatch(f"(?:{renamed.old}|{renamed.new})".join(map(re.escape, parts)), changed) is not None


def _texts(job: Job, families: Sequence[str]) -> Iterator[str]:
    """The texts of all units, in their order, without digests of others."""
    for emitter in emitters(job, families):
        for unit in emitter.units(job):
            for value in emitter.fragment(unit, job).values():
                for text in (value,) if isinstance(value, str) else value:
                    yield DIGEST.sub('""', text)


_DERIVATIVE: Final = re.compile(r"(?m)^(?:- +|  )?[\"']?name[\"']? *: *[\"']?((?:\w+::)?[\w.]+)\(")


class PlacedEntry(NamedTuple):
    """An entry, parsed alone, and how far from its place in the file its nodes are."""

    node: MappingNode
    file: SourceFile
    distance: int

    def place(self, span: Span) -> Span:
        """The place of a part of the entry in the file."""
        return Span(self.file, span.start + self.distance, span.end + self.distance)


class LoadedScope(NamedTuple):
    """The operators concerned, and the warnings about them."""

    job: Job
    warnings: list[str]


class RenameScope(NamedTuple):
    """The files concerned: the one with the schemas, then those with derivatives.

    `load` loads the operators concerned with texts in place of some files. It raises ValueError if they have mistakes.
    """

    files: tuple[SourceFile, ...]
    families: tuple[str, ...]
    load: Callable[[Mapping[str, SourceFile]], LoadedScope]

    @property
    def is_pytorch(self) -> bool:
        """Whether the operators are PyTorch's own."""
        return self.families == DEFAULT_FAMILIES

    def entries(self, group: tuple[NativeFunction, ...]) -> Iterator[PlacedEntry]:
        """The entries of functions."""
        # The entry of an operator that saves results makes two operators, of which callers name the synthesized one.
        lines = {
            function.entry.line
            for function in group
            if not function.is_synthesized or library_fields(function).returned_from is not None
        }
        file = self.files[0]
        for entry in _entry_nodes(file, lambda start, _: file.line_and_column(start)[0] in lines):
            if entry.place(entry.node.span).line in lines:
                yield entry

    def derivatives(self, group: tuple[NativeFunction, ...]) -> Iterator[PlacedEntry]:
        """The entries with the derivatives of functions."""
        names = {function.name.text for function in group}

        def is_wanted(_: int, text: str) -> bool:
            match = _DERIVATIVE.search(text)
            return match is None or match[1].rpartition("::")[2] in names

        for file in self.files[1:]:
            for entry in _entry_nodes(file, is_wanted):
                if is_wanted(0, entry.node.span.text):
                    yield entry


def _entry_nodes(file: SourceFile, is_wanted: Callable[[int, str], bool]) -> Iterator[PlacedEntry]:
    """The wanted entries of a file, by offset and text; all of them if it must be parsed whole."""
    items = split_items(file.text)
    for start, text in items:
        if is_wanted(start, text):
            root = load_yaml(SourceFile(file.path, f"- {text}"))
            for node in root.items if isinstance(root, SequenceNode) else ():
                if isinstance(node, MappingNode):
                    yield PlacedEntry(node, file, start - len("- "))
    if not items:
        for node in read_head(load_yaml(file), Diagnostics())[1]:
            if isinstance(node, MappingNode):
                yield PlacedEntry(node, file, 0)


def group_of(job: Job, name: str) -> tuple[NativeFunction, ...]:
    """The overloads that share the names of their arguments with the one of a name. Raises ValueError without any."""
    namespace, _, own = name.rpartition("::")
    functions = [
        function
        for function in job.catalog.functions
        if function.name.text == own and namespace in ("", function.namespace)
    ]
    if len(functions) != 1:
        raise ValueError(f"there is {'no' if not functions else 'more than one'} operator `{name}`")
    members = dict.fromkeys(functions)
    waiting = functions
    while waiting:
        function = waiting.pop()
        for group in (function.group, function.view_group):
            for member in () if group is None else group.functions():
                if member not in members:
                    members[member] = None
                    waiting.append(member)
    return tuple(members)


def rename_scope(project: Project, file: SourceFile, name: str) -> RenameScope:
    """What the rename of an argument of an operator in a file concerns. Raises ValueError if it cannot be known."""
    kind, inputs = kind_of(file), project.inputs_of(file)
    if inputs is None:
        raise ValueError("no PyTorch can be opened")
    if kind is LIBRARY:
        return _library_scope(project, file, inputs, name)
    if kind in (NATIVE_FUNCTIONS, DERIVATIVES) and tree_of(file.path, kind) is not None:
        return _pytorch_scope(inputs, name)
    owners = owners_of(file) if kind is DERIVATIVES else []
    library = project.read(owners[0]) if len(owners) == 1 else None
    if library is None or kind_of(library) is not LIBRARY:
        raise ValueError("arguments are renamed in library files, in PyTorch's source trees, and in their derivatives")
    return _library_scope(project, library, inputs, name)


def _pytorch_scope(inputs: Inputs, name: str) -> RenameScope:
    names = {dialect.inputs[0]: inputs.read_optional(dialect.inputs[0]) for dialect in (NATIVE_FUNCTIONS, DERIVATIVES)}
    files = {input_name: file for input_name, file in names.items() if file is not None}

    def load(changed: Mapping[str, SourceFile]) -> LoadedScope:
        texts = {input_name: changed.get(file.path, file) for input_name, file in files.items()}
        # Formulas of functions over lists are made from those of the function called for each item.
        concerned = (plain_name(name), f"{FOREACH_PREFIX}{base_of_operation(name)}")
        request = ExplainRequest(concerned, with_texts(inputs, texts))
        job = load_part(request, rules_of(inputs))
        if job is None:
            problem = "would have mistakes" if changed else "has mistakes, or its group or its derivatives have some"
            raise ValueError(f"`{name}` {problem}")
        return LoadedScope(job, [])

    return RenameScope(tuple(files.values()), DEFAULT_FAMILIES, load)


def _library_scope(project: Project, file: SourceFile, inputs: Inputs, name: str) -> RenameScope:
    _check_alone(project, file, name)
    path = derivatives_path(file)
    derivatives = project.read(path) if path else None
    files = (file,) if derivatives is None else (file, derivatives)

    def load(changed: Mapping[str, SourceFile]) -> LoadedScope:
        sink = Diagnostics()
        job = load_library(project, file, inputs, sink, changed)
        if sink.has_errors:
            message = next(diagnostic.message for diagnostic in sink.sorted() if diagnostic.severity is Severity.ERROR)
            raise ValueError(f"the library {'would have' if changed else 'has'} mistakes: {message}")
        return LoadedScope(job, [diagnostic.message for diagnostic in sink.sorted()])

    return RenameScope(files, ("library",), load)


def _check_alone(project: Project, file: SourceFile, name: str) -> None:
    """Raise ValueError if another library file has overloads of an operator."""
    base = base_of_operation(name)
    folder = os.path.dirname(file.path)
    paths = [os.path.join(folder, sibling) for sibling in os.listdir(folder) if sibling.endswith((".yaml", ".yml"))]
    for path in {*paths, *project.texts} - {file.path}:
        other = project.read(path)
        entries = entries_of(other) if other is not None and kind_of(other) is LIBRARY else ()
        if any(base_of_operation(entry.name) == base for entry in entries):
            raise ValueError(f"`{os.path.basename(path)}` has overloads of `{name}`, too")
