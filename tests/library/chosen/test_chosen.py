"""Several implementations of an operator for one dispatch key: compiled, loaded, chosen by arguments and by force."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import pytest

from opwright.cli.main import main
from tests.compile.compiler import Compiler
from tests.library.conftest import INCLUDE, GenerateLibrary, generated_code

if TYPE_CHECKING:
    from torch import Tensor

HERE = Path(__file__).parent

STABLE = """\
namespace: firm
abi: stable
operators:
- func: pick(Tensor self) -> Tensor
  outputs: like(self)
  dispatch: {CPU: [{kernel: same, when: "self.dim() == 1", priority: 1}, zeros]}
# All types that a Python function can have beside kernels in C++.
- func: mixed(Tensor self, Tensor[] more, int[] sizes=[1, 2], *, str name="x", Tensor? other=None, float? by=None,
    str? label=None, str[] words) -> Tensor[]
  dispatch:
    CPU:
    - {python: "chosen_kernels:listed", when: "self.dim() == 1", priority: 1}
    - alone
# A Python function behind the checks and copies of C++.
- func: rows(Tensor self, Tensor weight, *, float eps=0.5) -> Tensor
  dispatch: {CPU: {python: "chosen_kernels:rows"}}
  dims: {self: "*b d", weight: d, return: "*b"}
  dtypes: {self: floating, weight: self}
  layout: {self: contiguous, weight: contiguous!}
  requires: eps > 0
"""


@pytest.fixture(scope="session")
def generated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The generated code of the library."""
    return generated_code(HERE / "operators.yaml", tmp_path_factory)


@pytest.fixture(scope="session")
def shared_object(program: str, torch: ModuleType, generated: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The compiled library."""
    compiler = Compiler(program, tmp_path_factory.mktemp("chosen_build"), [generated / "include", INCLUDE])
    return compiler.library("chosen", [generated / "src/chosen/register_0.cpp", HERE / "kernels.cpp"])


@pytest.fixture(scope="session")
def chosen(torch: ModuleType, shared_object: Path, generated: Path) -> Any:  # noqa: ANN401
    """The Python module of the library, which is loaded."""
    torch.ops.load_library(shared_object)
    sys.path.insert(0, str(generated / "python"))
    return importlib.import_module("chosen._ops")


@pytest.mark.thorough
def test_arguments_choose(chosen: Any, torch: ModuleType) -> None:  # noqa: ANN401
    """The conditions are tried in the order of the priorities; the last implementation serves all other calls."""
    row, table = torch.zeros(4), torch.zeros(2, 2)
    assert chosen.mark(row, 128).tolist() == [10] * 4
    assert chosen.mark(row, 129).tolist() == [20] * 4
    assert chosen.mark(row[::2], 1).tolist() == [20] * 2
    assert chosen.mark(table.t(), 200).tolist() == [[30] * 2] * 2
    assert chosen.built(row[:1]).item() == 30
    assert chosen.built(row[:1], mode="other").item() == 20
    assert chosen.built(row[:1], mode="absent").item() == 30
    for value, filled in ((11, 11), (10, -10)):
        chosen.fill(row, value)
        assert row.tolist() == [filled] * 4


@pytest.mark.thorough
def test_a_context_manager_forces_one(chosen: Any, torch: ModuleType) -> None:  # noqa: ANN401
    """A forced implementation runs whatever its condition says; at the end the arguments choose again."""
    row = torch.zeros(1)
    with chosen.implementation("mark", "plain"):
        assert chosen.mark(row, 1).item() == 30
        with chosen.implementation("chosen::mark", "small"):
            assert chosen.mark(row, 1).item() == 20
        assert chosen.mark(row, 1).item() == 30
        assert torch.compile(lambda x: chosen.mark(x, 1) + 1, backend="aot_eager", fullgraph=True)(row).item() == 31
    assert chosen.mark(row, 1).item() == 10
    with chosen.implementation("built", "absent"), pytest.raises(RuntimeError, match="lacks the implementation"):
        chosen.built(row)
    with pytest.raises(ValueError, match="no implementation `quick`; there are: fast, small, plain"):
        chosen.implementation("mark", "quick").__enter__()
    with pytest.raises(ValueError, match="`marc` has no implementations to choose from; there are: mark, built"):
        chosen.implementation("marc", "fast").__enter__()


@pytest.mark.thorough
def test_the_environment_forces_one(shared_object: Path, generated: Path) -> None:
    """The variable names operators and implementations; what it names and nobody has is a warning."""
    script = (
        "import torch, warnings; torch.ops.load_library(%r); warnings.simplefilter('always')\n"
        "import chosen._ops as chosen; one = torch.zeros(1)\n"
        "print(chosen.mark(one, 1).item(), chosen.built(one).item())"
    )
    variables = {"OPWRIGHT_IMPLEMENTATION": "chosen::mark=small,other::x=y,chosen::built=bilt"}
    run = subprocess.run(
        [sys.executable, "-c", script % str(shared_object)],
        env={"PYTHONPATH": str(generated / "python"), **variables},
        capture_output=True,
        text=True,
        check=True,
    )
    assert run.stdout.split() == ["20.0", "30.0"]
    assert "`built` has no implementation `bilt`; there are: absent, other, always" in run.stderr


@pytest.mark.thorough
def test_python_functions_are_kernels(chosen: Any, torch: ModuleType) -> None:  # noqa: ANN401
    """A Python function serves a key, alone or beside C++; its module is imported at the first call."""
    sys.path.insert(0, str(HERE))
    assert "chosen_kernels" not in sys.modules
    assert chosen.scaled(torch.ones(2)).tolist() == [2, 2]
    assert "chosen_kernels" in sys.modules
    row, table = torch.full((2,), 3.0), torch.full((1, 1), 3.0)
    assert chosen.mixed(row, more=2).tolist() == [8, 8]
    assert chosen.mixed(table).item() == 27
    with chosen.implementation("mixed", "cubic"):
        assert chosen.mixed(row).tolist() == [27, 27]
    compiled = torch.compile(lambda x: chosen.mixed(x) + chosen.scaled(x, by=1.0), backend="aot_eager", fullgraph=True)
    assert compiled(row).tolist() == [10, 10]
    for operator in (torch.ops.chosen.mixed.default, torch.ops.chosen.scaled.default):
        assert set(torch.library.opcheck(operator, (row,)).values()) == {"SUCCESS"}


@pytest.mark.thorough
@pytest.mark.filterwarnings("ignore:.torch.jit.script:DeprecationWarning")
def test_functions_can_be_scripted(chosen: Any, torch: ModuleType) -> None:  # noqa: ANN401
    """Compiled code calls every function as an operator, and compiles a function itself where its types allow."""

    def program(x: Tensor) -> Tensor:
        return chosen.mark(x, head_dim=1) + chosen.built(x, mode="other")

    row = torch.zeros(2)
    assert torch.jit.script(program)(row).tolist() == program(row).tolist() == [30, 30]
    assert torch.jit.script(chosen.mark)(row, 129).tolist() == [20, 20]


@pytest.mark.thorough
def test_operators_pass_opcheck(chosen: Any, torch: ModuleType) -> None:  # noqa: ANN401
    """What PyTorch asks of custom operators holds for those with several kernels."""
    for arguments in ((torch.randn(3), 1), (torch.randn(3, 2).t(), 200)):
        assert set(torch.library.opcheck(torch.ops.chosen.mark.default, arguments).values()) == {"SUCCESS"}


@pytest.fixture(scope="session")
def stable(program: str, torch: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> ModuleType:
    """The Python functions of the library with the stable interface."""
    folder = tmp_path_factory.mktemp("firm")
    (folder / "firm.yaml").write_text(STABLE)
    out = folder / "out"
    assert main(["generate", "--library", str(folder / "firm.yaml"), "--torch", "auto", "--out", str(out)]) == 0
    compiler = Compiler(program, folder, [out / "include", INCLUDE])
    torch.ops.load_library(compiler.library("firm", [out / "src/firm/register_0.cpp", HERE / "stable.cpp"]))
    sys.path[:0] = [str(out / "python"), str(HERE)]
    return importlib.import_module("firm._ops")


@pytest.mark.thorough
def test_stable_libraries_choose(stable: Any, torch: ModuleType) -> None:  # noqa: ANN401
    """The stable interface has the same choice, and the same ways to force one."""
    firm = stable
    assert firm.pick(torch.ones(1)).tolist() == [1]
    assert firm.pick(torch.ones(1, 1)).tolist() == [[0]]
    with firm.implementation("pick", "zeros"):
        assert firm.pick(torch.ones(1)).tolist() == [0]


@pytest.mark.thorough
def test_stable_libraries_call_python(stable: Any, torch: ModuleType) -> None:  # noqa: ANN401
    """A Python function beside kernels in C++ gets all arguments, and gives all results."""
    row = torch.full((2,), 3.0, requires_grad=True)
    results = stable.mixed(row, [row, row], [4], name="more", by=0.5, words=["a", "b" * 40])
    assert [own.tolist() for own in results] == [[6.0, 6.0], [4.0], [0.5], [4.0], [41.0]]
    results = stable.mixed(row, [], other=row + 1, label="x" * 50, words=[])
    assert [own.tolist() for own in results] == [[7.0, 7.0], [1.0], [2.0], [50.0]]
    assert len(stable.mixed(row.reshape(1, 2), [], words=[])) == 1
    with stable.implementation("mixed", "alone"):
        assert len(stable.mixed(row, [row], words=["a"], label="x" * 50)) == 1


@pytest.mark.thorough
def test_calls_of_python_functions_are_checked(chosen: Any, stable: Any, torch: ModuleType) -> None:  # noqa: ANN401
    """C++ refuses what the entry does not allow, eagerly and in traces, and copies before it calls the function."""
    from torch._subclasses.fake_tensor import FakeTensorMode

    sys.path.insert(0, str(HERE))
    table, weight = torch.ones(3, 2).t(), torch.ones(3)
    for module in (chosen, stable):
        name = module.__name__.partition(".")[0]
        operator = getattr(torch.ops, name).rows.default
        assert module.rows(table, weight).tolist() == [3.5, 3.5]
        wrong = {
            "dimension 0 of `weight` has size 2, and has to have size 3 (`d` of `self`)": (table, torch.ones(2)),
            "`weight` has dtype float64, and has to have dtype float32 (that of `self`)": (table, weight.double()),
            "`weight` is not contiguous, and has to be": (table, torch.ones(6)[::2]),
        }
        for message, arguments in wrong.items():
            with pytest.raises(RuntimeError) as refused:
                operator(*arguments)
            assert str(refused.value).partition("\n")[0] == f"{name}::rows: {message}"
            with FakeTensorMode() as mode, pytest.raises(RuntimeError) as traced:
                operator(*map(mode.from_tensor, arguments))
            assert str(traced.value).partition("\n")[0] == f"{name}::rows: {message}"
        with pytest.raises(RuntimeError, match="`eps > 0` has to hold, and `eps` is 0"):
            module.rows(table, weight, eps=0.0)
        with pytest.raises((RuntimeError, ValueError), match="too large"):
            module.rows(table, weight, eps=200.0)
        assert set(torch.library.opcheck(operator, (table, weight)).values()) == {"SUCCESS"}
        with pytest.raises(ValueError, match="`rows` has no implementations to choose from"):
            module.implementation("rows", "rows").__enter__()


def test_checked_python_functions_need_types_that_cpp_has(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With the stable interface, C++ cannot pass all types to Python, so it cannot check their calls."""
    file = tmp_path / "acme.yaml"
    entry = "func: f(Tensor x, bool[2] y) -> Tensor\n  dispatch: {CPU: {python: m:f}}\n  dims: {x: n, return: n}"
    file.write_text(f"namespace: acme\nabi: stable\noperators:\n- {entry}\n", encoding="utf-8")
    assert main(["check", "--torch", "auto", "--library", str(file)]) == 1
    printed = capsys.readouterr().out
    assert "a Python kernel behind the checks of `f`, which has lists of booleans, needs `abi: native`" in printed


@pytest.mark.parametrize(
    ("schema", "reason"),
    [
        ("f(Tensor x) -> (Tensor, int)", "returns values of different types"),
        ("f(bool[2] x) -> ()", "has lists of booleans"),
    ],
)
def test_calls_that_the_stable_interface_lacks(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], schema: str, reason: str
) -> None:
    """C++ cannot call a Python function of some types; one that serves all calls needs no C++."""
    file = tmp_path / "acme.yaml"
    for value, status in (('{python: "m:f"}', 0), ('[{python: "m:g", when: "true", priority: 1}, f]', 1)):
        entry = f"func: {schema}\n  dispatch:\n    CompositeExplicitAutograd: {value}"
        file.write_text(f"namespace: acme\nabi: stable\noperators:\n- {entry}\n", encoding="utf-8")
        arguments = ["check", "--torch", "auto", "--ignore", "W1119", "--library", str(file)]
        assert main(arguments) == status
    printed = capsys.readouterr().out
    assert f"a Python kernel beside others of `f`, which {reason}, needs `abi: native`" in printed
    assert "help: let the Python function be the only kernel of its key" in printed


def test_explain_and_dump_list_them(capsys: pytest.CaptureFixture[str]) -> None:
    """`explain` has a table of the implementations in their order, and a dump has all of them."""
    library = ["--library", str(HERE / "operators.yaml")]
    assert main(["explain", "chosen::mark", "--section", "dispatch", *library]) == 0
    printed = capsys.readouterr().out
    assert printed.endswith(
        "Implementations\n  CPU\n"
        "    fast   when self.is_contiguous() && head_dim <= 128; priority 2\n"
        "    small  when self.dim() <= 1; priority 1\n"
        "    plain  always\n"
    )
    assert main(["dump", *library, "--torch", "auto"]) == 0
    kernels = [
        kernel for operator in json.loads(capsys.readouterr().out)["operators"] for kernel in operator["kernels"]
    ]
    assert [[own["name"] for own in kernel["implementations"]] for kernel in kernels][:2] == [
        ["fast", "small", "plain"],
        ["absent", "other", "always"],
    ]


def test_explain_has_the_functions_of_the_author(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """`explain` has the C++ signature of each implementation, as the interface of the library has it."""
    library = ["--library", str(HERE / "operators.yaml")]
    assert main(["explain", "chosen::mixed", "--section", "dispatch,signatures", *library]) == 0
    printed = capsys.readouterr().out
    assert "    flat   when self.dim() == 1; priority 1; chosen_kernels:flat in Python\n    cubic" in printed
    assert "at::Tensor chosen::native::cubic(" in printed
    assert "chosen::native::flat" not in printed
    (tmp_path / "firm.yaml").write_text(STABLE)
    assert main(["explain", "firm::pick", "--section", "signatures", "--library", str(tmp_path / "firm.yaml")]) == 0
    printed = capsys.readouterr().out
    assert "torch::stable::Tensor firm::native::same(" in printed
    assert "torch::stable::Tensor firm::native::zeros(" in printed
    assert "at::Tensor firm" not in printed


def test_a_changed_condition_is_generated(generate_library: GenerateLibrary) -> None:
    """A second run into the same folder writes the new condition."""
    before = generate_library(STABLE)
    after = generate_library(STABLE.replace("self.dim() == 1", "self.dim() == 2"))
    assert before == after
    assert "bool(self.dim() == 2)" in (after / "src/firm/register_0.cpp").read_text()
