from __future__ import annotations

from pathlib import Path

import pytest

from opwright.release.inputs import from_source_path
from opwright.release.version import NEWEST, OLDEST, Version, parse_version, version_of
from opwright.source.diagnostic import Diagnostics, Fault
from tests.release.fake_torch import ATEN, write_files, write_source_tree


def fault_code(text: str) -> str:
    """The code of the fault with which a release is refused."""
    with pytest.raises(Fault) as caught:
        parse_version(text)
    return caught.value.diagnostic.code


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2.13.0", (2, 13, 0)),
        ("2.13", (2, 13, 0)),
        ("v2.9.1", (2, 9, 1)),
        ("2.14.0a0+git12ab", (2, 14, 0)),
        ("2.15.1.dev20261101+cu130", (2, 15, 1)),
        ("2.13rc1", (2, 13, 0)),
        (" 2.10.0+cpu\n", (2, 10, 0)),
    ],
)
def test_versions_are_read_by_their_numbers(text: str, expected: tuple[int, int, int]) -> None:
    """What stands after the numbers does not matter to rules."""
    assert parse_version(text) == Version(*expected)


@pytest.mark.parametrize("text", ["", "2", "two", "2.", "2.x", ".13", "9" * 5_000, "2." + "1" * 5_000])
def test_other_texts_are_no_versions(text: str) -> None:
    """A release has at least two numbers, which no one writes with thousands of digits."""
    assert fault_code(text) == "E0517"


def test_versions_compare_by_number() -> None:
    """2.9 is older than 2.10, which text would not tell."""
    assert parse_version("2.9.1") < parse_version("2.10.0") < parse_version("2.10.1")


def test_the_origin_says_the_version_and_an_override_goes_before(tmp_path: Path) -> None:
    """A tree's version holds unless another is named."""
    inputs = from_source_path(write_source_tree(tmp_path, "2.12.0a0"))
    assert version_of(inputs) == Version(2, 12, 0)
    assert version_of(inputs, "2.14") == Version(2, 14, 0)


@pytest.mark.parametrize(
    ("marked", "series"),
    [
        ({}, "2.9"),
        ({"native/native_functions.yaml": "- func: _batch_norm_with_update(Tensor a) -> Tensor\n"}, "2.4"),
        ({"native/tags.yaml": "- tag: flexible_layout\n"}, "2.5"),
        ({"native/tags.yaml": "- tag: maybe_aliasing_or_mutating\n"}, "2.6"),
        ({"templates/Operator.h": "#include <string_view>\n"}, "2.7"),
        ({"native/tags.yaml": "- tag: cudagraph_unsafe\n"}, "2.8"),
        ({"native/tags.yaml": "- tag: reduction\n  desc: x\n"}, "2.10"),
        ({"native/tags.yaml": "- tag: reduction\n- tag: out_variant\n"}, "2.11"),
        ({"templates/enum_tag.h": "using torch::headeronly::Tag;\n"}, "2.12"),
        ({"native/tags.yaml": "- tag: out\n"}, "2.13"),
        ({"native/native_functions.yaml": "- func: f()\n  dispatch:\n    NestedTensorXPU: f\n"}, "2.14"),
        ({"templates/NativeAotStubs.h": ""}, "2.15"),
    ],
)
def test_marks_tell_the_release_where_nothing_else_does(tmp_path: Path, marked: dict[str, str], series: str) -> None:
    """Each release brought something that the ones before it do not have."""
    older = {name: text for name, text in ATEN.items() if "ViewMeta" not in name}
    inputs = from_source_path(write_files(tmp_path, {**(ATEN if parse_version(series)[1] > 8 else older), **marked}))
    assert version_of(inputs).series == series


def test_inputs_without_any_mark_are_of_an_unknown_release(tmp_path: Path) -> None:
    """Inputs older than the oldest release, or not PyTorch's, ask for the release to be named."""
    files = {name: text for name, text in ATEN.items() if "ViewMeta" not in name}
    inputs = from_source_path(write_files(tmp_path, files))
    with pytest.raises(Fault) as caught:
        version_of(inputs)
    assert caught.value.diagnostic.code == "E0513"
    assert "--release" in str(caught.value.diagnostic.help)
    assert version_of(inputs, "2.13") == Version(2, 13)


def test_a_release_that_is_too_old_names_the_range(tmp_path: Path) -> None:
    """The range of releases is in the message, whether the version was found or named."""
    inputs = from_source_path(write_source_tree(tmp_path, "2.3.0"))
    for override in (None, "2.3", "1.13.1"):
        with pytest.raises(Fault) as caught:
            version_of(inputs, override)
        assert caught.value.diagnostic.code == "E0512"
        assert f"{OLDEST.series} to {NEWEST.series}" in caught.value.diagnostic.message


def test_a_release_newer_than_known_is_noted(tmp_path: Path) -> None:
    """A newer release is let through with one note, which is no error; a patch of the newest is not noted."""
    sink = Diagnostics()
    next_minor = NEWEST.minor + 1
    inputs = from_source_path(write_source_tree(tmp_path, f"2.{next_minor}.0a0+git12"))
    assert version_of(inputs, sink=sink) == Version(2, next_minor)
    assert [diagnostic.code for diagnostic in sink] == ["W0501"]
    assert not sink.has_errors
    version_of(inputs, f"{NEWEST.series}.9", sink)
    assert len(sink) == 1


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_marks_are_found_whatever_ends_the_lines(tmp_path: Path, ending: str) -> None:
    """A checkout with the line ends of Windows is of the same release."""
    native = tmp_path / "native"
    native.mkdir()
    (native / "native_functions.yaml").write_bytes(b"[]\n")
    (native / "tags.yaml").write_bytes(ending.join(["- tag: out", "  desc: An out overload.", ""]).encode())
    assert version_of(from_source_path(str(tmp_path))) == Version(2, 13)
