"""Builds of libraries whose kernels get borrowed tensors: the kernels once, and a thin object for each framework."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from importlib.util import find_spec
from typing import Any, Final

from opwright.libraries.dialect.head import FRAMEWORKS, read_head
from opwright.libraries.extension.toolchain import USE_CUDA, include_folder
from opwright.source.diagnostic import Diagnostics, Fault
from opwright.source.records import NamedTuple
from opwright.source.text import SourceFile
from opwright.source.yaml import load_yaml

#: The generated source that all frameworks share.
_CALLS: Final = "calls.cpp"


class FrameworkBuild(NamedTuple):
    """How code for a framework is built.

    `package` is the Python package that has its headers, below the folder `include`, and shared libraries to link.
    `object` is the name of the shared object, and `modules` those of the Python modules that need it.
    `cuda_libraries` are linked as well if there are sources for CUDA.
    """

    package: str
    object: str
    libraries: tuple[str, ...] = ()
    modules: tuple[str, ...] = ()
    cuda_libraries: tuple[str, ...] = ()


_BUILDS: Final[Mapping[str, FrameworkBuild]] = {
    "torch": FrameworkBuild("torch", "_C", ("torch", "torch_cpu", "c10"), cuda_libraries=("torch_cuda",)),
    "jax": FrameworkBuild("jaxlib", "_jax", (), ("jax.py", "_jax_runtime.py")),
    "tvm_ffi": FrameworkBuild("tvm_ffi", "_tvm_ffi", ("tvm_ffi",), ("tvm_ffi.py",)),
}
#: The modules of frameworks other than PyTorch, which has all others.
_OTHER_MODULES: Final = frozenset([module for build in _BUILDS.values() for module in build.modules])


def view_frameworks(paths: Iterable[str]) -> tuple[str, ...] | None:
    """The frameworks of library files whose kernels get borrowed tensors; None for other libraries.

    Files that cannot be read are reported when they are built.
    """
    frameworks: list[str] = []
    is_found = False
    for path in paths:
        try:
            head = read_head(load_yaml(SourceFile.read(path)), Diagnostics())[0]
        except Fault:
            continue
        if head.abi == "dlpack":
            is_found = True
            frameworks += head.frameworks or FRAMEWORKS
    return tuple([name for name in FRAMEWORKS if name in frameworks]) if is_found else None


def is_installed_for(path: str, frameworks: Sequence[str]) -> bool:
    """Whether a generated file goes into a package that serves some frameworks.

    >>> is_installed_for("acme/jax.py", ["torch"]), is_installed_for("acme/_ops.py", ["jax"])
    (False, False)
    """
    name = os.path.basename(path)
    if name in _OTHER_MODULES:
        return any(name in _BUILDS[framework].modules for framework in frameworks)
    return "torch" in frameworks or name == "py.typed"


def framework_folder(framework: str) -> str:
    """The folder of the package with the headers of a framework; empty if it is not installed."""
    spec = find_spec(_BUILDS[framework].package)
    places = [] if spec is None else list(spec.submodule_search_locations or ())
    return places[0] if places and os.path.isdir(os.path.join(places[0], "include")) else ""


class ViewBuild:
    """Compiles and links a library for frameworks.

    `compiler` is that of setuptools, `folder` the one for objects, and `extension` has sources and flags. Sources and
    headers are compared by their times.
    """

    def __init__(self, compiler: Any, folder: str, extension: Any, *, force: bool) -> None:  # noqa: ANN401
        self._compiler: Final = compiler
        self._folder: Final = folder
        self._extension: Final = extension
        self._force: Final = force

    def build_kernels(self, path: str) -> None:
        """The shared object with the kernels and the checks of calls, in which there is nothing of any framework."""
        code = self._extension.code
        cuda = self._cuda_sources()
        own = [source for source in self._extension.sources if source not in cuda]
        generated = [source for source in code.sources if os.path.basename(source) == _CALLS]
        objects = self._compiled([*own, *generated], ())
        objects += [self._compiled_for_cuda(source) for source in cuda]
        name = os.path.basename(path)
        flags = [f"-Wl,-install_name,@rpath/{name}"] if sys.platform == "darwin" else [f"-Wl,-soname,{name}"]
        libraries = [*self._extension.libraries, *(["cudart"] if cuda else [])]
        folders = [*self._extension.library_dirs, *([os.path.join(_cuda_folder(), "lib64")] if cuda else [])]
        self._link([*objects, *self._extension.extra_objects], path, flags, libraries, folders)

    def build_framework(self, framework: str, kernels: str) -> str:
        """The shared object with which a framework calls the kernels, beside that with them. Gives its path."""
        build, top = _BUILDS[framework], framework_folder(framework)
        sources = [path for path in self._extension.code.sources if os.path.basename(path) == f"{framework}.cpp"]
        folders = [os.path.join(top, "lib"), *self._extension.library_dirs] if build.libraries else []
        # PyTorch's functions for streams are in a library that builds for the CPU lack.
        cuda = [name for name in build.cuda_libraries if self._cuda_sources() and _is_in(folders, name)]
        macros = [(USE_CUDA, None)] if cuda else []
        objects = self._compiled(sources, (os.path.join(top, "include"),), macros)
        path = self.framework_path(framework, kernels)
        origin = "@loader_path" if sys.platform == "darwin" else "$ORIGIN"
        self._link([*objects, kernels], path, [f"-Wl,-rpath,{origin}"], [*build.libraries, *cuda], folders)
        return path

    def _cuda_sources(self) -> list[str]:
        return [source for source in self._extension.sources if source.endswith(".cu")]

    @staticmethod
    def framework_path(framework: str, kernels: str) -> str:
        """The path of the shared object for a framework.

        >>> ViewBuild.framework_path("jax", "build/acme/libacme_kernels.so")
        'build/acme/_jax.so'
        """
        folder, name = os.path.split(kernels)
        return os.path.join(folder, _BUILDS[framework].object + os.path.splitext(name)[1])

    def _include_dirs(self, more: Sequence[str]) -> list[str]:
        return [*self._extension.include_dirs, self._extension.code.include, include_folder(), *more]

    def _read_files(self) -> list[str]:
        """Files that every object depends on."""
        brought = [
            os.path.join(include_folder(), "opwright", name) for name in os.listdir(f"{include_folder()}/opwright")
        ]
        return [*self._extension.code.headers, *self._extension.depends, *brought]

    def _compiled(
        self, sources: Sequence[str], include_dirs: Sequence[str], macros: Sequence[tuple[str, str | None]] = ()
    ) -> list[str]:
        """Paths of the objects of C++ sources, up to date."""
        # Python's flags ask for debugging information, which makes objects large and compiling slow.
        flags = ["-std=c++17", "-O2", "-g0", "-fvisibility=hidden"]
        given = self._extension.extra_compile_args
        flags += given.get("cxx", []) if isinstance(given, dict) else given
        objects: list[str] = []
        for source in map(os.path.relpath, sources):
            path = self._compiler.object_filenames([source], output_dir=self._folder)[0]
            if self._is_old(path, source):
                self._compiler.compile(
                    [source],
                    output_dir=self._folder,
                    macros=[*self._extension.define_macros, *macros],
                    include_dirs=self._include_dirs(include_dirs),
                    extra_postargs=flags,
                )
            objects.append(path)
        return objects

    def _compiled_for_cuda(self, source: str) -> str:
        path = os.path.join(self._folder, f"{os.path.splitext(os.path.relpath(source))[0]}.cuda.o")
        if self._is_old(path, source):
            os.makedirs(os.path.dirname(path), exist_ok=True)
            given = self._extension.extra_compile_args
            command = [os.path.join(_cuda_folder(), "bin", "nvcc"), "-std=c++17", "-O2", "-c", source, "-o", path]
            command += ["-Xcompiler", "-fPIC,-fvisibility=hidden"]
            command += [f"-I{folder}" for folder in self._include_dirs(())]
            command += [f"-D{name}={value or 1}" for name, value in self._extension.define_macros]
            command += given.get("nvcc", []) if isinstance(given, dict) else []
            subprocess.run(command, check=True)
        return path

    def _is_old(self, path: str, source: str) -> bool:
        if self._force or not os.path.exists(path):
            return True
        built = os.path.getmtime(path)
        return any(os.path.getmtime(file) > built for file in [source, *self._read_files()] if os.path.exists(file))

    def _link(
        self, objects: Sequence[str], path: str, flags: Sequence[str], libraries: Iterable[str], folders: Sequence[str]
    ) -> None:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        if sys.platform == "linux":
            # Without it, a missing kernel would be an error when the library is loaded, not when it is linked.
            flags = [*flags, "-Wl,--no-undefined"]
        self._compiler.link_shared_object(
            [*objects],
            path,
            libraries=[*libraries],
            library_dirs=[*folders],
            extra_postargs=[*flags, *(self._extension.extra_link_args or ())],
            target_lang="c++",
        )


def _is_in(folders: Sequence[str], library: str) -> bool:
    """Whether a shared library is in one of the folders."""
    return any(os.path.exists(os.path.join(folder, f"lib{library}.so")) for folder in folders)


def _cuda_folder() -> str:
    """The folder of CUDA's compiler: the one of the variable CUDA_HOME, or of the `nvcc` that is found."""
    compiler = shutil.which("nvcc")
    return os.environ.get("CUDA_HOME") or (
        os.path.dirname(os.path.dirname(compiler)) if compiler else "/usr/local/cuda"
    )
