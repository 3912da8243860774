"""Ranges of versions: the operators of Python packages, series without patch numbers, and places of mistakes."""

from __future__ import annotations

from itertools import product

import pytest
from packaging.specifiers import SpecifierSet

from opwright.release.version import Version, parse_version
from opwright.release.version_range import RangeFault, ReleaseSpan, parse_version_range

VERSIONS = [Version(2, minor, patch) for minor in range(8, 18) for patch in range(4)]
BOUNDS = [f"{operator}{number}" for operator in (">=", "<=", "==", "!=", ">", "<") for number in ("2.13", "2.13.1")]
SPANS = [
    ReleaseSpan(*[None if text is None else parse_version(text) for text in texts])
    for texts in product((None, "2.11", "2.13.1", "2.14"), (None, "2.9", "2.13", "2.14.2"))
]


@pytest.mark.parametrize("text", [*BOUNDS, ">=2.10, <2.13.2", "!=2.12,!=2.13.0 , <2.14"])
def test_bounds_are_those_of_packages(text: str) -> None:
    """A bound allows what pip would; one without patch number is about whole series, so it sees no patch numbers."""
    allowed = parse_version_range(text)
    for version in VERSIONS:
        expected = all(
            SpecifierSet(bound).contains(".".join(map(str, version if bound.count(".") == 2 else version[:2])))
            for bound in text.split(",")
        )
        assert allowed.includes(version) is expected, version


@pytest.mark.parametrize(
    ("text", "part", "help"),
    [
        (">=2.10,2.15", "2.15", "write a bound, such as `<2.15`"),
        (">=2.10,  ~=2.15 ,<3.0", "~=2.15", "write a bound, such as `<2.15`"),
        (" 2.10 ,<3.0", "2.10", "write a bound, such as `<2.15`"),
        (">=2.10,,<3.0", "", 'write it like `">=2.10,<2.15"`'),
        ("2.10", "2.10", 'write it like `">=2.10,<2.15"`'),
        (">=2", ">=2", 'write it like `">=2.10,<2.15"`'),
        ("", "", 'write it like `">=2.10,<2.15"`'),
        (">=2.10" + " " * 195, ">=2.10" + " " * 195, 'write it like `">=2.10,<2.15"`'),
    ],
)
def test_a_fault_is_at_the_part_that_is_no_bound(text: str, part: str, help: str) -> None:
    """A fault has the place of the part, without blanks; what is too long to be a range is a fault as a whole."""
    with pytest.raises(RangeFault) as raised:
        parse_version_range(text)
    fault = raised.value
    assert (text[fault.start : fault.end], fault.help(text)) == (part, help)
    assert fault.start == (text.index(",,") + 1 if ",," in text else text.index(part))


def test_a_range_of_200_characters_is_read() -> None:
    """Blanks count, and so many are fine."""
    assert parse_version_range(">=2.10" + " " * 194).includes(parse_version("2.10"))


@pytest.mark.parametrize("span", SPANS)
def test_spans_are_about_series(span: ReleaseSpan) -> None:
    """A span has the series from its first to the one before its end, and what it shares with others is among them."""
    since, until = span
    members = {
        version
        for version in VERSIONS
        if (since is None or version[:2] >= since[:2]) and (until is None or version[:2] < until[:2])
    }
    assert {version for version in VERSIONS if span.includes(version)} == members
    assert span.is_empty is (not members)
    for other in SPANS:
        assert span.overlaps(other) is any(map(other.includes, members)), other
    for text in (*BOUNDS, "==2.13.1", ">2.13.0,<2.14", ">2.10,<2.11", ">=2.13,<2.13.1", "<2.9", ">2.16.1"):
        allowed = parse_version_range(text)
        # A span without bounds restricts nothing, so it is not at fault for a range without versions.
        assert span.meets(allowed) is (span == ReleaseSpan() or any(map(allowed.includes, members))), text
