"""Pages of the documentation whose files and commands a test writes and runs, in their order."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

__all__ = ["Block", "Page", "matches"]

#: A command may compile a library.
_TIME_LIMIT = 600

_FENCE = re.compile(r"(?ms)^```(\w*)([^\n]*)\n(.*?)^```$")
_TITLE = re.compile(r'title="([^"]+)"')
_PART = re.compile(r"<!-- folder: ([\w-]+) -->")
_AFTER = re.compile(r'\bafter="([^"]*)"')


class Block(NamedTuple):
    """A block of code: its language, the file that it is or belongs to, its text, and its line in the page.

    A block of a language without a title belongs to no file. With `is_added`, the text is appended to the file, or
    inserted behind the line `after`. A comment of the page, `<!-- folder: NAME -->`, begins the `part` of the name,
    whose files and commands have a folder of their own.
    """

    language: str
    title: str
    is_added: bool
    text: str
    line: int
    after: str = ""
    part: str = ""


class Page(NamedTuple):
    """A page, the folder in which files are written and commands run, and the part of the page that these are."""

    path: Path
    folder: Path
    part: str = ""

    def blocks(self) -> Iterator[Block]:
        """The blocks of code, in their order."""
        text = self.path.read_text(encoding="utf-8")
        for match in _FENCE.finditer(text):
            language, info, code = match.groups()
            title, after = _TITLE.search(info), _AFTER.search(info)
            line = text.count("\n", 0, match.start()) + 1
            yield Block(
                language,
                title.group(1) if title else "",
                info.endswith(" added"),
                code,
                line,
                after[1] if after else "",
                ["", *_PART.findall(text, 0, match.start())][-1],
            )

    def run(self) -> int:
        """Write each file and run each command. Gives the number of commands. A test fails if one of them does."""
        count = 0
        for block in self.blocks():
            if block.part != self.part:
                continue
            if block.text.startswith(("error[", ">>> ")):
                # What a program says, which other tests look for, and what doctest runs.
                continue
            if block.title:
                self._write(block)
            elif block.language == "console":
                for command, output in commands(block.text):
                    self._run(block, command, output)
                    count += 1
            else:
                assert block.language == "text", f"{self.path.name}:{block.line}: nothing runs this block"
        return count

    def _write(self, block: Block) -> None:
        path = self.folder / block.title
        path.parent.mkdir(parents=True, exist_ok=True)
        before = path.read_text(encoding="utf-8") + "\n" if block.is_added else ""
        text = before.removesuffix("\n").replace(f"\n{block.after}\n", f"\n{block.after}\n{block.text}", 1)
        assert not block.after or text != before, f"{block.title} has no line `{block.after}`"
        path.write_text(text if block.after else before + block.text, encoding="utf-8")

    def _run(self, block: Block, command: str, output: str) -> None:
        programs = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
        done = subprocess.run(
            command,
            shell=True,
            cwd=self.folder,
            env={**os.environ, "PATH": programs, "PYTHONDONTWRITEBYTECODE": "1"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            timeout=_TIME_LIMIT,
        )
        place = f"{self.path.name}:{block.line}: `{command}`"
        # A command whose output the page shows as an error may fail.
        assert done.returncode == 0 or "error" in output, f"{place} failed:\n{done.stdout}"
        # Whether something is compiled depends on the cache.
        printed = re.sub(r"(?m)^opwright: compiling .*\n", "", done.stdout)
        assert matches(output, printed), f"{place} printed\n{printed}"


def commands(text: str) -> list[tuple[str, str]]:
    r"""The commands of a console block, each with the output that follows it.

    >>> commands("$ ls\na b\n$ true\n")
    [('ls', 'a b\n'), ('true', '')]
    """
    parts = re.split(r"(?m)^\$ (.*)\n", text)
    assert not parts[0], "a console block begins with a command"
    return list(zip(parts[1::2], parts[2::2], strict=True))


def matches(expected: str, output: str) -> bool:
    r"""Whether an output is as expected: `...` is any text, and nothing expected is any output at all.

    >>> matches("", "anything"), matches("one\n...\nlast\n", "one\n2\n3\nlast\n"), matches("in 0...s\n", "in 1.2s\n")
    (True, True, False)
    """
    pattern = "(?s:.*?)".join(map(re.escape, expected.rstrip().split("...")))
    return not expected.strip() or re.fullmatch(pattern, output.rstrip()) is not None
