"""Operator libraries in tests: from the text of entries and derivatives to the job of a library's emitters."""

from __future__ import annotations

from collections.abc import Iterator

from opwright.convention import public_api
from opwright.dialects.derivatives.loader import load_derivatives
from opwright.dialects.derivatives.matching import match_derivatives
from opwright.dialects.native_functions.entry_builder import EntryContext
from opwright.dialects.native_functions.loader import link_entries, load_entries
from opwright.dialects.native_functions.report import CrossReport
from opwright.emit.emitter import AnyEmitter, EmitterSource, Job, Options
from opwright.model.catalog import Catalog
from opwright.model.dispatch_key import dispatch_keys
from opwright.model.library import Library
from opwright.source.diagnostic import Diagnostics
from opwright.source.nodes import SequenceNode
from opwright.source.text import SourceFile
from opwright.source.yaml import load_yaml
from tests.dialects.loading import NAMES
from tests.emit.emitting import REGISTRATIONS, RULES
from tests.emit.entries import COUNT, PARTS, TURN

ACME = Library("acme", "acme", "acme/ops", "ACME_API")

ENTRIES = f"""
- func: scale(Tensor self, Scalar by) -> Tensor
  variants: function
  dispatch:
    CPU, Meta: scale
- func: scale_(Tensor(a!) self, Scalar by) -> Tensor(a!)
  dispatch:
    CPU, Meta: scale_
  autogen: scale.out
- func: blend(Tensor self, Tensor other) -> Tensor
  structured_delegate: blend.out
- func: blend_(Tensor(a!) self, Tensor other) -> Tensor(a!)
  structured_delegate: blend.out
- func: blend.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)
  structured: True
  dispatch:
    CPU: blend_out
    CUDA: gpu::blend_out_cuda
{TURN}
{PARTS}
{COUNT}
- func: join(Tensor[] parts, Tensor? weight, SymInt size) -> (Tensor, Tensor)
  dispatch:
    CPU: deep::inside::join
- func: sow(SymInt[] size, *, Generator? generator=None, ScalarType? dtype=None, Layout? layout=None,
    Device? device=None, bool? pin_memory=None) -> Tensor
  tags: nondeterministic_seeded
  dispatch:
    CPU: sow
- func: whole(Tensor self, int n=1) -> Tensor
"""
"""Every kind of operator: with all forms, structured, views, mutable, over lists, with symbolic sizes, a factory."""

DERIVATIVES = """
- name: scale(Tensor self, Scalar by) -> Tensor
  self: scale(grad, by)
  result: auto_linear
- name: blend(Tensor self, Tensor other) -> Tensor
  self: acme::blend(grad, other)
  other: acme::blend(grad, self)
- name: turn(Tensor(a) self, SymInt[] by, SymInt? n=None) -> Tensor(a)
  self: grad.reshape_symint(self.sym_sizes())
- name: join(Tensor[] parts, Tensor? weight, SymInt size) -> (Tensor, Tensor)
  parts: join_backward(grads, parts, weight)
  weight: grads[1] * result0
"""


def library_catalog(entries: str, library: Library = ACME) -> Catalog:
    """The catalog of a library's entries, which have no faults."""
    sink = Diagnostics()
    report = CrossReport(sink)
    context = EntryContext(frozenset((*NAMES, "out", "inplace")), frozenset(), sink, library=library)
    items = load_yaml(SourceFile("operators.yaml", entries))
    assert isinstance(items, SequenceNode)
    linked = link_entries(load_entries(items, context, report), report, tag_by_kind=True)
    sink.raise_if_errors()
    return Catalog(*linked, dispatch_keys(), {})


def library_job(
    entries: str = ENTRIES, derivatives: str = "[]", library: Library = ACME, options: Options | None = None
) -> Job:
    """The job of a library's entries and derivatives."""
    catalog = library_catalog(entries, library)
    sink = Diagnostics()
    loaded = load_derivatives(SourceFile("derivatives.yaml", derivatives), catalog, sink)
    functions = sorted(catalog.functions, key=lambda function: public_api.name(function.schema))
    matched = match_derivatives(loaded, functions, sink)
    sink.raise_if_errors()
    return Job(catalog, RULES, options or Options(), derivatives=matched, registration_text=REGISTRATIONS)


def fragments_of(source: EmitterSource, job: Job) -> Iterator[tuple[str, str]]:
    """The name of each emitter of a module with each text of a fragment of its."""
    for emitter in source(job):
        for text in _texts(emitter, job):
            yield emitter.name, text


def _texts(emitter: AnyEmitter, job: Job) -> Iterator[str]:
    context = job.context(emitter.reads)
    for unit in emitter.units(job):
        for value in emitter.fragment(unit, context).values():
            yield from (value,) if isinstance(value, str) else value
