"""The codes of faults in requests for stubs."""

from __future__ import annotations

from typing import Final

from opwright.source.codes import Code, register

__all__ = ["NO_OWN_STUBS", "UNKNOWN_NAMESPACE"]

UNKNOWN_NAMESPACE: Final = register(
    Code(
        "E1080",
        "namespace without operators",
        """
        `--namespace` names a namespace without operators. PyTorch's operators are in `aten`; those of a library are
        in the namespace that its schemas begin with, and `--yaml` must name their file.

            error[E1080]: no operator is in the namespace `my_lbi`
            = help: did you mean `my_lib`?

        Without `--namespace`, all namespaces get stubs.
        """,
    )
)
NO_OWN_STUBS: Final = register(
    Code(
        "W1081",
        "PyTorch's own stubs are missing",
        """
        A stub package for `torch` hides PyTorch's own stubs from pyright, such as those of `torch._C`, so the
        package has copies of them. A source tree that was not built has none to copy: with the written stubs,
        pyright does not find much of PyTorch. mypy does.

            warning[W1081]: no stubs of PyTorch's own at the source tree pytorch

        Name an installed PyTorch, a wheel or a version with `--torch`.
        """,
    )
)
