"""The wheel of a version, found where pip would look: in a folder, or on a server that sends parts or the whole."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import IO, TYPE_CHECKING, NamedTuple, cast

from urllib3.util import parse_url

from opwright.source.codes import BAD_WHEEL, DOWNLOAD_ALTERED, HASH_MISSING, WHOLE_WHEEL_DECLINED
from opwright.source.diagnostic import Fault
from opwright.wheels.client import Client, RangesRefusedError, RemoteFile, bare
from opwright.wheels.index import find_wheel
from opwright.wheels.pip_settings import load_index_settings
from opwright.wheels.wheel import Wheel

if TYPE_CHECKING:
    from opwright.release.view import Consent
    from opwright.source.diagnostic import Diagnostics
    from opwright.wheels.index import WheelLink


class ChosenWheel(NamedTuple):
    """A wheel that is open, and its link; if it is on a server, its address without user, and the host.

    `is_checked` says whether its SHA-256 is the index's.
    """

    wheel: Wheel
    link: WheelLink
    is_checked: bool
    url: str = ""
    host: str | None = None


def choose_wheel(project: str, version: str, consent: Consent, sink: Diagnostics | None = None) -> ChosenWheel:
    """The wheel of a version of a project, read in parts if the server supports that, else as a whole download if the
    user agrees.
    """
    client = Client(load_index_settings())
    link = find_wheel(version, client, project, sink)
    require_hash = consent.require_hashes or client.settings.require_hashes
    if require_hash and link.sha256 is None:
        raise Fault.at(HASH_MISSING, f"no package index gives a SHA-256 of `{link.file_name}`")
    if isinstance(link.place, Path):
        if require_hash:
            _check_hash(link, _file_hash(link.place))
        return ChosenWheel(Wheel(str(link.place), str(link.place)), link, require_hash)
    url, host = bare(link.place), parse_url(link.place).host
    if not require_hash:
        try:
            remote = RemoteFile(client, link.place)
            return ChosenWheel(Wheel(link.file_name, cast("IO[bytes]", remote), remote.load), link, False, url, host)
        except RangesRefusedError as refused:
            size = refused.size or link.size
        if consent.ask_whole is None or not consent.ask_whole(link.file_name, size):
            raise _refusal(link, size)
    wheel = Wheel(link.file_name, _whole(client, link, link.place))
    return ChosenWheel(wheel, link, link.sha256 is not None, url, host)


def _refusal(link: WheelLink, size: int | None) -> Fault:
    extent = f", {size / 1e6:.0f} MB," if size else ""
    return Fault.at(
        WHOLE_WHEEL_DECLINED,
        f"the server sends only the whole of `{link.file_name}`{extent} and that was not agreed to",
        help="agree with `--yes`, or download the wheel and name it with `--torch FILE.whl`",
    )


def _whole(client: Client, link: WheelLink, url: str) -> IO[bytes]:
    """Downloads the wheel to a temporary file and checks it against the index's digest."""
    stream, digest = client.whole(url)
    try:
        _check_hash(link, digest)
    except Fault:
        stream.close()
        raise
    return stream


def _file_hash(path: Path) -> str:
    """The SHA-256 of a wheel on this machine, in hexadecimal."""
    digest = hashlib.sha256()
    try:
        with path.open("rb") as stream:
            while chunk := stream.read(1 << 20):
                digest.update(chunk)
    except OSError as error:
        raise Fault.at(BAD_WHEEL, f"cannot read the wheel `{path}`: {error.strerror or error}") from None
    return digest.hexdigest()


def _check_hash(link: WheelLink, digest: str) -> None:
    """Compares the SHA-256 of a whole wheel with the index's, if that is given."""
    if link.sha256 is not None and digest != link.sha256:
        raise Fault.at(
            DOWNLOAD_ALTERED,
            f"`{link.file_name}` is damaged: its SHA-256 differs from the index's",
            notes=[f"the index says {link.sha256}, the wheel has {digest}"],
            help="try again, or take it from another index",
        )
