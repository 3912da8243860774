"""What differs in files of PyTorch's build before 2.9, and in older releases still."""

from __future__ import annotations

import pytest

from opwright.convention.c_shim import passed_arguments
from opwright.dialects.native_functions.loader import load_catalog
from opwright.emit.aten import functionalization, functions, operators
from opwright.emit.aten.c_shim import laid_out_definition, release_target, shim_unit
from opwright.emit.aten.register import registration
from opwright.emit.emitter import EmitterSource
from opwright.emit.python.files import emitters as python_emitters
from opwright.emit.registry import emitters
from opwright.emit.release_spelling import OPTIONALS, spelled
from opwright.model.dispatch_key import CPU, dispatch_keys
from opwright.release.rules import Rules
from opwright.release.tables import ShimOperator
from opwright.release.version import Version
from opwright.run.loading import ignored_keys
from opwright.schema import parse_schema
from opwright.source.diagnostic import Diagnostics
from opwright.source.text import SourceFile
from tests.dialects.loading import TAGS
from tests.emit.emitting import job_of, paths_of, slots_of

FIRST, OLDEST, OLD, NEW = (Rules(Version(2, minor)) for minor in (4, 5, 6, 7))

KERNELS = """
- func: turn(Tensor self) -> Tensor
  dispatch:
    CPU: turn_cpu
- func: crate::pull(Tensor self) -> Tensor
  dispatch:
    CPU: pull_cpu
- func: push(Tensor self) -> Tensor
  dispatch:
    CPU: vendor::native::push_cpu
"""


def test_registrations_are_in_shards_since_2_7() -> None:
    """Before, the file of a key has a text for the kernels of each namespace."""
    old, new = (job_of(KERNELS, rules=rules) for rules in (OLD, NEW))
    cpu = [path for path in paths_of(registration.emitters(old), old) if "RegisterCPU" in path]
    assert cpu == ["aten/RegisterCPU.cpp"]
    assert "aten/RegisterCPU_0.cpp" in paths_of(registration.emitters(new), new)
    shared, own = list(slots_of(registration.emitters, "RegisterCPU.cpp", old)["dispatch_definitions"])
    assert shared.index("turn_cpu") < shared.index("pull_cpu") < shared.index("TORCH_LIBRARY_IMPL(aten, CPU, m) {")
    assert "TORCH_LIBRARY_IMPL(crate, CPU, m) {" in shared
    assert (shared[:14], own[:18]) == ("namespace at {", "namespace vendor {")


def test_views_ask_for_meta_references_since_2_7() -> None:
    """Before, kernels always run shape functions on meta tensors where they may."""
    entries = "- func: turn_(Tensor(a!) self) -> Tensor(a!)\n  dispatch:\n    CPU: turn_\n  autogen: turn, turn.out\n"
    for rules, condition in ((OLD, "if (true) {"), (NEW, "if (true && !disable_meta_reference()) {")):
        job = job_of(entries, rules=rules)
        slots = slots_of(functionalization.emitters, "RegisterFunctionalization_0.cpp", job)
        assert condition in "".join(slots["func_definitions"])


PLUS = """
- func: plus(Tensor self, SymInt n) -> Tensor
  dispatch:
    CPU: plus
- func: made(int[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) \
-> Tensor
  dispatch:
    CUDA: made_cuda
"""


@pytest.mark.parametrize(
    ("source", "path", "older", "newer"),
    [
        (functions.emitters, "plus.h", "std::is_same<T, int64_t>::value", "std::is_same_v<T, int64_t>"),
        (
            operators.emitters,
            "plus_ops.h",
            'STATIC_CONSTEXPR_STR_INL_EXCEPT_WIN_CUDA(name, "aten::plus")\n',
            'static constexpr const char* name = "aten::plus";\n',
        ),
        (
            operators.emitters,
            "OperatorsEverything.cpp",
            'STATIC_CONST_STR_OUT_OF_LINE_FOR_WIN_CUDA(plus, overload_name, "")\n',
            "\n// aten::plus(Tensor self, SymInt n) -> Tensor\n",
        ),
        (
            registration.emitters,
            "RegisterCUDA.cpp",
            "globalContext().lazyInitCUDA();",
            "globalContext().lazyInitDevice(c10::DeviceType::CUDA);",
        ),
        (python_emitters, "python_torch_functionsEverything.cpp", "METH_STATIC, NULL},", "METH_STATIC, nullptr},"),
    ],
)
def test_spellings_changed_in_2_6(source: EmitterSource, path: str, older: str, newer: str) -> None:
    """Each release has its own spelling."""
    for rules, spelling, other in ((OLDEST, older, newer), (OLD, newer, older)):
        slots = slots_of(source, path, job_of(PLUS, rules=rules))
        text = "\n".join("\n".join([value] if isinstance(value, str) else value) for value in slots.values())
        assert spelling in text
        assert other not in text or "STATIC_CONST_STR" in older


OPTIONAL = """
- func: plus(Tensor self, Tensor? other, *, MemoryFormat? memory_format=contiguous_format) -> Tensor
  dispatch:
    CPU: plus
- func: _scaled_dot_product_flash_attention(Tensor query) -> (Tensor output, SymInt size)
  dispatch:
    CPU: attention
- func: grow_(Tensor(a!) self) -> Tensor(a!)
  dispatch:
    CPU: grow_
  autogen: grow, grow.out
"""


def file_text(path: str, rules: Rules) -> str:
    """The slots of one of PyTorch's files as one text."""
    job = job_of(OPTIONAL, rules=rules)
    slots = slots_of(lambda job: emitters(job, ["headers", "sources", "autograd"]), path, job)
    return "\n".join("\n".join([value] if isinstance(value, str) else value) for value in slots.values())


@pytest.mark.parametrize(
    ("path", "older", "newer"),
    [
        ("plus_native.h", "memory_format=MemoryFormat::Contiguous", "memory_format=c10::MemoryFormat::Contiguous"),
        ("VmapGeneratedPlumbing.h", "\n  optional<Tensor> other_value;\n", "\n  std::optional<Tensor> other_value;\n"),
        (
            "VmapGeneratedPlumbing.h",
            "  Tensor self_value;\n  optional<int64_t> self_bdim;\n  std::tie(self_value, self_bdim) = unwrap",
            "  auto [self_value, self_bdim] = unwrap",
        ),
        (
            "RegisterFunctionalizationEverything.cpp",
            "impl::propagate_xla_data(self, ",
            "impl::propagate_xla_data_direct(",
        ),
        ("CompositeViewCopyKernels.cpp", "#include <ATen/ops/grow_ops.h>", "#include <ATen/ops/grow_native.h>"),
    ],
)
def test_texts_changed_in_2_5(path: str, older: str, newer: str) -> None:
    """Each release has its own text."""
    before, after = file_text(path, FIRST), file_text(path, OLDEST)
    assert older in before
    assert newer in after
    assert newer not in before


def test_attention_got_plumbing_in_2_5() -> None:
    """Its other results are passed on unchanged since then; before, its plumbing is written by hand."""
    name = "_scaled_dot_product_flash_attention_generated_plumbing"
    assert name not in file_text("VmapGeneratedPlumbing.h", FIRST)
    assert name in file_text("VmapGeneratedPlumbing.h", OLDEST)


@pytest.mark.parametrize(
    ("newer", "older"),
    [
        ("  ::std::optional<at::Tensor> original_self;", "  c10::optional<at::Tensor> original_self;"),
        (
            "  auto self_storage_saved =\n    f() ? ::std::optional<Storage>(x) : ::std::nullopt;",
            "  c10::optional<Storage> self_storage_saved =\n    f() ? c10::optional<Storage>(x) : c10::nullopt;",
        ),
        ("const ::std::optional<at::Tensor> & weight", "const ::std::optional<at::Tensor> & weight"),
        ("  std::optional<std::string> mode;", "  c10::optional<std::string> mode;"),
    ],
)
def test_optional_values_of_autograd(newer: str, older: str) -> None:
    """Bodies name optional values of c10 before 2.5; parameters never do."""
    assert spelled(newer, FIRST.autograd_has_std_optional, *OPTIONALS) == older
    assert spelled(newer, OLDEST.autograd_has_std_optional, *OPTIONALS) == newer


def test_core_composites_have_out_forms_since_2_6() -> None:
    """Before, a composite has no out form, whatever its tags."""
    entries = "- func: pool(Tensor self) -> Tensor\n  tags: core\n  autogen: pool.out\n"
    assert [name in load_catalog_of(entries, rules) for rules, name in ((OLDEST, "pool.out"), (OLD, "pool.out"))] == [
        False,
        True,
    ]


def load_catalog_of(entries: str, rules: Rules) -> set[str]:
    """The names of the overloads that a release makes of entries."""
    sink = Diagnostics()
    catalog = load_catalog(SourceFile("native.yaml", entries), SourceFile("tags.yaml", TAGS), sink, rules)
    sink.raise_if_errors()
    return {function.name.text for function in catalog.functions}


@pytest.mark.parametrize(("release", "keys"), [((2, 4), 0), ((2, 5), 1), ((2, 6), 3), ((2, 7), 4)])
def test_xpu_got_its_keys_step_by_step(release: tuple[int, int], keys: int) -> None:
    """First XPU itself, whose files every build of 2.5 writes; then those of sparse and nested tensors."""
    rules = Rules(Version(*release))
    named = [key for key in dispatch_keys() if "XPU" in key.name and rules.has_key(key)]
    assert len(named) == keys
    xpu = next(key for key in dispatch_keys() if key.name == "XPU")
    assert (xpu in ignored_keys(rules)) is (release != (2, 5))
    assert rules.has_functions_header(xpu) is rules.has_c_shim(xpu) is (release >= (2, 6))


@pytest.mark.parametrize(
    ("type", "passed"),
    [
        ("Tensor", "*tensor_handle_to_tensor_pointer(x)"),
        ("Tensor?", "pointer_to_optional<at::Tensor>(x)"),
        ("Tensor[]", "pointer_to_list<at::Tensor>(x, x_len_)"),
        (
            "Tensor?[]",
            "c10::List<::std::optional<at::Tensor>>(c10::ArrayRef<::std::optional<at::Tensor>>"
            "(pointer_to_list<::std::optional<at::Tensor>>(x, x_len_)))",
        ),
        ("int[]", "pointer_to_list<int64_t>(x, x_len_)"),
    ],
)
def test_shims_pass_tensors_as_they_are(type: str, passed: str) -> None:
    """Without `resolves`, nothing is made of a tensor that is conjugated lazily."""
    schema = parse_schema(f"f({type} x) -> Tensor")
    assert passed_arguments(schema, resolves=False) == [passed]
    (resolved,) = passed_arguments(schema)
    assert ("resolve_tensor" in resolved) is ("Tensor" in type)


VIEWS = """
- func: shard(Tensor(a) self, int n) -> Tensor(a)
  dispatch:
    CPU: shard
- func: shard_copy(Tensor self, int n) -> Tensor
  dispatch:
    CompositeExplicitAutogradNonFunctional: shard_copy
  tags: view_copy
- func: parts(Tensor(a) self, SymInt n) -> Tensor(a)[]
  dispatch:
    CPU: parts_symint
- func: parts_copy(Tensor self, SymInt n) -> Tensor[]
  dispatch:
    CompositeExplicitAutogradNonFunctional: parts_copy
  tags: view_copy
- func: shard_(Tensor(a!) self, int n) -> Tensor(a!)
  dispatch:
    CPU: shard_
  tags: inplace_view
"""


def test_views_are_recorded_by_lambdas_before_2_9() -> None:
    """One lambda replays the view, the other puts a changed view back; both hold the arguments by value."""
    job = job_of(VIEWS, rules=Rules(Version(2, 8)))
    slots = slots_of(functionalization.emitters, "RegisterFunctionalizationEverything.cpp", job)
    text = "".join(slots["func_definitions"])
    record = """at::functionalization::ViewMeta(
        [reapply_views = reapply_views, n = n](const at::Tensor & base, int64_t mutated_view_idx) -> at::Tensor {
          if (reapply_views) {
            return at::_ops::shard::call(base, n);
          } else {
            return at::_ops::shard_copy::call(base, n);
          }
        },
        [inverse_return_mode = inverse_return_mode, n = n](const at::Tensor & base, const at::Tensor & mutated_view, \
int64_t mutated_view_idx) -> at::Tensor {
          return at::functionalization::FunctionalInverses::shard_inverse(base, mutated_view, inverse_return_mode, n);
        },
        /*has_symbolic_inputs=*/has_symbolic_inputs"""
    inplace = record + "\n      )"
    assert record + ",\n        /*is_multi_output=*/false,\n        /*is_as_strided=*/false\n      )" in text
    assert inplace in text
    assert "    return at::_ops::parts::call(base, n)[mutated_view_idx];\n" in text
    assert "/*is_multi_output=*/true" in text


def test_shims_before_2_7() -> None:
    """They read tensors as they are, and results stand after blanks and two semicolons."""
    for rules, passed, written in (
        (OLD, "*tensor_handle_to_tensor_pointer(self)", "        *ret0 = new_tensor_handle(std::move(tmp_result));;"),
        (
            Rules(Version(2, 8)),
            "resolve_tensor_dispatch_flags(self)",
            "\t\t*ret0 = new_tensor_handle(std::move(tmp_result));",
        ),
    ):
        job = job_of("- func: twice(Tensor self) -> Tensor\n  dispatch:\n    CPU: twice\n", rules=rules)
        target = release_target("cpu", CPU, rules)
        unit = shim_unit(job.catalog["twice"], ShimOperator(None, ()), target, own_only=True)
        assert unit is not None
        lines = laid_out_definition(unit.shim.functions[0], rules).splitlines()
        assert f"            {passed}" in lines
        assert written in lines


def test_compilers_may_warn_of_helpers_before_2_5() -> None:
    """Since then, the helpers of a file stand between macros that turn the warning off."""
    entries = "- func: turn(Tensor self) -> Tensor\n  dispatch:\n    CPU: turn\n"
    for rules, is_ignored in ((FIRST, False), (OLDEST, True)):
        slots = slots_of(registration.emitters, "RegisterCPU.cpp", job_of(entries, rules=rules))
        text = "\n".join("\n".join([value] if isinstance(value, str) else value) for value in slots.values())
        assert ('C10_DIAGNOSTIC_PUSH_AND_IGNORED_IF_DEFINED("-Wunused-function")' in text) is is_ignored
        assert ("#include <c10/macros/Macros.h>" in text) is is_ignored
        assert "void resize_out(" in text
