"""Operators that the stub files of torch treat specially."""

from __future__ import annotations

from typing import Final

from opwright.release.name_table import Names, NameTable

__all__ = ["WITHOUT_GENERATED_HINTS"]

WITHOUT_GENERATED_HINTS: Final = NameTable(
    "Python functions and methods without generated hints in the stub files of torch.",
    Names(
        """atleast_1d atleast_2d atleast_3d block_diag broadcast_tensors cartesian_prod cdist chain_matmul einsum
        meshgrid norm split stft tensordot unique_consecutive""",
        "Users call the functions of `torch/functional.py` and the methods of `torch/_tensor.py`, which have hints.",
    ),
    Names("align_tensors", "`torch/functional.py` has it; named tensors were removed in 2.13.", until="2.13"),
    Names(
        "add add_ sub sub_ mul mul_ div div_ true_divide true_divide_ floor_divide floor_divide_",
        "The argument parser takes numbers for their tensors, so their hints are hand-written.",
    ),
    Names(
        """add_out sub_out mul_out div_out true_divide_out floor_divide_out device grad requires_grad __new__
        __init_subclass__ __subclasshook__""",
        "PyTorch lists them; no release known has operators of these names.",
        absent=True,
    ),
    Names("to _to_copy copy_ range", "Their bindings are hand-written."),
)
