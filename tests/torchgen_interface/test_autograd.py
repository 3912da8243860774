"""Texts of autograd's kernels and nodes are equal, for every function of the installed release with derivatives."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.torchgen_interface.conftest import Loaded, Side
from tests.torchgen_interface.equality import difference, trimmed

PACKAGE = "packaged.autograd"


def one_text(value: Any) -> str:
    """A text without blank lines and blanks at the ends of lines, which templates remove."""
    return re.sub("\n\n+", "\n", trimmed(value))


@pytest.fixture(scope="session")
def pairs(loaded: tuple[Loaded, Loaded]) -> list[tuple[Any, Any]]:
    """Each function with its derivatives, as PyTorch's generator and as Opwright's interface has it."""
    return list(zip(loaded[0].functions, loaded[1].functions, strict=True))


def both_current(reference: Side, pairs: list[tuple[Any, Any]]) -> Iterator[tuple[Any, Any]]:
    """The pairs, each while its function is the current one of PyTorch's generator. Opwright's needs no current one."""
    for theirs, ours in pairs:
        with reference.module("context").native_function_manager(theirs.func):
            yield theirs, ours


@pytest.mark.parametrize(
    ("module", "name", "more"),
    [
        ("gen_inplace_or_view_type", "extract_bindings", ()),
        ("gen_inplace_or_view_type", "gen_formals", ()),
        ("gen_inplace_or_view_type", "unpack_args", ()),
        ("gen_trace_type", "type_wrapper_name", ()),
        ("gen_trace_type", "type_wrapper_name", ("AutogradCUDA",)),
        ("gen_variable_factories", "is_factory_function", ()),
        ("gen_variable_factories", "process_function", ()),
        ("gen_variable_type", "gen_wrapper_registration", ("Default",)),
        ("gen_variable_type", "gen_wrapper_registration", ("AutogradCUDA",)),
    ],
)
def test_facts_of_functions_are_equal(
    reference: Side, own: Side, pairs: list[tuple[Any, Any]], module: str, name: str, more: tuple[str, ...]
) -> None:
    """Parameters, names, registrations and factories."""
    of_reference, of_own = [getattr(side.module(f"{PACKAGE}.{module}"), name) for side in (reference, own)]
    for theirs, ours in both_current(reference, pairs):
        assert not difference(of_reference(theirs.func, *more), of_own(ours.func, *more), str(theirs.func.func))


def test_views_are_the_same(reference: Side, own: Side) -> None:
    """So are the arguments that they are views of."""
    theirs, ours = [side.module(f"{PACKAGE}.gen_inplace_or_view_type") for side in (reference, own)]
    assert ours.VIEW_FUNCTIONS == theirs.VIEW_FUNCTIONS
    assert ours.ALL_VIEW_FUNCTIONS == theirs.ALL_VIEW_FUNCTIONS


def test_types_are_lists_of_tensors_for_both(reference: Side, own: Side, pairs: list[tuple[Any, Any]]) -> None:
    """The types of all arguments."""
    sides = [side.module(f"{PACKAGE}.gen_inplace_or_view_type").is_tensor_list_type for side in (reference, own)]
    for theirs, ours in pairs:
        arguments = zip(theirs.func.func.arguments.flat_all, ours.func.func.arguments.flat_all, strict=True)
        assert all(sides[0](argument.type) == sides[1](same.type) for argument, same in arguments)


def test_kernels_that_track_memory_are_equal(reference: Side, own: Side, pairs: list[tuple[Any, Any]]) -> None:
    """So is which functions have kernels."""
    theirs, ours = [side.module(f"{PACKAGE}.gen_inplace_or_view_type") for side in (reference, own)]
    kernels = 0
    for function, same in pairs:
        derived = theirs.use_derived(function)
        assert derived == ours.use_derived(same)
        if derived:
            env = theirs.gen_inplace_or_view_type_env(function)
            assert env == ours.gen_inplace_or_view_type_env(same)
            kernels += bool(env["ops_headers"])
    assert kernels > 100


def test_kernels_that_record_gradients_are_equal(reference: Side, own: Side, pairs: list[tuple[Any, Any]]) -> None:
    """Bodies fit the same template; functions without kernels raise AssertionError."""
    sides = [(side.module(f"{PACKAGE}.gen_variable_type"), side.module(f"{PACKAGE}.gen_inplace_or_view_type"))
             for side in (reference, own)]  # fmt: skip
    assert sides[0][1].METHOD_DEFINITION.pattern == sides[1][1].METHOD_DEFINITION.pattern
    dispatch_strategy = reference.module("api.autograd").dispatch_strategy
    head = {"return_type": "Tensor", "type_wrapper_name": "f", "formals": "const Tensor& self"}
    for theirs, ours in both_current(reference, pairs):
        if dispatch_strategy(theirs) != "use_derived":
            with pytest.raises(AssertionError, match=re.escape(str(ours.func.func.name))):
                sides[1][0].emit_body(ours, "Default")
            continue
        for key in theirs.info or ("Default",):
            texts = [
                module.METHOD_DEFINITION.substitute(type_definition_body=emit.emit_body(function, key), **head)
                for (emit, module), function in zip(sides, (theirs, ours), strict=True)
            ]
            assert one_text(texts[0]) == one_text(texts[1])


@pytest.mark.thorough
@pytest.mark.parametrize(
    "template",
    ["PY_FUNCTION_DEFINITION", "PY_FUNCTION_PROPS_AND_GETTERS", "FUNCTION_DECLARATION", "FUNCTION_DEFINITION"],
)
def test_nodes_are_equal(reference: Side, own: Side, loaded: tuple[Loaded, Loaded], template: str) -> None:
    """Classes, their functions, Python types and their properties, in the same order."""
    modules = [side.module(f"{PACKAGE}.gen_autograd_functions") for side in (reference, own)]
    listed = [module.get_infos_with_derivatives_list(row.infos) for module, row in zip(modules, loaded, strict=True)]
    templates = [getattr(module, template) for module in modules]
    if template.startswith("PY"):
        assert templates[0].pattern == templates[1].pattern
    for infos in zip(*listed, strict=True):
        texts = [modules[side].process_function(infos[side], templates[side]) for side in range(2)]
        assert one_text(texts[0]) == one_text(texts[1])


def test_formulas_that_hold_for_complex_values(own: Side, reference: Side, pairs: list[tuple[Any, Any]]) -> None:
    """Bodies follow changes of the set."""
    module = own.module(f"{PACKAGE}.gen_variable_type")
    names = module.GRADIENT_IMPLEMENTED_FOR_COMPLEX
    assert names == reference.module(f"{PACKAGE}.gen_variable_type").GRADIENT_IMPLEMENTED_FOR_COMPLEX
    function = next(ours for _, ours in pairs if str(ours.func.func.name) == "erf")
    refusal = 'throw_error_for_complex_autograd(result, "erf");'
    assert refusal in module.emit_body(function, "Default")
    with ExitStack() as stack:
        stack.callback(names.discard, "erf")
        names.update({"erf"})
        assert refusal not in module.emit_body(function, "Default")


def test_programs_replace_functions(
    own: Side, pairs: list[tuple[Any, Any]], monkeypatch: pytest.MonkeyPatch, loaded: tuple[Loaded, Loaded]
) -> None:
    """Bodies have the statements of the function that unpacks arguments, and the variables of its parameters."""
    views = own.module(f"{PACKAGE}.gen_inplace_or_view_type")
    function = next(ours for _, ours in pairs if str(ours.func.func.name) == "neg")

    def unpack_args(f: Any) -> Any:
        statements, bindings = ["auto& bare = self;"], views.extract_bindings(f)
        return statements, [bindings[0].with_name("bare")]

    monkeypatch.setattr(views, "unpack_args", unpack_args)
    lines = own.module(f"{PACKAGE}.gen_variable_type").emit_body(function, "Default")
    assert lines[0] == "auto& bare = self;"
    assert "  return at::redispatch::neg(ks & c10::after_autograd_keyset, bare);" in lines


def write_all(side: Side, row: Loaded, packaged: Path, out: Path) -> dict[str, str]:
    """The files of nodes and of kernels that track memory."""
    out.mkdir()
    native, templates = packaged / "ATen" / "native", str(packaged / "autograd" / "templates")
    side.module(f"{PACKAGE}.gen_autograd_functions").gen_autograd_functions_lib(str(out), row.infos, templates)
    side.module(f"{PACKAGE}.gen_inplace_or_view_type").gen_inplace_or_view_type(
        str(out), str(native / "native_functions.yaml"), str(native / "tags.yaml"), row.functions, templates
    )
    return {path.name: path.read_text() for path in out.iterdir()}


def test_files_are_equal(
    reference: Side, own: Side, loaded: tuple[Loaded, Loaded], reference_inputs: Path, tmp_path: Path
) -> None:
    """From PyTorch's templates."""
    expected = write_all(reference, loaded[0], reference_inputs.parent, tmp_path / "reference")
    files = write_all(own, loaded[1], reference_inputs.parent, tmp_path / "own")
    assert {"Functions.h", "Functions.cpp", "ADInplaceOrViewType_0.cpp"} < set(expected)
    assert files == expected


def test_files_have_what_programs_replace(
    own: Side, loaded: tuple[Loaded, Loaded], reference_inputs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`process_function` makes nodes, and `gen_inplace_or_view_type_env` the kernels that track memory."""
    nodes, views = own.module(f"{PACKAGE}.gen_autograd_functions"), own.module(f"{PACKAGE}.gen_inplace_or_view_type")
    monkeypatch.setattr(nodes, "process_function", lambda info, template: f"// {info.op}")
    slot = "inplace_or_view_method_definitions"
    monkeypatch.setattr(views, "gen_inplace_or_view_type_env", lambda fn: {slot: [f"// {fn.func.func.name}"]})
    files = write_all(own, loaded[1], reference_inputs.parent, tmp_path / "out")
    assert "// AbsBackward0\n" in files["Functions.h"]
    assert "// abs_\n" in files["ADInplaceOrViewTypeEverything.cpp"]


def test_derivatives_of_operators_that_programs_add(
    own: Side, reference_inputs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`load_derivatives` reads functions with the `parse_native_yaml` of `torchgen.gen`, which programs replace."""
    native, file = reference_inputs / "native", tmp_path / "derivatives.yaml"
    file.write_text("- name: turned(Tensor self) -> Tensor\n  self: turned(grad)\n")
    parsed = own.module("gen").parse_native_yaml_struct(
        [{"func": "turned(Tensor self) -> Tensor", "dispatch": {"CPU": "turned"}, "__line__": 1}], set()
    )
    monkeypatch.setattr(own.module("gen"), "parse_native_yaml", lambda *paths: parsed)
    load = own.module(f"{PACKAGE}.load_derivatives").load_derivatives
    infos, _ = load(str(file), str(native / "native_functions.yaml"), str(native / "tags.yaml"))
    assert [info["Default"].op for info in infos.values()] == ["TurnedBackward0"]
