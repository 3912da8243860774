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


def is_reached(torch: ModuleType, schema: str, key: str) -> bool:
    """Whether a call of an operator with a kernel under one key finds the kernel."""
    tensor = torch.ones(1, requires_grad=key == "AutogradCPU")
    values = {"x": tensor, "n": 1, "parts": {"a": tensor}}
    library = torch.library.Library("reached", "DEF")
    try:
        library.define(schema)
        library.impl("f", lambda *_, **__: 7, key)
        operator = torch.ops.reached.f.default
        names = [argument.name for argument in operator._schema.arguments if argument.name in values]
        lists = [argument.name for argument in operator._schema.arguments if "List[" in str(argument.type)]
        arguments = [[tensor] if name in lists else values[name] for name in names]
        try:
            return bool(operator(*arguments) == 7)
        except NotImplementedError as error:
            message = str(error)
    finally:
        library._destroy()
    assert "There were no tensor arguments to this function" in message
    return False
