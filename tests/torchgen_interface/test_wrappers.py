"""Wrappers of kernels, their registrations and their declarations are those of PyTorch's generator."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.torchgen_interface.conftest import Side
from tests.torchgen_interface.equality import difference, outcome

TARGETS = ("ANONYMOUS_DEFINITION", "NAMESPACED_DEFINITION", "NAMESPACED_DECLARATION", "REGISTRATION")
KEYS = ("CPU", "CUDA", "Meta", "CompositeExplicitAutogradNonFunctional", "CompositeImplicitAutograd", "MkldnnCPU")


def lines(value: Any) -> Any:
    """The lines of a text that are not blank, or those of each text of a list."""
    if isinstance(value, list):
        return [lines(item) for item in value]
    return [line.rstrip() for line in value.split("\n") if line.strip()] if isinstance(value, str) else value


def generator(side: Side, index: Any, target: str, **changes: Any) -> Any:
    """What prints a target for the kernels of an index."""
    choices = {"rocm": False, "symint": True, "class_method_name": None, "skip_dispatcher_op_registration": False}
    selector = side.module("selective_build.selector").SelectiveBuilder.get_nop_selector()
    register = side.module("dest").RegisterDispatchKey
    return register(index, side.module("utils").Target[target], selector, **{**choices, **changes})


def own_wrappers(side: Side, unit: Any) -> Iterator[Any]:
    """The texts of PyTorch's keys for a unit."""
    indices, keys = side.parsed.backend_indices, side.module("model").DispatchKey
    for key in KEYS:
        index = indices[keys[key]]
        for target in TARGETS:
            yield [key, target, lines(outcome(generator(side, index, target), unit))]
        concrete = generator(side, index, "NAMESPACED_DECLARATION", symint=False, rocm=True)
        yield [key, lines(outcome(concrete, unit))]
    for index in indices.values():
        if index.dispatch_key.name != "Undefined":
            yield lines(side.module("dest").compute_native_function_declaration(unit, index))


def members(unit: Any) -> list[Any]:
    """The overloads of a unit."""
    return list(unit.functions()) if hasattr(unit, "functional") else [unit]


def backend_index(side: Side, unit: Any, kind: str, *, out_is_primary: bool, guard: bool) -> Any:
    """The kernels of a backend for the overloads of one kind, or for all."""
    model, name = side.module("model"), side.module("api.dispatcher").name
    chosen = [function for function in members(unit) if kind in ("all", function.func.kind().name)]
    return model.BackendIndex(
        dispatch_key=model.DispatchKey["XLA"],
        use_out_as_primary=out_is_primary,
        external=True,
        device_guard=guard,
        index={
            function.func.name: model.BackendMetadata(
                kernel=name(function.func) + ("_symint" if guard and function.func.has_symint() else ""),
                structured=False,
                cpp_namespace="acme",
            )
            for function in chosen
        },
    )


def backend_wrappers(side: Side, unit: Any) -> Iterator[Any]:
    """The texts of a backend outside PyTorch for a unit."""
    for kind, out_is_primary in (("all", True), ("functional", False), ("out", True)):
        index = backend_index(side, unit, kind, out_is_primary=out_is_primary, guard=kind != "out")
        yield lines(outcome(side.module("dest").compute_native_function_declaration, unit, index))
        printer = generator(side, index, "ANONYMOUS_DEFINITION", class_method_name="XLANativeFunctions")
        definitions = lines(outcome(printer, unit))
        yield definitions
        if definitions == ["AssertionError"]:
            # Opwright refuses the unit for the other targets too.
            continue
        for target in ("NAMESPACED_DEFINITION", "REGISTRATION"):
            other = dataclasses.replace(printer, target=side.module("utils").Target[target])
            yield lines(outcome(other, unit))
        for function in members(unit):
            yield printer.wrapper_kernel_sig(function).decl()
            if hasattr(unit, "functional"):
                yield lines(outcome(printer.gen_out_inplace_wrapper, function, unit))


def output_classes(side: Side, unit: Any) -> Iterator[Any]:
    """The classes of the outputs of a structured group, and their parts."""
    if not hasattr(unit, "functional") or not unit.structured:
        return
    for key in ("CPU", "CUDA", "Meta"):
        index = side.parsed.backend_indices[side.module("model").DispatchKey[key]]
        if key != "Meta" and not index.has_kernel(unit):
            continue
        printer = generator(side, index, "ANONYMOUS_DEFINITION")
        choices = {field.name: getattr(printer, field.name) for field in dataclasses.fields(printer)}
        structured = side.module("dest.register_dispatch_key").StructuredRegisterDispatchKey(**choices, g=unit)
        for function in unit.functions():
            kind, count = function.func.kind(), len(function.func.returns)
            yield lines(structured.gen_one(function))
            yield structured.gen_class_ctor(kind, "Class", count)
            for flag in (True, False):
                names = {"class_name": "Class", "parent_class": "Parent"}
                yield lines(structured.gen_class(function, kind, **names, generate_super=flag))
                yield lines(structured.gen_class_set_output_functions(kind, "Parent", flag))
                yield lines(structured.gen_class_set_output_body(kind, flag))
            for check in side.module("model").DeviceCheckType:
                yield lines(structured.gen_device_check(check, list(function.func.arguments.flat_all), "name"))


@pytest.mark.thorough
@pytest.mark.parametrize("texts", [own_wrappers, backend_wrappers, output_classes])
def test_texts_are_equal(reference: Side, own: Side, texts: Callable[[Side, Any], Iterator[Any]]) -> None:
    """The texts of every group are equal but for blank lines."""
    groups = [
        side.module("gen").get_grouped_native_functions(side.parsed.native_functions) for side in (reference, own)
    ]
    for theirs, ours in zip(*groups, strict=True):
        with reference.module("context").native_function_manager(theirs):
            expected = list(texts(reference, theirs))
        with own.module("context").native_function_manager(ours):
            actual = list(texts(own, ours))
        assert not difference(expected, actual, str(members(ours)[0].func))


def test_headers_and_helpers_are_equal(reference: Side, own: Side) -> None:
    """So are the includes of each key, and the helpers of keys that have structured kernels."""
    for name in ("CPU", "CUDA", "Meta", "CompositeExplicitAutogradNonFunctional", "SparseCPU"):
        texts = []
        for side in (reference, own):
            dest, index = side.module("dest"), side.parsed.backend_indices[side.module("model").DispatchKey[name]]
            headers = [
                dest.gen_registration_headers(index, per_operator, rocm)
                for per_operator, rocm in ((True, True), (False, False))
            ]
            texts.append([headers, lines("\n".join(dest.gen_registration_helpers(index)))])
        assert texts[0] == texts[1], name


def test_targets_and_selections(own: Side) -> None:
    """Other targets are refused, and only selected operators are registered, unless registrations are skipped."""
    function = own.parsed.native_functions[0]
    index = backend_index(own, function, "all", out_is_primary=True, guard=False)
    with pytest.raises(AssertionError, match=r"wrappers have no text for Target\.DEFINITION"):
        generator(own, index, "DEFINITION")(function)
    assert len(generator(own, index, "REGISTRATION")(function)) == 1
    assert not generator(own, index, "REGISTRATION", skip_dispatcher_op_registration=True)(function)
    selector = own.module("selective_build.selector").SelectiveBuilder
    none = selector.from_legacy_op_registration_allow_list(set(), True, False)
    assert not dataclasses.replace(generator(own, index, "REGISTRATION"), selector=none)(function)


def test_backends_may_replace_parts(own: Side, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a backend puts in place of a method of the class of structured kernels is in the wrappers."""
    structured = own.module("dest.register_dispatch_key").StructuredRegisterDispatchKey
    monkeypatch.setattr(structured, "gen_class_set_output_body", lambda _, __, replaces: f"provide({replaces});")
    groups = own.module("gen").get_grouped_native_functions(own.parsed.native_functions)
    group = next(group for group in groups if str(members(group)[0].func.name) == "add.Tensor")
    index = own.parsed.backend_indices[own.module("model").DispatchKey["CPU"]]
    for text in generator(own, index, "ANONYMOUS_DEFINITION")(group):
        assert text.count("        provide(True);\n") == text.count("        provide(False);\n") == 1


def test_groups_may_be_made_of_single_functions(own: Side) -> None:
    """A group of functions that were loaded one by one prints what the group of the file prints."""
    groups = own.module("gen").get_grouped_native_functions(own.parsed.native_functions)
    group = next(group for group in groups if str(members(group)[0].func.name) == "relu")
    copies = {name: dataclasses.replace(getattr(group, name)) for name in ("functional", "inplace", "out")}
    copied = dataclasses.replace(group, **copies)
    index = backend_index(own, group, "functional", out_is_primary=False, guard=True)
    printer = generator(own, index, "ANONYMOUS_DEFINITION", class_method_name="Acme")
    assert printer(copied) == printer(group)
