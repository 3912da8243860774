"""Overloads that contracts make from a kernel that writes its results: compiled, loaded and called."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, TypeAlias

import pytest

from opwright.cli.main import main
from tests.library.conftest import generated_code, loaded_operators

if TYPE_CHECKING:
    from torch import Tensor

Arguments: TypeAlias = "tuple[Tensor, Tensor, float]"

CONTRACTED = Path(__file__).parent / "contracted"


@pytest.fixture(scope="session", params=["native", "stable"])
def abi(request: pytest.FixtureRequest) -> str:
    """The C++ interface of PyTorch that the library uses."""
    return str(request.param)


@pytest.fixture(scope="session")
def project(abi: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the library's files; the one with the stable interface has another namespace."""
    folder = tmp_path_factory.mktemp("contracted")
    name = {"native": "contracted", "stable": "compacted"}[abi]
    for file, source in (
        ("operators.yaml", "operators.yaml"),
        ("derivatives.yaml", "derivatives.yaml"),
        ("kernels.cpp", {"native": "kernels.cpp", "stable": "stable_kernels.cpp"}[abi]),
    ):
        text = (CONTRACTED / source).read_text().replace("contracted", name)
        (folder / file).write_text(text.replace(f"namespace: {name}", f"namespace: {name}\nabi: {abi}"))
    return folder


@pytest.fixture(scope="session")
def generated(project: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The generated code of the library."""
    return generated_code(project / "operators.yaml", tmp_path_factory)


@pytest.fixture(scope="session")
def contracted(
    program: str, torch: ModuleType, project: Path, generated: Path, tmp_path_factory: pytest.TempPathFactory
) -> ModuleType:
    """The operators of the library, compiled and loaded, with what its package registers."""
    return loaded_operators(program, torch, generated, project / "kernels.cpp", tmp_path_factory)


@pytest.fixture
def arguments(torch: ModuleType) -> Arguments:
    """The arguments of `rms_norm`: input, weight, and what is added to the mean."""
    torch.manual_seed(1)
    return torch.randn(3, 4, dtype=torch.float64), torch.randn(4, dtype=torch.float64), 1e-6


def wanted(input: Tensor, weight: Tensor, eps: float) -> Tensor:
    """What `rms_norm` computes, in Python."""
    return input * (input.square().mean(-1, keepdim=True) + eps).rsqrt() * weight


def test_one_python_function_has_all_contracts(generated: Path) -> None:
    """The overloads share a function with `out=`, beside the operator as it is written."""
    module = next(generated.glob("python/*/_ops.py")).read_text()
    assert "def rms_norm(input: Tensor, weight: Tensor, eps: float, *, out: Tensor | None = None) -> Tensor" in module
    assert "def rms_norm(result: Tensor, input: Tensor, weight: Tensor, eps: float) -> None: ..." in module


@pytest.mark.thorough
def test_each_contract_calls_the_kernel(contracted: ModuleType, torch: ModuleType, arguments: Arguments) -> None:
    """The functional overload makes its results, the out overload resizes and writes, and one works in place."""
    expected = wanted(*arguments)
    given, resized = torch.empty(3, 4, dtype=torch.float64), torch.empty(0, dtype=torch.float64)
    assert contracted.rms_norm(given, *arguments) is None
    assert contracted.rms_norm.out(*arguments, out=resized) is resized
    for result in (given, resized, contracted.rms_norm(*arguments)):
        torch.testing.assert_close(result, expected)
    low, high = contracted.extremes(torch.arange(6.0), 2)
    assert (low.tolist(), high.tolist()) == ([0, 1], [4, 5])
    values = torch.tensor([2.0, 4.0])
    assert contracted.halve(values).tolist() == [1, 2]
    assert contracted.halve_(values) is values
    assert values.tolist() == [1, 2]


@pytest.mark.thorough
def test_wrong_outs_are_refused(contracted: ModuleType, torch: ModuleType, arguments: Arguments) -> None:
    """An out argument of another dtype is an error before the kernel runs."""
    with pytest.raises(RuntimeError, match="dtype"):
        contracted.rms_norm.out(*arguments, out=torch.empty(3, 4, dtype=torch.int64))


@pytest.mark.thorough
def test_functional_overloads_have_gradients(contracted: ModuleType, torch: ModuleType, arguments: Arguments) -> None:
    """Derivatives of the functional overload are those of the operation, also in place."""
    input, weight, eps = arguments[0].requires_grad_(), arguments[1].requires_grad_(), arguments[2]
    assert torch.autograd.gradcheck(contracted.rms_norm.functional, (input, weight, eps))
    assert torch.autograd.gradcheck(lambda x: contracted.halve_(x * 1), input)
    for operator, inputs in (
        (contracted.rms_norm.functional, (input, weight, eps)),
        (contracted.halve.functional, (input,)),
    ):
        assert set(torch.library.opcheck(operator, inputs).values()) == {"SUCCESS"}


@pytest.mark.thorough
def test_tags_are_those_of_the_contracts(contracted: ModuleType, torch: ModuleType) -> None:
    """PyTorch finds the out overload of a functional one by the tag `out`; an in-place one has the tag `inplace`."""
    from torch._library._out_variant import to_out_variant

    assert to_out_variant(contracted.rms_norm.functional) is contracted.rms_norm.out
    assert torch.Tag.out not in contracted.rms_norm.default.tags
    assert to_out_variant(contracted.halve.functional) is None
    assert torch.Tag.inplace in contracted.halve_.default.tags


@pytest.mark.thorough
def test_compiled_programs_write_into_planned_memory(
    contracted: ModuleType, torch: ModuleType, arguments: Arguments
) -> None:
    """Inductor calls the out overload that has the tag with a buffer of its own; each overload compiles."""
    from torch._inductor.utils import run_and_get_code

    def program(input: Tensor, weight: Tensor, eps: float) -> Tensor:
        return contracted.rms_norm.functional(input + 1, weight, eps) * 2

    compiled = torch.compile(program, fullgraph=True, dynamic=False)
    with torch._inductor.config.patch(force_disable_caches=True):
        result, (code,) = run_and_get_code(compiled, *arguments)
    torch.testing.assert_close(result, program(*arguments))
    assert f"{contracted.__name__}.rms_norm.out(" in code

    def chain(input: Tensor, weight: Tensor, eps: float) -> Tensor:
        for _ in range(4):
            input = contracted.rms_norm.functional(input, weight, eps)
        return input

    with torch._inductor.config.patch(force_disable_caches=True):
        result, (code,) = run_and_get_code(torch.compile(chain, fullgraph=True, dynamic=False), *arguments)
    torch.testing.assert_close(result, chain(*arguments))
    assert (code.count(".rms_norm.out("), code.count("empty_strided_cpu("), code.count("# reuse")) == (4, 2, 2)

    def writing(input: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        out = torch.empty_like(input)
        contracted.halve.out(input, out=out)
        low, _ = contracted.extremes(input, input.size(1))
        return out, contracted.halve_(input.clone()), low

    compiled = torch.compile(writing, fullgraph=True, dynamic=True, backend="aot_eager")
    for rows in (3, 5):
        input = torch.randn(rows, 4)
        for ours, theirs in zip(compiled(input), writing(input), strict=True):
            torch.testing.assert_close(ours, theirs)


@pytest.mark.parametrize(
    ("entry", "reason"),
    [
        ("f(Tensor x) -> Tensor\n  contracts: out", "they are for operators that write results into arguments"),
        ("f(Tensor! r, Tensor x) -> ()\n  contracts: out", "`outputs` does not say what it writes"),
        ("f(Tensor!? r, Tensor x) -> ()\n  contracts: out", "it writes to `Tensor(a!)? r`"),
        ("f(Tensor! r, Tensor x) -> Tensor\n  contracts: out", "it returns more than what it writes"),
        ("f(Tensor! r, Tensor x) -> ()\n  contracts: inplace", "an in-place overload has one result"),
        ("f(Tensor! r, Tensor x) -> ()\n  contracts: [fonctional]", "there is no contract `fonctional`"),
    ],
)
def test_entries_that_can_have_no_contracts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], entry: str, reason: str
) -> None:
    """A contract that cannot be made is an error at the field."""
    file = tmp_path / "acme.yaml"
    file.write_text(f"namespace: acme\noperators:\n- func: {entry}\n  dispatch: {{CPU: f}}\n", encoding="utf-8")
    assert main(["check", "--torch", "auto", "--library", str(file)]) == 1
    printed = capsys.readouterr().out
    assert "error[E1135]" in printed
    assert reason in printed
