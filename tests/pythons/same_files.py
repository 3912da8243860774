"""Whether interpreters write the same files, and share the state of runs in one output folder."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

from opwright.emit.registry import FAMILIES
from tests.pythons.environments import ROOT, Environment

__all__ = ["digest", "found_differences"]

#: The families that need no inputs but those of a release.
_FAMILIES = [
    name
    for name, family in FAMILIES.items()
    if not (family.serves_libraries or family.serves_backends or name.startswith("executorch") or name == "torch_stubs")
]

_RUNS = (
    [word for name in _FAMILIES for word in ("--only", name)],
    ["--library", str(ROOT / "examples/library/acme.yaml")],
    ["--backend", str(ROOT / "examples/backend/acme.yaml")],
)

#: Edits of native_functions.yaml: a text and what stands in its place afterwards.
_EDITS = (
    ("SymInt minlength=0", "SymInt minlength=1"),
    ("CPU: _bincount_cpu", "CPU: _bincount_on_cpu"),
    ("- func: relu(", "- func: acme(Tensor self) -> Tensor\n  variants: function\n\n- func: relu("),
)


def _generate(environment: Environment, tree: Path, out: Path) -> None:
    for number, words in enumerate(_RUNS):
        command = [*environment.words, "-m", "opwright", "generate", "--source-path", str(tree), *words]
        done = subprocess.run([*command, "--out", str(out / str(number))], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr


def digest(out: Path) -> str:
    """A digest of the paths and bytes of all generated files in a folder; the state of runs is left out."""
    total = hashlib.sha256()
    for path in sorted(path for path in out.rglob("*") if path.is_file() and ".opwright" not in path.parts):
        total.update(f"{path.relative_to(out)}\0{path.stat().st_size}\0".encode())
        total.update(path.read_bytes())
    return total.hexdigest()[:16]


def found_differences(environments: Sequence[Environment], packages: Path, work: Path) -> Iterator[str]:
    """What interpreters write differently, from nothing and then in turns in one folder, between edits.

    `packages` is the folder that PyTorch is installed in, `work` one for copies and outputs.
    """
    shutil.rmtree(work, ignore_errors=True)
    shutil.copytree(packages / "torchgen", work / "torchgen")
    (work / "torch").mkdir()
    # It says of which release the inputs are.
    shutil.copy(packages / "torch" / "version.py", work / "torch")
    tree = work / "torchgen" / "packaged" / "ATen"
    first = environments[0]
    _generate(first, tree, work / "shared")
    expected = digest(work / "shared")
    for environment in environments[1:]:
        _generate(environment, tree, work / "alone")
        if digest(work / "alone") != expected:
            yield f"Python {environment.interpreter.name} and {first.interpreter.name} write different files"
        shutil.rmtree(work / "alone")
    entries = tree / "native" / "native_functions.yaml"
    for old, new in (("", ""), *_EDITS):
        text = entries.read_text()
        assert old in text, f"{old} is not in native_functions.yaml"
        entries.write_text(text.replace(old, new, 1))
        _generate(first, tree, work / "alone")
        expected = digest(work / "alone")
        shutil.rmtree(work / "alone")
        # Each edit meets the state of another interpreter, and the run after it, which changes nothing, too.
        for environment in (*environments[1:], first):
            _generate(environment, tree, work / "shared")
            if digest(work / "shared") != expected:
                yield f"Python {environment.interpreter.name} goes on wrongly after another one: {new or 'no edit'}"
    shutil.rmtree(work)
