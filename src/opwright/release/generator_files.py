"""The files of PyTorch's generator in a source tree: which show a behaviour, and which make files."""

from __future__ import annotations

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
