"""The codes of entries whose generated C++ would not compile."""

from __future__ import annotations

from typing import Final

from opwright.source.codes import Code, register

__all__ = ["ARGUMENT_NAME", "STRUCTURED_CONST_REF"]

ARGUMENT_NAME: Final = register(
    Code(
        "E1123",
        "an argument name that generated C++ cannot have",
        """
The argument's name becomes the name of a parameter in C++. It cannot be a keyword of C++, nor a name that the generated
functions use themselves: `T`, `dispatchKeySet`, `ks`, `op` and `tmp_output`, and `out` where an out overload is
synthesized.

    - func: pad(Tensor self, int default) -> Tensor
                             ^^^^^^^^^^^ `default` is a keyword in C++

Rename the argument.
""",
    )
)
STRUCTURED_CONST_REF: Final = register(
    Code(
        "E1124",
        "a structured in-place overload takes its tensor as a constant",
        """
The class of a structured kernel writes to the tensor of an in-place overload through a reference that is not constant:

    - func: clip_(Tensor(a!) self) -> Tensor(a!)
      structured_delegate: clip.out
      use_const_ref_for_mutable_tensors: True
      ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ remove it

Remove the field, or write a kernel for the overload.
""",
    )
)
