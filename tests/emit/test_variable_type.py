"""Kernels that record gradients: what is decided for each, and the statements that follow from it."""

from __future__ import annotations

import pytest

from opwright.emit.autograd import variable_type
from opwright.emit.autograd.wrapper_call import unpack
from opwright.emit.autograd.wrapper_forward import flag_statements, refusal, tangent_statements
from opwright.emit.autograd.wrapper_saving import saving_statements
from opwright.emit.autograd.wrappers import Forward, Wrapper, wrapper
from opwright.emit.emitter import Job, Options
from opwright.release.rules import Rules
from opwright.release.version import parse_version
from opwright.source.diagnostic import Fault
from tests.emit.emitting import job_of, slots_of
from tests.emit.test_autograd_kernels import derived_job

RULES = Rules(parse_version("2.13"))
TWIST = """
- func: twist(Tensor self, float by) -> Tensor
  dispatch:
    CPU: twist
- func: twist_(Tensor(a!) self, float by) -> Tensor(a!)
  dispatch:
    CPU: twist_
- func: twist.out(Tensor self, float by, *, Tensor(a!) out) -> Tensor(a!)
  dispatch:
    CPU: twist_out
"""
TWISTED = """
- name: twist(Tensor self, float by) -> Tensor
  self: grad * by * self
  result: self_t * by * self_p
"""
BLEND = """
- func: blend(Tensor self, Tensor other, str? mode=None) -> Tensor
  dispatch:
    CPU: blend
"""
BLENDED = """
- name: blend(Tensor self, Tensor other, str? mode=None) -> Tensor
  self: blend_backward(grad, other, mode, result)
  other: grad * self.sym_size(0)
"""
PAIR = """
- func: pair(Tensor[] parts, int[] at) -> (Tensor first, Tensor second)
  dispatch:
    CPU: pair
"""
LISTS = """
- func: turn(Tensor self, Scalar by) -> Tensor
  dispatch:
    CPU: turn
- func: _foreach_turn.Scalar(Tensor[] self, Scalar scalar) -> Tensor[]
  device_check: NoCheck
  dispatch:
    CPU: foreach_turn
- func: _foreach_turn_.Scalar(Tensor(a!)[] self, Scalar scalar) -> ()
  device_check: NoCheck
  dispatch:
    CPU: foreach_turn_
"""
TURNED = """
- name: turn(Tensor self, Scalar by) -> Tensor
  self: grad * by.conj() * self
  result: self_t * by
"""


def decided(job: Job, name: str, key: str = "Default") -> Wrapper:
    """What is decided for the wrapper of an overload."""
    (function,) = [
        differentiable_function
        for differentiable_function in job.derivatives.functions
        if differentiable_function.function.name.text == name
    ]
    return wrapper(function, key)


def kernel(job: Job, name: str) -> str:
    """The wrapper of an overload."""
    return variable_type.definition(decided(job, name), job)


def registered(job: Job) -> str:
    """The registrations under `Autograd`, one after the other."""
    slots = slots_of(variable_type.emitters, "VariableTypeEverything.cpp", job)
    return "".join(slots["wrapper_registrations_Default"])


def test_functional_form_has_a_node_and_forward_formulas() -> None:
    """The functional form records a node of its own, and works out tangents by its formula."""
    wrapper = decided(derived_job(TWIST, TWISTED), "twist")
    assert (wrapper.name, wrapper.node, wrapper.records, wrapper.forward) == (
        "twist",
        "TwistBackward0",
        True,
        Forward.FORMULAS,
    )
    assert [inp.name for inp in wrapper.inputs] == ["self"]
    assert [output.name for output in wrapper.outputs] == ["result"]
    assert not wrapper.rebases(RULES)


def test_inplace_form_takes_the_formulas_over() -> None:
    """The in-place form rebases the history of `self` and keeps what it was, since both formulas read it."""
    job = derived_job(TWIST, TWISTED)
    wrapper = decided(job, "twist_")
    assert wrapper.node == "TwistBackward0"
    assert wrapper.rebases(RULES)
    assert saving_statements(wrapper, is_output=False) == [
        "grad_fn->by = by;",
        "if (!original_self.has_value()) original_self = self.clone();",
        "grad_fn->self_ = SavedVariable(original_self.value(), false);",
    ]
    text = kernel(job, "twist_")
    assert "  if (_any_has_forward_grad_self) {\n    original_self = self.clone();\n  }\n" in text
    assert "self_t_raw.copy_(original_self_t * by * original_self_p)" in text


def test_out_form_is_never_differentiated() -> None:
    """The out form refuses gradients and tangents, and calls the operator for the keys below."""
    job = derived_job(TWIST, TWISTED)
    wrapper = decided(job, "twist.out")
    assert (wrapper.node, wrapper.forward) == ("Node", Forward.REFUSED)
    assert refusal(wrapper) == (
        "TORCH_CHECK_NOT_IMPLEMENTED(!((isFwGradDefined(self) || isFwGradDefined(out))), "
        '"Trying to use forward AD with twist_out that does not support it because it is an out= function");'
    )
    text = kernel(job, "twist.out")
    assert 'if (compute_requires_grad( out )) {\n    throw_error_out_requires_grad("twist");\n  }' in text
    assert "at::redispatch::twist_outf(ks & c10::after_autograd_keyset, self_, by, out_);" in text


def test_tensor_is_saved_if_the_gradient_that_reads_it_is_wanted() -> None:
    """A tensor that one of several gradients reads is saved under a condition; facts and other values always are."""
    job = derived_job(BLEND, BLENDED)
    wrapper = decided(job, "blend")
    assert saving_statements(wrapper, is_output=False) == [
        "grad_fn->mode = mode.has_value() ? ::std::optional<std::string>(std::string(mode.value())) : ::std::nullopt;",
        "if (grad_fn->should_compute_output(0)) {",
        "  grad_fn->other_ = SavedVariable(other, false);",
        "}",
        "grad_fn->self_sym_argsize_0 = self.sym_size(0);",
    ]
    assert saving_statements(wrapper, is_output=True) == ["grad_fn->result_ = SavedVariable(result, true);"]


def test_a_formula_can_state_the_condition_itself() -> None:
    """`wrap_opt_if` in a formula for several gradients says under which condition a tensor is saved."""
    derivatives = """
- name: blend(Tensor self, Tensor other, str? mode=None) -> Tensor
  self, other: blend_backward(grad, wrap_opt_if(other, grad_input_mask[0] || grad_input_mask[1]), grad_input_mask)
"""
    wrapper = decided(derived_job(BLEND, derivatives), "blend")
    condition = "grad_fn->should_compute_output(0) || grad_fn->should_compute_output(1)"
    assert saving_statements(wrapper, is_output=False)[0] == f"if ({condition}) {{"


def test_without_forward_formula_the_operator_is_decomposed() -> None:
    """Where a tangent comes in and no formula is there, the operator's decomposition is run."""
    job = derived_job(PAIR)
    assert decided(job, "pair").forward is Forward.DECOMPOSED
    text = kernel(job, "pair")
    assert "if ((isFwGradDefinedTensorList(parts))) {" in text
    assert 'run_jit_decomposition_with_args_for_jvp<std::tuple<at::Tensor, at::Tensor>>("pair", *opt_op, ks' in text


def test_several_outputs_have_one_formula_for_all() -> None:
    """A forward formula for two outputs gives a tuple, of which each output takes its part."""
    derivatives = """
- name: pair(Tensor[] parts, int[] at) -> (Tensor first, Tensor second)
  parts: cat_tensors_backward(grad_first + grad_second, at)
  first, second: cat_jvp(parts)
"""
    job = derived_job(PAIR, derivatives)
    wrapper = decided(job, "pair")
    assert flag_statements(wrapper) == ["[[maybe_unused]] auto _any_has_forward_grad_first_second = true;"]
    computed, setters = tangent_statements(wrapper, job)
    opening = "::std::optional<::std::tuple<at::Tensor,at::Tensor>> first_second_new_fw_grad_opt = ::std::nullopt;"
    assert computed.startswith(opening)
    assert "std::get<1>(first_second_new_fw_grad_opt.value()).defined()\n    && second.defined()" in setters


def test_inplace_function_over_lists_has_a_node_for_each_item() -> None:
    """It uses the formulas of the function that it repeats, with its own arguments in place of that one's."""
    job = derived_job(LISTS, TURNED)
    wrapper = decided(job, "_foreach_turn_.Scalar")
    assert wrapper.loops
    assert [(inp.name, inp.variable, inp.item) for inp in wrapper.inputs] == [("self", "self", "self[i]")]
    assert {name: argument.name for name, argument in wrapper.repeated.items()} == {"self": "self", "by": "scalar"}
    assert saving_statements(wrapper, is_output=False) == [
        "grad_fn->by = scalar;",
        "if (!original_selfs[i].has_value()) original_selfs[i] = self[i].clone();",
        "grad_fn->self_ = SavedVariable(original_selfs[i].value(), false);",
    ]
    text = kernel(job, "_foreach_turn_.Scalar")
    assert "std::vector<c10::intrusive_ptr<TurnBackward0>> grad_fns;" in text
    assert "self_new_fw_grad_opts[i] = self_t_raw.defined() ? self_t_raw.copy_(self_t * scalar)" in text


def test_function_over_lists_has_one_node_made_for_it() -> None:
    """The functional form's node saves whole lists, and its formulas take item after item."""
    job = derived_job(LISTS, TURNED)
    wrapper = decided(job, "_foreach_turn.Scalar")
    assert wrapper.node == "ForeachTurnBackward0Scalar"
    assert saving_statements(wrapper, is_output=False) == [
        "grad_fn->scalar = scalar;",
        "grad_fn->self_ = make_saved_variable_list(self, false);",
    ]


def test_operators_without_derivatives_share_one_boxed_kernel() -> None:
    """An operator that could be differentiated but has no formula is registered with the fallback."""
    fallback = 'm.impl("pair", torch::autograd::autogradNotImplementedFallback());\n'
    assert fallback in registered(derived_job(TWIST + PAIR, TWISTED))


def test_each_dispatch_key_has_wrappers_of_its_own() -> None:
    """Formulas under a dispatch key give a wrapper that is named and registered with the key."""
    derivatives = """
- name: twist(Tensor self, float by) -> Tensor
  dispatch:
    Default:
      self: grad * by
    AutogradCUDA:
      self: grad / by
"""
    job = derived_job(TWIST, derivatives)
    slots = slots_of(variable_type.emitters, "VariableTypeEverything.cpp", job)
    assert decided(job, "twist", "AutogradCUDA").node == "TwistBackwardAutogradCUDA0"
    assert "TORCH_FN(VariableType::twist_AutogradCUDA)" in "".join(slots["wrapper_registrations_AutogradCUDA"])
    template = slots_of(variable_type.emitters, "templates/VariableType.cpp", job)
    assert template["type_derived_method_definitions"] == (
        "${type_derived_method_definitions_AutogradCUDA}\n\n${type_derived_method_definitions_Default}"
    )


def test_an_output_can_be_differentiable_under_a_condition() -> None:
    """The condition joins those for gradients and for tangents."""
    derivatives = """
- name: twist(Tensor self, float by) -> Tensor
  output_differentiability: ["by > 0"]
  self: grad * by
  result: self_t * by
"""
    job = derived_job(TWIST, derivatives)
    text = kernel(job, "twist")
    assert "  _any_requires_grad &= (by > 0);\n" in text
    assert "auto _any_has_forward_grad_result = (by > 0) && (isFwGradDefined(self));" in text


def test_optional_tensors_are_passed_on_as_they_are() -> None:
    """Tensors and lists are unpacked, by reference and by value; what may be missing is not."""
    function = job_of("- func: mix(Tensor self, Tensor? by, Tensor[] all, int n) -> Tensor\n").catalog["mix"]
    made = [unpack(argument, place) for place, argument in enumerate(function.arguments.all)]
    assert [statement for _, statement in made] == [
        'auto& self_ = unpack(self, "self", 0);',
        "",
        'auto all_ = unpack(all, "all", 2);',
        "",
    ]
    assert [parameter.name for parameter, _ in made] == ["self_", "by", "all_", "n"]


@pytest.mark.parametrize(
    ("release", "wanted", "unwanted"),
    [
        ("2.9.1", "result.use_count() <= 1,", "update_wrapped_number"),
        (
            "2.12.0",
            "grad_fn = std::shared_ptr<TwistBackward0>(new TwistBackward0(), deleteNode);",
            "intrusive_ptr<Twist",
        ),
        ("2.13.0", "grad_fn = c10::make_intrusive<TwistBackward0>();", "fire_node_creation_hooks"),
        ("2.14.0", "  if (grad_fn) {\n      fire_node_creation_hooks(grad_fn);\n  }\n  return", "_rebased_fn"),
    ],
)
def test_releases_differ(release: str, wanted: str, unwanted: str) -> None:
    """Each release has its own way to hold nodes, to count uses, and to tell of nodes."""
    job = derived_job(TWIST, TWISTED)
    text = kernel(Job(job.catalog, Rules(parse_version(release)), job.options, derivatives=job.derivatives), "twist")
    assert wanted in text
    assert unwanted not in text


@pytest.mark.parametrize(
    ("code", "entries", "derivatives"),
    [
        (
            "E0993",
            TWIST,
            "- name: twist(Tensor self, float by) -> Tensor\n"
            "  output_differentiability: [False]\n  self: non_differentiable\n",
        ),
        (
            "E0994",
            TWIST,
            "- name: twist(Tensor self, float by) -> Tensor\n  self: grad\n  by: grad * self\n",
        ),
        (
            "E0995",
            "- func: signbit(Tensor self) -> Tensor\n  dispatch:\n    CPU: signbit\n",
            "- name: signbit(Tensor self) -> Tensor\n  self: grad\n",
        ),
        (
            "E0996",
            PAIR,
            "- name: pair(Tensor[] parts, int[] at) -> (Tensor first, Tensor second)\n"
            "  parts: grad_first + grad_second\n  first: cat_jvp(parts)\n",
        ),
        (
            "E0998",
            "- func: _foreach_new_(Tensor(a!)[] self) -> ()\n  device_check: NoCheck\n  dispatch:\n    CPU: n\n",
            "[]",
        ),
        ("E0999", "- func: made(Tensor self) -> Tensor\n", "- name: made(Tensor self) -> Tensor\n  self: grad\n"),
    ],
)
def test_derivatives_that_do_not_fit_are_faults(code: str, entries: str, derivatives: str) -> None:
    """What cannot be written down is a fault with a code, wherever it shows first."""
    job = derived_job(entries, derivatives)
    with pytest.raises(Fault) as caught:
        registered(job)
    assert caught.value.diagnostic.code == code


def test_a_forward_formula_uses_a_tangent() -> None:
    """A formula without tangents is a fault, except for functions of one list."""
    derivatives = "- name: twist(Tensor self, float by) -> Tensor\n  self: grad\n  result: self_p * by\n"
    job = derived_job(TWIST, derivatives)
    with pytest.raises(Fault) as caught:
        kernel(job, "twist")
    assert caught.value.diagnostic.code == "E0997"
    assert caught.value.diagnostic.span is not None
    assert caught.value.diagnostic.span.text == "self_p * by"


def test_no_kernels_without_autograd() -> None:
    """A run without autograd has no file of kernels."""
    job = derived_job(TWIST, TWISTED)
    assert variable_type.emitters(Job(job.catalog, job.rules, Options(disable_autograd=True))) == []
