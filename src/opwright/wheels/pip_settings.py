"""The package indexes that pip would use, and their settings, from pip's configuration files and environment.

The rules are pip's: global files, then the user's, then the environment's (`sys.prefix`), then `PIP_CONFIG_FILE`, then
`PIP_*` variables; later settings replace earlier ones. In a file, `[install]` replaces `[global]`.
"""

from __future__ import annotations

import configparser
import math
import os
import sys
from typing import Final, NamedTuple

from platformdirs import site_config_dir, site_data_dir, user_config_dir

from opwright.source.codes import BAD_PIP_SETTINGS
from opwright.source.diagnostic import Fault, shorten

_DEFAULT_INDEX: Final = "https://pypi.org/simple"
_DEFAULT_TIMEOUT: Final = 15.0
_LONGEST_TIMEOUT: Final = 86_400.0
_FALSE_WORDS: Final = ("", "0", "false", "no", "off", "n", "f")


class IndexSettings(NamedTuple):
    """Where to look for wheels, and how to reach servers."""

    indexes: tuple[str, ...]
    find_links: tuple[str, ...] = ()
    certificates: str | None = None
    client_certificate: str | None = None
    proxy: str | None = None
    trusted_hosts: tuple[str, ...] = ()
    timeout: float = _DEFAULT_TIMEOUT
    require_hashes: bool = False


def load_index_settings() -> IndexSettings:
    """pip's settings.

    Raises Fault if one of pip's configuration files is malformed, or a setting has a value that it cannot have (E0516).
    """
    values: dict[str, str] = {}
    for path in _configuration_files():
        values.update(_file_values(path))
    for name, value in os.environ.items():
        if name.startswith("PIP_") and value and name != "PIP_CONFIG_FILE":
            values[_normal(name.removeprefix("PIP_"))] = value
    is_on = {name: values.get(name, "").lower() not in _FALSE_WORDS for name in ("no-index", "require-hashes")}
    indexes = (values.get("index-url", _DEFAULT_INDEX), *values.get("extra-index-url", "").split())
    certificates = values.get("cert") or os.environ.get("REQUESTS_CA_BUNDLE") or os.environ.get("CURL_CA_BUNDLE")
    return IndexSettings(
        indexes=() if is_on["no-index"] else tuple(url.rstrip("/") for url in indexes),
        find_links=tuple(values.get("find-links", "").split()),
        certificates=os.path.expanduser(certificates) if certificates else None,
        client_certificate=os.path.expanduser(values["client-cert"]) if "client-cert" in values else None,
        proxy=values.get("proxy"),
        trusted_hosts=tuple(values.get("trusted-host", "").split()),
        timeout=_timeout(values.get("timeout") or values.get("default-timeout")),
        require_hashes=is_on["require-hashes"],
    )


def _timeout(text: str | None) -> float:
    try:
        seconds = float(text) if text else _DEFAULT_TIMEOUT
    except ValueError:
        seconds = math.nan
    if not seconds > 0:
        message = f"pip's setting `timeout` is `{shorten(text or '')}`, which is not a number of seconds above 0"
        raise Fault.at(BAD_PIP_SETTINGS, message, help="write it like `PIP_TIMEOUT=15`")
    return min(seconds, _LONGEST_TIMEOUT)


def _configuration_files() -> list[str]:
    """The files that pip reads, in the order in which they override each other."""
    named = os.environ.get("PIP_CONFIG_FILE")
    if named == os.devnull:
        return []
    folders = _machine_folders()
    # pip ignores the user's files if `PIP_CONFIG_FILE` names a file that exists.
    if not named or not os.path.exists(named):
        user = user_config_dir("pip", appauthor=False, roaming=True)
        if sys.platform == "darwin" and not os.path.isdir(user):
            user = os.path.expanduser("~/.config/pip")
        folders += [os.path.expanduser("~/pip" if sys.platform == "win32" else "~/.pip"), user]
    file_name = "pip.ini" if sys.platform == "win32" else "pip.conf"
    files = [os.path.join(folder, file_name) for folder in (*folders, sys.prefix)]
    return [*files, named] if named else files


def _machine_folders() -> list[str]:
    if sys.platform == "win32":
        return [site_config_dir("pip", appauthor=False)]
    if sys.platform == "darwin":
        return site_data_dir("pip", appauthor=False, multipath=True).split(os.pathsep)
    return [*site_config_dir("pip", appauthor=False, multipath=True).split(os.pathsep), "/etc"]


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
    sections = [section for section in ("global", "install") if parser.has_section(section)]
    return {_normal(key): value for section in sections for key, value in parser.items(section) if value}


def _normal(key: str) -> str:
    """A setting's name in the form in which pip compares names.

    >>> _normal("EXTRA_INDEX_URL")
    'extra-index-url'
    """
    return key.lower().replace("_", "-").removeprefix("--")
