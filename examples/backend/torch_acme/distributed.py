"""A backend of `torch.distributed` for the device: Gloo computes on copies in the memory of the host.

`torch.distributed.init_process_group("acme_host")` names it, and groups that name no backend have it for tensors of the
device. A vendor's library of collectives takes its place.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist
from torch._C._distributed_c10d import ProcessGroup, _create_work_from_future
from torch.utils._pytree import tree_flatten, tree_unflatten

__all__ = ["BACKEND", "HostProcessGroup"]

BACKEND = "acme_host"

#: The collectives; the first argument has the tensors that they write.
COLLECTIVES = """
allreduce allreduce_coalesced broadcast reduce barrier send recv allgather gather scatter alltoall alltoall_base
_allgather_base all_gather_single allgather_into_tensor_coalesced all_gather_single_coalesced allgather_coalesced
reduce_scatter _reduce_scatter_base reduce_scatter_single reduce_scatter_tensor_coalesced
reduce_scatter_single_coalesced all_to_all_single
"""


class HostProcessGroup(ProcessGroup):
    """Processes that exchange tensors of the device through the host."""

    def __init__(self, store: dist.Store, rank: int, size: int, timeout: timedelta) -> None:
        super().__init__(rank, size)
        # A group of processes has names for collectives that Gloo alone does not have.
        self._host = ProcessGroup(store, rank, size)
        gloo = dist.ProcessGroupGloo(store, rank, size, timeout)
        self._host._register_backend(torch.device("cpu"), ProcessGroup.BackendType.GLOO, gloo)

        self._name = ""

    def getGroupName(self) -> str:  # noqa: N802
        """The name of the group, which C++ asks for."""
        return self._name

    def setGroupName(self, name: str) -> None:  # noqa: N802
        """Give the group a name."""
        self._name = name

    def getBackendName(self) -> str:  # noqa: N802
        """The name that C++ asks for."""
        return BACKEND

    # A group asks its backend for a device about these. This group is its own backend.
    supports_splitting = False
    supports_coalescing = False

    def _get_backend(self, device: torch.device) -> HostProcessGroup:  # noqa: ARG002
        return self

    def _start_coalescing(self, device: torch.device) -> None:
        """Begin collectives that may run together; each of these runs when it is called."""

    def _end_coalescing(self, device: torch.device) -> dist.Work:  # noqa: ARG002
        return _done(None)


def _done(result: Any) -> dist.Work:  # noqa: ANN401
    future: torch.futures.Future[Any] = torch.futures.Future()
    future.set_result(result)
    return _create_work_from_future(future)


def _collective(name: str) -> Callable[..., Any]:
    """A collective on copies, whose results are written back before it returns."""

    def call(group: HostProcessGroup, *arguments: Any, **options: Any) -> Any:  # noqa: ANN401
        leaves, structure = tree_flatten((arguments, options))
        copies = [leaf.cpu() if isinstance(leaf, torch.Tensor) else leaf for leaf in leaves]
        host_arguments, host_options = tree_unflatten(copies, structure)
        work = getattr(group._host, name)(*host_arguments, **host_options)
        work.wait()
        written = len(tree_flatten(arguments[0])[0]) if arguments else 0
        for tensor, copy in zip(leaves[:written], copies[:written], strict=True):
            if isinstance(tensor, torch.Tensor) and tensor is not copy:
                tensor.copy_(copy)
        return _done(arguments[0] if arguments else None)

    return call


for _name in COLLECTIVES.split():
    if hasattr(ProcessGroup, _name):
        setattr(HostProcessGroup, _name, _collective(_name))


def _create(store: dist.Store, rank: int, size: int, timeout: timedelta) -> HostProcessGroup:
    return HostProcessGroup(store, rank, size, timeout)


dist.Backend.register_backend(BACKEND, _create, devices=["acme", "cpu"])
