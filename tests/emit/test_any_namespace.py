"""Functions of an operator library: their code names the library's namespaces, headers and macro, and not PyTorch's."""

from __future__ import annotations

import re
from functools import cache

import pytest

from opwright.emit.aten import (
    dispatch_key_headers,
    functions,
    meta_headers,
    methods,
    names,
    native_headers,
    operators,
    redispatch,
    registration_declarations,
)
from opwright.emit.aten.static_dispatch import operator_headers, static_call
from opwright.emit.aten.units import includes
from opwright.emit.emitter import EmitterSource, Job, Options
from opwright.model.dispatch_key import CPU, CUDA
from opwright.model.library import Library
from opwright.model.native_function import NativeFunctionsGroup
from tests.dialects.loading import found_faults, load_text
from tests.emit.emitting import slots_of
from tests.emit.libraries import DERIVATIVES, ENTRIES, fragments_of, library_catalog, library_job

_SOURCES: list[EmitterSource] = [
    operators.emitters,
    functions.emitters,
    methods.emitters,
    redispatch.emitters,
    registration_declarations.emitters,
    names.emitters,
    native_headers.emitters,
    meta_headers.emitters,
    dispatch_key_headers.emitters,
]

#: The names of the library's operators, with those of their kernels.
_OWN = "scale|blend|turn|parts|count|join|sow|whole"

#: PyTorch's names of what belongs to the library here. What really is PyTorch's, such as `at::Tensor`, stays.
_FOREIGN = re.compile(
    rf"\baten\b|TORCH_API|<ATen/ops/|\bat::(?:_ops|redispatch|native|meta|unboxing)\b|torch::autograd::generated"
    rf"|\bat::(?:\w+::)*(?:{_OWN})(?:_|\b)|namespace at\b"
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
    assert redispatch.definitions(scale) == [
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


def test_operators_without_tensor_results() -> None:
    """An operator of a library may return something else than a tensor, which PyTorch's may not."""
    entry = "- func: measure(Tensor self) -> float\n  dispatch:\n    CPU: measure\n"
    assert len(library_catalog(entry)) == 1
    assert found_faults(load_text(entry)[1]) == ((1, 33, 5, "E0419"),)
