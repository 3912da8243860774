"""Nodes of the backward graph: what they keep, as C++ classes and as Python types."""

from __future__ import annotations

import pytest

from opwright.emit.autograd.functions import declaration, definition
from opwright.emit.autograd.nodes import GraphNode, Step, all_nodes, nodes_of_file
from opwright.emit.autograd.python_functions import initializer, properties
from opwright.emit.emitter import Job
from opwright.release.rules import Rules
from opwright.release.version import parse_version
from opwright.source.diagnostic import Fault
from tests.emit.test_autograd_kernels import derived_job
from tests.emit.test_variable_type import LISTS, TURNED

ENTRIES = """
- func: blend(Tensor self, Tensor other, Tensor[] more, int[] at, float? by=None) -> (Tensor first, Tensor second)
  dispatch:
    CPU: blend
"""
DERIVATIVES = """
- name: blend(Tensor self, Tensor other, Tensor[] more, int[] at, float? by=None) -> (Tensor first, Tensor second)
  self: not_implemented("blend")
  other: grad_second * by * other
  more: cat_tensors_backward(grad_first, at, more, retain_variables)
"""
RULES = Rules(parse_version("2.13.0"))


def node(entries: str, derivatives: str, release: str = "2.13.0") -> GraphNode:
    """The only node of some derivatives."""
    job = derived_job(entries, derivatives)
    job = Job(job.catalog, Rules(parse_version(release)), job.options, derivatives=job.derivatives)
    (unit,) = nodes_of_file(job)
    return unit


def test_decisions_of_a_node() -> None:
    """Inputs, gradients, steps and what is kept follow from the entry; lists bring their sizes."""
    made = node(ENTRIES, DERIVATIVES)
    assert (made.name, made.superclass) == ("BlendBackward0", "TraceableFunction")
    assert [argument.name for argument in made.inputs] == ["self", "other", "more"]
    assert made.lists == ["more"]
    assert made.gradients == [("grad_first", 0), ("grad_second", 1)]
    assert [field.name for field in made.saved] == ["at", "by", "more", "other"]
    assert made.steps[1:] == (
        Step("grad_second * by * other", (("other", 1),), needs_defined=True, takes_mask=False),
        Step('not_implemented("blend")', (("self", 0),), needs_defined=False, takes_mask=False),
    )
    assert made.parameters == [
        ("size_t", "more_size_"),
        ("std::vector<int64_t>&", "at"),
        ("::std::optional<double>&", "by"),
        ("std::vector<Tensor>&", "more"),
        ("Tensor&", "other"),
        ("bool", "retain_variables"),
    ]


def test_class_keeps_values_and_lets_go_of_variables() -> None:
    """Fields are by value; tensors are `SavedVariable`s that a lock guards when they are released."""
    text = declaration(node(ENTRIES, DERIVATIVES), RULES)
    assert "  std::vector<int64_t> at;\n  ::std::optional<double> by;\n  std::vector<SavedVariable> more_;\n" in text
    assert "    std::lock_guard<std::mutex> lock(mutex_);\n    more_.clear();\n" in text
    assert "    other_.reset_data();\n" in text
    assert "  bool retain_variables = true;\n" in text
    assert "  size_t more_size_;\n" in text


def test_gradients_are_worked_out_where_they_are_needed() -> None:
    """A formula for a tensor is passed over where no gradient comes in, one that is not implemented never is."""
    text = definition(node(ENTRIES, DERIVATIVES), RULES)
    assert "auto grad_result = any_grad_defined ? (grad_second * by * other) : Tensor();" in text
    assert 'auto grad_result = not_implemented("blend");' in text
    assert "auto more_ix = gen.range(more_size_);" in text
    assert "TORCH_CHECK(!more_released_, ERR_BACKWARD_TWICE);" in text


def test_several_gradients_come_as_a_tuple() -> None:
    """One formula for several arguments gives a tuple, and may ask which of them are needed."""
    derivatives = """
- name: blend(Tensor self, Tensor other, Tensor[] more, int[] at, float? by=None) -> (Tensor first, Tensor second)
  self, other: blend_backward(grad_first, grad_input_mask)
"""
    text = definition(node(ENTRIES, derivatives), RULES)
    assert (
        """\
  if (needs_input_grad[0] || needs_input_grad[1]) {
      auto grad_input_mask = std::array<bool, 2>{
        needs_input_grad[0],
        needs_input_grad[1],
      };
    auto grad_result = blend_backward(grad_first, grad_input_mask);
      if (needs_input_grad[/*self*/0]) {
        copy_range(grad_inputs, self_ix, std::get<0>(grad_result));
      }
"""
        in text
    )


def test_functions_over_lists_go_item_by_item() -> None:
    """A node made for a function over lists works out one gradient for each item that has one."""
    job = derived_job(LISTS, TURNED)
    units = all_nodes(job)
    assert [unit.info.node_name for unit in units] == ["TurnBackward0", "ForeachTurnBackward0Scalar"]
    text = definition(units[1], RULES)
    assert (
        "    if (grads[i].defined()) {\n        grad_result.emplace_back(grads[i] * scalar.conj() * self[i]);" in text
    )


def test_python_reads_what_is_kept() -> None:
    """Each attribute has a property; variables can be had unpacked and as they are kept."""
    made = node(ENTRIES, DERIVATIVES)
    text = properties(made)
    assert '  {(char*)"_saved_at", (getter)THPBlendBackward0_at_getter, nullptr, nullptr, nullptr},\n' in text
    assert '  {(char*)"_raw_saved_other", (getter)THPBlendBackward0_other_raw_getter' in text
    assert "_raw_saved_at" not in text
    assert initializer(made.name).startswith("static PyTypeObject BlendBackward0Class;\n")


def test_node_without_anything_kept_has_no_properties() -> None:
    """The table of properties then has the common ones alone."""
    text = properties(node("- func: neg(Tensor self) -> Tensor\n  dispatch:\n    CPU: neg\n", NEGATED))
    assert text == (
        "\n\nstatic struct PyGetSetDef NegBackward0_properties[] = {\n  THP_FUNCTION_DEFAULT_PROPERTIES,\n\n"
        "  {nullptr} /* sentinel */\n};\n\n"
    )


NEGATED = "- name: neg(Tensor self) -> Tensor\n  self: -grad\n"


@pytest.mark.parametrize(("release", "pointer"), [("2.12.0", "shared_from_this()"), ("2.13.0", "getptr()")])
def test_outputs_are_unpacked_for_their_own_node(release: str, pointer: str) -> None:
    """An output is unpacked with its node, which older releases hold by a shared pointer."""
    derivatives = "- name: neg(Tensor self) -> Tensor\n  self: grad * result\n"
    entries = "- func: neg(Tensor self) -> Tensor\n  dispatch:\n    CPU: neg\n"
    assert f"auto result = result_.unpack({pointer});" in definition(node(entries, derivatives, release), RULES)


def test_what_cannot_be_kept_is_a_fault() -> None:
    """A list of tensors that a function returns is not kept, nor is a reference that nothing is known of."""
    entries = "- func: parts(Tensor self) -> Tensor[]\n  dispatch:\n    CPU: parts\n"
    derivatives = "- name: parts(Tensor self) -> Tensor[]\n  self: unbind_backward(grads, result)\n"
    with pytest.raises(Fault) as caught:
        _ = node(entries, derivatives).saved
    assert caught.value.diagnostic.code == "E0992"
    assert caught.value.diagnostic.span is not None
    assert caught.value.diagnostic.span.text == "unbind_backward(grads, result)"
