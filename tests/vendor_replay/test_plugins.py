"""The plug-ins for vendors' inputs, on a few lines in the dialect of each."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from opwright.backends.dialect.loader import load
from opwright.backends.external_backend import BackendEntry, ExternalBackend
from opwright.backends.hooks import Implementation
from opwright.dialects.dialect import LoadContext
from opwright.plugins.activation import use_plugins
from opwright.plugins.active import with_plugins
from opwright.plugins.use import ensure_active
from opwright.release.rules import Rules
from opwright.release.version import parse_version
from opwright.source.diagnostic import Diagnostics
from opwright.source.text import SourceFile
from opwright.source.yaml import load_yaml
from tests.dialects.test_backend_dialect import operators, pytorch
from tests.vendor_replay.replay import generate
from tests.vendor_replay.vendors import PLUGINS
from tests.vendor_replay.vendors import TORCH_NPU as VENDOR


@pytest.fixture(autouse=True)
def no_plugins() -> Iterator[None]:
    """No plug-in stays active after a test."""
    yield
    ensure_active(())


def read(plugin: str, text: str, **beside: str) -> tuple[ExternalBackend, Diagnostics]:
    """The backend that a plug-in reads from a text, and what it says; `beside` are files in the same folder."""
    use_plugins(str(PLUGINS / f"{plugin}.py"))
    sink = Diagnostics()

    def read_file(path: str) -> SourceFile:
        return SourceFile(path, beside[Path(path).stem])

    rules = Rules(parse_version("2.13.0"))
    context = LoadContext(sink, rules, pytorch(), operators(), operators().functions, read_file=read_file)
    backends = load([SourceFile("vendor.yaml", text)], with_plugins(context))
    assert backends, [str(diagnostic) for diagnostic in sink]
    return backends[0], sink


def entries(backend: ExternalBackend, section: str = "supported") -> dict[str, BackendEntry]:
    """The entries of a section, by name with the namespace of other libraries."""
    found = next(part.entries for part in backend.sections if part.name == section)
    names = [(entry.function.namespace.replace("aten", ""), entry.function.name.text) for entry in found]
    return {f"{space}::{name}" if space else name: entry for (space, name), entry in zip(names, found, strict=True)}


def said(sink: Diagnostics) -> list[tuple[str, str]]:
    """The codes of what was said, each with the text that it points to."""
    return [(diagnostic.code, diagnostic.labels[0].span.text) for diagnostic in sink.sorted()]


TORCH_NPU = """\
backend: NPU
cpp_namespace: at_npu::native
custom:
- func: npu_scale(Tensor self, SymInt by) -> Tensor
  impl_ns: op_api
- func: npu_make(int[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None,
    bool? pin_memory=None) -> Tensor
supported:
- abs
- npu_make
- func: clone
  op_api: True
- func: add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor
  impl_ns: acl_op, op_api
  device_check: NoCheck
- func: _coalesce(Tensor self) -> Tensor
  sparse: op_api
- func: _softmax_backward_data(Tensor grad_output, Tensor output, int dim, ScalarType input_dtype) -> Tensor
  impl_ns: op_api
  structured_delegate: _softmax_backward_data.out
- func: _softmax_backward_data.out(...) -> Tensor(a!)
  impl_ns: op_api
  structured: True
- func: cat(Tensor[] tensors, int dim=0) -> Tensor
  impl_ns: op_api
  structured_delegate: cat.out
- func: cat.out(Tensor[] tensors, int dim=0, *, Tensor(a!) out) -> Tensor(a!)
  impl_ns: op_api
  structured: True
symint:
- func: zeros(SymInt[] size) -> Tensor
  impl_ns: op_api
- func: npu_scale(Tensor self, SymInt by) -> Tensor
  impl_ns: op_api
quant:
- func: int_repr(Tensor self) -> Tensor
  impl_ns: acl_op
autograd:
- func: _thnn_fused_gru_cell(...) -> (Tensor, Tensor)
  impl_ns: op_api
"""


def test_torch_npu() -> None:
    """Entries of several forms become one list, own operators those of a namespace."""
    backend, sink = read("torch_npu", TORCH_NPU)
    assert said(sink) == [("W1374", "_coalesce")]
    dense = entries(backend)
    plain = ["abs", "clone", "add.Tensor", "cat", "cat.out", "zeros"]
    assert {*dense} == {*plain, "_softmax_backward_data.out", "npu::npu_scale", "npu::npu_make"}
    assert dense["add.Tensor"].options.device_check is False
    assert dense["clone"].options.values.flag("op_api")
    assert [name for name in dense if dense[name].kernel.structured] == ["_softmax_backward_data.out"]
    assert [name for name in dense if dense[name].kernel.symint] == ["zeros", "npu::npu_scale"]
    assert entries(backend, "quantized")["int_repr"].options.callee == "op_plugin::int_repr"
    assert entries(backend, "autograd")["_thnn_fused_gru_cell"].options.callee == "op_plugin::_thnn_fused_gru_cell"


SHIM_TABLES = """\
inductor_fallback_ops_npu: dict[str, dict[str, list[str]]] = {"aten.cat.default": {}, "aten.no_operator.default": {}}
inductor_fallback_ops_npu_not_support: dict[str, dict[str, list[str]]] = {"aten._trilinear.default": {}}
"""


def test_torch_npu_api() -> None:
    """The other headers have own operators by their C++ names, shims of operators that run, and both sorts of class."""
    texts = {VENDOR.backend: TORCH_NPU, "fallback_ops.py": SHIM_TABLES}
    files = {name: SourceFile(name, text) for name, text in texts.items()}
    made = generate(VENDOR, pytorch(), files, Diagnostics())
    assert "TORCH_NPU_API at::Tensor npu_scale(const at::Tensor & self, c10::SymInt by);" in made["CustomFunctions.h"]
    assert "npu_scale(c10::DispatchKeySet dispatchKeySet, const at::Tensor & self" in made["CustomRedispatch.h"]
    assert "torch_npu.npu_make = torch.ops.npu.npu_make\n" in made["custom_ops.py"]
    shims = re.findall(r"AOTI_TORCH_EXPORT AOTITorchError aoti_torch_npu_(\w+)\(", made["c_shim_npu.h"])
    # The backend has a kernel of `cat`, PyTorch one of the other for all devices, and of `bmm.out` none for this one.
    assert {"cat", "normal_functional"} < {*shims}
    assert not {"bmm_out", "no_operator", "_trilinear"} & {*shims}
    assert shims.index("cat") < shims.index("normal_functional")
    members = [line for line in made["NPUOpApiNativeFunctions.h"].splitlines() if line.startswith("static")]
    assert [re.split(r"[ (]", line)[2] for line in members] == ["clone"]
    structured = made["NPUStructuredNativeFunctions.h"]
    assert "#include <ATen/ops/_softmax_backward_data_meta.h>\n" in structured
    assert "struct structured__softmax_backward_data_out : public at::meta::structured__softmax_backward" in structured


def test_mistakes_stand_in_the_vendors_file() -> None:
    """A diagnostic points to the characters of the file that the plug-in reads."""
    entry = "- func: absx(Tensor self) -> Tensor\n  impl_ns: op_api\n"
    text = f"backend: NPU\ncpp_namespace: at_npu::native\nsupported:\n{entry}"
    _, sink = read("torch_npu", text)
    assert ("E1306", "absx") in said(sink)


TORCH_MLU = """\
aten:
- func: mul.out
  structured: True
- func: sort.values_stable
  structured: True
  override_meta: True
- func: sort.stable
  structured_delegate: sort.values_stable
- func: abs
  derived_type: bang
  custom_autograd: True
  dispatch: PrivateUse1, SparsePrivateUse1
- func: abs
- func: removed_operator
vision:
- func: nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor
custom:
- func: fused(Tensor self) -> Tensor
  derived_type: mluop
"""


def test_torch_mlu() -> None:
    """Each library of kernels is a family, and each library of operators a namespace."""
    backend, sink = read("torch_mlu", TORCH_MLU)
    assert said(sink) == [("W1374", "abs"), ("W1374", "removed_operator")]
    dense = entries(backend)
    assert {*dense} == {"mul.out", "sort.values_stable", "abs", "torchvision::nms", "torch_mlu::fused"}
    assert dense["mul.out"].options.implementation is Implementation.stub
    assert dense["sort.values_stable"].options.define_meta
    assert dense["abs"].options.callee == "torch_mlu::ops::bang_abs"
    assert dense["torch_mlu::fused"].options.callee == "torch_mlu::ops::mluop_fused"
    assert "abs" in entries(backend, "sparse")
    assert entries(backend, "autograd")["abs"].options.callee == "torch_mlu::ops::cnnl_abs_autograd"


TORCH_MUSA = """\
- func: amax
- func: amax.out
  dispatch:
    PrivateUse1: AMaxOut
- func: mul.out
- func: erf.out
  structured: False
  dispatch:
    PrivateUse1: ErfOut
- func: abs
  device_guard: True
  dispatch:
    PrivateUse1: abs
    SparsePrivateUse1: AbsSparse
- func: linear
- func: removed_operator
  dispatch:
    PrivateUse1: Removed
"""


def test_torch_musa() -> None:
    """What an entry does not say comes from PyTorch's own: which operators are structured, and whose kernel it is."""
    backend, sink = read("torch_musa", TORCH_MUSA)
    assert said(sink) == [("W1374", "linear"), ("W1374", "removed_operator")]
    dense = entries(backend)
    assert {*dense} == {"amax.out", "mul.out", "erf.out", "abs"}
    assert dense["amax.out"].options.callee == "at::musa::structured_AMaxOut"
    assert dense["mul.out"].options.implementation is Implementation.stub
    assert dense["erf.out"].options.callee == "at::musa::ErfOut"
    assert dense["abs"].options.callee == "at::native::abs"
    assert entries(backend, "sparse")["abs"].options.callee == "at::musa::AbsSparse"


def test_torch_xla() -> None:
    """Operators that the release does not have are left out, in all sections; the file stays PyTorch's own."""
    text = "backend: XLA\ncpp_namespace: torch_xla\nsupported:\n- abs\n- std\n- gone\nsymint:\n- abs\n- gone\n"
    backend, sink = read("torch_xla", text)
    assert said(sink) == [("W1341", "std"), ("W1374", "gone")]
    assert [*entries(backend)] == ["abs", "std"]
    assert entries(backend)["abs"].kernel.symint
    assert not backend.options.derives_from_out


IPEX = """\
backend: XPU
cpp_namespace: at
class_name: DenseKernels
use_out_as_primary: true
supported:
- abs
- abs
- removed_operator
autograd:
- cdist
"""


def test_ipex() -> None:
    """The files for other dispatch keys stand beside the one for dense tensors, each with its class."""
    names = ("sparse", "quantized", "nestedtensor")
    beside = {f"{name}xpu_functions": f"class_name: {name}Kernels\nsupported:\n- abs\n" for name in names}
    backend, sink = read("ipex", IPEX, **beside)
    assert said(sink) == [("W1374", "abs"), ("W1374", "removed_operator")]
    assert [*entries(backend)] == ["abs"]
    assert entries(backend, "sparse")["abs"].options.class_name == "sparseKernels"
    assert entries(backend, "nested_tensor")["abs"].options.class_name == "nestedtensorKernels"
    assert entries(backend, "autograd")["cdist"].kernel.name == "cdist_autograd"


XPU_OPS = """\
- func: mul.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)
  structured: True
  dispatch:
    XPU: mul_out
- func: amax.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
  structured: True
  dispatch:
    XPU: amax_xpu
- func: abs(Tensor self) -> Tensor
  dispatch:
    SparseXPU, SparseCsrXPU: abs_sparse
    CompositeExplicitAutograd: abs
- func: relu(Tensor self) -> Tensor
  dispatch:
    CPU: relu
- func: removed_operator(Tensor self) -> Tensor
  dispatch:
    XPU: removed
"""


def test_xpu_functions_of_two_vendors() -> None:
    """The early file of torch-xpu-ops has the key and the name of one of Intel's extension, and no class."""
    text = "backend: XPU\ncpp_namespace: at\nuse_out_as_primary: true\nsupported:\n- abs\n- abs\n- std\n- gone\n"
    backend, sink = read("torch_xpu_ops", text)
    assert [row for row in said(sink) if row[0] != "W1366"] == [("W1374", "abs"), ("W1374", "gone")]
    assert [*entries(backend)] == ["abs", "std"]
    assert (backend.key.name, backend.display_name) == ("PrivateUse1", "XPU")
    assert not recognized_by("ipex", text)


def recognized_by(plugin: str, text: str) -> bool:
    """Whether a reader of a plug-in recognises a file."""
    root = load_yaml(SourceFile("xpu_functions.yaml", text))
    [module] = use_plugins(str(PLUGINS / f"{plugin}.py"))
    return any(reader.recognizes(root) for reader in module.backend_readers)


def test_torch_xpu_ops() -> None:
    """Kernels for the keys of the backend become entries; other entries are PyTorch's."""
    backend, sink = read("torch_xpu_ops", XPU_OPS)
    assert said(sink) == [("W1374", "removed_operator")]
    dense = entries(backend)
    assert [*dense] == ["mul.out", "amax.out"]
    assert dense["mul.out"].options.implementation is Implementation.stub
    assert dense["amax.out"].options.callee == "at::native::structured_amax_xpu"
    assert entries(backend, "sparse_csr")["abs"].options.callee == "at::native::abs_sparse"


OP_PLUGIN = """\
all_version: [v2.1, v2.2, v2.12]
official:
- func: abs(Tensor self) -> Tensor
  acl_op: all_version
- func: relu(Tensor self) -> Tensor
  op_api: [v2.2, newest]
- func: add.Tensor(Tensor self, Tensor other) -> Tensor
  op_api: v2.1, v2.2
- func: mul.Tensor(Tensor self, Tensor other) -> Tensor
  op_api: [v2.1, v2.2]
- func: sub.Tensor(Tensor self, Tensor other) -> Tensor
  op_api: v2.2, v2.12
  device_check: NoCheck
- func: removed_operator(Tensor self) -> Tensor
  op_api: all_version
- func: all.dimname(Tensor self, Dimname dim) -> Tensor
  op_api: v2.1, v2.2
custom:
- func: npu_max.names_dim(Tensor self, Dimname dim) -> Tensor
  op_api: all_version
- func: npu_scale(Tensor self, SymInt by) -> Tensor
  op_api: all_version
symint:
- func: npu_scale(Tensor self, SymInt by) -> Tensor
  op_api: all_version
quant:
- func: int_repr(Tensor self) -> Tensor
  acl_op: [v2.2, newest]
"""


def test_op_plugin() -> None:
    """An entry counts if a library has a kernel in the release of the run, even one newer than all that are known."""
    backend, sink = read("op_plugin", OP_PLUGIN)
    left_out = ["add.Tensor", "mul.Tensor", "removed_operator", "all.dimname", "npu_max.names_dim"]
    assert said(sink) == [("W1374", name) for name in left_out]
    # What the release lacks has this reason, whatever its kernels are for.
    messages = [note.message for note in sink.sorted()]
    assert messages[2:4] == [f"`{name}` is no operator of this release" for name in left_out[2:4]]
    dense = entries(backend)
    assert [*dense] == ["abs", "relu", "sub.Tensor", "npu::npu_scale"]
    assert dense["sub.Tensor"].options.device_check is False
    assert dense["npu::npu_scale"].kernel.symint
    assert dense["abs"].options.callee == "op_plugin::abs"
    assert "int_repr" in entries(backend, "quantized")


def test_habana() -> None:
    """The keys of the file are operators; those of other libraries have their schema in their entry."""
    schema = "hpu::sum_fp8(Tensor self) -> Tensor"
    text = f"abs:\n  guid: abs_fwd\ngone:\n  guid: gone_fwd\nsum_fp8:\n  custom_op_schema: '{schema}'\n"
    backend, sink = read("habana", text)
    assert [row for row in said(sink) if row[0] != "W1370"] == [("W1374", "gone")]
    assert {name: entry.options.callee for name, entry in entries(backend).items()} == {
        "abs": "habana::abs",
        "hpu::sum_fp8": "habana::sum_fp8",
    }


DIPU = """\
- schema: "aten::add.out(Tensor self, Tensor other, *, Scalar alpha=1, Tensor(a!) out) -> Tensor(a!)"
  interface: diopiAdd(ctx, out, self, other, alpha)
- schema: "abs_(Tensor(a!) self) -> Tensor(a!)"
  torch_ver: [all, "-20000"]
- schema: "abs(Tensor self) -> Tensor"
  torch_ver: ["20000"]
- schema: "relu(Tensor self) -> Tensor"
  register_operator: False
- schema: "abs_(Tensor(a!) self) -> Tensor(a!)"
  device: [camb]
"""


def test_dipu() -> None:
    """Entries for other releases and entries that are not registered are left out, and schemas may name `aten`."""
    backend, sink = read("dipu", DIPU)
    assert said(sink) == [("W1374", "abs"), ("W1374", "relu"), ("W1374", "abs_")]
    assert {name: entry.options.callee for name, entry in entries(backend).items()} == {
        "add.out": "dipu::native::dipu_add_out",
        "abs_": "dipu::native::dipu_abs_",
    }


def test_torch_spyre() -> None:
    """An entry stands for the overloads that devices implement, unless its kernels are written by hand."""
    text = "".join([f"- operator_name: {name}\n  template_name: base\n" for name in ("add", "linear", "Reshape")])
    backend, sink = read("torch_spyre", f"{text}- operator_name: mm\n  template_name: custom\n")
    assert said(sink) == [("W1374", "Reshape"), ("W1374", "mm")]
    assert {name: entry.options.callee for name, entry in entries(backend).items()} == {
        "add.Tensor": "spyre::spyre__add_Tensor",
        "add.out": "spyre::spyre__add_out",
    }


@pytest.mark.parametrize("path", sorted(PLUGINS.glob("*.py")), ids=lambda path: path.stem)
def test_plugins_are_of_another_file_each(path: Path) -> None:
    """No plug-in recognises the file of another vendor."""
    texts = {
        "torch_npu": TORCH_NPU,
        "torch_mlu": TORCH_MLU,
        "torch_musa": TORCH_MUSA,
        "ipex": IPEX,
        "torch_xpu_ops": XPU_OPS,
        "op_plugin": OP_PLUGIN,
        "habana": "abs:\n  guid: abs_fwd\n",
        "dipu": DIPU,
        "torch_spyre": "- operator_name: add\n  template_name: base\n",
        "torch_xla": "backend: XLA\n",
    }
    assert [vendor for vendor, text in texts.items() if recognized_by(path.stem, text)] == [path.stem][
        : path.stem in texts
    ]
