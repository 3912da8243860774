"""The package indexes that pip would use, and their settings, from pip's configuration files and environment.

The rules are pip's: global files, then the user's, then the environment's (`sys.prefix`), then `PIP_CONFIG_FILE`, then
`PIP_*` variables; later settings replace earlier ones. In a file, `[install]` replaces `[global]`.
"""

from __future__ import annotations

import configparser
import math
import os
import sys
from typing import TYPE_CHECKING, NamedTuple

from opwright.release.addresses import BadAddressError, TrustedHost, parse_trusted_host
from opwright.source.codes import BAD_PIP_SETTINGS
from opwright.source.diagnostic import Fault, shorten

if TYPE_CHECKING:
    from collections.abc import Mapping

_DEFAULT_INDEX = "https://pypi.org/simple"
_DEFAULT_TIMEOUT = 15.0
_LONGEST_TIMEOUT = 86_400.0
_FALSE_WORDS = ("", "0", "false", "no", "off", "n", "f")


class IndexSettings(NamedTuple):
    """Where to look for wheels, and how to reach servers."""

    indexes: tuple[str, ...]
    find_links: tuple[str, ...] = ()
    certificates: str | None = None
    client_certificate: str | None = None
    proxy: str | None = None
    trusted_hosts: tuple[TrustedHost, ...] = ()
    timeout: float = _DEFAULT_TIMEOUT
    require_hashes: bool = False


def load_index_settings(environ: Mapping[str, str] = os.environ) -> IndexSettings:
    """pip's settings with these environment variables.

    Raises Fault if one of pip's configuration files is malformed, or a setting has a value that it cannot have (E0516).
    """
    values: dict[str, str] = {}
    for path in _configuration_files(environ):
        values.update(_file_values(path))
    values.update(_environment_values(environ))
    indexes = (values.get("index-url", _DEFAULT_INDEX), *values.get("extra-index-url", "").split())
    if _is_on(values, "no-index"):
        indexes = ()
    certificates = values.get("cert") or environ.get("REQUESTS_CA_BUNDLE") or environ.get("CURL_CA_BUNDLE")
    return IndexSettings(
        indexes=tuple(url.rstrip("/") for url in indexes),
        find_links=tuple(values.get("find-links", "").split()),
        certificates=os.path.expanduser(certificates) if certificates else None,
        client_certificate=os.path.expanduser(values["client-cert"]) if values.get("client-cert") else None,
        proxy=values.get("proxy"),
        trusted_hosts=tuple(_trusted_host(text) for text in values.get("trusted-host", "").split()),
        timeout=_timeout(values.get("timeout") or values.get("default-timeout")),
        require_hashes=_is_on(values, "require-hashes"),
    )


def _is_on(values: Mapping[str, str], name: str) -> bool:
    return values.get(name, "").lower() not in _FALSE_WORDS


def _trusted_host(text: str) -> TrustedHost:
    try:
        return parse_trusted_host(text)
    except BadAddressError as error:
        raise Fault.at(BAD_PIP_SETTINGS, f"pip's settings name a trusted host whose address {error}") from None


def _timeout(text: str | None) -> float:
    """The seconds of pip's setting `timeout`."""
    try:
        seconds = float(text) if text else _DEFAULT_TIMEOUT
    except ValueError:
        seconds = math.nan
    if not seconds > 0:
        message = f"pip's setting `timeout` is `{shorten(text or '')}`, which is not a number of seconds above 0"
        raise Fault.at(BAD_PIP_SETTINGS, message, help="write it like `PIP_TIMEOUT=15`")
    return min(seconds, _LONGEST_TIMEOUT)


def _configuration_files(environ: Mapping[str, str]) -> list[str]:
    """The files that pip reads, in the order in which they override each other."""
    named = environ.get("PIP_CONFIG_FILE")
    if named == os.devnull:
        return []
    files = _machine_files(environ)
    # pip ignores the user's files if `PIP_CONFIG_FILE` names a file that exists.
    if not named or not os.path.exists(named):
        files += _user_files(environ)
    files.append(os.path.join(sys.prefix, _FILE_NAME))
    return [*files, named] if named else files


_FILE_NAME = "pip.ini" if sys.platform == "win32" else "pip.conf"


def _machine_files(environ: Mapping[str, str]) -> list[str]:
    if sys.platform == "win32":
        return [os.path.join(environ.get("PROGRAMDATA", r"C:\ProgramData"), "pip", _FILE_NAME)]
    if sys.platform == "darwin":
        return [os.path.join("/Library/Application Support/pip", _FILE_NAME)]
    # For pip, the first folder of the list overrides the others, and /etc overrides all.
    folders = (environ.get("XDG_CONFIG_DIRS") or "/etc/xdg").split(os.pathsep)
    return [os.path.join(folder, "pip", _FILE_NAME) for folder in folders if folder] + ["/etc/pip.conf"]


def _user_files(environ: Mapping[str, str]) -> list[str]:
    home = os.path.expanduser("~")
    if sys.platform == "win32":
        roaming = environ.get("APPDATA", os.path.join(home, "AppData", "Roaming"))
        return [os.path.join(home, "pip", _FILE_NAME), os.path.join(roaming, "pip", _FILE_NAME)]
    folder = os.path.join(environ.get("XDG_CONFIG_HOME") or os.path.join(home, ".config"), "pip")
    if sys.platform == "darwin":
        library = os.path.join(home, "Library", "Application Support", "pip")
        folder = library if os.path.isdir(library) else os.path.join(home, ".config", "pip")
    return [os.path.join(home, ".pip", _FILE_NAME), os.path.join(folder, _FILE_NAME)]


def _file_values(path: str) -> dict[str, str]:
    """The settings in one file; empty if the file does not exist."""
    parser = configparser.RawConfigParser()
    try:
        with open(path, encoding="utf-8") as stream:
            parser.read_file(stream, source=path)
    except OSError:
        return {}
    except (configparser.Error, UnicodeDecodeError) as error:
        reason = str(error).splitlines()[0]
        raise Fault.at(BAD_PIP_SETTINGS, f"pip's configuration file `{path}` cannot be read: {reason}") from None
    values: dict[str, str] = {}
    for section in ("global", "install"):
        if parser.has_section(section):
            values.update({_normal(key): value for key, value in parser.items(section) if value})
    return values


def _environment_values(environ: Mapping[str, str]) -> dict[str, str]:
    return {
        _normal(name[len("PIP_") :]): value
        for name, value in environ.items()
        if name.startswith("PIP_") and value and name != "PIP_CONFIG_FILE"
    }


def _normal(key: str) -> str:
    """A setting's name in the form in which pip compares names.

    >>> _normal("EXTRA_INDEX_URL")
    'extra-index-url'
    """
    return key.lower().replace("_", "-").removeprefix("--")
