"""Reads what fields of a backend file have in common: words, mappings, C++ names, and values for some releases."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final

from opwright.cpp.text import is_header
from opwright.dialects.field import TEXT, Field
from opwright.dialects.names import IDENTIFIER
from opwright.release.version import Version, parse_version
from opwright.release.version_range import ReleaseSpan, VersionRange
from opwright.source import codes
from opwright.source.diagnostic import Diagnostics, Fault, Label, did_you_mean, shorten
from opwright.source.expect import check_unique_keys, expect_mapping, expect_string
from opwright.source.lazy import lazy_pattern
from opwright.source.nodes import Node, Scalar, SequenceNode, did_you_mean_key
from opwright.source.records import NamedTuple
from opwright.source.span import Span


def read_word(node: Node, what: str, words: Iterable[str], sink: Diagnostics) -> str:
    """A text that is one of some words; empty, with a diagnostic, for others."""
    scalar = expect_string(node, f"`{what}`", sink)
    if scalar is None:
        return ""
    names = list(words)
    if scalar.value in names:
        return scalar.value
    help = did_you_mean(scalar.value, names, "there are " + ", ".join([f"`{word}`" for word in names]))
    sink.error(codes.BACKEND_UNKNOWN_WORD, f"`{what}` cannot be `{scalar.value}`", scalar.span, help=help)
    return ""


def read_fields(node: Node, what: str, fields: tuple[Field, ...], sink: Diagnostics) -> dict[str, Node] | None:
    """Fields of a mapping that exist; None for other values. Unknown and missing ones go to the sink."""
    mapping = expect_mapping(node, f"`{what}`", sink)
    if mapping is None:
        return None
    check_unique_keys(mapping, sink)
    names = [field.name for field in fields]
    for key, _ in mapping.entries:
        if key.value not in names:
            message = f"unknown key `{key.value}` in `{what}`"
            sink.error(codes.BACKEND_UNKNOWN_KEY, message, key.span, help=did_you_mean_key(key, mapping, names))
    values = {key.value: value for key, value in mapping.entries if key.value in names}
    for field in fields:
        if field.is_required and field.name not in values:
            sink.error(codes.BACKEND_MISSING_KEY, f"`{what}` has no `{field.name}`", mapping.span)
    return values


def read_part(
    fields: Mapping[str, Node], name: str, read: Callable[[Node, str, Diagnostics], str], sink: Diagnostics
) -> str:
    """Text of one of the fields of a mapping; empty if it does not have the field."""
    return read(fields[name], name, sink) if name in fields else ""


_QUALIFIED: Final = lazy_pattern(rf"(?:::)?{IDENTIFIER.pattern}(?:::{IDENTIFIER.pattern})*")


def read_text(node: Node, what: str, sink: Diagnostics) -> str:
    """A text; empty, with a diagnostic, if the node is none."""
    scalar = expect_string(node, f"`{what}`", sink)
    return "" if scalar is None else scalar.value


def read_identifier(node: Node, what: str, sink: Diagnostics) -> str:
    """Name of a class, a macro or a function, without namespaces."""
    return _matching(node, what, IDENTIFIER.fullmatch, "a C++ identifier", sink)


def read_qualified_name(node: Node, what: str, sink: Diagnostics) -> str:
    """A C++ name that may have namespaces, such as `acme::empty`."""
    return _matching(node, what, _QUALIFIED.fullmatch, "a C++ name", sink)


def read_header(node: Node, what: str, sink: Diagnostics) -> str:
    """Path of a header, as an `#include` names it between its quotes."""
    return _matching(node, what, is_header, "the path of a header", sink)


def read_code(node: Node, what: str, sink: Diagnostics) -> str:
    """C++ code that the author of the file answers for: it is not empty, and has no line breaks around it."""
    scalar = expect_string(node, f"`{what}`", sink)
    if scalar is None:
        return ""
    text = scalar.value.strip()
    if not text:
        sink.error(codes.BACKEND_CPP_TEXT, f"`{what}` is empty", scalar.span)
    return text


def _matching(node: Node, what: str, has_form: Callable[[str], object], wanted: str, sink: Diagnostics) -> str:
    scalar: Scalar | None = expect_string(node, f"`{what}`", sink)
    if scalar is None:
        return ""
    if has_form(scalar.value):
        return scalar.value
    sink.error(codes.BACKEND_CPP_TEXT, f"`{shorten(scalar.value)}` is not {wanted}, which `{what}` needs", scalar.span)
    return ""


#: A release, of which patch numbers do not count.
_RELEASE: Final = lazy_pattern(r"[0-9]{1,3}\.[0-9]{1,3}(?:\.[0-9]{1,3})?")

#: YAML reads a release without quotes as a number.
_VERSION: Final = {"anyOf": [TEXT, {"type": "number"}]}
RELEASE_FIELDS: Final = (
    Field("since", "release", _VERSION, "The first release with it, such as `2.11`."),
    Field("until", "release", _VERSION, "The first release without it."),
)
VERSION_FIELDS: Final = (Field("value", "any", {}, "The value of the option.", is_required=True), *RELEASE_FIELDS)


class _Versioned(NamedTuple):
    """Something that a file has for some releases, and where it stands."""

    releases: ReleaseSpan
    at: Span
    node: Node


class Releases(NamedTuple):
    """Release of a run, the releases that a file is for, and where faults go."""

    version: Version
    torch: VersionRange
    sink: Diagnostics

    def span(self, fields: dict[str, Node]) -> ReleaseSpan | None:
        """Releases that `since` and `until` allow; None, with a diagnostic, if they are no releases in order."""
        if "since" not in fields and "until" not in fields:
            return ReleaseSpan()
        try:
            span = ReleaseSpan(_release(fields.get("since")), _release(fields.get("until")))
        except Fault as fault:
            self.sink.add(fault.diagnostic)
            return None
        if span.is_empty:
            message = f"no release is from {fields['since'].span.text} on and before {fields['until'].span.text}"
            help = "`until` is the first release without it"
            self.sink.error(codes.RELEASE, message, fields["until"].span, help=help)
            return None
        if not span.meets(self.torch):
            bound = fields.get("since") or fields["until"]
            message = "no release of `torch` is in the range"
            self.sink.error(codes.RELEASE, message, bound.span, help="delete it, or change `torch`")
            return None
        return span

    def value(self, node: Node, option: str) -> Node | None:
        """Value of an option in the release of the run; None if it has none there, or only faulty ones.

        A list has a mapping for each range of releases. Other nodes are the value in all releases, and so is a list of
        texts for `family`.
        """
        if not isinstance(node, SequenceNode):
            return node
        if option == "family" and all(isinstance(item, Scalar) for item in node.items):
            return node
        versions = [version for item in node.items if (version := self._version(item, option)) is not None]
        check_overlaps(((version.releases, version.at) for version in versions), f"values of `{option}`", self.sink)
        return next((version.node for version in versions if version.releases.includes(self.version)), None)

    def _version(self, item: Node, option: str) -> _Versioned | None:
        fields = read_fields(item, option, VERSION_FIELDS, self.sink)
        span = None if fields is None else self.span(fields)
        if fields is None or span is None or "value" not in fields:
            return None
        return _Versioned(span, item.span, fields["value"])


def check_overlaps(places: Iterable[tuple[ReleaseSpan, Span]], what: str, sink: Diagnostics) -> None:
    """Report places whose releases overlap with those of an earlier place."""
    earlier: list[tuple[ReleaseSpan, Span]] = []
    for releases, at in places:
        for others, first in earlier:
            if releases.overlaps(others):
                also = [Label(first, "the other one", primary=False)]
                help = "let one end with `until` where the other begins with `since`"
                sink.error(codes.BACKEND_OVERLAP, f"two {what} are for the same releases", at, also=also, help=help)
                break
        earlier.append((releases, at))


def _release(node: Node | None) -> Version | None:
    """Release that a node names; None without a node. Raises Fault for what is no release."""
    if node is None:
        return None
    if isinstance(node, Scalar) and _RELEASE.fullmatch(node.value):
        return parse_version(node.value)
    raise Fault.at(codes.RELEASE, f"{node.description} is not a release", node.span, help="write it like `2.11`")
