"""What an environment gets beside Opwright, under which licences, and whether the documentation has them right."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tests.pythons.environments import ROOT, Environment

__all__ = ["Package", "differences_of_table", "installed_packages"]

_PAGE = ROOT / "docs" / "installation.md"
_ROW = re.compile(r"^\| `([^`]+)` \| ([^|]+) \|", re.MULTILINE)

#: Run by the environment's interpreter, which sees what is installed there.
_ASK = """\
import json
from importlib.metadata import distributions

def licence(metadata):
    kinds = [name.rpartition(" :: ")[2] for name in metadata.get_all("Classifier", []) if name.startswith("License ::")]
    return metadata["License-Expression"] or " and ".join(kinds) or metadata["License"] or "none named"

print(json.dumps([[found.metadata["Name"], found.version, licence(found.metadata)] for found in distributions()]))
"""


class Package(NamedTuple):
    """An installed package, with the licence that its metadata names."""

    name: str
    version: str
    licence: str


def installed_packages(environment: Environment) -> list[Package]:
    """What is installed there apart from pip and Opwright, sorted by name."""
    done = subprocess.run([environment.python, "-c", _ASK], capture_output=True, text=True, check=True)
    packages = [Package(*row) for row in json.loads(done.stdout)]
    return sorted(package for package in packages if package.name not in ("pip", "setuptools", "opwright"))


def differences_of_table(packages: list[Package], page: Path = _PAGE) -> Iterator[str]:
    """What the table of the page says differently from the packages that were installed on all Pythons."""
    table = page.read_text(encoding="utf-8").partition("| package | licence |")[2].partition("\n\n")[0]
    rows = dict(_ROW.findall(table))
    installed = {package.name: package.licence for package in packages}
    for name in sorted(rows.keys() | installed.keys()):
        if rows.get(name) != installed.get(name):
            written, named = rows.get(name, "no row"), installed.get(name, "nothing, as it is not installed")
            yield f"{page.name} has {written} for `{name}`; its metadata has {named}"
