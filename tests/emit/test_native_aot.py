"""Kernels compiled ahead of time: their stubs, and where a structured wrapper tries one."""

from __future__ import annotations

import pytest

from opwright.dialects.native_aot import load_native_aot
from opwright.emit.aten import native_aot
from opwright.emit.aten.register import registration
from opwright.emit.emitter import Job, Options
from opwright.release.rules import Rules
from opwright.release.version import parse_version
from opwright.source.diagnostic import Diagnostics
from opwright.source.text import SourceFile
from tests.dialects.loading import load_text
from tests.emit.emitting import paths_of, slots_of

TOP = """
- func: top(Tensor self, int k) -> Tensor
  structured_delegate: top.out
- func: top.out(Tensor self, int k, *, Tensor(a!) out) -> Tensor(a!)
  structured: True
  dispatch:
    CPU: top_out_cpu
    CUDA: top_out_cuda
"""


def job(release: str = "2.15.0", *, declared: str = "", more: str = "") -> Job:
    """The job of a release with one structured operation, for which `declared` has a kernel."""
    catalog, sink = load_text(TOP)
    text = f'ATEN_OP = "{declared}"\nDISPATCH_KEY = "CUDA"\nKERNEL_MODULE = "k.py"\n{more}'
    kernels = load_native_aot([SourceFile("aot.py", text)] if declared else [], catalog, sink)
    sink.raise_if_errors()
    return Job(catalog, Rules(parse_version(release)), Options(), native_aot=kernels)


def registrations(key: str, made: Job) -> str:
    """All text of the registrations under a key."""
    return str(slots_of(registration.emitters, f"Register{key}_0.cpp", made))


def test_stubs_are_declared_and_defined() -> None:
    """A stub has the signature of the compute function, and says whether it did the work."""
    header = slots_of(native_aot.emitters, "NativeAotStubs.h", job(declared="top"))
    assert header["native_aot_stub_declarations"] == [
        "using top_aot_fn = bool (*)(const at::Tensor & self, int64_t k, const at::Tensor & out);\n"
        "DECLARE_DISPATCH(top_aot_fn, top_aot_stub)\n"
    ]
    source = slots_of(native_aot.emitters, "NativeAotStubs.cpp", job(declared="top"))
    assert source["native_aot_stub_definitions"] == [
        "DEFINE_DISPATCH(top_aot_stub);\nREGISTER_NO_CPU_DISPATCH(top_aot_stub)\n"
    ]


def test_files_come_with_the_release() -> None:
    """The files are there without any kernel, and older releases have none."""
    assert paths_of(native_aot.emitters(job()), job()) == ["aten/NativeAotStubs.h", "aten/NativeAotStubs.cpp"]
    assert slots_of(native_aot.emitters, "NativeAotStubs.h", job()) == {"native_aot_stub_declarations": []}
    assert native_aot.emitters(job("2.14.1")) == []


@pytest.mark.parametrize(
    ("more", "gate", "comment"),
    [
        ("", "at::globalContext().allowNativeAot()", "exactly those three cases"),
        ("UNCONDITIONAL = True", "!at::globalContext().maskUnconditionalNativeAot()", "are the implementation"),
    ],
)
def test_a_wrapper_tries_the_kernel_first(more: str, gate: str, comment: str) -> None:
    """Under its key alone; the ordinary kernel does what this one leaves."""
    made = job(declared="top", more=more)
    text = registrations("CUDA", made)
    assert "#include <ATen/NativeAotStubs.h>" in text
    assert (
        f"if (!({gate} && at::native::top_aot_stub.is_device_supported(c10::DeviceType::CUDA) && "
        "at::native::top_aot_stub(c10::DeviceType::CUDA, self, k, op.outputs_[0]))) "
        "{ op.impl(self, k, op.outputs_[0]); }"
    ) in text
    assert comment in text
    plain = registrations("CPU", made)
    assert "aot_stub" not in plain
    assert "NativeAotStubs.h" not in plain
    assert registrations("CUDA", job()) == registrations("CUDA", job("2.14.1"))


def test_sink_is_empty_without_declarations() -> None:
    """No declaration, no kernel, no complaint."""
    catalog, _ = load_text(TOP)
    sink = Diagnostics()
    assert load_native_aot([], catalog, sink) == ()
    assert not len(sink)
