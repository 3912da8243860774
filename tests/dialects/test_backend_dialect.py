"""Backend files: every mistake in what Opwright adds has a case, and what the fields say is in the model."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

from opwright.backends.dialect.loader import load
from opwright.backends.external_backend import BackendEntry, ExternalBackend
from opwright.backends.hooks import Hook, HookPosition, Implementation
from opwright.backends.wrapper_options import EntryOptions, Fallback, Guard
from opwright.dialects.dialect import LoadContext
from opwright.model.catalog import Catalog
from opwright.model.dispatch_key import key_named
from opwright.plugins.code_pages import code_names
from opwright.release.inputs import Inputs, open_inputs
from opwright.release.rules import Rules
from opwright.release.version import parse_version
from opwright.run.loading import load as load_pytorch
from opwright.source.diagnostic import Diagnostics
from opwright.source.text import SourceFile
from tests.backend.stub_cases import load_cases as load_stub_cases
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


def loaded(text: str, *, release: str = "2.13.0", tolerant: bool = False) -> tuple[ExternalBackend | None, Diagnostics]:
    """The backend of a text, None if it has none, and the faults."""
    sink = Diagnostics()
    rules = Rules(parse_version(release))
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


def test_every_code_has_a_case() -> None:
    """Each code of backend files is marked in a case here, or in one of the program for PyTorch's dialect."""
    registered = {code for code in code_names() if code[1:3] == "13" and code[1:] < "1370"}
    marked = {code for cases in CASES.values() for case in cases for *_, code in case.faults}
    marked |= {code for case in load_stub_cases(("",)) for *_, code in case.faults}
    assert registered - marked == set()


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
        ("hardtanh.out", Implementation.kernel, "acme::fast::hardtanh_out", "acme::fast::hardtanh_out"),
        ("unfold", Implementation.inherited, "at::native::unfold", "at::native::unfold"),
        (
            "_local_scalar_dense",
            Implementation.inherited,
            "at::native::_local_scalar_dense_cpu",
            "at::native::_local_scalar_dense_cpu",
        ),
        ("sort.stable", Implementation.fallback, "acme::native::sort", ""),
        ("bmm.out", Implementation.kernel, "acme::native::bmm_out", ""),
        ("addmm.out", Implementation.kernel, "acme::native::addmm_out", ""),
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


def case_of(title: str) -> ExternalBackend:
    """The backend of the case with a title, which has no fault."""
    cases = [case for cases in CASES.values() for case in cases if case.title == title]
    return backend_of(cases[0].text)


def test_patterns_and_families_name_kernels() -> None:
    """A kernel has the name of its entry, or of the pattern of its family or of the file, and is in its family."""
    backend = case_of("Kernels with other names, and in other places.")
    kernels = {
        (section.name, entry.function.name.text): (
            entry.kernel.namespace,
            entry.options.class_name,
            entry.kernel.name,
            bool(entry.options.callee),
        )
        for section in backend.sections
        for entry in section.entries
    }
    assert kernels == {
        ("supported", "add.Tensor"): ("acme", "", "my_add", False),
        ("supported", "add.out"): ("acme::bang", "", "bang_add_out_supported", True),
        ("supported", "add_.Tensor"): ("acme::fast", "AcmeFast", "my_add_", False),
        ("supported", "mul.Tensor"): ("acme", "AcmeOwn", "mul_PrivateUse1", False),
        ("supported", "view"): ("acme", "", "my_view_symint", False),
        ("supported", "sub.Tensor"): ("acme", "", "minus", False),
        ("supported", "div.Tensor"): ("acme::fast", "AcmeFast", "fast_div", False),
        ("sparse", "add.Tensor"): ("acme", "", "my_add_sparse", False),
        ("sparse", "mul.Tensor"): ("acme", "AcmeOwn", "mul_SparsePrivateUse1", False),
        ("sparse", "sub.Tensor"): ("acme::bang", "", "bang_sub_Tensor_sparse", True),
    }
    assert entry_of(backend, "supported", "add.out").options.callee == "acme::bang::bang_add_out_supported"


def test_kernels_in_several_families() -> None:
    """An entry has the kernel of each family, with its place and its convention; the first one is that of the entry."""
    backend = case_of("Kernels in several families, and calling conventions.")
    entries = {entry.function.name.text: entry for entry in backend.sections[0].entries}

    def kernels(name: str) -> list[tuple[str, str, str, str]]:
        return [
            (variant.kernel.name, variant.options.callee, variant.options.class_name, variant.options.convention)
            for variant in entries[name].variants
        ]

    in_bang = ("add", "acme::bang::add", "", "bang_tensors")
    assert kernels("add.Tensor") == [in_bang, ("fast_add", "", "AcmeFast", "acme_tensors")]
    assert [candidate.family for candidate in entries["add.Tensor"].options.candidates] == ["bang", "fast"]
    assert (entries["add.Tensor"].kernel.name, entries["add.Tensor"].options.callee) == in_bang[:2]
    assert kernels("view") == [("fast_view_symint", "", "AcmeFast", "acme_tensors")]
    assert len(entries["view"].options.candidates) == 1
    assert entries["sub.Tensor"].options.candidates == ()
    assert kernels("sub.Tensor") == [("sub", "acme::bang::sub", "", "bang_tensors")]
    assert kernels("mul.Tensor") == [("mul", "", "", "acme_tensors")]
    assert [candidate.family for candidate in entries["div.Tensor"].options.candidates] == ["fast", "bang"]
    assert entries["relu"].options.convention == ""
    assert {name: span.text for name, span in backend.conventions} == {
        "acme_tensors": "acme_tensors",
        "bang_tensors": "bang_tensors",
    }


def test_hooks_are_in_the_model() -> None:
    """A hook has its code, what it passes, and the wrappers that it is for."""
    assert case_of("Hooks.").options.hooks == (
        Hook(
            HookPosition.before,
            call="acme::profile",
            passes=("name", "tensors"),
            kinds=(Implementation.kernel, Implementation.structured),
            keys=("PrivateUse1",),
        ),
        Hook(HookPosition.after, "acme::done({name}, {result});", keys=("Acme", "SparseAcme"), names=("add*",)),
        Hook(HookPosition.around, "if (acme::skips()) { Range range{begin}; return {call}; } return {call};"),
        Hook(HookPosition.around, call="acme::around"),
    )


def test_entries_and_options_are_those_of_the_release() -> None:
    """An operator has the entry for the release of the run, and each option its value for that release."""
    backend = case_of("Entries and options for some releases.")
    entries = {entry.function.name.text: entry for entry in backend.sections[0].entries}
    assert sorted(entries) == ["bmm.out", "mm.out", "sum.IntList_out"]
    assert entries["sum.IntList_out"].options.implementation is Implementation.structured
    assert (entries["mm.out"].kernel.name, entries["bmm.out"].kernel.name) == ("new_mm", "bmm_out")


def test_rules_add_the_kernels_of_pytorch() -> None:
    """Operators without an entry inherit a kernel by the first rule that has one; entries and `manual` win."""
    backend = case_of("Kernels of PyTorch by rules.")
    dense = {entry.function.name.text: entry for entry in backend.sections[0].entries}
    assert dense["_fft_c2r"].options == EntryOptions(Implementation.inherited, "at::native::_fft_c2r_mkl")
    assert dense["sqrt.out"].options == EntryOptions(Implementation.stub, "at::native::structured_sqrt_out")
    assert dense["_fft_c2c"].options.implementation is Implementation.kernel
    assert dense["sin.out"].options.implementation is Implementation.kernel
    assert not {"set_.source_Tensor", "sub.Tensor", "sqrt", "sum", "sort"} & dense.keys()
    sparse = {entry.function.name.text: entry.options.callee for entry in backend.sections[1].entries}
    assert sparse["_coalesced_"] == "at::native::_coalesced_sparse_"


def test_synthesized_overloads_have_entries() -> None:
    """An entry may name an overload that PyTorch's file names in `autogen` alone."""
    backend = backend_of("backend: PrivateUse1\ncpp_namespace: acme\nsupported: [clone.out]\n")
    assert entry_of(backend, "supported", "clone.out").function.is_synthesized


def test_own_operators_are_libraries_of_the_backend() -> None:
    """The operators that a file defines are in its libraries, with a kernel for the backend unless they say more."""
    acme, other = case_of("Own operators.").libraries
    assert (acme.library.namespace, acme.python_package, acme.doc) == ("acme", "acme_ops", "Operators of Acme.")
    assert not acme.includes, "the header declares the kernels"
    assert [str(function.name) for function in other.catalog.functions] == ["scale"]
    kernels = {
        function.name.text: {key.name: f"{kernel.namespace}::{kernel.name}" for key, kernel in function.kernels.items()}
        for function in acme.catalog.functions
    }
    assert kernels == {
        "scale": {"PrivateUse1": "acme::native::scale"},
        "scale.out": {"PrivateUse1": "acme::native::scale_out"},
        "twice": {"CompositeImplicitAutograd": "acme::native::twice"},
        "thrice": {"PrivateUse1": "fast::thrice", "AutogradPrivateUse1": "acme::native::thrice_autograd"},
        "clip": {},
        "clip.out": {"PrivateUse1": "acme::native::clip_out"},
    }
    assert acme.catalog["clip.out"].kernels[key_named("PrivateUse1")].structured


def test_entries_name_operators_of_other_libraries() -> None:
    """An operator of another library has the schema in its entry, the same in all sections, and its group."""
    backend = case_of("Operators of other libraries.")
    nms = entry_of(backend, "supported", "nms").function
    assert str(nms) == "torchvision::nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor"
    assert entry_of(backend, "autograd", "nms").function is nms
    scale, out = (entry_of(backend, "supported", name).function for name in ("scale", "scale.out"))
    assert scale.group is not None
    assert scale.group.out is out


def test_names_of_dimensions_are_a_type_of_older_releases() -> None:
    """A schema of another library may have `Dimname` where the release has named tensors, as torch_npu's have."""
    text = """\
backend: PrivateUse1
cpp_namespace: acme
supported:
- npu::fill: {func: "fill(Tensor self, Dimname[]? names, Dimname dim) -> Tensor"}
"""
    backend, sink = loaded(text, release="2.12.0")
    assert backend is not None
    assert [*sink] == []
    assert entry_of(backend, "supported", "fill").function.schema.arguments.all[2].type.text == "Dimname"
    _, sink = loaded(text, release="2.13.0")
    assert [diagnostic.code for diagnostic in sink] == ["E0202"]


@pytest.mark.parametrize(
    ("section", "key"), [("quantized", "Quantized"), ("sparse", "Sparse"), ("nested_tensor", "NestedTensor")]
)
def test_kernels_for_other_layouts_fall_back(section: str, key: str) -> None:
    """What PyTorch registers for such tensors of the CPU falls back, but for views and what has a kernel."""
    dispatcher = pytest.importorskip("torch")._C
    backend = backend_of(
        "backend: PrivateUse1\ncpp_namespace: acme\nsupported: [abs]\n"
        f"fallback: {{to: cpu, sections: [{section}]}}\n{section}:\n- clone: {{inherit: shared}}\n"
    )
    (entries,) = [part.entries for part in backend.sections if part.name == section]
    fallen = {
        f"aten::{entry.function.name}" for entry in entries if entry.options.implementation is Implementation.fallback
    }
    registered = {
        name
        for name in dispatcher._dispatch_get_all_op_names()
        if name.startswith("aten::") and dispatcher._dispatch_has_kernel_for_dispatch_key(name, f"{key}CPU")
    }
    views = {f"aten::{function.name}" for function in operators().functions if function.is_view}
    assert len(fallen) > 50
    assert fallen == registered - views - {"aten::clone"}


def test_composite_operators_inherit_kernels_for_other_layouts() -> None:
    """A rule gives a composite operator the kernel that PyTorch has beside it for nested tensors."""
    assert pytest.importorskip("torch")._C._dispatch_has_kernel_for_dispatch_key("aten::linear", "NestedTensorCPU")
    backend = backend_of(
        "backend: PrivateUse1\ncpp_namespace: acme\nsupported: [abs]\n"
        "inherit_kernels:\n- {match: linear, from: shared, section: nested_tensor}\n"
    )
    assert entry_of(backend, "nested_tensor", "linear").options.callee == "at::native::nested_linear"


PAGE = (Path(__file__).parents[2] / "docs" / "backend-files.md").read_text(encoding="utf-8")
PAGE_HEAD = "backend: PrivateUse1\ncpp_namespace: acme\nuse_out_as_primary: true\n"
PAGE_ENTRIES = "supported: [_foreach_abs]\n"


@pytest.mark.parametrize("block", re.findall(r"(?s)```yaml\n(.*?)```", PAGE), ids=lambda block: block.splitlines()[0])
def test_examples_of_the_page_have_no_faults(block: str) -> None:
    """The YAML in the documentation loads without a diagnostic, after a head and with entries where it has none."""
    text = block if block.startswith("backend:") else PAGE_HEAD + block
    text += "" if "supported:" in text else PAGE_ENTRIES
    _, sink = loaded(text)
    assert not len(sink), [str(diagnostic) for diagnostic in sink]


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


def test_structured_kernels_of_families_in_namespaces() -> None:
    """The wrapper of a structured kernel in a namespace derives from a class, whose name begins as all such names."""
    backend = backend_of(
        """
backend: PrivateUse1
cpp_namespace: acme
use_out_as_primary: true
families: {bang: {namespace: acme::bang, kernel_name: "bang_{name}"}}
manual: [empty.memory_format, empty_strided, _copy_from, _copy_from_and_resize, resize_, as_strided, view]
fallback: cpu
supported:
- mul.out: {structured: true, family: bang}
"""
    )
    entry = entry_of(backend, "supported", "mul.out")
    assert (entry.kernel.name, entry.options.callee) == ("bang_mul_out", "acme::bang::structured_bang_mul_out")
