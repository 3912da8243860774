"""Backend files: every mistake in what Opwright adds has a case, and what the fields say is in the model."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from opwright.dialects.backend.loader import load
from opwright.dialects.dialect import LoadContext
from opwright.model.catalog import Catalog
from opwright.model.external_backend import BackendEntry, ExternalBackend, Fallback, Guard, Implementation
from opwright.release.inputs import Inputs, open_inputs
from opwright.release.rules import Rules
from opwright.release.version import parse_version
from opwright.run.loading import load as load_pytorch
from opwright.source.diagnostic import Diagnostics
from opwright.source.text import SourceFile
from tests.dialects.cases import Case, load_cases
from tests.dialects.loading import found_faults

FOLDER = Path(__file__).with_name("backend_cases")
CASES = {name: load_cases(f"{name}.yaml", FOLDER) for name in ("heads", "entries")}


@cache
def pytorch() -> Inputs:
    """The inputs of the installed PyTorch."""
    return open_inputs("auto")


@cache
def operators() -> Catalog:
    """The operators of the installed PyTorch."""
    return load_pytorch("auto")


def loaded(text: str, *, tolerant: bool = False) -> tuple[ExternalBackend | None, Diagnostics]:
    """The backend of a text, None if it has none, and the faults."""
    sink = Diagnostics()
    rules = Rules(parse_version("2.13.0"))
    context = LoadContext(sink, rules, pytorch(), operators(), operators().functions, tolerant=tolerant)
    backends = load([SourceFile("backend.yaml", text)], context)
    return (backends[0] if backends else None), sink


def backend_of(text: str) -> ExternalBackend:
    """The backend of a text without faults."""
    backend, sink = loaded(text)
    assert backend is not None
    assert not len(sink), [str(diagnostic) for diagnostic in sink]
    return backend


def entry_of(backend: ExternalBackend, section: str, name: str) -> BackendEntry:
    """The entry of an operator in a section."""
    entries = next(part.entries for part in backend.sections if part.name == section)
    return next(entry for entry in entries if entry.function.name.text == name)


@pytest.mark.parametrize("case", [case for cases in CASES.values() for case in cases], ids=lambda case: case.name)
def test_faults_stand_at_their_places(case: Case) -> None:
    """What is found in a document is what its comments mark, to the column."""
    _, sink = loaded(case.text)
    assert found_faults(sink) == case.faults, [str(diagnostic) for diagnostic in sink.sorted()]


def test_the_head_is_in_the_model() -> None:
    """The backend has the values of the fields of the head."""
    backend = backend_of(CASES["heads"][0].text)
    options = backend.options
    assert (backend.display_name, backend.class_name, backend.cpp_namespace) == (
        "Acme",
        "Kernels",
        "acme::native::deep",
    )
    assert options.includes == ("acme/runtime.h",)
    assert (options.export_macro, options.register_macro) == ("ACME_API", "ACME_REGISTER")
    assert options.guard == Guard("acme::OptionalGuard", "acme/guard.h")
    assert options.allocation is not None
    assert (options.allocation.function, options.allocation.strided) == ("acme::make", "acme::make_with_strides")
    assert options.allocation.header == "acme/empty.h"
    assert (options.lazy_init, options.fallback, options.fallback_copies_views) == (
        "acme::lazy_init();",
        Fallback.cpu,
        False,
    )
    assert (options.default_args, options.device_check) == (True, False)
    assert sorted(function.name.text for function in options.manual) == ["empty.memory_format", "empty_strided"]


def test_a_section_has_the_dispatch_key_of_its_name() -> None:
    """Each section has its dispatch key, and kernels with the name of the section outside of the usual two."""
    backend = backend_of(CASES["heads"][0].text)
    assert [(section.name, section.key.name) for section in backend.sections] == [
        ("supported", "PrivateUse1"),
        ("autograd", "AutogradPrivateUse1"),
        ("sparse", "SparsePrivateUse1"),
        ("sparse_csr", "SparseCsrPrivateUse1"),
        ("quantized", "QuantizedPrivateUse1"),
        ("nested_tensor", "NestedTensorPrivateUse1"),
        ("autocast", "AutocastPrivateUse1"),
    ]
    assert [section.entries[0].kernel.name for section in backend.sections] == [
        *("view_symint", "max_pool2d", "add_sparse", "add_sparse_csr", "q_scale_quantized", "add_nested_tensor"),
        "matmul_autocast",
    ]


@pytest.mark.parametrize(
    ("name", "implementation", "kernel", "callee"),
    [
        ("add.Tensor", Implementation.kernel, "acme::native::add", ""),
        ("sub.out", Implementation.structured, "acme::native::sub_out", ""),
        ("div.out", Implementation.stub, "at::native::div_out", "at::native::structured_div_out"),
        ("view", Implementation.inherited, "at::native::view", "at::native::view"),
        ("cos.out", Implementation.kernel, "acme::fast::cos_out", "acme::fast::cos_out"),
        ("unfold", Implementation.inherited, "at::native::unfold", "at::native::unfold"),
        (
            "_local_scalar_dense",
            Implementation.inherited,
            "at::native::_local_scalar_dense_cpu",
            "at::native::_local_scalar_dense_cpu",
        ),
        ("sort.stable", Implementation.fallback, "acme::native::sort", ""),
        ("bmm.out", Implementation.kernel, "acme::native::bmm_out", ""),
        ("linear", Implementation.kernel, "acme::native::linear", ""),
    ],
)
def test_an_entry_says_how_its_operator_is_implemented(
    name: str, implementation: Implementation, kernel: str, callee: str
) -> None:
    """An entry has the implementation, the kernel and the function to call that its options say."""
    entry = entry_of(backend_of(CASES["entries"][0].text), "supported", name)
    assert entry.options.implementation is implementation
    assert f"{entry.kernel.namespace}::{entry.kernel.name}" == kernel
    assert entry.options.callee == callee
    assert entry.kernel.structured is (implementation in (Implementation.structured, Implementation.stub))


def test_options_are_in_the_model() -> None:
    """An entry has the values of its options."""
    backend = backend_of(CASES["entries"][0].text)
    mm = entry_of(backend, "supported", "mm.out").options
    assert (mm.register_if, mm.device_check, mm.device_guard) == ("acme::has_mm()", False, False)
    mul = entry_of(backend, "supported", "mul.out").options
    assert (mul.define_meta, mul.register_meta, mul.device_guard) == (True, True, None)
    assert entry_of(backend, "supported", "bmm.out").options.cpu_on_error
    assert entry_of(backend, "sparse", "mm").kernel.name == "sparse_mm"
    assert entry_of(backend, "autocast", "matmul").options.policy == "lower_precision_fp"


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("display_name: Acme\nsupported: [abs]", "backend.yaml:3:1"),
        ("sparse: [add.Tensor]\nsupported: [abs]", "backend.yaml:3:1"),
        ("supported:\n- mul.out: {structured: true}", "backend.yaml:4:3"),
    ],
)
def test_the_program_reads_the_generator_s_dialect_alone(text: str, place: str) -> None:
    """Where PyTorch's program is stood in for, what Opwright adds is an error that names the other command."""
    _, sink = loaded(f"backend: PrivateUse1\ncpp_namespace: acme\n{text}\n", tolerant=True)
    assert [(diagnostic.code, str(diagnostic.span)) for diagnostic in sink] == [("E1333", place)]
    assert "opwright generate --backend" in str(next(iter(sink)).help)
