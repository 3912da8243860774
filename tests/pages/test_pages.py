"""The pages that show how to write a library are followed from the first line to the last one."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from opwright.cli.main import main
from tests.compile.compiler import compiler_program
from tests.pages.page import Page

DOCS = Path(__file__).resolve().parents[2] / "docs"
#: Pages that authors follow from the first line to the last one.
FOLLOWED = ("guide", "agents", "cookbook", "backend-tutorial")


@pytest.mark.thorough
@pytest.mark.skipif(compiler_program() is None, reason="there is no C++ compiler")
@pytest.mark.parametrize("name", FOLLOWED)
def test_page_can_be_followed(name: str, tmp_path: Path) -> None:
    """Every file of a page is written, and every command runs and prints what the page shows."""
    assert Page(DOCS / f"{name}.md", tmp_path).run() > 0


@pytest.mark.thorough
def test_the_page_on_coverage_can_be_followed(tmp_path: Path) -> None:
    """The reports that the page shows are those that the commands print."""
    assert Page(DOCS / "coverage.md", tmp_path).run() > 0


@pytest.mark.thorough
def test_the_page_on_imports_can_be_followed(tmp_path: Path) -> None:
    """The library files that the page shows are those that the commands write."""
    assert Page(DOCS / "from-existing.md", tmp_path).run() > 0


@pytest.mark.thorough
@pytest.mark.skipif(compiler_program() is None, reason="there is no C++ compiler")
@pytest.mark.parametrize("part", ["pieces", "custom-op", "scatter"])
def test_moves_by_hand_can_be_followed(part: str, tmp_path: Path) -> None:
    """The files of a part are written, and its commands run and print what the page shows."""
    assert Page(DOCS / "from-existing.md", tmp_path, part).run() > 0


def test_the_page_on_ports_can_be_followed(tmp_path: Path) -> None:
    """The ported kernels that the page shows are those that the command writes."""
    assert Page(DOCS / "from-existing.md", tmp_path, "stable").run() > 0


def test_each_part_of_the_page_on_imports_is_followed() -> None:
    """A part is in one of the tests above."""
    parts = {block.part for block in Page(DOCS / "from-existing.md", DOCS).blocks()}
    assert parts == {"", "pieces", "custom-op", "scatter", "stable"}


@pytest.mark.thorough
def test_the_page_on_selective_builds_can_be_followed(tmp_path: Path) -> None:
    """The selections, reports and headers that the page shows are those that the commands make."""
    assert Page(DOCS / "selective-build.md", tmp_path).run() > 0


@pytest.mark.network
def test_the_page_on_differences_can_be_followed(tmp_path: Path) -> None:
    """The reports that the page shows are those that the commands print, once the releases are in the cache."""
    for release in ("2.12.1", "2.13.0", "2.14.1"):
        subprocess.run(
            [sys.executable, "-m", "opwright", "explain", "add", "--torch", release], check=True, capture_output=True
        )
    assert Page(DOCS / "diff.md", tmp_path).run() > 0


@pytest.mark.thorough
def test_the_page_on_dumps_can_be_followed(tmp_path: Path) -> None:
    """The programs of the page print what it shows, and a Rust compiler, if there is one, accepts their output."""
    assert Page(DOCS / "library.md", tmp_path).run() > 0
    program = tmp_path / "rust.py"
    assert len(program.read_text(encoding="utf-8").splitlines()) <= 40
    rustc = shutil.which("rustc")
    if rustc is not None:
        command = [rustc, "--edition=2021", "--crate-type=lib", "--emit=metadata", "-Awarnings", "operators.rs"]
        subprocess.run(command, cwd=tmp_path, check=True)


@pytest.mark.thorough
def test_backend_files_of_vendors_are_right(tmp_path: Path) -> None:
    """The backend files of the page have no faults; their kernels exist in no file."""
    assert Page(DOCS / "vendor-replay.md", tmp_path).run() > 0


def test_the_guide_is_in_the_canonical_layout(tmp_path: Path) -> None:
    """Its library files are as `opwright format` writes them, but for the one with mistakes."""
    titles = ("acme.yaml", "devices.yaml", "shared.yaml")
    blocks = [block for block in Page(DOCS / "guide.md", tmp_path).blocks() if block.title in titles]
    names = []
    for number, block in enumerate(blocks):
        folder = tmp_path / str(number)
        folder.mkdir()
        (folder / block.title).write_text(block.text)
        names.append(str(folder / block.title))
    assert len(names) >= 3
    assert [name for name in names if main(["format", "--check", name]) != 0] == []


PAGE = """
```text title="a.txt"
one
```

```text title="a.txt" added
two
```

```console
$ cat a.txt
one
...
```
"""


def test_blocks_are_written_and_run(tmp_path: Path) -> None:
    """A block with a title is a file or the end of one, and a command's output is compared."""
    page = tmp_path / "page.md"
    page.write_text(PAGE)
    assert Page(page, tmp_path).run() == 1
    assert (tmp_path / "a.txt").read_text() == "one\n\ntwo\n"


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ("...", "three", r"printed\n"),
        ("cat a.txt", "cat b.txt", "failed"),
        ('```text title="a.txt"\n', "```python\n", "nothing runs this block"),
    ],
)
def test_wrong_pages_fail(tmp_path: Path, old: str, new: str, fault: str) -> None:
    """Other output, a command that fails, and code that no one runs make the test of a page fail."""
    page = tmp_path / "page.md"
    page.write_text(PAGE.replace(old, new, 1))
    with pytest.raises(AssertionError, match=rf"page.md:\d+.*{fault}"):
        Page(page, tmp_path).run()
