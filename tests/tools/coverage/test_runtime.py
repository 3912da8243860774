"""`coverage --runtime` finds where the dispatcher of a process differs from the report."""

from __future__ import annotations

from pathlib import Path

import pytest

from opwright.cli.main import main

FILE = """\
backend: PrivateUse1
cpp_namespace: acme
derived_overloads: false
supported:
- add.Tensor
- abs.out
"""
#: A backend whose kernels are Python functions.
MODULE = """
import torch
library = torch.library.Library("aten", "IMPL")
for name in {names}:
    library.impl(name, lambda *arguments, **named: arguments[0], "PrivateUse1")
"""


def differences(
    folder: Path, names: list[str], capsys: pytest.CaptureFixture[str], *more: str
) -> tuple[int, list[str]]:
    """The exit status and the printed lines for a process with kernels of some names."""
    pytest.importorskip("torch")
    (folder / "acme.yaml").write_text(FILE)
    (folder / "acme_device.py").write_text(MODULE.format(names=names))
    status = main(["coverage", "--backend", str(folder / "acme.yaml"), "--runtime", "acme_device", *more])
    return status, capsys.readouterr().out.splitlines()


@pytest.fixture(autouse=True)
def in_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The process finds the module, which it does not look for in the working folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))


def test_a_process_with_the_kernels_of_the_file_agrees(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """All of PyTorch's operators are compared: those of the file, composites, and those that nothing implements."""
    status, lines = differences(tmp_path, ["add.Tensor", "abs.out"], capsys)
    assert lines == [lines[-1]]
    assert lines[-1].endswith(" operators compared, 0 differences")
    assert int(lines[-1].split()[0].replace(",", "")) > 3_000
    assert status == 0


def test_each_difference_has_a_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A kernel that is missing, one that the file does not have, and a fallback that it does not know."""
    status, lines = differences(tmp_path, ["add.Tensor", "relu"], capsys, "--fallback", "cpu")
    assert status == 1
    assert "the process has no kernel for all operators, and the fallback of the report is `cpu`" in lines
    assert "`abs.out`: the file has a kernel of the backend, and the process has none" in lines
    assert "`relu`: the process has a kernel that the file does not name; `manual` lists such" in lines


SECTIONS = """
sparse:
- mm
- add.out
autograd:
- mul.Tensor
"""


@pytest.mark.thorough
def test_kernels_for_further_keys_are_compared(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Sections for sparse tensors and autograd have keys of their own, and some kernels follow from an entry."""
    kernels = [("mm", "Sparse"), ("add_.Tensor", "Sparse"), ("sub.Tensor", "Autograd"), ("abs", "Autocast")]
    more = [f'library.impl("{name}", lambda *arguments: None, "{key}PrivateUse1")' for name, key in kernels]
    (tmp_path / "acme.yaml").write_text(FILE + SECTIONS)
    (tmp_path / "acme_device.py").write_text(MODULE.format(names=["add.Tensor", "abs.out"]) + "\n".join(more))
    assert main(["coverage", "--backend", "acme.yaml", "--runtime", "acme_device"]) == 1
    assert capsys.readouterr().out.splitlines()[:-1] == [
        "`mul.Tensor`: the file has a kernel for AutogradPrivateUse1, and the process has none",
        "`sub.Tensor`: the process has a kernel for AutogradPrivateUse1, and the file names none",
        "`add.out`: the file has a kernel for SparsePrivateUse1, and the process has none",
        "`abs`: the process has a kernel for AutocastPrivateUse1, and the file names none",
    ]


def test_a_module_that_fails_is_a_fault(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The error has what Python said."""
    (tmp_path / "acme.yaml").write_text(FILE)
    assert main(["coverage", "--backend", "acme.yaml", "--runtime", "no_such_module"]) == 1
    assert "No module named 'no_such_module'" in capsys.readouterr().err


#: A device whose tensors are those of the CPU, for a list of operators of one sample each.
SAMPLES = """
import os, sys, types
import torch
torch._C._get_privateuse1_backend_name = lambda: "cpu"

def operator(name, work):
    def samples(device, dtype, requires_grad):
        yield types.SimpleNamespace(input=torch.ones(2), args=(), kwargs={})
    calls = []
    def op(value):
        calls.append(value)
        return work() if len(calls) % 2 == 0 else value
    return types.SimpleNamespace(
        name=name, variant_test_name="", dtypes={torch.float32}, sample_inputs=samples, op=op)

def lacks():
    raise NotImplementedError("Could not run 'aten::sort.values' with arguments from the 'npu' backend.")

def refuses():
    raise RuntimeError("expected sizes" + chr(10) + "and more")

def writes():
    def op(value):
        # The device is the CPU, and the second call the one on it.
        writing.calls = (writing.calls + 1) % 3
        return value if writing.calls == 2 else value.add_(1)
    writing = operator("batch_norm", lambda: None)
    writing.calls, writing.op = 0, op
    return writing

def takes_no_out():
    taking = operator("mode", lambda: None)
    def op(value, out=None):
        taking.outs += out is not None
        if taking.outs == 2:
            lacks()
        return value
    taking.outs, taking.op, taking.supports_out = 0, op, True
    return taking

names = "torch.testing._internal.common_methods_invocations"
module = types.ModuleType(names)
module.op_db = [
    operator("sort", lacks), operator("abs", lambda: None), operator("fft", lambda: os._exit(7)),
    operator("median", lacks), operator("stack", refuses), writes(), takes_no_out()]
sys.modules[names] = module
"""


@pytest.mark.thorough
def test_samples_tell_what_fails(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Operators that fail for the same reason share a line; one that ends its process does not end the run."""
    pytest.importorskip("torch")
    (tmp_path / "acme.yaml").write_text(FILE)
    (tmp_path / "acme_device.py").write_text(SAMPLES)
    assert main(["coverage", "--backend", "acme.yaml", "--runtime", "acme_device", "--run-samples"]) == 1
    assert capsys.readouterr().out.splitlines() == [
        "nothing runs for `sort.values`: 3 fail: sort, median, mode",
        "the process ended with status 7: one fails: fft",
        "RuntimeError: expected sizes: one fails: stack",
        "arguments have other values after the call than on the CPU: one fails: batch_norm",
        "7 operators have samples, 6 fail",
    ]


def test_samples_need_the_modules_of_the_backend(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Without `--runtime` there is no device to run them on."""
    (tmp_path / "acme.yaml").write_text(FILE)
    assert main(["coverage", "--backend", "acme.yaml", "--run-samples"]) == 2
    assert "`--run-samples` needs `--runtime`" in capsys.readouterr().err


@pytest.mark.thorough
def test_samples_of_pytorch_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """On a device that is the CPU by another name all of PyTorch's samples run."""
    pytest.importorskip("expecttest")
    (tmp_path / "acme.yaml").write_text(FILE)
    (tmp_path / "acme_device.py").write_text('import torch\ntorch._C._get_privateuse1_backend_name = lambda: "cpu"\n')
    assert main(["coverage", "--backend", "acme.yaml", "--runtime", "acme_device", "--run-samples"]) == 0
    (line,) = capsys.readouterr().out.splitlines()
    assert int(line.split()[0]) > 600
