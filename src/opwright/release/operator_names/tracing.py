"""Operators that `TraceType` treats specially."""

from __future__ import annotations

from typing import Final

from opwright.release.name_table import NameMap, Names, NameTable

__all__ = ["RECORDED_AS", "TRACED_BY_CALLEES"]

TRACED_BY_CALLEES: Final = NameTable(
    "Operators that get no tracing kernel, so that a trace shows the operators that they call.",
    Names(
        "convolution conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d",
        "A trace records `_convolution`, the operator that every convolution calls.",
    ),
    Names("lstm_cell gru_cell rnn_tanh_cell rnn_relu_cell", "A trace records the matrix products of a cell."),
    Names("_coalesced", "It has no meaning in a graph: it only marks its result as coalesced."),
    form="root",
)

RECORDED_AS: Final = NameMap(
    "In-place operators without functional form, each with the operator that a trace records in its place.",
    Names("zero", "`zero_` does not read its argument's values, so it makes a new tensor.", value="zeros_like"),
    Names("fill", "`fill_` does not read its argument's values, so it makes a new tensor.", value="full_like"),
    form="root",
)
