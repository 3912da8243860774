"""Pages can be followed from the first line to the last one: what follows them notices where they are wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.pages.page import Page

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
