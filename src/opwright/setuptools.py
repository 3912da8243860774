"""Operator libraries and backends in packages that setuptools builds.

A package has an `operators.yaml`, kernels in C++, and a `setup.py` like this:

    from opwright.setuptools import operator_library
    from setuptools import setup

    setup(**operator_library("acme_ops", yaml="operators.yaml", sources=["csrc/kernels.cpp"]))

A package with a backend calls `backend` in place of `operator_library`, with a backend file.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext, suppress
from importlib import import_module
from inspect import signature
from typing import Any, Final

import setuptools
from setuptools import Extension

try:
    from setuptools.command.bdist_wheel import bdist_wheel
except ImportError:
    from opwright.source.terminal import say

    say(
        f"opwright.setuptools: error: setuptools {setuptools.__version__} is too old, since it cannot build wheels: "
        "pip install --upgrade 'setuptools>=77'\n"
    )
    sys.exit(1)
from setuptools.command.build_ext import build_ext
from setuptools.errors import CompileError

from opwright.libraries.dialect.head import FRAMEWORKS
from opwright.libraries.extension.build_errors import first_error_alone, report, reported_mistakes
from opwright.libraries.extension.build_mistakes import check_arguments, is_new_package
from opwright.libraries.extension.frameworks import ViewBuild, framework_folder, is_installed_for, view_frameworks
from opwright.libraries.extension.generated import (
    GeneratedCode,
    check_kernels,
    update_backend_code,
    update_code,
)
from opwright.libraries.extension.installed import BuildRecord
from opwright.libraries.extension.repeated import BuildCommands
from opwright.libraries.extension.requirements import (
    is_torch_installed,
    served_releases,
    stable_target,
    with_torch_releases,
)
from opwright.libraries.extension.restored import ReadFiles
from opwright.libraries.extension.toolchain import (
    DEFINITIONS,
    USE_CUDA,
    cuda_extension,
    find_compiler,
    import_torch,
    include_folder,
    is_for_rocm,
    needs_cpp_library,
)
from opwright.source.diagnostic import Diagnostics, Fault
from opwright.source.text import SourceFile
from opwright.wheels.fetch import stable_headers

__all__ = [
    "BuildOperators",
    "BuildViews",
    "BuildWheel",
    "FastCalls",
    "OperatorExtension",
    "ViewExtension",
    "backend",
    "operator_library",
]

#: Options of extensions, and those of operator libraries and backends beside them.
_OPTIONS: Final = frozenset(name for base in Extension.__mro__[:-1] for name in signature(base).parameters)
_OWN_OPTIONS: Final = ("backends", "dlink", "dlink_libraries", "fast_calls", "plugins", "stable_headers", "tests")
#: The shared object of a package, below it.
_SHARED_OBJECT: Final = "_C"
#: What PyTorch's command defines, so that `<torch/torch.h>` includes what Python modules in C++ need.
_WITH_PYTHON: Final = "-DTORCH_API_INCLUDE_EXTENSION_H"
#: The macro with the oldest release that a binary serves.
_TARGET: Final = "TORCH_TARGET_VERSION"
#: The macro with which calls of kernels for CUDA check their launches.
_CHECK_LAUNCHES: Final = "OPWRIGHT_CHECK_LAUNCHES"
#: The shared object with which calls that record no gradient go past Python, and its source below the headers.
_FAST_CALLS: Final = ("_fast_calls", "opwright/fast_calls.cpp")
#: The name of the header that declares the operators of a library; it includes headers of PyTorch alone.
_PUBLIC_HEADER: Final = "ops.h"
#: Options of the command that are in commands of compilers and linkers.
_COMPILING_OPTIONS: Final = (
    "debug",
    "define",
    "include_dirs",
    "libraries",
    "library_dirs",
    "link_objects",
    "plat_name",
    "rpath",
    "undef",
)


class OperatorExtension(Extension):
    """Shared object of an operator library: its kernels, and the code that is generated from library files.

    `name` is that of the shared object, such as `acme_ops._C`; generated Python modules are installed beside it. `yaml`
    are the library files, and `backends` the backend files of a backend. `plugins` are names of plug-ins, which the
    build runs: installed ones, modules, or paths relative to `setup.py`. `tests` is the folder for generated tests,
    None for none. `stable_headers` is the version of PyTorch whose headers compile a library with `abi: stable`, from
    its wheel at the package index; None for the installed one. `dlink` and `dlink_libraries` are those of PyTorch's
    `CUDAExtension`. The other options are those of an extension module.
    """

    def __init__(self, name: str, yaml: Iterable[str], sources: Sequence[str], **options: Any) -> None:  # noqa: ANN401
        self.yaml: Final = tuple(yaml)
        self.backends: Final[tuple[str, ...]] = tuple(options.pop("backends", ()))
        self.plugins: Final[tuple[str, ...]] = tuple(options.pop("plugins", ()))
        self.tests: Final[str | None] = options.pop("tests", None)
        self.stable_headers: Final[str | None] = options.pop("stable_headers", None)
        self.device_linking: Final = {
            name: options.pop(name) for name in ("dlink", "dlink_libraries") if name in options
        }
        self.code: GeneratedCode | None = None
        #: The packages of CMake.
        self.packages: list[str] = []
        depends = [*self.yaml, *self.backends, *options.pop("depends", ())]
        #: Names that no option has.
        self.unknown: Final = {name: options.pop(name) for name in sorted(options.keys() - _OPTIONS)}
        super().__init__(name, list(sources), language="c++", depends=depends, **options)

    @property
    def package(self) -> str:
        """Package that has the shared object."""
        return self.name.rpartition(".")[0]

    def installed_files(self) -> dict[str, str]:
        """Generated files that are installed, by their paths below the package.

        They are Python files, of which the only library's are in the package, and for other libraries the headers of
        the operators and the packages of CMake.
        """
        if self.code is None:
            return {}
        headers = [path for path in self.code.headers if os.path.basename(path) == _PUBLIC_HEADER]
        files = {os.path.join("include", os.path.relpath(path, self.code.include)): path for path in headers}
        files |= {os.path.join("cmake", os.path.basename(path)): path for path in self.packages}
        has_one_folder = len({os.path.dirname(path) for path in self.code.modules}) == 1
        for path in self.code.modules:
            folder, name = os.path.split(path)
            files[name if has_one_folder else os.path.join(os.path.basename(folder), name)] = path
        return files

    def generated_tests(self) -> dict[str, str]:
        """Generated tests that are installed, by their names."""
        return {} if self.code is None else {os.path.basename(path): path for path in self.code.tests}


class ViewExtension(OperatorExtension):
    """Shared object with the kernels of a library with `abi: dlpack`, which those of its `frameworks` link.

    The other arguments are those of `OperatorExtension`.
    """

    def __init__(
        self,
        name: str,
        yaml: Iterable[str],
        sources: Sequence[str],
        *,
        frameworks: tuple[str, ...],
        **options: Any,  # noqa: ANN401
    ) -> None:
        self.frameworks: Final = frameworks
        super().__init__(name, yaml, sources, **options)

    def installed_files(self) -> dict[str, str]:
        """Those of the files that its frameworks need."""
        files = super().installed_files()
        return {inner: path for inner, path in files.items() if is_installed_for(path, self.frameworks)}

    @property
    def found(self) -> list[str]:
        """The frameworks that are installed, for which it is built."""
        return [framework for framework in self.frameworks if framework_folder(framework)]


class FastCalls(Extension):
    """Shared object with which calls of a stable library go past Python, under the release of PyTorch that builds it.

    It gets its source when it is built: the source is no part of the project.
    """

    def complete(self, folder: str) -> None:
        """Add the source, a copy in a folder of the build, and what compiles and links it for the installed PyTorch."""
        source = os.path.join(folder, "opwright", f"{self.name}.cpp")
        os.makedirs(os.path.dirname(source), exist_ok=True)
        # A copy with the same time is as new as the objects of the last build.
        shutil.copy2(os.path.join(include_folder(), _FAST_CALLS[1]), source)
        options = import_module("torch.utils.cpp_extension").CppExtension(self.name, [source])
        self.sources, self.include_dirs, self.library_dirs = [source], options.include_dirs, options.library_dirs
        self.libraries = [library for library in options.libraries if library != "torch_python"]
        self.define_macros = [("_GLIBCXX_USE_CXX11_ABI", str(int(import_torch().compiled_with_cxx11_abi())))]
        self.extra_compile_args = ["-g0"]


#: Extensions that link nothing of Python.
_WITHOUT_PYTHON: Final = (OperatorExtension, FastCalls)


def _cmake_package(header: str, include: str) -> str:
    """Path of the CMake package for the operators of a header, which is written beside it."""
    folder = os.path.dirname(header)
    namespace = os.path.relpath(folder, include).replace(os.sep, "_")
    package = os.path.join(folder, f"{namespace}-config.cmake")
    template = os.path.join(os.path.dirname(__file__), "builds", "cmake", "library-config.cmake.in")
    with open(template, encoding="utf-8") as file:
        text = file.read().replace("@NAMESPACE@", namespace)
    with open(package, "w", encoding="utf-8") as file:
        file.write(text)
    return package


def operator_library(
    package: str,
    *,
    yaml: str | Sequence[str],
    sources: str | Sequence[str],
    **options: Any,  # noqa: ANN401
) -> dict[str, Any]:
    """Arguments of `setup` that build an operator library into a package.

    `yaml` names the library files and `sources` the author's C++ (or CUDA) sources, relative to `setup.py`; `options`
    are those of `setuptools.Extension`. The build generates code into the build folder, compiles it with the sources
    for the installed PyTorch, and puts a shared object `_C.so`, the generated Python modules, the header
    `include/NAMESPACE/ops.h` and the CMake package `cmake/NAMESPACE-config.cmake` into the package, or beside its
    sources for an editable install; that also puts generated tests into the folder `tests`, if it is an option. PyTorch
    is imported when something is compiled. With `fast_calls=True`, the package of a library with `abi: stable` or
    `abi: dlpack` gets another shared object, which is for the release of PyTorch that builds it: there, calls that
    record no gradient go past the Python that records them. Windows has none.

    A library with `abi: dlpack` has a shared object with its kernels, and one for each of its frameworks that is
    installed: `_C.so` for PyTorch, `_jax.so` and `_tvm_ffi.so`.

    >>> arguments = operator_library("acme_ops", yaml="acme.yaml", sources=["csrc/kernels.cpp"])
    >>> [extension.name for extension in arguments["ext_modules"]], sorted(arguments["cmdclass"])
    (['acme_ops._C'], ['bdist_wheel', 'build_ext'])
    """
    files, sources = _listed(yaml), _listed(sources)
    frameworks = view_frameworks(files)
    has_fast_calls = options.pop("fast_calls", False) and sys.platform != "win32"
    fast_calls = [FastCalls(f"{package}.{_FAST_CALLS[0]}", [], language="c++")] if has_fast_calls else []
    if frameworks is not None:
        name = f"{package}.lib{package.replace('.', '_')}_kernels"
        if not framework_folder("torch"):
            # They import PyTorch.
            options.pop("tests", None)
        if "torch" not in frameworks or not framework_folder("torch"):
            fast_calls = []
        views = [ViewExtension(name, files, sources, frameworks=frameworks, **options), *fast_calls]
        return {"ext_modules": views, "cmdclass": {"bdist_wheel": BuildWheel, "build_ext": BuildViews}}
    arguments = _build_arguments(OperatorExtension(f"{package}.{_SHARED_OBJECT}", files, sources, **options))
    arguments["ext_modules"] += fast_calls
    return arguments


def backend(
    package: str,
    *,
    yaml: str | Sequence[str],
    sources: str | Sequence[str],
    libraries: Sequence[str] = (),
    **options: Any,  # noqa: ANN401
) -> dict[str, Any]:
    """Arguments of `setup` that build a backend into a package, as `operator_library` builds a library.

    `yaml` names the backend file, and `libraries` are library files with operators of the backend's own.

    >>> arguments = backend("torch_acme", yaml="acme.yaml", sources=["csrc/kernels.cpp"])
    >>> [extension.backends for extension in arguments["ext_modules"]]
    [('acme.yaml',)]
    """
    name, files = f"{package}.{_SHARED_OBJECT}", _listed(yaml)
    return _build_arguments(OperatorExtension(name, libraries, _listed(sources), backends=files, **options))


def _listed(names: str | Sequence[str]) -> Sequence[str]:
    return [names] if isinstance(names, str) else names


def _build_arguments(extension: OperatorExtension) -> dict[str, Any]:
    return {"ext_modules": [extension], "cmdclass": {"bdist_wheel": BuildWheel, "build_ext": BuildOperators}}


class BuildWheel(bdist_wheel):
    """Command that builds wheels.

    Those with nothing compiled but operators are for every version of Python. What requires PyTorch requires the
    releases that the wheel is for.
    """

    def get_tag(self) -> tuple[str, str, str]:
        """Tags of the wheel for Python, its binary interface and the platform."""
        python, interface, platform = super().get_tag()
        extensions = self.distribution.ext_modules or ()
        is_independent = all(isinstance(extension, _WITHOUT_PYTHON) for extension in extensions)
        return ("py3", "none", platform) if is_independent else (python, interface, platform)

    def egg2dist(self, egginfo_path: str, distinfo_path: str) -> None:
        """Make the metadata of the wheel from that of the project, which is for other builds too."""
        super().egg2dist(egginfo_path, distinfo_path)
        operators = [each for each in self.distribution.ext_modules or () if isinstance(each, OperatorExtension)]
        if not operators or not is_torch_installed():
            return
        path = os.path.join(distinfo_path, "METADATA")
        with open(path, encoding="utf-8") as stream:
            metadata = stream.read()
        with reported_mistakes("no wheel can be made"):
            for extension in operators:
                libraries = () if extension.backends else list(map(SourceFile.read, extension.yaml))
                metadata = with_torch_releases(metadata, served_releases(libraries))
        with open(path, "w", encoding="utf-8") as stream:
            stream.write(metadata)


class BuildOperators(build_ext):
    """Command that builds extension modules, operator libraries among them, with PyTorch's command."""

    _copies_to_source = False

    def finalize_options(self) -> None:
        """Keep objects in the project: those of an editable install would be in a folder that is removed."""
        super().finalize_options()
        if self.editable_mode:
            self.build_temp = os.path.join("build", f"temp.{self.plat_name}-{sys.implementation.cache_tag}")

    def run(self) -> None:
        """Build; setuptools forgets meanwhile whether that is in place."""
        self._copies_to_source = bool(self.inplace)
        super().run()

    def build_extensions(self) -> None:
        """Generate code, and compile it with the sources."""
        operators = self._operators()
        if any(extension.backends for extension in operators):
            # PyTorch loads the backends that are installed, but this one is about to be replaced, or not there yet.
            os.environ["TORCH_DEVICE_BACKEND_AUTOLOAD"] = "0"
        for extension in operators:
            self._generate(extension)
            self._check_sources(extension)
        commands, read = self._commands(), ReadFiles(os.path.realpath(self.build_temp))
        read.forget_restored()
        if commands is None or not self._repeat(commands, operators[0]):
            self._build(operators, commands)
        objects = {self.get_ext_fullpath(each.name): map(os.path.realpath, each.extra_objects) for each in operators}
        read.note(objects)
        for extension in operators:
            path = self.get_ext_fullpath(extension.name)
            if sys.platform == "linux" and not needs_cpp_library(path):
                self.warn(
                    f"{path} has the C++ library in it, and PyTorch has another one: messages of errors may crash. "
                    "Link it with a compiler that takes the shared library, such as CXX=g++"
                )
            # Files beside the sources are copied with the package.
            folder = os.path.join(self.build_lib, *extension.package.split("."))
            self._install(extension, "built", folder, extension.installed_files(), copied_from="in place")

    def _commands(self) -> BuildCommands | None:
        """The commands of this build if they can be repeated: those of one library for the CPU."""
        extension = self.extensions[0]
        if (
            len(self.extensions) > 1
            or not isinstance(extension, OperatorExtension)
            or extension.code is None
            or _cuda_sources(extension)
            or self.force
            or sys.platform == "win32"
        ):
            return None
        options = {name: value for name, value in vars(extension).items() if name not in ("code", "packages")}
        own = [(name, getattr(self, name)) for name in _COMPILING_OPTIONS]
        facts = (os.getcwd(), options, extension.code.sources, own, type(self.compiler).__name__)
        return BuildCommands(os.path.realpath(self.build_temp), facts)

    def _repeat(self, commands: BuildCommands, extension: OperatorExtension) -> bool:
        path = self.get_ext_fullpath(extension.name)
        with first_error_alone([extension]):
            return commands.repeat(self.compiler, path)

    def _build(self, operators: Sequence[OperatorExtension], commands: BuildCommands | None) -> None:
        """Compile and link with PyTorch's command, and note its commands."""
        with reported_mistakes("nothing can be compiled"):
            abi = int(import_torch().compiled_with_cxx11_abi())
            if sys.platform != "win32":
                find_compiler()
        for extension in operators:
            if extension.code is not None:
                _add_flags(extension, extension.code, abi=abi)
        extensions = [extension for extension in self.extensions if not isinstance(extension, ViewExtension)]
        for extension in extensions:
            if isinstance(extension, FastCalls):
                extension.complete(self.build_temp)
        # PyTorch's command compiles with Ninja, and for GPUs. It gets all that this one has been told.
        command = import_module("torch.utils.cpp_extension").BuildExtension(self.distribution)
        vars(command).update({name: value for name, value in vars(self).items() if name != "force"})
        command.extensions = extensions
        # Modules of Python beside the operators keep the version of Python in their names.
        command.get_ext_filename = self.get_ext_filename
        # Ninja and the linker understand `..` behind a link differently.
        command.build_temp = os.path.realpath(self.build_temp)
        _leave_out_python(command)
        _keep_order_of_sources(command)
        # Ninja knows better what is up to date. Without it, nobody knows which headers a source includes.
        command.force = self.force or command.use_ninja or bool(operators)
        for extension in operators:
            self._forget_other_link(extension)
        with first_error_alone(operators), nullcontext() if commands is None else commands.recorded(command):
            command.build_extensions()

    def _generate(self, extension: OperatorExtension) -> None:
        """Bring the generated code of an extension up to date."""
        kind = "backend" if extension.backends else "operator library"
        with reported_mistakes(f"the {kind} {extension.name} has mistakes") as sink:
            self._check_arguments(extension, sink)
            extension.code = code = _generated_code(extension, self.build_temp, sink)
            # Other objects may define the kernels. The message has both places, not a mangled name as a linker's.
            if not (extension.backends or extension.libraries or extension.extra_objects):
                files, sources = (list(map(SourceFile.read, paths)) for paths in (extension.yaml, extension.sources))
                check_kernels(files, sources, extension.plugins)
            target = stable_target(() if extension.backends else list(map(SourceFile.read, extension.yaml)))
        if len(sink):
            self.warn(report(sink))
        headers = [header for header in code.headers if os.path.basename(header) == _PUBLIC_HEADER]
        if target is not None and _TARGET not in dict(extension.define_macros):
            extension.define_macros.append((_TARGET, target))
        if self.debug and _cuda_sources(extension):
            extension.define_macros.append((_CHECK_LAUNCHES, None))
        extension.packages = [_cmake_package(header, code.include) for header in headers]

    def _check_arguments(self, extension: OperatorExtension, sink: Diagnostics) -> None:
        flags = extension.extra_compile_args
        folder = self.get_finalized_command("build_py").get_package_dir(extension.package)
        packages = self.distribution.packages or ()
        is_copied = self._copies_to_source or self.editable_mode
        is_missing = is_copied and not os.path.isdir(folder) and not is_new_package(extension.package, packages)
        check_arguments(
            extension.package if is_missing else "",
            packages=packages,
            paths=(*extension.yaml, *extension.backends, *extension.sources),
            flags=[flag for each in flags.values() for flag in each] if isinstance(flags, dict) else flags,
            unknown=extension.unknown,
            options=(*_OPTIONS, *_OWN_OPTIONS),
            sink=sink,
        )
        sink.raise_if_errors()

    def _check_sources(self, extension: OperatorExtension) -> None:
        """End the build if a generated file would replace a source, before anything is compiled."""
        packages, record = self.get_finalized_command("build_py"), self._record(extension)
        own = (
            f'rename it, or let the build generate into a package of its own, such as "{extension.package}._generated"'
        )
        files = extension.installed_files()
        with reported_mistakes(f"the files of {extension.name} cannot be installed"):
            if self._copies_to_source:
                record.check(packages.get_package_dir(extension.package), files, own, places=("in place",))
                if extension.tests is not None:
                    help = "rename it, or name another folder with `tests`"
                    record.check(extension.tests, extension.generated_tests(), help, places=("tests",))
            folder = os.path.join(self.build_lib, *extension.package.split("."))
            record.check(folder, files, own, places=("built", "in place"))

    def copy_extensions_to_source(self) -> None:
        """Copy the shared objects and the generated files into the packages of the sources."""
        packages = self.get_finalized_command("build_py")
        for extension in self._operators():
            os.makedirs(packages.get_package_dir(extension.package), exist_ok=True)
        super().copy_extensions_to_source()
        for extension in self._operators():
            folder = packages.get_package_dir(extension.package)
            self._install(extension, "in place", folder, extension.installed_files())
            if extension.tests is not None and extension.code is not None:
                self._install(extension, "tests", extension.tests, extension.generated_tests())

    def _operators(self) -> list[OperatorExtension]:
        return [extension for extension in self.extensions if isinstance(extension, OperatorExtension)]

    def _record(self, extension: OperatorExtension) -> BuildRecord:
        return BuildRecord(os.path.join(self.build_temp, "opwright", f"{extension.name}.record"))

    def _install(
        self, extension: OperatorExtension, place: str, folder: str, files: Mapping[str, str], copied_from: str = ""
    ) -> None:
        with reported_mistakes(f"the files of {extension.name} cannot be installed"):
            self._record(extension).install(place, folder, files, copied_from=copied_from)

    def _forget_other_link(self, extension: OperatorExtension) -> None:
        """Remove a shared object that was linked from others: one from more objects would not be older than these."""
        words = [*extension.sources, *extension.libraries, *extension.library_dirs, *(extension.extra_link_args or ())]
        if not self._record(extension).note("linked", words):
            with suppress(FileNotFoundError):
                os.remove(self.get_ext_fullpath(extension.name))

    def _generated_mapping(self) -> Iterator[tuple[str, str]]:
        """What the build adds to the build folder, with the paths beside the sources."""
        packages = self.get_finalized_command("build_py")
        for extension in self._operators():
            built = os.path.join(self.build_lib, *extension.package.split("."))
            folder = packages.get_package_dir(extension.package)
            for inner in extension.installed_files():
                yield os.path.join(built, inner), os.path.join(folder, inner)

    def get_ext_filename(self, fullname: str) -> str:
        """File of an extension module; the name of a shared object of operators has no version of Python."""
        name = super().get_ext_filename(fullname)
        if not isinstance(self.ext_map.get(fullname), _WITHOUT_PYTHON):
            return name
        stem, _, suffix = name.partition(".")
        return f"{stem}.{suffix.rpartition('.')[2]}"

    def get_outputs(self) -> list[str]:
        """Files that are installed."""
        return sorted({*super().get_outputs(), *[regular for regular, _ in self._generated_mapping()]})

    def get_output_mapping(self) -> dict[str, str]:
        """Files in the build folder, with their paths beside the sources."""
        return {**super().get_output_mapping(), **(dict(self._generated_mapping()) if self.inplace else {})}


class BuildViews(BuildOperators):
    """Command that builds libraries with `abi: dlpack`: the kernels once, then what each framework calls them with."""

    def build_extensions(self) -> None:
        """Generate code, and compile it with the sources."""
        if sys.platform == "win32":
            raise CompileError("libraries with `abi: dlpack` are built on Linux and macOS")
        for extension in self._views():
            if not extension.found:
                names = ", ".join([FRAMEWORKS[name] for name in extension.frameworks])
                raise CompileError(f"none of the frameworks of {extension.package} is installed: {names}")
            self._generate(extension)
            self._check_sources(extension)
            folder = os.path.realpath(self.build_temp)
            build = ViewBuild(self.compiler, os.path.relpath(folder), extension, force=bool(self.force))
            kernels = self.get_ext_fullpath(extension.name)
            with first_error_alone([extension]):
                build.build_kernels(kernels)
                for framework in extension.frameworks:
                    if framework in extension.found:
                        build.build_framework(framework, kernels)
                    else:
                        self.warn(
                            f"{extension.package} gets no code for {FRAMEWORKS[framework]}, which is not installed"
                        )
            folder = os.path.join(self.build_lib, *extension.package.split("."))
            self._install(extension, "built", folder, extension.installed_files(), copied_from="in place")
        if len(self.extensions) > len(self._views()):
            self._build([], None)

    def _views(self) -> list[ViewExtension]:
        return [extension for extension in self.extensions if isinstance(extension, ViewExtension)]

    def _objects(self) -> Iterator[tuple[str, str]]:
        """Shared objects of frameworks in the build folder, with their paths beside the sources."""
        packages = self.get_finalized_command("build_py")
        for extension in self._views():
            built = os.path.join(self.build_lib, self.get_ext_filename(extension.name))
            for framework in extension.found:
                path = ViewBuild.framework_path(framework, built)
                yield path, os.path.join(packages.get_package_dir(extension.package), os.path.basename(path))

    def copy_extensions_to_source(self) -> None:
        """Copy the shared objects and the generated files into the packages of the sources."""
        super().copy_extensions_to_source()
        for path, target in self._objects():
            self.copy_file(path, target)

    def _generated_mapping(self) -> Iterator[tuple[str, str]]:
        yield from super()._generated_mapping()
        yield from self._objects()


def _leave_out_python(command: build_ext) -> None:
    """Let `<torch/torch.h>` leave out Python's interface in shared objects of operators, which link nothing of it."""
    add_flag = getattr(command, "_add_compile_flag", None)

    def add(extension: Extension, flag: str) -> None:
        if add_flag is not None and not (isinstance(extension, OperatorExtension) and flag == _WITH_PYTHON):
            add_flag(extension, flag)

    vars(command)["_add_compile_flag"] = add


def _keep_order_of_sources(command: build_ext) -> None:
    """Compile sources in the order that they have, those of the author first: they are what most errors are in.

    setuptools sorts them, and then asks this function which of them it makes from others.
    """
    make_sources = command.swig_sources

    def sources_of(sources: list[str], extension: Extension) -> list[str]:
        ordered = extension.sources if sorted(extension.sources) == sources else sources
        return list(make_sources(list(ordered), extension))

    vars(command)["swig_sources"] = sources_of


def _generated_code(extension: OperatorExtension, folder: str, sink: Diagnostics) -> GeneratedCode:
    """Generated code of an extension below a folder, up to date."""
    files = [SourceFile.read(path) for path in extension.yaml]
    out = os.path.join(folder, "opwright", extension.name)
    if extension.backends:
        backends = [SourceFile.read(path) for path in extension.backends]
        return update_backend_code(backends, out, libraries=files, plugins=extension.plugins, sink=sink)
    return update_code(files, out, plugins=extension.plugins, rocm=is_for_rocm(), sink=sink)


def _own_extension(extension: OperatorExtension) -> Extension:
    """What PyTorch would make of the sources: with CUDA ones, its libraries; for ROCm, the sources translated."""
    objects: dict[str, str] = {}
    for source in extension.sources:
        same = objects.setdefault(os.path.splitext(source)[0], source)
        if same != source:
            raise CompileError(f"{same} and {source} would be one object file: rename one of them")
    cuda = _cuda_sources(extension)
    if not cuda:
        return import_module("torch.utils.cpp_extension").CppExtension(extension.name, extension.sources)
    try:
        return cuda_extension(
            extension.name,
            extension.sources,
            cuda[0],
            include_dirs=[*extension.include_dirs],
            **extension.device_linking,
        )
    except Fault as fault:
        raise CompileError(f"{fault.diagnostic.message}: {fault.diagnostic.help}") from None


def _cuda_sources(extension: OperatorExtension) -> list[str]:
    return [source for source in extension.sources if source.endswith(".cu")]


def _add_flags(extension: OperatorExtension, code: GeneratedCode, *, abi: int) -> None:
    """Add the generated sources to an extension, and what compiles and links them for the installed PyTorch."""
    operators_extension, has_cuda = _own_extension(extension), bool(_cuda_sources(extension))
    extension.sources = [*operators_extension.sources, *[os.path.relpath(source) for source in code.sources]]
    # Ninja runs in another folder.
    folders = [os.path.abspath(folder) for folder in extension.include_dirs]
    given = [*extension.include_dirs]
    headers = [folder for folder in operators_extension.include_dirs if folder not in given]
    if extension.stable_headers is not None:
        root = os.path.dirname(import_torch().__file__ or "")
        others = [folder for folder in headers if not folder.startswith(root)]
        headers = [stable_headers(extension.stable_headers), *others]
    extension.include_dirs = [*folders, code.include, include_folder(), *headers]
    extension.library_dirs += operators_extension.library_dirs
    extension.libraries += [library for library in operators_extension.libraries if library != "torch_python"]
    extension.define_macros += [*[(name, None) for name in DEFINITIONS], ("_GLIBCXX_USE_CXX11_ABI", str(abi))]
    if has_cuda and not is_for_rocm() and not any(name == USE_CUDA for name, _ in extension.define_macros):
        extension.define_macros.append((USE_CUDA, None))
    if sys.platform == "linux":
        # Without it, a missing kernel would be an error when the library is loaded, not when it is linked.
        extension.extra_link_args = [*extension.extra_link_args, "-Wl,--no-undefined"]
    if has_cuda and isinstance(extension.extra_compile_args, list):
        given_flags = extension.extra_compile_args
        extension.extra_compile_args = {"cxx": [*given_flags], "nvcc": given_flags}
    if has_cuda and extension.device_linking:
        linking = operators_extension.extra_compile_args["nvcc_dlink"]
        extension.extra_compile_args["nvcc_dlink"] = [*extension.extra_compile_args.get("nvcc_dlink", []), *linking]
    flags = extension.extra_compile_args
    flags = flags.setdefault("cxx", []) if isinstance(flags, dict) else flags
    if not any(flag.startswith("-g") for flag in flags) and sys.platform != "win32":
        # Python's flags ask for debugging information, which makes objects large and compiling slow.
        flags.insert(0, "-g0")
