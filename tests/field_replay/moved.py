"""Moves `torchlpc` to the stable C++ interface, and runs its own tests: `python -m tests.field_replay.moved`.

It downloads the source distribution, imports the operators, replaces what it does by hand in C++ and Python by entries
and formulas (`torchlpc/` beside this module), rewrites its kernels for the stable headers, builds, and runs its tests
of gradients, of `vmap` and of the extension.
"""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from opwright.cli.main import main as opwright
from tests.field_replay.__main__ import sources_of

DISTRIBUTION: Final = "torchlpc==0.7.2"
ADDED: Final = Path(__file__).with_name("torchlpc")
TESTS: Final = ("test_grad.py", "test_vmap.py", "test_extension.py")

#: What differs between kernels of the two interfaces, in the order in which it is replaced.
CPP: Final = (
    (r"#include <(Python|torch/\w+)\.h>\n", ""),
    (r'extern "C" \{.*?\n\}\n\}\n', ""),
    (r"\b(at|torch)::Tensor\b", "torch::stable::Tensor"),
    (r"\bTORCH_(CHECK|INTERNAL_ASSERT)\b", "STD_TORCH_CHECK"),
    (r"(\w+)\.sizes\(\) == (\w+)\.sizes\(\)", r"\1.sizes().equals(\2.sizes())"),
    (r"at::parallel_for", "torch::stable::parallel_for"),
    (r"at::empty_like", "torch::stable::empty_like"),
    (r"(\w+)\.is_floating_point\(\) \|\| \1\.is_complex\(\)", r"moved::holds_numbers(\1)"),
    (r"at::cat\(\{zi\.flip\(1\), x\}, 1\)\.contiguous\(\)",
     "torch::stable::contiguous(moved::cat(moved::flipped(zi, 1), x))"),
    (r"out\.slice\(1, zi\.size\(1\), out\.size\(1\)\)\.contiguous\(\)",
     "torch::stable::contiguous(moved::narrowed(out, zi.size(1), x.size(1)))"),
    (r"(\w+)\.contiguous\(\)", r"torch::stable::contiguous(\1)"),
    (r"AT_DISPATCH_FLOATING_AND_COMPLEX_TYPES\(\s*([^,]+),\s*([^,]+),\s*(.*?)\);\n    return",
     r"THO_DISPATCH_V2(\1, \2, AT_WRAP(\3), AT_EXPAND(AT_FLOATING_TYPES), AT_EXPAND(AT_COMPLEX_TYPES));\n    return"),
)  # fmt: skip

LOADING: Final = """\
torch.ops.load_library(Path(__file__).with_name("_C.so"))
from . import _ops

EXTENSION_LOADED = True
"""
LPC: Final = """\
class LPC:
    apply = staticmethod(torch.ops.torchlpc.lpc)
"""
RECURRENCE: Final = """\
class Recurrence:
    @staticmethod
    def apply(decay, impulse, initial_state):
        run = _cuda_recurrence if decay.is_cuda else _cpu_recurrence
        return run(impulse, decay, initial_state)
"""
SETUP: Final = """\
from opwright.setuptools import operator_library
from setuptools import setup

library = operator_library(
    "torchlpc",
    yaml="operators.yaml",
    sources=["torchlpc/csrc/scan_cpu.cpp", "gradients.cpp"],
    include_dirs=["."],
    depends=["derivatives.yaml", "gradients.h"],
)
setup(name="torchlpc", version="0.7.2", packages=["torchlpc"], **library)
"""


def _counted(text: str) -> int:
    """The lines that are neither empty nor comments."""
    return sum(bool(line.strip()) and not line.lstrip().startswith(("#", "//")) for line in text.splitlines())


def _move_kernels(path: Path, deleted: Iterable[range]) -> int:
    """Rewrite the kernels, without the registrations that the import takes, and return the lines that are less."""
    text = path.read_text()
    before = _counted(text)
    lines = text.splitlines(keepends=True)
    for numbers in deleted:
        for number in numbers:
            lines[number - 1] = ""
    text = re.sub(r"TORCH_LIBRARY\w*\([^{]*\{\s*\}\n", "", "".join(lines))
    for pattern, replacement in CPP:
        text = re.sub(pattern, replacement, text, flags=re.DOTALL)
    path.write_text(f'#include <torchlpc/kernels.h>\n#include "gradients.h"\n{text}')
    return before - _counted(path.read_text())


def _replace_nodes(path: Path, replacements: dict[str, str]) -> int:
    """Replace classes, and a `try` statement, by other texts, and return the lines that are less."""
    text = path.read_text()
    lines = text.splitlines(keepends=True)
    for node in reversed(ast.parse(text).body):
        name = node.name if isinstance(node, ast.ClassDef) else "try" if isinstance(node, ast.Try) else ""
        if name in replacements:
            assert node.end_lineno is not None
            lines[node.lineno - 1 : node.end_lineno] = [replacements[name]]
    path.write_text("".join(lines))
    return _counted(text) - _counted(path.read_text())


def _operators(folder: Path) -> str:
    """The library file: what `opwright import` writes, and what is added by hand."""
    opwright(["import", str(folder / "torchlpc/csrc/scan_cpu.cpp"), "--out", str(folder / "operators.yaml"), "--force"])
    text = (folder / "operators.yaml").read_text()
    text = re.sub(r"kernel_signatures: .*?(?=operators:)", "", text, flags=re.DOTALL)
    text = re.sub(r"- func: (\w+)(.*)\n", r"- func: \1\2\n  outputs: like(a)\n  batch_rule: \1_rule\n", text).replace(
        "namespace: torchlpc", 'namespace: torchlpc\nabi: stable\ntorch: ">=2.10"\nderivatives: derivatives.yaml', 1
    )
    return text + (ADDED / "gradients.yaml").read_text()


def move(folder: Path) -> tuple[int, int]:
    """Move the sources in a folder; returns how many lines became needless, and how many came."""
    code = folder / "torchlpc"
    text = _operators(folder)
    registered = [
        range(number, number + 1)
        for number, line in enumerate((code / "csrc/scan_cpu.cpp").read_text().splitlines(), start=1)
        if re.match(r"\s*m\.(def|impl)\(", line)
    ]
    gone = _move_kernels(code / "csrc/scan_cpu.cpp", registered)
    gone += _replace_nodes(code / "__init__.py", {"try": LOADING})
    gone += _replace_nodes(code / "core.py", {"LPC": LPC})
    gone += _replace_nodes(code / "recurrence.py", {"Recurrence": RECURRENCE})
    gone += _counted((folder / "setup.py").read_text()) - _counted(SETUP)
    (folder / "operators.yaml").write_text(text)
    (folder / "setup.py").write_text(SETUP)
    came = _counted(text)
    for name in ("derivatives.yaml", "gradients.h", "gradients.cpp"):
        shutil.copy(ADDED / name, folder)
        came += _counted((ADDED / name).read_text())
    return gone, came


def main() -> int:
    """Move, build and test; the exit status is that of the tests."""
    cache = Path(".cache/field").absolute()
    folder = Path("build/moved-torchlpc").absolute()
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(sources_of(DISTRIBUTION, cache), folder)
    gone, came = move(folder)
    print(f"{gone} lines became needless, {came} came", flush=True)
    subprocess.run([sys.executable, "setup.py", "--quiet", "build_ext", "--inplace"], cwd=folder, check=True)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), *filter(None, sys.path[1:])])}
    words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *[f"tests/{name}" for name in TESTS]]
    return subprocess.run(words, cwd=folder, env=environment, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
