"""Libraries whose namespace the build decides: the same generated code, compiled twice, is two libraries."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import pytest

from tests.compile.compiler import Compiler
from tests.library.conftest import INCLUDE, GenerateLibrary

YAML = """\
namespace: {from: TORCH_EXTENSION_NAME}
cpp_namespace: named
derivatives: derivatives.yaml
operators:
- func: scale(Tensor self, float factor) -> Tensor
  outputs: like(self)
  samples:
  - torch.ones(2), 3.0
  dispatch:
    CPU: scale
"""
DERIVATIVES = """\
- name: scale(Tensor self, float factor) -> Tensor
  self: named::scale(grad, factor)
"""
KERNELS = """\
#include <named/kernels.h>
#include <ATen/ops/mul.h>
namespace named::native {
at::Tensor scale(const at::Tensor& self, double factor) { return at::mul(self, factor * SIGN); }
}
"""


@dataclass(frozen=True)
class NamedCompiler(Compiler):
    """Compiles with the name of the extension, as builds of extensions do."""

    name: str = ""
    sign: int = 1

    def flags(self) -> list[str]:
        """The name is a macro. Variables of inline functions belong to one build alone."""
        return [*super().flags(), f"-DTORCH_EXTENSION_NAME={self.name}", f"-DSIGN={self.sign}", "-fno-gnu-unique"]


def test_modules_ask_the_build(tmp_path: Path, generate_library: GenerateLibrary) -> None:
    """Python finds the operators in the module that the build writes, and generated tests find them there."""
    (tmp_path / "derivatives.yaml").write_text(DERIVATIVES, encoding="utf-8")
    folder = generate_library(YAML)
    package = folder / "python" / "named"
    assert {path.name for path in package.iterdir()} == {"_cache_keys.py", "_functions.py", "py.typed"}
    text = (package / "_functions.py").read_text(encoding="utf-8")
    assert "from . import _ops" in text
    assert "torch.ops" not in text
    tests = (folder / "tests" / "test_named.py").read_text(encoding="utf-8")
    assert "named._ops.ops" in tests
    assert "torch.ops." not in tests


@pytest.mark.thorough
def test_two_builds_in_one_process(
    program: str, torch: ModuleType, tmp_path: Path, generate_library: GenerateLibrary
) -> None:
    """Each build has its kernels, gradients and shapes, under `torch.compile` and compiled autograd too."""
    (tmp_path / "derivatives.yaml").write_text(DERIVATIVES, encoding="utf-8")
    folder = generate_library(YAML)
    (tmp_path / "kernels.cpp").write_text(KERNELS, encoding="utf-8")
    for name, sign in (("named_one", 1), ("named_two", -1)):
        out = tmp_path / name
        out.mkdir()
        compiler = NamedCompiler(program, out, [folder / "include", INCLUDE], name=name, sign=sign)
        torch.ops.load_library(compiler.library(name, [folder / "src/named/register_0.cpp", tmp_path / "kernels.cpp"]))
    for name, sign in (("named_one", 1), ("named_two", -1)):
        library = getattr(torch.ops, name)
        values = torch.ones(2, 3, requires_grad=True)
        torch._dynamo.reset()
        with torch._dynamo.compiled_autograd._enable(torch.compile(backend="eager")):
            library.scale(values, 3.0).sum().backward()
        assert values.grad.tolist() == [[3.0 * sign] * 3] * 2
        compiled = torch.compile(library.scale, fullgraph=True, backend="aot_eager")
        assert compiled(values, 2.0).tolist() == [[2.0 * sign] * 3] * 2
