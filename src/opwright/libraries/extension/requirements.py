"""Releases of PyTorch that a built package is for, and what its metadata requires."""

from __future__ import annotations

import re
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import Final

from opwright.libraries import library_codes
from opwright.libraries.dialect.head import Head, read_head
from opwright.libraries.dialect.namespaces import oldest_release
from opwright.libraries.stable_convention import target_version
from opwright.release.version import RELEASES
from opwright.source.diagnostic import Diagnostics, Fault
from opwright.source.text import SourceFile
from opwright.source.yaml import load_yaml

_REQUIREMENT: Final = re.compile(r"^Requires-Dist: (.*)$", re.MULTILINE)


def is_torch_installed() -> bool:
    """Whether the environment has PyTorch, which is not imported."""
    try:
        return bool(version("torch"))
    except PackageNotFoundError:
        return False


def torch_series() -> str:
    """Series of the PyTorch that is installed, such as `2.13`, or the newest one that Opwright knows."""
    newest = version("torch") if is_torch_installed() else str(RELEASES[-1].version)
    return ".".join(newest.split(".")[:2])


def _stable_heads(libraries: Sequence[SourceFile]) -> list[Head]:
    """Heads of library files if all have the stable interface, else none."""
    heads = [read_head(load_yaml(file), Diagnostics())[0] for file in libraries]
    return heads if all(head.abi in ("stable", "dlpack") for head in heads) else []


def stable_target(libraries: Sequence[SourceFile]) -> str | None:
    """Value of `TORCH_TARGET_VERSION` for all sources of a build; None if libraries are native, or differ in it.

    Raises Fault for a file without a head that can be read.
    """
    oldest = {oldest_release([head]) for head in _stable_heads(libraries)}
    return target_version(oldest.pop()) if len(oldest) == 1 else None


def served_releases(libraries: Sequence[SourceFile]) -> str:
    """Releases of PyTorch that a build of library files is for, such as `==2.13.*`, or `>=2.10` if it is stable.

    Raises Fault for a file without a head that can be read.
    """
    heads = _stable_heads(libraries)
    return ">={}.{}".format(*oldest_release(heads)) if heads else f"=={torch_series()}.*"


def with_torch_releases(metadata: str, releases: str) -> str:
    """Metadata of a package, in which a requirement of PyTorch is one of these releases too.

    Requirements of extras stay as they are. Raises Fault if the requirement leaves out the installed release (E1209).

    >>> print(with_torch_releases("Name: acme\\nRequires-Dist: torch>=2.10\\n\\nRequires-Dist: torch", "==2.13.*"))
    Name: acme
    Requires-Dist: torch==2.13.*,>=2.10
    <BLANKLINE>
    Requires-Dist: torch
    """
    # setuptools brings this package.
    from packaging.requirements import Requirement

    def narrowed(match: re.Match[str]) -> str:
        requirement = Requirement(match[1])
        if requirement.name.lower() != "torch" or requirement.url or "extra ==" in str(requirement.marker):
            return match[0]
        if not requirement.specifier.contains(version("torch"), prereleases=True):
            message = f"the project requires `{requirement}`, and it is built with PyTorch {version('torch')}"
            help = "require the same releases in `build-system.requires` of pyproject.toml and as a dependency"
            raise Fault.at(library_codes.BUILD_OTHER_TORCH, message, help=help)
        requirement.specifier &= Requirement(f"torch{releases}").specifier
        return f"Requires-Dist: {requirement}"

    head, blank, rest = metadata.partition("\n\n")
    return _REQUIREMENT.sub(narrowed, head) + blank + rest
