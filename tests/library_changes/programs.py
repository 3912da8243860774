"""Programs of an operator library: one form of it saves them, another one runs them.

    python programs.py save BINARY PYTHON NAMESPACE FOLDER
    python programs.py run BINARY PYTHON NAMESPACE FOLDER

`FOLDER/calls.json` has the calls of each operator. Nothing of Opwright is imported but what the library generated.
"""

from __future__ import annotations

import importlib
import json
import pickle
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from typing import TypeAlias

    import torch

    #: The values of a call by the names of arguments.
    Values: TypeAlias = "dict[str, Any]"

#: How many of the calls that an operator takes become programs of a kind that costs time.
_SLOW: Final = 2


def tensor(description: Mapping[str, Any]) -> torch.Tensor:
    """A tensor with given sizes, dtype, layout and seed."""
    import torch

    sizes, dtype = description["sizes"], getattr(torch, description["dtype"])
    count = 1
    for size in sizes:
        count *= size
    values = (torch.arange(count) * description["seed"]) % 7 - 3
    dense = values.reshape(sizes).to(dtype)
    match description["layout"]:
        case "gaps":
            return torch.stack((dense, dense), -1)[..., 0]
        case "mixed":
            return dense.transpose(0, -1).contiguous().transpose(0, -1) if sizes else dense
        case _:
            return dense


def values_of(call: Mapping[str, Any]) -> Values:
    """The arguments of a call, with new tensors."""
    return {name: _value(value) for name, value in call.items()}


def _value(value: object) -> object:
    if isinstance(value, dict):
        return tensor(value)
    return [_value(item) for item in value] if isinstance(value, list) else value


class Call:
    """A call of an operator, with how its arguments are given."""

    def __init__(self, namespace: str, operator: Mapping[str, Any], call: Mapping[str, Any]) -> None:
        self.namespace: Final = namespace
        self.name: Final[str] = operator["name"]
        #: The names of arguments that are given by position. The first one that a call leaves out ends them.
        positional = []
        for name in operator["positional"]:
            if name not in call:
                break
            positional.append(name)
        self.positional: Final = positional
        self.call: Final = call

    def given(self) -> tuple[list[Any], Values]:
        """New arguments, by position and by name."""
        values = values_of(self.call)
        args = [values.pop(name) for name in self.positional]
        return args, values

    def run(self, arguments: tuple[Sequence[Any], Values]) -> tuple[Any, list[Any]]:
        """What the operator gives for arguments, and the tensors among these after the call."""
        import torch

        args, kwargs = arguments
        result = getattr(getattr(torch.ops, self.namespace), self.name)(*args, **kwargs)
        return result, [*args, *kwargs.values()]

    def source(self) -> tuple[str, list[Any]]:
        """A function in TorchScript that calls the operator, and the tensors that it takes."""
        args, kwargs = self.given()
        parameters: list[str] = []
        tensors: list[Any] = []

        def text(value: object) -> str:
            if isinstance(value, (str, int, float, type(None))):
                return repr(value)
            tensors.append(value)
            parameters.append(f"t{len(parameters)}: {'List[Tensor]' if isinstance(value, list) else 'Tensor'}")
            return f"t{len(parameters) - 1}"

        texts = [text(value) for value in args] + [f"{name}={text(value)}" for name, value in kwargs.items()]
        inner = f"torch.ops.{self.namespace}.{self.name}({', '.join(texts)})"
        return f"def forward(self, {', '.join(parameters)}):\n  return {inner}\n", tensors


def _plain(value: object) -> object:
    """A result as something that can be compared: tensors by dtype, sizes and values."""
    import torch

    if isinstance(value, torch.Tensor):
        grad = None if value.grad is None else _plain(value.grad)
        numbers = [repr(number) for number in value.detach().double().flatten().tolist()]
        return [str(value.dtype), list(value.shape), numbers, value.requires_grad, grad]
    return [_plain(item) for item in value] if isinstance(value, (list, tuple)) else repr(value)


def _called(call: Call) -> object:
    return _plain(call.run(call.given()))


def _with_gradient(call: Call) -> object:
    """The results of a call whose first argument records a gradient, and that gradient. Raises if there is none."""
    import torch

    arguments = call.given()
    (first, *_), _ = arguments
    first.requires_grad_()
    results, _ = call.run(arguments)
    result = results if isinstance(results, torch.Tensor) else results[0]
    result.sum().backward()
    return [_plain(results), _plain(first.grad)]


def _under_autocast(call: Call) -> object:
    import torch

    with torch.autocast("cpu", dtype=torch.bfloat16):
        return _called(call)


_CALLS: Final[dict[str, Callable[[Call], object]]] = {
    "call": _called,
    "gradient": _with_gradient,
    "autocast": _under_autocast,
}


def _saved_script(call: Call) -> bytes:
    import torch

    source, _ = call.source()
    module = torch.jit.ScriptModule()
    module.define(source)
    stream = BytesIO()
    torch.jit.save(module, stream)
    return stream.getvalue()


def _run_script(call: Call, program: bytes) -> object:
    import torch

    _, tensors = call.source()
    result = torch.jit.load(BytesIO(program))(*tensors)
    return _plain([result, tensors])


class _Function:
    """What a call does, as a function of its tensors."""

    def __init__(self, call: Call) -> None:
        source, self.tensors = call.source()
        lines = source.replace("List[Tensor]", "list").replace(": Tensor", "")
        self.lines: Final = lines


def _saved_export(call: Call) -> bytes:
    import torch

    function = _Function(call)
    scope: dict[str, Any] = {"torch": torch}
    exec(function.lines, scope)
    module = type("Program", (torch.nn.Module,), {"forward": scope["forward"]})()
    stream = BytesIO()
    torch.export.save(torch.export.export(module, tuple(function.tensors)), stream)
    return stream.getvalue()


def _run_export(call: Call, program: bytes) -> object:
    import torch

    _, tensors = call.source()
    result = torch.export.load(BytesIO(program)).module()(*tensors)
    return _plain([result, tensors])


_SAVED: Final[dict[str, tuple[Callable[[Call], bytes], Callable[[Call, bytes], object]]]] = {
    "script": (_saved_script, _run_script),
    "export": (_saved_export, _run_export),
}


def save(namespace: str, folder: Path) -> None:
    """Save the programs of the calls that work, with what they give."""
    programs = []
    for operator in json.loads((folder / "calls.json").read_text("utf-8")):
        taken = []
        for call in operator["calls"]:
            try:
                _called(Call(namespace, operator, call))
            except Exception:
                continue
            taken.append(call)
        for place, call in enumerate(taken[: operator["most"]]):
            made = Call(namespace, operator, call)
            for kind, function in _CALLS.items():
                if kind == "call" or place < _SLOW:
                    try:
                        programs.append((operator, kind, call, b"", function(made)))
                    except Exception:
                        continue
            for kind, (make, run) in _SAVED.items():
                if place < _SLOW:
                    try:
                        program = make(made)
                        programs.append((operator, kind, call, program, run(made, program)))
                    except Exception:
                        continue
    (folder / "programs.pickle").write_bytes(pickle.dumps(programs))


def run(namespace: str, folder: Path) -> list[dict[str, Any]]:
    """What each saved program does here: `same`, or what is otherwise."""
    outcomes = []
    for operator, kind, call, program, before in pickle.loads((folder / "programs.pickle").read_bytes()):
        made = Call(namespace, operator, call)
        try:
            after = _SAVED[kind][1](made, program) if program else _CALLS[kind](made)
            outcome = "same" if after == before else f"gives {after} instead of {before}"
        except Exception as error:
            outcome = f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"
        outcomes.append({"operator": operator["name"], "kind": kind, "call": call, "outcome": outcome})
    return outcomes


def main(what: str, binary: str, python: str, namespace: str, folder: str) -> None:
    """Load a library, and save programs or run those that are saved."""
    import torch

    warnings.simplefilter("ignore")
    torch.ops.load_library(binary)
    sys.path.insert(0, python)
    importlib.import_module(f"{namespace}._ops")
    if what == "save":
        save(namespace, Path(folder))
    else:
        print(json.dumps(run(namespace, Path(folder))))


if __name__ == "__main__":
    main(*sys.argv[1:])
