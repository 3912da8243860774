"""The choice of the wheel for a version, among the links on pages of package indexes.

A page comes from a server that may be faulty or hostile. What leaves this module has the declared types: file names of
wheels are printable, versions are parsed, digests are hexadecimal, and addresses are ones that may be requested.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable, Mapping
from html.parser import HTMLParser
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple
from urllib.parse import unquote, urljoin, urlsplit
from urllib.request import url2pathname

from packaging.utils import canonicalize_name, parse_wheel_filename
from packaging.version import Version

from opwright.release.view import THREE_WAYS
from opwright.source.codes import (
    BAD_PIP_SETTINGS,
    DOWNLOAD_SHORT,
    INDEX_IGNORED,
    INDEX_SILENT,
    INDEX_UNREADABLE,
    INSECURE_INDEX,
    LINK_REFUSED,
    UNKNOWN_VERSION,
    YANKED_VERSION,
)
from opwright.source.diagnostic import Fault
from opwright.source.limits import FILE_BYTES
from opwright.wheels.client import Client, Page, bare, read_url

if TYPE_CHECKING:
    from opwright.source.diagnostic import Diagnostics

_JSON: Final = "application/vnd.pypi.simple.v1+json"
_ACCEPTED: Final = f"{_JSON}, application/vnd.pypi.simple.v1+html;q=0.2, text/html;q=0.01"

#: Wheels of one project on a page. PyPI has 1,600 of PyTorch.
_MOST_LINKS: Final = 100_000
_LONGEST_NAME: Final = 300
_LARGEST: Final = 1 << 62
_SHA256: Final = re.compile(r"[0-9A-Fa-f]{64}")
_FILE_NAME: Final = re.compile(r"[\w.+!-]+", re.ASCII)


#: PyTorch's name at package indexes.
PYTORCH: Final = "torch"

# Smallest first, for indexes that do not tell sizes: wheels for macOS contain no GPU libraries.
_PLATFORMS_BY_SIZE: Final = ("macosx", "aarch64", "linux")


class WheelLink(NamedTuple):
    """A wheel that an index offers, on a server or on this machine.

    `yanked` is None, or the reason (maybe empty) why it was withdrawn. `refused` is the reason why the address, the
    digest or the size cannot be used; these are unknown then.
    """

    file_name: str
    version: Version
    place: str | Path = ""
    sha256: str | None = None
    size: int | None = None
    yanked: str | None = None
    refused: str = ""


def links_of_page(page: Page, project: str) -> list[WheelLink]:
    """The wheels of a project on the page of a server, which may link to servers alone.

    Raises Fault if it is not a page of an index (E0515).
    """
    place = bare(page.url)
    if page.media_type in (_JSON, "application/json"):
        entries = _json_entries(place, page.content)
    elif page.media_type in ("text/html", "application/vnd.pypi.simple.v1+html", "application/xhtml+xml"):
        entries = _html_entries(place, page.content)
    else:
        raise _unreadable(place, f"its media type is `{page.media_type}`")
    return _links(place, entries, project, lambda text: read_url(text, page.url))


def links_of_file(content: bytes, path: Path, project: str) -> list[WheelLink]:
    """The wheels of a project on a page in HTML that is a file, which may link to files."""
    if len(content) > FILE_BYTES:
        raise _unreadable(str(path), f"it has more than {FILE_BYTES:,} bytes")
    base = f"{path.parent.absolute().as_uri()}/"
    return _links(str(path), _html_entries(str(path), content), project, lambda text: _place(urljoin(base, text)))


def _unreadable(place: str, reason: str) -> Fault:
    return Fault.at(INDEX_UNREADABLE, f"{place} is not a page of a package index: {reason}")


def _links(
    place: str, entries: Iterable[Mapping[str, object]], project: str, place_of: Callable[[str], str | Path]
) -> list[WheelLink]:
    """The links of a project's wheels, from links as a page in JSON states them. Other files are passed over."""
    links: list[WheelLink] = []
    for entry in entries:
        name = entry.get("filename")
        if not isinstance(name, str) or len(name) > _LONGEST_NAME or not _FILE_NAME.fullmatch(name):
            continue
        try:
            project_name, version, _, _ = parse_wheel_filename(name)
        except ValueError:
            continue
        if project_name != canonicalize_name(project):
            continue
        if len(links) == _MOST_LINKS:
            raise _unreadable(place, f"it has more than {_MOST_LINKS:,} wheels of `{project}`")
        try:
            links.append(_link(WheelLink(name, version), entry, place_of))
        except ValueError as error:
            links.append(WheelLink(name, version, refused=str(error)))
    return links


def _link(link: WheelLink, entry: Mapping[str, object], place_of: Callable[[str], str | Path]) -> WheelLink:
    """A link with its fields, which are checked. Raises ValueError for the first wrong one."""
    url, base, size, yanked = entry.get("url"), entry.get("base"), entry.get("size"), entry.get("yanked")
    hashes = entry.get("hashes", {})
    digest = hashes.get("sha256") if isinstance(hashes, dict) else hashes
    if not isinstance(url, str):
        raise ValueError("its address is not a text")
    if digest is not None and not (isinstance(digest, str) and _SHA256.fullmatch(digest)):
        raise ValueError("its SHA-256 is not 64 hexadecimal digits")
    if size is not None and (type(size) is not int or not 0 <= size < _LARGEST):
        raise ValueError("its size is not a number of bytes")
    return link._replace(
        place=place_of(urljoin(base, url) if isinstance(base, str) else url),
        sha256=digest and digest.lower(),
        size=size,
        yanked=(yanked if isinstance(yanked, str) else "") if yanked else None,
    )


def _json_entries(place: str, content: bytes) -> list[Mapping[str, object]]:
    try:
        root = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise _unreadable(place, str(error)) from None
    files = root.get("files") if isinstance(root, dict) else None
    if not isinstance(files, list) or not all(isinstance(entry, dict) for entry in files):
        raise _unreadable(place, "it has no list of `files`")
    return [{**entry, "base": None} for entry in files]


class _HtmlLinks(HTMLParser):
    """The links of a page in HTML (PEP 503)."""

    def __init__(self) -> None:
        super().__init__()
        self.base: str | None = None
        self.entries: list[Mapping[str, object]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Adds a link, or takes the first base of the page."""
        attributes = dict(reversed(attrs))
        href = attributes.get("href") or ""
        if tag == "base":
            self.base = self.base or href
        elif tag == "a" and ".whl" in href:
            url, _, fragment = href.partition("#")
            name = unquote(url.partition("?")[0].rpartition("/")[2])
            hashes = dict(part.split("=", 1) for part in fragment.split("&") if "=" in part)
            yanked = "data-yanked" in attributes and (attributes["data-yanked"] or True)
            self.entries.append({"filename": name, "url": url, "hashes": hashes, "yanked": yanked, "base": self.base})


def _html_entries(place: str, content: bytes) -> list[Mapping[str, object]]:
    parser = _HtmlLinks()
    try:
        parser.feed(content.decode("utf-8", "replace"))
    except AssertionError as error:
        # Some releases of Python do not read all declarations.
        raise _unreadable(place, str(error)) from None
    return parser.entries


def find_wheel(version: str, client: Client, project: str = PYTORCH, sink: Diagnostics | None = None) -> WheelLink:
    """The wheel of a version of a project that is cheapest to read, for any platform.

    Folders on this machine are searched first; servers are asked only if none has the version. The sink gets a warning
    for each index that pip would not trust (W0504). Raises Fault if no index answers (E0508), none has the version
    (E0506), or it is yanked (E0507), or all links to it are refused (E0519).
    """
    wanted = Version(version)
    places = _link_sources(client, project)
    failures: list[Fault] = []
    links = _links_at([place for place in places if isinstance(place, Path)], client, project, failures)
    best = _cheapest(links, wanted)
    if best is not None:
        return best
    links += _links_at([place for place in places if isinstance(place, str)], client, project, failures)
    best = _cheapest(links, wanted) or _cheapest(links, wanted, builds=True)
    if best is None:
        name = "PyTorch" if project == PYTORCH else f"`{project}`"
        raise _no_wheel(name, wanted, links, failures, bool(client.settings.indexes))
    for failure in failures:
        diagnostic = failure.diagnostic
        if sink is not None and diagnostic.code == INSECURE_INDEX:
            reason = diagnostic.message.removeprefix("no request was sent: ")
            sink.warning(INDEX_IGNORED, f"a package index is ignored: {reason}", help=diagnostic.help)
    return best


def offered_by_indexes(client: Client) -> set[Version]:
    """The versions of PyTorch that pip would find. Raises Fault if an index does not answer (E0508, E0518)."""
    failures: list[Fault] = []
    links = _links_at(_link_sources(client, PYTORCH), client, PYTORCH, failures)
    if failures:
        raise failures[0]
    return {link.version for link in links if _is_usable(link)}


def _links_at(places: Iterable[str | Path], client: Client, project: str, failures: list[Fault]) -> list[WheelLink]:
    """The links at some places. Adds the faults of servers that do not answer to the failures."""
    links: list[WheelLink] = []
    for place in places:
        try:
            if isinstance(place, Path):
                links += _local_links(place, project)
            else:
                links += client.page(place, _ACCEPTED, lambda page: links_of_page(page, project)) or []
        except Fault as fault:
            if fault.diagnostic.code not in (DOWNLOAD_SHORT, INDEX_SILENT, INSECURE_INDEX):
                raise
            failures.append(fault)
    return links


def _link_sources(client: Client, project: str) -> list[str | Path]:
    """The places on this machine and on servers where pip would look for links to a project's wheels.

    Raises Fault if pip's settings contain one that cannot be read (E0516).
    """
    settings = client.settings
    texts = (*settings.find_links, *(f"{url}/{canonicalize_name(project)}/" for url in settings.indexes))
    try:
        return [_place(text) for text in texts]
    except ValueError as error:
        raise Fault.at(BAD_PIP_SETTINGS, f"pip's settings name an index whose address {error}") from None


def _place(text: str) -> str | Path:
    """The address on a server or the path on this machine that a text is: an address, a path, or a `file:` address.

    >>> _place("https://pypi.org/simple"), _place("file:///wheels/a%20b").as_posix()
    ('https://pypi.org/simple', '/wheels/a b')
    """
    text = text.strip()
    is_file = text.startswith("file:")
    # A drive letter looks like a scheme.
    if re.match(r"[a-zA-Z][\w+.-]+:", text) and not is_file:
        return read_url(text)
    path = url2pathname(urlsplit(text).path) if is_file else os.path.expanduser(text)
    if "\0" in path:
        raise ValueError("cannot be read: it contains control characters")
    return Path(os.path.abspath(path))


def _local_links(path: Path, project: str) -> list[WheelLink]:
    """The wheels in a folder, or those that an index page or a folder's index page links to."""
    page = path / "index.html" if path.is_dir() else path
    try:
        with page.open("rb") as stream:
            return links_of_file(stream.read(FILE_BYTES + 1), page, project)
    except OSError:
        pass
    try:
        names = sorted(os.listdir(path))
    except OSError:
        return []
    return _links(str(path), ({"filename": name, "url": name} for name in names), project, lambda name: path / name)


def _is_version(version: Version, wanted: Version, *, builds: bool) -> bool:
    """Whether a version is the wanted one; with `builds`, or a build of it (`2.13.0+cpu`)."""
    return version == wanted or (builds and version.local is not None and Version(version.public) == wanted)


def _is_usable(link: WheelLink) -> bool:
    return link.yanked is None and not link.refused


def _cheapest(links: Iterable[WheelLink], wanted: Version, *, builds: bool = False) -> WheelLink | None:
    usable = (link for link in links if _is_usable(link) and _is_version(link.version, wanted, builds=builds))
    return min(usable, key=_cost, default=None)


def _cost(link: WheelLink) -> tuple[bool, bool, int, int, str]:
    """The key that sorts links: files on this machine first, then by size, or by platform if sizes are unknown.

    Wheels for Windows come last: their inputs have other line breaks, which change the byte offsets in diagnostics.
    """
    platform = link.file_name.rpartition("-")[2]
    rank = next((rank for rank, word in enumerate(_PLATFORMS_BY_SIZE) if word in platform), len(_PLATFORMS_BY_SIZE))
    on_server = not isinstance(link.place, Path)
    return on_server, platform.startswith("win"), link.size or _LARGEST, rank, link.file_name


def _no_wheel(name: str, wanted: Version, links: list[WheelLink], failures: list[Fault], has_index: bool) -> Fault:
    """The fault for a project's version that no index offers, or offers only as yanked or by links that are refused."""
    notes = [failure.diagnostic.message for failure in failures]
    usable = [link for link in links if not link.refused]
    near = _near(wanted, usable)
    for link in links:
        if link.refused and _is_version(link.version, wanted, builds=True):
            message = f"the link to `{link.file_name}` is refused: {link.refused}"
            return Fault.at(LINK_REFUSED, message, notes=notes, help=THREE_WAYS)
    withdrawn = [link for link in usable if _is_version(link.version, wanted, builds=True)]
    if withdrawn:
        reason = next((f": {link.yanked}" for link in withdrawn if link.yanked), "")
        return Fault.at(YANKED_VERSION, f"{name} {wanted} was withdrawn{reason}", notes=notes, help=near)
    if failures and not usable:
        return Fault(failures[0].diagnostic._replace(notes=tuple(notes[1:])))
    if not usable:
        notes.append(f"there is no wheel of {name} at all where pip would look")
    if not has_index:
        notes.append("pip's settings turn package indexes off")
    return Fault.at(UNKNOWN_VERSION, f"no package index has {name} {wanted}", notes=notes, help=near or THREE_WAYS)


def _near(wanted: Version, links: list[WheelLink]) -> str:
    """A sentence that lists the offered versions nearest to one."""
    ordered = sorted({link.version for link in links if link.yanked is None})
    if not ordered:
        return ""
    below = [version for version in ordered if version < wanted][-3:]
    above = [version for version in ordered if version > wanted][:3]
    return "versions near it: " + ", ".join(str(version) for version in below + above)
