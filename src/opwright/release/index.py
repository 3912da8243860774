"""The choice of the wheel for a version, among the links on pages of package indexes.

A page comes from a server that may be faulty or hostile. What leaves this module has the declared types: file names of
wheels are plain ASCII, versions are parsed, digests are hexadecimal, and addresses are ones that may be requested. The
cost is linear in the length of a page, which is limited.
"""

from __future__ import annotations

import json
import os
import re
from html import unescape
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple
from urllib.parse import unquote, urljoin

from packaging.version import InvalidVersion, Version

from opwright.release.addresses import BadAddressError, parse_address, parse_place
from opwright.release.transport import InsecureError, NotFoundError, TransportError, transport_fault
from opwright.release.view import THREE_WAYS
from opwright.source.codes import (
    BAD_PIP_SETTINGS,
    INDEX_IGNORED,
    INDEX_UNREADABLE,
    LINK_REFUSED,
    UNKNOWN_VERSION,
    YANKED_VERSION,
)
from opwright.source.diagnostic import Fault
from opwright.source.limits import FILE_BYTES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from opwright.release.addresses import Address, WheelPlace
    from opwright.release.pip_settings import IndexSettings
    from opwright.release.transport import Page, Transport
    from opwright.source.diagnostic import Diagnostics

_JSON: Final = "application/vnd.pypi.simple.v1+json"
#: The Accept header of a request for a page.
ACCEPTED: Final = f"{_JSON}, application/vnd.pypi.simple.v1+html;q=0.2, text/html;q=0.01"

#: Wheels of one project on a page. PyPI has 1,600 of PyTorch.
_MOST_LINKS: Final = 100_000
_LONGEST_NAME: Final = 300
_LONGEST_ATTRIBUTE: Final = 4_000
_LARGEST: Final = 1 << 62

_WHEEL: Final = re.compile(r"([\w.]+)-([\w.+!]+)(?:-\d[\w.]*)?-[\w.]+-[\w.]+-[\w.]+\.whl", re.ASCII)
_SHA256: Final = re.compile(r"[0-9A-Fa-f]{64}")
_TAG: Final = re.compile(r"<(?:!--|(a|base)(?=[\s/>]))", re.IGNORECASE)
# Each alternative reads what follows once, so that a tag takes linear time whatever it contains.
_ATTRIBUTE: Final = re.compile(r"""[\s/=]+|(>)|([^\s/>=]+)(?:\s*=\s*("[^"]*"|'[^']*'|[^\s>]*))?""")


class WheelLink(NamedTuple):
    """A wheel that an index offers. `yanked` is None, or the reason (maybe empty) why it was withdrawn."""

    file_name: str
    place: WheelPlace
    version: Version
    sha256: str | None = None
    size: int | None = None
    yanked: str | None = None


class RefusedLink(NamedTuple):
    """A wheel that an index offers with an address, a digest or a size that cannot be used."""

    file_name: str
    version: Version
    reason: str


class _Entry(NamedTuple):
    """A link as a page states it: nothing is validated."""

    file_name: object
    address: object
    sha256: object = None
    size: object = None
    yanked: object = None
    base: str = ""


class PageLinks(NamedTuple):
    """The wheels of a project to which a page links."""

    usable: list[WheelLink]
    refused: list[RefusedLink]

    def add(self, other: PageLinks) -> None:
        """Appends the links of another page."""
        self.usable.extend(other.usable)
        self.refused.extend(other.refused)


class _RefusedError(Exception):
    """A field of a link has a wrong value."""


def links_of_page(page: Page, project: str) -> PageLinks:
    """The wheels of a project on the page of a server, which may link to servers alone.

    Raises Fault if it is not a page of an index (E0515).
    """
    if page.media_type in (_JSON, "application/json"):
        entries = _json_entries(page)
    elif page.media_type in ("text/html", "application/vnd.pypi.simple.v1+html", "application/xhtml+xml"):
        entries = _html_entries(page.content)
    else:
        raise _unreadable(page.address.url, f"its media type is `{page.media_type}`")
    return _links(page.address.url, entries, project, lambda text: parse_address(text, page.address))


def links_of_file(content: bytes, path: Path, project: str) -> PageLinks:
    """The wheels of a project on a page in HTML that is a file, which may link to files."""
    if len(content) > FILE_BYTES:
        raise _unreadable(str(path), f"it has more than {FILE_BYTES:,} bytes")
    return _links(str(path), _html_entries(content), project, lambda text: parse_place(text, path.parent))


def links_of_folder(names: Iterable[str], folder: Path, project: str) -> PageLinks:
    """The wheels of a project among the files of a folder."""
    entries = (_Entry(name, name) for name in names)
    return _links(str(folder), entries, project, lambda name: folder.absolute() / name)


def _unreadable(place: str, reason: str) -> Fault:
    return Fault.at(INDEX_UNREADABLE, f"{place} is not a page of a package index: {reason}")


def _links(place: str, entries: Iterator[_Entry], project: str, place_of: Callable[[str], WheelPlace]) -> PageLinks:
    """The validated links of a project's wheels."""
    links = PageLinks([], [])
    name = page_name(project)
    versions: dict[str, Version | None] = {}
    for entry in entries:
        if not isinstance(entry.file_name, str) or len(entry.file_name) > _LONGEST_NAME:
            continue
        parts = _WHEEL.fullmatch(entry.file_name)
        if parts is None or page_name(parts[1]) != name:
            continue
        if parts[2] not in versions:
            versions[parts[2]] = _version(parts[2])
        version = versions[parts[2]]
        if version is None:
            continue
        if len(links.usable) + len(links.refused) == _MOST_LINKS:
            raise _unreadable(place, f"it has more than {_MOST_LINKS:,} wheels of `{project}`")
        try:
            links.usable.append(_wheel_link(entry.file_name, version, entry, place_of))
        except (_RefusedError, BadAddressError) as error:
            links.refused.append(RefusedLink(entry.file_name, version, str(error)))
    return links


def _wheel_link(file_name: str, version: Version, entry: _Entry, place_of: Callable[[str], WheelPlace]) -> WheelLink:
    """A link whose fields have been checked. Raises _RefusedError or BadAddressError for the first wrong one."""
    address, digest, size, yanked = entry.address, entry.sha256, entry.size, entry.yanked
    if not isinstance(address, str):
        raise _RefusedError("its address is not a text")
    if digest is not None and not (isinstance(digest, str) and _SHA256.fullmatch(digest)):
        raise _RefusedError("its SHA-256 is not 64 hexadecimal digits")
    if size is not None and (isinstance(size, bool) or not isinstance(size, int) or not 0 <= size < _LARGEST):
        raise _RefusedError("its size is not a number of bytes")
    reason = yanked if isinstance(yanked, str) else ""
    try:
        place = place_of(urljoin(entry.base, address) if entry.base else address)
    except ValueError as error:
        raise _RefusedError(f"its address cannot be read: {error}") from None
    return WheelLink(file_name, place, version, digest and digest.lower(), size, reason if yanked else None)


def _version(text: str) -> Version | None:
    try:
        return Version(text)
    except InvalidVersion:
        return None


def page_name(project: str) -> str:
    """The name of a project as pages of indexes have it (PEP 503).

    >>> page_name("Acme_Ops")
    'acme-ops'
    """
    return re.sub(r"[-_.]+", "-", project).lower()


def _json_entries(page: Page) -> Iterator[_Entry]:
    """The links of a page in JSON (PEP 691)."""
    try:
        root = json.loads(page.content)
    except (ValueError, RecursionError) as error:
        reason = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise _unreadable(page.address.url, reason) from None
    files = root.get("files") if isinstance(root, dict) else None
    if not isinstance(files, list) or not all(isinstance(entry, dict) for entry in files):
        raise _unreadable(page.address.url, "it has no list of `files`")
    for entry in files:
        hashes = entry.get("hashes", {})
        yield _Entry(
            entry.get("filename"),
            entry.get("url"),
            hashes.get("sha256") if isinstance(hashes, dict) else hashes,
            entry.get("size"),
            entry.get("yanked"),
        )


def _html_entries(content: bytes) -> Iterator[_Entry]:
    """The links of a page in HTML (PEP 503)."""
    base = ""
    for tag, attributes in _html_tags(content.decode("utf-8", "replace")):
        href = attributes.get("href", "")
        if tag == "base":
            base = base or unescape(href)
        elif ".whl" in href:
            address, _, fragment = unescape(href).partition("#")
            name = unquote(address.partition("?")[0].rpartition("/")[2])
            digest = next((part[len("sha256=") :] for part in fragment.split("&") if part.startswith("sha256=")), None)
            yanked = attributes.get("data-yanked")
            yield _Entry(name, address, digest, None, yanked is not None and (unescape(yanked) or True), base)


def _html_tags(text: str) -> Iterator[tuple[str, dict[str, str]]]:
    """The `a` and `base` tags of a page, with their attributes as written; those that are too long are left out.

    `html.parser` takes quadratic time for unclosed tags and comments, and raises AssertionError for some declarations.

    >>> list(_html_tags("<!-- <a href=x> --><A HREF='a&amp;b' data-yanked>wheel</a><a href=cut"))
    [('a', {'href': 'a&amp;b', 'data-yanked': ''})]
    """
    at = 0
    while tag := _TAG.search(text, at):
        at = tag.end()
        if tag[1] is None:
            at = text.find("-->", at)
            if at < 0:
                return
            continue
        attributes: dict[str, str] = {}
        while part := _ATTRIBUTE.match(text, at):
            at = part.end()
            if part[1]:
                yield tag[1].lower(), attributes
                break
            value = part[3] or ""
            if part[2] and len(part[2]) + len(value) <= _LONGEST_ATTRIBUTE:
                attributes.setdefault(part[2].lower(), value[1:-1] if value[:1] in ("'", '"') else value)


#: PyTorch's name at package indexes.
PYTORCH: Final = "torch"

# Smallest first, for indexes that do not tell sizes: wheels for macOS contain no GPU libraries.
_PLATFORMS_BY_SIZE = ("macosx", "aarch64", "linux")


class _Search(NamedTuple):
    """What pip's settings lead to: the links of a project's wheels, and the servers that gave none."""

    links: PageLinks
    failures: list[TransportError]


def find_wheel(
    version: str,
    settings: IndexSettings,
    transport: Transport,
    project: str = PYTORCH,
    sink: Diagnostics | None = None,
) -> WheelLink:
    """The wheel of a version of a project that is cheapest to read, for any platform.

    Folders on this machine are searched first; servers are asked only if none has the version. The sink gets a warning
    for each index that pip would not trust (W0504). Raises Fault if no index answers (E0508), none has the version
    (E0506), or it is yanked (E0507), or all links to it are refused (E0519).
    """
    wanted = Version(version)
    local, remote = _link_sources(settings, project)
    search = _Search(PageLinks([], []), [])
    for path in local:
        search.links.add(_local_links(path, project))
    best = _cheapest(_of_version(search.links.usable, wanted))
    if best is not None:
        return best
    _ask_servers(remote, transport, project, search)
    usable = search.links.usable
    best = _cheapest(_of_version(usable, wanted)) or _cheapest(_of_version(usable, wanted, builds=True))
    if best is None:
        name = "PyTorch" if project == PYTORCH else f"`{project}`"
        raise _no_wheel(name, wanted, search, bool(settings.indexes))
    for failure in search.failures:
        if sink is not None and isinstance(failure, InsecureError):
            sink.warning(INDEX_IGNORED, f"a package index is ignored: {failure}", help=failure.help)
    return best


def wheel_links(settings: IndexSettings, transport: Transport) -> tuple[WheelLink, ...]:
    """All wheels of PyTorch that pip would find. Raises Fault if an index does not answer (E0508, E0518)."""
    local, remote = _link_sources(settings, PYTORCH)
    search = _Search(PageLinks([], []), [])
    for path in local:
        search.links.add(_local_links(path, PYTORCH))
    _ask_servers(remote, transport, PYTORCH, search)
    if search.failures:
        raise transport_fault(search.failures[0])
    return tuple(search.links.usable)


def _ask_servers(addresses: Iterable[Address], transport: Transport, project: str, search: _Search) -> None:
    """Adds the links of the pages at addresses to a search."""
    for address in addresses:
        try:
            search.links.add(links_of_page(transport.page(address, ACCEPTED), project))
        except NotFoundError:
            continue
        except TransportError as error:
            search.failures.append(error)


def _link_sources(settings: IndexSettings, project: str) -> tuple[list[Path], list[Address]]:
    """The paths on this machine, and the addresses on servers, where pip would look for links to a project's wheels.

    Raises Fault if pip's settings contain one that cannot be read (E0516).
    """
    local: list[Path] = []
    remote: list[Address] = []
    for text in (*settings.find_links, *(f"{url}/{page_name(project)}/" for url in settings.indexes)):
        try:
            place = parse_place(text)
        except BadAddressError as error:
            raise Fault.at(BAD_PIP_SETTINGS, f"pip's settings name an index whose address {error}") from None
        if isinstance(place, Path):
            local.append(place)
        else:
            remote.append(place)
    return local, remote


def _local_links(path: Path, project: str) -> PageLinks:
    """The wheels in a folder, or those that an index page or a folder's index page links to."""
    page = path / "index.html" if path.is_dir() else path
    try:
        with page.open("rb") as stream:
            return links_of_file(stream.read(FILE_BYTES + 1), page, project)
    except OSError:
        pass
    try:
        return links_of_folder(sorted(os.listdir(path)), path, project)
    except OSError:
        return PageLinks([], [])


def _of_version(links: Iterable[WheelLink], wanted: Version, *, builds: bool = False) -> list[WheelLink]:
    """The links of a version; with `builds`, of its builds (`2.13.0+cpu`) too."""
    return [link for link in links if _is_version(link.version, wanted, builds=builds)]


def _is_version(version: Version, wanted: Version, *, builds: bool) -> bool:
    return version == wanted or (builds and version.local is not None and Version(version.public) == wanted)


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
    on_server = not isinstance(link.place, Path)
    return on_server, platform.startswith("win"), link.size or unknown, by_platform, link.file_name


def _no_wheel(name: str, wanted: Version, search: _Search, has_index: bool) -> Fault:
    """The fault for a project's version that no index offers, or offers only as yanked or by links that are refused."""
    links, failures = search.links, search.failures
    notes = [f"no answer: {failure}" for failure in failures]
    refused = [link for link in links.refused if _is_version(link.version, wanted, builds=True)]
    if refused:
        message = f"the link to `{refused[0].file_name}` is refused: {refused[0].reason}"
        return Fault.at(LINK_REFUSED, message, notes=notes, help=THREE_WAYS)
    withdrawn = _of_version(links.usable, wanted, builds=True)
    if withdrawn:
        reason = next((link.yanked for link in withdrawn if link.yanked), None)
        return Fault.at(
            YANKED_VERSION,
            f"{name} {wanted} was withdrawn" + (f": {reason}" if reason else ""),
            notes=notes,
            help=_near(wanted, links.usable),
        )
    if failures and not links.usable:
        return transport_fault(failures[0], notes=notes[1:])
    if not links.usable:
        notes.append(f"there is no wheel of {name} at all where pip would look")
    if not has_index:
        notes.append("pip's settings turn package indexes off")
    message = f"no package index has {name} {wanted}"
    return Fault.at(UNKNOWN_VERSION, message, notes=notes, help=_near(wanted, links.usable) or THREE_WAYS)


def _near(wanted: Version, links: list[WheelLink]) -> str:
    """A sentence that lists the offered versions nearest to one."""
    ordered = sorted({link.version for link in links if link.yanked is None})
    if not ordered:
        return ""
    below = [version for version in ordered if version < wanted][-3:]
    above = [version for version in ordered if version > wanted][:3]
    return "versions near it: " + ", ".join(str(version) for version in below + above)
