"""The reference's template engine, kept running in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

# Reads one JSON request a line, answers with one JSON line. It names no template twice, since the reference keeps them.
SERVER = """
import json, sys
from torchgen.utils import FileManager
folder = sys.argv[1]
manager = FileManager(install_dir=folder, template_dir=folder, dry_run=False)
for line in sys.stdin:
    name, slots = json.loads(line)
    try:
        answer = manager.substitute_with_template(name, lambda: slots)
    except KeyError as error:
        answer = {"missing": error.args[0]}
    print(json.dumps(answer), flush=True)
"""


class ReferenceTemplates:
    """Fills templates as the reference does; template texts are put into files of a folder of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.count = 0
        self.process = subprocess.Popen(
            [sys.executable, "-c", SERVER, str(folder)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def render(self, template: str, slots: Mapping[str, str | Sequence[str]]) -> str:
        """The filled template. Raises KeyError, with the slot's name, when a slot has no value."""
        self.count += 1
        name = f"template_{self.count}"
        (self.folder / name).write_text(template, encoding="utf-8", newline="")
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps([name, slots]) + "\n")
        self.process.stdin.flush()
        answer = json.loads(self.process.stdout.readline())
        if isinstance(answer, str):
            return answer
        raise KeyError(answer["missing"])

    def close(self) -> None:
        """Ends the process."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait(timeout=30)
        assert self.process.stdout is not None
        self.process.stdout.close()
