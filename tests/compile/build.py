"""An operator library beside PyTorch: its inputs, generated code and shared object."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from tests.compile.compiler import Compiler
from tests.compile.conftest import Generate

__all__ = ["HERE", "Generated", "library_inputs", "shared_object"]

#: What the author of the library wrote.
HERE = Path(__file__).parent / "library"

#: The generated headers that PyTorch's do not replace: of the library's operators, and of what only sources need.
_HEADERS = ("FunctionalInverses.h", "RedispatchFunctions.h", "UnboxingFunctions.h", "ViewMetaClasses.h")


def _packaged() -> Path:
    spec = find_spec("torchgen")
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent / "packaged"


def library_inputs(folder: Path, entries: str) -> Path:
    """A folder of inputs with a library's entries and derivatives, PyTorch's tags, and PyTorch's templates but one."""
    aten, autograd = folder / "ATen", folder / "autograd"
    shutil.copytree(_packaged() / "ATen" / "templates", aten / "templates")
    shutil.copytree(HERE / "templates", aten / "templates", dirs_exist_ok=True)
    shutil.copytree(_packaged() / "autograd" / "templates", autograd / "templates")
    (aten / "native").mkdir()
    shutil.copy(_packaged() / "ATen" / "native" / "tags.yaml", aten / "native")
    (aten / "native" / "native_functions.yaml").write_text(entries, encoding="utf-8")
    shutil.copy(HERE / "derivatives.yaml", autograd)
    return aten


@dataclass(frozen=True)
class Generated:
    """The output of a run, with the part of its headers that a build beside PyTorch puts before PyTorch's."""

    out: Path
    include: Path

    @classmethod
    def from_inputs(cls, inputs: Path, generate: Generate, families: Sequence[str], release: str) -> Generated:
        """Runs the program. Files that hold all operators are PyTorch's, so the library's are not put forward."""
        only = [word for family in families for word in ("--only", family)]
        out = generate("--source-path", inputs, "--release", release, *only)
        aten, autograd = out / "aten" / "src" / "ATen", out / "torch" / "csrc" / "autograd" / "generated"
        include = out / "include"
        shutil.copytree(aten / "ops", include / "ATen" / "ops")
        for header in filter(Path.exists, (aten / name for name in _HEADERS)):
            shutil.copy(header, include / "ATen")
        if autograd.exists():
            for header in autograd.glob("*.h"):
                target = include / header.relative_to(out)
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(header, target)
        return cls(out, include)

    def source(self, stem: str) -> Path:
        """The generated source of a name below the output folder; of sharded sources, that of all shards."""
        whole = self.out / f"{stem}Everything.cpp"
        return whole if whole.exists() else self.out / f"{stem}.cpp"


def shared_object(
    generated: Generated, compiler: Compiler, name: str, stems: Sequence[str], own: Sequence[str]
) -> Path:
    """Compiles generated sources and what the author wrote into one shared library."""
    sources = [*map(generated.source, stems), *(HERE / file for file in own)]
    return compiler.library(name, sources)
