"""From a backend file to its coverage report."""

from __future__ import annotations

from opwright.coverage.records import CoverageReport
from opwright.coverage.report import coverage_report
from opwright.dialects.dialect import LoadContext
from opwright.dialects.meta_kernels import MODULES, MetaKernels, load_meta_kernels
from opwright.model.external_backend import Fallback
from opwright.plugins.active import with_plugins
from opwright.release.inputs import Inputs
from opwright.release.tree import rules_of
from opwright.run.loading import load_backends, load_job
from opwright.run.request import Request
from opwright.source.codes import NO_PYTHON_MODULES
from opwright.source.diagnostic import Diagnostics, Fault
from opwright.source.text import SourceFile

__all__ = ["load_coverage", "load_release_meta_kernels"]


def load_coverage(request: Request, sink: Diagnostics, fallback: Fallback | None = None) -> CoverageReport:
    """The coverage of the only backend of a request.

    `fallback` is what runs for operators without a kernel, None for what the file says. Raises FaultsFound with every
    mistake in the file.
    """
    inputs = request.inputs
    rules = rules_of(inputs, request.release, sink)
    # The backend is loaded for a report, so it is no part of the job.
    job = load_job(request._replace(families=("autograd",), backends=()), rules, sink, {})
    context = LoadContext(sink, rules, inputs, job.catalog, job.catalog.functions, only_reports=True)
    context = with_plugins(context)
    backends = load_backends(request, context)
    sink.raise_if_errors()
    return coverage_report(backends[0], job, load_release_meta_kernels(inputs, sink), fallback)


def load_release_meta_kernels(inputs: Inputs, sink: Diagnostics) -> MetaKernels:
    """The kernels for Meta that PyTorch registers in Python; none if its modules are not at hand."""
    reason = f"{inputs.origin} has none"
    try:
        paths = [path for path in MODULES if path in inputs.member_names(path)]
        texts = inputs.read_members(paths)
    except Fault as fault:
        paths, texts, reason = [], {}, fault.diagnostic.message
    if not paths:
        message = f"the Python modules that register kernels for Meta are not at hand: {reason}"
        sink.warning(NO_PYTHON_MODULES, message, help="operators whose shapes come from them are listed as `missing`")
    return load_meta_kernels([SourceFile.decode(path, texts[path]).text for path in paths])
