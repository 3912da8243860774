"""What the compiler says of structured kernels that do not fit their operators."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from opwright.cli.main import main
from tests.backend.conftest import backend_compiler

pytestmark = pytest.mark.thorough

BACKEND = """\
backend: PrivateUse1
display_name: Acme
cpp_namespace: acme
use_out_as_primary: true
supported:
- maximum.out: {structured: true}
"""

KERNELS = """\
#include "AcmeNativeFunctions.h"

namespace acme {
void AcmeNativeFunctions::structured_maximum_out::impl(const at::Tensor& self, at::Tensor& out) {}
}
"""


def test_kernel_of_another_type_is_one_error(program: str, tmp_path: Path) -> None:
    """The compiler reports the definition alone, and shows the parameters that the operator needs."""
    file = tmp_path / "acme.yaml"
    file.write_text(BACKEND, encoding="utf-8")
    assert main(["generate", "--backend", str(file), "--torch", "auto", "--out", str(tmp_path)]) == 0
    kernels = tmp_path / "kernels.cpp"
    kernels.write_text(KERNELS, encoding="utf-8")
    with pytest.raises(AssertionError) as failure:
        backend_compiler(program, tmp_path, tmp_path).check_syntax(kernels)
    message = str(failure.value)
    assert len(re.findall(r"\berror:", message)) == 1
    assert re.search(r"kernels\.cpp:4:\d+: error:", message)
    assert "structured_maximum_out::impl" in message
    assert re.search(r"AcmeNativeFunctions\.h:\d+:\d+: note:", message)
