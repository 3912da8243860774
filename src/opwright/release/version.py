"""Versions, and the marks in the files of a PyTorch that tell its release, or one behaviour of its generator."""

from __future__ import annotations

from typing import Final

from opwright.release.store import TREE_VERSION
from opwright.source.codes import BAD_RELEASE, NEWER_RELEASE, RELEASE_TOO_OLD, RELEASE_UNKNOWN
from opwright.source.diagnostic import Fault, shorten
from opwright.source.limits import read_number
from opwright.source.records import NamedTuple
from opwright.source.span import Span

TYPE_CHECKING = False
if TYPE_CHECKING:
    from opwright.release.view import Inputs
    from opwright.source.diagnostic import Diagnostics


class Mark(NamedTuple):
    """A file with a text in it; without a text, a file that exists. A `gone` text is one that the file has no more.

    >>> import opwright
    >>> Mark("native/tags.yaml", "- tag: core").is_in(opwright.open_inputs())
    True
    """

    file: str
    text: str = ""
    gone: bool = False

    def is_in(self, inputs: Inputs) -> bool | None:
        """Whether inputs have the mark; None if they lack the file that would have the text."""
        source = inputs.read_optional(self.file)
        if source is None:
            return None if self.text else self.gone
        # A checkout on Windows may have other line ends.
        text = source.text.replace("\r\n", "\n") if "\n" in self.text else source.text
        return (self.text in text) is not self.gone

    def __str__(self) -> str:
        text = f"{'no ' if self.gone else ''}`{self.text}` in " if self.text else ""
        return f"{text}`{self.file}`"


class Version(NamedTuple):
    """A PyTorch version, without build or commit; compares by number.

    >>> parse_version("2.13.1+cpu") > parse_version("2.13.0a0+git12ab")
    True
    >>> str(parse_version("2.13"))
    '2.13.0'
    """

    major: int
    minor: int
    patch: int = 0

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}.{self.patch}"

    @property
    def series(self) -> str:
        """The release without its patch number, `2.13`."""
        return f"{self.major}.{self.minor}"


def parse_version(text: str) -> Version:
    """The version at the start of a text like `2.13`, `2.13.0+cpu` or `2.14.0a0+git12ab`.

    Raises Fault if the text does not start with a version (E0517).
    """
    numbers: list[int] = []
    for part in text.strip().removeprefix("v").split(".")[:3]:
        digits = len(part) - len(part.lstrip("0123456789"))
        number = read_number(part[:digits])
        if number is None:
            break
        numbers.append(number)
        if digits != len(part):
            break
    if len(numbers) < 2:
        raise Fault.at(BAD_RELEASE, f"`{shorten(text)}` is not a release", help="write it like `2.13` or `2.13.0`")
    return Version(*numbers)


def is_between(version: Version, since: str | None, until: str | None) -> bool:
    """Whether a release is in a range: from `since` on, and before `until`, where these are given.

    >>> [is_between(Version(2, minor), "2.10", "2.12") for minor in (9, 10, 11, 12)]
    [False, True, True, False]
    """
    series = version[:2]
    return (since is None or series >= parse_version(since)[:2]) and (
        until is None or series < parse_version(until)[:2]
    )


class Release(NamedTuple):
    """A release whose rules are known, with the patch release that tests compare, and how its inputs are recognised.

    Its inputs have the mark, and so do those of later releases.
    """

    version: Version
    mark: Mark


#: The releases whose rules are known, from the oldest on. All marks are in ATen's own inputs, so autograd's may be
#: missing. A new release is a new row at the end.
RELEASES: Final = (
    Release(Version(2, 4, 1), Mark("native/native_functions.yaml", "- func: _batch_norm_with_update(")),
    Release(Version(2, 5, 1), Mark("native/tags.yaml", "- tag: flexible_layout\n")),
    Release(Version(2, 6, 0), Mark("native/tags.yaml", "- tag: maybe_aliasing_or_mutating\n")),
    Release(Version(2, 7, 1), Mark("templates/Operator.h", "#include <string_view>")),
    Release(Version(2, 8, 0), Mark("native/tags.yaml", "- tag: cudagraph_unsafe\n")),
    Release(Version(2, 9, 1), Mark("templates/ViewMetaClasses.h")),
    Release(Version(2, 10, 0), Mark("native/tags.yaml", "- tag: reduction\n")),
    Release(Version(2, 11, 0), Mark("native/tags.yaml", "- tag: out_variant\n")),
    Release(Version(2, 12, 1), Mark("templates/enum_tag.h", "torch::headeronly")),
    Release(Version(2, 13, 0), Mark("native/tags.yaml", "- tag: out\n")),
    Release(Version(2, 14, 1), Mark("native/native_functions.yaml", "NestedTensorXPU")),
    Release(Version(2, 15, 0), Mark("templates/NativeAotStubs.h")),
)

OLDEST: Final = Version(*RELEASES[0].version[:2])
"""The oldest release whose rules are known."""

NEWEST: Final = Version(*RELEASES[-1].version[:2])
"""The newest release whose rules are known; later ones are treated like it."""


def version_of(inputs: Inputs, release: str | None = None, sink: Diagnostics | None = None) -> Version:
    """The version of inputs: `release` if given, else the version of their origin, else that of marks in the inputs.

    The sink gets a note for a version that is newer than those known (W0501). Raises Fault if the version is too old
    (E0512) or unknown (E0513).
    """
    text = inputs.version_text if release is None else release
    if text is None:
        return _marked_version(inputs)
    return check_supported(text, sink, inputs)


def version_span(inputs: Inputs) -> Span | None:
    """Where a source tree states its version; None for other inputs."""
    source, text = inputs.read_optional(TREE_VERSION), inputs.version_text
    start = -1 if source is None or text is None else source.text.find(text)
    return Span(source, start, start + len(text)) if source is not None and text is not None and start >= 0 else None


def check_supported(text: str, sink: Diagnostics | None = None, inputs: Inputs | None = None) -> Version:
    """The version in a text, for inputs. Raises Fault if it is too old (E0512); notes that it is newer than those known
    (W0501).
    """
    version = parse_version(text)
    shown = shown_version(version, text)
    if version < OLDEST:
        raise Fault.at(
            RELEASE_TOO_OLD,
            f"PyTorch {shown} is older than the releases supported, {OLDEST.series} to {NEWEST.series}",
            version_span(inputs) if inputs is not None and text == inputs.version_text else None,
            notes=[f"the inputs are those of {inputs.origin}"] if inputs is not None else (),
        )
    if version[:2] > NEWEST[:2] and sink is not None:
        sink.note(
            NEWER_RELEASE,
            f"PyTorch {shown} is newer than {NEWEST.series}, the newest release known, and is treated like it",
        )
    return version


def shown_version(version: Version, text: str | None) -> str:
    """A version as messages show it, with what follows its numbers in the text that it was read from.

    >>> [shown_version(Version(2, 15), text) for text in ("2.15.0a0+git12ab", "2.15.0+cpu", None)]
    ['2.15.0a0', '2.15.0', '2.15.0']
    """
    return f"{version}{_suffix(text) if text is not None else ''}"


def is_known_release(text: str | None) -> bool:
    """Whether a text names a known release, and not a tree or a build between releases.

    >>> [is_known_release(text) for text in ("2.13.0+cpu", "2.13.0a0", "2.13.0.dev20261101", "2.99.0", None)]
    [True, False, False, False, False]
    """
    if text is None or parse_version(text)[:2] > NEWEST[:2]:
        return False
    return not _suffix(text)


def _suffix(text: str) -> str:
    """What follows the numbers of a version, such as `a0`, without build or commit."""
    return shorten(text.strip().removeprefix("v").partition("+")[0].lstrip("0123456789."))


def check_says_version(inputs: Inputs) -> None:
    """Raises Fault for a source tree or an installed PyTorch without the file that says its version (E0513)."""
    if inputs.root is not None and inputs.version_text is None:
        raise Fault.at(
            RELEASE_UNKNOWN,
            f"{inputs.origin} does not say which release it is of",
            notes=["a source tree says it in `version.txt`, an installed PyTorch in `torch/version.py`"],
            help="declare the file as an input of the build action too, or name a release with `--release`",
        )


def _marked_version(inputs: Inputs) -> Version:
    names = frozenset(inputs.names())
    for version, mark in reversed(RELEASES):
        if mark.file in names and mark.is_in(inputs):
            return Version(*version[:2])
    if "native/native_functions.yaml" in names:
        raise Fault.at(
            RELEASE_UNKNOWN,
            f"the inputs of {inputs.origin} do not say which release they are of",
            help=f"say it with `--release`, {OLDEST.series} to {NEWEST.series}",
        )
    raise inputs.missing()
