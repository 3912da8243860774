"""The files of a plug-in are found without importing it: those that Python reads when it imports it, at least."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from opwright.plugins.sources import module_files, static_sources

#: The files beside the module of a plug-in.
FILES = {
    "helpers.py": "value = 1\n",
    "other.py": "",
    "tools/__init__.py": "",
    "tools/deep.py": "value = 1\n",
    "tools/data/table.txt": "",
    "tools/__pycache__/deep.pyc": "",
    "lists/list.h": "",
}
TOOLS = {"tools/__init__.py", "tools/deep.py", "tools/data/table.txt"}
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


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("import json", set()),
        ("import helpers", {"helpers.py"}),
        ("import json, helpers as h", {"helpers.py"}),
        ("def f():\n    from helpers import value", {"helpers.py"}),
        ("import tools.deep", TOOLS),
        ("from tools.deep import value", TOOLS),
        ("from tools import deep", TOOLS),
        ('plugin = Plugin("acme", api=1, templates="lists")', {"lists/list.h"}),
        ('plugin = Plugin("acme", api=1, headers="lists")', {"lists/list.h"}),
        ('plugin = Plugin("acme", api=1, templates="", headers=FOLDER, version="lists")', set()),
        ("def f(:\n    import helpers", set()),
    ],
)
def test_modules_beside_a_plugin_are_its_own(text: str, found: set[str], tmp_path: Path) -> None:
    """They are in its folder, or folders that it names."""
    write(tmp_path, {**FILES, "acme.py": text})
    sources = static_sources(str(tmp_path / "acme.py"))
    assert set(sources.files) == {str(tmp_path / name) for name in {"acme.py", *found}}
    folders = {str((tmp_path / name).parent) for name in found} - {str(tmp_path)}
    assert set(sources.folders) <= folders
    assert bool(sources.folders) == bool(folders)


def test_a_plugin_that_is_a_folder_has_all_files_in_it(tmp_path: Path) -> None:
    """Whether they are modules or not."""
    write(tmp_path, FILES)
    sources = static_sources(str(tmp_path / "tools" / "__init__.py"))
    assert set(sources.files) == {str(tmp_path / name) for name in TOOLS}
    assert sources.folders == (str(tmp_path / "tools"),)


def test_fingerprints_follow_contents_and_names(tmp_path: Path) -> None:
    """Edits and new files give another one; the place of the plug-in does not count."""
    prints = set()
    for place in ("here", "there"):
        write(tmp_path / place, {**FILES, "acme.py": "import tools"})
        prints.add(static_sources(str(tmp_path / place / "acme.py")).fingerprint())
    assert len(prints) == 1
    for name in ("tools/data/table.txt", "tools/new.txt", "acme.py"):
        write(tmp_path / "there", {name: "import tools\n"})
        prints.add(static_sources(str(tmp_path / "there" / "acme.py")).fingerprint())
    assert len(prints) == 4


def test_modules_of_a_package_are_those_that_python_imports(tmp_path: Path) -> None:
    """Relative and absolute imports, directly or through others."""
    write(tmp_path / "acme", PACKAGE)
    program = "import sys, acme.main; print(*[m.__file__ for n, m in sys.modules.items() if n.startswith('acme')])"
    done = subprocess.run(
        [sys.executable, "-B", "-c", program], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert set(module_files(str(tmp_path / "acme" / "main.py"))) == set(done.stdout.split())
