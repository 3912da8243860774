"""Kernels that trace, count versions and mark views; classes that make views again; factories that know gradients."""

from __future__ import annotations

import pytest

from opwright.convention import public_api
from opwright.dialects.derivatives.loader import load_derivatives
from opwright.dialects.derivatives.matching import match_derivatives
from opwright.emit.autograd import inplace_or_view, trace_type, variable_factories, view_funcs
from opwright.emit.autograd.kernels import class_name, view_base
from opwright.emit.emitter import Job, Options
from opwright.model.native_function import NativeFunction
from opwright.source.diagnostic import Diagnostics, Fault
from opwright.source.text import SourceFile
from tests.emit.emitting import job_of, paths_of, slots_of

VIEWS = """
- func: select.int(Tensor(a) self, int dim, SymInt index) -> Tensor(a)
  dispatch:
    CPU: select
- func: select_copy.int(Tensor self, int dim, SymInt index) -> Tensor
  tags: view_copy
  dispatch:
    CompositeExplicitAutogradNonFunctional: select_copy_symint
  autogen: select_copy.int_out
- func: split_with_sizes(Tensor(a -> *) self, SymInt[] split_sizes, int dim=0) -> Tensor(a)[]
  dispatch:
    CPU: split_with_sizes
- func: split_with_sizes_copy(Tensor self, SymInt[] split_sizes, int dim=0) -> Tensor[]
  tags: view_copy
  dispatch:
    CompositeExplicitAutogradNonFunctional: split_with_sizes_copy_symint
  autogen: split_with_sizes_copy.out
"""

MIX = """
- func: mix(Tensor self, Tensor? by) -> Tensor
  dispatch:
    CPU: mix
- func: mix_(Tensor(a!) self, Tensor? by) -> Tensor(a!)
  dispatch:
    CPU: mix_
- func: mix.out(Tensor self, Tensor? by, *, Tensor(a!) out) -> Tensor(a!)
  dispatch:
    CPU: mix_out
"""


def derived_job(entries: str, derivatives: str = "[]") -> Job:
    """The job of entries and their derivatives."""
    job = job_of(entries)
    sink = Diagnostics()
    loaded = load_derivatives(SourceFile("derivatives.yaml", derivatives), job.catalog, sink)
    functions = sorted(job.catalog.functions, key=lambda function: public_api.name(function.schema))
    matched = match_derivatives(loaded, functions, sink)
    sink.raise_if_errors()
    return Job(job.catalog, job.rules, job.options, derivatives=matched)


def function_of(entries: str, name: str) -> NativeFunction:
    """The function of a name."""
    return job_of(entries).catalog[name]


def book_kernel(name: str, entries: str, derivatives: str = "[]") -> str | None:
    """The kernel of a function that counts versions or marks a view."""
    job = derived_job(entries, derivatives)
    (function,) = [
        differentiable_function
        for differentiable_function in job.derivatives.functions
        if differentiable_function.function.name.text == name
    ]
    return inplace_or_view.kernel(function, job.rules)


def test_call_is_recorded_with_arguments_and_results() -> None:
    """A node gets the arguments before the call and the result after it; in between nothing is traced."""
    assert (
        trace_type.kernel(function_of(MIX, "mix"))
        == """\
at::Tensor mix(c10::DispatchKeySet ks, const at::Tensor & self, const ::std::optional<at::Tensor> & by) {
  torch::jit::Node* node = nullptr;
  std::shared_ptr<jit::tracer::TracingState> tracer_state;
  if (jit::tracer::isTracing()) {
    tracer_state = jit::tracer::getTracingState();
    at::Symbol op_name;
    op_name = c10::Symbol::fromQualString("aten::mix");
    node = tracer_state->createNode(op_name, /*num_outputs=*/0);
    jit::tracer::recordSourceLocation(node);
    jit::tracer::addInputs(node, "self", self);
    jit::tracer::addInputs(node, "by", by);
    tracer_state->insertNode(node);

    jit::tracer::setTracingState(nullptr);
  }
  auto result =at::_ops::mix::redispatch(ks & c10::DispatchKeySet(c10::DispatchKeySet::FULL_AFTER, \
c10::DispatchKey::Tracer), self, by);
  if (tracer_state) {
    jit::tracer::setTracingState(std::move(tracer_state));
    jit::tracer::addOutput(node, result);
  }
  return result;
}
"""
    )


def test_change_in_place_has_a_functional_form_in_the_trace() -> None:
    """Where the trace is to have no side effects, the name is that of the functional form, and outs are left out."""
    inplace = trace_type.kernel(function_of(MIX, "mix_"))
    assert 'force_outplace) {\n      op_name = c10::Symbol::fromQualString("aten::mix");\n' in inplace
    assert 'jit::tracer::ensureUniqueIfOutOfPlaced("mix_", self);' in inplace
    out = trace_type.kernel(function_of(MIX, "mix.out"))
    assert 'force_outplace) {\n\n    } else {\n      jit::tracer::addInputs(node, "out", out);\n' in out
    assert 'jit::tracer::ensureUniqueIfOutOfPlaced("mix_out", out);' in out


@pytest.mark.parametrize(
    "schema",
    [
        "tell(Tensor self) -> int",
        "fill_from(Tensor self, Storage source) -> Tensor",
        "conv2d(Tensor input, Tensor weight) -> Tensor",
    ],
)
def test_some_calls_are_not_recorded(schema: str) -> None:
    """Calls without tensor results, with storages, or seen through by name, are passed on as they are."""
    (function,) = job_of(f"- func: {schema}\n").catalog.functions
    assert not trace_type.is_traced(function)
    assert "jit::" not in trace_type.kernel(function)


def test_zero_is_recorded_as_what_makes_zeros() -> None:
    """`zero_` has no functional form of that name in a trace; the one in its place takes tensor options too."""
    text = trace_type.kernel(function_of("- func: zero_(Tensor(a!) self) -> Tensor(a!)\n", "zero_"))
    assert 'fromQualString("aten::zeros_like")' in text
    assert '          jit::tracer::addInputs(node, "memory_format", memory_format);\n    } else {\n\n    }\n' in text


def test_factory_with_out_is_recorded_with_its_options() -> None:
    """What a factory writes to `out` would be made from options else, so those of `out` are recorded."""
    entries = """
- func: tile(int n) -> Tensor
  category_override: dummy
- func: tile.out(int n, *, Tensor(a!) out) -> Tensor(a!)
  dispatch:
    CPU: tile_out
"""
    text = trace_type.kernel(function_of(entries, "tile.out"))
    assert 'force_outplace) {\n      jit::tracer::addInputs(node, "out", c10::optTypeMeta' in text


def test_writing_counts_versions() -> None:
    """What was written to has another version, whether `self` or outs."""
    assert (
        book_kernel("mix_", MIX)
        == """\
at::Tensor & mix_(c10::DispatchKeySet ks, at::Tensor & self, const ::std::optional<at::Tensor> & by) {
  {
    at::AutoDispatchBelowADInplaceOrView guard;
    at::_ops::mix_::redispatch(ks & c10::after_ADInplaceOrView_keyset, self, by);
  }
  increment_version(self);
  return self;
}
"""
    )
    assert "  increment_version(out);\n  return out;\n" in (book_kernel("mix.out", MIX) or "")
    assert book_kernel("mix", MIX) is None


def test_view_is_marked_with_the_way_to_make_it_again() -> None:
    """A view remembers its base and, where strides do not tell, how it was made and how it is undone."""
    text = book_kernel("select.int", VIEWS) or ""
    assert "  if (false ||\n      !self.unsafeGetTensorImpl()->support_as_strided() ||\n" in text
    assert "func = std::make_unique<torch::autograd::generated::SelectIntViewFunc>(dim, index);" in text
    assert (
        "      return at::functionalization::FunctionalInverses::select_int_inverse(self, input_view, "
        "at::functionalization::InverseReturnMode::AlwaysView, dim, index);\n"
    ) in text
    assert "auto result = as_view(/* base */ self, /* output */ _tmp, /* is_bw_differentiable */ true," in text


def test_each_of_several_views_is_marked() -> None:
    """Views from a list have an index; lists of sizes are copied, since the lambda outlives the call."""
    text = book_kernel("split_with_sizes", VIEWS) or ""
    assert "  for (auto view_idx : c10::irange(_tmp.size())) {\n" in text
    assert "      auto split_sizes_vec = split_sizes.vec();\n" in text
    assert "SplitWithSizesViewFunc>(split_sizes, dim, view_idx);" in text
    assert "AlwaysView, view_idx, split_sizes_vec, dim);" in text
    assert "CreationMeta::MULTI_OUTPUT_NODE" in text
    assert "  auto result = std::move(_tmp);\n" in text


def test_view_without_gradient_is_marked_as_such() -> None:
    """The output may be declared as not differentiable."""
    derivatives = """
- name: select.int(Tensor(a) self, int dim, SymInt index) -> Tensor(a)
  output_differentiability: [False]
"""
    text = book_kernel("select.int", VIEWS, derivatives) or ""
    assert "as_view(self, _tmp, /* is_bw_differentiable */ false, /* is_fw_differentiable */ false);" in text


def test_view_with_an_argument_that_cannot_be_kept_is_a_fault() -> None:
    """The diagnostic names the type, at the view's entry."""
    entries = """
- func: narrow(Tensor(a) self, Scalar by) -> Tensor(a)
  dispatch:
    CPU: narrow
- func: narrow_copy(Tensor self, Scalar by) -> Tensor
  tags: view_copy
  dispatch:
    CompositeExplicitAutogradNonFunctional: narrow_copy
  autogen: narrow_copy.out
"""
    with pytest.raises(Fault) as caught:
        book_kernel("narrow", entries)
    diagnostic = caught.value.diagnostic
    assert (diagnostic.code, diagnostic.labels[0].span.line) == ("E0990", 2)
    assert diagnostic.message == "view `narrow` keeps no argument of type `const at::Scalar &`"


def test_views_are_known_by_name() -> None:
    """Views proper and operators made of views; the copying forms are none."""
    job = job_of(VIEWS)
    assert [view_base(function, job.rules) for function in job.catalog.functions[:2]] == ["self", None]
    assert class_name(job.catalog["select.int"]) == "SelectIntViewFunc"


def test_classes_hold_arguments_and_give_them() -> None:
    """A class takes the arguments as they are passed and holds them by value; symbolic integers can be replaced."""
    view = view_funcs.view_func(function_of(VIEWS, "split_with_sizes"))
    declared = view_funcs.declaration(view)
    assert (
        "  SplitWithSizesViewFunc(c10::SymIntArrayRef split_sizes, int64_t dim, int64_t view_idx) : "
        "split_sizes(split_sizes.vec()), dim(dim), view_idx(view_idx)\n"
    ) in declared
    assert "private:\n  ::std::vector<c10::SymInt> split_sizes;\n  int64_t dim;\n  int64_t view_idx;\n};\n" in declared
    defined = view_funcs.definition(view)
    assert "  symints.reserve(split_sizes.size());\n" in defined
    assert "  auto i = 0;\n  std::copy(symints.begin() + i, symints.begin() + i + split_sizes.size(), " in defined
    assert "  return at::_ops::split_with_sizes::call(input_base, split_sizes, dim)[view_idx];\n" in defined


def test_factories_set_the_flag_of_gradients() -> None:
    """The options are passed on without the flag, which is set on the result; there is a form for symbolic sizes."""
    entries = """
- func: tile(SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None)\
 -> Tensor
  dispatch:
    CPU: tile
- func: tile_like(Tensor self) -> Tensor
  dispatch:
    CPU: tile_like
- func: mix(Tensor self) -> Tensor
"""
    job = job_of(entries)
    plain, symbolic, like = "".join(
        slots_of(variable_factories.emitters, "variable_factories.h", job)["function_definitions"]
    ).split("inline ")[1:]
    assert plain.startswith("at::Tensor tile(at::IntArrayRef size, at::TensorOptions options = {}) {\n")
    assert symbolic.startswith("at::Tensor tile_symint(c10::SymIntArrayRef size, ")
    assert (
        "make_variable(at::tile(size, at::TensorOptions(options).requires_grad(::std::nullopt)), "
        "/*requires_grad=*/options.requires_grad());"
    ) in plain
    assert "make_variable(at::tile_like(self), /*requires_grad=*/false);" in like


def test_builds_without_autograd_have_neither_kernels() -> None:
    """Tracing and book-keeping are left out, factories and classes of views stay."""
    job = job_of(VIEWS, Options(disable_autograd=True))
    sources = (trace_type, inplace_or_view, variable_factories, view_funcs)
    paths = [path for source in sources for path in paths_of(source.emitters(job), job)]
    assert paths == ["autograd/variable_factories.h", "autograd/ViewFuncs.h", "autograd/ViewFuncs.cpp"]
