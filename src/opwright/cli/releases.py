"""List PyTorch releases: which the package index offers, which are cached, and the rules of each.

  opwright releases                 all known, offered or cached releases
  opwright releases 2.14            every behaviour of 2.14
  opwright releases 2.12 2.14       the differences between two releases
  opwright releases --stable-headers 2.10.0
                                    the folder of the headers of its stable C++ API, read from its wheel

The package index is the one that pip uses."""

from __future__ import annotations

import argparse
import textwrap
from collections.abc import Iterable, Iterator

from opwright.cli import console
from opwright.release.behaviour import Behaviour, Change
from opwright.release.rules import Rules
from opwright.release.user_cache import cache_folder
from opwright.release.version import NEWEST, OLDEST, Version, check_supported, parse_version
from opwright.source.codes import BAD_RELEASE
from opwright.source.diagnostic import Diagnostics, Fault
from opwright.source.snippet import readable
from opwright.source.terminal import print_document, tell
from opwright.wheels.cache import cached_versions
from opwright.wheels.fetch import offered_versions, stable_headers

_WIDTH = 100


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument(
        "releases",
        metavar="RELEASE",
        nargs="*",
        help="a release such as 2.14: list its rules; two releases: list what differs",
    )
    parser.add_argument(
        "--stable-headers",
        metavar="VERSION",
        help="print the folder of the headers of this version's stable C++ API, read from its wheel at the index",
    )
    parser.add_argument("--offline", action="store_true", help="do not ask the package index")


def run(arguments: argparse.Namespace, sink: Diagnostics) -> int:
    """Print the list, or the rules of the releases that are named."""
    if arguments.stable_headers is not None:
        print_document(f"{stable_headers(arguments.stable_headers)}\n")
        return console.SUCCESS
    chosen = [check_supported(text, sink) for text in arguments.releases]
    if len(chosen) > 2:
        raise Fault.at(BAD_RELEASE, f"{len(chosen)} releases are named", help="name one, or two to compare")
    if not chosen:
        tell(*_listing(arguments.offline))
    elif len(chosen) == 1:
        tell(*_rules_of(chosen[0]))
    else:
        tell(*_differences(*chosen))
    return console.SUCCESS


def _listing(offline: bool) -> Iterator[str]:
    """Table of releases, newest first."""
    complaint = ""
    offered: tuple[str, ...] = ()
    if not offline:
        try:
            offered = offered_versions()
        except Fault as fault:
            complaint = readable(fault.diagnostic.message)
    cached = cached_versions()
    from packaging.version import Version as PackageVersion

    yield f"{'release':<12}{'rules':<8}{'index':<10}cache"
    for version in sorted({*offered, *cached}, key=PackageVersion, reverse=True):
        try:
            rules = series_followed(parse_version(version))
        except Fault:
            # It is not one of PyTorch's.
            continue
        if rules is None:
            continue
        states = ("offered" if version in offered else "-", "cached" if version in cached else "-")
        yield f"{version:<12}{rules:<8}{states[0]:<10}{states[1]}"
    yield ""
    yield f"Rules are known for {OLDEST.series} to {NEWEST.series}; `opwright releases {NEWEST.series}` lists them."
    yield f"The cache is {cache_folder()}."
    if offline or complaint:
        yield "The package index was not asked." if offline else f"Of the index nothing is known: {complaint}."


def _rules_of(version: Version) -> Iterator[str]:
    """Each behaviour with its value in a release, and since when it has it."""
    rules = Rules(version)
    yield f"PyTorch {version.series}"
    for row in Rules.rows():
        yield ""
        yield f"{row.name}: {_value_text(row.value_in(version))} ({holds(row, version)})"
        yield from _wrap(_explanation(row.what, row.changes))
    yield ""
    shims = len(rules.shim_tables.device) + len(rules.shim_tables.aten)
    yield f"{shims} operators have C shims; derivatives of {len(rules.complex_gradients)} hold for complex tensors."


def holds(row: Behaviour[bool] | Behaviour[int], version: Version) -> str:
    """The releases that share a release's value of a behaviour, in words.

    >>> holds(Rules.dispatcher_takes_dimnames, Version(2, 14))
    'from 2.13 on'
    """
    sinces = [change.since for change in row.changes]
    index = sinces.index(row.last_change(version).since)
    since = f"from {sinces[index]}" if index else ""
    if index + 1 < len(sinces):
        return f"{since} before {sinces[index + 1]}".lstrip()
    return f"{since} on" if since else "in every release"


def _differences(older: Version, newer: Version) -> Iterator[str]:
    changed = [row for row in Rules.rows() if row.value_in(older) != row.value_in(newer)]
    yield f"{len(changed)} behaviours differ between PyTorch {older.series} and {newer.series}"
    for row in changed:
        first, last = sorted((older[:2], newer[:2]))
        changes = [change for change in row.changes if first < change.series <= last]
        values = f"{_value_text(row.value_in(older))} -> {_value_text(row.value_in(newer))}"
        yield ""
        yield f"{row.name}: {values} (changed in {', '.join([change.since for change in changes])})"
        yield from _wrap(_explanation(row.what, changes))
    yield ""
    yield from _table_differences(Rules(older), Rules(newer))


def _explanation(what: str, changes: Iterable[Change[bool] | Change[int]]) -> str:
    return " ".join([what, *(change.why for change in changes if change.why)])


def _value_text(value: int) -> str:
    return ("yes" if value else "no") if isinstance(value, bool) else str(value)


def _wrap(text: str) -> list[str]:
    return textwrap.wrap(text, _WIDTH, initial_indent="    ", subsequent_indent="    ")


def _table_differences(older: Rules, newer: Rules) -> Iterator[str]:
    """Operators by which the tables differ."""
    for title, before, after in (
        ("C shims", _shims(older), _shims(newer)),
        ("derivatives for complex tensors", set(older.complex_gradients), set(newer.complex_gradients)),
    ):
        marked = [*(f"+{name}" for name in sorted(after - before)), *(f"-{name}" for name in sorted(before - after))]
        yield from _wrap(f"{title}: {' '.join(marked) or 'the same'}")


def _shims(rules: Rules) -> set[str]:
    """Operators with shims; a further version of a shim counts as one more."""
    return {
        name if version is None else f"{name} ({version})"
        for operators in (rules.shim_tables.device, rules.shim_tables.aten)
        for name, operator in operators.items()
        for version in (None, *(shim_version.name for shim_version in operator.versions))
    }


def series_followed(version: Version) -> str | None:
    """The release whose rules a version follows: its own or the newest one known; None if it is too old.

    >>> series_followed(Version(2, 13, 1)), series_followed(Version(2, 3))
    ('2.13', None)
    >>> series_followed(Version(3, 0)) == NEWEST.series
    True
    """
    if version < OLDEST:
        return None
    return min(version, NEWEST, key=lambda version: version[:2]).series
