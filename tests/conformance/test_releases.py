"""The comparison of releases itself is right: what it runs, what it takes off shipped headers, what it prints."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from opwright.release.version import NEWEST, OLDEST, parse_version
from tests.conformance import shipped
from tests.conformance.compare import Comparison, Tally
from tests.conformance.jobs import Job
from tests.conformance.release_inputs import RELEASES, rules
from tests.conformance.release_jobs import ATEN_JOBS, WITHOUT_AOT, all_release_jobs, release_jobs
from tests.conformance.releases import PAGE, every_job, full_jobs, print_releases, write_table
from tests.conformance.runner import Result


def test_every_release_with_rules_is_compared() -> None:
    """From the oldest series to the newest, none left out; and all jobs have names of their own."""
    minors = [parse_version(release).minor for release in RELEASES]
    assert minors == list(range(OLDEST.minor, NEWEST.minor + 1))
    names = [job.name for job in full_jobs()]
    assert len(names) == len(set(names)) > len(every_job())


def flags(job: Job) -> set[str]:
    """The flags that the reference gets in a job."""
    return {word for step in job.reference for word in step if word.startswith("--")}


def test_jobs_have_the_flags_of_their_release() -> None:
    """Flags that a release's generator does not know are not used, new ones are."""
    by_release = {
        release: release_jobs(release) for release in ("2.4.1", "2.7.1", "2.8.0", "2.9.1", "2.12.1", "2.15.0")
    }
    header_only = {
        release: any("--headeronly-install-dir" in flags(job) for job in jobs) for release, jobs in by_release.items()
    }
    assert [release for release, has_flag in header_only.items() if has_flag] == ["2.12.1", "2.15.0"]
    assert [job.name for jobs in by_release.values() for job in jobs if WITHOUT_AOT in job.name] == [
        f"2.15.0-{WITHOUT_AOT}"
    ]
    assert [len(by_release[release]) for release in ("2.9.1", "2.8.0")] == [len(ATEN_JOBS) + 8, len(ATEN_JOBS) + 7]
    assert [[job.name for job in by_release[release]] for release in ("2.7.1", "2.4.1")] == [
        ["2.7.1-backend"],
        ["2.4.1-backend"],
    ]
    made = {f"lazy@{release}" for release in RELEASES if rules(release).pytorch_files}
    made |= {f"stubs@{release}" for release in RELEASES if rules(release).torch_stub_files}
    assert {job.inputs for job in all_release_jobs()} == {*RELEASES, *made}


@pytest.mark.parametrize("text", ["#pragma once\nint f();\n", "int f();", "#if 1\n#else\n#endif\n", ""])
def test_packagings_guard_is_taken_off(text: str) -> None:
    """What packaging puts round a header goes, whatever the header has itself; other headers stay as they are."""
    guard = "#if !defined(TORCH_STABLE_ONLY) && !defined(TORCH_TARGET_VERSION)"
    guarded = f'{guard}\n{text}\n#else\n#error "no"\n#endif  // {guard[4:]}\n'
    assert shipped.unguarded(guarded.encode()) == text.encode()
    assert shipped.unguarded(text.encode()) == text.encode()


def test_headers_are_found_where_we_write_them() -> None:
    """Members of the wheel are mapped to the folders of a build, and tell the backends of the wheel."""
    assert shipped.place_of("torch/include/ATen/ops/add.h") == "aten/src/ATen/ops/add.h"
    assert shipped.place_of("torch/include/torch/headeronly/core/enum_tag.h") == "torch/headeronly/core/enum_tag.h"
    headers: Mapping[str, bytes] = {"aten/src/ATen/MPSFunctions.h": b"", "aten/src/ATen/XPUFunctions.h": b""}
    assert shipped.backend_flags(dict(headers)) == ("--mps", "--xpu")
    assert shipped.backend_flags({}) == ()


def result(name: str, tally: Tally, failure: str = "") -> Result:
    """The result of a job with one family of files."""
    return Result(Job(name, (), ()), Comparison({"headers": tally}), 1.0, 1.0, failure)


def test_the_table_is_put_on_the_page(tmp_path: Path) -> None:
    """The older table goes, and all else on the page stays."""
    page = tmp_path / "page.md"
    page.write_text("above\n<!-- begin releases -->\nold\n<!-- end releases -->\nbelow\n", encoding="utf-8")
    write_table("new", page)
    marked = "<!-- begin releases -->\n\nnew\n\n<!-- end releases -->"
    assert page.read_text(encoding="utf-8") == f"above\n{marked}\nbelow\n"
    assert PAGE.read_text(encoding="utf-8").count("begin releases") == 1


def test_the_table_has_a_column_for_each_release() -> None:
    """Numbers of identical files, or of those that are not; jobs that a release lacks are dashes."""
    outcomes = [
        result("2.9.1-default", Tally(identical=7)),
        result("2.15.0-default", Tally(identical=5, different=1, missing=1)),
        result("2.15.0-no-native-aot", Tally(), "exit status 1"),
    ]
    lines = [[cell.strip() for cell in line.strip("|").split("|")] for line in print_releases(outcomes).splitlines()]
    assert lines[0] == ["job", "2.9.1", "2.15.0"]
    assert lines[2:] == [
        ["default", "7", "2 differ"],
        ["no-native-aot", "-", "failed"],
        ["files compared", "7", "7"],
        ["files that differ", "0", "3"],
    ]
