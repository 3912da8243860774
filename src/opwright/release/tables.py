"""Tables of operators that differ between releases, kept as text in `data/`.

They are facts about PyTorch that stand neither in its YAML nor in its templates.
"""

from __future__ import annotations

import os
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from opwright.release.version import Version, parse_version

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["ShimOperator", "ShimVersion", "complex_gradients", "formula_helpers", "shim_operators"]

_DATA = os.path.join(os.path.dirname(os.path.abspath(__file__)), "data")

# From here on, what was added to the C shims is guarded by the version of the stable interface.
_FIRST_WITH_GUARDS = Version(2, 13)


class ShimVersion(NamedTuple):
    """A further version of a shim: its name (`v2`), the arguments it adds, and the release that guards it, or None."""

    name: str
    new_arguments: tuple[str, ...]
    guard: str | None


class ShimOperator(NamedTuple):
    """An operator with a C shim: the release (`2.12`) that guards the shim, or None, and its further versions."""

    guard: str | None
    versions: tuple[ShimVersion, ...]


def complex_gradients(version: Version) -> frozenset[str]:
    """The operators whose derivative formulas hold for complex tensors in a release.

    >>> "ldexp" in complex_gradients(Version(2, 10)), "ldexp" in complex_gradients(Version(2, 11))
    (False, True)
    """
    return _complex_gradients(_series(version))


@cache
def _complex_gradients(series: Version) -> frozenset[str]:
    names = []
    for name, *words in _rows("complex_gradients.txt"):
        bounds = dict(zip(words[::2], words[1::2], strict=True))
        since, until = bounds.get("since"), bounds.get("until")
        if (since is None or series >= parse_version(since)) and (until is None or series < parse_version(until)):
            names.append(name)
    return frozenset(names)


@cache
def formula_helpers() -> frozenset[str]:
    """The functions that derivative formulas can call besides operators, in any release.

    >>> "pow_backward" in formula_helpers()
    True
    """
    return frozenset(name for name, *_ in _rows("formula_helpers.txt"))


def shim_operators(version: Version, family: str) -> Mapping[str, ShimOperator]:
    """The operators with a C shim in a release, by `namespace.name.overload`, in that order.

    The family is `device` for shims that each device has, `aten` for those that there is one of.

    >>> shim_operators(Version(2, 12), "device")["aten._flash_attention_forward.default"].versions[0].new_arguments
    ('block_table', 'num_splits')
    >>> shim_operators(Version(2, 13), "aten")["aten.full.default"]
    ShimOperator(guard='2.10', versions=())
    """
    return _shim_operators(_series(version), family)


@cache
def _shim_operators(series: Version, family: str) -> Mapping[str, ShimOperator]:
    operators: dict[str, ShimOperator] = {}
    section = ""
    for name, *words in _rows("c_shim_operators.txt"):
        if name.startswith("["):
            section = name.strip("[]")
            continue
        since = words.pop(1) if words[:1] == ["since"] else None
        if section != family or (since is not None and series < parse_version(since)):
            continue
        guarded = series >= _FIRST_WITH_GUARDS
        versions = tuple(_shim_versions(words[1:] if since else words, series, guarded))
        operators[name] = ShimOperator(since if guarded else None, versions)
    return operators


def _shim_versions(words: list[str], series: Version, guarded: bool) -> Iterator[ShimVersion]:
    """The further versions that a row's words name: `v2 since 2.12 guard 2.13 adds a,b`, any number of times."""
    at = 0
    while at < len(words):
        name, stop = words[at], words.index("adds", at)
        bounds = dict(zip(words[at + 1 : stop : 2], words[at + 2 : stop : 2], strict=True))
        if series >= parse_version(bounds["since"]):
            guard = bounds.get("guard", bounds["since"])
            yield ShimVersion(name, tuple(words[stop + 1].split(",")), guard if guarded else None)
        at = stop + 2


def _series(version: Version) -> Version:
    """The version without its patch number, so that patch releases share their tables."""
    return Version(version.major, version.minor)


def _rows(file_name: str) -> Iterator[list[str]]:
    """The words of each line of a data file; comments and empty lines are left out."""
    with open(os.path.join(_DATA, file_name), encoding="utf-8") as stream:
        for line in stream:
            if not line.startswith("#") and (words := line.split()):
                yield words
