"""Projects to start from: an operator library, or a backend, that builds and passes its tests; the names in them."""

from __future__ import annotations

import contextlib
import keyword
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from opwright.dialects.names import namespace_conflict
from opwright.files.plan import has_windows_device
from opwright.files.staging import staging_name
from opwright.files.writer import file_holds, make_folder, write_fault
from opwright.libraries import library_codes
from opwright.libraries.dialect.head import FRAMEWORKS
from opwright.libraries.extension.requirements import torch_series
from opwright.model.dispatch_key import devices
from opwright.release.tables import operators
from opwright.source.diagnostic import Fault
from opwright.source.nodes import Scalar
from opwright.source.text import SourceFile
from opwright.source.yaml import load_yaml
from opwright.workspace.user_files import UserFiles

_NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9]*(?:[-_][A-Za-z0-9]+)*")
_DEVICE_NAME: Final = re.compile(r"[a-z][a-z0-9]*")

#: Packages that a project needs, those that they need, and folders of a project that Python may take for a package.
_PACKAGE_WORDS: Final = """
build caffe2 conftest csrc dist filelock fsspec functorch iniconfig jinja2 markupsafe mpmath networkx ninja numpy
opwright packaging pip pkg_resources platformdirs pluggy pygments pytest setup setuptools src sympy tests torch torchgen
triton typing_extensions wheel yaml
"""
_PACKAGES: Final = frozenset(_PACKAGE_WORDS.split())

#: Namespaces in which PyTorch's libraries have operators.
_OPERATOR_WORDS: Final = """
aten c10d debug_mode_ops debugprims export inductor inductor_prims mkl mkldnn mkldnn_prepacked onednn prim prims
profiler quantization quantized rngprims sparse static_runtime symm_mem
"""
_OPERATORS: Final = frozenset(_OPERATOR_WORDS.split())

#: Attributes and modules of `torch`, and attributes of its tensors besides operators. PyTorch gives those of its device
#: the device's name.
_ATTRIBUTE_WORDS: Final = """
accelerator amp ao asarray autocast autograd backends backward bfloat16 bit bits16 bits1x8 bits2x4 bits4x2 bits8 byte
cdouble cfloat classes classproperty coalesced compile compiler complex128 complex32 complex64 cond contrib cpp device
distributed distributions dsmm dtype e eig fft finfo float16 float32 float64 frombuffer func functional futures fx grad
half hsmm hub iinfo inf inference int1 int16 int2 int3 int32 int4 int5 int6 int64 int7 int8 itemsize jagged jit layout
leaf library linalg load lobpcg lstsq lu masked monitor name nativert nbytes ndim ndimension nelement nested newaxis nn
numa onnx ops optim overrides package pi pinned qint32 qint8 quantization quasirandom quint2x4 quint4x2 quint8
reinforce saddmm save seed serialization shape shared solve special spmm storage strided symeig tensor testing tolist
type typename uint1 uint16 uint2 uint3 uint32 uint4 uint5 uint6 uint64 uint7 uint8 unique utils version vmap wait
windows
"""
_ATTRIBUTES: Final = frozenset(_ATTRIBUTE_WORDS.split())

#: Devices of PyTorch without dispatch keys of their own.
_DEVICES: Final = ("fpga", "ideep", "maia", "metal", "mkldnn", "opencl", "opengl", "privateuseone", "vulkan")


#: Devices whose packages, `torch_` and their names, are those of vendors. Libraries such as transformers look for them.
_VENDORS: Final = ("directml", "gcu", "mlu", "musa", "neuronx", "npu", "sdaa")


def taken_package(name: str) -> str:
    """Package of a device if another one has its name: a vendor's; else empty.

    >>> taken_package("npu"), taken_package("acme")
    ('torch_npu', '')
    """
    package = f"torch_{name}"
    return package if name in _VENDORS else ""


def project_names(kind: str, name: str) -> dict[str, str]:
    """Texts that take the place of names such as `@package@` in the files of a project of a kind.

    Raises Fault for a name that these cannot have (E1207).

    >>> project_names("library", "acme-ops")
    {'project': 'acme-ops', 'package': 'acme_ops'}
    >>> project_names("backend", "acme")
    {'device': 'acme', 'display': 'Acme'}
    """
    return KINDS[kind](name)


def _library_names(name: str) -> dict[str, str]:
    """The package is the namespace of the operators too."""
    package = name.replace("-", "_")
    if _NAME.fullmatch(name) is None:
        help = "write letters, digits and single underscores, such as `acme_ops`"
        raise Fault.at(library_codes.PROJECT_NAME, f"`{name}` is not a name for a package", help=help)
    use = _use_in_languages(package)
    if package.lower() in _PACKAGES:
        use = "a package or a folder that the project needs"
    elif package.lower() in _OPERATORS:
        use = "a namespace of PyTorch's operators"
    if use:
        _report(f"a package cannot have the name `{package}`", use, f"{package.lower()}_ops")
    return {"project": name, "package": package}


def _backend_names(name: str) -> dict[str, str]:
    """Name of the device is a namespace too, and a part of the names of its package and of its classes."""
    if _DEVICE_NAME.fullmatch(name) is None:
        help = "write small letters and digits, such as `acme`"
        raise Fault.at(library_codes.PROJECT_NAME, f"`{name}` is not a name for a device", help=help)
    use = _use_in_languages(name)
    if name in _DEVICES or name in [device.name.lower() for device in devices()]:
        use = "a device of PyTorch"
    elif name in _PACKAGES or name in _OPERATORS:
        use = "a package or a namespace that the project needs"
    elif name in _ATTRIBUTES or name in operators(None):
        use = "an attribute of `torch` or of its tensors"
    if use:
        _report(f"a device cannot have the name `{name}`", use, f"my{name}")
    return {"device": name, "display": name.capitalize()}


def _use_in_languages(name: str) -> str:
    """What Python, YAML and C++ mean by a name; empty if nothing."""
    if keyword.iskeyword(name):
        return "a word of Python"
    if name.lower() in sys.stdlib_module_names:
        return "a module of Python"
    if has_windows_device(name):
        return "a device of Windows, which can have no folder of that name"
    value = load_yaml(SourceFile("NAME", name))
    if not isinstance(value, Scalar) or value.kind != "str":
        return f"{value.description} in YAML"
    return namespace_conflict(name)


def _report(message: str, use: str, other: str) -> None:
    """Raise the fault for a name that is used otherwise; the help suggests another one."""
    raise Fault.at(
        library_codes.PROJECT_NAME, f"{message}: it is {use}", help=f"choose another name, such as `{other}`"
    )


#: The kinds of projects, each with the function that makes the names in its files from that of the user.
KINDS: Final[Mapping[str, Callable[[str], dict[str, str]]]] = {
    "library": _library_names,
    "backend": _backend_names,
    "kernel": _library_names,
    "frameworks": _library_names,
}


_SUFFIX: Final = ".in"
#: What lines, and names of files, begin with that are in the projects with kernels for one device alone.
_DEVICE_MARK: Final = re.compile(r"@(cuda|cpu)@ ?")


def project_files(
    kind: str, names: Mapping[str, str], *, cuda: bool = False, frameworks: Sequence[str] = ()
) -> Iterator[tuple[str, str]]:
    """Files of a project of a kind, by their paths in it, with their texts. With `cuda`, it has kernels for CUDA.

    A library for `frameworks` has other files, and a test for each of these.
    """
    kind = "frameworks" if frameworks else kind
    device = "cuda" if cuda else "cpu"
    top = os.path.join(os.path.dirname(os.path.abspath(__file__)), "projects", kind)
    names = {**names, "torch": torch_series(), "frameworks": ", ".join(frameworks)}
    left_out = [f"test_{name}.py{_SUFFIX}" for name in FRAMEWORKS if name not in frameworks]
    for folder, _, files in sorted(os.walk(top)):
        for file in sorted(files):
            if not (name := _for_device(file, device)) or (frameworks and file in left_out):
                continue
            inner = os.path.relpath(os.path.join(folder, name), top).removesuffix(_SUFFIX)
            text = SourceFile.read(os.path.join(folder, file)).text
            lines = [_for_device(line, device) for line in text.splitlines(keepends=True)]
            yield _fill(inner, names), _fill("".join(lines), names)


def _for_device(line: str, device: str) -> str:
    """A line without its mark; empty if it is for another device."""
    mark = _DEVICE_MARK.match(line)
    if mark is None:
        return line
    return line[mark.end() :] if mark[1] == device else ""


def _fill(text: str, names: Mapping[str, str]) -> str:
    for name, value in names.items():
        text = text.replace(f"@{name}@", value)
    return text


def write_project(
    kind: str, name: str, folder: str, *, force: bool, cuda: bool = False, frameworks: Sequence[str] = ()
) -> list[str]:
    """Write the files of a project of a kind into an empty folder, and give their paths.

    With `cuda`, a library has kernels for CUDA too, in a PyTorch that has it; with `frameworks`, it is for these. With
    `force`, the folder may have files, and those with the same paths are replaced. All files are written beside first,
    so that a run that fails leaves nothing. Raises Fault for a name that the project cannot have (E1207), for a folder
    with other files, or with links where files go (E1208), and for errors of the system (E0605 to E0608).
    """
    texts = project_files(kind, project_names(kind, name), cuda=cuda, frameworks=frameworks)
    files = {path: text.encode() for path, text in texts}
    if os.path.lexists(folder) and not os.path.isdir(folder):
        raise Fault.at(library_codes.FOLDER_IN_USE, f"`{folder}` is not a folder")
    # This also removes what a killed run left.
    with UserFiles() as user_files:
        exists = os.path.isdir(folder)
        if exists:
            _check_places(folder, files)
            if not force:
                _check_free(folder, files)
        top = os.path.abspath(folder)
        beside = os.path.join(top if exists else os.path.dirname(top), staging_name())
        user_files.journal.add_staging(beside)
        with _removed_if_this_fails(beside) as paths:
            for inner, data in files.items():
                _write_file(os.path.join(beside, inner), data, paths)
            if exists:
                _move_files(beside, folder, files, paths)
            else:
                _rename(beside, top)
    return [os.path.join(folder, inner) for inner in files]


def _check_places(folder: str, files: Mapping[str, bytes]) -> None:
    """Raise Fault if a file of the project would be written through a link, or where something else is."""
    for inner in files:
        path = folder
        for part in inner.split(os.sep):
            path = os.path.join(path, part)
            if os.path.islink(path):
                help = "remove the link, or name another folder"
                raise Fault.at(
                    library_codes.FOLDER_IN_USE, f"`{path}` is a link, through which nothing is written", help=help
                )
        if os.path.isdir(path):
            raise Fault.at(library_codes.FOLDER_IN_USE, f"`{path}` is a folder, and the project has a file there")


def _check_free(folder: str, files: Mapping[str, bytes]) -> None:
    """Raise Fault if a folder has other files than those of the project. A killed run may have left some of these."""
    for parent, folders, names in os.walk(folder):
        if parent == folder and ".git" in folders:
            folders.remove(".git")
        folders.sort()
        for name in sorted([*names, *[name for name in folders if os.path.islink(os.path.join(parent, name))]]):
            path = os.path.join(parent, name)
            inner = os.path.relpath(path, folder)
            if inner not in files or not file_holds(path, files[inner]):
                message = f"the folder `{folder}` has files already, such as `{inner}`"
                help = "name an empty folder, or replace files with `--force`"
                raise Fault.at(library_codes.FOLDER_IN_USE, message, help=help)


@contextlib.contextmanager
def _removed_if_this_fails(beside: str) -> Iterator[list[str]]:
    """A context with a list of the files and folders that it makes. They are removed if it raises."""
    paths: list[str] = []
    done = False
    try:
        yield paths
        done = True
    finally:
        for path in reversed(paths):
            if not done or path.startswith(beside):
                with contextlib.suppress(OSError):
                    if os.path.isdir(path):
                        os.rmdir(path)
                    else:
                        os.unlink(path)


def _write_file(path: str, data: bytes, paths: list[str]) -> None:
    """Write a new file in a folder that may be missing."""
    _make_folder(os.path.dirname(path), paths)
    paths.append(path)
    try:
        with open(path, "xb") as stream:
            stream.write(data)
    except OSError as error:
        raise write_fault(path, error) from None


def _make_folder(path: str, paths: list[str]) -> None:
    missing = []
    while not os.path.lexists(path):
        missing.append(path)
        path = os.path.dirname(path)
    for folder in reversed(missing):
        paths.append(folder)
        make_folder(folder)


def _move_files(beside: str, folder: str, files: Mapping[str, bytes], paths: list[str]) -> None:
    """Put each file in its place in a folder that exists."""
    for inner, data in files.items():
        path = os.path.join(os.path.abspath(folder), inner)
        if not file_holds(path, data):
            _make_folder(os.path.dirname(path), paths)
            if not os.path.lexists(path):
                paths.append(path)
            _rename(os.path.join(beside, inner), path)


def _rename(source: str, target: str) -> None:
    try:
        os.replace(source, target)
    except OSError as error:
        raise write_fault(target, error) from None
