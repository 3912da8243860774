"""A small set of inputs that tests edit, and runs over it."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from opwright.dialects.stub_templates import SLOTS
from opwright.emit.registry import FAMILIES as REGISTERED
from opwright.emit.registry import build_folders
from opwright.release.inputs import from_source_path
from opwright.run.generation import Generation
from opwright.run.request import Request
from tests.conformance.inputs import reference_version
from tests.copies import run_program

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

#: Operators besides those above that autograd and Python have files for.
MORE_ENTRIES = """
- func: soft(Tensor self, Tensor other, float by=1.0) -> Tensor
  variants: function, method
  dispatch:
    CPU: soft_cpu

- func: soft_(Tensor(a!) self, Tensor other, float by=1.0) -> Tensor(a!)
  variants: function, method
  dispatch:
    CPU: soft_cpu_
  autogen: soft.out

- func: halves(Tensor self, int dim) -> (Tensor first, Tensor second)
  variants: function, method
  dispatch:
    CPU: halves_cpu
  autogen: halves.out

- func: alias(Tensor(a) self) -> Tensor(a)
  variants: function, method
  dispatch:
    CompositeExplicitAutograd: alias

- func: alias_copy(Tensor self) -> Tensor
  dispatch:
    CompositeExplicitAutogradNonFunctional: alias_copy
  tags: view_copy
  autogen: alias_copy.out

- func: softened(Tensor self) -> Tensor
  python_module: nn

- func: fft_twice(Tensor self) -> Tensor
  python_module: fft

- func: linalg_twice(Tensor self) -> Tensor
  python_module: linalg

- func: _nested_twice(Tensor self) -> Tensor
  python_module: nested

- func: _sparse_twice(Tensor self) -> Tensor
  python_module: sparse

- func: special_twice(Tensor self) -> Tensor
  python_module: special

- func: scaled(Tensor self, Scalar alpha) -> Tensor
  structured_delegate: scaled.out

- func: scaled.out(Tensor self, Scalar alpha, *, Tensor(a!) out) -> Tensor(a!)
  structured: True
  structured_inherits: TensorIteratorBase
  ufunc_inner_loop:
    Generic: scaled (AllAndComplex)
    ScalarOnly: scaled (Bool)
"""

DERIVATIVES = """\
- name: soft(Tensor self, Tensor other, float by=1.0) -> Tensor
  self: grad * by
  other: grad * self
  result: self_t * by

- name: shifted(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor
  self: grad
  other: grad * alpha

- name: alias(Tensor(a) self) -> Tensor(a)
  self: grad
  result: auto_linear
"""

DEPRECATED = """\
- name: soft(Tensor self, float by, Tensor other) -> Tensor
  aten: soft(self, other, by)
"""

NO_SHIMS = """\
inductor_fallback_ops = {}
aten_shimified_ops = {}
"""

SHIM_TABLES = """\
inductor_fallback_ops = {"aten.twice.default": {}, "aten.shifted.default": {}, "aten.soft.default": {}}
aten_shimified_ops = {"aten.rows.default": {}}
"""

FAMILIES = ("headers", "sources", "declarations_yaml")


class Project:
    """Inputs of ATen in a folder, with few operators, and what is generated from them."""

    families: tuple[str, ...] = FAMILIES
    place = "inputs/torchgen/packaged/ATen"
    """Where the inputs are, below the project's folder: as an installed PyTorch has them."""

    def __init__(self, folder: Path, reference_inputs: Path) -> None:
        self.folder = folder
        self.inputs = folder / self.place
        shutil.copytree(reference_inputs, self.inputs)
        self.out = folder / "out"
        self.yaml = self.inputs / "native" / "native_functions.yaml"
        self.yaml.write_text(ENTRIES)
        self.derivatives = self.inputs.with_name("autograd") / "derivatives.yaml"
        self.derivatives.parent.mkdir()
        self.derivatives.write_text("[]\n")
        self.shim_tables = self.inputs.parent.parent / "aoti" / "fallback_ops.py"
        self.shim_tables.parent.mkdir()
        self.shim_tables.write_text(NO_SHIMS)
        # A folder that says its release lacks nothing, so that nothing comes from the installed PyTorch.
        version = self.inputs.parents[2] / "torch" / "version.py"
        version.parent.mkdir()
        version.write_text(f"__version__ = '{reference_version()}'\n")

    def words(self, *more: object, out: Path | None = None) -> list[str]:
        """The arguments of a run."""
        where = ["--source-path", str(self.inputs), "--out", str(out or self.out)]
        where += [] if "--release" in more else ["--release", "2.13"]
        chosen = [word for family in self.families for word in ("--only", family)]
        return ["generate", *where, *chosen, *map(str, more)]

    def run(self, *more: object, out: Path | None = None) -> subprocess.CompletedProcess[str]:
        """A run as a process of its own, which must succeed."""
        done = run_program(self.words(*more, out=out))
        assert done.returncode == 0, done.stderr
        return done

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
        replace_once(self.yaml, old, new)


class WholeProject(Project):
    """The same with inputs for every family that needs no file of a user, all of which are made."""

    families = tuple(
        name
        for name, family in REGISTERED.items()
        if not (family.serves_libraries or family.serves_backends or family.job_loader)
    )
    place = "site/torchgen/packaged/ATen"

    def __init__(self, folder: Path, reference_inputs: Path) -> None:
        super().__init__(folder, reference_inputs)
        self.yaml.write_text(ENTRIES + MORE_ENTRIES)
        autograd = self.inputs.with_name("autograd")
        shutil.copytree(reference_inputs.with_name("autograd") / "templates", autograd / "templates")
        self.derivatives.write_text(DERIVATIVES)
        self.deprecated = autograd / "deprecated.yaml"
        self.deprecated.write_text(DEPRECATED)
        for template, slots in SLOTS.items():
            path = self.inputs.parents[2] / template
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("".join(f"${{{slot}}}\n" for slot in slots))
        self.shim_tables.write_text(SHIM_TABLES)


class Edit(NamedTuple):
    """A change of one input: a text replaces the only occurrence of another; without that, it is added at the end.

    The path is seen from the folder above ATen's inputs.
    """

    path: str
    old: str
    new: str

    @contextmanager
    def made(self, project: Project) -> Iterator[None]:
        """The project with the edit, which is taken back at the end."""
        path = project.inputs.parent / self.path
        original = path.read_text()
        if self.old:
            replace_once(path, self.old, self.new)
        else:
            path.write_text(original + self.new)
        try:
            yield
        finally:
            path.write_text(original)


def replace_once(path: Path, old: str, new: str) -> None:
    """Replace the only occurrence of a text in a file."""
    text = path.read_text()
    assert text.count(old) == 1
    path.write_text(text.replace(old, new))


def generation(project: Project, out: str) -> Generation:
    """A run over the project in this process, loaded."""
    inputs, folders = from_source_path(str(project.inputs)), build_folders(out, project.families)
    return Generation(Request(inputs=inputs, folders=folders, families=project.families, release="2.13"))


def files_of(folder: Path) -> dict[str, bytes]:
    """All outputs below a folder by path, without what runs remember."""
    files = {}
    for parent, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if name != ".opwright"]
        for name in names:
            path = Path(parent, name)
            files[path.relative_to(folder).as_posix()] = path.read_bytes()
    return files


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
