"""The Markdown of the site has every page, and its links lead to pages; `tests/site/test_built.py` has the HTML."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from docs.site.__main__ import list_versions, settings
from docs.site.pages import ROOT, page_text, site_pages
from opwright.cli.main import COMMANDS
from opwright.emit.registry import FAMILIES
from opwright.plugins.code_pages import code_names
from opwright.release.version import RELEASES


@pytest.fixture(scope="module")
def pages() -> dict[str, str]:
    """The pages of the site by their paths."""
    return site_pages()


def test_every_thing_has_a_page(pages: dict[str, str]) -> None:
    """Each diagnostic, command, family and release has a page that begins with its name."""
    wanted = [
        *(f"diagnostics/{code}" for code in code_names()),
        *(f"commands/{command}" for command in COMMANDS),
        *(f"families/{family}" for family in FAMILIES),
        *(f"releases/{release.version.series}" for release in RELEASES),
    ]
    assert [name for name in wanted if f"{name}.md" not in pages] == []
    unnamed = [name for name in wanted if name.rpartition("/")[2] not in pages[f"{name}.md"].partition("\n")[0]]
    assert unnamed == []


def test_every_page_of_the_repository_is_in_the_navigation(pages: dict[str, str]) -> None:
    """Each file of `docs` stands in the navigation once, in the place that its reader looks for."""
    listed = re.findall(r'= "([\w/.-]+\.md)"|\["([\w/.-]+\.md)"', settings(pages))
    shown = sorted(name or index for name, index in listed if "/" not in (name or index))
    made = ["operators.md", "playground.md"]
    assert shown == sorted([*made, *(page for page in pages if "/" not in page)])


def test_pages_have_names_that_every_system_keeps_apart(pages: dict[str, str]) -> None:
    """No two pages differ in the case of letters alone."""
    assert len({page.lower() for page in pages}) == len(pages)


@pytest.mark.parametrize(
    ("link", "shown"),
    [
        ("check.md#settings", "check.md#settings"),
        ("../README.md", "index.md"),
        ("command-line.md", "commands/index.md"),
        ("command-line.md#opwright-where", "commands/where.md"),
        ("diagnostics.md#e0310-unknown-dispatch-key", "diagnostics/E0310.md"),
        ("api.md#catalog", "api/Catalog.md"),
        ("images/scale.svg", "images/scale.svg"),
        ("../examples/backend/README.md", "https://github.com/opwright/opwright/blob/main/examples/backend/README.md"),
        ("../examples", "https://github.com/opwright/opwright/tree/main/examples"),
        ("https://semver.org", "https://semver.org"),
    ],
)
def test_links(link: str, shown: str) -> None:
    """A link in a file of the repository leads to the page with that text, or to the file on the web."""
    assert page_text(f"[a]({link})", "docs/guide.md", "guide.md") == f"[a]({shown})"


def test_links_from_folders() -> None:
    """A page in a folder of the site links to pages beside the folder."""
    assert page_text("[a](check.md)", "docs/api.md", "api/Catalog.md") == "[a](../check.md)"


def test_examples_of_code_stay_as_they_are(pages: dict[str, str]) -> None:
    """Blocks of code have the lines that they have in the repository, wherever they are indented to."""
    source = (ROOT / "docs" / "guide.md").read_text(encoding="utf-8")
    block = re.compile(r"(?ms)^ *```[^\n]*\n(.*?)^ *```$")
    lines = [line.strip() for found in block.findall(source) for line in found.splitlines()]
    assert lines
    assert [line.strip() for found in block.findall(pages["guide.md"]) for line in found.splitlines()] == lines


def test_versions_are_listed_newest_first(tmp_path: Path) -> None:
    """A folder of sites leads to the newest release; one without releases to what it has."""
    (tmp_path / "dev").mkdir()
    (tmp_path / "dev" / "index.html").touch()
    assert list_versions(tmp_path) == ["dev"]
    assert 'url=dev/"' in (tmp_path / "index.html").read_text()
    for name in ("0.9.0", "0.10.0", "0.10.0rc1"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "index.html").touch()
    assert list_versions(tmp_path) == ["dev", "0.10.0", "0.10.0rc1", "0.9.0"]
    rows = json.loads((tmp_path / "versions.json").read_text())
    assert [row["version"] for row in rows if "latest" in row["aliases"]] == ["0.10.0"]
    assert 'url=0.10.0/"' in (tmp_path / "index.html").read_text()
