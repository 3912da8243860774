"""The documentation speaks of what is there; its examples are collected and run as tests of their own."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from docs.site.pages import slug
from opwright.dialects import dialect
from opwright.emit import registry
from opwright.emit.family import Family
from opwright.model import dispatch_key
from opwright.release import version
from opwright.schema import base_types
from tests.recipes import recipes

ROOT = Path(__file__).resolve().parents[1]
PAGES = sorted([*ROOT.glob("*.md"), ROOT / "changelog.d" / "README.md", *(ROOT / "docs").rglob("*.md")])
LINK = re.compile(r"\]\(([^)#]+)[^)]*\)")
# A link to a heading of a file here.
PLACED_LINK = re.compile(r"\]\(([^)#:]*)#([^)]+)\)")
HEADING = re.compile(r"(?m)^#+ (.+)$")
CODE_BLOCK = re.compile(r"(?s)```.*?```")
# A name in backquotes that looks like a place below the package, such as `emit/registry.py` or `dialects/`.
PLACE = re.compile(r"`((?:[a-z_]+/)+[\w.]*)`")
# Files that Opwright writes for the library of the examples.
GENERATED = re.compile(r"(?:include|src|python|tests)/(?:test_)?acme\b")
TARGET = re.compile(r"(?m)(?:^|`)make ([a-z-]+)")
CODE = re.compile(r"(?s)```.*?```|`[^`\n]+`")
# Phrases that this project once used, and what it says instead.
RETIRED_PHRASES = {
    r"hang(?:s|ing)? (?:up)?on\b": "depends on",
    r"mend(?:s|ed|ing)?\b": "fix",
    r"is none of\b": "is not one of",
    r"(?:made|generated) no longer\b": "no longer made",
    r"(?:from|of) hand\b(?!-written)": "by hand",
    r"parted by\b": "separated by",
    r"truth values?\b": "boolean",
    r"taken? (?:for )?granted\b": "assumed",
    r"(?:unit|job|context)'s token\b|tokens? of (?:the |a )?(?:units?|jobs?)\b": "fingerprint",
    r"without a word\b": "silently",
    r"no wish\b|wish(?:es)? for\b": "request",
    r"a record of (?:the|an earlier) run": "manifest",
    r"remembered by\b": "cached by",
    r"knows? (?:its|their) place": "has a span",
}
# Names of classes, functions and modules that have another name now.
RETIRED_NAMES = {
    *("Draft", "Earlier", "EmitterPast", "Given", "Keeping", "Later", "Passing", "Said", "Surroundings", "Want"),
    *("Watched", "Way", "_Coming", "_Face", "_Family", "_HOMES", "_WatchedJob"),
    *("ahead", "direct_headers", "flattening", "frame", "is_settled", "joint", "pieces", "read_coming", "tokens"),
}


def found_in(pattern: re.Pattern[str]) -> Iterator[tuple[Path, str]]:
    """Every match of the pattern in every page."""
    for page in PAGES:
        for match in pattern.finditer(page.read_text(encoding="utf-8")):
            yield page, match.group(1)


def test_links_lead_somewhere() -> None:
    """Every link in a page names a file that exists, or a place elsewhere on the web."""
    links = [(page, target) for page, target in found_in(LINK) if "://" not in target]
    assert [f"{page.name}: {target}" for page, target in links if not (page.parent / target).exists()] == []
    assert not [target for _, target in found_in(LINK) if "github.com/opwright/opwright/blob" in target]


def test_links_to_headings_lead_to_them() -> None:
    """Every place in a page that a link names is one of its headings, as GitHub spells it."""
    missing = []
    for page in PAGES:
        for target, anchor in PLACED_LINK.findall(page.read_text(encoding="utf-8")):
            linked = (page.parent / target).resolve() if target else page
            if linked.suffix == ".md" and anchor not in anchors_of(linked):
                missing.append(f"{page.name}: {target}#{anchor}")
    assert missing == []


@cache
def anchors_of(page: Path) -> set[str]:
    """The anchors of the headings of a page; the second of two equal ones has a number."""
    counts = Counter[str]()
    anchors = set()
    for heading in HEADING.findall(CODE_BLOCK.sub("", page.read_text(encoding="utf-8"))):
        anchor = slug(heading)
        anchors.add(f"{anchor}-{counts[anchor]}" if counts[anchor] else anchor)
        counts[anchor] += 1
    return anchors


def test_modules_exist() -> None:
    """Every module or folder that a page names stands in the package or in the project."""
    roots = [ROOT, ROOT / "src" / "opwright"]
    houses = {path.name for root in roots for path in root.iterdir() if path.is_dir()}
    tools = {path.name for path in (ROOT / "src" / "opwright" / "tools").iterdir()}
    new = {file for recipe in recipes().values() for file in recipe.new}
    broken = [
        f"{page.name}: {place}"
        for page, place in found_in(PLACE)
        if place.split("/")[0] in houses - {"torchgen", "build"}
        # PyTorch's tree has a folder `tools` too.
        and (not place.startswith("tools/") or place.split("/")[1] in tools)
        and not GENERATED.match(place)
        and place not in new
        and not any((root / place).exists() for root in roots)
    ]
    assert not broken


def test_make_targets_exist() -> None:
    """Every `make` command that a page names is a target of the Makefile."""
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = {word for line in re.findall(r"(?m)^([a-z -]+):", makefile) for word in line.split()}
    assert [f"{page.name}: make {word}" for page, word in found_in(TARGET) if word not in targets] == []


def test_rows_of_recipes_are_valid() -> None:
    """The rows that the contributor's guide shows for new keys, families, dialects, releases and types can be made."""
    rows = re.findall(r"(?s)```python\n(.*?)```", (ROOT / "docs" / "contributing.md").read_text(encoding="utf-8"))
    names = {**vars(dispatch_key), **vars(registry), **vars(dialect), **vars(version), **vars(base_types)}
    types = [type(eval(row, names)) for row in rows if row[0].isupper()]
    assert types == [
        dispatch_key.DispatchKey, Family, dialect.Dialect, version.Release, base_types.BaseTypeRow,
    ]  # fmt: skip


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_no_retired_phrases(page: Path) -> None:
    """Pages use the words of the glossary, not phrases that the project replaced."""
    assert retired_phrases(page) == []


def retired_phrases(page: Path) -> list[str]:
    """The retired phrases in a page, each with what to write."""
    text = " ".join(page.read_text(encoding="utf-8").split())
    return [
        f"{text[max(use.start() - 30, 0) : use.end()]!r}: write {instead!r}"
        for phrase, instead in RETIRED_PHRASES.items()
        for use in re.finditer(rf"(?i)\b(?:{phrase})", text)
    ]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_no_retired_names(page: Path) -> None:
    """Code in pages does not name classes, functions and modules by their former names."""
    assert retired_names(page) == []


def retired_names(page: Path) -> list[str]:
    """The retired names in the code of a page."""
    code = "\n".join(CODE.findall(page.read_text(encoding="utf-8")))
    return sorted(RETIRED_NAMES & set(re.findall(r"\w+", code)))


@pytest.mark.parametrize(
    "text", ["The outcome hangs on names.", "`Draft` collects fields.", "Mend the file.", "It is none\nof these."]
)
def test_retired_words_are_found(tmp_path: Path, text: str) -> None:
    """A retired phrase is found also across lines, and a retired name in code."""
    page = tmp_path / "page.md"
    page.write_text(text)
    assert retired_phrases(page) or retired_names(page)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_lines_are_short(page: Path) -> None:
    """Prose is wrapped at 120 characters; rows of tables and generated definitions are as long as they must be."""
    lines = page.read_text(encoding="utf-8").splitlines()
    assert [line for line in lines if len(line) > 120 and not line.startswith(("|", "at::"))] == []


#: What the program says of itself: readers look things up there, and do not begin at the top.
GENERATED_PAGES = {"api.md", "command-line.md", "diagnostics.md"}


READ_PAGES = sorted([page for page in (ROOT / "docs").glob("*.md") if page.name not in GENERATED_PAGES])


@pytest.mark.parametrize("page", READ_PAGES, ids=lambda page: page.name)
def test_a_page_says_for_whom_it_is(page: Path) -> None:
    """The first sentence of a page that people read in order names its readers."""
    title, _, first = page.read_text(encoding="utf-8").split("\n")[:3]
    assert title.startswith("# ")
    assert first.startswith(("For ", "This page is for "))


def test_the_documentation_stays_small() -> None:
    """At most 36 pages are by people; tests/pages/test_reading_order.py counts those that are read in order."""
    assert len(READ_PAGES) <= 36
