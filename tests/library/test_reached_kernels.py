"""Kernels that PyTorch calls for operators without tensors, and those that it never does: W1125 names these."""

from __future__ import annotations

from types import ModuleType

import pytest

from tests.dialects.test_library import loaded

OPTIONS = "*, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None"
SCHEMAS = (
    "f() -> int",
    "f(int n, str? name=None, int[] sizes=[]) -> int",
    "f(Dict(str, Tensor) parts) -> int",
    "f(Tensor x) -> int",
    "f(Tensor? x) -> int",
    "f(Tensor[] x) -> int",
    "f(Tensor?[] x) -> int",
    "f(Tensor[]? x) -> int",
    "f(Tensor[][] nested) -> int",
    f"f(int n, {OPTIONS}) -> int",
)
KEYS = (
    "CPU",
    "AutogradCPU",
    "CompositeExplicitAutograd",
    "CompositeExplicitAutogradNonFunctional",
    "CompositeImplicitAutograd",
    "BackendSelect",
    "ADInplaceOrView",
)


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("schema", SCHEMAS)
def test_kernels_that_no_call_reaches_are_named(torch: ModuleType, schema: str, key: str) -> None:
    """An operator has the warning if PyTorch finds no kernel for its calls, and the advice makes it find one."""
    text = f"namespace: reached\nabi: stable\noperators:\n- func: {schema}\n  dispatch: {{KEY: f}}\n"
    _, sink = loaded(text.replace("KEY", key))
    diagnostics = [diagnostic for diagnostic in sink if diagnostic.code == "W1125"]
    assert bool(diagnostics) is not is_reached(torch, schema, key)
    if diagnostics:
        advised = str(diagnostics[0].help).partition(": `")[2].removesuffix(": f`")
        assert not len(loaded(text.replace("KEY", advised))[1])
        assert is_reached(torch, schema, advised)


@pytest.mark.parametrize(
    "type",
    ["Tensor", "Tensor?", "Tensor[]", "Tensor?[]", "Tensor[]?", "Tensor[][]", "Dict(str, Tensor)", "(int, Tensor[])"],
)
def test_arguments_whose_tensors_the_dispatcher_does_not_see_are_named(torch: ModuleType, type: str) -> None:
    """An argument has the warning if a meta tensor in it does not choose the kernel for meta tensors."""
    schema = f"f(Tensor x, {type} y) -> int"
    _, sink = loaded(f"namespace: reached\noperators:\n- func: {schema}\n  dispatch: {{CPU: f}}\n")
    meta = torch.ones(1, device="meta")
    value = {"(int, Tensor[])": (1, [meta]), "Dict(str, Tensor)": {"a": meta}, "Tensor[][]": [[meta]]}.get(
        type, [meta] if "[" in type else meta
    )
    library = torch.library.Library("reached", "DEF")
    try:
        library.define(schema)
        library.impl("f", lambda *_: 1, "CPU")
        library.impl("f", lambda *_: 2, "Meta")
        is_seen = torch.ops.reached.f(torch.ones(1), value) == 2
    finally:
        library._destroy()
    assert [(diagnostic.code, str(diagnostic.span and diagnostic.span.text)) for diagnostic in sink] == (
        [] if is_seen else [("W1126", f"{type} y")]
    )


def is_reached(torch: ModuleType, schema: str, key: str) -> bool:
    """Whether a call of an operator with a kernel under one key finds the kernel."""
    tensor = torch.ones(1, requires_grad=key == "AutogradCPU")
    values = {"x": tensor, "n": 1, "parts": {"a": tensor}, "nested": [[tensor]]}
    library = torch.library.Library("reached", "DEF")
    try:
        library.define(schema)
        library.impl("f", lambda *_, **__: 7, key)
        operator = torch.ops.reached.f.default
        names = [argument.name for argument in operator._schema.arguments if argument.name in values]
        lists = [
            argument.name
            for argument in operator._schema.arguments
            if argument.name == "x" and "List[" in str(argument.type)
        ]
        arguments = [[tensor] if name in lists else values[name] for name in names]
        try:
            return bool(operator(*arguments) == 7)
        except NotImplementedError as error:
            message = str(error)
    finally:
        library._destroy()
    assert "There were no tensor arguments to this function" in message
    return False
