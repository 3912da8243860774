"""Imports the operator libraries of others from their distributions: `python -m tests.field_replay`.

It downloads them from the package index, writes a library file from each with `opwright import`, checks it, and
compares what its generated code registers with what the sources register. Nothing of theirs is run, but for the
metadata that pip asks for, and FBGEMM: its distributions have no C++ sources, so a process imports it. With a folder of
kernels for the Hugging Face Hub, it does this with their bindings instead, and with one of trees of repositories it
counts operators by the classes of their differences.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import re
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import Final, NamedTuple
from zipfile import ZipFile

from opwright.cli.main import main as opwright
from opwright.migrate.importing.run import ImportRequest, check_import, read_operators, write_import
from opwright.schema.fault import SchemaFault
from opwright.source.diagnostic import Diagnostics
from opwright.syntax.dispatcher_schemas import read_written_schema
from tests.conformance.report import table

#: What `--check` says of operators that are registered as before.
_ALIKE: Final = re.compile(r"register ([\d,]+) operators? alike")
COLUMNS: Final = ("library", "schemas", "taken", "imported", "equal", "by hand", "lines before", "lines after")
HUB_COLUMNS: Final = ("kernel", "operators", "equal", "lines of the binding", "needless", "lines of the library file")
#: What lets the metadata of distributions be made without compilers and devices.
ENVIRONMENT: Final = {
    "VLLM_TARGET_DEVICE": "empty",
    "FLASH_ATTENTION_SKIP_CUDA_BUILD": "TRUE",
}


#: Kernels for the Hub whose source registers through both interfaces: a macro of the build chooses one.
TWO_INTERFACES: Final = frozenset(("activation",))


class Library(NamedTuple):
    """A library: its distribution, the sources of one build of it, and the macros of that build.

    A wheel is downloaded in place of the sources if it `is_wheel`, and `modules` are imported in a process.
    """

    name: str
    distribution: str
    sources: tuple[str, ...]
    macros: tuple[str, ...] = ()
    is_wheel: bool = False
    modules: tuple[str, ...] = ()


LIBRARIES: Final = (
    Library("vllm (CUDA)", "vllm==0.29.0", ("csrc/libtorch_stable", "csrc/flashkda_registration.cpp")),
    Library("vllm (CPU)", "vllm==0.29.0", ("csrc/cpu",), ("TORCH_EXTENSION_NAME=_C",)),
    Library("vllm (ROCm)", "vllm==0.29.0", ("csrc/rocm",), ("TORCH_EXTENSION_NAME=_rocm_C",)),
    Library("vllm (legacy)", "vllm==0.29.0", ("csrc/torch_bindings.cpp",), ("TORCH_EXTENSION_NAME=_C",)),
    Library("torch-scatter", "torch-scatter==2.1.2", ("csrc",)),
    Library("torch-cluster", "torch-cluster==1.6.3", ("csrc",)),
    Library("torch-sparse", "torch-sparse==0.6.18", ("csrc",)),
    Library("xformers (CUDA)", "xformers==0.0.35", ("xformers/csrc/attention/attention.cpp", "xformers/csrc/sparse24")),
    Library("xformers (Python)", "xformers==0.0.35", ("xformers/ops",)),
    Library("torchlpc", "torchlpc==0.7.2", ("torchlpc",)),
    Library("flash-attn", "flash-attn==2.8.3.post2", ("flash_attn",)),
    # The newest source distributions are old, or there are none.
    Library("torchao (CUDA)", "torchao==0.18.0", ("torchao/csrc", "torchao/ops.py"), is_wheel=True),
    Library("torchao (Python)", "torchao==0.18.0", ("torchao/**/*.py",), is_wheel=True),
    Library(
        "FBGEMM (CPU)", "fbgemm-gpu-cpu==1.8.0", (), is_wheel=True, modules=("fbgemm_gpu", "fbgemm_gpu.sparse_ops")
    ),
)


#: The sources of repositories, by the names of the folders with their trees.
TREES: Final = {
    "NNPOps": ("src/pytorch",),
    "pyg-lib": ("pyg_lib/csrc",),
    "metatensor": ("metatensor-torch/src/register.cpp",),
    "comfy-kitchen": ("comfy_kitchen",),
    "NATTEN": ("csrc", "src/natten"),
}
TREE_COLUMNS: Final = ("library", "definitions", "read", "alike", "lost", "added", "not read")


class Replayed(NamedTuple):
    """What became of a library: the numbers of the table, and what was said about differences.

    `needless` counts the lines that the library file takes the place of, also those around registrations.
    """

    schemas: int
    taken: int
    imported: int
    equal: int
    by_hand: int
    before: int
    after: int
    messages: str
    needless: int


def sources_of(distribution: str, cache: Path, *, is_wheel: bool = False) -> Path:
    """The folder with the files of a distribution, which is downloaded once."""
    project, _, version = distribution.partition("==")
    folder = cache / distribution
    if not folder.is_dir():
        cache.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=cache) as top:
            command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-build-isolation"]
            command += ["--only-binary=:all:" if is_wheel else "--no-binary=:all:", "--dest", top]
            environment = {**os.environ, **ENVIRONMENT, "VLLM_VERSION_OVERRIDE": version}
            subprocess.run([*command, f"{project}=={version}"], check=True, env=environment)
            if is_wheel:
                with ZipFile(next(Path(top).glob("*.whl"))) as wheel:
                    wheel.extractall(Path(top) / "wheel")
            else:
                with tarfile.open(next(Path(top).glob("*.tar.gz"))) as members:
                    members.extractall(top, filter="data")
            next(path for path in Path(top).iterdir() if path.is_dir()).rename(folder)
    return folder


def hub_libraries(folder: Path) -> list[Library]:
    """The kernels of a collection for the Hugging Face Hub, whose builds give the namespace."""
    kernels = {path.parent.parent.name for path in folder.glob("*/torch-ext/torch_binding.cpp")} - TWO_INTERFACES
    return [Library(name, "", (f"{name}/torch-ext/torch_binding.cpp",)) for name in sorted(kernels)]


def replay(library: Library, top: Path, out: Path) -> Replayed:
    """Import a library, check the file, generate from it, and compare. `top` is the folder of the library's files."""
    sources = tuple([str(path) for source in library.sources for path in sorted(top.glob(source))])
    if library.modules:
        os.environ["PYTHONPATH"] = os.pathsep.join([str(top.resolve()), os.environ.get("PYTHONPATH", "")])
    file = out / f"{library.name.replace(' ', '_').replace('-', '_')}.yaml"
    macros = dict(macro.partition("=")[::2] for macro in library.macros)
    read = read_operators(ImportRequest(sources, library.modules, macros, str(file)))
    words = ["import", *sources, *[word for macro in library.macros for word in ("--define", macro)]]
    words += [word for module in library.modules for word in ("--module", module)]
    words += ["--out", str(file)]
    said, told = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(told):
        opwright([*words, "--force"])
        opwright(["check", str(file)])
        opwright([*words, "--check"])
    lines = said.getvalue().splitlines()
    compared = lines[-1] if lines else ""
    is_sound = "error[" not in told.getvalue() + said.getvalue()
    alike = _ALIKE.search(compared)
    schemas = [statement.schema for statement in read.statements if statement.schema]
    return Replayed(
        len(set(schemas)),
        sum(map(_is_taken, set(schemas))),
        len(read.imported.operators) if is_sound else 0,
        int(alike[1].replace(",", "")) if alike else 0,
        sum(operator.by_hand for operator in read.imported.operators),
        sum(place.last - place.first + 1 for place in read.imported.taken if place.first),
        len(file.read_text().splitlines()) if file.exists() else 0,
        "" if alike and " alike, 0 differences are lost or added" in compared else said.getvalue() + told.getvalue(),
        len({(own.path, line) for own in read.deletable if own.first for line in range(own.first, own.last + 1)}),
    )


def classed(name: str, top: Path, out: Path) -> list[str]:
    """The numbers of a tree: operators by the classes of `--check`, and what was not read or cannot be in a file."""
    request = ImportRequest(
        tuple([str(top / source) for source in TREES[name]]), (), {}, str(out / "tree.yaml"), str(out / "formulas.yaml")
    )
    write_import(request, force=True)
    checked = check_import(request, "auto", Diagnostics())
    kinds = {
        kind: {row.operator for row in checked.comparison.differences if row.kind == kind} for kind in ("lost", "added")
    }
    read, unread = len(checked.read.imported.operators), len({*checked.read.imported.refused, *checked.unread})
    numbers = read + unread, read, len(checked.comparison.alike), len(kinds["lost"]), len(kinds["added"]), unread
    return [name, *map(str, numbers)]


def _hub_numbers(replayed: Replayed, folder: Path) -> tuple[int, ...]:
    files = [path for path in folder.glob("torch-ext/torch_binding.*") if path.suffix in (".cpp", ".h")]
    lines = sum(len(path.read_text().splitlines()) for path in files)
    return replayed.schemas, replayed.equal, lines, replayed.needless, replayed.after


def _is_taken(schema: str) -> bool:
    try:
        read_written_schema(schema)
    except SchemaFault:
        return False
    return True


def main() -> int:
    """Print the table; the exit status is 1 if the registrations of a library are not equal."""
    parser = argparse.ArgumentParser(prog="python -m tests.field_replay", description=__doc__)
    parser.add_argument("--only", default="", help="libraries whose name has this text, such as `vllm`")
    parser.add_argument("--cache", type=Path, default=Path(".cache/field"), help="the folder of the downloads")
    parser.add_argument("--hub", type=Path, help="a folder with kernels for the Hub, such as kernels-community")
    parser.add_argument("--trees", type=Path, help=f"a folder with trees of repositories: {', '.join(TREES)}")
    chosen = parser.parse_args()
    if chosen.trees is not None:
        with tempfile.TemporaryDirectory() as out:
            found = [classed(name, chosen.trees / name, Path(out)) for name in TREES if (chosen.trees / name).is_dir()]
        print("\n".join(table(TREE_COLUMNS, found)))
        return 0 if found else 1
    rows, messages, differs = [], [], False
    with tempfile.TemporaryDirectory() as out:
        for library in LIBRARIES if chosen.hub is None else hub_libraries(chosen.hub):
            if chosen.only in library.name:
                top = chosen.hub or sources_of(library.distribution, chosen.cache, is_wheel=library.is_wheel)
                replayed = replay(library, top, Path(out))
                numbers = replayed[:7] if chosen.hub is None else _hub_numbers(replayed, top / library.name)
                rows.append([library.name, *map(str, numbers)])
                # Opwright refuses some kernels of collections, for reasons that it says.
                differs |= replayed.equal < replayed.imported or (bool(replayed.messages) and chosen.hub is None)
                messages += [f"== {library.name}\n{replayed.messages}"] if replayed.messages else []
    print("\n".join([*messages, *table(COLUMNS if chosen.hub is None else HUB_COLUMNS, rows)]))
    return 1 if differs or not rows else 0


if __name__ == "__main__":
    sys.exit(main())
