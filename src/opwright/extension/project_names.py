"""The names of new projects: what their files are called after, and the names that these cannot have."""

from __future__ import annotations

import keyword
import re
import sys
from collections.abc import Callable, Mapping
from typing import Final

from opwright.dialects.names import namespace_conflict
from opwright.model.dispatch_key import devices
from opwright.release.tables import operators
from opwright.source import codes
from opwright.source.diagnostic import Fault
from opwright.source.nodes import Scalar
from opwright.source.text import SourceFile
from opwright.source.yaml import load_yaml

__all__ = ["KINDS", "project_names"]

_NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9]*(?:[-_][A-Za-z0-9]+)*")
_DEVICE_NAME: Final = re.compile(r"[a-z][a-z0-9]*")

#: Packages that a project needs, those that they need, and folders of a project that Python may take for a package.
_PACKAGE_WORDS: Final = """
build caffe2 conftest csrc dist filelock fsspec functorch iniconfig jinja2 markupsafe mpmath networkx ninja numpy
opwright packaging pip pkg_resources platformdirs pluggy pygments pytest setup setuptools src sympy tests torch torchgen
triton typing_extensions wheel yaml
"""
_PACKAGES: Final = frozenset(_PACKAGE_WORDS.split())

#: Namespaces in which PyTorch's own libraries have operators.
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


def project_names(kind: str, name: str) -> dict[str, str]:
    """The texts that take the place of names such as `@package@` in the files of a project of a kind.

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
        raise Fault.at(codes.PROJECT_NAME, f"`{name}` is not a name for a package", help=help)
    use = _use_in_languages(package)
    if package.lower() in _PACKAGES:
        use = "a package or a folder that the project needs"
    elif package.lower() in _OPERATORS:
        use = "a namespace of PyTorch's operators"
    if use:
        _report(f"a package cannot have the name `{package}`", use, f"{package.lower()}_ops")
    return {"project": name, "package": package}


def _backend_names(name: str) -> dict[str, str]:
    """The name of the device is a namespace too, and a part of the names of its package and of its classes."""
    if _DEVICE_NAME.fullmatch(name) is None:
        help = "write small letters and digits, such as `acme`"
        raise Fault.at(codes.PROJECT_NAME, f"`{name}` is not a name for a device", help=help)
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
    value = load_yaml(SourceFile("NAME", name))
    if not isinstance(value, Scalar) or value.kind != "str":
        return f"{value.description} in YAML"
    return namespace_conflict(name)


def _report(message: str, use: str, other: str) -> None:
    """Raise the fault for a name that is used otherwise; the help suggests another one."""
    raise Fault.at(codes.PROJECT_NAME, f"{message}: it is {use}", help=f"choose another name, such as `{other}`")


#: The kinds of projects, each with the function that makes the names in its files from that of the user.
KINDS: Final[Mapping[str, Callable[[str], dict[str, str]]]] = {
    "library": _library_names,
    "backend": _backend_names,
    "kernel": _library_names,
}
