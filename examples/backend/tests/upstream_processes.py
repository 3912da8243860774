"""PyTorch's tests of processes that exchange tensors with Gloo, on the device.

What a test makes without the name of a device is on the device, and the groups of processes are the device's. Processes
are forked: PyTorch's tests start them anew, which takes longer than all that they do.
"""

from __future__ import annotations

from collections.abc import Callable
from multiprocessing import context
from typing import Any

import torch
import torch.distributed as dist
from torch.testing._internal.common_distributed import MultiProcessTestCase

#: What makes groups.
MAKERS = ("init_process_group", "new_group")


def prepare(device: str, cases: set[type]) -> None:
    """Let the processes of tests be forked, and do their work on a device."""

    class Process(context.ForkProcess):
        def run(self) -> None:
            if device != "cpu":
                torch.set_default_device(device)
                for name in MAKERS:
                    setattr(dist, name, _with_backend_of_device(getattr(dist, name)))
            super().run()

    def start(case: MultiProcessTestCase) -> None:
        case._start_processes(Process)

    MultiProcessTestCase._spawn_processes = start
    for case in cases:
        if device != "cpu" and hasattr(case, "_create_process_group_gloo"):
            case._create_process_group_gloo = _create_group


def _with_backend_of_device(make: Callable[..., Any]) -> Callable[..., Any]:
    """Where a test names Gloo, name the backend of the device."""

    def other(value: object) -> object:
        return "acme_host" if value == "gloo" else value

    def call(*arguments: Any, **options: Any) -> Any:  # noqa: ANN401
        return make(*map(other, arguments), **{name: other(value) for name, value in options.items()})

    return call


def _create_group(_: object, store: dist.Store, rank: int, size: int, options: Any) -> dist.ProcessGroup:  # noqa: ANN401
    from torch_acme.distributed import HostProcessGroup

    group = HostProcessGroup(store, rank, size, options._timeout)
    group.barrier().wait()
    return group
