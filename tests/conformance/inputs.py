"""The inputs of a comparison: PyTorch's own, and ones made from them, each in a folder named after its content.

A folder of inputs is laid out as an installed PyTorch is: `torchgen/packaged` with YAML and templates, the reference's
own modules beside them, and `torch/version.py`. So both sides see a PyTorch that never existed as if it were installed,
and name the same paths in what they write. `selection` holds the selection files of the suite.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import importlib.util
import os
import shutil
import tempfile
from collections.abc import Callable, Mapping
from functools import cache, partial
from pathlib import Path

from tests.conformance import mutate
from tests.conformance.selections import SELECTIONS

ROOT = Path(__file__).resolve().parents[2]
CACHE = ROOT / ".cache" / "conformance"

Files = dict[str, bytes]
Mutation = Callable[[Mapping[str, str]], Mapping[str, str]]

# What each set of inputs changes in PyTorch's files: the function takes their texts and gives the changed ones.
MUTATIONS: dict[str, Mutation] = {
    "pytorch": lambda _: {},
    "third": mutate.keep_a_third,
    "namespace": mutate.move_to_namespace,
    "overloads": mutate.add_overloads,
    "derivatives": mutate.change_derivatives,
    "numbers": mutate.simplify_numbers,
    "shims": mutate.add_shims,
    "registrations": mutate.register_by_hand,
    "templates": partial(mutate.change_templates, seed="one"),
    "templates-again": partial(mutate.change_templates, seed="two"),
}


PACKAGED = "torchgen/packaged/"
SHIM_TABLES = "torchgen/aoti/fallback_ops.py"

#: The inputs for lazy tensors; `lazy@RELEASE` are those of a release, `lazy-NAME` are made from the inputs called NAME.
LAZY = "lazy"
#: The source tree for the stub files of torch; `stubs@RELEASE` is that of a release.
STUBS = "stubs"
#: The inputs that are laid out as a source tree, and the program there that PyTorch's build runs.
TREE = "tree"
BUILD_PROGRAM = "tools/setup_helpers/generate_code.py"


class NotAvailable(Exception):
    """Raised where the package index does not give the wheel that a job needs."""


class NoReference(Exception):
    """Raised where PyTorch's generator is not installed in the environment that runs the comparison."""


@cache
def reference_package() -> Path:
    """The folder of the installed reference, found without importing it."""
    spec = importlib.util.find_spec("torchgen")
    if spec is None or spec.origin is None:
        raise NoReference("PyTorch is not installed here; `make conformance` installs it into .venv")
    return Path(spec.origin).parent


@cache
def reference_version(inputs: str = "pytorch") -> str:
    """The version of the reference for the inputs of that name: a release's own, else the installed one's."""
    release = inputs.rpartition("@")[2]
    return release if release[0].isdigit() else importlib.metadata.version("torch")


#: An operator that PyTorch does not have, as an entry at the end of its file.
MY_ENTRY = """
- func: my_softclip(Tensor self, float limit=1.0) -> Tensor
  variants: function, method
  dispatch:
    CPU: my_softclip_cpu
  autogen: my_softclip.out
"""


def complete_package(folder: Path) -> None:
    """Write what an installed PyTorch has beside its inputs: its version, and the table of C shims."""
    version, table = folder / "torch" / "version.py", folder / "torchgen" / "aoti" / "fallback_ops.py"
    for path in (version, table):
        path.parent.mkdir(parents=True, exist_ok=True)
    version.write_text(f"__version__ = '{reference_version()}'\n", encoding="utf-8")
    shutil.copyfile(reference_package() / "aoti" / "fallback_ops.py", table)


@cache
def reference_digest(inputs: str = "pytorch") -> str:
    """What the reference for the inputs of that name is: a release, else a digest of the installed generator.

    The builds of a release for different devices have the same generator, and so the same answers.
    """
    release = inputs.rpartition("@")[2]
    return release if release[0].isdigit() else files_digest(generator_modules())


@cache
def installed_headers() -> Path:
    """The folder of headers that the installed PyTorch ships."""
    return reference_package().parent / "torch" / "include"


@cache
def pytorch_files() -> Files:
    """PyTorch's own YAML and templates, by path in a folder of inputs."""
    package = reference_package() / "packaged"
    paths = [
        *(package / "ATen" / "native").glob("*.yaml"),
        *(package / "ATen" / "templates").iterdir(),
        *(package / "autograd").glob("*.yaml"),
        *(package / "autograd" / "templates").iterdir(),
    ]
    return {path.relative_to(package).as_posix(): path.read_bytes() for path in sorted(paths)}


def reference_modules() -> Files:
    """What makes a folder of inputs an installed PyTorch: the reference's modules and the file with the version."""
    version = reference_package().parent / "torch" / "version.py"
    return {**generator_modules(), "torch/version.py": version.read_bytes()}


def generator_modules() -> Files:
    """The reference's modules."""
    package = reference_package()
    return {path.relative_to(package.parent).as_posix(): path.read_bytes() for path in package.rglob("*.py")}


@cache
def input_folder(name: str) -> Path:
    """The folder with the inputs called `name`, written on first use; its own name tells their content.

    A name that begins with a digit is that of a release, whose inputs come out of its wheel; `NAME@RELEASE` makes the
    inputs called NAME from those of a release.
    """
    mutation, _, release = name.partition("@")
    if mutation == LAZY or mutation.startswith(f"{LAZY}-"):
        from tests.conformance.lazy_inputs import lazy_folder

        return lazy_folder(name)
    if mutation == STUBS:
        from tests.conformance.stub_inputs import stub_folder

        return stub_folder(name)
    if name.startswith("between-"):
        from tests.conformance.tree_inputs import tree_folder

        return tree_folder(name)
    if name.startswith("executorch-"):
        from tests.conformance.executorch_inputs import executorch_folder

        return executorch_folder(name)
    if release or name[0].isdigit():
        from tests.conformance.release_inputs import release_folder

        base = release_folder(release or name)
        return base if not release else mutated_folder(name, MUTATIONS[mutation], folder_files(base), {})
    if name == TREE:
        return source_tree()
    files = {f"torchgen/packaged/{path}": text for path, text in pytorch_files().items()}
    files.update(selection_files())
    return mutated_folder(name, MUTATIONS[name], files, reference_modules())


def selection_files() -> Files:
    """The selection files of the suite, by path in a folder of inputs."""
    return {f"selection/{title}.yaml": text.encode("utf-8") for title, text in SELECTIONS.items()}


@cache
def source_tree() -> Path:
    """The folder of PyTorch's inputs laid out as a source tree, with the reference's programs at their places."""
    package = reference_package()
    places = {"packaged/ATen": "aten/src/ATen", "packaged/autograd": "tools/autograd", "": "torchgen"}
    files: Files = {"tools/__init__.py": b"", BUILD_PROGRAM: Path(__file__).with_name("build_program.py").read_bytes()}
    for path in package.rglob("*"):
        relative = path.relative_to(package).as_posix()
        if path.suffix in (".py", ".yaml") or path.parent.name == "templates":
            inner = next(inner for inner in places if relative.startswith(inner))
            files[f"{places[inner]}/{relative.removeprefix(inner).lstrip('/')}"] = path.read_bytes()
    files.update(selection_files())
    files["version.txt"] = f"{reference_version()}\n".encode()
    folder = CACHE / "inputs" / f"{TREE}-{files_digest(files)[:12]}"
    if not folder.is_dir():
        write_folder(folder, files)
    return folder


def mutated_folder(name: str, mutation: Mutation, files: Files, modules: Files) -> Path:
    """The folder of these files with the texts that a mutation changes, beside the reference's modules."""
    kept = {path for path in files if path.startswith(PACKAGED)} | {SHIM_TABLES}
    texts = {path: text for path, text in {**modules, **files}.items() if path in kept}
    changed = mutation({path.removeprefix(PACKAGED): text.decode("utf-8") for path, text in texts.items()})
    paths = {path.removeprefix(PACKAGED): path for path in texts}
    files = {**files, **{paths[path]: text.encode("utf-8") for path, text in changed.items()}}
    # The same generator comes with several builds of a release, each of which has a version of its own.
    digest = files_digest({**modules, **files, "torch/version.py": b""})
    folder = CACHE / "inputs" / f"{name}-{digest[:12]}"
    if not folder.is_dir():
        write_folder(folder, {**modules, **files})
    return folder


def folder_files(folder: Path) -> Files:
    """The files of a folder of inputs, by path; what Python compiled there is left out."""
    paths = (path for path in folder.rglob("*") if path.is_file() and path.suffix != ".pyc")
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}


def files_digest(files: Mapping[str, bytes]) -> str:
    """A digest of paths and bytes together, in hexadecimal."""
    digest = hashlib.sha256()
    for path in sorted(files):
        digest.update(f"{path}\0{len(files[path])}\0".encode())
        digest.update(files[path])
    return digest.hexdigest()


def write_folder(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write `files` into the new folder `folder`, which comes into being whole."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    draft = Path(tempfile.mkdtemp(dir=folder.parent))
    try:
        for path, text in files.items():
            (draft / path).parent.mkdir(parents=True, exist_ok=True)
            (draft / path).write_bytes(text)
        draft.rename(folder)
    except OSError:
        # Another run of the suite may have written the same folder in the meantime.
        if not folder.is_dir():
            raise
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def reserve_folder(path: Path) -> Path:
    """An empty folder at `path`, whatever stood there before."""
    if path.exists():
        shutil.rmtree(path)
    os.makedirs(path)
    return path
