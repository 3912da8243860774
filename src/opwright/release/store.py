"""Stores: readers of a release's inputs in folders on disk or in a wheel.

Inputs are named the same everywhere: `native/native_functions.yaml`, `templates/Functions.h`,
`autograd/derivatives.yaml`, `autograd/templates/Functions.h`, `aoti/fallback_ops.py`. A store maps these names to
files.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Protocol

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
#: The files of PyTorch's generator in which behaviours between releases are seen. The first one tells that it is there.
GENERATOR = (
    "torchgen/gen.py",
    "torchgen/model.py",
    "torchgen/code_template.py",
    "torchgen/utils.py",
    "torchgen/gen_backend_stubs.py",
    "torchgen/api/cpp.py",
    "torchgen/api/python.py",
    "torchgen/api/types/types.py",
    "torchgen/dest/lazy_ir.py",
    "torchgen/dest/native_functions.py",
    "torchgen/dest/register_dispatch_key.py",
    "torchgen/gen_aoti_c_shim.py",
    "torchgen/gen_functionalization_type.py",
    "torchgen/native_function_generation.py",
    "autograd/gen_inplace_or_view_type.py",
    "autograd/gen_python_functions.py",
    "autograd/gen_trace_type.py",
    "autograd/gen_variable_type.py",
)
#: The folders with the modules of the generator that make PyTorch's own files and those of backends.
GENERATOR_FOLDERS = (
    "autograd",
    "torchgen",
    "torchgen/api",
    "torchgen/api/types",
    "torchgen/dest",
    "torchgen/selective_build",
    "torchgen/static_runtime",
)
#: How modules begin that stand in the place of PyTorch's generator and forward to Opwright.
FORWARDS = '"""Forwards to Opwright'
VERSION_FILES = (TREE_VERSION, "torch/version.py")
#: Where source trees have the program that PyTorch's build calls for autograd and Python, which no wheel has.
BUILD_PROGRAM = "tools/setup_helpers/generate_code.py"

PACKAGED = "torchgen/packaged/"
_SHIM_TABLES_MEMBER = f"torchgen/{SHIM_TABLES}"
NATIVE_OPS = "torch/_native/ops/"
_AOT_FILE = "aot.py"
_INSTALLED_HELPERS = "torch/include/torch/csrc/autograd/FunctionsManual.h"
#: What the members of wheels that are inputs begin with.
MEMBER_PREFIXES = (PACKAGED, NATIVE_OPS, _SHIM_TABLES_MEMBER, _INSTALLED_HELPERS)
_HELPERS_IN_TREE = "torch/csrc/autograd/FunctionsManual.h"


class InputPaths(NamedTuple):
    """Absolute paths of files and folders. As long as these do not change, the inputs do not either."""

    files: tuple[str, ...]
    folders: tuple[str, ...] = ()


class Store(Protocol):
    """Reads inputs by name."""

    def read_text(self, name: str) -> SourceFile:
        """The decoded input. Raises Fault if it does not exist."""
        ...

    def read_bytes(self, name: str) -> bytes:
        """The bytes of the input. Raises Fault if it does not exist."""
        ...

    def names(self) -> tuple[str, ...]:
        """The names of all inputs, sorted."""
        ...

    def display_path(self, name: str) -> str:
        """The path of an input in diagnostics."""
        ...

    def read_members(self, paths: Iterable[str]) -> dict[str, bytes]:
        """Other files of the same PyTorch, by their path in the wheel."""
        ...

    def member_names(self, prefix: str) -> tuple[str, ...]:
        """The paths of files that begin with `prefix`."""
        ...

    def paths(self, members: Iterable[str] = ()) -> InputPaths | None:
        """The paths of the inputs and of other members on this machine; None if they have none."""
        ...


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
    if there is only an ATen folder.
    """

    __slots__ = ("_aten", "_autograd", "_root")

    def __init__(self, aten: str, autograd: str, root: str | None) -> None:
        self._aten = aten
        self._autograd = autograd
        self._root = root

    def display_path(self, name: str) -> str:
        """The file's path on disk."""
        if name == FORMULA_HELPERS:
            return self._formula_helpers
        if name.startswith(AUTOGRAD):
            return os.path.join(self._autograd, *name[len(AUTOGRAD) :].split("/"))
        if name.startswith(NATIVE_AOT):
            return os.path.join(self._native_ops, *name[len(NATIVE_AOT) :].split("/"))
        if name.startswith(MEMBERS):
            return os.path.join(self._root or self._aten, *name.split("/"))
        if name == SHIM_TABLES and self._root is not None:
            return os.path.join(self._root, *_SHIM_TABLES_MEMBER.split("/"))
        return os.path.join(self._aten, *name.split("/"))

    @property
    def _native_ops(self) -> str:
        """The folder of ahead-of-time compiled kernels."""
        return os.path.join(self._root or os.path.join(self._aten, *[os.pardir] * 3), *NATIVE_OPS.split("/")[:-1])

    @property
    def _formula_helpers(self) -> str:
        """The path of the header of formula helpers, in a source tree or an installed PyTorch."""
        root = self._root or self._aten
        in_tree = os.path.join(root, *_HELPERS_IN_TREE.split("/"))
        return in_tree if os.path.isfile(in_tree) else os.path.join(root, *_INSTALLED_HELPERS.split("/"))

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
        names += aot_names(self._native_ops)
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
        files = [self.display_path(name) for name in dict.fromkeys((*self.names(), SHIM_TABLES, FORMULA_HELPERS))]
        if self._root is not None:
            modules = [
                f"{folder}/{name}"
                for folder in GENERATOR_FOLDERS
                for name in _files(self.display_path(f"{folder}/"), "")
            ]
            files += map(
                self.display_path, dict.fromkeys((*GENERATOR, *(name for name in modules if name.endswith(".py"))))
            )
            files += [os.path.join(self._root, *name.split("/")) for name in (*VERSION_FILES, BUILD_PROGRAM)]
        files += possible_aot_files(self._native_ops)
        more = {path: self.display_path(path) for path in members}
        files += more.values()
        folders = [os.path.join(self._aten, name) for name in ("native", "templates")]
        folders += [self._autograd, os.path.join(self._autograd, "templates"), self._native_ops]
        # Runs read some members by their names, so other files beside them, such as outputs, do not matter.
        listed = [path for name, path in more.items() if name not in DOCSTRING_MODULES + STUB_TEMPLATES]
        folders += dict.fromkeys(map(os.path.dirname, listed))
        return InputPaths(tuple(map(os.path.abspath, files)), tuple(map(os.path.abspath, folders)))


def member_of(name: str) -> str:
    """The path in a wheel of the input with this name.

    >>> member_of("native/tags.yaml"), member_of("autograd/derivatives.yaml")
    ('torchgen/packaged/ATen/native/tags.yaml', 'torchgen/packaged/autograd/derivatives.yaml')
    """
    if name.startswith(NATIVE_AOT):
        return NATIVE_OPS + name[len(NATIVE_AOT) :]
    if name == SHIM_TABLES:
        return _SHIM_TABLES_MEMBER
    if name == FORMULA_HELPERS:
        return _INSTALLED_HELPERS
    if name.startswith(MEMBERS):
        return name
    return PACKAGED + (name if name.startswith(AUTOGRAD) else f"ATen/{name}")


def name_of(member: str) -> str:
    """The reverse of `member_of`."""
    if member.startswith(NATIVE_OPS):
        return NATIVE_AOT + member[len(NATIVE_OPS) :]
    if member == _SHIM_TABLES_MEMBER:
        return SHIM_TABLES
    if member == _INSTALLED_HELPERS:
        return FORMULA_HELPERS
    return member[len(PACKAGED) :].removeprefix("ATen/")


def aot_names(folder: str) -> list[str]:
    """The names of the inputs that declare ahead-of-time compiled kernels: at most one per inner folder."""
    paths = filter(os.path.isfile, possible_aot_files(folder))
    return [f"{NATIVE_AOT}{os.path.basename(os.path.dirname(path))}/{_AOT_FILE}" for path in paths]


def possible_aot_files(folder: str) -> list[str]:
    """The paths that such declarations may have below a folder, which may be missing."""
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
