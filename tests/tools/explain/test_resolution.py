"""Names that people hold lead to operators, and the names that explanations give exist."""

from __future__ import annotations

import re
from functools import reduce
from pathlib import Path

import pytest

from opwright.backends.dispatch.registrations import RegistrationKind, registrations
from opwright.backends.dispatch.resolution import Entries, resolve
from opwright.backends.dispatch.runtime_keys import key_names
from opwright.cli.main import main
from opwright.convention.python.bound import MODULES
from opwright.emit.python.units import bindings
from opwright.emit.registry import FAMILIES
from opwright.release.inputs import from_source_path, open_inputs
from opwright.tools.explain.gradients import derivative_record
from opwright.tools.explain.signatures import python_name
from tests.tools.explain.agreement import installed_job

FUNCTION, METHOD = "a Python function", "a method of Python's tensors"
CPP, CPP_METHOD, CLASS = "a C++ function", "a method of C++'s tensors", "the C++ class of an overload"

#: A name, what it is taken for, and the first operators that it leads to.
NAMES = {
    "torch.add": (FUNCTION, "add"),
    "torch.ops.aten.mm.out": (FUNCTION, ""),
    "F.relu": (FUNCTION, "relu"),
    "torch.nn.functional.relu6": (FUNCTION, "relu6"),
    "torch._C._nn.gelu": (FUNCTION, "gelu"),
    "torch.linalg.inv": (FUNCTION, "linalg_inv"),
    "torch.fft.fft": (FUNCTION, "fft_fft"),
    "torch.special.erf": (FUNCTION, "special_erf"),
    "Tensor.add_": (METHOD, "add_"),
    "torch.Tensor.__iadd__": (METHOD, "add_"),
    "torch.Tensor.__and__": (METHOD, "__and__"),
    "at::add": (CPP, "add"),
    "at::mul_out": (CPP, "mul.out"),
    "at::mul_outf": (CPP, "mul.out"),
    "Tensor::add_": (CPP_METHOD, "add_"),
    "at::Tensor::sum": (CPP_METHOD, "sum"),
    "at::_ops::add_Tensor::call": (CLASS, "add.Tensor"),
    "at::_ops::add__Tensor": (CLASS, "add_.Tensor"),
    "aoti_torch_cpu_add_Tensor": ("a C shim", "add.Tensor"),
    "at::native::add_out": ("a kernel", "add.out"),
    "structured_add_out": ("a kernel", "add.out"),
    "at::native::structured_addmm_out_cuda::impl": ("a kernel", "addmm.out"),
    "add_stub": ("the function of a loop, by its name", "add"),
    "AddmmBackward0": ("an autograd node", "addmm"),
    "torch::autograd::generated::AddmmBackward0": ("an autograd node", "addmm"),
    "mul_tensor_backward": ("a function that formulas call", "mul.Tensor"),
    "torch.Tag.core": ("a tag", "native_dropout"),
    "pointwise": ("a tag", "native_dropout_backward"),
    "SparseCsrCPU": ("a dispatch key", "abs"),
}

#: A misspelt name, and the one that is meant.
MISSPELT = {
    "torch.ad": "torch.add",
    "F.rellu": "F.relu",
    "torch.linalg.invv": "torch.linalg.inv",
    "Tensor.ad_": "Tensor.add_",
    "at::native::ad_out": "at::native::add_out",
    "aoti_torch_cpu_ad_Tensor": "aoti_torch_cpu_add_Tensor",
    "AdmmBackward0": "AddmmBackward0",
    "mul_tensr_backward": "mul_tensor_backward",
    "CompositImplicitAutograd": "CompositeImplicitAutograd",
    "pointwize": "pointwise",
    "aten::ad.Tensor": "add.Tensor",
    "structured_ad_out": "structured_add_out",
    "ad_kernel": "add_kernel",
    "at::_ops::add_Tensr::call": "at::_ops::add_Tensor::call",
    "RegisterCPUU_0.cpp": "RegisterCPU_0.cpp",
}


@pytest.fixture(scope="module")
def entries() -> Entries:
    """The entries of the installed PyTorch."""
    return Entries(open_inputs("auto"))


@pytest.mark.parametrize("name", NAMES)
def test_names_lead_to_operators(name: str, entries: Entries) -> None:
    """Each name is taken for what it is, and gives the operators behind it."""
    taken_for, first = NAMES[name]
    resolution = resolve(name, entries)
    if not first:
        assert resolution is None
        return
    assert resolution is not None
    assert (resolution.taken_for, resolution.operators[0]) == (taken_for, first)


@pytest.mark.parametrize(("name", "count"), [("torch.add", 2), ("torch.linalg.cross", 2), ("torch.special.i0e", 1)])
def test_functions_of_the_installed_torch_lead_to_their_operators(name: str, count: int, entries: Entries) -> None:
    """A call of the function runs the operator that its name leads to."""
    torch = pytest.importorskip("torch")
    function = reduce(getattr, name.split(".")[1:], torch)
    with torch.profiler.profile() as profile:
        function(*[torch.ones(3)] * count)
    resolution = resolve(name, entries)
    assert resolution is not None
    assert f"aten::{resolution.operators[0]}" in {event.name for event in profile.events()}


def test_python_names_exist() -> None:
    """Each name of a Python function that explanations give is there in the installed PyTorch."""
    torch = pytest.importorskip("torch")
    names = {
        python_name(module, pair.signature.name)
        for module in MODULES
        for binding in bindings(installed_job(), module)
        for pair in binding.pairs
    }
    missing = [
        name
        for name in names
        if reduce(lambda value, word: getattr(value, word, None), name.split(".")[1:], torch) is None
    ]
    assert len(names) > 1500
    assert missing == []


def test_gradients_and_dispatch_say_the_same() -> None:
    """Where nothing is differentiable, no kernel records a gradient, and the other way round."""
    job = installed_job()
    expected = {
        RegistrationKind.autograd: {"formulas", "mixed", "own"},
        RegistrationKind.not_implemented: {"unimplemented"},
        RegistrationKind.refuses_gradients: {"out"},
        RegistrationKind.not_differentiable: {"none"},
    }
    checked = 0
    for function in job.catalog.functions[::7]:
        registration = registrations(job, function).get("Autograd")
        if registration is not None and registration.kind in expected:
            assert derivative_record(function, job).status in expected[registration.kind], function.name.text
            checked += 1
    assert checked > 200


def test_what_a_name_was_taken_for_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    """The operators of few names are explained, those of a tag or key are listed; what is unknown gets a suggestion."""
    assert main(["explain", "AddmmBackward0", "--section", "python"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("AddmmBackward0 is an autograd node: addmm\n\naten::addmm\n")
    assert "torch.addmm(input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: Number" in out
    assert main(["explain", "pointwise"]) == 0
    assert capsys.readouterr().out.startswith("pointwise is a tag of ")


#: What a source tree has beside the entries: a kernel that calls a loop by a function of its own, and the loop.
LOSS = """\
DEFINE_DISPATCH(mse_stub);

static void compute(TensorIterator& iter) {
  mse_stub(iter.device_type(), iter);
}

TORCH_IMPL_FUNC(mse_loss_out)
(const Tensor& input, const Tensor& target, int64_t reduction, const Tensor& result) {
  compute(*this);
}

Tensor unrelated(const Tensor& self) {
  return self;
}
"""
LOOPS = (
    "namespace {\nvoid squares(TensorIteratorBase& iter) {}\n}\n\nALSO_REGISTER_AVX512_DISPATCH(mse_stub, &squares)\n"
)


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    """A source tree with a kernel that calls a loop."""
    native = tmp_path / "aten/src/ATen/native"
    (native / "cpu").mkdir(parents=True)
    entry = "- func: mse_loss.out(Tensor self, Tensor target, int reduction=1, *, Tensor(a!) out) -> Tensor(a!)\n"
    table = "  structured: True\n  dispatch:\n    CPU: mse_loss_out\n"
    (native / "native_functions.yaml").write_text(entry + table)
    (native / "tags.yaml").write_text("- tag: core\n  desc: Core.\n")
    (native / "Loss.cpp").write_text(LOSS)
    (native / "cpu/Loops.cpp").write_text(LOOPS)
    return native.parent


@pytest.mark.parametrize("name", ["mse_stub", "squares", "at::native::squares"])
def test_loops_lead_to_the_kernels_that_call_them(name: str, sources: Path) -> None:
    """With a source tree, a function that is registered for a table leads to the operators of the table's callers."""
    resolution = resolve(name, Entries(from_source_path(str(sources))))
    assert resolution is not None
    assert resolution.operators == ("mse_loss.out",)
    assert "aten/src/ATen/native/cpu/Loops.cpp:5 registers for mse_stub" in resolution.taken_for


@pytest.mark.thorough
@pytest.mark.parametrize("name", MISSPELT)
def test_misspelt_names_get_the_nearest(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The suggestion is a name of the same kind, written in the same way, and leads to operators itself."""
    assert main(["explain", name]) == 1
    assert f"no operator `{name}`; did you mean `{MISSPELT[name]}`?" in capsys.readouterr().err
    assert main(["explain", MISSPELT[name]]) == 0


@pytest.mark.thorough
def test_where_finds_the_entries_of_names(capsys: pytest.CaptureFixture[str]) -> None:
    """Each name of a few operators leads to the lines of their entries; others lead to `explain`."""
    assert main(["where", "at::add_out", "AddmmBackward0"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.rpartition(": ")[2] for line in lines] == ["aten::add.out", "aten::addmm"]
    for line in lines:
        path, number, name = re.split(r":(?=\d)|: ", line)
        written = Path(path).read_text(encoding="utf-8").splitlines()[int(number) - 1]
        assert written.startswith(f"- func: {name.removeprefix('aten::')}(")
    assert main(["where", "CPU", "torch.ad"]) == 1
    said = capsys.readouterr().err
    assert "`CPU` is a dispatch key; `opwright explain CPU` says what it has" in said
    assert "opwright where: no operator `torch.ad`; did you mean `torch.add`?" in said


@pytest.mark.thorough
@pytest.mark.parametrize("name", sorted(key_names()))
def test_every_dispatch_key_is_explained(name: str, entries: Entries) -> None:
    """Each key leads to sentences on what it stands for."""
    resolution = resolve(name, entries)
    assert resolution is not None
    assert resolution.taken_for == "a dispatch key"
    assert resolution.about.endswith(".")


@pytest.mark.parametrize(
    ("name", "emitter", "path"),
    [
        ("RegisterCPU.cpp", "register_cpu_source", "aten/src/ATen/RegisterCPU.cpp"),
        ("RegisterCPU_1.cpp", "register_cpu_source", "aten/src/ATen/RegisterCPU_1.cpp"),
        ("ATen/ops/add_native.h", "native_function_headers", "aten/src/ATen/ops/add_native.h"),
        ("VariableTypeEverything.cpp", "variable_type_source", "generated/VariableTypeEverything.cpp"),
        ("TraceType", "trace_type_source", "generated/TraceType.cpp"),
    ],
)
def test_generated_files_are_explained(name: str, emitter: str, path: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The name of a file, or the end of its path, leads to its emitter and its whole path."""
    assert main(["explain", name]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert f"`{emitter}` writes" in out
    assert path in out


@pytest.mark.parametrize("family", FAMILIES)
def test_every_family_is_explained(family: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The name of a family leads to what it has and the command that writes it."""
    assert main(["explain", family]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert FAMILIES[family].help in out
    assert f"opwright generate --only {family} " in out
