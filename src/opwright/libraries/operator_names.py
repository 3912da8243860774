"""Operators that code around libraries treats specially: those that it calls, and those that share their names."""

from __future__ import annotations

from typing import Final

from opwright.release.name_table import NameMap, Names, NameTable

#: The text of an overload that is newer as a whole.
WHOLE_OVERLOAD: Final = "*"


LATER_OVERLOADS: Final = NameMap(
    "Functional overloads that are newer than their operator, and those with newer arguments, which the texts name.",
    Names(
        "_flash_attention_forward.quantized _scaled_dot_product_flash_attention.quantized",
        "Attention takes scales for inputs of 8 bits.",
        value=WHOLE_OVERLOAD,
        since="2.11",
    ),
    Names("_flash_attention_forward", "Keys and values may be in pages.", value="block_table num_splits", since="2.12"),
    Names("_scaled_dot_product_attention_math_for_mps", "Heads may be shared.", value="enable_gqa", since="2.12"),
    Names("_philox_key_fold_in.Tensor", "The data may be a tensor.", value=WHOLE_OVERLOAD, since="2.14"),
    Names("_cudnn_attention_forward", "Keys and values may be in pages.", value="seqused_k block_table", since="2.14"),
    form="overload",
)


NUMBERS_AS_TENSORS: Final = NameTable(
    "Operators whose tensor arguments take numbers too, in any namespace.",
    Names(
        "_to_copy add copy div divide floor_divide mul multiply sub subtract to true_divide",
        "Python's argument parser makes tensors of numbers for these names.",
    ),
    form="root",
)
