"""Inputs of a version, from the cache or from its wheel at a package index, which are then cached."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from opwright.release.cache import cached_versions, load_cached, release_folder, write_cached
from opwright.release.codes import (
    BAD_SPEC,
    CACHE_UNUSABLE,
    DOWNLOAD_ALTERED,
    INPUT_MISSING,
    WHOLE_WHEEL_DECLINED,
)
from opwright.release.local import from_wheel
from opwright.release.pip_settings import load_index_settings
from opwright.release.store import PACKAGED, InputPaths, WheelStore, member_of
from opwright.release.view import Inputs, check_has_inputs
from opwright.source.diagnostic import Fault
from opwright.source.text import SourceFile

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from opwright.release.archive import ByteSource
    from opwright.release.index import WheelLink
    from opwright.release.transport import Transport
    from opwright.release.view import AskWhole
    from opwright.release.wheel import Wheel
    from opwright.source.diagnostic import Diagnostics

__all__ = ["cached_versions", "fetch_inputs", "offered_versions", "open_wheel"]


def fetch_inputs(version: str, ask_whole: AskWhole | None = None, sink: Diagnostics | None = None) -> Inputs:
    """The inputs of a version, from the cache or a package index; see `from_version`."""
    name = _normal_version(version)
    cached = load_cached(name)
    if cached is not None:
        origin = f"{cached.wheel} (cached)"
        return Inputs(CachedStore(cached.folder, cached.contents, _reopener(name, ask_whole)), origin, name)
    return _fetch(name, ask_whole, sink)


def _normal_version(version: str) -> str:
    from packaging.version import InvalidVersion, Version

    try:
        return str(Version(version))
    except InvalidVersion:
        raise Fault.at(BAD_SPEC, f"`{version}` is not a version", help="write it like `2.13.0`") from None


def _fetch(version: str, ask_whole: AskWhole | None, sink: Diagnostics | None) -> Inputs:
    from opwright.release.index import find_wheel, local_path
    from opwright.release.transport import Transport, shown_url

    settings = load_index_settings()
    transport = Transport(settings)
    link = find_wheel(version, settings, transport)
    on_disk = local_path(link.url)
    if on_disk is not None:
        return from_wheel(on_disk)
    wheel = _open_link(link, transport, ask_whole)
    check_has_inputs(wheel.names(f"{PACKAGED}ATen/native/"), link.file_name)
    contents = WheelStore(wheel).contents
    url = shown_url(link.url)
    folder = release_folder(version)
    try:
        write_cached(version, link.file_name, url, link.sha256, contents)
    except OSError as error:
        if sink is not None:
            sink.warning(CACHE_UNUSABLE, f"cannot write the cache in `{folder}`: {error.strerror or error}")
        return Inputs(WheelStore(wheel), f"{link.file_name} at {_host(url)}", version)
    return Inputs(CachedStore(folder, contents, lambda: wheel), f"{link.file_name} at {_host(url)}", version)


def _host(url: str) -> str:
    from urllib.parse import urlsplit

    return urlsplit(url).netloc


def _open_link(link: WheelLink, transport: Transport, ask_whole: AskWhole | None) -> Wheel:
    """Opens the wheel of a link: by ranges if the server supports them, else as a whole download if the user agrees."""
    from opwright.release.transport import RangesRefusedError, RemoteBytes
    from opwright.release.wheel import Wheel

    source: ByteSource
    try:
        source = RemoteBytes(transport, link.url)
    except RangesRefusedError as refused:
        size = refused.size or link.size
        if ask_whole is None or not ask_whole(link.file_name, size):
            raise _refusal(link, size) from None
        source = _whole(link, transport)
    return Wheel(link.file_name, source)


def _refusal(link: WheelLink, size: int | None) -> Fault:
    extent = f", {size / 1e6:.0f} MB," if size else ""
    return Fault.at(
        WHOLE_WHEEL_DECLINED,
        f"the server sends only the whole of `{link.file_name}`{extent} and that was not agreed to",
        help="agree with `--yes`, or download the wheel and name it with `--torch FILE.whl`",
    )


def _whole(link: WheelLink, transport: Transport) -> ByteSource:
    """Downloads the wheel to a temporary file and checks it against the index's digest."""
    from opwright.release.transport import StreamBytes, TransportError, transport_fault

    try:
        stream, size, digest = transport.whole(link.url)
    except TransportError as error:
        raise transport_fault(error) from None
    if link.sha256 is not None and digest != link.sha256.lower():
        stream.close()
        raise Fault.at(
            DOWNLOAD_ALTERED,
            f"`{link.file_name}` is damaged: its SHA-256 differs from the index's",
            notes=[f"the index says {link.sha256}, the download has {digest}"],
            help="try again, or take it from another index",
        )
    return StreamBytes(stream, size)


def open_wheel(project: str, version: str, ask_whole: AskWhole | None = None) -> Wheel:
    """The wheel of a version of a project, found where pip would look, and read in parts if it is on a server."""
    from opwright.release.index import find_wheel, local_path
    from opwright.release.transport import Transport
    from opwright.release.wheel import Wheel

    settings = load_index_settings()
    transport = Transport(settings)
    link = find_wheel(version, settings, transport, project)
    on_disk = local_path(link.url)
    return _open_link(link, transport, ask_whole) if on_disk is None else Wheel.open(on_disk)


def _reopener(version: str, ask_whole: AskWhole | None) -> Callable[[], Wheel]:
    """A function that finds and opens the wheel again, for members that are not cached."""
    from opwright.release.index import PYTORCH

    return lambda: open_wheel(PYTORCH, version, ask_whole)


class CachedStore:
    """Cached inputs, verified when they were loaded. Other members are read from the wheel."""

    __slots__ = ("_contents", "_folder", "_open_wheel", "_wheel")

    def __init__(self, folder: str, contents: Mapping[str, bytes], open_wheel: Callable[[], Wheel]) -> None:
        self._folder = folder
        self._contents = contents
        self._open_wheel = open_wheel
        self._wheel: Wheel | None = None

    @property
    def wheel(self) -> Wheel:
        """The wheel that the inputs came from, opened on first use."""
        if self._wheel is None:
            self._wheel = self._open_wheel()
        return self._wheel

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
    from packaging.version import InvalidVersion, Version

    from opwright.release.index import wheel_links
    from opwright.release.transport import Transport

    settings = load_index_settings()
    versions = set()
    for link in wheel_links(settings, Transport(settings)):
        try:
            if link.yanked is None:
                versions.add(Version(link.version))
        except InvalidVersion:
            continue
    return tuple(str(version) for version in sorted(versions))
