"""Declarations of kernels compiled ahead of time: the names of `torchgen.native_aot_decl` that PyTorch itself uses.

Opwright itself reads declarations without running them.
"""

from __future__ import annotations

from importlib.util import module_from_spec, spec_from_file_location
from types import ModuleType


def decl_id_for_op(aten_op: str) -> str:
    """Name of an operator as a part of C++ names.

    >>> decl_id_for_op("add.Tensor")
    'add_Tensor'
    """
    return aten_op.replace(".", "_")


def load_by_path(name: str, path: str) -> ModuleType:
    """Module in a file, which runs under a name; `sys.modules` does not have it.

    Raises ImportError if the file is no Python module, OSError if it cannot be read, and what the module raises.
    """
    spec = spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"`{path}` is no Python module: its name does not end with `.py`")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
