"""Which operators get plumbing for vmap, and what it says."""

from __future__ import annotations

import pytest

from opwright.emit.aten.vmap import Plumbing, emitters, plumbing, plumbing_kind
from opwright.model.native_function import NativeFunction
from tests.emit.emitting import job_of, slots_of


def _only(schema: str, fields: str = "") -> NativeFunction:
    (function,) = job_of(f"- func: {schema}\n{fields}").catalog.functions
    return function


@pytest.mark.parametrize(
    ("schema", "kind"),
    [
        ("f(Tensor self) -> Tensor", Plumbing.WRAPS),
        ("f(Tensor[] all) -> Tensor[]", Plumbing.WRAPS),
        ("f(int n) -> Tensor", None),
        ("f(Tensor self) -> (Tensor, int)", None),
        ("_scaled_dot_product_flash_attention(Tensor self) -> (Tensor, SymInt)", Plumbing.WRAPS),
        ("f(Tensor self) -> ()", Plumbing.RETURNS_NOTHING),
        ("f_(Tensor(a!) self) -> Tensor(a!)", Plumbing.WRITES_SELF),
        ("f_(Tensor(a!) self, Tensor(b!) other) -> Tensor(a!)", None),
        ("f_(int n, Tensor(a!) self) -> Tensor(a!)", None),
    ],
)
def test_kind_of_plumbing(schema: str, kind: Plumbing | None) -> None:
    """Plumbing is for tensors in and tensors out; in place, for the first argument alone."""
    assert plumbing_kind(_only(schema)) is kind


def test_views_in_place_get_none() -> None:
    """An in-place view changes what is batched, so its rule is written by hand."""
    entries = (
        "- func: turn(Tensor(a) self) -> Tensor(a)\n"
        "- func: turn_(Tensor(a!) self) -> Tensor(a!)\n  tags: inplace_view\n"
    )
    assert plumbing_kind(job_of(entries).catalog["turn_"]) is None


def test_functional_plumbing() -> None:
    """Tensors come apart before optional tensors; each result is wrapped by its kind."""
    function = _only("f.x(Tensor? bias, Tensor self, int n) -> (Tensor, Tensor[])")
    assert (
        plumbing(function, Plumbing.WRAPS)
        == """\
template <typename batch_rule_t, batch_rule_t batch_rule>
::std::tuple<at::Tensor,::std::vector<at::Tensor>> f_x_generated_plumbing(const ::std::optional<at::Tensor> & bias, \
const at::Tensor & self, int64_t n) {
  c10::impl::ExcludeDispatchKeyGuard guard(DispatchKey::FuncTorchBatched);
  auto maybe_layer = maybeCurrentDynamicLayer();
  vmap_check_escaped(maybe_layer, "gen_vmap_plumbing");
  int64_t cur_level = maybe_layer->layerId();
  if (!isBatchedAtLevel(bias, cur_level) && !isBatchedAtLevel(self, cur_level)) {
    return at::_ops::f_x::call(bias, self, n);
  }
  auto [self_value, self_bdim] = unwrapTensorAtLevel(self, cur_level);
  std::optional<Tensor> bias_value;
  std::optional<int64_t> bias_bdim;
  if (bias) {
      std::tie(bias_value, bias_bdim) = unwrapTensorAtLevel(bias.value(), cur_level);
  }
  auto results = batch_rule(bias_value, bias_bdim, self_value, self_bdim, n);
  return std::make_tuple(makeBatched(std::get<0>(results), std::get<1>(results), cur_level), \
makeBatchedVector(std::get<2>(results), std::get<3>(results), cur_level));
}"""
    )


def test_plumbing_in_place_returns_what_it_wrote() -> None:
    """The rule's result is not used: the argument itself is returned."""
    text = plumbing(_only("f_(Tensor(a!) self) -> Tensor(a!)"), Plumbing.WRITES_SELF)
    assert text.endswith("  batch_rule(self_value, self_bdim);\n  return self;\n}")


def test_file_without_operators_is_whole() -> None:
    """Without any plumbing the file still opens and closes its namespaces."""
    text = "".join(slots_of(emitters, "VmapGeneratedPlumbing.h", job_of("- func: f(int n) -> int\n"))["text"])
    assert text == (
        "\n#pragma once\n#include <ATen/Operators.h>\n#include <ATen/functorch/PlumbingHelper.h>\n\n"
        "namespace at { namespace functorch {\n\n\n\n}} // namespace at::functorch\n"
    )
