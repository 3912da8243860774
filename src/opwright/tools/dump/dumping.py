"""From inputs to a dump of their catalog."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, cast

from opwright.backends.external_backend import ExternalBackend
from opwright.backends.hooks import Implementation
from opwright.backends.rows import BACKEND
from opwright.dialects.dialect import Dialect, LoadContext
from opwright.dialects.table import DEPRECATED, DERIVATIVES, NATIVE_FUNCTIONS, TAGS
from opwright.emit.aten.backend import kernel_signature
from opwright.libraries.rows import LIBRARY
from opwright.model.native_function import NativeFunction
from opwright.release.inputs import Inputs
from opwright.release.rules import Rules
from opwright.release.tree import rules_of
from opwright.source.diagnostic import Diagnostics, Fault
from opwright.source.nodes import MappingNode, Node, Scalar, SequenceNode
from opwright.source.span import SourceText, Span
from opwright.source.text import SourceFile
from opwright.source.yaml import load_yaml
from opwright.tools.dump.data import JsonValue, kernel_data, operator_data, types_data
from opwright.tools.dump.document import contents, entry_pointers
from opwright.tools.dump.fields import FORMAT
from opwright.tools.dump.shims import OperatorShims, release_shim_tables, shim_refusal, shims_by_operator

#: The dialects of a release's files that a dump holds; derivatives and deprecated signatures only as they are.
_RELEASE_DIALECTS: Final = (NATIVE_FUNCTIONS, TAGS, DERIVATIVES, DEPRECATED)


class _Files:
    """Files of a dump, with their trees and the places of their entries."""

    __slots__ = ("_derivatives", "_files", "_pointers", "trees")

    def __init__(self, files: Sequence[tuple[Dialect[Any], str, SourceFile]]) -> None:
        self._files: Final = files
        self.trees: Final[dict[SourceText, Node]] = {file: load_yaml(file) for _, _, file in files}
        self._pointers: Final = {
            file: (index, entry_pointers(self.trees[file], "func")) for index, (_, _, file) in enumerate(files)
        }
        self._derivatives: Final[dict[str, JsonValue]] = {}
        for index, (dialect, _, file) in enumerate(files):
            if dialect is DERIVATIVES:
                self._derivatives.update(_derivative_places(index, file, self.trees[file]))

    def data(self) -> list[JsonValue]:
        """Contents of the files."""
        return [
            {"path": path, "dialect": dialect.name, "content": contents(self.trees[file])}
            for dialect, path, file in self._files
        ]

    def entry(self, function: NativeFunction) -> JsonValue:
        """Place of a function's entry."""
        span = function.entry
        index, pointers = next(
            (place for file, place in self._pointers.items() if file is span.file), (-1, dict[int, str]())
        )
        return {"file": index, "pointer": pointers.get(span.start, ""), "line": span.line}

    def derivative(self, function: NativeFunction) -> JsonValue:
        """Place of the entry with a function's formulas, None without one."""
        return self._derivatives.get(function.name.text)


def _derivative_places(index: int, file: SourceFile, root: Node) -> Iterable[tuple[str, JsonValue]]:
    """Places of the entries of `derivatives.yaml`, by the names of their operators."""
    for number, item in enumerate(root.items if isinstance(root, SequenceNode) else ()):
        name = item.get("name") if isinstance(item, MappingNode) else None
        if isinstance(name, Scalar):
            line = Span(file, item.start, item.start).line
            yield name.value.partition("(")[0], {"file": index, "pointer": f"/{number}", "line": line}


def dump_release(inputs: Inputs, release: str | None, sink: Diagnostics) -> dict[str, JsonValue]:
    """Dump of a release's operators, whose files another process may have read.

    Raises FaultsFound with every mistake in the files.
    """
    rules = rules_of(inputs, release, sink)
    named = []
    for dialect in _RELEASE_DIALECTS:
        for name in dialect.inputs:
            with contextlib.suppress(Fault) if dialect not in (NATIVE_FUNCTIONS, TAGS) else contextlib.nullcontext():
                named.append((dialect, name, inputs.read_text(name)))
    files = _Files(named)
    catalog = NATIVE_FUNCTIONS.load_inputs(LoadContext(sink, rules, inputs))
    sink.raise_if_errors()
    assert catalog is not None
    document = _document("release", rules, files, catalog.functions, catalog.tags)
    shims = shims_by_operator(catalog, release_shim_tables(LoadContext(sink, rules, inputs, catalog)))
    records = cast("list[dict[str, JsonValue]]", document["operators"])
    for function, record in zip(catalog.functions, records, strict=True):
        record.update(_shim_field(function, shims.get(f"{function.namespace}::{function.name}")))
    return document


def _shim_field(function: NativeFunction, shims: OperatorShims | None) -> dict[str, JsonValue]:
    """Field with the C shims of an operator; none if it could have a shim and has none."""
    versions: list[JsonValue] = []
    for version, shim in shims.versions.items() if shims is not None else ():
        since: dict[str, JsonValue] = {} if shim.guard is None else {"since": shim.guard}
        parameters = shim.head[shim.head.index("(") + 1 : -1]
        versions.append({"version": version, "parameters": parameters, **since})
    refusal = "" if versions else shim_refusal(function)
    if not versions and not refusal:
        return {}
    return {"c_shim": {"versions": versions, **({"refusal": refusal} if refusal else {})}}


def dump_libraries(
    paths: Sequence[str], inputs: Inputs, release: str | None, sink: Diagnostics, allowed_paths: tuple[str, ...]
) -> dict[str, JsonValue]:
    """Dump of operator libraries. Raises FaultsFound with every mistake in their files.

    Heads may name `allowed_paths` outside of their projects.
    """
    rules = rules_of(inputs, release, sink)
    sources = list(map(SourceFile.read, paths))
    files = _Files([(LIBRARY, file.path, file) for file in sources])
    libraries = LIBRARY.load(sources, LoadContext(sink, rules, inputs, allowed_paths=allowed_paths))
    sink.raise_if_errors()
    functions = [function for library in libraries for function in library.catalog.functions]
    tags = libraries[0].catalog.tags if libraries else {}
    return _document("library", rules, files, functions, tags)


def dump_backends(
    paths: Sequence[str], inputs: Inputs, release: str | None, sink: Diagnostics, allowed_paths: tuple[str, ...]
) -> dict[str, JsonValue]:
    """Dump of backend files: kernels, and the operators of their own. Raises FaultsFound.

    Heads may name `allowed_paths` outside of their projects.
    """
    rules = rules_of(inputs, release, sink)
    sources = list(map(SourceFile.read, paths))
    files = _Files([(BACKEND, file.path, file) for file in sources])
    catalog = NATIVE_FUNCTIONS.load_inputs(LoadContext(sink, rules, inputs))
    assert catalog is not None
    context = LoadContext(
        sink, rules, inputs, catalog, catalog.functions, only_reports=True, allowed_paths=allowed_paths
    )
    backends = BACKEND.load(sources, context)
    sink.raise_if_errors()
    functions = [
        function for backend in backends for library in backend.libraries for function in library.catalog.functions
    ]
    document = _document("backend", rules, files, functions, catalog.tags)
    document["backends"] = list(map(_backend_data, backends))
    return document


def _document(
    kind: str, rules: Rules, files: _Files, functions: Sequence[NativeFunction], tags: Mapping[str, str]
) -> dict[str, JsonValue]:
    return {
        "format": FORMAT,
        "kind": kind,
        "torch": str(rules.version),
        "files": files.data(),
        "tags": dict(tags),
        "types": types_data(functions),
        "backends": [],
        "operators": [operator_data(function, (files.entry, files.derivative)) for function in functions],
    }


def _backend_data(backend: ExternalBackend) -> JsonValue:
    kernels: list[JsonValue] = []
    for section in backend.sections:
        for entry in section.entries:
            function, kernel = entry.function, entry.kernel
            is_own = entry.options.implementation is not Implementation.inherited
            kernels.append(
                {
                    "section": section.name,
                    "operator": f"{function.namespace}::{function.name}",
                    "schema": str(function.schema),
                    "implementation": entry.options.implementation.name,
                    "kernel": kernel_data(kernel),
                    "declaration": kernel_signature(function, kernel, external=is_own).declaration(kernel.name),
                    "line": entry.span.line,
                }
            )
    return {
        "name": backend.display_name,
        "key": backend.key.name,
        "cpp_namespace": backend.cpp_namespace,
        "class": backend.class_name,
        "kernels": kernels,
    }
