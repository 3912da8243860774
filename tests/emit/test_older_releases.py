"""What differs in files of PyTorch's own build before 2.7."""

from __future__ import annotations

import pytest

from opwright.convention.c_shim import passed_arguments
from opwright.emit.aten import functionalization
from opwright.emit.aten.register import registration
from opwright.release.rules import Rules
from opwright.release.version import Version
from opwright.schema import parse_schema
from tests.emit.emitting import job_of, paths_of, slots_of

OLD, NEW = Rules(Version(2, 6)), Rules(Version(2, 7))

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
