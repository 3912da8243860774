"""The codes of mistakes in modules with docstrings."""

from __future__ import annotations

from typing import Final

from opwright.source.codes import Code, register

UNKNOWN_FORM: Final = register(
    Code(
        "E2003",
        "docstring that only running the module would tell",
        """
        `torch/_torch_docs.py` and `torch/_tensor_docs.py` give the docstrings of functions that C++ code binds, and
        the stub files of torch show them. Opwright reads these modules and never runs them. It knows

        - texts, also with `+`, `f"{NAME}"` and `.format(**NAME)`, and dictionaries of texts,
        - `add_docstr(torch.NAME, TEXT)`, `add_docstr_all("NAME", TEXT)`, `parse_kwargs(TEXT)`, `merge_dicts(...)`,
        - `for NAME in ("a", "b"):` and `if hasattr(torch, TEXT):` around these.

        Anything else that may change a docstring is an error, as is a name or a slot without a value:

            common_args = parse_kwargs("    input (Tensor): the input tensor.")
            add_docstr(torch.abs, "abs(input) -> Tensor\\n\\n{inputs}".format(**common_args))

            error[E2003]: `{inputs}` has no value

        Write the docstring in one of these forms.
        """,
    )
)
NO_DOCSTRINGS: Final = register(
    Code(
        "W2004",
        "stub files without docstrings",
        """
        The inputs lack `torch/_torch_docs.py` or `torch/_tensor_docs.py`, so the stub files of torch are written
        without the docstrings of functions, or of methods. PyTorch's own generator then leaves out all docstrings. It
        looks for the modules in the folder `torch` of the working folder.

            warning[W2004]: there is no `torch/_tensor_docs.py`, so the stub files of torch have no docstrings

        Run the program at the top of the source tree, or name the whole tree with `--source-path`.
        """,
    )
)
