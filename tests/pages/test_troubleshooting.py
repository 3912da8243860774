"""Symptoms on the page for troubleshooting are what PyTorch and compilers say."""

from __future__ import annotations

import re
import subprocess
import sysconfig
from pathlib import Path

import pytest

from tests.compile.compiler import compiler_program
from tests.torch_process import TorchProcess

PAGE = Path(__file__).resolve().parents[2] / "docs" / "troubleshooting.md"

PROGRAM = """\
import torch

def symptom(call):
    try:
        call()
    except Exception as error:
        print(f"{type(error).__name__}: {error}".replace("symptoms", "acme"))
    else:
        print("nothing")

library = torch.library.Library("symptoms", "DEF")
library.define("soft_clip(Tensor x) -> Tensor")
library.impl("soft_clip", lambda x: x.clone(), "CPU")
x = torch.ones(2)
symptom(lambda: torch.ops.symptoms.soft_clip(x.to("meta")))
symptom(lambda: torch.ops.symptoms.soft_clip(x.to_sparse()))
symptom(lambda: torch.ops.symptoms.other)
symptom(lambda: torch.library.Library("symptoms", "DEF"))
symptom(lambda: library.define("soft_clip(Tensor x) -> Tensor"))
symptom(lambda: torch.ones(2).sum().backward())

class Wrong(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        return grad * 3

symptom(lambda: torch.autograd.gradcheck(Wrong.apply, torch.ones(1, dtype=torch.double, requires_grad=True)))
symptom(lambda: torch.compile(torch.ops.symptoms.soft_clip, backend="aot_eager", fullgraph=True)(x))
library.impl("soft_clip", lambda x: x.new_empty(3), "Meta")
symptom(lambda: torch.library.opcheck(torch.ops.symptoms.soft_clip.default, (x,)))
symptom(lambda: torch.compile(lambda x: x if x.sum().item() > 1 else -x, backend="eager", fullgraph=True)(x))
"""

#: What the page has of each of these, in their order.
SYMPTOMS = (
    "there was no fake impl or Meta kernel registered",
    "Could not run 'acme::soft_clip' with arguments from the 'CUDA' backend",
    "'_OpNamespace' 'acme' object has no attribute 'soft_clip'",
    "Only a single TORCH_LIBRARY can be used to register the namespace",
    "with the same name and overload name multiple times",
    "element 0 of tensors does not require grad and does not have a grad_fn",
    "Jacobian mismatch for output 0 with respect to input 0",
    "Operator does not support running with fake tensors",
    "found mismatched tensor metadata",
    "Could not guard on data-dependent expression",
)

SOURCES = {
    "'gelu' is not a member of 'at'": "at::Tensor f(at::Tensor x) { return at::gelu(x); }",
    "no match for 'operator*' (operand types are 'at::Tensor' and 'double')": (
        "at::Tensor f(at::Tensor x) { return x * 2.0; }"
    ),
    "'const class at::Tensor' has no member named": "at::Tensor f(const at::Tensor& x) { return x.shape(); }",
    "'AT_DISPATCH_FLOATING_TYPES' was not declared in this scope": (
        'void f(const at::Tensor& x) { AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "f", [&] {}); }'
    ),
}


def test_symptoms_of_pytorch_are_its_words(torch_process: TorchProcess) -> None:
    """What the installed PyTorch says has the text of the page, and the page has the text."""
    page = PAGE.read_text(encoding="utf-8")
    done = torch_process.run(PROGRAM, [])
    assert done.returncode == 0, done.stderr
    printed = done.stdout
    for symptom in SYMPTOMS:
        assert symptom in page, symptom
        told = symptom.replace("'CUDA'", "'SparseCPU'").replace("attribute 'soft_clip'", "attribute 'other'")
        assert told in printed, f"{told}\n{printed}"


@pytest.mark.thorough
@pytest.mark.skipif(compiler_program() is None, reason="there is no C++ compiler")
def test_symptoms_of_compilers_are_their_words(tmp_path: Path) -> None:
    """What GCC says of small mistakes has the text of the page."""
    page, compiler = PAGE.read_text(encoding="utf-8"), str(compiler_program())
    version = subprocess.run([compiler, "--version"], capture_output=True, text=True, check=True).stdout
    if "Free Software Foundation" not in version:
        pytest.skip("the words are those of GCC")
    include = Path(sysconfig.get_path("purelib")) / "torch" / "include"
    for symptom, text in SOURCES.items():
        (tmp_path / "mistake.cpp").write_text(f"#include <ATen/core/Tensor.h>\n{text}\n")
        command = [compiler, "-std=c++20", "-fsyntax-only", "-w", f"-I{include}", "mistake.cpp"]
        done = subprocess.run(
            command,
            cwd=tmp_path,
            env={"LC_ALL": "C", "PATH": "/usr/bin:/bin"},
            capture_output=True,
            text=True,
            check=False,
        )
        assert symptom in page, symptom
        assert symptom in done.stderr, f"{symptom}\n{done.stderr[:2000]}"


def test_each_section_begins_with_a_text() -> None:
    """Headings are what programs print, so that a search for a pasted message finds them."""
    headings = re.findall(r"(?m)^### (.*)$", PAGE.read_text(encoding="utf-8"))
    assert len(headings) >= 25
    assert [heading for heading in headings if not heading.startswith("`")] == []
