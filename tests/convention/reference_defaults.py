"""Program for the reference's interpreter: the C++ expressions of defaults, for arguments on standard input, as JSON.

Each answer has the expression for plain integers and the one for symbolic ones; it is null if the reference does not
read a schema with the argument, or makes no expression.
"""

from __future__ import annotations

import json
import sys

from torchgen.api import cpp
from torchgen.model import FunctionSchema


def expressions(text: str) -> list[str] | None:
    """The expressions of the default of an argument."""
    try:
        schema = FunctionSchema.parse(f"take(Tensor self, {text}) -> Tensor")
        argument = schema.arguments.flat_non_out[-1]
        assert argument.default is not None
        return [cpp.default_expr(argument.default, argument.type, symint=symint) for symint in (False, True)]
    except (AssertionError, KeyError, NotImplementedError, RuntimeError, ValueError):
        return None


if __name__ == "__main__":
    json.dump([expressions(text) for text in json.load(sys.stdin)], sys.stdout)
