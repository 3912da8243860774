"""Writes the table of the kernels that the installed PyTorch registers by hand in C++, as its dispatcher tells.

`python -m tests.tools.coverage.hand_table` writes `backends/dispatch/data/hand_registrations-VERSION.txt`.
"""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from pathlib import Path

import opwright
from opwright.backends.dispatch.hand_registrations import registering_keys
from opwright.backends.dispatch.runtime_keys import runtime_keys

_REGISTERED = re.compile(
    r"^(\w+)[^:\n]*: registered at [^\n]*?((?:aten/src|torch/csrc)/[^\n]*?):(\d+) ::", re.MULTILINE
)
HEAD = """\
# The kernels that PyTorch {} registers by hand in C++ for single operators, as its dispatcher tells.
#
# Sections name a dispatch key and a file; each line of them is an operator and the line that registers its kernel.
# Written by `python -m tests.tools.coverage.hand_table`.
"""


def patterns() -> dict[str, list[str]]:
    """The C++ files that register kernels by hand, for each dispatch key."""
    by_key: dict[str, list[str]] = {}
    for key in runtime_keys():
        for name in registering_keys(key):
            by_key[name] = [pattern for pattern in key.by_hand if not pattern.endswith(".py")]
    return by_key


def table() -> str:
    """The table of the installed PyTorch."""
    import torch

    by_key = patterns()
    sections: dict[tuple[str, str], list[str]] = {}
    for name in sorted(torch._C._dispatch_get_all_op_names()):
        if name.startswith("aten::"):
            for key, file, line in _REGISTERED.findall(torch._C._dispatch_dump(name)):
                if any(fnmatchcase(file, pattern) for pattern in by_key.get(key, ())):
                    sections.setdefault((key, file), []).append(f"{name.removeprefix('aten::')} {line}")
    text = "".join(["\n".join([f"[{' '.join(place)}]", *sections[place], ""]) for place in sorted(sections)])
    return HEAD.format(release()) + text


def release() -> str:
    """The version of the installed PyTorch."""
    import torch

    return str(torch.__version__).partition("+")[0]


def path() -> Path:
    """The file of the table."""
    return Path(opwright.__file__).parent / "backends" / "dispatch" / "data" / f"hand_registrations-{release()}.txt"


if __name__ == "__main__":
    path().write_text(table(), encoding="utf-8")
