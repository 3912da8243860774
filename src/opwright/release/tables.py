"""Long tables of operators that differ between releases, kept as text in `data/`.

These facts about PyTorch are neither in its YAML nor in its templates.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache

from opwright.release.version import Version, is_between, parse_version
from opwright.source.records import NamedTuple
from opwright.source.span import Span
from opwright.source.text import read_own_text

#: The first release of the stable interface with which shims are guarded.
_FIRST_GUARDED = "2.10"


class ShimVersion(NamedTuple):
    """A further version of a shim: its name (`v2`), the arguments it adds, and the macro that guards it, or None."""

    name: str
    new_arguments: tuple[str, ...]
    guard: str | None


class ShimOperator(NamedTuple):
    """An operator with a C shim: the macro (`TORCH_VERSION_2_12_0`) that guards it, or None, and further versions."""

    guard: str | None
    versions: tuple[ShimVersion, ...]


class ShimTables(NamedTuple):
    """The operators with a C shim, by `namespace.name.overload`: with a shim per device, or one shim for all.

    `spans` has the span of each name if the tables were read from a file.
    """

    device: Mapping[str, ShimOperator]
    aten: Mapping[str, ShimOperator]
    spans: Mapping[str, Span]


def formula_helper_names(version: Version | None) -> frozenset[str]:
    """The functions that derivative formulas can call besides operators in a release, or in any release for None.

    >>> name = "grid_sampler_2d_jvp"
    >>> name in formula_helper_names(Version(2, 14)), name in formula_helper_names(Version(2, 15))
    (False, True)
    """
    return names_in("formula_helpers.txt", version)


def operators(version: Version | None) -> frozenset[str]:
    """PyTorch's own operators in a release, or in any release for None, by the names of their headers.

    >>> "qr" in operators(Version(2, 13)), "qr" in operators(Version(2, 14))
    (True, False)
    """
    return names_in("operators.txt", version)


def cpp_global_names() -> frozenset[str]:
    """The names that are functions, variables or types where PyTorch's headers are included.

    >>> {"index", "log", "FILE"} <= cpp_global_names()
    True
    """
    return names_in("cpp_global_names.txt", None)


def cpp_macros() -> frozenset[str]:
    """The names that are macros without arguments where PyTorch's headers are included.

    >>> {"errno", "linux", "EOF"} <= cpp_macros()
    True
    """
    return names_in("cpp_macros.txt", None)


@cache
def names_in(file_name: str, version: Version | None) -> frozenset[str]:
    """The names of a data file that a release has, or all names for None. Rows may have a release range."""
    names = []
    for name, *words in data_rows(__package__, file_name):
        # Nearly all rows have no range.
        bounds = dict(zip(words[::2], words[1::2], strict=True)) if words else {}
        if version is None or not bounds or is_between(version, bounds.get("since"), bounds.get("until")):
            names.append(name)
    return frozenset(names)


@cache
def shim_tables(version: Version, guarded: bool) -> ShimTables:
    """The operators with a C shim in a release, for inputs without tables of their own.

    `guarded` says whether the release guards its shims.

    >>> tables = shim_tables(Version(2, 13), True)
    >>> tables.device["aten._flash_attention_forward.default"].versions[0].new_arguments
    ('block_table', 'num_splits')
    >>> tables.aten["aten.full.default"]
    ShimOperator(guard='TORCH_VERSION_2_10_0', versions=())
    """
    sections: dict[str, dict[str, ShimOperator]] = {}
    operators: dict[str, ShimOperator] = {}
    for name, *words in data_rows(__package__, "c_shim_operators.txt"):
        if name.startswith("["):
            operators = sections[name.strip("[]")] = {}
            continue
        since = words[1] if words[:1] == ["since"] else None
        if is_between(version, since, None):
            versions = tuple(_shim_versions(words[2:] if since else words, version, guarded))
            has_guard = since is not None and guarded and is_between(parse_version(since), _FIRST_GUARDED, None)
            operators[name] = ShimOperator(_guard_macro(since) if since and has_guard else None, versions)
    return ShimTables(sections["device"], sections["aten"], {})


def _shim_versions(words: list[str], version: Version, guarded: bool) -> Iterator[ShimVersion]:
    """Parses the further versions in the words of a row: any number of `v2 since 2.12 guard 2.13 adds a,b`."""
    start = 0
    while start < len(words):
        name, stop = words[start], words.index("adds", start)
        bounds = dict(zip(words[start + 1 : stop : 2], words[start + 2 : stop : 2], strict=True))
        if is_between(version, bounds["since"], None):
            guard = _guard_macro(bounds.get("guard", bounds["since"])) if guarded else None
            yield ShimVersion(name, tuple(words[stop + 1].split(",")), guard)
        start = stop + 2


def _guard_macro(since: str) -> str:
    """The macro that guards what a release (`2.12`) added to the shims."""
    return f"TORCH_VERSION_{since.replace('.', '_')}_0"


def data_rows(package: str, file_name: str) -> Iterator[list[str]]:
    """The words of each line of a package's data file, without comments and empty lines."""
    for line in read_own_text(package, f"data/{file_name}").splitlines():
        if not line.startswith("#") and (words := line.split()):
            yield words
