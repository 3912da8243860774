"""What the reference needs for the hints of torch's stub files without its program, which is in no wheel.

Makes all signatures of functions and methods with the reference's library, and their texts; writes nothing. This is the
greater part of that program's work. The arguments are the paths of native_functions.yaml, tags.yaml, deprecated.yaml.
"""

from __future__ import annotations

import sys
from typing import Any


def texts(functions: list[Any], deprecated: str, *, method: bool) -> list[str]:
    """The hints of all functions, or of all methods."""
    from torchgen.api.python import returns_structseq_pyi
    from torchgen.model import Variant
    from torchgen.packaged.autograd.gen_python_functions import group_overloads, load_signatures

    pairs = load_signatures(functions, deprecated, method=method, skip_deprecated=method, pyi=True)
    wanted = Variant.method if method else Variant.function
    chosen = [pair for pair in pairs if not pair.function.python_module and wanted in pair.function.variants]
    hints = []
    for group in group_overloads(chosen):
        skip = group.outplace is None
        hints.append(group.signature.signature_str_pyi(skip_outputs=skip))
        hints.append(group.signature.signature_str_pyi_vararg(skip_outputs=skip) or "")
        returns_structseq_pyi(group.signature)
    return hints


def main(native: str, tags: str, deprecated: str) -> None:
    """Make all hints."""
    from torchgen.gen import parse_native_yaml
    from torchgen.packaged.autograd.gen_python_functions import should_generate_py_binding

    functions = parse_native_yaml(native, tags).native_functions
    bound = [function for function in functions if should_generate_py_binding(function)]
    made = [*texts(bound, deprecated, method=False), *texts(bound, deprecated, method=True)]
    assert len(made) > 3000


if __name__ == "__main__":
    main(*sys.argv[1:])
