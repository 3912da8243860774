"""The comparison as part of the checks: the usual jobs always, all others when slow checks are wanted."""

from __future__ import annotations

import pytest

from tests.conformance.jobs import Job, flag_jobs, mutated_jobs, usual_jobs
from tests.conformance.release_inputs import RELEASES
from tests.conformance.release_jobs import all_release_jobs
from tests.conformance.report import print_result
from tests.conformance.runner import run_job
from tests.conformance.selection_jobs import selection_jobs
from tests.conformance.shipped import run_shipped, shipped_job, shipped_lazy_job

#: The usual jobs that between them write every file; the others write some of these files again, under other flags.
BROAD = ("full", "headers-aggregated", "autograd", "python", "lazy-program", "torch-stubs")
USUAL = [
    pytest.param(job, id=job.name, marks=() if job.name in BROAD else pytest.mark.thorough) for job in usual_jobs()
]


@pytest.mark.parametrize("job", USUAL)
def test_usual_job_is_identical(job: Job) -> None:
    """Opwright writes the reference's bytes for the jobs that a build of PyTorch consists of."""
    result = run_job(job)
    assert result.is_clean, print_result(result)


@pytest.mark.parametrize("job", selection_jobs(), ids=lambda job: job.name)
def test_merged_selections_are_identical(job: Job) -> None:
    """Opwright merges selections to the bytes that PyTorch's library writes."""
    result = run_job(job)
    assert result.is_clean, print_result(result)


@pytest.mark.slow
@pytest.mark.parametrize("job", [*flag_jobs(), *mutated_jobs()], ids=lambda job: job.name)
def test_other_job_is_identical(job: Job) -> None:
    """Opwright writes the reference's bytes under every flag and for inputs that PyTorch never had."""
    result = run_job(job)
    assert result.is_clean, print_result(result)


@pytest.mark.slow
@pytest.mark.network
@pytest.mark.parametrize("job", all_release_jobs(), ids=lambda job: job.name)
def test_job_of_a_release_is_identical(job: Job) -> None:
    """Opwright writes each release's bytes, as the generator in that release's wheel does."""
    result = run_job(job)
    assert result.is_clean, print_result(result)


@pytest.mark.slow
@pytest.mark.network
@pytest.mark.parametrize("release", RELEASES)
def test_shipped_headers_are_identical(release: str) -> None:
    """Opwright writes the headers that a release's wheel ships."""
    result = run_shipped(shipped_job(release))
    assert result.is_clean, print_result(result)


@pytest.mark.slow
@pytest.mark.network
@pytest.mark.parametrize("release", RELEASES)
def test_shipped_headers_of_lazy_tensors_are_identical(release: str) -> None:
    """Opwright writes the headers of lazy tensors that a release's wheel ships."""
    result = run_shipped(shipped_lazy_job(release))
    assert result.is_clean, print_result(result)
