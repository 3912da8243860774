"""Coverage reports of small backend files, for tests."""

from __future__ import annotations

from functools import cache

from opwright.coverage.records import CoverageReport, OperatorRecord
from opwright.model.external_backend import Fallback
from opwright.release.inputs import Inputs, open_inputs
from opwright.run.coverage import load_coverage
from opwright.source.diagnostic import Diagnostics
from opwright.source.text import SourceFile

#: Operators that every device needs, as a file lists them.
NEEDED = """\
- empty.memory_format
- empty_strided
- as_strided
- view
- _reshape_alias
- unfold
- view_as_real
- view_as_complex
- resize_
- set_
- set_.source_Tensor
- set_.source_Storage
- set_.source_Storage_storage_offset
- _copy_from
- _copy_from_and_resize
- _local_scalar_dense
"""


@cache
def installed() -> Inputs:
    """The inputs of the installed release."""
    return open_inputs("auto")


@cache
def report_of(supported: str, head: str = "", *, key: str = "PrivateUse1", fallback: str = "none") -> CoverageReport:
    """The report of a backend with these entries, separated by spaces, and these further lines of the file."""
    entries = "".join([f"- {name}\n" for name in supported.split()])
    text = f"backend: {key}\ncpp_namespace: acme\n{head}supported:\n{entries}"
    sink = Diagnostics()
    report = load_coverage(installed(), SourceFile("acme.yaml", text), sink, fallback=Fallback[fallback])
    assert not len(sink), [str(diagnostic) for diagnostic in sink]
    return report


def record_of(report: CoverageReport, name: str) -> OperatorRecord:
    """The record of one operator."""
    return next(record for record in report.records if record.name == name)
