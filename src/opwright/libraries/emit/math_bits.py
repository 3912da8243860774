"""Kernels for the negative and the conjugate bit, of operators for which PyTorch's own kernels take wrong results.

Where a tensor has such a bit, PyTorch calls the operator on copies without it. It takes what a copy then has from the
first result, so its kernels serve only operators that return the one tensor that they write to.
"""

from __future__ import annotations

from typing import Final

from opwright.convention.dispatcher import returned_arguments
from opwright.emit.emitter import FragmentContext
from opwright.libraries.emit.parts import LibraryPart, Section, has_own_kernel
from opwright.model.native_function import NativeFunction

#: The dispatch keys of the bits.
BITS: Final = ("Negative", "Conjugate")


def needs_kernels(function: NativeFunction) -> bool:
    """Whether an operator needs kernels of its own for tensors with a bit."""
    written = [argument for argument in function.arguments.all if argument.is_write]
    if not written or function.has_composite_implicit or any(has_own_kernel(function, key) for key in BITS):
        return False
    is_single = len(written) == 1 and written[0].type.text == "Tensor"
    return not is_single or returned_arguments(function.schema)[:1] != [written[0].name]


def section(part: LibraryPart, context: FragmentContext) -> Section:
    """Registrations of the kernels of a part's operators."""
    functions = [function for function in part.functions if needs_kernels(function)]
    if not functions:
        return Section()
    texts = []
    for key in BITS:
        kernel = f"torch::CppFunction::makeFromBoxedFunction<&opwright::call_without_bit<c10::DispatchKey::{key}>>()"
        lines = "".join([f'  m.impl("{function.name.text}", {kernel});\n' for function in functions])
        texts.append(f"TORCH_LIBRARY_IMPL({part.library.namespace}, {key}, m) {{\n{lines}}}")
    return Section(("opwright/math_bits.h",), "\n\n".join(texts) + "\n")
