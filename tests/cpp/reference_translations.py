"""Program for the reference's interpreter: every translation that a full run of it asks for, as JSON lines.

usage: reference_translations.py SOURCE_PATH OUTPUT_FOLDER > problems.jsonl
"""

from __future__ import annotations

import io
import json
import re
import sys
from collections.abc import Sequence
from contextlib import redirect_stdout

import torchgen.api.translate as translation
from torchgen.api.types import Binding, CType, Expr, NamedCType


def spelt(ctype: CType) -> object:
    """A C++ type as nested lists: constructor, then what it was applied to."""
    name = type(ctype).__name__
    if name == "BaseCType":
        return ["base", ctype.cpp_type()]
    if name == "TupleCType":
        return ["tuple", *map(spelt, ctype.elems)]
    if name == "ArrayCType":
        return ["array", spelt(ctype.elem), ctype.size]
    return [re.sub(r"(?<!^)(?=[A-Z])", "_", name.removesuffix("CType")).lower(), spelt(ctype.elem)]


def named(wanted: NamedCType) -> list[object]:
    """A role and its type."""
    role = wanted.name if isinstance(wanted.name, str) else wanted.name.name
    return [role, spelt(wanted.type)]


def main() -> None:
    """Run the generator with a recording translation."""
    original = translation.translate
    seen: dict[str, None] = {}

    def recording(
        bindings: Sequence[Expr | Binding],
        goals: Sequence[NamedCType | Binding],
        *,
        method: bool = False,
        allow_expensive_conversions: bool = False,
    ) -> list[Expr]:
        given = [
            [binding.name, *named(binding.nctype)]
            if isinstance(binding, Binding)
            else [binding.expr, *named(binding.type)]
            for binding in bindings
        ]
        wanted = [named(goal.nctype if isinstance(goal, Binding) else goal) for goal in goals]
        solved: list[Expr] = original(
            bindings, goals, method=method, allow_expensive_conversions=allow_expensive_conversions
        )
        problem = [given, wanted, method, allow_expensive_conversions, [expression.expr for expression in solved]]
        seen[json.dumps(problem)] = None
        return solved

    translation.translate = recording
    import torchgen.gen

    source, output = sys.argv[1:]
    sys.argv = ["gen", "-s", source, "-d", output, "--aoti-install-dir", output, "--headeronly-install-dir", output]
    sys.argv += ["--per-operator-headers", "--generate", "headers", "sources"]
    with redirect_stdout(io.StringIO()):
        torchgen.gen.main()
    sys.stdout.write("\n".join(seen))


if __name__ == "__main__":
    main()
