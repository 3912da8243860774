"""Coverage reports of small backend files, for tests."""

from __future__ import annotations

from functools import cache

from opwright.backends.dispatch.meta_kernels import MODULES, MetaKernels, load_meta_kernels
from opwright.backends.operator_names import NEEDED
from opwright.backends.operator_records import CoverageReport, OperatorRecord
from opwright.backends.rows import BACKEND
from opwright.backends.wrapper_options import Fallback
from opwright.dialects.dialect import LoadContext
from opwright.emit.emitter import Job
from opwright.release.inputs import Inputs, open_inputs
from opwright.release.rules import Rules
from opwright.release.version import version_of
from opwright.run.loading import load_job
from opwright.run.request import Request
from opwright.source.diagnostic import Diagnostics
from opwright.source.text import SourceFile
from opwright.tools.coverage.report import coverage_report

#: The operators that every device needs.
EVERY_NEEDED = " ".join(sorted(NEEDED.in_any_release))


@cache
def installed() -> Inputs:
    """The inputs of the installed release."""
    return open_inputs("auto")


@cache
def installed_job() -> Job:
    """The operators of the installed release with their derivatives."""
    sink = Diagnostics()
    request = Request(installed(), {}, families=("autograd",))
    return load_job(request, Rules(version_of(installed())), sink, {})


@cache
def report_of(supported: str, head: str = "", *, key: str = "PrivateUse1", fallback: str = "none") -> CoverageReport:
    """The report of a backend with these entries, separated by spaces, and these further lines of the file."""
    entries = "".join([f"- {name}\n" for name in supported.split()])
    text = f"backend: {key}\ncpp_namespace: acme\n{head}supported:\n{entries}"
    job, sink = installed_job(), Diagnostics()
    context = LoadContext(
        sink, job.rules, installed(), catalog=job.catalog, functions=job.catalog.functions, only_reports=True
    )
    backend = BACKEND.load([SourceFile("acme.yaml", text)], context)[0]
    assert not sink.has_errors, [str(diagnostic) for diagnostic in sink]
    return coverage_report(backend, job, installed_meta_kernels(), Fallback[fallback])


@cache
def installed_meta_kernels() -> MetaKernels:
    """The kernels for Meta that the installed release registers in Python."""
    return load_meta_kernels([data.decode() for data in installed().read_members(MODULES).values()])


def record_of(report: CoverageReport, name: str) -> OperatorRecord:
    """The record of one operator."""
    return next(record for record in report.records if record.name == name)
