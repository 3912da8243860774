"""Kernels for autocast that do what a policy says become the policy; others stay kernels."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from opwright.cli.main import main

SOURCE = """
#include <ATen/autocast_mode.h>
#include <torch/library.h>
namespace acme {
at::Tensor pick(const at::Tensor& x, const at::Tensor& boxes, double by) {
  static auto op = c10::Dispatcher::singleton().findSchemaOrThrow("acme::pick", "").typed<decltype(pick)>();
  return op.call(x, boxes, by);
}
namespace {
at::Tensor pick_cpu(const at::Tensor& x, const at::Tensor& boxes, double by) { return x; }
template <c10::DispatchKey autocast_key, c10::DeviceType device>
at::Tensor pick_autocast(const at::Tensor& x, const at::Tensor& boxes, double by) {
  c10::impl::ExcludeDispatchKeyGuard no_autocast(autocast_key);
  return pick(
             at::autocast::cached_cast(at::kFloat, x, device),
             at::autocast::cached_cast(at::kFloat, boxes, device),
             by);
}
struct Pick : torch::autograd::Function<Pick> {
  static at::Tensor forward(
      torch::autograd::AutogradContext* ctx, const at::Tensor& x, const at::Tensor& boxes, double by) {
    at::AutoDispatchBelowADInplaceOrView guard;
    return pick(x, boxes, by);
  }
  static torch::autograd::variable_list backward(
      torch::autograd::AutogradContext* ctx, torch::autograd::variable_list grads) {
    return {grads[0], at::Tensor(), at::Tensor()};
  }
};
at::Tensor pick_autograd(const at::Tensor& x, const at::Tensor& boxes, double by) {
  return Pick::apply(x, boxes, by);
}
}  // namespace
TORCH_LIBRARY(acme, m) {
  m.def("pick(Tensor self, Tensor boxes, float by) -> Tensor");
  m.impl("pick", c10::DispatchKey::CPU, &pick_cpu);
  m.impl("pick", c10::DispatchKey::Autograd, &pick_autograd);
}
TORCH_LIBRARY_IMPL(acme, Autocast, m) {
  m.impl("pick", TORCH_FN((pick_autocast<c10::DispatchKey::Autocast, c10::DeviceType::CUDA>)));
}
TORCH_LIBRARY_IMPL(acme, AutocastCPU, m) {
  m.impl("pick", TORCH_FN((pick_autocast<c10::DispatchKey::AutocastCPU, c10::DeviceType::CPU>)));
}
}  // namespace acme
"""
BACK = ("             by);", "             by).to(x.scalar_type());")


def imported(*changes: tuple[str, str]) -> tuple[object, str]:
    """The policies of the operator of a changed source, and what is said of the kernels that stay."""
    text = SOURCE
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    Path("pick.cpp").write_text(text)
    assert main(["import", "pick.cpp", "--out", "acme.yaml", "--force"]) == 0
    written = Path("acme.yaml").read_text()
    (entry,) = yaml.safe_load(written)["operators"]
    return entry.get("autocast"), written


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder for the sources of each test."""
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    ("changes", "policy"),
    [
        ((), "fp32"),
        ((BACK,), "fp32_cast_back"),
        ((("at::kFloat, ", "at::autocast::get_autocast_dtype(device), "),), "lower_precision_fp"),
    ],
)
def test_policies_take_the_place_of_kernels(
    changes: tuple[tuple[str, str], ...], policy: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each device has the policy of its kernel; the function and its registrations can go, and nothing is lost."""
    policies, _ = imported(*changes)
    assert policies == {"CUDA": policy, "CPU": policy}
    capsys.readouterr()
    assert main(["import", "pick.cpp", "--out", "acme.yaml", "--check"]) == 0
    told = capsys.readouterr().out
    assert "answers for AutocastCPU, AutocastCUDA, and now a kernel that casts" in told
    first = SOURCE.splitlines().index("template <c10::DispatchKey autocast_key, c10::DeviceType device>") + 1
    assert f"can be deleted: pick.cpp: {first}-{first + 7}, " in told


@pytest.mark.parametrize(
    "changes",
    [
        (("at::autocast::cached_cast(at::kFloat, boxes, device)", "boxes"),),
        (("cached_cast(at::kFloat, boxes", "cached_cast(at::kHalf, boxes"),),
        (("cached_cast(at::kFloat, boxes", "cached_cast(at::kFloat, x"),),
        (("boxes, device)", "boxes, c10::DeviceType::XPU)"),),
        (("             by);", "             by).to(boxes.scalar_type());"),),
        (("             by);", "             by).relu();"),),
        (("             by);", "             2 * by);"),),
        (("no_autocast(autocast_key)", "no_autocast(c10::DispatchKey::AutocastXPU)"),),
        (("no_autocast(autocast_key);", "no_autocast(autocast_key); by += 1;"),),
        (('"acme::pick", ""', '"acme::other", ""'),),
        (BACK, ('  m.impl("pick", c10::DispatchKey::Autograd, &pick_autograd);\n', "")),
    ],
)
def test_other_kernels_stay(changes: tuple[tuple[str, str], ...]) -> None:
    """A kernel that casts otherwise, that does more, or whose results may be integers is no policy."""
    policies, written = imported(*changes)
    assert policies is None
    assert written.count("the kernel for Autocast") == 2
