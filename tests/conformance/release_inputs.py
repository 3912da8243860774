"""Other releases than the installed one: what their wheels hold, kept between runs of the suite."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from opwright.release import version
from opwright.release.inputs import Inputs, from_version
from opwright.release.rules import Rules
from opwright.release.version import parse_version
from opwright.source.codes import INDEX_SILENT, UNKNOWN_VERSION
from opwright.source.diagnostic import Fault
from tests.conformance.inputs import CACHE, Files, NotAvailable, files_digest, selection_files, write_folder

# A patch release of each series that has rules of its own.
RELEASES = tuple(str(release.version) for release in version.RELEASES)


def rules(release: str) -> Rules:
    """The rules of a release, which tell the flags that its generator has."""
    return Rules(parse_version(release))


@cache
def wheel(release: str) -> Inputs:
    """The wheel of a release, whatever the platform: the reference in it is the same.

    Raises NotAvailable if the package index cannot be reached or does not have it.
    """
    try:
        return from_version(release)
    except Fault as fault:
        if fault.diagnostic.code in (INDEX_SILENT, UNKNOWN_VERSION):
            raise NotAvailable(fault.diagnostic.message) from fault
        raise


@cache
def release_folder(release: str) -> Path:
    """The folder with everything that the reference of a release needs, laid out as if it were installed."""
    parent = CACHE / "inputs"
    known = sorted(parent.glob(f"torch-{release}-*"))
    if known:
        return known[0]
    members = wheel(release)
    wanted = ["torch/version.py", *members.member_names("torchgen/")]
    wanted += [path for path in members.member_names("torch/_native/ops/") if path.endswith("/aot.py")]
    files: Files = members.read_members(path for path in wanted if not path.endswith("/BUILD.bazel"))
    files.update(selection_files())
    folder = parent / f"torch-{release}-{files_digest(files)[:12]}"
    write_folder(folder, files)
    return folder
