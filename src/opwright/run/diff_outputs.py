"""The sets of generated files that a user compares: folders, or what an Opwright generates for a release."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence

from opwright.diff.outputs import FileLines, OutputSide
from opwright.files.plain_files import read_plain_file
from opwright.files.state_files import STATE_FOLDER
from opwright.incremental.state import manifest_facts, manifest_paths
from opwright.source.codes import NOT_GENERATED
from opwright.source.diagnostic import Fault

__all__ = ["generated_side", "output_side"]

_PROVENANCE = ".provenance.json"


def output_side(folder: str) -> OutputSide:
    """The files in a folder that a run wrote, with their provenance if the run wrote that too."""
    root = os.path.realpath(folder)
    contents = {}
    for path in _paths(root):
        contents[os.path.relpath(path, root).replace(os.sep, "/")] = read_plain_file(path)
    return OutputSide(folder, contents, _origins(root))


def _paths(root: str) -> Iterator[str]:
    """The generated files below a folder: all but states of runs and provenance."""
    recorded = {os.path.join(root, name) for name in _provenance_names(root)}
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders if name != STATE_FOLDER)
        for name in sorted(names):
            path = os.path.join(folder, name)
            if path not in recorded and os.path.isfile(path):
                yield path


def _provenance_names(root: str) -> Iterator[str]:
    """The paths of provenance files below a folder, as the manifests of its runs name them."""
    for manifest in manifest_paths(os.path.join(root, STATE_FOLDER)):
        name = manifest_facts(manifest).get("provenance")
        if isinstance(name, str):
            yield name


def _origins(root: str) -> dict[str, FileLines]:
    """The origins of lines by path below the folder; none if no run recorded them, or if the record is damaged."""
    origins: dict[str, FileLines] = {}
    for name in _provenance_names(root):
        try:
            data = json.loads(read_plain_file(os.path.join(root, name)))
            entries = [str(entry[2]) for entry in data["entries"]]
            for target, (emitter, ranges) in data["files"].items():
                path = os.path.relpath(target, root).replace(os.sep, "/")
                lines = [(int(first), int(last), entries[number]) for first, last, number in ranges]
                origins[path] = FileLines(str(emitter), lines)
        except (OSError, ValueError, KeyError, TypeError, IndexError, AttributeError):
            continue
    return origins


def generated_side(spec: str, python: str, arguments: Sequence[str], environment: Mapping[str, str]) -> OutputSide:
    """What the Opwright of a Python interpreter generates for a release or a folder of inputs.

    `arguments` are further ones of `opwright generate`. Raises Fault (E2104) if it fails.
    """
    where = ["--source-path", spec] if os.path.isdir(spec) else ["--torch", spec]
    with tempfile.TemporaryDirectory(prefix="opwright-diff-") as out:
        provenance = os.path.join(out, _PROVENANCE)
        command = [python, "-m", "opwright", "generate", *where, "--out", out, "--provenance", provenance, *arguments]
        try:
            done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        except OSError as error:
            raise Fault.at(NOT_GENERATED, f"cannot run `{python}`: {error.strerror}") from None
        if done.returncode:
            lines = done.stderr.strip().splitlines()
            message = f"`{python} -m opwright generate {' '.join(where)}` failed with status {done.returncode}"
            raise Fault.at(NOT_GENERATED, message, notes=lines[-12:])
        return output_side(out)._replace(label=spec)
