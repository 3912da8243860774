"""The pages of the site as Markdown: those of `docs`, and those that are made for the site alone.

The long pages of reference become folders with a page for each of their sections. Links between files of the
repository become links between pages; links to files that are no pages lead to the repository on the web.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import takewhile
from pathlib import Path
from typing import Final, NamedTuple

from docs.site.playground import CODE_EXAMPLES, playground_hash
from opwright.cli.releases import holds
from opwright.emit.family import Family
from opwright.emit.registry import FAMILIES
from opwright.plugins.code_pages import RANGES, Code, all_codes
from opwright.release.behaviour import Behaviour
from opwright.release.rules import Rules
from opwright.release.version import RELEASES, Version

__all__ = ["ROOT", "Section", "normal_markdown", "sections", "site_pages", "slug"]

ROOT: Final = Path(__file__).resolve().parents[2]
_REPOSITORY: Final = "https://github.com/opwright/opwright"
#: The pages of reference that become folders, with the names of these.
_FOLDERS: Final = {"docs/command-line.md": "commands", "docs/api.md": "api", "docs/diagnostics.md": "diagnostics"}
#: Files outside of `docs` that are pages.
_MORE_PAGES: Final = {"README.md": "index.md", "CHANGELOG.md": "changelog.md"}
#: The target of a link or of an image: a path below the repository, and the place in that file.
_LINK: Final = re.compile(r"\]\((?![a-z]+:|#)([^)\s#]+)(#[^)\s]*)?\)")
#: The line that opens or closes a block of code, without the words that only tests read.
_FENCE: Final = re.compile(r'( *)```(?:\w+(?: title="[^"]*")?)?')
_ITEM: Final = re.compile(r" *(?:[-*]|\d+\.) ")
_SMALL_INDENT: Final = re.compile(r"^ {2,3}(?=\S)")
#: The languages of files in examples of codes, by their endings.
_LANGUAGES: Final = {".yaml": "yaml", ".py": "python", ".cpp": "cpp", ".json": "json", ".toml": "toml"}
_CODE_BLOCK: Final = re.compile(r"(?ms)^ *```.*?^ *```$")


class Section(NamedTuple):
    """A section of a page of reference, which is a page of the site: its title, its text, and the name of its file."""

    title: str
    text: str

    @property
    def name(self) -> str:
        """The last word of the title without the program's name: `where`, `torchgen.gen`, `Catalog`, `E0310`."""
        word = self.title.partition(": ")[0].split()[-1]
        return word.removeprefix("opwright.")


def site_pages() -> dict[str, str]:
    """The pages by their paths below the site."""
    pages = {site_path(source): _read(source) for source in _sources() if source not in _FOLDERS}
    # The README is for readers of the repository; the site has a navigation, and a home page that fits into it.
    home = (Path(__file__).parent / "home.md").read_text(encoding="utf-8")
    pages["index.md"] = normal_markdown(home.replace("](../api.md)", "](api/index.md)").replace("](../", "]("))
    makers: tuple[Callable[[], Iterator[tuple[str, str]]], ...] = (
        partial(_reference_pages, "docs/command-line.md", "Commands"),
        partial(_reference_pages, "docs/api.md", "The library, name by name"),
        _diagnostic_pages,
        _family_pages,
        _release_pages,
    )
    for make in makers:
        pages.update(make())
    return pages


def _sources() -> list[str]:
    """The Markdown files of the repository that are pages."""
    return [*_MORE_PAGES, *(f"docs/{path.name}" for path in sorted((ROOT / "docs").glob("*.md")))]


def site_path(source: str) -> str:
    """The page that a file of the repository becomes.

    >>> site_path("docs/check.md"), site_path("README.md"), site_path("docs/api.md")
    ('check.md', 'index.md', 'api/index.md')
    """
    if source in _FOLDERS:
        return f"{_FOLDERS[source]}/index.md"
    return _MORE_PAGES.get(source) or source.removeprefix("docs/")


def _read(source: str) -> str:
    text = (ROOT / source).read_text(encoding="utf-8")
    return page_text(text, source, site_path(source))


def page_text(text: str, source: str, page: str) -> str:
    """A text of a file of the repository as the text of a page: its links lead to pages."""

    def linked(match: re.Match[str]) -> str:
        target = os.path.normpath(os.path.join(os.path.dirname(source), match[1])).replace(os.sep, "/")
        return f"]({_link(target, match[2] or '', page)})"

    return normal_markdown(_LINK.sub(linked, text))


def _link(target: str, anchor: str, page: str) -> str:
    """A link from a page to a file of the repository."""
    if target in _FOLDERS and anchor:
        found = _section_of(target, anchor[1:])
        target, anchor = (f"{_FOLDERS[target]}/{found}.md", "") if found else (site_path(target), anchor)
    elif target in _sources():
        target = site_path(target)
    elif target.startswith(("docs/images/", "docs/schemas/")):
        target = target.removeprefix("docs/")
    else:
        kind = "tree" if (ROOT / target).is_dir() else "blob"
        return f"{_REPOSITORY}/{kind}/main/{target}{anchor}"
    return os.path.relpath(target, os.path.dirname(page) or ".").replace(os.sep, "/") + anchor


def _section_of(source: str, anchor: str) -> str | None:
    """The name of the page that a place in a page of reference becomes."""
    level = "###" if source == "docs/diagnostics.md" else "##"
    found = [section.name for section in sections((ROOT / source).read_text(encoding="utf-8"), level)
             if anchor == slug(section.title)]  # fmt: skip
    return found[0] if found else None


def slug(title: str) -> str:
    """The anchor that GitHub gives a heading, which the site gives it too.

    >>> slug("opwright where"), slug("E2314: a `kernel` is missing")
    ('opwright-where', 'e2314-a-kernel-is-missing')
    """
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")


def sections(text: str, level: str) -> list[Section]:
    """The sections of a page under headings of a level, each with the levels of its own headings counted from one.

    >>> sections("# All\\n\\n## One\\n\\ntext\\n\\n### More\\n\\n## Two\\n", "##")
    [Section(title='One', text='# One\\n\\ntext\\n\\n## More\\n'), Section(title='Two', text='# Two\\n')]
    """
    parts = re.split(rf"(?m)^{level} ", text)[1:]
    lower = level[1:]
    return [
        Section(part.partition("\n")[0], re.sub(rf"(?m)^{lower}(#+ )", r"\1", f"# {part.rstrip()}\n")) for part in parts
    ]


def _reference_pages(source: str, title: str) -> Iterator[tuple[str, str]]:
    """The pages of the sections of a page of reference, and the list of them."""
    folder, text = _FOLDERS[source], (ROOT / source).read_text(encoding="utf-8")
    made = sections(text, "##")
    head = re.sub(r"<!--.*?-->\n*", "", text.partition("\n## ")[0].partition("\n")[2]).strip()
    rows = [f"| [`{section.title}`]({section.name}.md) | {_summary(section.text)} |" for section in made]
    lines = [f"# {title}", "", page_text(head, source, f"{folder}/index.md"), "", "| name | what it does |"]
    yield f"{folder}/index.md", "\n".join([*lines, "| --- | --- |", *rows, ""])
    for section in made:
        yield f"{folder}/{section.name}.md", page_text(section.text, source, f"{folder}/{section.name}.md")


def _summary(text: str) -> str:
    """The first sentence of prose of a page, for a row of a table."""
    prose = re.sub(r"(?m)^(#.*|\|.*)$", "", _CODE_BLOCK.sub("", text)).strip().split("\n\n")[0]
    return re.split(r"(?<=[.:])\s", " ".join(prose.split()) + " ")[0].rstrip(":").replace("|", "\\|")


def _diagnostic_pages() -> Iterator[tuple[str, str]]:
    """A page for each code, and the list of all of them."""
    lines = ["# Diagnostics", "", "Each diagnostic has a code. `opwright explain CODE` prints the page of one of them."]
    codes = all_codes()
    for start, subject in RANGES.items():
        row = [code for code in codes if code.code[1:3] == start]
        if row:
            lines += ["", f"## {subject[0].upper()}{subject[1:]}", "", "| code | meaning |", "| --- | --- |"]
            lines += [f"| [`{code.code}`]({code.code}.md) | {_cell(code.title)} |" for code in row]
    yield "diagnostics/index.md", "\n".join(lines) + "\n"
    for code in codes:
        yield f"diagnostics/{code.code}.md", _diagnostic_page(code)


def _diagnostic_page(code: Code) -> str:
    kind = "error" if code.code.startswith("E") else "warning"
    subject = RANGES[code.code[1:3]]
    title, _, text = code.page.partition("\n\n")
    note = f"An {kind}" if kind == "error" else f"A {kind}"
    head = f"# {title}\n\n{note} about {subject}. [All diagnostics](index.md)\n\n{normal_markdown(text)}\n"
    example = CODE_EXAMPLES.get(code.code)
    if example is None:
        is_shown = any(name[1:3] == code.code[1:3] for name in CODE_EXAMPLES)
        why = "The playground has no example of it." if is_shown else "The text of a file alone does not show it."
        return f"{head}\n{why}\n"
    wrong, right = (
        "\n".join(_blocks(files, command))
        for files, command in ((example.wrong, example.command), (example.right, example.right_command))
    )
    if example.kind:
        # The generator takes what follows `#` in Markdown for the name of a heading.
        link = f"../../playground/#{playground_hash(example.kind, *example.wrong.values())}"
        wrong += f'\n<a href="{link}">Try it in the playground</a>'
    return f"{head}\n## Example\n\n{wrong}\n\n## Use instead\n\n{right}"


def _blocks(files: dict[str, str], command: str) -> Iterator[str]:
    """The texts of files as blocks of code with their names, and the command that reads them."""
    for name, text in files.items():
        if text:
            yield f'```{_LANGUAGES.get(os.path.splitext(name)[1], "text")} title="{name}"\n{text}```\n'
    if command:
        yield f"```console\n$ {command}\n```\n"


def _family_pages() -> Iterator[tuple[str, str]]:
    """A page for each family of files, and the list of them."""
    lines = ["# Families of files", "", "`opwright generate --only NAME` writes the files of one family.", ""]
    lines += ["| family | files |", "| --- | --- |"]
    for family in FAMILIES.values():
        lines.append(f"| [`{family.name}`]({family.name}.md) | {_cell(family.help)} |")
        yield f"families/{family.name}.md", _family_page(family)
    yield "families/index.md", "\n".join(lines) + "\n"


def _family_page(family: Family) -> str:
    programs = [
        "[`opwright stubs`](../commands/stubs.md)"
        if program == "stubs"
        else f"[`python -m opwright.torchgen.{program}`](../commands/torchgen.{program}.md)"
        for program in family.programs
    ]
    facts = {
        "Made without `--only`": "yes" if family.by_default else "no",
        "Made with it": ", ".join(f"[`{name}`]({name}.md)" for name in family.also_generates) or "nothing else",
        "Folders of a build": ", ".join(f"`{folder}`" for folder in dict.fromkeys(family.folders.values())),
        "Other programs": ", ".join(programs) or "none",
        "Code": ", ".join(f"`emit/{name[1:].replace('.', '/')}`" for name in map(str, family.emitters)),
    }
    rows = "\n".join(f"| {name} | {value} |" for name, value in facts.items())
    return (
        f"# {family.name}\n\n{family.help[0].upper()}{family.help[1:]}.\n\n"
        f"    opwright generate --out build --only {family.name}\n\n"
        f"| fact | |\n| --- | --- |\n{rows}\n\n[All families](index.md)\n"
    )


def _release_pages() -> Iterator[tuple[str, str]]:
    """A page for each release with the behaviours that it has, and first those that came with it."""
    versions = [release.version for release in RELEASES]
    for version, older in zip(versions, [None, *versions[:-1]], strict=True):
        changed = [row for row in Rules.rows() if older and row.value_in(version) != row.value_in(older)]
        others = [row for row in Rules.rows() if row not in changed]
        lines = [f"# PyTorch {version.series}"]
        if older:
            lines += ["", f"## What differs from {older.series}", "", *_behaviours(changed, version)]
        lines += ["", "## What stays" if older else "## Behaviours", "", *_behaviours(others, version)]
        yield f"releases/{version.series}.md", "\n".join([*lines, "", "[Releases](../releases.md)", ""])


def _behaviours(rows: Iterable[Behaviour[bool] | Behaviour[int]], version: Version) -> Iterator[str]:
    """The rows of a table of behaviours."""
    yield from ("| behaviour | value | releases | what it is |", "| --- | --- | --- | --- |")
    for row in rows:
        value = row.value_in(version)
        shown = ("yes" if value else "no") if isinstance(value, bool) else str(value)
        why = " ".join([row.what, *(change.why for change in row.changes if change.why)])
        yield f"| `{row.name}` | {shown} | {holds(row, version)} | {_cell(why)} |"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def normal_markdown(text: str) -> str:
    """A text as Python's Markdown reads it: lists are indented by four, and fences have a language and a title alone.

    >>> print(normal_markdown('Some:\\n1. one\\n   ```yaml title="a.yaml" after="x:" added\\n   b: 1\\n   ```\\nmore'))
    Some:
    <BLANKLINE>
    1. one
        ```yaml title="a.yaml"
        b: 1
        ```
    more
    """
    lines: list[str] = []
    shift: int | None = None  # of the lines of a block of code
    for line in text.split("\n"):
        fence = _FENCE.match(line)
        if fence and shift is None:
            shift = 4 - len(fence[1]) if len(fence[1]) in (2, 3) else 0
            lines.append(" " * shift + fence[0])
        elif shift is not None:
            lines.append(" " * shift + line if line else line)
            shift = None if fence and line.strip() == "```" else shift
        else:
            if _begins_list(line, lines):
                lines.append("")
            lines.append(_SMALL_INDENT.sub("    ", line))
    return "\n".join(lines)


def _begins_list(line: str, before: Sequence[str]) -> bool:
    """Whether a line is an item that needs an empty line before it: it follows a paragraph.

    >>> [_begins_list("- b", ["Some:"]), _begins_list("- b", ["- a", "    more"]), _begins_list("7. It", ["ends in"])]
    [True, False, False]
    >>> _begins_list("2. b", ["1. a", "", "    A paragraph of the first item."])
    True
    """
    paragraph = list(takewhile(str.strip, reversed(before)))
    if not _ITEM.match(line) or not paragraph or any(map(_ITEM.match, paragraph)):
        return False
    return paragraph[0].startswith("    ") or not line.lstrip()[0].isdigit() or line.lstrip().startswith("1.")
