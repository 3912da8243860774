"""Links to wheels at package indexes, PyTorch's above all, and the choice of the wheel for a version."""

from __future__ import annotations

import json
import os
from html.parser import HTMLParser
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import unquote, urljoin, urlsplit
from urllib.request import url2pathname

from opwright.release.codes import INDEX_SILENT, INDEX_UNREADABLE, THREE_WAYS, UNKNOWN_VERSION, YANKED_VERSION
from opwright.release.transport import NotFoundError, TransportError, shown_url
from opwright.source.diagnostic import Fault

if TYPE_CHECKING:
    from collections.abc import Iterable

    from packaging.version import Version

    from opwright.release.pip_settings import IndexSettings
    from opwright.release.transport import Page, Transport

__all__ = ["PYTORCH", "WheelLink", "find_wheel", "local_path", "wheel_links"]

#: PyTorch's name at package indexes.
PYTORCH = "torch"
_JSON = "application/vnd.pypi.simple.v1+json"
_ACCEPTED = f"{_JSON}, application/vnd.pypi.simple.v1+html;q=0.2, text/html;q=0.01"

# Smallest first, for indexes that do not tell sizes: wheels for macOS contain no GPU libraries.
_PLATFORMS_BY_SIZE = ("macosx", "aarch64", "linux")


class WheelLink(NamedTuple):
    """A wheel that an index offers. `yanked` is None, or the reason (maybe empty) why it was withdrawn."""

    file_name: str
    url: str
    version: str
    sha256: str | None = None
    size: int | None = None
    yanked: str | None = None


def find_wheel(version: str, settings: IndexSettings, transport: Transport, project: str = PYTORCH) -> WheelLink:
    """The wheel of a version of a project that is cheapest to read, for any platform.

    Folders on this machine are searched first; servers are asked only if none has the version. Raises Fault if no index
    answers (E0508), none has the version (E0506), or it is yanked (E0507).
    """
    from packaging.version import Version

    wanted = Version(version)
    local, remote = _link_sources(settings, project)
    links: list[WheelLink] = []
    for path in local:
        links += _of_project(_local_links(path), project)
    best = _cheapest(_of_version(links, wanted))
    if best is not None:
        return best
    failures: list[TransportError] = []
    for url in remote:
        try:
            links += _of_project(_page_links(transport.page(url, _ACCEPTED)), project)
        except NotFoundError:
            continue
        except TransportError as error:
            failures.append(error)
    best = _cheapest(_of_version(links, wanted)) or _cheapest(_of_version(links, wanted, builds=True))
    if best is None:
        name = "PyTorch" if project == PYTORCH else f"`{project}`"
        raise _no_wheel(name, wanted, links, failures, bool(settings.indexes))
    return best


def wheel_links(settings: IndexSettings, transport: Transport) -> tuple[WheelLink, ...]:
    """All wheels of PyTorch that pip would find. Raises Fault if no index answers (E0508)."""
    local, remote = _link_sources(settings, PYTORCH)
    links = [link for path in local for link in _of_project(_local_links(path), PYTORCH)]
    for url in remote:
        try:
            links += _of_project(_page_links(transport.page(url, _ACCEPTED)), PYTORCH)
        except NotFoundError:
            continue
        except TransportError as error:
            raise Fault.at(INDEX_SILENT, f"the package index does not answer: {error}", help=THREE_WAYS) from None
    return tuple(links)


def _link_sources(settings: IndexSettings, project: str) -> tuple[list[str], list[str]]:
    """The paths on this machine, and the addresses on servers, where pip would look for links to a project's wheels."""
    local, remote = [], []
    for address in (*settings.find_links, *(f"{url}/{_page_name(project)}/" for url in settings.indexes)):
        path = local_path(address)
        if path is None:
            remote.append(address)
        else:
            local.append(path)
    return local, remote


def local_path(address: str) -> str | None:
    """The path that an address stands for (a path, or a `file:` URL); None for an address on a server.

    >>> local_path("https://pypi.org/simple") is None
    True
    """
    scheme = urlsplit(address).scheme
    if scheme == "file":
        return url2pathname(urlsplit(address).path)
    # A drive letter looks like a scheme.
    if len(scheme) > 1:
        return None
    return os.path.abspath(os.path.expanduser(address))


def _local_links(path: str) -> list[WheelLink]:
    """The wheels in a folder, or those that an index page or a folder's index page links to."""
    page = os.path.join(path, "index.html") if os.path.isdir(path) else path
    try:
        with open(page, "rb") as stream:
            return _page_links_of_html(_file_address(page), stream.read().decode("utf-8", "replace"))
    except OSError:
        pass
    try:
        names = sorted(os.listdir(path))
    except OSError:
        return []
    links = (_link(name, _file_address(os.path.join(path, name))) for name in names)
    return [link for link in links if link is not None]


def _file_address(path: str) -> str:
    from pathlib import Path

    return Path(path).absolute().as_uri()


def _page_links(page: Page) -> list[WheelLink]:
    if page.media_type == _JSON or page.media_type == "application/json":
        return _page_links_of_json(page)
    text = page.content.decode("utf-8", "replace")
    if page.media_type not in ("text/html", "application/vnd.pypi.simple.v1+html", "application/xhtml+xml"):
        raise _unreadable(page.url, f"its media type is `{page.media_type}`")
    return _page_links_of_html(page.url, text)


def _unreadable(url: str, reason: str) -> Fault:
    return Fault.at(INDEX_UNREADABLE, f"{shown_url(url)} is not a page of a package index: {reason}")


def _page_links_of_json(page: Page) -> list[WheelLink]:
    """The links of an index page in JSON (PEP 691)."""
    try:
        files = json.loads(page.content)["files"]
        links = []
        for entry in files:
            yanked = entry.get("yanked", False)
            link = _link(
                entry["filename"],
                urljoin(page.url, entry["url"]),
                sha256=entry.get("hashes", {}).get("sha256"),
                size=entry.get("size"),
                yanked=(yanked if isinstance(yanked, str) else "") if yanked else None,
            )
            if link is not None:
                links.append(link)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise _unreadable(page.url, f"{type(error).__name__}: {error}") from None
    return links


class _Anchors(HTMLParser):
    """Collects the links of an index page in HTML (PEP 503)."""

    def __init__(self, url: str) -> None:
        super().__init__()
        self.base = url
        self.links: list[WheelLink] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        href = values.get("href")
        if tag == "base" and href:
            self.base = urljoin(self.base, href)
        if tag != "a" or not href:
            return
        url, _, fragment = urljoin(self.base, href).partition("#")
        name = unquote(urlsplit(url).path.rpartition("/")[2])
        digest = fragment.removeprefix("sha256=") if fragment.startswith("sha256=") else None
        yanked = (values["data-yanked"] or "") if "data-yanked" in values else None
        link = _link(name, url, sha256=digest, yanked=yanked)
        if link is not None:
            self.links.append(link)


def _page_links_of_html(url: str, text: str) -> list[WheelLink]:
    anchors = _Anchors(url)
    anchors.feed(text)
    anchors.close()
    return anchors.links


def _link(
    file_name: str, url: str, *, sha256: str | None = None, size: int | None = None, yanked: str | None = None
) -> WheelLink | None:
    """The link if the file is a wheel, else None."""
    parts = file_name.removesuffix(".whl").split("-")
    if not file_name.endswith(".whl") or len(parts) not in (5, 6):
        return None
    return WheelLink(file_name, url, parts[1], sha256, size, yanked)


def _page_name(project: str) -> str:
    """The name of a project as pages of indexes have it (PEP 503).

    >>> _page_name("Acme_Ops")
    'acme-ops'
    """
    return project.lower().replace("_", "-").replace(".", "-")


def _of_project(links: Iterable[WheelLink], project: str) -> list[WheelLink]:
    """The links of a project."""
    name = _page_name(project)
    return [link for link in links if _page_name(link.file_name.partition("-")[0]) == name]


def _of_version(links: Iterable[WheelLink], wanted: Version, *, builds: bool = False) -> list[WheelLink]:
    """The links of a version; with `builds`, of its builds (`2.13.0+cpu`) too."""
    from packaging.version import InvalidVersion, Version

    matches: dict[str, bool] = {}
    for link in links:
        if link.version not in matches:
            try:
                version = Version(link.version)
            except InvalidVersion:
                matches[link.version] = False
                continue
            matches[link.version] = version == wanted or (builds and Version(version.public) == wanted)
    return [link for link in links if matches[link.version]]


def _cheapest(links: Iterable[WheelLink]) -> WheelLink | None:
    usable = [link for link in links if link.yanked is None]
    return min(usable, key=_cost, default=None)


def _cost(link: WheelLink) -> tuple[bool, bool, int, int, str]:
    """The key that sorts links: files on this machine first, then by size, or by platform if sizes are unknown.

    Wheels for Windows come last: their inputs have other line breaks, which change the byte offsets in diagnostics.
    """
    platform = link.file_name.rpartition("-")[2]
    by_platform = next(
        (rank for rank, word in enumerate(_PLATFORMS_BY_SIZE) if word in platform), len(_PLATFORMS_BY_SIZE)
    )
    unknown = 1 << 62
    on_server = local_path(link.url) is None
    return on_server, platform.startswith("win"), link.size or unknown, by_platform, link.file_name


def _no_wheel(
    name: str, wanted: Version, links: list[WheelLink], failures: list[TransportError], has_index: bool
) -> Fault:
    """The fault for a project's version that no index offers, or offers only as yanked."""
    notes = [f"no answer: {failure}" for failure in failures]
    withdrawn = _of_version(links, wanted, builds=True)
    if withdrawn:
        reason = next((link.yanked for link in withdrawn if link.yanked), None)
        return Fault.at(
            YANKED_VERSION,
            f"{name} {wanted} was withdrawn" + (f": {reason}" if reason else ""),
            notes=notes,
            help=_near(wanted, links),
        )
    if failures and not links:
        return Fault.at(
            INDEX_SILENT, f"the package index does not answer: {failures[0]}", notes=notes[1:], help=THREE_WAYS
        )
    if not links:
        notes.append(f"there is no wheel of {name} at all where pip would look")
    if not has_index:
        notes.append("pip's settings turn package indexes off")
    message = f"no package index has {name} {wanted}"
    return Fault.at(UNKNOWN_VERSION, message, notes=notes, help=_near(wanted, links) or THREE_WAYS)


def _near(wanted: Version, links: list[WheelLink]) -> str:
    """A sentence that lists the offered versions nearest to one."""
    from packaging.version import InvalidVersion, Version

    offered = set()
    for text in {link.version for link in links if link.yanked is None}:
        try:
            offered.add(Version(text))
        except InvalidVersion:
            continue
    if not offered:
        return ""
    ordered = sorted(offered)
    below = [version for version in ordered if version < wanted][-3:]
    above = [version for version in ordered if version > wanted][:3]
    return "versions near it: " + ", ".join(str(version) for version in below + above)
