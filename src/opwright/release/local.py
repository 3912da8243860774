"""The inputs of a PyTorch on this machine: a source tree, the installed package, named files."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from importlib.util import find_spec

from opwright.release.store import TREE_VERSION, FolderStore
from opwright.release.view import NATIVE_FUNCTIONS, THREE_WAYS, Inputs
from opwright.source.codes import NO_INPUTS_HERE, NO_TORCH
from opwright.source.diagnostic import Fault
from opwright.source.limits import FILE_BYTES


def from_source_path(folder: str | os.PathLike[str]) -> Inputs:
    """The inputs in the `aten/src/ATen` of a source tree, or the `torchgen/packaged/ATen` of an installed PyTorch.

    The top of a source tree does as well. Autograd's inputs are read from the same tree or package. Raises Fault
    if `native/native_functions.yaml` is not there (E0501).
    """
    aten = os.fspath(folder)
    if not os.path.isfile(os.path.join(aten, NATIVE_FUNCTIONS)):
        inner = os.path.join(aten, "aten", "src", "ATen")
        if not os.path.isfile(os.path.join(inner, NATIVE_FUNCTIONS)):
            raise _no_inputs_in(aten)
        aten = inner
    # The top of the tree, or the folder of packages: as displayed, and as a path.
    root = os.path.normpath(os.path.join(aten, os.pardir, os.pardir, os.pardir))
    absolute_root = os.path.normpath(os.path.join(os.path.abspath(aten), os.pardir, os.pardir, os.pardir))
    beside = os.path.normpath(os.path.join(aten, os.pardir, "autograd"))
    if os.path.isfile(os.path.join(beside, "derivatives.yaml")):
        store = FolderStore(aten, beside, absolute_root)
        return Inputs(store, f"the folder {aten}", _package_version(absolute_root), absolute_root)
    if os.path.abspath(aten).replace(os.sep, "/").endswith("/aten/src/ATen"):
        store = FolderStore(aten, os.path.normpath(os.path.join(root, "tools", "autograd")), absolute_root)
        origin = f"the source tree {absolute_root if root == os.curdir else root}"
        return Inputs(store, origin, _tree_version(absolute_root), absolute_root)
    return Inputs(FolderStore(aten, beside, None), f"the folder {aten}", None)


def from_files(native: str, tags: str, autograd: str, files: Mapping[str, str] | None = None) -> Inputs:
    """The inputs with separate paths for `native_functions.yaml`, `tags.yaml` and autograd's folder.

    The folder is a source tree's `tools/autograd`, or the `torchgen/packaged/autograd` of an installed PyTorch. `files`
    has the paths of other inputs by their names. Raises Fault if `native_functions.yaml` does not exist (E0501).
    """
    if not os.path.isfile(native):
        raise Fault.at(NO_INPUTS_HERE, f"there is no file `{native}`")
    aten = os.path.normpath(os.path.join(os.path.dirname(native), os.pardir))
    parent = os.path.dirname(os.path.abspath(autograd))
    top = os.path.dirname(parent)
    if os.path.basename(parent) == "packaged":
        root = os.path.dirname(top)
        version = _package_version(root)
    else:
        root, version = top, _tree_version(top)
    paths = {NATIVE_FUNCTIONS: native, "native/tags.yaml": tags, **(files or {})}
    store = FolderStore(aten, autograd, root, files=paths)
    is_whole = os.path.basename(parent) in ("packaged", "tools")
    return Inputs(store, f"the file {native}", version, root if is_whole else None)


def _no_inputs_in(folder: str) -> Fault:
    if not os.path.isdir(folder):
        return Fault.at(NO_INPUTS_HERE, f"there is no folder `{folder}`")
    return Fault.at(
        NO_INPUTS_HERE,
        f"`{folder}` has no `{NATIVE_FUNCTIONS}`",
        help="name the folder `aten/src/ATen` of a PyTorch source tree, or the `torchgen/packaged/ATen` of a package",
    )


def _tree_version(root: str) -> str | None:
    """The version in a source tree's `version.txt`."""
    return _text_of(root, TREE_VERSION)[:64].strip() or None


def _package_version(site: str) -> str | None:
    """The version of torch in a folder of packages; does not import torch."""
    for line in _text_of(site, "torch", "version.py").splitlines():
        name, _, value = line.partition("=")
        if name.partition(":")[0].strip() == "__version__":
            return value.strip().strip("'\"") or None
    return None


def _text_of(*path: str) -> str:
    """Text of a file; empty if there is none."""
    try:
        with open(os.path.join(*path), encoding="utf-8") as stream:
            return stream.read(FILE_BYTES)
    except (OSError, UnicodeDecodeError):
        return ""


def from_installed() -> Inputs:
    """The inputs of the PyTorch that is installed in the running environment; PyTorch is not imported.

    Raises Fault if there is none (E0502).
    """
    folder = next((inputs for _, inputs in _installed_inputs()), None)
    if folder is None:
        raise Fault.at(NO_TORCH, "no PyTorch is installed in the running environment", help=THREE_WAYS)
    inputs = from_source_path(folder)
    version = inputs.version_text or _metadata_version()
    return Inputs(inputs._store, f"the PyTorch installed at {os.path.normpath(folder)}", version, inputs.root)


def installed_generator() -> str | None:
    """The folder of the installed PyTorch's own generator.

    A package `torchgen` that has no inputs forwards to Opwright; the inputs are then beside the package `torch`.
    """
    return next((package for package, _ in _installed_inputs()), None)


def _installed_inputs() -> Iterator[tuple[str, str]]:
    """The folders of generators that have inputs, each with its ATen folder."""
    for package in _generator_folders():
        for folder in (("packaged", "ATen"), (os.pardir, "aten", "src", "ATen")):
            candidate = os.path.join(package, *folder)
            if os.path.isfile(os.path.join(candidate, NATIVE_FUNCTIONS)):
                yield package, os.path.normpath(candidate)


def _generator_folders() -> Iterator[str]:
    """The folders of the packages `torchgen` that the running environment has."""
    for name in ("torchgen", "torch"):
        try:
            spec = find_spec(name)
        except (ImportError, ValueError):
            continue
        for package in (spec.submodule_search_locations if spec else None) or ():
            yield os.path.join(os.path.dirname(package), "torchgen")


def _metadata_version() -> str | None:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("torch")
    except PackageNotFoundError:
        return None
