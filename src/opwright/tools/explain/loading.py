"""Loads what explanations need: few operators if few are asked for."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import islice
from typing import TYPE_CHECKING

from opwright.backends.dispatch.hand_registrations import HandRegistrations
from opwright.backends.dispatch.resolution import ENTRY_NAME
from opwright.dialects.native_functions.scope import LoadScope
from opwright.dialects.table import DEPRECATED, DERIVATIVES, NATIVE_AOT, NATIVE_FUNCTIONS
from opwright.emit.emitter import Job
from opwright.emit.registry import DEFAULT_FAMILIES, chosen_families
from opwright.libraries.operator_library import RunLibraries
from opwright.model.catalog import Catalog
from opwright.model.derivatives import node_prefix
from opwright.model.dispatch_key import device_flags, dispatch_keys
from opwright.release.inputs import Inputs
from opwright.release.rules import Rules
from opwright.release.store import FORMULA_HELPERS
from opwright.release.tree import rules_of
from opwright.run.loading import load_job
from opwright.run.request import Request
from opwright.schema.names import FOREACH_PREFIX
from opwright.schema.signature import base_of_operation
from opwright.source.diagnostic import Diagnostics, Fault, FaultsFound
from opwright.source.items import split_items
from opwright.source.records import NamedTuple
from opwright.source.text import SourceFile
from opwright.workspace.overlay import narrow_text, with_texts

if TYPE_CHECKING:
    from opwright.source.items import ItemText


_node_prefix = cache(node_prefix)


class ExplainRequest(NamedTuple):
    """What is to be explained: names of operators, the inputs, and the files of libraries and backends.

    Heads may name `allowed_paths` although they are outside of their projects.
    """

    names: tuple[str, ...]
    inputs: Inputs
    release: str | None = None
    libraries: tuple[SourceFile, ...] = ()
    operator_files: tuple[SourceFile, ...] = ()
    backends: tuple[SourceFile, ...] = ()
    allowed_paths: tuple[str, ...] = ()


class Explained(NamedTuple):
    """A loaded job, with the names of the families that it has files of.

    `by_hand` are the registrations in PyTorch's sources, None where these are not on this machine.
    """

    job: Job
    families: tuple[str, ...]
    by_hand: HandRegistrations | None = None

    @property
    def catalogs(self) -> list[Catalog]:
        """Catalog, and those of the operators that backends have of their own."""
        return [self.job.catalog, *[library.catalog for library in self.job.of(RunLibraries).libraries]]


def load_jobs(request: ExplainRequest, sink: Diagnostics) -> Iterator[Explained]:
    """Jobs that may have the operators, those of libraries first. Raises FaultsFound with every mistake.

    PyTorch's operators are loaded only when they are asked for, and of these only what belongs to the names.
    """
    rules = rules_of(request.inputs, request.release, sink)
    if request.libraries:
        families: tuple[str, ...] = ("library",)
        libraries, allowed = request.libraries, request.allowed_paths
        run_request = Request(request.inputs, {}, families, libraries=libraries, allowed_paths=allowed)
        job = load_job(run_request, rules, sink, {})
        sink.raise_if_errors()
        yield Explained(job, families)
    if not request.backends and not request.operator_files and _names_nothing(request):
        return
    job = load_part(request, rules) or load_pytorch(request, request.inputs, rules, sink)
    by_hand = None if request.inputs.paths() is None else HandRegistrations(request.inputs)
    yield Explained(job, _families(request), by_hand)


def _families(request: ExplainRequest) -> tuple[str, ...]:
    """Families of PyTorch's files, and those for backends."""
    return (*DEFAULT_FAMILIES, *(chosen_families(["backend"]) if request.backends else ()))


def _names_nothing(request: ExplainRequest) -> bool:
    """Whether no operator of PyTorch can have one of the names, so that nothing need be loaded."""
    items = split_items(request.inputs.read_text(NATIVE_FUNCTIONS.inputs[0]).text)
    return bool(items) and not LoadScope(request.names).choose(items)


def load_pytorch(request: ExplainRequest, inputs: Inputs, rules: Rules, sink: Diagnostics) -> Job:
    """Job with PyTorch's operators, from inputs that may have a part of them. Raises FaultsFound."""
    job = load_job(
        Request(
            inputs,
            {},
            _families(request),
            devices=frozenset(device_flags()),
            backends=request.backends,
            operator_files=request.operator_files,
            allowed_paths=request.allowed_paths,
        ),
        rules,
        sink,
        {},
    )
    sink.raise_if_errors()
    return job


def load_part(request: ExplainRequest, rules: Rules) -> Job | None:
    """Job with the operations of the names alone; None if they have faults, or cannot be told apart."""
    inputs = narrowed_inputs(request)
    if inputs is None:
        return None
    try:
        # Some warnings are about the operators that are left out.
        job = load_pytorch(request, inputs, rules, Diagnostics())
        _ = job.derivatives, job.deprecated
    except (Fault, FaultsFound):
        return None
    return job


def narrowed_inputs(request: ExplainRequest) -> Inputs | None:
    """Inputs with the entries of the names, and of what has to be counted with them; None if all are needed."""
    texts = [*request.names, *[file.text for file in (*request.backends, *request.operator_files)]]
    texts += [text.removeprefix(FOREACH_PREFIX) for text in request.names]
    native = request.inputs.read_text(NATIVE_FUNCTIONS.inputs[0])
    items = split_items(native.text)
    texts += _same_nodes(request.inputs, texts)
    if not LoadScope(texts).choose(items):
        return None
    chosen = {text for _, text in LoadScope([*texts, *_makers_of_kernels(items)]).choose(items)}
    bases = {base_of_operation(match[1]) for text in chosen if (match := ENTRY_NAME.match(text))}
    bases |= {base.removeprefix("foreach_") for base in bases}

    def belongs(text: str) -> bool:
        match = ENTRY_NAME.match(text)
        return match is None or base_of_operation(match[1]) in bases

    narrowed = {NATIVE_FUNCTIONS.inputs[0]: narrow_text(native, chosen.__contains__)}
    for name in (*DERIVATIVES.inputs, *DEPRECATED.inputs):
        file = request.inputs.read_optional(name)
        if file is not None:
            narrowed[name] = narrow_text(file, belongs)
    # What is loaded here is not checked, and kernels compiled ahead of time may be of other operators.
    compiled = [name for name in request.inputs.names() if NATIVE_AOT.recognizes_name(name)]
    return with_texts(request.inputs, narrowed, hidden=frozenset((*compiled, FORMULA_HELPERS)))


def _makers_of_kernels(items: Iterable[ItemText]) -> Iterator[str]:
    """Name of an operator with a kernel for each key whose other kernels are made without an entry.

    They are made only if any entry names the key.
    """
    for key in dispatch_keys():
        if key.generated_suffix:
            kernel = re.compile(rf"\n    (?:.*, *)?{key.name}(?:,.*)?: ")
            names = (match[1] for _, text in items if kernel.search(text) and (match := ENTRY_NAME.match(text)))
            yield from islice(names, 1)


def _same_nodes(inputs: Inputs, texts: Iterable[str]) -> Sequence[str]:
    """Operators whose autograd nodes are numbered with those of the operators that texts name."""
    file = inputs.read_optional(DERIVATIVES.inputs[0])
    if file is None:
        return []
    prefixes = {_node_prefix(word) for text in texts for word in re.findall(r"\w+", text)}
    names = {match[1] for _, text in split_items(file.text) if (match := ENTRY_NAME.match(text))}
    return [name for name in names if _node_prefix(name) in prefixes]
