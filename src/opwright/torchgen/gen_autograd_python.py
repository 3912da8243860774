"""Generate the C++ files of the Python bindings; writes the same bytes as PyTorch's `tools/autograd`."""

from __future__ import annotations

from opwright.cli.streams import leave
from opwright.torchgen.programs import run_family

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


def main(argv: Sequence[str] | None = None) -> int:
    """Run the program and return its exit status."""
    return run_family("gen_autograd_python", __doc__, argv, named=True)


if __name__ == "__main__":
    leave(main)
