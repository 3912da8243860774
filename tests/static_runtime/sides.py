"""Runs the reference's program for static runtime: `python -m tests.static_runtime.sides FOLDER ...`.

Each folder has inputs in `ATen` and gets two files. A line of JSON on the output tells why a run failed, or null.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from types import ModuleType

OPERATORS, TESTS = "generated_ops.cpp", "test_generated_ops.cc"


def reference_program() -> Callable[[], None]:
    """The reference's program without formatting; the company's module for logging stays out."""
    for name in ("libfb", "libfb.py", "libfb.py.log"):
        sys.modules[name] = ModuleType(name)
    setattr(sys.modules["libfb.py.log"], "set_simple_logging", lambda **_: None)  # noqa: B010
    from torchgen import gen
    from torchgen.static_runtime import gen_static_runtime_ops

    # It remembers entries by path, and tags for good.
    setattr(gen, "_GLOBAL_PARSE_NATIVE_YAML_CACHE", {})  # noqa: B010
    setattr(gen_static_runtime_ops, "clang_format", lambda _: None)  # noqa: B010
    main: Callable[[], None] = gen_static_runtime_ops.main
    return main


def flags(folder: Path) -> list[str]:
    """The flags of either side for the inputs and outputs in a folder."""
    return ["-s", str(folder / "ATen"), "-p", str(folder / OPERATORS), "-t", str(folder / TESTS)]


def main() -> None:
    """Run the program on each folder."""
    program = reference_program()
    for argument in sys.argv[1:]:
        sys.argv = ["gen_static_runtime_ops.py", *flags(Path(argument))]
        failure = None
        try:
            with redirect_stdout(StringIO()):
                program()
        except Exception as error:
            failure = f"{type(error).__name__}: {error}"
        print(json.dumps(failure), flush=True)


if __name__ == "__main__":
    main()
