"""What is made from functions is equal: overloads, unboxing, differentiable results, lines of stubs."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest
from torchgen import model as reference_model
from torchgen import native_function_generation as reference_generation

from opwright.torchgen import model, native_function_generation
from tests.torchgen_interface.conftest import Side
from tests.torchgen_interface.equality import difference, outcome, trimmed
from tests.torchgen_interface.test_conventions import compare


def out_forms(side: Side, function: Any) -> Any:
    """The out overloads made from a function."""
    module = side.module("native_function_generation")
    yield module.get_expected_out_variant_overload_name(function.func.name.overload_name)
    for name in ("self_to_out_signature", "functional_to_out_signature", "mutable_to_out_signature"):
        if name.split("_")[0].replace("self", "inplace") == function.func.kind().name:
            yield str(outcome(getattr(module, name), function.func))


def unboxed(side: Side, function: Any) -> Any:
    """The unboxed arguments of a function, with statements of which empty ones have no spaces."""
    result = outcome(side.module("api.unboxing").convert_arguments, function)
    yield side.module("api.unboxing").name(function)
    if isinstance(result, str):
        yield result
    else:
        yield result[0]
        yield [line if line.strip() else "" for line in result[1]]


def differentiable(side: Side, function: Any) -> Any:
    """The results through which gradients flow, without and with what a file says of them."""
    module = side.module("api.autograd")
    plain = module.NativeFunctionWithDifferentiabilityInfo(function, None, None)
    yield module.dispatch_strategy(plain)
    yield module.is_foreach_func(function)
    yield outcome(module.gen_differentiable_outputs, plain)
    derivative = module.Derivative("grad * retain_variables", "grad", ("self",), (), (), set())
    info = module.DifferentiabilityInfo(
        "f.x", function, "FBackward", [derivative], [], [], [], [], set(), [], ["result1"], [True, False], None
    )
    with_info = module.NativeFunctionWithDifferentiabilityInfo(function, {"Default": info}, None)
    yield outcome(module.gen_differentiable_outputs, with_info)
    # Formulas that use the only gradient, of a file that says nothing of the results.
    silent = dataclasses.replace(info, output_differentiability=None)
    with_silent = module.NativeFunctionWithDifferentiabilityInfo(function, {"Default": silent}, None)
    yield outcome(module.gen_differentiable_outputs, with_silent)
    yield [module.dispatch_strategy(with_info), info.has_derivatives]
    python = side.module("api.python")
    yield outcome(python.structseq_fieldnames, function.func.returns)
    yield python.has_tensor_options(function)
    yield [module.uses_retain_variables(info), module.uses_single_grad(info), module.uses_single_grad(None)]


def functionalized(side: Side, function: Any) -> Any:
    """The parts of the kernel of a function under functionalization."""
    module, signatures = side.module("gen_functionalization_type"), side.module("api.types").DispatcherSignature
    for symint in (True, False):
        signature = signatures.from_schema(function.func, symint=symint)
        parts = [module.unwrap_tensor_args(signature, is_view_op=is_view) for is_view in (True, False)]
        for text, bindings in (*parts, module.convert_to_meta_tensors(signature)):
            yield trimmed(text)
            yield bindings
    yield [module.maybe_create_output(function, "output"), module.wrapper_name(function.func)]
    yield module.modifies_arguments(function)
    yield outcome(module.get_mutable_redispatch_return_names, function, "output")
    yield outcome(module.return_from_mutable_noop_redispatch, function, "output")
    yield [outcome(module.return_str, function.func.returns, list("abc"[:count])) for count in range(4)]


#: What tables say of a shim, right and wrong; `last` stands for the last argument of the function.
SHIMS: list[dict[str, Any]] = [
    {"since": "TORCH_VERSION_2_10_0", "v2": {"new_args": ["last"], "since": "TORCH_VERSION_2_11_0"}},
    {"v2": {"new_args": []}},
    {"since": "2.10"},
    {"w2": {"new_args": []}},
    {"v2": ["last"]},
]


def shims(side: Side, function: Any) -> Any:
    """The C shim of a function, and what it calls."""
    module, keys = side.module("gen_aoti_c_shim"), side.module("model").DispatchKey
    yield module.get_fallback_op_name(function)
    yield module.gen_static_dispatch_backend_call_signature(function)
    called = module.gen_static_dispatch_backend_call(function, side.parsed.backend_indices[keys["CPU"]])
    yield [called, module.gen_static_dispatch_backend_call(function)]
    arguments = [argument.name for argument in function.func.arguments.flat_all]
    cases = [{}, *SHIMS] if shim(side, function, called, {}) != "NotImplementedError" else [{}]
    for case in cases:
        last = arguments[-1:] or [""]
        versions = {
            name: {**value, "new_args": [*last[: len(value["new_args"])]]} if isinstance(value, dict) else value
            for name, value in case.items()
        }
        yield trimmed(shim(side, function, called, versions))


def shim(side: Side, function: Any, called: str, case: dict[str, Any]) -> Any:
    """The declarations and the definitions of a shim. PyTorch's generator remembers those of each name."""
    module = side.module("gen_aoti_c_shim")
    getattr(module, "declaration_definition_cache", {}).clear()
    try:
        return outcome(module.gen_declaration_and_definition, function.func, "cpu", called, case)
    except NotImplementedError:
        return "NotImplementedError"


@pytest.mark.parametrize("key", [None, "CPU", "CUDA", "MkldnnCPU"])
def test_shims_call_the_same_kernels(reference: Side, own: Side, key: str | None) -> None:
    """Those of a device for every function, else those for all devices, but not in shims that extend others."""
    found: list[list[str | None]] = []
    for side in (reference, own):
        index_of = side.module("gen_aoti_c_shim").get_backend_index_for_aoti
        functions, indices = side.parsed
        groups = side.module("gen").get_grouped_native_functions(functions)
        by_name = {f.func.name: group for group in groups if hasattr(group, "functional") for f in group.functions()}
        chosen = None if key is None else side.module("model").DispatchKey[key]
        calls = [
            index_of(function, by_name, chosen, indices, extends) for function in functions for extends in (False, True)
        ]
        found.append([None if index is None else str(index.dispatch_key) for index in calls])
    assert found[0] == found[1]


@pytest.mark.thorough
@pytest.mark.parametrize("facts", [out_forms, unboxed, differentiable, functionalized, shims])
def test_facts_are_equal(reference: Side, own: Side, facts: Any) -> None:
    """They are equal for every function."""
    compare(reference, own, facts)


def test_generated_functions_are_equal(reference: Side, own: Side, tmp_path: Any) -> None:
    """Overloads are added to functions that were written, with their kernels."""
    added = []
    for side in (reference, own):
        functions = [function for function in side.parsed.native_functions if "generated" not in function.tags]
        indices: dict[Any, Any] = {}
        if side is reference:
            from collections import defaultdict

            indices = defaultdict(dict)
        count = len(functions)
        side.module("native_function_generation").add_generated_native_functions(functions, indices)
        assert len(functions) > count
        added.append([functions[count:], dict(indices)])
    assert not difference(added[0], added[1])
    groups = [
        side.module("native_function_generation").pre_group_native_functions(side.parsed.native_functions)
        for side in (reference, own)
    ]
    assert list(map(str, groups[0])) == list(map(str, groups[1]))


@pytest.mark.parametrize("width", range(50, 90))
def test_lines_of_stubs_are_equal(reference: Side, own: Side, width: int) -> None:
    """Long signatures have a line for each parameter."""
    calls: list[Any] = [["f", ["x" * (width // 2), "y" * (width // 2)], "int"], ["f" * width], ["f", ["x" * width]]]
    for call in calls:
        texts = [side.module("api.python").format_function_signature(*call) for side in (reference, own)]
        assert texts[0] == texts[1]


def test_selectors_are_made(own: Side) -> None:
    """A list of operators selects these, no list selects all."""
    select = own.module("gen").get_custom_build_selector
    assert select(None, None).is_operator_selected("aten::add")
    assert select(["aten::add"], None).is_operator_selected("aten::add")
    assert not select(["aten::add"], None).is_operator_selected("aten::sub")
    with pytest.raises(AssertionError):
        select([], "selected.yaml")


@pytest.mark.parametrize("roots", [None, ["aten::transpose"]])
def test_classes_of_views_are_offered_to_python(
    reference: Side, own: Side, reference_inputs: Path, tmp_path: Path, roots: list[str] | None
) -> None:
    """PyTorch's build asks for the file; selective builds have no classes."""
    native, templates = reference_inputs / "native", str(reference_inputs / "templates")
    for side in (reference, own):
        folder = tmp_path / side.package
        folder.mkdir()
        selector = side.module("gen").get_custom_build_selector(roots, None)
        side.module("gen_functionalization_type").gen_functionalization_view_meta_classes(
            str(native / "native_functions.yaml"), str(native / "tags.yaml"), selector, str(folder), templates
        )
    (expected,) = (tmp_path / reference.package).iterdir()
    text = (tmp_path / own.package / expected.name).read_text()
    assert ("transpose_int_ViewMeta" in text) == (roots is None)
    assert text == expected.read_text()


@pytest.mark.parametrize("annotations", ["ab", "ba", "ac", "cd", "bc", "abd", "adb", "ca"])
def test_letters_of_out_arguments(annotations: str) -> None:
    """Letters of out arguments are the reference's, which skips those in use in alphabetical order alone."""
    arguments = ", ".join([f"Tensor({letter}) x{place}" for place, letter in enumerate(annotations)])
    text = f"f({arguments}) -> (Tensor, Tensor, Tensor)"
    wanted = reference_generation.functional_to_out_signature(reference_model.FunctionSchema.parse(text))
    own = native_function_generation.functional_to_out_signature(model.FunctionSchema.parse(text))
    assert str(own) == str(wanted)
