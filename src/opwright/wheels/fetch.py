"""Inputs of a version, and headers of its stable C++ API, from the cache or from its wheel at a package index."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from typing import Final

from opwright.release.store import InputPaths
from opwright.release.user_cache import cache_folder
from opwright.release.view import Consent, Inputs
from opwright.source.codes import BAD_SPEC, CACHE_UNUSABLE, INPUT_MISSING
from opwright.source.diagnostic import Diagnostics, Fault, shorten
from opwright.source.terminal import slow
from opwright.source.text import SourceFile
from opwright.wheels.cache import load_cached, release_folder, write_cached
from opwright.wheels.wheel import Wheel
from opwright.wheels.wheel_store import PACKAGED, WheelStore, check_has_inputs, member_of

_PYTORCH: Final = "torch"


def fetch_inputs(version: str, consent: Consent, sink: Diagnostics | None = None) -> Inputs:
    """The inputs of a version, from the cache or a package index; see `from_version`."""
    name = _normal_version(version)
    cached = load_cached(name)
    if cached is not None and (cached.wheel_sha256 is not None or not consent.require_hashes):
        origin = f"{cached.wheel} (cached)"
        return Inputs(
            CachedStore(cached.folder, cached.contents, lambda: open_wheel(_PYTORCH, name, consent)), origin, name
        )
    return _fetch(name, consent, sink)


def _normal_version(version: str) -> str:
    from packaging.version import Version

    try:
        return str(Version(version))
    except ValueError:
        raise Fault.at(BAD_SPEC, f"`{shorten(version)}` is not a version", help="write it like `2.13.0`") from None


def _fetch(version: str, consent: Consent, sink: Diagnostics | None) -> Inputs:
    from opwright.wheels.remote import choose_wheel

    with slow(f"opwright: reading the inputs of PyTorch {version} from the package index"):
        choice = choose_wheel(_PYTORCH, version, consent, sink)
        wheel, link = choice.wheel, choice.link
        check_has_inputs(wheel.names(f"{PACKAGED}ATen/native/"), link.file_name)
        if choice.host is None:
            return Inputs(WheelStore(wheel), f"the wheel {link.file_name}", wheel.version)
        contents = WheelStore(wheel).contents
    # Of parts, the index's SHA-256 of the whole says nothing.
    origin = f"{'' if choice.is_checked else 'parts of '}{link.file_name} at {choice.host}"
    folder = release_folder(version)
    digest = link.sha256 if choice.is_checked else None
    try:
        write_cached(version, link.file_name, choice.url, digest, contents)
    except OSError as error:
        if sink is not None:
            sink.warning(CACHE_UNUSABLE, f"cannot write the cache in `{folder}`: {error.strerror or error}")
        return Inputs(WheelStore(wheel), origin, version)
    return Inputs(CachedStore(folder, contents, lambda: wheel), origin, version)


def open_wheel(project: str, version: str, consent: Consent | None = None) -> Wheel:
    """The wheel of a version of a project, found where pip would look, and read in parts if it is on a server."""
    from opwright.wheels.remote import choose_wheel

    return choose_wheel(project, version, consent or Consent()).wheel


class CachedStore:
    """Cached inputs, verified when they were loaded. Other members are read from the wheel."""

    def __init__(self, folder: str, contents: Mapping[str, bytes], open_wheel: Callable[[], Wheel]) -> None:
        self._folder = folder
        self._contents = contents
        self._open_wheel = open_wheel

    @cached_property
    def wheel(self) -> Wheel:
        """The wheel that the inputs came from, opened on first use."""
        return self._open_wheel()

    def display_path(self, name: str) -> str:
        """The file's path in the cache."""
        return os.path.join(self._folder, *name.split("/"))

    def read_text(self, name: str) -> SourceFile:
        """The decoded input with this name."""
        return SourceFile.decode(self.display_path(name), self.read_bytes(name))

    def read_bytes(self, name: str) -> bytes:
        """The bytes of the input."""
        content = self._contents.get(name)
        if content is None:
            raise Fault.at(INPUT_MISSING, f"the release has no `{name}`")
        return content

    def names(self) -> tuple[str, ...]:
        """The names of the cached inputs, sorted."""
        return tuple(sorted(self._contents))

    def read_members(self, paths: Iterable[str]) -> dict[str, bytes]:
        """Members of the wheel; inputs come from the cache."""
        wanted = list(paths)
        by_member = {member_of(name): content for name, content in self._contents.items()}
        missing = [path for path in wanted if path not in by_member]
        read = self.wheel.read(missing) if missing else {}
        return {path: by_member[path] if path in by_member else read[path] for path in wanted}

    def member_names(self, prefix: str) -> tuple[str, ...]:
        """The wheel's members whose path begins with `prefix`."""
        return self.wheel.names(prefix)

    def paths(self, members: Iterable[str] = ()) -> InputPaths:
        """The files in the cache; other members of the wheel at the index never change."""
        del members
        return InputPaths(tuple(os.path.abspath(self.display_path(name)) for name in self.names()))


def offered_versions() -> tuple[str, ...]:
    """The versions of PyTorch that the package index offers and that are not yanked, oldest first."""
    from opwright.wheels.client import Client
    from opwright.wheels.index import offered_by_indexes
    from opwright.wheels.pip_settings import load_index_settings

    return tuple(str(version) for version in sorted(offered_by_indexes(Client(load_index_settings()))))


#: A binary that is compiled with the headers of the oldest release that it serves cannot use anything that came later.
#: These headers include no others of PyTorch.
_INCLUDE: Final = "torch/include/"
_FOLDERS: Final = tuple(
    [f"{_INCLUDE}torch/{folder}/" for folder in ("csrc/stable", "headeronly", "csrc/inductor/aoti_torch")]
)
#: The header without which there are no libraries with the stable interface.
_LIBRARY: Final = f"{_INCLUDE}torch/csrc/stable/library.h"


def stable_headers(version: str) -> str:
    """The folder of the headers for an include path, such as those of `2.10.0`, kept in the user's cache.

    Raises Fault if there is no such release, or if it has no stable API.
    """
    root = os.path.join(cache_folder(), "stable-headers")
    folder = os.path.join(root, version)
    if os.path.isdir(folder):
        return folder
    wheel = open_wheel(_PYTORCH, version)
    names = [name for name in wheel.names(_INCLUDE) if name.startswith(_FOLDERS) and not name.endswith("/")]
    if _LIBRARY not in names:
        raise Fault.at(INPUT_MISSING, f"PyTorch {version} has no stable C++ API", help="name 2.10.0 or a later release")
    contents = wheel.read(names)
    os.makedirs(root, exist_ok=True)
    fresh = tempfile.mkdtemp(dir=root, prefix=".new-")
    try:
        for name in names:
            path = os.path.join(fresh, *name.removeprefix(_INCLUDE).split("/"))
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "wb") as stream:
                stream.write(contents[name])
        # Another process may have been quicker; its headers are the same.
        if not os.path.isdir(folder):
            os.rename(fresh, folder)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)
    return folder
