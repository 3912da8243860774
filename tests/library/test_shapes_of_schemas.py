"""Schemas whose generated code was wrong or did not compile, as text. `make shapes` compiles all shapes of schemas."""

from __future__ import annotations

from pathlib import Path

import pytest

from opwright.cli.main import main
from tests.library.conftest import GenerateLibrary
from tests.library.test_autograd_code import block, generated

WRITING = """\
namespace: acme
operators:
- func: tally(Tensor(a!) seen, Tensor x) -> {returns}
  dispatch: {{CPU: tally}}
- func: tally_functional(Tensor seen, Tensor x) -> (Tensor, Tensor)
  dispatch: {{CPU: tally_functional}}
- func: tally.out(Tensor seen, Tensor x, *, Tensor(a!) out0, Tensor(b!) out1) -> (Tensor(a!), Tensor(b!))
  dispatch: {{CPU: tally_out}}
"""


def source_of(folder: Path) -> str:
    """The generated source of the library."""
    return (folder / "src/acme/register_0.cpp").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("returns", "written", "values"),
    [
        ("(Tensor(a!), Tensor)", 0, "seen, at::functionalization::impl::to_functional_tensor(std::get<1>(tmp_output))"),
        ("(Tensor, Tensor(a!))", 1, "at::functionalization::impl::to_functional_tensor(std::get<0>(tmp_output)), seen"),
    ],
)
def test_functionalization_keeps_results_at_their_places(
    generate_library: GenerateLibrary, returns: str, written: int, values: str
) -> None:
    """The new value of a written argument is the result at its place, before or after a new tensor."""
    source = source_of(generate_library(WRITING.format(returns=returns)))
    assert f"::update(seen, std::get<{written}>(tmp_output));" in source
    assert f"({values});" in source


@pytest.mark.parametrize(("result", "status"), [("Tensor[](a)", 0), ("Tensor(a)", 0), ("Tensor(a!)", 1)])
def test_an_alias_of_what_is_no_argument_may_be_returned(tmp_path: Path, result: str, status: int) -> None:
    """PyTorch takes such schemas; a result that is written, however, is an argument."""
    file = tmp_path / "acme.yaml"
    entry = f"func: receive(int handle) -> {result}\n  dispatch: CompositeExplicitAutograd"
    file.write_text(f"namespace: acme\noperators:\n- {entry}\n", encoding="utf-8")
    assert main(["check", "--torch", "auto", "--library", str(file)]) == status


def test_an_out_overload_with_another_written_argument_is_not_made(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What is written before `self` counts too: the functional form would have a result less than the out overload."""
    file = tmp_path / "acme.yaml"
    entry = "func: tally(Tensor(a!) seen, Tensor self) -> Tensor(a!)\n  autogen: tally_functional, tally.out"
    file.write_text(f"namespace: acme\noperators:\n- {entry}\n  dispatch: {{CPU: tally}}\n", encoding="utf-8")
    assert main(["check", "--torch", "auto", "--library", str(file)]) == 1
    assert "error[E0417]: no valid overload can be made from `tally`" in capsys.readouterr().out


def test_an_argument_may_be_called_result(tmp_path: Path) -> None:
    """Kernels of autograd call what they return otherwise then."""
    operators = "namespace: acme\nderivatives: derivatives.yaml\noperators:\n"
    operators += "- func: pick(Tensor result, Tensor(a!) total) -> Tensor\n  dispatch: {CPU: pick}\n"
    operators += "- func: scale(Tensor self, float factor) -> Tensor\n  dispatch: {CPU: scale}\n"
    kernel = block(generated(tmp_path, operators), "at::Tensor pick_kernel(")
    assert "  auto result_return = std::move(_tmp);\n" in kernel
    assert kernel.endswith("  return result_return;\n}\n")


@pytest.mark.parametrize("type", ["float?[]", "str?[]", "MemoryFormat?[]"])
def test_lists_of_optional_values_have_no_c_shim(
    generate_library: GenerateLibrary, capfd: pytest.CaptureFixture[str], type: str
) -> None:
    """A note names the argument, and the library has no shim."""
    entry = f"- func: pick(Tensor self, {type} x) -> Tensor\n  dispatch: {{CPU: pick}}\n  outputs: like(self)\n"
    out = generate_library(f"namespace: acme\nc_shims: [cpu]\noperators:\n{entry}")
    assert f"argument `x` of type `{type}` has no form in C" in capfd.readouterr().err
    assert "aoti_torch_cpu_pick" not in (out / "include/acme/c_shim.h").read_text(encoding="utf-8")


@pytest.mark.parametrize("abi", ["native", "stable"])
def test_a_written_result_is_an_argument(tmp_path: Path, capsys: pytest.CaptureFixture[str], abi: str) -> None:
    """Tracing needs the argument that a written result is."""
    file = tmp_path / "acme.yaml"
    entry = "func: tally(Tensor x) -> (Tensor(y!), Tensor)\n  outputs: [like(x)]\n  dispatch: {CPU: tally}"
    file.write_text(f"namespace: acme\nabi: {abi}\noperators:\n- {entry}\n", encoding="utf-8")
    assert main(["check", "--torch", "auto", "--library", str(file)]) == 1
    assert "`tally` returns `Tensor(y!)`, and no argument has this annotation" in capsys.readouterr().out


def test_the_device_of_a_list_that_may_be_absent_is_not_asked(generate_library: GenerateLibrary) -> None:
    """ATen's `device_of` has no overload for `Tensor[]?`, so the guard takes the next tensor."""
    entry = "func: pick(Tensor input, Tensor[]? self) -> Layout\n  dispatch: {CUDA: pick}"
    source = source_of(generate_library(f"namespace: acme\noperators:\n- {entry}\n"))
    assert "device_guard(device_of(input))" in source
    assert "device_of(self)" not in source
