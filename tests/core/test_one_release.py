"""The core for one release decides what the whole core decides for that release."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from opwright.release.local import from_installed, installed_generator
from opwright.release.version import RELEASES, version_of
from tests.core.__main__ import contents, write_folder
from tests.core.closure import SOURCE
from tests.core.one_release import files_for, known_version
from tests.core.test_core import core

#: Prints all that rules and tables say of a release.
FACTS = """\
import sys
from importlib import import_module
from opwright.release import generator_digests
from opwright.release.rules import Rules
from opwright.release.version import parse_version
version = parse_version(sys.argv[1])
rules = Rules(version)
print([(row.name, rules.value(row.name)) for row in Rules.rows()])
print(rules.shim_tables, generator_digests.known_files(version))
for names in rules.operators, rules.complex_gradients, rules.formula_helpers:
    print(sorted(names))
for module in sys.argv[2:]:
    for name, table in vars(import_module(f"opwright.release.operator_names.{module}")).items():
        if hasattr(table, "in_release") and not isinstance(table, type):
            print(module, name, sorted(table.in_release(rules)), table.in_release(rules))
"""


def run(source: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run Python with a folder of sources before all others; sets print in the same order in each process."""
    environment = {**os.environ, "PYTHONPATH": str(source), "PYTHONHASHSEED": "0", "PYTHONSAFEPATH": "1"}
    return subprocess.run([sys.executable, *words], env=environment, capture_output=True, text=True, check=False)


@pytest.mark.thorough
@pytest.mark.parametrize("series", ["2.8", "2.13", RELEASES[-1].version.series])
def test_facts_are_those_of_the_release(series: str, tmp_path: Path) -> None:
    """Rules, tables of names, shims and digests are in the core for a release what they are in the whole for it."""
    write_folder(contents(core(), known_version(series)), tmp_path)
    modules = [path.stem for path in tmp_path.glob("opwright/release/operator_names/[a-z]*.py")]
    own, whole = (run(source, "-c", FACTS, series, *modules) for source in (tmp_path, SOURCE))
    assert (own.returncode, own.stderr, whole.returncode) == (0, "", 0)
    assert own.stdout == whole.stdout


@pytest.mark.thorough
def test_other_releases_are_refused(tmp_path: Path) -> None:
    """An older release is an error, and a newer one is told, as everywhere for releases that are not known."""
    write_folder(contents(core(), known_version("2.13")), tmp_path)
    code = "from opwright.release.version import *; from opwright.source.diagnostic import *; sink = Diagnostics()\n"
    code += "check_supported('2.14', sink); print([one.code for one in sink]); check_supported('2.12')"
    done = run(tmp_path, "-c", code)
    assert done.stdout == "['W0501']\n"
    assert "error[E0512]: PyTorch 2.12.0 is older than the releases supported, 2.13 to 2.13" in done.stderr


def test_rows_of_other_releases_are_gone() -> None:
    """No row that the release does not have stands in the core for it, and what is no table is unchanged."""
    version = known_version("2.15")
    whole = contents(core())
    files = files_for(whole, version)
    changed = {path for path in files if files[path] != whole[path]}
    assert all(path.startswith("opwright/release/") for path in changed)
    assert "Mark(" not in files["opwright/release/rules.py"].decode()
    texts = [files[path].decode() for path in changed if path.endswith((".py", "operators.txt"))]
    assert not [text for text in texts if " until=" in text or " until 2." in text]
    assert all(len(files[path]) < len(whole[path]) for path in changed)


@pytest.mark.thorough
def test_identity(tmp_path: Path) -> None:
    """The core for the installed release writes what the generator of the installed PyTorch writes."""
    site = Path(installed_generator() or "").parent
    write_folder(contents(core(), known_version(version_of(from_installed()).series)), tmp_path)
    done = run(tmp_path, str(tmp_path / "prove.py"), str(site), "--python", sys.executable)
    assert done.returncode == 0, done.stdout + done.stderr
