"""Cases of `opwright port`: a source, what becomes of it, and what the program says, in one file each."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path
from typing import NamedTuple

from opwright.cli.main import main

__all__ = ["FOLDER", "Case", "load_cases", "outcome"]

FOLDER = Path(__file__).parent / "cases"
#: The line before the ported source, and the one before what the program prints.
PORTED = "===== ported\n"
PRINTED = "===== printed\n"
#: A calling line of the generated header: what case files show of it.
_CALL = re.compile(r"(?m)^(?:// aten::.*|//! \w+)$")


class Case(NamedTuple):
    """A case: its name, the arguments of the program in the first line of the source, and the three texts."""

    name: str
    source: str
    ported: str
    printed: str

    @property
    def arguments(self) -> list[str]:
        """The arguments of the program, from a comment in the first line."""
        match = re.match(r"// opwright port (.*)\n", self.source)
        return match[1].split() if match is not None else []

    def text(self) -> str:
        """The text of the file."""
        return f"{self.source}{PORTED}{self.ported}{PRINTED}{self.printed}"


def load_cases() -> list[Case]:
    """All cases."""
    cases = []
    for path in sorted(FOLDER.glob("*.case")):
        source, _, rest = path.read_text(encoding="utf-8").partition(PORTED)
        ported, _, printed = rest.partition(PRINTED)
        cases.append(Case(path.stem, source, ported, printed))
    return cases


def outcome(case: Case, folder: Path) -> Case:
    """A case with what the program makes of its source now. It prints which functions its header has."""
    file = folder / f"{case.name}.cpp"
    file.write_text(case.source, encoding="utf-8")
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        assert main(["port", "--stable", *case.arguments, str(file)]) == 0
    printed = said.getvalue().replace(f"{folder}/", "")
    header = folder / "stable_ops.h"
    if header.exists():
        calls = [line.lstrip("/! ") for line in _CALL.findall(header.read_text(encoding="utf-8"))]
        printed += "".join(f"stable_ops.h: {line}\n" for line in calls)
    return case._replace(ported=file.read_text(encoding="utf-8"), printed=printed)
