"""Generate `annotated_fn_args.py`; takes the arguments of PyTorch's `tools/autograd/gen_annotated_fn_args.py`."""

from __future__ import annotations

from opwright.cli.streams import leave
from opwright.torchgen.programs import autograd_parser, run_families

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

_PROGRAM = "gen_annotated_fn_args"


def main(argv: Sequence[str] | None = None) -> int:
    """Run the program and return its exit status."""
    return run_families(_PROGRAM, autograd_parser(_PROGRAM, __doc__).parse(argv))


if __name__ == "__main__":
    leave(main)
