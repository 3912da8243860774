"""Pages of package indexes as typed, validated records: the one place that interprets what a page says.

A page comes from a server that may be faulty or hostile. What leaves this module has the declared types: file names of
wheels are plain ASCII, versions are parsed, digests are hexadecimal, and addresses are ones that may be requested. The
cost is linear in the length of a page, which is limited.
"""

from __future__ import annotations

import json
import re
from html import unescape
from typing import TYPE_CHECKING, Final, NamedTuple
from urllib.parse import unquote, urljoin

from packaging.version import InvalidVersion, Version

from opwright.release.addresses import BadAddressError, parse_address, parse_place
from opwright.source.codes import INDEX_UNREADABLE
from opwright.source.diagnostic import Fault
from opwright.source.limits import FILE_BYTES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from opwright.release.addresses import WheelPlace
    from opwright.release.transport import Page

__all__ = [
    "ACCEPTED",
    "PageLinks",
    "RefusedLink",
    "WheelLink",
    "links_of_file",
    "links_of_folder",
    "links_of_page",
    "page_name",
]

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
