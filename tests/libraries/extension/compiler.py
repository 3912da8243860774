"""A program in place of the C++ compiler: it notes what it makes, and makes files with the text of their inputs."""

from __future__ import annotations

import stat
import sys
from pathlib import Path

__all__ = ["FakeCompiler"]

#: It reports the included headers of the library, fails if a source has the word FAULTY, or MISPLACED at the line of
#: that, and links nothing that has the word UNDEFINED.
_PROGRAM = """\
#!{python}
import pathlib, re, sys
words = sys.argv[1:]
if "-o" not in words:
    print("12.2.0")
    sys.exit()
target = pathlib.Path(words[words.index("-o") + 1])
inputs = [pathlib.Path(word) for word in words if word.endswith((".cpp", ".cu", ".o")) and word != str(target)]
text = "".join(path.read_text(errors="replace") for path in inputs)
with open("{log}", "a") as log:
    log.write((target.stem if target.suffix == ".o" and target.stem in ("kernels", "register_0") else "") +
              target.suffix + "\\n")
if "UNDEFINED" in text and "-shared" in words:
    sys.exit("ld: inline.o: undefined reference to `acme::native::scale(at::Tensor const&, double)'")
if "FAULTY" in text and "-c" in words:
    sys.exit("<inline cpp>:2:3: error: 'FAULTY' was not declared in this scope")
if "UNKNOWN" in text and "-c" in words:
    sys.exit('<inline cuda>(2): error: identifier "UNKNOWN" is undefined')
if "MISPLACED" in text and "-c" in words:
    line = text[:text.index("MISPLACED")].count("\\n") + 1
    sys.exit(f"{{inputs[0]}}:{{line}}:3: error: 'MISPLACED' was not declared in this scope")
if "-MF" in words:
    folders = [pathlib.Path(word[2:]) for word in words if word.startswith("-I") and "/torch/" not in word]
    names = re.findall("#include <(acme.*)>", text)
    headers = [str(folder / name) for folder in folders for name in names if (folder / name).exists()]
    rule = f"{{target}}: {{' '.join([*map(str, inputs), *headers])}}\\n"
    pathlib.Path(words[words.index("-MF") + 1]).write_text(rule)
target.write_text(text)
"""


class FakeCompiler:
    """The program, installed in a folder."""

    def __init__(self, folder: Path) -> None:
        self._log = folder / "log"
        self.path = folder / "c++"
        self.path.write_text(_PROGRAM.format(python=sys.executable, log=self._log))
        self.path.chmod(self.path.stat().st_mode | stat.S_IXUSR)

    def calls(self) -> list[str]:
        """What was made since the last question: suffixes, with the names of objects that every build has."""
        text = self._log.read_text() if self._log.exists() else ""
        self._log.unlink(missing_ok=True)
        return sorted(text.split())
