"""Program for the reference's interpreter: what it makes of every operator as a lazy one, as JSON lines.

usage: reference_lazy.py SOURCE_PATH > lazy.jsonl
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

from torchgen.api.lazy import setValueT
from torchgen.api.types import BaseCppType
from torchgen.context import native_function_manager
from torchgen.dest.lazy_ir import GenLazyIR, GenLazyNativeFuncDefinition, GenLazyShapeInferenceDefinition, GenTSLazyIR
from torchgen.gen import parse_native_yaml
from torchgen.model import BackendIndex, BackendMetadata, DispatchKey, NativeFunction

#: The names of a backend that has its own for everything.
OWN_NAMES = (
    "acme::lazy",
    "tensor_list",
    "tensor",
    "try_tensor",
    "ACME_COUNT()",
    "New",
    True,
    "acme::to_aten",
    "acme::to_aten_tuple",
    "acme::Pointer",
    "acme::device",
)
USUAL_NAMES = (
    "torch::lazy",
    "GetTensorList",
    "GetLtcTensorOrCreateForWrappedNumber",
    "TryGetLtcTensor",
    'TORCH_LAZY_FN_COUNTER("lazy::")',
    "LazyTensor::Create",
    False,
    "torch::lazy::CreateAtenFromLtcTensor",
    "torch::lazy::TupleAtenFromLtcTensors",
    "LazyTensorPtr",
    "torch::lazy::GetBackendDevice",
)


def attempt(call: Callable[[NativeFunction], list[str]], function: NativeFunction) -> str | None:
    """The text that a generator makes of a function; None if it fails."""
    try:
        return "".join(call(function))
    except (AssertionError, AttributeError):
        return None


def records(function: NativeFunction) -> dict[str, object]:
    """What the reference makes of one function, with kernels that take symbolic integers and others."""
    texts: dict[str, object] = {"name": f"{function.namespace}::{function.func.name}"}
    name = str(function.func.name.name)
    for symint in (False, True) if function.func.has_symint() else (False,):
        kernel = (f"{name}_out" if function.func.is_out_fn() else name) + ("_symint" if symint else "")
        metadata = BackendMetadata(kernel=kernel, structured=False, cpp_namespace="acme::native")
        index = BackendIndex(DispatchKey.Lazy, False, False, True, {function.func.name: metadata})
        makers = {
            "node": GenTSLazyIR(index, "Acme", "TsNode", True),
            "kernel": GenLazyNativeFuncDefinition("LazyNativeFunctions", index, "Tensor", True, *USUAL_NAMES),
            "shape": GenLazyShapeInferenceDefinition(index, "Tensor"),
        }
        # Other names change all texts in the same way, so some texts suffice.
        if len(str(function.func)) % 5 == 0:
            own = GenLazyNativeFuncDefinition("LazyNativeFunctions", index, "Tensor", False, *OWN_NAMES)
            makers |= {"plain node": GenLazyIR(index, "Acme", "Node", False), "own kernel": own}
        texts |= {f"{what} {symint}": attempt(make, function) for what, make in makers.items()}
    return texts


def main() -> None:
    """Print one line per overload."""
    setValueT(BaseCppType("torch::lazy", "Value"))
    source = Path(sys.argv[1]) / "native"
    parsed = parse_native_yaml(str(source / "native_functions.yaml"), str(source / "tags.yaml"))
    for function in parsed.native_functions:
        with native_function_manager(function):
            print(json.dumps(records(function)))


if __name__ == "__main__":
    main()
