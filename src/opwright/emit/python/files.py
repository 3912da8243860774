"""Files of functions and methods: `python_torch_functions_N.cpp`, and one for each other module."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Final

from opwright.convention.python.bound import (
    FFT,
    LINALG,
    NESTED,
    NN,
    SPARSE,
    SPECIAL,
    TENSOR_METHODS,
    TORCH,
    PythonModule,
)
from opwright.cpp.text import include_line
from opwright.emit.autograd.kernels import autograd_emitter
from opwright.emit.emitter import AnyEmitter, FragmentContext, Job, Sharded, Slots
from opwright.emit.python.implementation import forward_declaration, implementation, table_entry
from opwright.emit.python.units import PythonBinding, bindings

#: The files that hold all of a module each; that of `torch` is sharded.
_FILES: Final = {
    "python_torch_functions.cpp": TORCH,
    "python_variable_methods.cpp": TENSOR_METHODS,
    "python_nn_functions.cpp": NN,
    "python_fft_functions.cpp": FFT,
    "python_linalg_functions.cpp": LINALG,
    "python_nested_functions.cpp": NESTED,
    "python_sparse_functions.cpp": SPARSE,
    "python_special_functions.cpp": SPECIAL,
}


def _binding_fragment(binding: PythonBinding, context: FragmentContext) -> Slots:
    folder = binding.overloads[0].function.library.headers
    return {
        "ops_headers": (include_line(f"{folder}/{binding.name.base}.h"),),
        "py_forwards": () if binding.is_method else (forward_declaration(binding),),
        "py_methods": (implementation(binding, context.rules),),
        "py_method_defs": (table_entry(binding, context.rules),),
    }


def _bindings(module: PythonModule, job: Job) -> Sequence[PythonBinding]:
    """Bindings of a file; those of `torch`, which are most of all, keep the order of their first overloads."""
    return bindings(job, TORCH) if module is TORCH else sorted(bindings(job, module), key=lambda unit: unit.name.name)


def emitters(job: Job) -> list[AnyEmitter]:
    """Emitters of functions and methods."""
    shards = Sharded[PythonBinding](
        "python_torch_functions.cpp", job.rules.torch_functions_shards, lambda unit: unit.name.base
    )
    return [
        autograd_emitter(
            f"{file.removesuffix('.cpp')}_source",
            file,
            partial(_bindings, module),
            _binding_fragment,
            ("ops_headers", "py_forwards", "py_methods", "py_method_defs"),
            layout=shards if module is TORCH else None,
            family="python",
        )
        for file, module in _FILES.items()
    ]
