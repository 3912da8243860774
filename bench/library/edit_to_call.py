"""What an edit of a kernel costs until its next call: the build, and the process that calls.

The projects are those that `opwright new` writes; the one with `abi: stable` has the kernel for the Hugging Face Hub.
`opwright.inline` compiles a kernel in the process that calls it.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path
from statistics import median

from bench.library.__main__ import user_seconds

_SETUP = """
from opwright.setuptools import operator_library
from setuptools import setup
setup(name="acme_ops", packages=["acme_ops"], package_dir={"": "src"},
      **operator_library("acme_ops", yaml="operators.yaml", sources=["csrc/kernels.cpp"]))
"""
_CALL = "import sys, torch; sys.path.insert(0, 'src'); import acme_ops; acme_ops.soft_clip(torch.ones(3))"
_INLINE = """
from pathlib import Path
import opwright, torch
schema = "soft_clip(Tensor self, float limit=1.0) -> Tensor"
entries = f"namespace: inline_ops\\noperators:\\n- func: {schema}\\n  dispatch: {{CPU: clip}}"
opwright.inline(entries, Path("csrc/kernels.cpp").read_text()).soft_clip(torch.ones(3))
"""
_INLINE_KERNEL = """
namespace inline_ops::native {
at::Tensor clip(const at::Tensor& self, double limit) { return limit * (self / limit).tanh(); }
}
"""
_BUILD = [sys.executable, "setup.py", "-q", "build_ext", "--inplace"]


def main(rounds: int = 5) -> int:
    """Print processor and wall seconds of each step: for the first build, and medians for edits."""
    with tempfile.TemporaryDirectory() as folder:
        native, stable = Path(folder, "native"), Path(folder, "stable")
        opwright = [sys.executable, "-m", "opwright", "new"]
        user_seconds([*opwright, "library", "acme_ops", str(native)])
        user_seconds([*opwright, "kernel", "acme-ops", str(stable)])
        shutil.move(stable / "acme_ops_cpu", stable / "csrc")
        shutil.move(stable / "torch-ext", stable / "src")
        (stable / "setup.py").write_text(_SETUP)
        shutil.copy(native / "src" / "acme_ops" / "__init__.py", stable / "src" / "acme_ops" / "__init__.py")
        entries = (stable / "operators.yaml").read_text()
        (stable / "operators.yaml").write_text(entries.replace("{from: TORCH_EXTENSION_NAME}", "acme_ops"))
        inline = Path(folder, "inline")
        (inline / "csrc").mkdir(parents=True)
        (inline / "csrc" / "kernels.cpp").write_text(_INLINE_KERNEL)
        for name, project, steps in (
            ("native", native, [_BUILD, [sys.executable, "-c", _CALL]]),
            ("stable", stable, [_BUILD, [sys.executable, "-c", _CALL]]),
            ("inline", inline, [[sys.executable, "-c", _INLINE]]),
        ):
            print(name, "first", *[f"{seconds:.1f}" for step in steps for seconds in user_seconds(step, project)])
            figures = []
            for number in range(rounds):
                path = project / "csrc" / "kernels.cpp"
                path.write_text(path.read_text() + f"// Edit {number}\n")
                figures.append([seconds for step in steps for seconds in user_seconds(step, project)])
            print(name, "edit", *[f"{median(column):.1f}" for column in zip(*figures, strict=True)], flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
