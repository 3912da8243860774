"""Files of functions and methods: `python_torch_functions_N.cpp`, and one for each other module."""

from __future__ import annotations

from collections.abc import Callable, Sequence
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
from opwright.emit.autograd.kernels import generated_comment
from opwright.emit.emitter import AnyEmitter, Emitter, FragmentContext, Job, OneFile, Sharded, Slots
from opwright.emit.python.implementation import forward_declaration, implementation, table_entry
from opwright.emit.python.units import PythonBinding, bindings, by_name

#: The files that hold all of a module each.
_FILES: Final = {
    "python_variable_methods.cpp": TENSOR_METHODS,
    "python_nn_functions.cpp": NN,
    "python_fft_functions.cpp": FFT,
    "python_linalg_functions.cpp": LINALG,
    "python_nested_functions.cpp": NESTED,
    "python_sparse_functions.cpp": SPARSE,
    "python_special_functions.cpp": SPECIAL,
}


def _binding_fragment(binding: PythonBinding, context: FragmentContext) -> Slots:
    """Texts of a binding."""
    folder = binding.overloads[0].function.library.headers
    return {
        "ops_headers": (include_line(f"{folder}/{binding.name.base}.h"),),
        "py_forwards": () if binding.is_method else (forward_declaration(binding),),
        "py_methods": (implementation(binding, context.rules),),
        "py_method_defs": (table_entry(binding, context.rules),),
    }


def _file_slots(file: str) -> Callable[[Job], Slots]:
    """What fills the slots of a file besides the bindings."""

    def file_slots(job: Job) -> Slots:
        slots: dict[str, str | Sequence[str]] = {"generated_comment": generated_comment(file, job)}
        slots.update(dict.fromkeys(("ops_headers", "py_forwards", "py_methods", "py_method_defs"), ()))
        return slots

    return file_slots


def _sorted_bindings(module: PythonModule, job: Job) -> Sequence[PythonBinding]:
    return by_name(bindings(job, module))


def _emitter(
    file: str, units: Callable[[Job], Sequence[PythonBinding]], layout: OneFile | Sharded[PythonBinding]
) -> AnyEmitter:
    return Emitter(
        name=f"{file.removesuffix('.cpp')}_source",
        family="python",
        template=f"autograd/{file}",
        folder="autograd",
        units=units,
        fragment=_binding_fragment,
        layout=layout,
        file_slots=_file_slots(file),
    )


def _torch_functions(job: Job) -> AnyEmitter:
    """Emitter of the functions of the module `torch`, which are most of all functions."""
    file = "python_torch_functions.cpp"
    layout = Sharded[PythonBinding](file, job.rules.torch_functions_shards, lambda binding: binding.name.base)
    return _emitter(file, lambda job: bindings(job, TORCH), layout)


def emitters(job: Job) -> list[AnyEmitter]:
    """Emitters of functions and methods."""
    return [
        _torch_functions(job),
        *[_emitter(file, partial(_sorted_bindings, module), OneFile(file)) for file, module in _FILES.items()],
    ]
