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
