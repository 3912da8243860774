"""Operators whose headers would have one name are reported at their entries."""

from __future__ import annotations

import pytest

from opwright.emit.checks import check_header_names
from opwright.emit.emitter import Options
from opwright.source.diagnostic import Diagnostics
from tests.dialects.loading import found_faults
from tests.emit.emitting import job_of

FOO = "- func: foo(Tensor self) -> Tensor\n  dispatch:\n    CPU: foo\n"


def found(entries: str, *, per_operator_headers: bool = True) -> list[tuple[int, str]]:
    """The line and the code of each fault."""
    sink = Diagnostics()
    check_header_names(job_of(entries, Options(per_operator_headers=per_operator_headers)), sink)
    return [(line, code) for line, _, _, code in found_faults(sink)]


@pytest.mark.parametrize("name", ["foo_ops", "foo_native", "foo_cpu_dispatch"])
def test_two_operators_want_one_header(name: str) -> None:
    """The fault stands at the second entry; without headers per operator there is none."""
    entries = f"{FOO}- func: {name}(Tensor self) -> Tensor\n"
    assert found(entries) in ([(4, "E0468")], [(1, "E0468")])
    assert found(entries, per_operator_headers=False) == []


@pytest.mark.parametrize("name", ["foo_meta", "foo_cuda_dispatch", "fooops", "bar_ops"])
def test_a_name_that_only_reads_like_a_header(name: str) -> None:
    """An operator that is not structured has no `foo_meta.h`, one without CUDA kernel no `foo_cuda_dispatch.h`."""
    assert found(f"{FOO}- func: {name}(Tensor self) -> Tensor\n") == []
