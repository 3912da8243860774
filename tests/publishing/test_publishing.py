"""What `make release-check` would find."""

from __future__ import annotations

import re
from importlib.metadata import requires
from pathlib import Path

import pytest

from tests.publishing.dependencies import Package, differences_of_table
from tests.publishing.distributions import Distributions, build, differences_of_builds, write_recipes
from tests.pythons.environments import ROOT


@pytest.mark.thorough
def test_builds_are_the_same(tmp_path: Path) -> None:
    """Two builds have the same bytes, and the source archive builds the same wheel."""
    distributions = build(ROOT, tmp_path / "dist")
    assert list(differences_of_builds(distributions, tmp_path)) == []
    with distributions.wheel.open("ab") as wheel:
        wheel.write(b" ")
    assert list(differences_of_builds(distributions, tmp_path)) == [
        f"two builds of {distributions.wheel.name} have different bytes",
        "the wheel that the source archive builds is another one",
    ]


def test_table_of_dependencies(tmp_path: Path) -> None:
    """A row too many, one too few, and another licence are differences; other tables of the page are not read."""
    page = tmp_path / "dependencies.md"
    rows = ("| `one` | MIT | 1 | why |", "| `two` | BSD-3-Clause | 1 | why |", "| `three` | MIT | 1 | why |")
    head = "| package | licence | MB | why |\n| --- | --- | --- | --- |\n"
    page.write_text(head + "\n".join(rows) + "\n\n| missing | MB |\n| --- | --- |\n| `one` | 1 |\n")
    packages = [Package("one", "1.0", "MIT"), Package("two", "1.0", "MIT"), Package("four", "1.0", "PSF-2.0")]
    assert list(differences_of_table(packages, page)) == [
        "dependencies.md has no row for `four`; its metadata has PSF-2.0",
        "dependencies.md has MIT for `three`; its metadata has nothing, as it is not installed",
        "dependencies.md has BSD-3-Clause for `two`; its metadata has MIT",
    ]


def requirements() -> set[str]:
    """What the package requires, each as in `rich>=13.0`."""
    return {text.partition(";")[0].strip() for text in requires("opwright") or () if "extra ==" not in text}


def test_declared_dependencies_have_a_row() -> None:
    """The page has a row for each package that Opwright requires."""
    page = (ROOT / "docs" / "installation.md").read_text(encoding="utf-8").lower()
    assert len(requirements()) > 5
    assert [text for text in requirements() if f"| `{text.partition('>=')[0].lower()}` |" not in page] == []


def test_recipe_for_conda_has_the_requirements() -> None:
    """The recipe runs with what the package requires."""
    recipe = (ROOT / "packaging" / "recipe.yaml").read_text(encoding="utf-8")
    section = recipe.partition("  run:\n")[2].partition("\n\n")[0]
    named = {"".join(line.split()) for line in re.findall(r"- (.*)", section)} - {"python>=${{python_min}}"}
    assert named == {text.lower() for text in requirements()}


def test_recipes_name_the_archive(tmp_path: Path) -> None:
    """The written recipes have the version and the SHA-256 of the archive."""
    archive = tmp_path / "opwright-1.2.tar.gz"
    archive.write_bytes(b"archive")
    write_recipes(Distributions(tmp_path / "opwright-1.2-py3-none-any.whl", archive), tmp_path)
    for name in ("recipe.yaml", "opwright.rb"):
        text = (tmp_path / name).read_text(encoding="utf-8")
        assert "0eb3e36bfb24dcd9" in text, name
        assert "1.2" in text, name
        assert "VERSION" not in text, name
