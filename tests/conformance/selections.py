"""The selection files of the suite, by name: what a build that wants only some operators passes to the generator."""

from __future__ import annotations

SELECTIONS: dict[str, str] = {
    "empty": """\
include_all_operators: false
operators: {}
""",
    "all": """\
include_all_operators: true
include_all_non_op_selectives: true
""",
    # Whole names with overloads, some roots, some only called by others, one for training.
    "training": """\
operators:
  aten::add.Tensor:
    is_root_operator: true
    is_used_for_training: true
    include_all_overloads: false
  aten::mul.Tensor:
    is_root_operator: true
    is_used_for_training: false
    include_all_overloads: false
  aten::linear:
    is_root_operator: true
    is_used_for_training: true
    include_all_overloads: true
  aten::addmm:
    is_root_operator: false
    is_used_for_training: true
    include_all_overloads: false
  aten::t:
    is_root_operator: false
    is_used_for_training: true
    include_all_overloads: false
  aten::split.Tensor:
    is_root_operator: true
    is_used_for_training: true
    include_all_overloads: false
  aten::relu_:
    is_root_operator: true
    is_used_for_training: true
    include_all_overloads: true
  aten::max_pool2d_with_indices:
    is_root_operator: true
    is_used_for_training: true
    include_all_overloads: true
  aten::_foreach_add.List:
    is_root_operator: true
    is_used_for_training: true
    include_all_overloads: false
""",
    # Bare names stand for all overloads; the rest of the keys have no operator behind them.
    "overloads": """\
include_all_operators: false
operators:
  aten::add:
    include_all_overloads: true
    is_root_operator: true
    is_used_for_training: false
    debug_info: [model_a@1]
  aten::empty:
    include_all_overloads: true
    is_root_operator: false
    is_used_for_training: false
  aten::quantize_per_tensor:
    include_all_overloads: true
    is_root_operator: true
    is_used_for_training: false
  aten::view:
    include_all_overloads: true
    is_root_operator: true
    is_used_for_training: false
debug_info: [model_a@1, model_b@2]
custom_classes: [TensorQueue]
build_features: [bundled_inputs]
""",
    "kernels": """\
include_all_non_op_selectives: false
operators:
  aten::softmax.int:
    include_all_overloads: false
    is_root_operator: true
    is_used_for_training: false
  aten::_softmax:
    include_all_overloads: true
    is_root_operator: false
    is_used_for_training: false
  aten::sum.dim_IntList:
    include_all_overloads: false
    is_root_operator: true
    is_used_for_training: false
kernel_metadata:
  add_kernel: [float, int]
  softmax_kernel_impl: [float]
  sum_kernel_impl: [all]
custom_classes: [LinearPackedParamsBase, Conv2dPackedParamsBase]
build_features: [tracing]
""",
}
