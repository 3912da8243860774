"""The choice of the wheel for a version, among the links of package indexes."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from packaging.version import Version

from opwright.release.addresses import BadAddressError, parse_place
from opwright.release.index_page import ACCEPTED, PageLinks, links_of_file, links_of_folder, links_of_page, page_name
from opwright.release.transport import InsecureError, NotFoundError, TransportError, transport_fault
from opwright.release.view import THREE_WAYS
from opwright.source.codes import BAD_PIP_SETTINGS, INDEX_IGNORED, LINK_REFUSED, UNKNOWN_VERSION, YANKED_VERSION
from opwright.source.diagnostic import Fault
from opwright.source.limits import FILE_BYTES

if TYPE_CHECKING:
    from collections.abc import Iterable

    from opwright.release.addresses import Address
    from opwright.release.index_page import WheelLink
    from opwright.release.pip_settings import IndexSettings
    from opwright.release.transport import Transport
    from opwright.source.diagnostic import Diagnostics

__all__ = ["PYTORCH", "find_wheel", "wheel_links"]

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
