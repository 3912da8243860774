"""A small set of inputs that tests edit, and runs over it."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

PIN = "bool? pin_memory=None"

ENTRIES = f"""\
- func: twice(Tensor self) -> Tensor
  variants: function, method
  structured_delegate: twice.out

- func: twice_(Tensor(a!) self) -> Tensor(a!)
  variants: function, method
  structured_delegate: twice.out

- func: twice.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
  structured: True
  structured_inherits: TensorIteratorBase
  dispatch:
    CPU, CUDA: twice_out

- func: shifted(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor
  variants: function, method
  dispatch:
    CPU: shifted_cpu
  autogen: shifted.out

- func: rows(Tensor(a) self, int dim) -> Tensor(a)
  variants: function, method
  dispatch:
    CompositeExplicitAutograd: rows

- func: rows_copy(Tensor self, int dim) -> Tensor
  dispatch:
    CompositeExplicitAutogradNonFunctional: rows_copy
  tags: view_copy
  autogen: rows_copy.out

- func: mean_of(Tensor[] tensors, float eps=1e-6) -> Tensor

- func: blank(SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, {PIN}) -> Tensor
  dispatch:
    CompositeExplicitAutograd: blank
  autogen: blank.out
"""

FAMILIES = ("--only", "headers", "--only", "sources", "--only", "declarations_yaml")


class Project:
    """Inputs of ATen in a folder, with few operators, and what is generated from them."""

    def __init__(self, folder: Path, reference_inputs: Path) -> None:
        self.inputs = folder / "inputs"
        shutil.copytree(reference_inputs, self.inputs)
        self.out = folder / "out"
        self.yaml = self.inputs / "native" / "native_functions.yaml"
        self.yaml.write_text(ENTRIES)

    def words(self, *more: object, out: Path | None = None) -> list[str]:
        """The arguments of a run."""
        where = ["--source-path", str(self.inputs), "--release", "2.13", "--out", str(out or self.out)]
        return ["generate", *where, *FAMILIES, *map(str, more)]

    def run(self, *more: object, out: Path | None = None) -> subprocess.CompletedProcess[str]:
        """A run as a process of its own, which must succeed."""
        done = self.start(*more, out=out)
        said, faults = done.communicate()
        assert done.returncode == 0, faults
        return subprocess.CompletedProcess(done.args, done.returncode, said, faults)

    def start(self, *more: object, out: Path | None = None) -> subprocess.Popen[str]:
        """A run that is under way; Ctrl-C ends it, even where the tests run in the background, which ignores Ctrl-C."""
        command = [sys.executable, "-m", "opwright", *self.words(*more, out=out)]
        return subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )

    def edit(self, old: str, new: str) -> None:
        """Replace one piece of the entries' text by another."""
        text = self.yaml.read_text()
        assert text.count(old) == 1
        self.yaml.write_text(text.replace(old, new))


def files_of(folder: Path) -> dict[str, bytes]:
    """All outputs below a folder by path, without what runs remember."""
    found = {}
    for parent, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if name != ".opwright"]
        for name in names:
            path = Path(parent, name)
            found[path.relative_to(folder).as_posix()] = path.read_bytes()
    return found


def times_of(folder: Path) -> dict[str, int]:
    """When each output was last written."""
    return {path: (folder / path).stat().st_mtime_ns for path in files_of(folder)}


def state_files(project: Project, suffix: str) -> list[Path]:
    """What runs remember, by the ending of the name."""
    return sorted((project.out / ".opwright").glob(f"*{suffix}"))


def put(place: Path, kind: str) -> None:
    """Something other than a file at a place: a pipe, a folder, a link that leads back to itself, or a device."""
    if kind == "pipe":
        os.mkfifo(place)
    elif kind == "folder":
        place.mkdir()
    else:
        place.symlink_to(place if kind == "loop" else "/dev/zero")
