"""Reads mappings, and values for some releases."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from opwright.dialects.field import TEXT, Field
from opwright.release.version import Version, parse_version
from opwright.release.version_range import ReleaseSpan, VersionRange
from opwright.source import codes
from opwright.source.diagnostic import Diagnostics, Fault, Label
from opwright.source.expect import check_unique_keys, expect_mapping
from opwright.source.lazy import lazy_pattern
from opwright.source.nodes import Node, Scalar, SequenceNode, did_you_mean_key
from opwright.source.records import NamedTuple
from opwright.source.span import Span


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
