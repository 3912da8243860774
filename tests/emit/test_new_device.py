"""A new dispatch key is one row of the table: everything else follows from it."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from opwright.cli.main import main
from opwright.emit.aten.dispatch_key_headers import class_macro, key_macro
from opwright.model import dispatch_key
from opwright.model.derivatives import autograd_keys
from opwright.model.dispatch_key import Allocation, Device, DispatchKey
from opwright.model.native_function import Kernel
from opwright.release.rules import Rules
from opwright.release.version import Version
from tests.engine.project import Project, files_of
from tests.test_layering import modules

TACHYON = DispatchKey(
    "Tachyon",
    Device(
        "Tachyon",
        flag="tachyon",
        has_guard=True,
        guard_headers=("c10/tachyon/TachyonGuard.h",),
        is_initialized_lazily=True,
        export_macro="TORCH_TACHYON_API",
    ),
    has_structured=True,
    allocation=Allocation("at::detail::empty{}_tachyon", "ATen/tachyon/EmptyTensor.h"),
    structured_guard="c10::tachyon::OptionalTachyonGuard",
    shards_rule="register_cpu_shards",
    has_functions_header=True,
    has_c_shim=True,
)

ENTRIES = """\
- func: abs(Tensor self) -> Tensor
  structured_delegate: abs.out

- func: abs.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
  structured: True
  dispatch:
    CPU, Tachyon: abs_out

- func: blank(int size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, \
bool? pin_memory=None) -> Tensor
  dispatch:
    Tachyon: blank_tachyon
"""


@pytest.fixture
def project(tmp_path: Path, reference_inputs: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    """Inputs with kernels for an imaginary device, whose key has a row while the test runs."""
    monkeypatch.setitem(dispatch_key.KEYS, "Tachyon", TACHYON)
    project = Project(tmp_path, reference_inputs)
    project.shim_tables.write_text('inductor_fallback_ops = {"aten.abs.default": {}}\naten_shimified_ops = {}\n')
    project.yaml.write_text(ENTRIES)
    return project


def generated(project: Project, *flags: str) -> dict[str, str]:
    """The files of a run in this process, by path."""
    assert main([*project.words("--jobs", "1"), *flags]) == 0
    return {path: text.decode() for path, text in files_of(project.out).items()}


def of_tachyon(files: dict[str, str]) -> list[str]:
    """The paths of the files that are for the device alone, without the shards of its registrations."""
    return sorted(Path(path).name for path in files if "tachyon" in path.lower() and "RegisterTachyon_" not in path)


def test_a_device_has_its_files(project: Project) -> None:
    """A key has registrations, in as many shards as its row says, and the headers and the C shim that it asks for."""
    files = generated(project, "--tachyon")
    assert of_tachyon(files) == [
        "RegisterTachyonEverything.cpp",
        "TachyonFunctions.h",
        "TachyonFunctions_inl.h",
        "abs_tachyon_dispatch.h",
        "blank_tachyon_dispatch.h",
        "c_shim_tachyon.cpp",
    ]
    assert sum("RegisterTachyon_" in path for path in files) == 4


def test_a_flag_adds_the_device(project: Project) -> None:
    """Without its flag a run has no file of the device, and no declaration of its kernels."""
    files = generated(project)
    assert of_tachyon(files) == []
    assert not any("blank_tachyon" in text for text in files.values())


def test_registrations_have_headers_and_guards_of_the_row(project: Project) -> None:
    """Registrations include what the row names, allocate and hold guards as it says, and initialize the device."""
    text = next(text for path, text in generated(project, "--tachyon").items() if "RegisterTachyonEverything" in path)
    for piece in [
        "#include <c10/tachyon/TachyonGuard.h>",
        "#include <ATen/tachyon/EmptyTensor.h>",
        "#include <ATen/ops/abs_tachyon_dispatch.h>",
        "return at::detail::empty_strided_tachyon(sizes, strides, options);",
        "    c10::tachyon::OptionalTachyonGuard guard_;\n",
        "guard_.reset_device(options.device());",
        "struct structured_abs_out_functional final : public at::native::structured_abs_out {",
        "  globalContext().lazyInitDevice(c10::DeviceType::Tachyon);\n"
        "  const DeviceGuard device_guard(device_or_default(device));",
        "  return at::native::blank_tachyon(size, dtype, layout, device, pin_memory);",
        "TORCH_LIBRARY_IMPL(aten, Tachyon, m) {",
        "namespace tachyon {",
    ]:
        assert piece in text, piece


def test_shims_call_the_functions_of_the_device(project: Project) -> None:
    """The device's C shim includes the headers that its functions and guards need, and calls these functions."""
    text = next(text for path, text in generated(project, "--tachyon").items() if "c_shim_tachyon" in path)
    assert "#include <ATen/TachyonFunctions.h>" in text
    assert "#include <c10/tachyon/TachyonGuard.h>" in text
    assert "auto tmp_result = at::tachyon::abs(" in text


def test_static_calls_can_name_the_device(project: Project) -> None:
    """Static calls go to the device's functions; without its flag the diagnostic names the flag."""
    files = generated(project, "--tachyon", "--static-dispatch-backend", "Tachyon")
    assert any("return at::tachyon::abs(self);" in text for text in files.values())


def test_the_flag_is_offered(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    """A static backend that has no kernels because its flag is missing names the flag."""
    assert main([*project.words("--jobs", "1"), "--static-dispatch-backend", "Tachyon"]) == 1
    assert "add `--tachyon`" in capsys.readouterr().err


def test_misspelt_keys_suggest_the_device(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    """An unknown key is compared with the new one too."""
    project.edit("    Tachyon: blank", "    Tachion: blank")
    assert main(project.words("--jobs", "1", "--tachyon")) == 1
    assert "did you mean `Tachyon`?" in capsys.readouterr().err


def test_derivatives_can_be_given_for_the_device(project: Project) -> None:
    """Every device has a key of autograd, which derivatives may name."""
    assert "AutogradTachyon" in autograd_keys()


def test_the_device_exports_its_symbols() -> None:
    """Functions and classes carry the macro of the device's library in releases that tell libraries apart."""
    kernel = Kernel(TACHYON, "abs_out", "at::native", structured=True)
    old, new = Rules(Version(2, 14)), Rules(Version(2, 15))
    assert [key_macro(TACHYON, old), key_macro(TACHYON, new)] == ["TORCH_API", "TORCH_TACHYON_API"]
    assert [class_macro(kernel, old), class_macro(kernel, new)] == ["TORCH_API", "TORCH_TACHYON_API"]


def test_rows_name_behaviours_of_releases() -> None:
    """What a row says of releases is the name of a row in the table of behaviours."""
    names = {row.name for row in Rules.rows()}
    for key in dispatch_key.KEYS.values():
        rules = {key.rule, key.flag_rule, key.class_export_rule, key.shards_rule}
        assert rules - {""} <= names


#: The modules that name devices, with the names: loops of ufuncs have a form for the CPU and one for CUDA.
NAMING_DEVICES = {
    "opwright.dialects.native_functions.dispatch": {"CPU", "CUDA"},
    "opwright.emit.aten.ufunc": {"CPU", "CUDA"},
    # ROCm's headers are named after those for CUDA.
    "opwright.emit.aten.register.devices": {"CUDA"},
    # External backends inherit kernels of these devices, and fall back to those of the CPU.
    "opwright.backends.dialect.inherited": {"CPU", "CUDA"},
    "opwright.backends.dialect.head_checks": {"CPU"},
    "opwright.backends.dialect.loader": {"CPU"},
    "opwright.backends.emit.fallbacks": {"CPU"},
    # Python kernels that serve every device are called under this key.
    "opwright.libraries.emit.implementations": {"CPU"},
    "opwright.backends.dispatch.device_kernels": {"CPU"},
    "opwright.backends.dispatch.traps": {"CPU"},
    # CUDA's runtime keeps errors of launches until somebody asks.
    "opwright.libraries.emit.kernels": {"CUDA"},
    # Static runtime runs on the CPU only.
    "opwright.mobile.static_runtime.support": {"CPU"},
    # ExecuTorch runs on the CPU, and PyTorch calls the kernels of its custom operators there.
    "opwright.mobile.executorch_dialect.kernel_fields": {"CPU"},
    "opwright.mobile.executorch.units": {"CPU"},
    "opwright.torchgen.executorch.model": {"CPU"},
    # The enumeration of `torchgen.model` has the devices of PyTorch's `BackendComponent`, in its order.
    "opwright.torchgen.interface.keys": {"CUDA", "MTIA", "Meta", "MkldnnCPU", "XPU"},
    # An older name of its key for autocast, and functions of PyTorch that name no device, stand for this one.
    "opwright.migrate.importing.autocast_kernels": {"CUDA"},
    # Functions of Python modules have kernels for these.
    "opwright.migrate.importing.module_reader": {"CPU", "CUDA"},
    # A build without CUDA has no files for it.
    "opwright.migrate.importing.cpp_reader": {"CUDA"},
    # Kernels over borrowed tensors are for these.
    "opwright.libraries.frameworks.view_convention": {"CPU", "CUDA"},
    # The name of its file says for which of these a source has a kernel.
    "opwright.libraries.judge.candidates": {"CPU", "CUDA"},
    # Variables of the environment that begin so are CUDA's.
    "opwright.libraries.judge.worker.loading": {"CUDA"},
    # This key tells two releases apart.
    "opwright.release.version": {"NestedTensorXPU"},
}


@pytest.mark.thorough
@pytest.mark.xdist_group("tests")  # with others that read the syntax trees of all modules
def test_no_other_module_names_a_device() -> None:
    """Modules outside the table ask a key for its facts, and neither import nor spell keys of devices."""
    spelled = {key.name for key in dispatch_key.dispatch_keys() if key.device is not None}
    constants = {"CPU", "CUDA"}
    assert constants <= vars(dispatch_key).keys()
    naming: dict[str, set[str]] = {}
    for module, tree in modules().items():
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and node.value in spelled:
                naming.setdefault(module, set()).add(str(node.value))
            elif isinstance(node, ast.ImportFrom) and node.module == dispatch_key.__name__:
                names = constants.intersection(alias.name for alias in node.names)
                if names:
                    naming.setdefault(module, set()).update(names)
    # The second table has the keys of PyTorch's dispatcher, of which some have no row in the first.
    for table in (dispatch_key.__name__, "opwright.backends.dispatch.runtime_keys"):
        naming.pop(table)
    assert naming == NAMING_DEVICES
