"""The code for derivatives, for writes and for views of a library, as text."""

from __future__ import annotations

from pathlib import Path

import pytest

from opwright.cli.main import main

OPERATORS = """\
namespace: acme
derivatives: derivatives.yaml
operators:
  - func: scale(Tensor self, float factor) -> Tensor
    dispatch: {CPU: scale}
  - func: scale_(Tensor(a!) self, float factor) -> Tensor(a!)
    dispatch: {CPU: scale_}
  - func: measure(Tensor self) -> Tensor
    dispatch: {CPU: measure}
  - func: count(Tensor self, Tensor(a!) total) -> Tensor
    dispatch: {CPU: count}
  - func: both(Tensor self) -> Tensor
    dispatch: {CompositeImplicitAutograd: both_parts}
"""

DERIVATIVES = """\
- name: scale(Tensor self, float factor) -> Tensor
  self: acme::scale(grad, factor)
"""


def generated(
    folder: Path, operators: str = OPERATORS, derivatives: str = DERIVATIVES, torch: str = "auto", release: str = ""
) -> str:
    """The generated source of a library, which `release` makes that for another release than the inputs are of."""
    folder.mkdir(exist_ok=True)
    (folder / "acme.yaml").write_text(operators, encoding="utf-8")
    (folder / "derivatives.yaml").write_text(derivatives, encoding="utf-8")
    arguments = ["generate", "--library", str(folder / "acme.yaml"), "--torch", torch, "--out", str(folder / "out")]
    arguments += ["--release", release] if release else []
    assert main(arguments) == 0
    return (folder / "out" / "src" / "acme" / "register_0.cpp").read_text(encoding="utf-8")


def block(source: str, start: str, end: str = "\n}\n") -> str:
    """The lines of a source from one that begins in some way to the end of its block."""
    return start + source.partition(start)[2].partition(end)[0] + end


def test_each_operator_is_registered_for_autograd_once(tmp_path: Path) -> None:
    """One with formulas has a kernel of its own, one without PyTorch's boxed kernel, a composite one none."""
    registered = block(generated(tmp_path), "TORCH_LIBRARY_IMPL(acme, Autograd, m) {")
    assert registered == (
        "TORCH_LIBRARY_IMPL(acme, Autograd, m) {\n"
        'm.impl("scale",\n       VariableType::scale_kernel\n);\n\n'
        'm.impl("scale_",\n       VariableType::scale__kernel\n);\n\n'
        'm.impl("measure", torch::autograd::autogradNotImplementedFallback());\n\n'
        'm.impl("count",\n       VariableType::count_kernel\n);\n}\n'
    )


def test_kernels_of_saved_results_look_for_outer_calls(tmp_path: Path) -> None:
    """Whether a call is differentiated again is asked of inputs, kept results, and returned ones."""
    operators = """\
namespace: acme
derivatives: derivatives.yaml
operators:
  - func: mean(Tensor self) -> (Tensor mean, Tensor count)
    dispatch: {CPU: mean}
    outputs: {mean: "[self.size(1)]", count: "[]"}
    saved: count
"""
    derivatives = "- name: mean(Tensor self) -> (Tensor mean, Tensor count)\n  self: (grad / count).expand_as(self)\n"
    asked = "written_tensors(self), written_tensors(count_kept), written_tensors()"
    assert f"const bool is_again = outer_calls.found({asked});\n" in generated(tmp_path, operators, derivatives)


def test_kernels_record_a_node_around_a_call_of_the_operator(tmp_path: Path) -> None:
    """A kernel makes the node, saves what its formula reads, and calls the operator below autograd."""
    kernel = block(generated(tmp_path), "at::Tensor scale_kernel(")
    assert kernel == (
        "at::Tensor scale_kernel(c10::DispatchKeySet ks, const at::Tensor & self, double factor) {\n"
        '  auto& self_ = unpack(self, "self", 0);\n'
        "  [[maybe_unused]] auto _any_requires_grad = compute_requires_grad( self );\n"
        "\n"
        "  c10::intrusive_ptr<ScaleBackward0> grad_fn;\n"
        "  if (_any_requires_grad) {\n"
        "    grad_fn = c10::make_intrusive<ScaleBackward0>();\n"
        "    grad_fn->set_next_edges(collect_next_edges( self ));\n"
        "    grad_fn->factor = factor;\n"
        "  }\n"
        "  auto _tmp = ([&]() {\n"
        "    at::AutoDispatchBelowADInplaceOrView guard;\n"
        "    return acme::_ops::scale::redispatch(ks & c10::after_autograd_keyset, self_, factor);\n"
        "  })();\n"
        "  auto result = std::move(_tmp);\n"
        "  if (grad_fn) {\n"
        "      set_history(flatten_tensor_args( result ), grad_fn);\n"
        "  }\n"
        "  TORCH_CHECK_NOT_IMPLEMENTED(!((isFwGradDefined(self))), "
        '"Trying to use forward AD with acme::scale that does not support it because there is no formula for it");\n'
        "  return result;\n"
        "}\n"
    )


def test_what_an_operator_writes_to_gets_history_and_versions(tmp_path: Path) -> None:
    """An operator that writes to an argument it does not return counts its versions, and records that it wrote."""
    source = generated(tmp_path)
    kernel = block(source, "at::Tensor count_kernel(")
    assert "  check_inplace(total, _any_requires_grad);\n" in kernel
    assert "record_writes(flatten_tensor_args( result ), written_tensors(total), grad_fn);\n" in kernel
    assert "  auto result = std::move(_tmp);\n  increment_version(total);\n  return result;\n" in source


def test_functionalization_calls_the_functional_operator(tmp_path: Path) -> None:
    """The kernel of an in-place operator updates its argument with the result of the functional one."""
    source = generated(tmp_path)
    assert block(source, "at::Tensor & scale_(c10::DispatchKeySet") == (
        "at::Tensor & scale_(c10::DispatchKeySet dispatchKeySet, at::Tensor & self, double factor) {\n"
        "  auto self_ = ::opwright::functionalization::synced_value(self);\n"
        "  if (!(::opwright::functionalization::isFunctionalTensor(self))) {\n"
        "    ::opwright::functionalization::check_only_functional_tensors_are_written(false);\n"
        "    at::AutoDispatchSkipFunctionalize guard;\n"
        "    acme::_ops::scale_::call(self_, factor);\n"
        "    return self;\n"
        "  }\n"
        "  auto tmp_output = [&]() {\n"
        "    at::AutoDispatchSkipFunctionalize guard;\n"
        "    return acme::_ops::scale::call(self_, factor);\n"
        "  }();\n"
        "  ::opwright::functionalization::update(self, tmp_output);\n"
        "  return self;\n"
        "}\n"
    )
    registered = block(source, "TORCH_LIBRARY_IMPL(acme, Functionalize, m) {")
    assert registered.count("m.impl") == 1


@pytest.mark.parametrize(
    ("formula", "headers"),
    [
        ("acme::scale(grad, factor)", []),
        ("grad * factor", ["ATen/TensorOperators.h"]),
        ("at::where(self.isnan(), zeros_like(grad), grad)", ["ATen/ops/where.h", "ATen/ops/zeros_like.h"]),
        ("slice_backward_symint(grad, self.sym_sizes(), 0, 0, 1, 1)", ["ATen/ops/slice_backward.h"]),
    ],
)
def test_headers_follow_from_formulas(tmp_path: Path, formula: str, headers: list[str]) -> None:
    """A source includes the headers of the operators that its formulas use, which take long to compile."""
    derivatives = f"- name: scale(Tensor self, float factor) -> Tensor\n  self: {formula}\n"
    included = [
        line.removeprefix("#include <").removesuffix(">")
        for line in generated(tmp_path, derivatives=derivatives).splitlines()
        if line.startswith("#include <ATen/")
    ]
    assert sorted(set(included) - {"ATen/core/dispatch/Dispatcher.h"}) == headers


def test_an_edit_of_the_derivatives_is_noticed(tmp_path: Path) -> None:
    """A run after an edit of the derivatives alone writes the source again."""
    before = generated(tmp_path)
    assert "acme::scale(grad, -factor)" not in before
    after = generated(tmp_path, derivatives=DERIVATIVES.replace("factor)\n", "-factor)\n").replace("float -", "float "))
    assert "acme::scale(grad, -factor)" in after


def test_nodes_save_lists_of_numbers(tmp_path: Path) -> None:
    """A formula may read a list of floating-point numbers, which the node copies."""
    operators = OPERATORS + "  - func: weigh(Tensor self, float[] weights) -> Tensor\n    dispatch: {CPU: weigh}\n"
    derivatives = "- name: weigh(Tensor self, float[] weights) -> Tensor\n  self: acme::weigh(grad, weights)\n"
    source = generated(tmp_path, operators, derivatives)
    assert "  std::vector<double> weights;\n" in source
    assert "    grad_fn->weights = weights.vec();\n" in source


@pytest.mark.network
def test_nodes_of_older_releases(tmp_path: Path) -> None:
    """Before 2.13, nodes are shared pointers, whose deleter is a function of another namespace."""
    source = generated(tmp_path, torch="2.12.1")
    assert "ScaleBackward0(), torch::autograd::deleteNode)" in source
    assert ", deleteNode)" not in source


@pytest.mark.parametrize(("release", "packs"), [("2.6", False), ("2.7", True)])
def test_nodes_of_older_releases_run_in_compiled_autograd(tmp_path: Path, release: str, packs: bool) -> None:
    """Before 2.7 they run themselves on other values; then they give a function of packed ones."""
    source = generated(tmp_path, release=release)
    for name in ("_apply_functional_ivalue", "PackedArgs", "compiled_args(CompiledNodeArgs& args) const"):
        assert (name in source) is packs
    assert ("variable_list result = apply(variable_list(grads));" in source) is not packs


VIEW = """\
namespace: acme
operators:
  - func: window(Tensor(a) self, SymInt start) -> Tensor(a)
    dispatch: {CPU: window}
  - func: window_copy(Tensor self, SymInt start) -> Tensor
    dispatch: {CompositeExplicitAutogradNonFunctional: window_copy}
    tags: view_copy
"""


def test_views_are_recorded_by_lambdas_before_2_9(tmp_path: Path) -> None:
    """They hold the arguments of the view, and no class of the view is declared."""
    older, newer = (generated(tmp_path, VIEW, "[]\n", release=release) for release in ("2.8", "2.9"))
    head = "[reapply_views = reapply_views, start = start](const at::Tensor & base, int64_t mutated_view_idx)"
    assert head in older
    assert head not in newer
    assert ("window_ViewMeta" in older, "window_ViewMeta" in newer) == (False, True)


def test_views_start_a_history_of_their_own(tmp_path: Path) -> None:
    """A view returns what aliases its argument, which it does not write to: the history of that stays as it is."""
    derivatives = "- name: window(Tensor(a) self, SymInt start) -> Tensor(a)\n  self: grad * start\n"
    operators = VIEW.replace("namespace: acme\n", "namespace: acme\nderivatives: derivatives.yaml\n")
    source = generated(tmp_path, operators, derivatives)
    kernel = block(source, "at::Tensor window_kernel(")
    assert "set_history(flatten_tensor_args( result ), grad_fn);\n" in kernel
    assert "rebase_history" not in kernel
