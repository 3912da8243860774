"""Libraries with `abi: stable`: what they can have, and a binary that needs nothing but PyTorch's stable symbols."""

from __future__ import annotations

import importlib
import json
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

import pytest

from opwright.cli.main import main
from opwright.wheels.fetch import stable_headers
from tests.compile.compiler import Compiler
from tests.library.conftest import INCLUDE, GenerateLibrary, generated_code

if TYPE_CHECKING:
    from torch import Tensor

HERE = Path(__file__).parent

#: The symbols of PyTorch that stay the same from release to release.
STABLE_SYMBOL = re.compile(r"(aoti_)?torch_\w+")


@pytest.fixture(scope="session")
def generated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The generated code of the library."""
    return generated_code(HERE / "steady.yaml", tmp_path_factory)


@pytest.fixture(scope="session")
def binary(program: str, torch: ModuleType, generated: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The shared object of the library."""
    compiler = Compiler(program, tmp_path_factory.mktemp("steady_build"), [generated / "include", INCLUDE])
    return compiler.library("steady", [generated / "src/steady/register_0.cpp", HERE / "kernels.cpp"])


@pytest.fixture(scope="session")
def steady(torch: ModuleType, binary: Path, generated: Path) -> ModuleType:
    """`torch.ops.steady`, compiled and loaded, with its fakes."""
    torch.ops.load_library(binary)
    sys.path.insert(0, str(generated / "python"))
    importlib.import_module("steady._ops")
    operators: ModuleType = torch.ops.steady
    return operators


@pytest.mark.thorough
def test_operators_of_every_type_run(steady: ModuleType, torch: ModuleType) -> None:
    """Arguments and results of each type that the stable API has arrive as they are."""
    row = torch.tensor([1.0, 2.0, 3.0])
    assert steady.doubled(row).tolist() == [2, 4, 6]
    assert steady.doubled(row, 2).tolist() == [4, 8, 12]
    changed = row.clone()
    assert steady.clear_(changed, others=[row, row], kept=[1]).tolist() == [2, 2, 2]
    assert changed.tolist() == [2, 2, 2]
    steady.record(changed, row)
    assert changed.tolist() == [1, 2, 3]
    chosen, index = steady.choose(row, row + 1, mode="other", index=7)
    assert (chosen.tolist(), index) == ([2, 3, 4], 7)
    assert [part.tolist() for part in steady.parts(row, [0, 2])] == [[1], [3]]
    described = steady.described(torch.float32, layout=torch.strided, memory_format=torch.contiguous_format)
    assert described == "float layout format"
    assert (steady.counted([True, False, True]), steady.counted([True], [True, True])) == (2, 3)
    assert steady.listed([row, None], ["a"], [[1, 2], []], [7, None], ["b"]) == (12110, ["a", "b"])
    assert steady.listed([None], [], [], []) == (100, [])


@pytest.mark.thorough
def test_tensors_of_two_devices_are_refused(steady: ModuleType, torch: ModuleType) -> None:
    """Under the key of a device with a guard, a call names the tensor that is elsewhere, before the kernel runs."""
    key = torch._C.DispatchKeySet(torch._C.DispatchKey.CUDA)
    row, elsewhere = torch.ones(2), torch.ones(2, device="meta")
    assert steady.choose.default.redispatch(key, row, row, mode="other")[0].tolist() == [1, 1]
    assert steady.joined.default.redispatch(key, [row, row]).numel() == 4
    with pytest.raises(RuntimeError, match=r"steady::choose: `other` is on meta.* has to be on cpu .*of `self`"):
        steady.choose.default.redispatch(key, row, elsewhere)
    with pytest.raises(RuntimeError, match=r"steady::joined: `tensors` is on meta"):
        steady.joined.default.redispatch(key, [row, elsewhere])


@pytest.mark.thorough
def test_the_binary_needs_stable_symbols_alone(binary: Path) -> None:
    """No undefined symbol of PyTorch is a C++ one: those change from release to release."""
    listed = subprocess.run(["nm", "-D", "--undefined-only", binary], capture_output=True, text=True, check=True)
    symbols = [line.split()[-1].partition("@")[0] for line in listed.stdout.splitlines()]
    of_pytorch = [symbol for symbol in symbols if re.search(r"torch|c10|2at", symbol)]
    assert "torch_library_impl" in of_pytorch
    assert [symbol for symbol in of_pytorch if not STABLE_SYMBOL.fullmatch(symbol)] == []


@pytest.mark.thorough
def test_the_audit_finds_the_oldest_release(binary: Path) -> None:
    """PyPI's `torch-abi-audit` finds no unstable symbol, and none that came after the release of the library."""
    audit = Path(sys.executable).with_name("torch-abi-audit")
    if not audit.exists():
        pytest.skip("torch-abi-audit is not installed")
    printed = subprocess.run([audit, "--json", binary], capture_output=True, text=True, check=True).stdout
    (found,) = [library["torch"] for library in json.loads(printed)["bundled_libs"]]
    assert (found["stable"], found["unstable_symbols"], found["unknown_shim_symbols"]) == (True, [], [])
    assert found["stable_shim_count"] > 20
    assert found["min_torch_version"] == "2.10.0"


@pytest.mark.network
@pytest.mark.parametrize("release", ["2.10.0", "2.11.0", "2.12.1", "2.15.0"])
def test_headers_of_a_release_compile_the_library(program: str, generated: Path, tmp_path: Path, release: str) -> None:
    """The headers of the oldest release, and of newer ones, are all of PyTorch's that the library reads."""
    headers = Path(stable_headers(release))
    compiler = Compiler(program, tmp_path, [generated / "include", INCLUDE, headers])
    for source in (generated / "src/steady/register_0.cpp", HERE / "kernels.cpp"):
        compiler.object(source)
        read = [header for header in compiler.headers(source.stem) if "torch" in header.parts]
        assert read
        assert all(header.is_relative_to(headers.resolve()) for header in read)


@pytest.mark.thorough
def test_declared_outputs_are_fakes_in_python(steady: ModuleType, torch: ModuleType) -> None:
    """PyTorch's check of fakes passes, also with symbolic sizes, and a traced function runs."""
    square, narrow = torch.ones(3, 4), torch.ones(1, 4)
    checks = [f"test_{name}" for name in ("schema", "faketensor", "aot_dispatch_dynamic")]
    for operator, arguments, keywords in (
        (steady.doubled, (square, 2), {}),
        (steady.joined, ([square, narrow], 0), {}),
        (steady.framed, (square, narrow, 5), {}),
        (steady.framed, (square, narrow, 5), {"dims": [1], "wide": True}),
        (steady.record, (square.clone(), square), {}),
    ):
        torch.library.opcheck(operator.default, arguments, keywords, test_utils=checks)

    def call(tensor: Tensor) -> Tensor:
        return steady.framed(steady.doubled(tensor), tensor, tensor.shape[0] + 2, wide=True)[0]

    traced = torch.compile(call, backend="aot_eager", fullgraph=True, dynamic=True)
    assert traced(square).shape == (5, 4)
    assert traced(torch.ones(6, 2)).shape == (8, 2)


@pytest.mark.thorough
def test_writes_count_as_changes(steady: ModuleType, torch: ModuleType) -> None:
    """A library without derivatives tells autograd once what it writes, also where a kernel calls PyTorch."""
    value, weight = torch.ones(3), torch.ones(3, requires_grad=True)
    for write in ("clear_", "record"):
        before, product = value._version, weight * value
        if write == "record":
            steady.record(value, torch.ones(3))
        else:
            steady.clear_(value, others=[])
        assert value._version == before + 1
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            product.sum().backward()
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad is being used in an in-place operation"):
        steady.record(weight, value)
    assert steady.doubled(weight).requires_grad


def test_tags_of_the_form_are_not_registered(generate_library: GenerateLibrary) -> None:
    """The stable API has no name for the tag `inplace`, so a binary that asked for it could not be loaded."""
    text = 'namespace: s\nabi: stable\ntorch: ">=2.12"\noperators: [func: "f_(Tensor(a!) a) -> Tensor(a!)"]\n'
    source = (generate_library(text) / "src/s/register_0.cpp").read_text()
    assert 'm.def("f_(Tensor(a!) a) -> Tensor(a!)");' in source


def test_batching_rules_are_operators(generate_library: GenerateLibrary) -> None:
    """A rule takes and gives a batch dimension after each tensor, and the package registers it."""
    entry = "{func: 'f(Tensor a, float? k=None) -> (Tensor, Tensor[])', batch_rule: 'm::rule', dispatch: {CPU: f}}"
    out = generate_library(f"namespace: s\nabi: stable\noperators:\n- {entry}\n")
    source = (out / "src/s/register_0.cpp").read_text()
    schema = "_f_batch_rule(Tensor a, int? a_bdim, float? k) -> (Tensor, int?, Tensor[], int?)"
    assert f'm.def("{schema}");' in source
    assert 'm.impl("_f_batch_rule", TORCH_BOX(&::m::rule));' in source
    assert "rule(const torch::stable::Tensor & a, ::std::optional<int64_t> a_bdim" in (
        (out / "include/s/kernels.h").read_text()
    )
    assert 'register_vmap("s::f", _f_rule, lib=_library)' in (out / "python/s/_vmap.py").read_text()


def test_composite_views_are_registered(generate_library: GenerateLibrary) -> None:
    """A view that calls other views needs nothing of the native interface, and runs below `vmap`."""
    text = "namespace: s\nabi: stable\noperators: [func: f(Tensor(a) self) -> Tensor(a)]\n"
    source = (generate_library(text) / "src/s/register_0.cpp").read_text()
    for key in ("CompositeImplicitAutograd", "FuncTorchBatchedDecomposition"):
        assert f"STABLE_TORCH_LIBRARY_IMPL(s, {key}, m) {{" in source


def test_kernels_that_a_header_declares_are_compared(generate_library: GenerateLibrary) -> None:
    """With `includes`, the source states the type of each kernel."""
    text = (HERE / "steady.yaml").read_text().replace("abi: stable", "abi: stable\nincludes: [mine.h]")
    source = (generate_library(text) / "src/steady/register_0.cpp").read_text()
    assert "#include <mine.h>" in source
    assert (
        "static_assert(std::is_same_v<decltype(::steady::native::record_cpu), "
        "void (torch::stable::Tensor &, const torch::stable::Tensor &)>"
    ) in source


def test_tags_are_registered_where_the_oldest_release_can(generate_library: GenerateLibrary) -> None:
    """The tags of schemas came to the stable API with 2.12."""
    text = 'namespace: s\nabi: stable\ntorch: ">=2.12"\noperators: [{func: f(Tensor a) -> Tensor, tags: core}]\n'
    out = generate_library(text)
    assert (
        'm.def("f(Tensor a) -> Tensor", {torch::headeronly::Tag::core});' in (out / "src/s/register_0.cpp").read_text()
    )
    assert "#define TORCH_TARGET_VERSION 0x020c000000000000\n" in (out / "include/s/kernels.h").read_text()


#: An entry, and the message with which it is refused.
REFUSED = {
    "func: f(Tensor self, Scalar value) -> Tensor": ("E1160", "the stable C++ API has no type for `Scalar`"),
    "func: f(Tensor self, complex z) -> Tensor": ("E1160", "the stable C++ API has no type for `complex`"),
    "func: f(Tensor self, Scalar[] values) -> Tensor": ("E1160", "the stable C++ API has no type for `Scalar[]`"),
    "func: f(Tensor self, SymBool flag) -> Tensor": ("E1160", "the stable C++ API has no type for `SymBool`"),
    "func: f(Tensor self) -> Scalar": ("E1160", "the stable C++ API has no type for a result `Scalar`"),
    "{func: 'f(Tensor[] all) -> Tensor', batch_rule: 'm::g'}": (
        "E1161",
        "the batching rule of `f`, which takes the list `all` of tensors, needs `abi: native`",
    ),
    "{func: 'f(Tensor a, *, Tensor b) -> Tensor', batch_rule: 'm::g'}": (
        "E1161",
        "the batching rule of `f`, which takes the tensor `b` by name alone, needs `abi: native`",
    ),
    "{func: 'f(Tensor a, int a_bdim) -> Tensor', batch_rule: 'm::g'}": (
        "E1161",
        "the batching rule of `f`, which has an argument with the name of the batch dimension of `a`, needs",
    ),
    "{func: f(Tensor(a) self) -> Tensor(a), dispatch: {CPU: f}}\n"
    "- {func: f_copy(Tensor self) -> Tensor, tags: view_copy}": (
        "E1161",
        "the view `f` needs `abi: native`",
    ),
    "{func: 'f(Tensor self, *, ScalarType? dtype=None) -> Tensor', autocast: fp32_set_opt_dtype}": (
        "E1161",
        "the autocast policy of `f` needs `abi: native`",
    ),
    "{func: f(Tensor self) -> Tensor, tags: core}": ("E1162", "PyTorch 2.10 cannot register tags"),
    "{func: 'f(Tensor self, Generator? g) -> Tensor', tags: nondeterministic_seeded}": (
        "E1162",
        "PyTorch 2.10 has no generators",
    ),
    "{func: 'f(Tensor self) -> Generator', dispatch: {CPU: f}}": ("E1162", "PyTorch 2.10 has no generators"),
}


@pytest.mark.parametrize("entry", REFUSED)
def test_what_the_stable_api_lacks_is_refused(entry: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each thing that needs the native interface is an error at its place, and nothing is written."""
    code, message = REFUSED[entry]
    file, out = tmp_path / "s.yaml", tmp_path / "out"
    file.write_text(f"namespace: s\nabi: stable\noperators:\n- {entry}\n", encoding="utf-8")
    assert main(["generate", "--library", str(file), "--torch", "auto", "--out", str(out)]) == 1
    report = capsys.readouterr().err
    assert f"error[{code}]: {message}" in report
    assert f"{file}:4:" in report
    assert not out.exists()


#: A formula of `f(Tensor self, float k) -> Tensor`, the code and the words with which it is refused, and their column.
REFUSED_FORMULAS = {
    "grad * helper(self)": ("E1163", "`helper` is no operator", 16),
    "grad * self.data_ptr()": ("E1163", "`data_ptr` is no operator", 21),
    "grad.mul(self, k, k)": ("E1163", "no overload of `aten::mul` takes (Tensor, Tensor, float, float)", 14),
    "k": ("E1163", "the formula gives `float`, and `Tensor` is needed", 9),
    "grad * (k, k)": ("E1163", "Python has no form of this part", 17),
}


@pytest.mark.parametrize("formula", REFUSED_FORMULAS)
def test_formulas_that_python_cannot_compute_are_refused(
    formula: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The word in the formula is the place of the error."""
    code, message, column = REFUSED_FORMULAS[formula]
    entry = "{func: 'f(Tensor self, float k) -> Tensor', outputs: like(self), dispatch: {CPU: f}}"
    head = "namespace: s\nabi: stable\nderivatives: d.yaml\nderivative_includes: [d.h]\n"
    (tmp_path / "s.yaml").write_text(f"{head}operators:\n- {entry}\n", encoding="utf-8")
    (tmp_path / "d.yaml").write_text(f"- name: f(Tensor self, float k) -> Tensor\n  self: {formula}\n")
    assert main(["generate", "--library", str(tmp_path / "s.yaml"), "--torch", "auto", "--out", str(tmp_path)]) == 1
    report = capsys.readouterr().err
    assert f"error[{code}]: {message}" in report
    assert f"d.yaml:2:{column}" in report


#: A formula that calls what a release brought, that release, and the words of the report.
NEWER = {
    "at::_foreach_clone(grads)[0]": ("2.12", "PyTorch 2.10 has no operator `_foreach_clone` that takes"),
    # The operator is older than this overload.
    "std::get<0>(at::_scaled_dot_product_flash_attention(grad, grad, grad, self, self, self))": (
        "2.11",
        "PyTorch 2.10 has no operator `_scaled_dot_product_flash_attention.quantized` that takes",
    ),
}


@pytest.mark.parametrize("formula", NEWER)
def test_operators_are_those_of_the_oldest_release(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], formula: str
) -> None:
    """A formula must run in the oldest release too; the help names the one that brought the operator."""

    def run(release: str) -> tuple[int, str]:
        head = f'namespace: s\nabi: stable\ntorch: "{release}"\nderivatives: d.yaml\n'
        entry = "{func: 'f(Tensor self) -> Tensor', outputs: like(self), dispatch: {CPU: f}}"
        (tmp_path / "s.yaml").write_text(f"{head}operators:\n- {entry}\n", encoding="utf-8")
        (tmp_path / "d.yaml").write_text(f"- name: f(Tensor self) -> Tensor\n  self: {formula}\n")
        code = main(["generate", "--library", str(tmp_path / "s.yaml"), "--torch", "auto", "--out", str(tmp_path)])
        return code, capsys.readouterr().err

    since, message = NEWER[formula]
    code, report = run(">=2.10")
    assert code == 1
    assert f"error[E1163]: {message}" in report
    assert f"d.yaml:2:{9 + formula.index('at::')}" in report
    assert f'write `torch: ">={since}"` in the head' in report
    assert run(f">={since}")[0] == 0


def test_forward_formulas_that_python_cannot_compute_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """They are translated too, and the word is the place."""
    entry = "{func: 'f(Tensor self) -> Tensor', outputs: like(self), dispatch: {CPU: f}}"
    head = "namespace: s\nabi: stable\nderivatives: d.yaml\nderivative_includes: [d.h]\n"
    (tmp_path / "s.yaml").write_text(f"{head}operators:\n- {entry}\n", encoding="utf-8")
    (tmp_path / "d.yaml").write_text("- name: f(Tensor self) -> Tensor\n  self: grad\n  result: 2 * helper(self_t)\n")
    assert main(["generate", "--library", str(tmp_path / "s.yaml"), "--torch", "auto", "--out", str(tmp_path)]) == 1
    report = capsys.readouterr().err
    assert "error[E1163]: `helper` is no operator" in report
    assert "d.yaml:3:15" in report


def test_derivatives_that_python_cannot_register_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A derivative of an operator that writes to its argument needs C++."""
    entry = "{func: 'f_(Tensor(a!) self) -> Tensor(a!)', dispatch: {CPU: f_}}"
    (tmp_path / "s.yaml").write_text(f"namespace: s\nabi: stable\nderivatives: d.yaml\noperators:\n- {entry}\n")
    (tmp_path / "d.yaml").write_text("- name: f_(Tensor(a!) self) -> Tensor(a!)\n  self: grad\n")
    assert main(["generate", "--library", str(tmp_path / "s.yaml"), "--torch", "auto", "--out", str(tmp_path)]) == 1
    assert "error[E1161]: the derivative of `f_` is that of an operator that writes" in capsys.readouterr().err
