"""The user's cache of inputs from package indexes.

    <cache>/releases/2.13.0/manifest.json           the wheel they came from, and the SHA-256 of each file
    <cache>/releases/2.13.0/native/tags.yaml ...    the files, by their names

Each file is replaced atomically, the manifest last. A reader compares every file with the manifest, so after a killed
or concurrent run the cache is either correct or read from the index again.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Mapping
from typing import NamedTuple

from opwright.release.user_cache import cache_folder

_FORMAT = 4
_MANIFEST = "manifest.json"


class CachedRelease(NamedTuple):
    """The cached, verified inputs of one version. `wheel_sha256` is None unless the wheel was compared with it."""

    version: str
    folder: str
    wheel: str
    url: str
    wheel_sha256: str | None
    contents: Mapping[str, bytes]


def cached_versions() -> tuple[str, ...]:
    """The versions with an entry in the cache, sorted as text. An entry may be damaged."""
    folder = os.path.join(cache_folder(), "releases")
    try:
        names = os.listdir(folder)
    except OSError:
        return ()
    return tuple(sorted(name for name in names if os.path.isfile(os.path.join(folder, name, _MANIFEST))))


def release_folder(version: str) -> str:
    """The folder of a version's entry."""
    return os.path.join(cache_folder(), "releases", version)


def load_cached(version: str) -> CachedRelease | None:
    """A version's entry, with every file checked against the manifest; None if it is missing or damaged."""
    folder = release_folder(version)
    try:
        with open(os.path.join(folder, _MANIFEST), "rb") as stream:
            manifest = json.load(stream)
        if manifest["format"] != _FORMAT or manifest["version"] != version:
            return None
        contents = {}
        for name, digest in manifest["files"].items():
            with open(os.path.join(folder, *name.split("/")), "rb") as stream:
                content = stream.read()
            if hashlib.sha256(content).hexdigest() != digest:
                return None
            contents[name] = content
        wheel, url, wheel_sha256 = manifest["wheel"], manifest["url"], manifest["wheel_sha256"]
        return CachedRelease(version, folder, wheel, url, wheel_sha256, contents) if contents else None
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        # Reading the inputs from the index again fixes any damaged entry.
        return None


def write_cached(version: str, wheel: str, url: str, wheel_sha256: str | None, contents: Mapping[str, bytes]) -> str:
    """Writes a version's inputs and returns their folder. Raises OSError if the folder cannot be written."""
    folder = release_folder(version)
    for name, content in contents.items():
        _replace(os.path.join(folder, *name.split("/")), content)
    manifest = {
        "format": _FORMAT,
        "version": version,
        "wheel": wheel,
        "url": url,
        "wheel_sha256": wheel_sha256,
        "files": {name: hashlib.sha256(content).hexdigest() for name, content in sorted(contents.items())},
    }
    _replace(os.path.join(folder, _MANIFEST), (json.dumps(manifest, indent=1) + "\n").encode())
    return folder


def _replace(path: str, content: bytes) -> None:
    folder = os.path.dirname(path)
    os.makedirs(folder, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=folder, prefix=".new-")
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(content)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise
