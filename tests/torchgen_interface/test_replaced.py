"""What programs change in the modules of PyTorch's generator has the same effect in Opwright's interface."""

from __future__ import annotations

import functools
from typing import Any

import pytest

from tests.torchgen_interface.conftest import Side
from tests.torchgen_interface.equality import difference
from tests.torchgen_interface.test_wrappers import backend_index, generator, lines

TURN = {"func": "turn(Tensor self, int steps=1, *, bool back=False) -> Tensor", "dispatch": {"AutogradXLA": "turned"}}


def test_entries_name_keys_that_programs_add(reference: Side, own: Side, request: pytest.FixtureRequest) -> None:
    """`dispatch_keys` has the keys that entries may name; the place of an entry may be a mere text."""
    parsed = []
    for side in (reference, own):
        model = side.module("model")
        with pytest.raises(AssertionError, match="AutogradXLA"):
            model.NativeFunction.from_yaml(dict(TURN), "a place", set())
        model.dispatch_keys.append(model.DispatchKey.AutogradXLA)
        request.addfinalizer(functools.partial(model.dispatch_keys.remove, model.DispatchKey.AutogradXLA))
        parsed.append(model.NativeFunction.from_yaml(dict(TURN), "a place", set()))
    assert parsed[1][0].loc == "a place"
    assert not difference(*parsed)


def renamed(key: Any) -> str:
    """The name of a key in a program that gives one of them another name."""
    return str(key.name.replace("XLA", "Acme"))


def test_keys_have_the_names_that_programs_give_them(
    reference: Side, own: Side, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the names of wrappers, in C++ names and in lower case."""
    texts = []
    for side in (reference, own):
        keys = side.module("model").DispatchKey
        monkeypatch.setattr(keys, "__str__", renamed)
        function = next(f for f in side.parsed.native_functions if str(f.func.name) == "neg")
        index = backend_index(side, function, "all", out_is_primary=False, guard=True)
        with side.module("context").native_function_manager(function):
            definitions = lines(generator(side, index, "ANONYMOUS_DEFINITION")(function))
            callee = side.module("gen_aoti_c_shim").gen_static_dispatch_backend_call(function, index)
        texts.append([keys.XLA.lower(), index.native_function_class_name(), definitions, callee])
    assert texts[1][0] == "acme"
    assert "wrapper_Acme__neg" in str(texts[1][2])
    assert texts[0] == texts[1]


def test_programs_replace_the_convention_of_kernels(
    reference: Side, own: Side, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Signatures, and declarations of kernels outside PyTorch, have the parameters of another convention."""
    texts = []
    for side in (reference, own):
        native = side.module("api.native")
        monkeypatch.setattr(side.module("api.dispatcher"), "arguments", native.arguments)
        function = next(f for f in side.parsed.native_functions if str(f.func.name) == "flatten.using_ints")
        index = backend_index(side, function, "all", out_is_primary=False, guard=False)
        with side.module("context").native_function_manager(function):
            signature = side.module("api.types").DispatcherSignature.from_schema(function.func)
            declared = side.module("dest").compute_native_function_declaration(function, index)
            texts.append([signature.decl(), signature.defn(), declared])
    assert "int64_t start_dim=0" in texts[1][2][0]
    assert texts[0] == texts[1]


SCALED = (
    {"func": "scaled.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)", "structured": True,
     "dispatch": {"PrivateUse1": "scaled_out"}},
    {"func": "scaled(Tensor self) -> Tensor", "structured_delegate": "scaled.out"},
)  # fmt: skip


def structured_of_a_device(side: Side, patch: pytest.MonkeyPatch) -> Any:
    """What a program gets that gives a device structured kernels, a namespace for kernels, and allocations."""
    model, native = side.module("model"), side.module("dest.native_functions")
    register, key = side.module("dest.register_dispatch_key"), model.DispatchKey.PrivateUse1
    printed = native.gen_structured
    patch.setattr(model, "dispatch_keys", [*model.dispatch_keys, key])
    patch.setattr(model, "STRUCTURED_DISPATCH_KEYS", {*model.STRUCTURED_DISPATCH_KEYS, key})
    for module in (model, side.module("gen")):
        patch.setattr(module, "DEFAULT_KERNEL_NAMESPACE", "at::acme", raising=False)
    patch.setattr(native, "gen_structured", lambda *unit: [f"// {text}" for text in printed(*unit)])
    patch.setattr(register, "gen_empty_impl_names", lambda _: ("acme::empty", "acme::empty_strided"))
    pairs = [model.NativeFunction.from_yaml(dict(entry), model.Location("a.yaml", 1), set()) for entry in SCALED]
    functions, kernels = [function for function, _ in pairs], pairs[0][1][key]
    flags = {"use_out_as_primary": True, "external": False, "device_guard": False}
    index = model.BackendIndex(dispatch_key=key, index=kernels, **flags)
    (group,) = side.module("gen").get_grouped_native_functions(functions)
    yield model.is_structured_dispatch_key(key)
    yield list(kernels.values())
    yield native.compute_native_function_declaration(group, index)
    yield register.gen_registration_helpers(index)
    declared = side.module("gen").get_native_function_declarations
    yield "\n".join(
        declared(
            grouped_native_functions=functions[1:],
            backend_indices={key: index},
            native_function_decl_gen=native.compute_native_function_declaration,
        )
    )


def test_programs_give_a_device_structured_kernels(reference: Side, own: Side, monkeypatch: pytest.MonkeyPatch) -> None:
    """They replace constants of `model`, and functions that print or name what such kernels need."""
    expected, actual = ([*structured_of_a_device(side, monkeypatch)] for side in (reference, own))
    assert not difference(expected[:2], actual[:2])
    assert expected[1][0].structured
    assert lines(expected[2:]) == lines(actual[2:])
    assert "acme::empty_strided(sizes" in str(actual[3])
    assert "namespace acme {" in actual[4]
