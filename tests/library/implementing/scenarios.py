"""Runs the scenarios of two packages, each in a process of its own, and prints what each says.

The first argument is the folder of the package with kernels for operators of others, its name the second one. The owner
is a module that defines the operators of the example library, with kernels and rules of its own.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Final

OWNERS: Final = (
    "gamma(Tensor self, float exponent=2.2) -> Tensor",
    "track(Tensor(a!) mean, Tensor value, *, float momentum=0.1) -> ()",
    "moments(Tensor self, int dim=-1, bool keepdim=False) -> (Tensor mean, Tensor deviation)",
)
DRIFTED: Final = (
    *OWNERS[:2],
    "moments(Tensor self, bool keepdim=False, int dim=-1) -> (Tensor mean, Tensor deviation)",
)


def run_scenarios(folder: str, package: str) -> dict[str, str]:
    """What each scenario says."""
    import torch

    sys.path.insert(0, folder)
    torch.utils.rename_privateuse1_backend("npu")

    class Guard(torch._C._acc.DeviceGuard):  # type: ignore[misc]
        def type_(self) -> object:
            return torch._C._autograd.DeviceType.PrivateUse1

    torch._C._acc.register_python_privateuseone_device_guard(Guard())
    kept: list[object] = []

    def define(schemas: tuple[str, ...]) -> None:
        """Import the owner."""
        library = torch.library.Library("acme", "DEF")
        for schema in schemas:
            library.define(schema)
        if schemas:
            library.impl("gamma", lambda self, exponent=2.2: self + exponent, "CPU")
            library.impl("gamma", lambda self, exponent=2.2: self.new_empty(self.shape), "Meta")
        kept.append(library)
        sys.modules["acme"] = ModuleType("acme")

    def load() -> None:
        """Import the package with the kernels."""
        importlib.import_module(package)

    def calls() -> str:
        """Results of calls on both devices."""
        tensor = torch._C._acc.create_empty_tensor((2, 3), torch.float32)
        on_device = torch.ops.acme.gamma(tensor, 3.0)
        told = [
            str(on_device.device),
            str(len(torch.ops.acme.moments(tensor))),
            error(lambda: torch.ops.acme.gamma(tensor, 7.0)),
        ]
        other = torch._C._acc.create_empty_tensor((2, 3), torch.float32)
        told.append(error(lambda: torch.ops.acme.track(tensor, other, momentum=0.5)))
        told.append(error(lambda: torch.ops.acme.gamma(tensor, -1.0)))
        told.append(str(torch.ops.acme.gamma(torch.ones(2), 3.0).tolist()))
        told.append(str(torch.ops.acme.gamma(torch.ones(2, device="meta")).device))
        return "; ".join(told)

    def moments() -> str:
        """What a call of the operator that has drifted says, twice, and one of another operator."""
        tensor = torch._C._acc.create_empty_tensor((2, 3), torch.float32)
        texts = [error(lambda: torch.ops.acme.moments(tensor)) for _ in range(2)]
        return "; ".join([*texts, str(torch.ops.acme.gamma(tensor, 3.0).device)])

    steps: dict[str, list[Callable[[], object]]] = {
        "owner first": [lambda: define(OWNERS), load, calls],
        "owner last": [load, lambda: define(OWNERS), calls],
        "drifted, owner first": [lambda: define(DRIFTED), load],
        "drifted, owner last": [load, lambda: define(DRIFTED), moments],
        "gone, owner first": [lambda: define(OWNERS[:2]), load],
        "gone, owner last": [load, lambda: define(OWNERS[:2]), lambda: torch.ops.acme.moments],
        "absent": [load, lambda: torch.ops.acme.gamma],
        "other spelling": [
            lambda: define(("gamma(Tensor   self, float exponent=2.20) -> (Tensor)", *OWNERS[1:])),
            load,
            calls,
        ],
    }
    return {name: in_child(scenario) for name, scenario in steps.items()}


def error(call: Callable[[], object]) -> str:
    """The message of the error that a call raises."""
    try:
        call()
    except Exception as raised:
        return f"{type(raised).__name__}: {str(raised).partition(chr(10) + 'Exception raised')[0]}"
    return "no error"


def in_child(scenario: list[Callable[[], object]]) -> str:
    """What the last step gives, or the first error, in a copy of this process; or how that ended."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        said: list[object] = []
        fault = error(lambda: said.extend([step() for step in scenario]))
        text = str(said[-1]) if said else fault
        os.write(writing, text.encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as answer:
        text = answer.read().decode()
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return text if not status else f"ended with {status}"


if __name__ == "__main__":
    print(json.dumps(run_scenarios(*sys.argv[1:])))
