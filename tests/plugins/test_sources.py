"""The modules of a plug-in are those that Python reads when it imports it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from opwright.plugins.sources import module_files

#: The module of a package, and the modules of the package that it imports.
PACKAGE = {
    "__init__.py": "",
    "main.py": "from . import one\nfrom .two import value\nimport acme.three\nfrom acme.four import value as v\n",
    "one.py": "from .inner import leaf\n",
    "two.py": "value = 1\n",
    "three.py": "import json\n",
    "four.py": "value = 1\n",
    "unused.py": "",
    "inner/__init__.py": "",
    "inner/leaf.py": "from .. import five\nfrom ..six import value\n",
    "five.py": "",
    "six.py": "value = 1\n",
}


def write(folder: Path, files: dict[str, str]) -> None:
    """Write files below a folder."""
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")


def test_modules_of_a_package_are_those_that_python_imports(tmp_path: Path) -> None:
    """Relative and absolute imports, directly or through others."""
    write(tmp_path / "acme", PACKAGE)
    program = "import sys, acme.main; print(*[m.__file__ for n, m in sys.modules.items() if n.startswith('acme')])"
    done = subprocess.run(
        [sys.executable, "-B", "-c", program], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert set(module_files(str(tmp_path / "acme" / "main.py"))) == set(done.stdout.split())
