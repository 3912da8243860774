"""What people read in order: how much it is, and that its pages, listings and commands are followed by tests."""

from __future__ import annotations

import re
from pathlib import Path

from tests.pages import test_pages

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
#: The groups of the site that are not read in order: evidence, moves of what exists, references, and the project.
OTHERS = ("Moving", "Evidence", "Reference", "Project", "Playground")
_GROUP = re.compile(r'(?m)^    \{ "([^"]+)" = (\[.*?^    \]|"[^"]*") \},$', re.DOTALL)
_PAGE = re.compile(r'"([\w-]+\.md)"')


def reading_order() -> list[Path]:
    """The pages that people wrote and that are read in order, as the site groups them."""
    text = (DOCS / "site" / "zensical.toml").read_text(encoding="utf-8")
    groups = [match for match in _GROUP.finditer(text) if match[1] not in OTHERS]
    return [DOCS / name for match in groups for name in _PAGE.findall(match[2]) if (DOCS / name).exists()]


def test_reading_order_is_short() -> None:
    """It has at most 24 pages and 50,000 words, and the guide at most 4,000."""
    pages = reading_order()
    words = {page.name: len(page.read_text(encoding="utf-8").split()) for page in pages}
    assert len(pages) <= 24
    assert sum(words.values()) <= 50_000, words
    assert words["guide.md"] <= 4_000


def test_guide_comes_first() -> None:
    """After what the project is and how to install it."""
    assert [page.stem for page in reading_order()][:5] == ["why", "installation", "guide", "troubleshooting", "agents"]


def test_guides_are_followed() -> None:
    """The pages that authors follow are among those whose every listing is written and every command run."""
    assert {"guide", "agents", "cookbook"} <= set(test_pages.FOLLOWED)


def test_pages_for_programs_exist() -> None:
    """Each page that `llms.txt` names is there, and the page for programs comes first."""
    named = re.findall(r"\]\((docs/[\w-]+\.md)\)", (ROOT / "llms.txt").read_text(encoding="utf-8"))
    assert named[0] == "docs/agents.md"
    assert [name for name in named if not (ROOT / name).exists()] == []


def test_dims_come_first() -> None:
    """README, guide and scaffold show `dims` before the language of `outputs`."""
    scaffold = "src/opwright/libraries/extension/projects/library/operators.yaml.in"
    for name in ("README.md", "docs/guide.md", scaffold):
        text = (ROOT / name).read_text(encoding="utf-8")
        assert 0 < text.index("dims: {") < (text.find("outputs: ") + 1 or len(text) + 1), name
