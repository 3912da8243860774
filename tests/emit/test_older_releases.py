"""What differs in older releases: views before 2.9, and what backends and libraries see of those before 2.8."""

from __future__ import annotations

import pytest

from opwright.convention.c_shim import passed_arguments
from opwright.dialects.native_functions.loader import load_catalog
from opwright.emit.aten import functionalization
from opwright.emit.aten.backend import backends
from opwright.emit.aten.register.devices import laid_out_wrapper
from opwright.emit.aten.register.helpers import registration_headers, registration_helpers
from opwright.model.dispatch_key import CPU, dispatch_keys
from opwright.release.rules import Rules
from opwright.release.version import Version
from opwright.schema import parse_schema
from opwright.source.diagnostic import Diagnostics
from opwright.source.text import SourceFile
from tests.dialects.loading import TAGS
from tests.emit.emitting import job_of, slots_of

FIRST, OLDEST, OLD = (Rules(Version(2, minor)) for minor in (4, 5, 6))


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
    """First XPU itself, then those of sparse and nested tensors, and of compressed sparse ones."""
    rules = Rules(Version(*release))
    assert len([key for key in dispatch_keys() if "XPU" in key.name and rules.has_key(key)]) == keys


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


def test_compilers_may_warn_of_helpers_before_2_5() -> None:
    """Since then, the helpers of a file stand between macros that turn the warning off."""
    job = job_of("- func: turn(Tensor self) -> Tensor\n  dispatch:\n    CPU: turn\n")
    backend = next(backend for backend in backends(job) if backend.key is CPU)
    for rules, is_ignored in ((FIRST, False), (OLDEST, True)):
        helpers = registration_helpers(backend, rules)
        headers = registration_headers(backend, per_operator_headers=False, rocm=False, rules=rules)
        assert ('C10_DIAGNOSTIC_PUSH_AND_IGNORED_IF_DEFINED("-Wunused-function")' in helpers) is is_ignored
        assert ("#include <c10/macros/Macros.h>" in headers) is is_ignored


def test_each_device_had_a_function_before_2_6() -> None:
    """A wrapper for XPU initializes its device by the function of the release."""
    wrapper = "    globalContext().lazyInitDevice(c10::DeviceType::XPU);\n"
    assert laid_out_wrapper(wrapper, OLDEST) == "    globalContext().lazyInitXPU();\n"
    assert laid_out_wrapper(wrapper, OLD) == wrapper
