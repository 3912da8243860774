"""Builds the wheel and the source archive, and compares builds with each other."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tests.pythons.environments import ROOT

__all__ = ["Distributions", "build", "differences_of_builds", "write_recipes"]


class Distributions(NamedTuple):
    """What a release uploads."""

    wheel: Path
    archive: Path

    @property
    def version(self) -> str:
        """The version in the name of the wheel."""
        return self.wheel.name.split("-")[1]


def build(source: Path, folder: Path) -> Distributions:
    """Build both into a folder that is made anew."""
    shutil.rmtree(folder, ignore_errors=True)
    command = [sys.executable, "-m", "hatchling", "build", "-d", str(folder)]
    subprocess.run(command, cwd=source, check=True, capture_output=True)
    (wheel,) = folder.glob("*.whl")
    (archive,) = folder.glob("*.tar.gz")
    return Distributions(wheel, archive)


def differences_of_builds(first: Distributions, work: Path) -> Iterator[str]:
    """What a second build makes differently, and what the wheel of the unpacked source archive has differently."""
    second = build(ROOT, work / "again")
    for ours, theirs in zip(first, second, strict=True):
        if ours.read_bytes() != theirs.read_bytes():
            yield f"two builds of {ours.name} have different bytes"
    unpacked = work / "unpacked"
    shutil.rmtree(unpacked, ignore_errors=True)
    with tarfile.open(first.archive) as archive:
        archive.extractall(unpacked, filter="data")
    (folder,) = unpacked.iterdir()
    if build(folder, work / "from-archive").wheel.read_bytes() != first.wheel.read_bytes():
        yield "the wheel that the source archive builds is another one"


def write_recipes(distributions: Distributions, folder: Path) -> None:
    """Write the recipes for other package managers, with the version and the digest of the source archive."""
    digest = hashlib.sha256(distributions.archive.read_bytes()).hexdigest()
    # Folders of `packaging` have what no release changes.
    for template in [path for path in (ROOT / "packaging").iterdir() if path.is_file()]:
        text = template.read_text(encoding="utf-8").replace("SHA256", digest).replace("VERSION", distributions.version)
        (folder / template.name).write_text(text, encoding="utf-8")
