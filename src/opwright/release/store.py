"""Stores: readers of a release's inputs in folders on disk or in a wheel.

Inputs are named the same everywhere: `native/native_functions.yaml`, `templates/Functions.h`,
`autograd/derivatives.yaml`, `autograd/templates/Functions.h`, `aoti/fallback_ops.py`. A store maps these names to
files.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from typing import Protocol

from opwright.release.generator_files import GENERATOR, GENERATOR_FOLDERS
from opwright.source.codes import INPUT_MISSING
from opwright.source.diagnostic import Fault
from opwright.source.records import NamedTuple
from opwright.source.text import SourceFile

AUTOGRAD = "autograd/"
NATIVE_AOT = "native_aot/"
SHIM_TABLES = "aoti/fallback_ops.py"
"""The operators that have a C shim, as tables in a Python module of the generator."""
#: The header that declares the functions that derivative formulas call besides operators; some inputs lack it.
FORMULA_HELPERS = "autograd/FunctionsManual.h"
#: The file with the version of a source tree.
TREE_VERSION = "version.txt"
#: The beginning of the names of inputs outside the generator's folders, which are their paths in the wheel.
MEMBERS = ("torch/", "torchgen/", TREE_VERSION)
#: The modules that give docstrings to functions and methods.
DOCSTRING_MODULES = ("torch/_torch_docs.py", "torch/_tensor_docs.py")
#: The templates of the stub files of torch, which only source trees have.
STUB_TEMPLATES = (
    "torch/_C/__init__.pyi.in",
    "torch/_C/_VariableFunctions.pyi.in",
    "torch/_C/return_types.pyi.in",
    "torch/_C/_nn.pyi.in",
    "torch/nn/functional.pyi.in",
)
VERSION_FILES = (TREE_VERSION, "torch/version.py")
#: Where source trees have the program that PyTorch's build calls for autograd and Python, which no wheel has.
BUILD_PROGRAM = "tools/setup_helpers/generate_code.py"

SHIM_TABLES_MEMBER = f"torchgen/{SHIM_TABLES}"
NATIVE_OPS = "torch/_native/ops/"
_AOT_FILE = "aot.py"
INSTALLED_HELPERS = "torch/include/torch/csrc/autograd/FunctionsManual.h"
_HELPERS_IN_TREE = "torch/csrc/autograd/FunctionsManual.h"


class InputPaths(NamedTuple):
    """Absolute paths of files and folders. As long as these do not change, the inputs do not either."""

    files: tuple[str, ...]
    folders: tuple[str, ...] = ()


class Store(Protocol):
    """Reads inputs by name."""

    def read_text(self, name: str) -> SourceFile:
        """The decoded input. Raises Fault if it does not exist."""

    def read_bytes(self, name: str) -> bytes:
        """The bytes of the input. Raises Fault if it does not exist."""

    def names(self) -> tuple[str, ...]:
        """The names of all inputs, sorted."""

    def display_path(self, name: str) -> str:
        """The path of an input in diagnostics."""

    def read_members(self, paths: Iterable[str]) -> dict[str, bytes]:
        """Other files of the same PyTorch, by their path in the wheel."""

    def member_names(self, prefix: str) -> tuple[str, ...]:
        """The paths of files that begin with `prefix`."""

    def paths(self, members: Iterable[str] = ()) -> InputPaths | None:
        """The paths of the inputs and of other members on this machine; None if they have none."""


def is_input_name(name: str) -> bool:
    """Whether a name is that of an input: YAML, a template or a table, but not the reference's Python.

    >>> [is_input_name(name) for name in ("native/tags.yaml", "autograd/load_derivatives.py", "templates/UfuncCUDA.cu")]
    [True, False, True]
    """
    if name == SHIM_TABLES:
        return True
    folder, _, file_name = name.rpartition("/")
    if folder in ("templates", "autograd/templates"):
        return not file_name.startswith(".")
    if folder.startswith(NATIVE_AOT):
        return file_name == _AOT_FILE and folder.count("/") == 1
    return name == FORMULA_HELPERS or (folder in ("native", "autograd") and file_name.endswith(".yaml"))


class FolderStore:
    """Inputs in the folders of ATen and of autograd, which may be missing.

    `root` is the folder that corresponds to the top of a wheel (`site-packages`, or the top of a source tree), or None
    if there is only an ATen folder. `native_ops` is the folder of kernels compiled ahead of time, if it is not that of
    the tree. `files` are the paths of inputs that are elsewhere, by name.
    """

    __slots__ = ("_aten", "_autograd", "_files", "_native_ops", "_root")

    def __init__(
        self,
        aten: str,
        autograd: str,
        root: str | None,
        *,
        native_ops: str | None = None,
        files: Mapping[str, str] = {},
    ) -> None:
        self._aten = aten
        self._autograd = autograd
        self._root = root
        self._files = files
        if native_ops is None:
            native_ops = os.path.join(root or os.path.join(aten, *[os.pardir] * 3), *NATIVE_OPS.split("/")[:-1])
        self._native_ops = native_ops

    def display_path(self, name: str) -> str:
        """The file's path on disk."""
        if self._files.get(name):
            return self._files[name]
        if name == FORMULA_HELPERS:
            return self._formula_helpers
        if name.startswith(AUTOGRAD):
            return os.path.join(self._autograd, *name[len(AUTOGRAD) :].split("/"))
        if name.startswith(NATIVE_AOT):
            return os.path.join(self._native_ops, *name[len(NATIVE_AOT) :].split("/"))
        if name.startswith(MEMBERS):
            return os.path.join(self._root or self._aten, *name.split("/"))
        if name == SHIM_TABLES and self._root is not None:
            return os.path.join(self._root, *SHIM_TABLES_MEMBER.split("/"))
        return os.path.join(self._aten, *name.split("/"))

    @property
    def _formula_helpers(self) -> str:
        """The path of the header of formula helpers, in a source tree or an installed PyTorch."""
        root = self._root or self._aten
        in_tree = os.path.join(root, *_HELPERS_IN_TREE.split("/"))
        return in_tree if os.path.isfile(in_tree) else os.path.join(root, *INSTALLED_HELPERS.split("/"))

    def read_text(self, name: str) -> SourceFile:
        """The decoded file with this name."""
        path = self.display_path(name)
        if not os.path.lexists(path):
            raise Fault.at(
                INPUT_MISSING,
                f"the release has no `{name}`: there is no `{path}`",
                help="complete the folder, or leave out `--inputs-only`, `--hermetic` and `--release`: a copy of a "
                "folder then gets it from the installed PyTorch",
            )
        return SourceFile.read(path)

    def read_bytes(self, name: str) -> bytes:
        """The file's bytes."""
        return _file_bytes(self.display_path(name), name)

    def names(self) -> tuple[str, ...]:
        """The inputs in both folders, sorted."""
        names = [name for folder in ("native", "templates") for name in _files(self._aten, folder)]
        names += [AUTOGRAD + name for folder in ("", "templates") for name in _files(self._autograd, folder)]
        aot_files = filter(os.path.isfile, possible_aot_files(self._native_ops))
        names += [f"{NATIVE_AOT}{os.path.basename(os.path.dirname(path))}/{_AOT_FILE}" for path in aot_files]
        names += [SHIM_TABLES] if os.path.isfile(self.display_path(SHIM_TABLES)) else []
        names += [FORMULA_HELPERS] if os.path.isfile(self._formula_helpers) else []
        return tuple(sorted(name for name in names if is_input_name(name)))

    def read_members(self, paths: Iterable[str]) -> dict[str, bytes]:
        """Files of the same installation or tree."""
        return {path: _file_bytes(os.path.join(self._root or self._aten, *path.split("/")), path) for path in paths}

    def member_names(self, prefix: str) -> tuple[str, ...]:
        """Files of the same installation or tree whose path begins with `prefix`. Slow for a short prefix."""
        root = self._root or self._aten
        names = []
        for folder, _, files in os.walk(os.path.join(root, prefix.rpartition("/")[0])):
            relative = os.path.relpath(folder, root).replace(os.sep, "/")
            names += [file_name if relative == "." else f"{relative}/{file_name}" for file_name in files]
        return tuple(sorted(path for path in names if path.startswith(prefix)))

    def paths(self, members: Iterable[str] = ()) -> InputPaths:
        """All inputs and members, the folders that they are in, and the files that say the version."""
        names = [*self.names(), SHIM_TABLES, FORMULA_HELPERS]
        if self._root is not None:
            folders = {folder: self.display_path(f"{folder}/") for folder in GENERATOR_FOLDERS}
            modules = [f"{folder}/{name}" for folder, path in folders.items() for name in _files(path, "")]
            names += [*GENERATOR, *[name for name in modules if name.endswith(".py")], *VERSION_FILES]
        files = [self.display_path(name) for name in dict.fromkeys(names)]
        if self._root is not None:
            files.append(os.path.join(self._root, *BUILD_PROGRAM.split("/")))
        files += possible_aot_files(self._native_ops)
        more = {path: self.display_path(path) for path in members}
        files += more.values()
        of_inputs = [os.path.join(self._aten, name) for name in ("native", "templates")]
        of_inputs += [self._autograd, os.path.join(self._autograd, "templates"), self._native_ops]
        # Runs read some members by their names, so other files beside them, such as outputs, do not matter.
        listed = [path for name, path in more.items() if name not in DOCSTRING_MODULES + STUB_TEMPLATES]
        of_inputs += dict.fromkeys(map(os.path.dirname, listed))
        return InputPaths(tuple(map(os.path.abspath, files)), tuple(map(os.path.abspath, of_inputs)))


class LayeredStore:
    """A store like another one, but the inputs of some names are those of a second one. `more` are further paths."""

    __slots__ = ("_is_of_upper", "_lower", "_more", "_upper")

    def __init__(self, lower: Store, upper: Store, is_of_upper: Callable[[str], bool], more: InputPaths) -> None:
        self._lower = lower
        self._upper = upper
        self._is_of_upper = is_of_upper
        self._more = more

    def _store_of(self, name: str) -> Store:
        return self._upper if self._is_of_upper(name) else self._lower

    def display_path(self, name: str) -> str:
        """The path of the file."""
        return self._store_of(name).display_path(name)

    def read_text(self, name: str) -> SourceFile:
        """The decoded input with this name."""
        return self._store_of(name).read_text(name)

    def read_bytes(self, name: str) -> bytes:
        """The bytes of the input."""
        return self._store_of(name).read_bytes(name)

    def names(self) -> tuple[str, ...]:
        """The names of the inputs of both."""
        stores = (self._lower, self._upper)
        return tuple(sorted([name for store in stores for name in store.names() if self._store_of(name) is store]))

    def read_members(self, paths: Iterable[str]) -> dict[str, bytes]:
        """Other files of the same PyTorch."""
        return self._lower.read_members(paths)

    def member_names(self, prefix: str) -> tuple[str, ...]:
        """The paths of such files that begin with `prefix`."""
        return self._lower.member_names(prefix)

    def paths(self, members: Iterable[str] = ()) -> InputPaths | None:
        """The paths of the lower store, and the further ones."""
        paths = self._lower.paths(members)
        if paths is None:
            return None
        return InputPaths((*paths.files, *self._more.files), (*paths.folders, *self._more.folders))


class AotFolder(LayeredStore):
    """A store like another one, but with the declarations of ahead-of-time compiled kernels in a folder.

    There are none if the folder's name is empty.
    """

    __slots__ = ()

    def __init__(self, store: Store, folder: str) -> None:
        absolute = os.path.abspath(folder)
        more = InputPaths(tuple(possible_aot_files(absolute)), (absolute,)) if folder else InputPaths(())
        # It has no other inputs.
        upper = FolderStore(os.devnull, os.devnull, None, native_ops=folder)
        super().__init__(store, upper, lambda name: name.startswith(NATIVE_AOT), more)


def possible_aot_files(folder: str) -> list[str]:
    """The paths below a folder, which may be missing, that declarations of ahead-of-time compiled kernels may have."""
    try:
        return [os.path.join(folder, name, _AOT_FILE) for name in sorted(os.listdir(folder))]
    except OSError:
        return []


def _files(folder: str, inner: str) -> list[str]:
    """The files in an inner folder, with names relative to the outer folder."""
    prefix = f"{inner}/" if inner else ""
    try:
        with os.scandir(os.path.join(folder, inner)) as entries:
            return [prefix + entry.name for entry in entries if entry.is_file()]
    except OSError:
        return []


def _file_bytes(path: str, name: str) -> bytes:
    try:
        with open(path, "rb") as stream:
            return stream.read()
    except OSError as error:
        raise Fault.at(INPUT_MISSING, f"cannot read `{name}` at `{path}`: {error.strerror or error}") from None
