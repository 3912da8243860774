"""The tables of the stable API say what PyTorch's headers say, release by release."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from importlib import metadata
from pathlib import Path

import pytest

from opwright.migrate.porting.stable_api import FACTS, FUNCTIONS, HELPERS, MACROS, NAMES, StableFunction
from opwright.release.version import parse_version
from opwright.wheels.fetch import open_wheel
from tests.compile.compiler import torch_folder

FOLDERS = ("torch/csrc/stable/", "torch/headeronly/")
#: A release of each series, with the first stable headers and later ones.
RELEASES = ("2.9.1", "2.10.0", "2.11.0", "2.12.0", "2.14.0", "2.15.0")


def installed_headers() -> dict[str, str]:
    """The texts of the stable headers of the installed PyTorch, by their paths in includes."""
    top = torch_folder() / "include"
    paths = [path for folder in FOLDERS for path in (top / folder).rglob("*.h")]
    return {path.relative_to(top).as_posix(): path.read_text(encoding="utf-8") for path in paths}


def headers_of(release: str) -> dict[str, str]:
    """The texts of the stable headers in the wheel of a release."""
    wheel = open_wheel("torch", release)
    names = [name for folder in FOLDERS for name in wheel.names(f"torch/include/{folder}")]
    return {name.removeprefix("torch/include/"): data.decode() for name, data in wheel.read(names).items()}


def signature(name: str, headers: Mapping[str, str]) -> list[list[str]]:
    """The names of the parameters of a function of `ops.h`, for each of its overloads."""
    text = re.sub(r"//[^\n]*", "", headers.get("torch/csrc/stable/ops.h", ""))
    found = re.findall(rf"inline (?:torch::stable::)?Tensor&? {name}\(([^{{]*?)\) {{", text)
    return [[re.split(r"[\s&]+", part.split("=")[0].strip())[-1] for part in match.split(",")] for match in found]


def has_function(function: StableFunction, headers: Mapping[str, str]) -> bool:
    """Whether `ops.h` has a function with the parameters of a row, by their number."""
    own = function.name.rpartition("::")[2]
    return any(len(names) == len(function.parameters) for names in signature(own, headers))


def is_word(text: str, headers: Mapping[str, str]) -> bool:
    """Whether a name stands in one of the headers."""
    word = re.compile(rf"\b{text.partition('<')[0].rpartition('::')[2]}\b")
    return any(word.search(header) for header in headers.values())


def wrong_rows(headers: Mapping[str, str], release: tuple[int, int]) -> Iterator[str]:
    """The rows of the tables that these headers contradict."""
    for name, row in {**NAMES, **MACROS}.items():
        if "torch/" in row.header and (row.header in headers and is_word(row.text, headers)) != (row.since <= release):
            yield f"name {name}"
    for overload, function in FUNCTIONS.items():
        if has_function(function, headers) != (function.since <= release):
            yield f"function {overload}"
    tensor = headers.get("torch/csrc/stable/tensor_struct.h", "")
    for method, (_, since) in FACTS.items():
        if (re.search(rf"\b{method}\(", tensor) is not None) != (since <= release):
            yield f"method {method}"


def test_the_tables_agree_with_the_installed_headers() -> None:
    """PyTorch has the names of its release and of those before, and none of a later one."""
    version = parse_version(metadata.version("torch"))
    assert list(wrong_rows(installed_headers(), version[:2])) == []


@pytest.mark.network
@pytest.mark.parametrize("release", RELEASES)
def test_the_tables_agree_with_a_release(release: str) -> None:
    """The first release of each row is the first one whose headers have the name."""
    major, minor = release.split(".")[:2]
    assert list(wrong_rows(headers_of(release), (int(major), int(minor)))) == []


def test_parameters_have_the_order_of_the_headers() -> None:
    """A call passes its arguments in the order in which the function of `ops.h` takes them."""
    headers = installed_headers()
    for function in FUNCTIONS.values():
        if function.since <= (2, 13):
            own = function.name.rpartition("::")[2]
            assert list(function.parameters) in signature(own, headers), function


def test_helpers_are_in_the_file() -> None:
    """Each function that a row names has a section of its own in `helpers.h`."""
    import opwright.migrate.porting as package

    assert package.__file__ is not None
    text = (Path(package.__file__).parent / "helpers.h").read_text(encoding="utf-8")
    sections = set(re.findall(r"(?m)^//! (\w+)", text))
    own = [row.text for row in NAMES.values()] + [function.name for function in HELPERS.values()]
    assert {name.rpartition("::")[2] for name in own if name.startswith("stable_ops::")} <= sections
