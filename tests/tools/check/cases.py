"""Cases of `opwright check`: files, the report about them, and the files after `--fix`.

A case is a text file of `cases/`. It starts with comments: the first says what the case shows, and others may give
arguments, as `# arguments: --select W2216`. A line `=== NAME` starts the text of the file of that name, `=== report`
the report, and `=== fixed NAME` the text of the file after its fixes. Cases are checked against a small release in
`pytorch/`; with `# release: installed`, against the installed PyTorch. `make cases` rewrites reports and fixed files.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
from dataclasses import dataclass
from pathlib import Path

from opwright.cli.main import main

FOLDER = Path(__file__).parent / "cases"
RELEASE = Path(__file__).parent / "pytorch"
_SECTION = re.compile(r"(?m)^=== (.+)\n")
_HEAD = re.compile(r"(?m)^# (arguments|release): (.*)$")


@dataclass(frozen=True)
class CheckCase:
    """A case: its name, its comments, its files by name, the report, and the files after their fixes."""

    name: str
    head: str
    files: dict[str, str]
    report: str
    fixed: dict[str, str]

    @property
    def settings(self) -> dict[str, str]:
        """The arguments and the release of the head."""
        return {match[1]: match[2] for match in _HEAD.finditer(self.head)}

    def text(self) -> str:
        """The case as it stands in its file."""
        sections = [*self.files.items(), ("report", self.report)]
        sections += [(f"fixed {name}", text) for name, text in self.fixed.items()]
        return self.head + "".join([f"=== {name}\n{text}" for name, text in sections])


def load_cases() -> list[CheckCase]:
    """All cases, by name."""
    return [parse_case(path.stem, path.read_text(encoding="utf-8")) for path in sorted(FOLDER.glob("*.case"))]


def parse_case(name: str, text: str) -> CheckCase:
    """The case in a text."""
    head, *parts = _SECTION.split(text)
    sections = dict(zip(parts[::2], parts[1::2], strict=True))
    report = sections.pop("report", "")
    fixed = {key[6:]: sections.pop(key) for key in [*sections] if key.startswith("fixed ")}
    return CheckCase(name, head, sections, report, fixed)


def outcome(case: CheckCase, folder: Path) -> CheckCase:
    """The case with the report that `opwright check` prints now, and with the files that `--fix` changes."""
    for name, text in case.files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
    arguments = shlex.split(case.settings.get("arguments", ""))
    if case.settings.get("release") != "installed":
        arguments += ["--source-path", str(RELEASE), "--release", "2.13.0"]
    names = [name for name in case.files if name.endswith(".yaml")]
    report = check(["--color", "never", *arguments, *names], folder)
    fixed = {}
    if "--fix fixes" in report:
        check(["--fix", *arguments, *names], folder)
        fixed = {name: (folder / name).read_bytes().decode() for name in case.files}
        fixed = {name: text for name, text in fixed.items() if text != case.files[name]}
    return CheckCase(case.name, case.head, case.files, report.replace(str(RELEASE), "pytorch"), fixed)


def check(arguments: list[str], folder: Path) -> str:
    """What `opwright check` prints when it runs in a folder, the summary included."""
    output = io.StringIO()
    before = Path.cwd()
    os.chdir(folder)
    try:
        with contextlib.redirect_stdout(output), contextlib.redirect_stderr(output):
            main(["check", *arguments])
    finally:
        os.chdir(before)
    return output.getvalue()
