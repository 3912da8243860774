"""Addresses on servers and paths on this machine, as pip's settings, pages of indexes and redirects name them."""

from __future__ import annotations

import ipaddress
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias
from urllib.parse import quote, unquote, urljoin, urlsplit
from urllib.request import url2pathname

from opwright.source.diagnostic import shorten

if TYPE_CHECKING:
    from collections.abc import Iterable

_LONGEST: Final = 4_000
_HOST: Final = re.compile(r"[a-z0-9_-]+(\.[a-z0-9_-]+)*\.?")
# What an address may contain besides letters, digits and `_.-~`; all else is percent-encoded.
_PLAIN: Final = "/%:@!$&'()*+,;=?"
_LOOPBACK: Final = (ipaddress.ip_network("127.0.0.0/8"), ipaddress.ip_network("::1/128"))


class BadAddressError(Exception):
    """A text that is not an address that Opwright reads; the message says why, without user name and password."""


class Address(NamedTuple):
    """An address on a server. `url` is ASCII, without user name, password and fragment."""

    url: str
    scheme: str
    host: str
    port: int | None
    user: str | None = None
    password: str = ""

    @property
    def origin(self) -> tuple[str, str, int | None]:
        """The scheme, host and port, which the owner of a user name and password gave them for."""
        return self.scheme, self.host, self.port


#: Where a page or a wheel is: on a server, or on this machine.
WheelPlace: TypeAlias = Address | Path

#: A host of pip's setting `trusted-host`, with its port if the setting has one.
TrustedHost: TypeAlias = tuple[str, int | None]


def parse_address(text: str, base: Address | None = None) -> Address:
    """The address on a server that a text is, or that it is relative to a base. Raises BadAddressError.

    >>> parse_address("https://me:secret@pypi.example.com/a b#top").url
    'https://pypi.example.com/a%20b'
    >>> parse_address("../f/é.whl", parse_address("https://[::1]:8080/simple/torch/")).url
    'https://[::1]:8080/simple/f/%C3%A9.whl'
    """
    text = text.strip()
    if len(text) > _LONGEST or not text.isprintable():
        raise _bad(text, "it is too long" if len(text) > _LONGEST else "it contains control characters")
    try:
        parts = urlsplit(text if base is None else urljoin(base.url, text))
        if parts.scheme not in ("http", "https"):
            raise _bad(text, "it is not one of `http:` or `https:`")
        port, host = parts.port, _host(parts.hostname or "")
        # Early patch releases of Python accept names in brackets.
        if "[" in parts.netloc and ":" not in host:
            raise _bad(text, "only an IPv6 address stands in brackets")
        user = None if parts.username is None else unquote(parts.username, errors="strict")
        password = unquote(parts.password or "", errors="strict")
        place = quote(parts.path or "/", safe=_PLAIN) + (f"?{quote(parts.query, safe=_PLAIN)}" if parts.query else "")
    except ValueError as error:
        raise _bad(text, str(error)) from None
    netloc = (f"[{host}]" if ":" in host else host) + ("" if port is None else f":{port}")
    return Address(f"{parts.scheme}://{netloc}{place}", parts.scheme, host, port, user, password)


def _host(name: str) -> str:
    """A host in ASCII. Raises ValueError if it is neither a name nor an IP address."""
    if ":" in name:
        if "%" in name:
            raise ValueError("it names an interface of this machine")
        return ipaddress.IPv6Address(name).compressed
    ascii_name = name.encode("idna").decode("ascii").lower()
    if not _HOST.fullmatch(ascii_name):
        raise ValueError("it has no valid host")
    return ascii_name


def parse_place(text: str, folder: Path | None = None) -> WheelPlace:
    """The address on a server or the path on this machine that a text is: an address, a path, or a `file:` address.

    Relative addresses are relative to a folder if there is one. Raises BadAddressError.

    >>> parse_place("https://pypi.org/simple").host
    'pypi.org'
    >>> parse_place("file:///wheels/a%20b").as_posix()
    '/wheels/a b'
    """
    text = text.strip()
    try:
        joined = text if folder is None else urljoin(f"{folder.absolute().as_uri()}/", text)
        parts = urlsplit(joined)
    except ValueError as error:
        raise _bad(text, str(error)) from None
    if parts.scheme == "file":
        path = url2pathname(parts.path)
    elif len(parts.scheme) > 1:
        return parse_address(joined)
    else:
        # A drive letter looks like a scheme.
        path = os.path.expanduser(text)
    if "\0" in path:
        raise _bad(text, "it contains control characters")
    return Path(os.path.abspath(path))


def _bad(text: str, reason: str) -> BadAddressError:
    shown = re.sub(r"//[^/]*@", "//", shorten(text, 100))
    return BadAddressError(f"`{shown}` cannot be read: {reason}")


def parse_trusted_host(text: str) -> TrustedHost:
    """A word of pip's setting `trusted-host`. Raises BadAddressError.

    >>> parse_trusted_host("Example.org:8080"), parse_trusted_host("::1")
    (('example.org', 8080), ('::1', None))
    """
    is_bare_ip6 = text.count(":") >= 2 and "[" not in text
    address = parse_address(f"http://[{text}]" if is_bare_ip6 else f"http://{text}")
    return address.host, address.port


def is_trusted(address: Address, trusted: Iterable[TrustedHost]) -> bool:
    """Whether pip's setting `trusted-host` has the host, with the same port or without one."""
    return any(_same_host(address.host, host) and port in (None, address.port) for host, port in trusted)


def is_secure(address: Address, trusted: Iterable[TrustedHost]) -> bool:
    """Whether pip would read an index at an address: by HTTPS, on this machine, or on a trusted host.

    >>> [is_secure(parse_address(url), ()) for url in ("https://a.org", "http://a.org", "http://127.0.0.1:80")]
    [True, False, True]
    """
    return address.scheme == "https" or _is_loopback(address.host) or is_trusted(address, trusted)


def _is_loopback(host: str) -> bool:
    ip = _ip(host)
    return host == "localhost" if ip is None else any(ip in network for network in _LOOPBACK)


def _same_host(host: str, other: str) -> bool:
    ip = _ip(host)
    return host == other if ip is None else ip == _ip(other)


def _ip(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None
