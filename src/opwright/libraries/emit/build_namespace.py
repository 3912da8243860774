"""Code of libraries that get their namespace when they are compiled, as kernels of the Hugging Face Hub do.

Everything else makes code as for a namespace with the name of the macro. Macros of PyTorch that take the namespace as
an argument expand it; what names it otherwise is replaced here. A Python package finds the name in its module `_ops`,
which the build writes: `ops` are the operators, and `add_op_namespace_prefix` gives the full name of one.
"""

from __future__ import annotations

from typing import Final

from opwright.libraries.operator_library import BUILD_NAMESPACE
from opwright.source.lazy import lazy_pattern

_QUALIFIED = lazy_pattern(rf'"{BUILD_NAMESPACE}::([\w.]+)"')
_TORCH = lazy_pattern(r"(?m)^(import torch(?: as _torch)?)$")

_MODULE: Final = """\
#ifdef Py_LIMITED_API
#include <Python.h>

extern "C" C10_EXPORT PyObject* C10_CONCATENATE(PyInit_, TORCH_EXTENSION_NAME)() {
  static PyModuleDef module = {PyModuleDef_HEAD_INIT, C10_STRINGIZE(TORCH_EXTENSION_NAME), nullptr, 0, nullptr};
  return PyModule_Create(&module);
}
#endif"""


def cpp_text(text: str) -> str:
    """C++ code with the namespace of the build in its strings.

    >>> cpp_text('const char* name = "TORCH_EXTENSION_NAME::scale";')
    'const char* name = C10_STRINGIZE(TORCH_EXTENSION_NAME) "::scale";'
    """
    return text.replace(f'"{BUILD_NAMESPACE}', f'C10_STRINGIZE({BUILD_NAMESPACE}) "')


def module_text(namespace: str) -> list[str]:
    """C++ code that makes the shared object a module of Python, if the build compiles one for the limited API."""
    return [_MODULE] if namespace == BUILD_NAMESPACE else []


def python_text(text: str) -> str:
    """Text of a module of the package, with the namespace of the build.

    >>> print(python_text('import torch\\n\\nscale = torch.ops.TORCH_EXTENSION_NAME.scale'))
    import torch
    <BLANKLINE>
    from . import _ops as _ops
    <BLANKLINE>
    scale = _ops.ops.scale
    """
    if BUILD_NAMESPACE not in text:
        return text
    for torch in ("_torch", "torch"):
        text = text.replace(f"{torch}.ops.{BUILD_NAMESPACE}", "_ops.ops")
    text = _QUALIFIED.sub(r'_ops.add_op_namespace_prefix("\1")', text).replace(f'"{BUILD_NAMESPACE}"', "_ops.ops.name")
    # Docstrings show schemas.
    text = text.replace(f"{BUILD_NAMESPACE}::", "")
    return _TORCH.sub(r"\1\n\nfrom . import _ops as _ops", text, count=1)


def functions_module(namespace: str) -> str:
    """Name of the module with the functions: `_ops`, unless the build writes a module with this name."""
    return "_functions" if namespace == BUILD_NAMESPACE else "_ops"


def operators_expression(package: str, namespace: str) -> str:
    """The Python expression of all operators, outside of the package.

    >>> operators_expression("acme", "acme"), operators_expression("acme", "TORCH_EXTENSION_NAME")
    ('torch.ops.acme', 'acme._ops.ops')
    """
    return f"{package}._ops.ops" if namespace == BUILD_NAMESPACE else f"torch.ops.{namespace}"
