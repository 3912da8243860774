"""Generate `annotated_fn_args.py`; takes the arguments of PyTorch's `tools/autograd/gen_annotated_fn_args.py`."""

from __future__ import annotations

from opwright.cli.streams import leave
from opwright.torchgen.programs import run_family

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


def main(argv: Sequence[str] | None = None) -> int:
    """Run the program and return its exit status."""
    return run_family("gen_annotated_fn_args", __doc__, argv)


if __name__ == "__main__":
    leave(main)
