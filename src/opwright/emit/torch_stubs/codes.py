"""The codes of mistakes that show when the stub files of torch are made."""

from __future__ import annotations

from typing import Final

from opwright.source.codes import Code, register

HINT_WITHOUT_OPERATOR: Final = register(
    Code(
        "W2005",
        "hand-written hint of a function that does not exist",
        """
        PyTorch keeps some hints of the stub files of torch by hand, and so does Opwright, release by release. One of
        them is of a function or method that no operator of the inputs gives any more, so that type checkers accept
        calls that fail. PyTorch's own generator writes the hint all the same.

            warning[W2005]: the hand-written hint of `torch.arange` is of no operator

        If you removed the operator from `native_functions.yaml`, remove its hints from `tools/pyi/gen_pyi.py` too.
        """,
    )
)
BROKEN_DOCSTRING: Final = register(
    Code(
        "W2006",
        "docstring that ends too early in a stub file",
        """
        A docstring has three quotation marks in it, which end the text that the stub file puts it in. The rest of the
        stub file is no Python then. PyTorch's own generator writes such a file silently.

            add_docstr(torch.abs, 'abs(input) -> Tensor\\n\\nSee \"\"\"the notes\"\"\".')

            warning[W2006]: the docstring of `torch.abs` has three quotation marks in it

        Write single quotation marks.
        """,
    )
)
CLASSES_DIFFER: Final = register(
    Code(
        "E2007",
        "named results of one function that differ",
        """
        Two overloads of a function return named results, and their fields differ in names or types. The stub files of
        torch have one class for the results of a function, `torch.return_types.NAME`, which cannot have both.
        PyTorch's own generator stops with an assertion.

            - func: top(Tensor self) -> (Tensor values, Tensor indices)
            - func: top.dim(Tensor self, int dim) -> (Tensor values, Tensor places)

            error[E2007]: the named results of `top.dim` differ from those of `top`

        Give the fields the same names and types, or leave the names out.
        """,
    )
)
