"""The source trees of libraries with their tests: those of Debian, or the user's."""

from __future__ import annotations

import shutil
import subprocess
import tarfile
from pathlib import Path
from typing import Final

from tests.field_replay.__main__ import sources_of
from tests.upstream.libraries import Library

#: The release of Debian that has the versions of the libraries.
SUITE: Final = "trixie"
_KEYRING: Final = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
_NO_TREE: Final = "name a source tree with TREE=path"


def source_tree(library: Library, cache: Path, given: Path | None) -> Path:
    """A folder with the sources of a library: the given one, or what Debian has, downloaded once."""
    folder = given or unpacked_archive(library.debian, library.version, cache)
    for path, distribution in library.submodules.items():
        # Archives of repositories leave their submodules out; distributions have them.
        if not any((folder / path).glob("*")):
            shutil.copytree(sources_of(distribution, cache) / path, folder / path, dirs_exist_ok=True)
    return folder


def unpacked_archive(package: str, version: str, cache: Path) -> Path:
    """The sources of a package of Debian, downloaded once."""
    folder = cache / f"{package}-{version}"
    if not folder.is_dir():
        _unpack(_archive(package, version, cache / "debian"), folder)
    return folder


def _archive(package: str, version: str, folder: Path) -> Path:
    """The archive that Debian calls the original one, from the mirror of this machine."""
    if shutil.which("apt-get") is None:
        raise SystemExit(f"this machine has no apt-get: {_NO_TREE}")
    (folder / "lists" / "partial").mkdir(parents=True, exist_ok=True)
    shown = ["apt-get", "indextargets", "--format", "$(ORIGIN) $(COMPONENT) $(REPO_URI)", "Created-By: Packages"]
    targets = [line.split() for line in subprocess.check_output(shown, text=True).splitlines()]
    mirrors = [words[2] for words in targets if words[:2] == ["Debian", "main"]]
    if not mirrors:
        raise SystemExit(f"apt-get knows no mirror of Debian; run `apt-get update`, or {_NO_TREE}")
    fields = {"Types": "deb-src", "URIs": mirrors[0], "Suites": SUITE, "Components": "main", "Signed-By": _KEYRING}
    source = folder / "source.sources"
    source.write_text("".join(f"{name}: {value}\n" for name, value in fields.items()))
    options = {"Dir::Etc::SourceList": source, "Dir::Etc::SourceParts": "-", "Dir::State::Lists": folder / "lists"}
    options |= {"Dir::Cache": folder, "APT::Sandbox::User": "root"}
    command = ["apt-get", "--quiet", *[f"--option={name}={value}" for name, value in options.items()]]
    subprocess.run([*command, "update"], check=True)
    # The packages of Debian's own changes are not needed, and a mirror may have newer ones.
    subprocess.run([*command, "source", "--tar-only", package], cwd=folder, check=True)
    archives = [*folder.glob(f"{package}_{version}*.orig.tar.*")]
    if len(archives) != 1:
        raise SystemExit(f"{SUITE} has no {package} {version}: {_NO_TREE}")
    return archives[0]


def _unpack(archive: Path, folder: Path) -> None:
    """Unpack the one folder that an archive has."""
    work = folder.with_suffix(".work")
    shutil.rmtree(work, ignore_errors=True)
    with tarfile.open(archive) as members:
        members.extractall(work, filter="data")
    (inner,) = work.iterdir()
    inner.rename(folder)
    work.rmdir()
