"""Functions of an operator library: their code names the library's namespaces, headers and macro, and not PyTorch's."""

from __future__ import annotations

import re
from functools import cache

import pytest

from opwright.convention.python.call import dispatch_lambda
from opwright.convention.python.signature import function_signature
from opwright.dialects.derivatives.formula_helpers import FormulaHelpers
from opwright.dialects.derivatives.loader import load_derivatives
from opwright.dialects.dialect import LoadContext
from opwright.emit.aten import (
    backend_select,
    composite_kernels,
    declarations,
    dispatch_key_headers,
    functionalization,
    functions,
    meta_headers,
    names,
    native_headers,
    operators,
    registration_declarations,
    schemas,
    unboxing,
    view_meta,
    vmap,
)
from opwright.emit.aten.backend import backends, wrapped_units
from opwright.emit.aten.composite_kernels import functional_kernel, out_kernel, view_copy_kernel
from opwright.emit.aten.native_aot import NATIVE_AOT_KERNELS
from opwright.emit.aten.register import registration as register_files
from opwright.emit.aten.register.registration import REGISTRATION_TEXT, definitions
from opwright.emit.aten.static_dispatch import operator_headers, static_call
from opwright.emit.aten.units import includes
from opwright.emit.autograd import functions as autograd_functions
from opwright.emit.autograd import inplace_or_view, nodes, trace_type, variable_factories, variable_type, view_funcs
from opwright.emit.autograd.wrapper_call import call_text, unpack
from opwright.emit.autograd.wrappers import wrapper
from opwright.emit.checks import check_emittable
from opwright.emit.emitter import EmitterSource, Job, Options
from opwright.libraries.dialect.loader import load as load_libraries
from opwright.model.derivatives import DEFAULT_KEY, DifferentiableFunction
from opwright.model.dispatch_key import COMPOSITE_EXPLICIT_NON_FUNCTIONAL, CPU, CUDA, META, DispatchKey
from opwright.model.library import Library
from opwright.model.native_function import NativeFunctionsGroup, ViewGroup
from opwright.release.inputs import open_inputs
from opwright.source.diagnostic import Diagnostics, FaultsFound
from opwright.source.text import SourceFile
from tests.dialects.loading import found_faults, load_text
from tests.dialects.test_library import loaded as loaded_library
from tests.emit.emitting import RULES, slots_of
from tests.emit.libraries import DERIVATIVES, ENTRIES, fragments_of, library_catalog, library_job

_SOURCES: list[EmitterSource] = [
    operators.emitters,
    functions.emitters,
    registration_declarations.emitters,
    names.emitters,
    native_headers.emitters,
    meta_headers.emitters,
    dispatch_key_headers.emitters,
    register_files.emitters,
    functionalization.emitters,
    view_meta.emitters,
    composite_kernels.emitters,
    vmap.emitters,
    unboxing.emitters,
    backend_select.emitters,
    schemas.emitters,
    declarations.emitters,
    variable_type.emitters,
    inplace_or_view.emitters,
    trace_type.emitters,
    view_funcs.emitters,
    autograd_functions.emitters,
    variable_factories.emitters,
]

#: The names of the library's operators, with those of their kernels.
_OWN = "scale|blend|turn|parts|count|join|sow|whole"

#: PyTorch's names of what belongs to the library here. What really is PyTorch's, such as `at::Tensor`, stays.
_FOREIGN = re.compile(
    rf"\baten\b|TORCH_API|<ATen/ops/|\bat::(?:_ops|redispatch|native|meta|unboxing)\b|torch::autograd::generated"
    rf"|\bat::(?:\w+::)*(?:{_OWN})(?:_|\b)|(?m:^namespace at\b)"
)


@cache
def _job() -> Job:
    return library_job(ENTRIES, DERIVATIVES)


@pytest.mark.parametrize("source", _SOURCES, ids=lambda source: source.__module__.rpartition(".")[2])
@pytest.mark.parametrize("per_operator", [True, False])
def test_no_fragment_takes_the_library_for_pytorch(source: EmitterSource, per_operator: bool) -> None:
    """No text that is made for a function of a library has a name that only PyTorch's operators have."""
    job = _job() if per_operator else library_job(options=Options(per_operator_headers=False, static_dispatch=()))
    for emitter, text in fragments_of(source, job):
        found = _FOREIGN.search(text)
        assert found is None, f"{emitter}: {text[max(found.start() - 80, 0) : found.end() + 80]}"


def test_classes_and_functions() -> None:
    """The operator's class has the library's macro and qualified name, and the public functions call it."""
    scale = _job().catalog["scale"]
    declared = operators.declaration(scale)
    assert "\nstruct ACME_API scale {\n" in declared
    assert '  static constexpr const char* name = "acme::scale";\n' in declared
    assert functions.definition(scale) == (
        "\n// acme::scale(Tensor self, Scalar by) -> Tensor\n"
        "inline at::Tensor scale(const at::Tensor & self, const at::Scalar & by) {\n"
        "    return acme::_ops::scale::call(self, by);\n}"
    )
    assert functions.redispatch_definitions(scale) == [
        "\n// acme::scale(Tensor self, Scalar by) -> Tensor\n"
        "inline at::Tensor scale("
        "c10::DispatchKeySet dispatchKeySet, const at::Tensor & self, const at::Scalar & by) {\n"
        "    return acme::_ops::scale::redispatch(dispatchKeySet, self, by);\n}\n"
    ]


def test_kernels_are_where_their_entries_say() -> None:
    """A kernel without a namespace is in the library's own; any other one is exactly where its name says."""
    job = _job()
    blend, join = job.catalog["blend"].group, job.catalog["join"]
    assert isinstance(blend, NativeFunctionsGroup)
    declared = native_headers.declarations([blend, join], native_headers.key_ranks(job), job.rules)
    assert (
        "namespace acme {\nnamespace native {\n"
        "struct ACME_API structured_blend_out : public acme::meta::structured_blend {\n"
    ) in declared
    assert (
        "namespace gpu {\nstruct ACME_API structured_blend_out_cuda : public acme::meta::structured_blend {\n"
    ) in declared
    assert "namespace deep {\nnamespace inside {\nACME_API ::std::tuple<at::Tensor,at::Tensor> join(" in declared
    assert meta_headers.meta_class(blend).startswith(
        "struct ACME_API structured_blend : public at::impl::MetaBase {\n\n\n    void meta("
    )


def test_headers_are_in_the_folder_of_the_library() -> None:
    """Lists of includes, and headers that include others of their operator, name the library's folder."""
    job = library_job(options=Options())
    assert slots_of(functions.emitters, "scale.h", job)["operator_includes"] == "#include <acme/ops/scale_ops.h>"
    assert includes("_meta", lambda function: function.structured, job) == ["#include <acme/ops/blend_meta.h>"]
    assert slots_of(native_headers.emitters, "blend_native.h", job)["extra_includes"] == (
        "#include <acme/ops/blend_meta.h>"
    )


def test_nested_namespaces_and_no_macro() -> None:
    """The C++ namespace of a library may be another one than that of its operators, and nested."""
    shop = Library("shop", "vendor::shop", "vendor/shop", "")
    job = library_job("- func: sell(Tensor self) -> Tensor\n", library=shop)
    (sell,) = job.catalog.functions
    assert 'name = "shop::sell";' in operators.declaration(sell)
    assert "    return vendor::shop::_ops::sell::call(self);\n" in functions.definition(sell)
    declared = native_headers.declarations([sell], native_headers.key_ranks(job), job.rules)
    assert "namespace vendor {\nnamespace shop {\nnamespace native {\n" in declared


def test_static_calls_stay_in_the_library() -> None:
    """Dispatch-key functions are beside the public ones, wherever the kernels are."""
    catalog = _job().catalog
    assert static_call(catalog["blend"], [CUDA]) == "return acme::cuda::blend(self, other);"
    assert static_call(catalog["turn"], [CPU]) == "return acme::compositeexplicitautograd::turn_symint(self, by, n);"
    assert operator_headers(catalog["scale"], [CPU]) == ["#include <acme/ops/scale_cpu_dispatch.h>"]


def test_kernels_of_one_function_may_be_in_several_namespaces() -> None:
    """PyTorch's must be in one, since their wrappers are beside them."""
    entry = "- func: sell(Tensor self) -> Tensor\n  dispatch:\n    CPU: one::sell\n    CUDA: two::sell\n"
    assert len(library_catalog(entry)) == 1
    assert found_faults(load_text(entry)[1]) == ((4, 11, 9, "E0426"),)


@pytest.mark.parametrize(
    ("schema", "faults"),
    [
        ("smudge(Tensor(a!) self, Tensor by) -> ()", []),
        ("smudge(Tensor(a!) self, Tensor by) -> Tensor", []),
        ("smudge_(Tensor(a!) self, Tensor(b!) by) -> Tensor(a!)", ["W0470"]),
    ],
)
def test_operators_that_pytorch_functionalizes(schema: str, faults: list[str]) -> None:
    """An operator that writes to its arguments and returns none of them needs no functional form."""
    job, sink = library_job(f"- func: {schema}\n  dispatch:\n    CPU: smudge\n"), Diagnostics()
    check_emittable(job, sink)
    assert [diagnostic.code for diagnostic in sink.sorted()] == faults
    functions = list(job.catalog.functions)
    assert [functionalization.registered_functions(function, RULES) for function in functions] == [
        functions if faults else []
    ]


def test_random_operators_are_known_by_their_generators() -> None:
    """A name with `rand` in it says of PyTorch's operators alone that they draw numbers; a generator says it of all."""
    named = "- func: grand_total(Tensor self) -> Tensor\n"
    assert len(library_catalog(named)) == 1
    assert [code for *_, code in found_faults(load_text(named)[1])] == ["E0337"]
    drawing = "- func: draw(Tensor self, *, Generator? generator=None) -> Tensor\n"
    assert [code for *_, code in found_faults(load_text(drawing)[1])] == ["E0337"]
    assert len(library_catalog(drawing)) == 1
    _, sink = loaded_library(
        f"namespace: acme\noperators:\n{drawing}  dispatch: {{CPU: draw}}\n  outputs: like(self)\n"
    )
    assert [diagnostic.code for diagnostic in sink.sorted()] == ["W1128"]


def test_set_is_an_inplace_view_like_any_other() -> None:
    """PyTorch's `set_` needs no out-of-place form; that of a library does."""
    entry = "- func: set_(Tensor(a!) self) -> Tensor(a!)\n  device_check: NoCheck\n  tags: inplace_view\n"
    with pytest.raises(FaultsFound, match="in-place view `set_` has no out-of-place form `set`"):
        library_catalog(entry)
    assert found_faults(load_text(entry)[1]) == ()


def test_operators_without_tensor_results() -> None:
    """An operator of a library may return something else than a tensor, which PyTorch's may not."""
    entry = "- func: measure(Tensor self) -> float\n  dispatch:\n    CPU: measure\n"
    assert len(library_catalog(entry)) == 1
    assert found_faults(load_text(entry)[1]) == ((1, 33, 5, "E0419"),)


def _group(name: str) -> NativeFunctionsGroup:
    group = _job().catalog[name].group
    assert isinstance(group, NativeFunctionsGroup)
    return group


def _view_group(name: str) -> ViewGroup:
    group = _job().catalog[name].view_group
    assert isinstance(group, ViewGroup)
    return group


def _registered(name: str, key: DispatchKey) -> str:
    """What the file of one dispatch key has for the unit of an operator."""
    job = _job()
    (backend,) = [backend for backend in backends(job) if backend.key is key]
    (wrapped,) = [wrapped for wrapped in wrapped_units(job)[key] if wrapped[0].root_name == name]
    return definitions(wrapped, backend, job.context([NATIVE_AOT_KERNELS, REGISTRATION_TEXT]))


def test_wrappers_are_beside_the_public_functions() -> None:
    """A wrapper calls the kernel where it is, and is registered in the library's namespace."""
    text = _registered("join", CPU)
    assert text.startswith("namespace acme {\n")
    assert "  return deep::inside::join(parts, weight, size.guard_int(__FILE__, __LINE__));\n" in text
    assert "TORCH_LIBRARY_IMPL(acme, CPU, m) {\n" in text


def test_structured_kernels_derive_from_those_of_the_library() -> None:
    """Classes derive from the author's, those of `Meta` from the shape function; one form calls another in `acme`."""
    assert "struct structured_blend_out_functional final : public acme::native::structured_blend_out {\n" in (
        _registered("blend", CPU)
    )
    assert "struct structured_blend_out_cuda_out final : public gpu::structured_blend_out_cuda {\n" in (
        _registered("blend", CUDA)
    )
    assert "struct structured_blend_meta_inplace final : public acme::meta::structured_blend {\n" in (
        _registered("blend", META)
    )
    assert "acme::blend_outf(self, other, op.outputs_[0]);\n" in _registered("blend", COMPOSITE_EXPLICIT_NON_FUNCTIONAL)


def test_synthesized_forms_call_the_operators_of_the_library() -> None:
    """Copies of views, and forms that no entry writes, have kernels that call the other form in the library."""
    assert "  auto output = acme::_ops::turn::call(self, by, n);\n" in (view_copy_kernel(_view_group("turn")) or "")
    assert "  auto tmp_output = acme::_ops::scale::call(self, by);\n" in (out_kernel(_group("scale")) or "")
    assert "  auto output = acme::_ops::count::call(self, " in (functional_kernel(_group("count")) or "")


def test_functionalization() -> None:
    """Writes call the functional form; views are recorded in classes of the library, which call its inverses."""
    (_, inplace) = functionalization.definitions(_group("scale"), RULES)
    assert "          tmp_output = acme::_ops::scale::call(self_, by);\n" in inplace
    assert "at::functionalization::impl::replace_(self, tmp_output);" in inplace
    view, _ = functionalization.definitions(_view_group("turn"), RULES)
    assert "          tmp_output = acme::_ops::turn_copy::call(self_, by, n);\n" in view
    assert "auto view_meta = std::make_shared<acme::functionalization::turn_ViewMeta>(" in view
    record, _ = view_meta.view_metas(_view_group("turn"), _job())
    assert view_meta.declaration(record).startswith("\nstruct ACME_API turn_ViewMeta : public ViewMeta {\n")
    forward, reverse = view_meta.implementation(record)
    assert (
        "    return acme::_ops::turn::call(base, by, n);\n  } else {\n    return acme::_ops::turn_copy::call("
        in forward
    )
    assert "  return acme::functionalization::FunctionalInverses::turn_inverse(base, mutated_view, " in reverse


def test_composites_are_functionalized_by_their_kernel() -> None:
    """A view that consists of others is registered with its kernel, in the namespace that its entry says."""
    (whole,) = library_catalog(
        "- func: whole(Tensor(a) self) -> Tensor(a)\n"
        "  dispatch:\n    CompositeImplicitAutograd: very::deep::inside::whole_view\n"
    )
    assert functionalization.registration(whole) == (
        'm.impl("whole", static_cast<at::Tensor (*)(const at::Tensor & self)>(very::deep::inside::whole_view));'
    )


def test_boxed_functions_and_backend_selection() -> None:
    """Boxed functions call the public ones, and factories are registered, under the library's names."""
    scale, sow = _job().catalog["scale"], _job().catalog["sow"]
    assert unboxing.declaration(scale) == (
        "\n// acme::scale(Tensor self, Scalar by) -> Tensor\nACME_API void scale(Stack & stack);\n"
    )
    assert "    auto result_ = acme::scale(self_base, by_base);\n" in unboxing.definition(scale)
    assert '    "acme::scale",\n    "",\n' in unboxing.registration(scale)
    assert "        acme::unboxing::scale(stack);\n" in unboxing.registration(scale)
    assert "  return acme::_ops::sow::redispatch(\n" in backend_select.definition(sow)
    slots = slots_of(backend_select.emitters, "RegisterBackendSelect.cpp", _job())
    assert slots["backend_select_function_registrations"] == ['m.impl("acme::sow", TORCH_FN(sow));']


def test_vmap() -> None:
    """The plumbing of a batching rule calls the operator of the library where nothing is batched."""
    text = vmap.plumbing(_job().catalog["scale"], vmap.Plumbing.WRAPS)
    assert "    return acme::_ops::scale::call(self, by);\n" in text
    assert "  int64_t cur_level = ::opwright::batch_level(self);\n" in text


_SPECIAL = """
- func: {0}(Tensor(a) self, SymInt[] size) -> Tensor(a)
  dispatch:
    CompositeExplicitAutograd: {0}
- func: {0}_copy(Tensor self, SymInt[] size) -> Tensor
  dispatch:
    CompositeExplicitAutogradNonFunctional: {0}_copy_symint
  tags: view_copy
"""


def test_names_of_pytorch_are_nothing_special() -> None:
    """An operator that is called like one of PyTorch's special operators is treated like any other one."""
    catalog = library_catalog(_SPECIAL.format("view"))
    group = catalog["view"].view_group
    assert isinstance(group, ViewGroup)
    assert "  auto output = acme::_ops::view::call(self, size);\n" in (view_copy_kernel(group) or "")
    (strided,) = [group for group in library_catalog(_SPECIAL.format("as_strided")).view_groups if group.root_name]
    assert isinstance(strided, ViewGroup)
    record = view_meta.view_meta(strided.view, strided, RULES)
    assert "/*is_as_strided=*/false" in view_meta.declaration(record)
    (resize,) = library_catalog(
        "- func: record_stream(Tensor(a!) self, Stream s) -> Tensor(a!)\n  dispatch:\n    CPU: record\n"
    )
    assert functionalization.registered_functions(resize, RULES) == [resize]


def _derived(name: str) -> DifferentiableFunction:
    """An operator of the library with its derivatives."""
    (derived,) = [derived for derived in _job().derivatives.functions if derived.function.name.text == name]
    return derived


def test_gradients_are_recorded_around_a_redispatch_in_the_library() -> None:
    """The kernel of autograd calls the library's operator again, and refuses tangents without a formula."""
    scale, join = _derived("scale"), _derived("join")
    text = variable_type.definition(wrapper(scale, DEFAULT_KEY), _job())
    assert "  auto _tmp = ([&]() {\n    at::AutoDispatchBelowADInplaceOrView guard;\n" in text
    assert "    return acme::_ops::scale::redispatch(ks & c10::after_autograd_keyset, self_, by);\n" in text
    assert "acme::_ops::scale::call(self_t, by)" in text
    assert "throw_error_for_complex_autograd" not in text
    text = variable_type.definition(wrapper(join, DEFAULT_KEY), _job())
    assert '"Trying to use forward AD with acme::join that does not support it because there is no formula' in text
    assert "run_jit_decomposition" not in text
    assert "return acme::_ops::join::redispatch(ks & c10::after_autograd_keyset, parts_, weight, size);" in text


def test_shared_memory_is_tracked() -> None:
    """A view is made again by a class of the library; which argument it shares memory with, its schema says."""
    view = inplace_or_view.kernel(_derived("turn"), RULES) or ""
    assert "    return acme::_ops::turn::redispatch(ks & c10::after_ADInplaceOrView_keyset, self, by, n);\n" in view
    assert "    func = std::make_unique<acme::autograd::TurnViewFunc>(by, n);\n" in view
    assert '    rev_func = irreversible_view("acme::turn");\n' in view
    assert "  auto result = as_view(/* base */ self, /* output */ _tmp, " in view
    written = inplace_or_view.kernel(_derived("scale_"), RULES) or ""
    assert "    acme::_ops::scale_::redispatch(ks & c10::after_ADInplaceOrView_keyset, self, by);\n" in written
    assert "  increment_version(self);\n" in written
    assert inplace_or_view.kernel(_derived("scale"), RULES) is None
    assert "  return acme::_ops::turn::call(input_base, by, n);\n" in view_funcs.definition(
        view_funcs.view_func(_derived("turn").function)
    )


def test_a_view_need_not_call_its_base_self() -> None:
    """The base of a view is the argument that the schema says, under any name."""
    entry = (
        "- func: peel(Tensor(a) fruit, int depth) -> Tensor(a)\n  dispatch:\n    CompositeExplicitAutograd: peel\n"
        "- func: peel_copy(Tensor fruit, int depth) -> Tensor\n  tags: view_copy\n"
        "  dispatch:\n    CompositeExplicitAutogradNonFunctional: peel_copy\n"
    )
    peel, _ = library_job(entry).derivatives.functions
    text = inplace_or_view.kernel(peel, RULES) or ""
    assert "    !fruit.unsafeGetTensorImpl()->support_as_strided() ||\n" in text.replace("  ", "    ", 1)
    assert "std::make_unique<acme::autograd::PeelViewFunc>(depth);" in text
    assert "as_view(/* base */ fruit, /* output */ _tmp, " in text


def test_nodes_of_the_library() -> None:
    """The classes of nodes have the library's macro."""
    (unit,) = [unit for unit in nodes.all_nodes(_job()) if unit.name == "TurnBackward0"]
    declared = autograd_functions.declaration(unit, RULES)
    assert "struct ACME_API TurnBackward0 : public Node {\n" in declared
    assert "  ACME_API TurnBackward0() = default;\n" in declared


def test_traces_show_the_operators_of_the_library() -> None:
    """A trace records the library's operator, even one that is called like what PyTorch records in another way."""
    scale = trace_type.kernel(_job().catalog["scale"])
    assert 'op_name = c10::Symbol::fromQualString("acme::scale");\n' in scale
    assert "  auto result =acme::_ops::scale::redispatch(" in scale
    (zero,) = library_catalog("- func: zero_(Tensor(a!) self) -> Tensor(a!)\n")
    assert 'fromQualString("acme::zero_")' in trace_type.kernel(zero)


def test_debug_builds_check_pytorchs_kernels_alone() -> None:
    """Kernels of autograd do not check in debug builds what the kernels of a library do."""
    turn = wrapper(_derived("turn"), DEFAULT_KEY)
    parameters = tuple([unpack(argument, 0)[0] for argument in turn.function.arguments.all])
    assert "#ifndef NDEBUG" not in call_text(turn, parameters, _job())


def test_python_calls_the_public_functions() -> None:
    """PyTorch has factories in `torch::` for Python; those of a library are called where they are."""
    sow = _job().catalog["sow"]
    assert dispatch_lambda(function_signature(sow, method=False), sow).target == "acme::sow_symint"


_CALLS = """
- name: scale(Tensor self, Scalar by) -> Tensor
  self: {}
"""


@pytest.mark.parametrize(
    ("formula", "fault"),
    [
        ("acme::scale(grad, by)", ""),
        ("scale(grad, by)", ""),
        ("acme::blend(at::sum(grad), self)", ""),
        ("other::unknown(grad)", ""),
        ("acme::scael(grad, by)", "there is no function `acme::scael`"),
        ("at::scael(grad, by)", "there is no function `at::scael`"),
        ("scael(grad, by)", "there is no function `scael` that formulas can call"),
    ],
)
def test_formulas_call_functions_of_the_library_and_of_pytorch(formula: str, fault: str) -> None:
    """Names in the namespaces of both are checked, and those in others are not."""
    sink, helpers = Diagnostics(), FormulaHelpers(frozenset(("sum", "acme")), {})
    derivatives = SourceFile("derivatives.yaml", _CALLS.format(formula))
    loaded = load_derivatives(derivatives, _job().catalog, sink, helpers=helpers)
    assert [diagnostic.message for diagnostic in sink.sorted()] == ([fault] if fault else [])
    assert len(loaded.infos) == 1


_TWO_NAMESPACES = """
- func: one::scale(Tensor self, float by) -> Tensor
  dispatch: {CPU: scale}
- func: two::scale(Tensor self, float by) -> Tensor
  dispatch: {CPU: scale}
- func: two::scale_(Tensor(a!) self, float by) -> Tensor(a!)
  dispatch: {CPU: scale_}
  autogen: scale.out
"""


def test_operations_of_two_namespaces_do_not_mix() -> None:
    """Two namespaces of one file may have the same operator, and forms of one belong to none of the other."""
    sink = Diagnostics()
    context = LoadContext(sink, RULES, open_inputs("auto"))
    one, two = load_libraries([SourceFile("operators.yaml", _TWO_NAMESPACES)], context)
    sink.raise_if_errors()
    assert [str(function) for function in one.catalog] == ["one::scale(Tensor self, float by) -> Tensor"]
    assert one.catalog["scale"].group is None
    group = two.catalog["scale"].group
    assert isinstance(group, NativeFunctionsGroup)
    assert [(member.namespace, member.library.api) for member in group.functions()] == [("two", "two")] * 3
    assert "    return one::_ops::scale::call(self, by);\n" in functions.definition(one.catalog["scale"])
    assert "auto tmp_output = two::_ops::scale::call(self, by);" in (out_kernel(group) or "")
