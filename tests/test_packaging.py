"""What is published: the wheel, the source archive, and what an index page shows of them."""

from __future__ import annotations

import re
import subprocess
import tarfile
from email.message import Message
from email.parser import Parser
from pathlib import Path
from zipfile import ZipFile

import pytest

import opwright
from tests.publishing.distributions import Distributions, build
from tests.pythons.interpreters import old_interpreters

ROOT = Path(__file__).resolve().parents[1]
WEB = "https://github.com/opwright/opwright/blob/main/"
RAW = "https://raw.githubusercontent.com/opwright/opwright/main/"


def files_below(folder: str) -> set[str]:
    """The project's files in a folder, without what Python leaves there."""
    paths = [path for path in (ROOT / folder).rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    return {path.relative_to(ROOT).as_posix() for path in paths}


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Distributions:
    """The wheel and the source archive."""
    return build(ROOT, tmp_path_factory.mktemp("dist"))


@pytest.fixture(scope="module")
def wheel(built: Distributions) -> ZipFile:
    """The wheel."""
    return ZipFile(built.wheel)


@pytest.fixture(scope="module")
def metadata(wheel: ZipFile) -> Message:
    """The wheel's metadata."""
    name = next(name for name in wheel.namelist() if name.endswith(".dist-info/METADATA"))
    return Parser().parsestr(wheel.read(name).decode())


def test_metadata(metadata: Message) -> None:
    """An index page shows the licence by its SPDX expression, the authors, and links to the project."""
    assert metadata["Version"] == opwright.__version__
    assert metadata["License-Expression"] == "BSD-3-Clause"
    assert metadata["License"] is None
    assert metadata.get_all("License-File") == ["LICENSE"]
    assert metadata["Author"] == "The Opwright authors"
    urls = dict(url.split(", ", 1) for url in metadata.get_all("Project-URL", []))
    assert set(urls) == {"Homepage", "Documentation", "Changelog", "Issues"}
    assert all(re.fullmatch(r"https://\S+", url) for url in urls.values())
    assert metadata["Description-Content-Type"] == "text/markdown"


def test_links_of_an_index_page_lead_to_the_web(metadata: Message) -> None:
    """A page of an index has no neighbours, which the links of the README name, nor pictures."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    links = re.findall(r"\]\(([^)]+)\)", str(metadata.get_payload()))
    own = [re.sub(f"^(?:{WEB}|{RAW})", "", link) for link in links if link.startswith((WEB, RAW))]
    assert [link for link in links if link.endswith(".svg") != link.startswith(RAW)] == []
    assert own == re.findall(r"\]\((?!https:|#)([^)]+)\)", readme)
    assert all(re.match("https:|#", link) for link in links)
    assert len(own) > 30


@pytest.mark.thorough
def test_pip_refuses_a_python_that_is_too_old(wheel: ZipFile) -> None:
    """pip of a Python older than the wheel asks for does not install it."""
    for interpreter in old_interpreters() or pytest.skip("no older Python is installed"):
        command = [interpreter.path, "-m", "pip", "install", "--no-index", "--no-deps", str(wheel.filename)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 1, interpreter
        assert re.search(r"requires (a different )?Python.*>=3\.10", done.stderr), interpreter


def test_wheel_has_every_file_of_the_package(wheel: ZipFile) -> None:
    """The wheel has the modules, the CMake package, the mark of typed packages, and what libraries need."""
    files = {name.removeprefix("src/") for name in files_below("src")}
    assert {"opwright/py.typed", "opwright/builds/cmake/OpwrightConfigVersion.cmake"} <= files
    assert {"opwright/libraries/emit/templates/ops.h", "opwright/libraries/include/opwright/outputs.h"} <= files
    assert files == {name for name in wheel.namelist() if name.startswith("opwright/")}


def test_source_archive_has_what_the_checks_need(built: Distributions) -> None:
    """From the source archive one can build, read and check the project."""
    with tarfile.open(built.archive) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    folders = ("bench", "changelog.d", "docs", "examples", "src", "tests")
    wanted = {name for folder in folders for name in files_below(folder)}
    wanted |= {path.name for path in ROOT.iterdir() if path.suffix in (".md", ".toml")}
    assert wanted | {"LICENSE", "Makefile"} <= names
