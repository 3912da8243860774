"""Small wheels of plug-ins, and their installation into a folder."""

from __future__ import annotations

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

NAME = "acme-opwright"

LISTS = '''\
"""A list of operators."""

from opwright.plugin import Emitter, Family, OneFile, Plugin

from acme_opwright.words import ENDING


def emitters(job):
    emitter = Emitter(
        name="acme_list",
        family="acme_list",
        template=None,
        folder="lists",
        units=lambda job: job.catalog.functions,
        fragment=lambda function, context: {"text": f"{function.name}{ENDING}\\\\n"},
        layout=OneFile("operators.txt"),
    )
    return [emitter]


plugin = Plugin(
    "acme",
    api=1,
    families=[Family("acme_list", "a list of operators", emitters=[emitters], folders={"lists": "lists"})],
)
'''.replace("\\\\n", "\\n")
FILES = {"acme_opwright/__init__.py": LISTS, "acme_opwright/words.py": 'ENDING = ";"\n'}


def build_wheel(folder: Path, files: dict[str, str]) -> Path:
    """A wheel with these files, and an entry point of the plug-in `acme`."""
    info = "acme_opwright-1.0.dist-info"
    contents = {
        **files,
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {NAME}\nVersion: 1.0\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/entry_points.txt": "[opwright.plugins]\nacme = acme_opwright\n",
    }
    contents[f"{info}/RECORD"] = "".join([f"{name},,\n" for name in (*contents, f"{info}/RECORD")])
    wheel = folder / "acme_opwright-1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for name, text in contents.items():
            archive.writestr(name, text)
    return wheel


def install(wheel: Path, site: Path) -> None:
    """Install a wheel into a folder with pip."""
    words = ["install", "--quiet", "--no-deps", "--no-index", "--disable-pip-version-check", "--target", str(site)]
    subprocess.run([sys.executable, "-m", "pip", *words, str(wheel)], check=True, capture_output=True)


def uninstall(site: Path) -> None:
    """Remove what is installed in a folder."""
    shutil.rmtree(site)
