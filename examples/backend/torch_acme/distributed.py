"""A backend of `torch.distributed` for the device: Gloo computes on copies in the memory of the host.

Each call starts Gloo's work and returns, as calls of Gloo do. What Gloo received is written to the tensors of the
device when a program waits for the work, asks whether it is done, or asks for its future.

`torch.distributed.init_process_group("acme_host")` names it, and groups that name no backend have it for tensors of the
device. A vendor's library of collectives takes its place.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from datetime import timedelta
from typing import Any, NamedTuple

import torch
import torch.distributed as dist
from torch._C._distributed_c10d import ProcessGroup
from torch.utils._pytree import tree_flatten, tree_unflatten

__all__ = ["BACKEND", "HostProcessGroup", "HostWork"]

BACKEND = "acme_host"

#: What processes do together; the first argument has the tensors that are written.
COLLECTIVES = """
allreduce allreduce_coalesced broadcast reduce barrier allgather gather scatter alltoall alltoall_base
_allgather_base all_gather_single allgather_into_tensor_coalesced all_gather_single_coalesced allgather_coalesced
reduce_scatter _reduce_scatter_base reduce_scatter_single reduce_scatter_tensor_coalesced
reduce_scatter_single_coalesced all_to_all_single send recv recv_anysource
"""

#: The calls that Gloo splits along the first dimension, where other libraries take the elements as they lie in memory.
FLAT = ("allgather_base", "scatter_base", "gather_single", "scatter_single", "_tensor_coalesced", "r_single_coalesced")

#: The calls that write no tensor, and those for which later calls do not wait.
READERS = ("barrier", "send")
UNORDERED = ("recv", "recv_anysource")


class Copy(NamedTuple):
    """A tensor of the device and its copy on the host."""

    tensor: torch.Tensor
    host: torch.Tensor


def _memory(tensor: torch.Tensor) -> range:
    """The addresses of the elements of a tensor."""
    if tensor.layout != torch.strided or not tensor.numel():
        return range(0)
    last = sum((size - 1) * stride for size, stride in zip(tensor.shape, tensor.stride(), strict=True))
    return range(tensor.data_ptr(), tensor.data_ptr() + (last + 1) * tensor.itemsize)


class HostWork(dist.Work):
    """Work of Gloo on copies, which writes its results to the tensors of the device once."""

    def __init__(
        self,
        work: dist.Work,
        written: Iterable[Copy],
        result: Any,  # noqa: ANN401
        before: Iterable[HostWork],
    ) -> None:
        super().__init__()
        self._work = work
        self._written = [*written]
        self._result = result
        #: The work that ends with this.
        self._before = [*before]
        self._lock = threading.Lock()

    def overlaps(self, ranges: Iterable[range]) -> bool:
        """Whether it has yet to write to some addresses."""
        mine = [_memory(copy.tensor) for copy in self._written]
        return any(own.start < other.stop and other.start < own.stop for own in mine for other in ranges)

    def finish(self) -> bool:
        """Write the results, if Gloo has them. Gives whether it is done."""
        if not self._work.is_completed():
            return False
        if self._written or self._before:
            with suppress(RuntimeError):  # Who waits gets the error.
                self.wait()
            self._written = []
        return True

    def wait(self, timeout: timedelta = timedelta(0)) -> bool:
        """Wait for Gloo, and write the results."""
        done = self._work.wait(timeout)
        self._write()
        return done

    def _write(self) -> None:
        before, self._before = self._before, []
        for work in before:
            work.wait()
        with self._lock:
            written, self._written = self._written, []
            for tensor, host in written:
                # Autograd counts no change of what processes exchange, on no device. The data of a sparse tensor is
                # another tensor.
                with torch.no_grad():
                    (tensor if tensor.is_sparse else tensor.data).copy_(host)

    def synchronize(self) -> None:
        """Wait, as every stream of the device does its work before it returns."""
        self.wait()

    def is_completed(self) -> bool:
        """Whether the work is done."""
        return self.finish()

    def is_success(self) -> bool:
        """Whether the work is done without an error."""
        return self.finish() and self._work.is_success()

    def exception(self) -> Any:  # noqa: ANN401
        """The error of the work."""
        return self._work.exception()

    def result(self) -> list[torch.Tensor]:
        """The tensors that the work writes."""
        return [leaf for leaf in tree_flatten(self._result)[0] if isinstance(leaf, torch.Tensor)]

    def source_rank(self) -> int:
        """The process from which tensors came."""
        return self._work._source_rank()

    _source_rank = source_rank

    def get_future(self) -> torch.futures.Future[Any]:
        """A future of the tensors that the work writes, where Gloo has one: for collectives."""

        def then(future: torch.futures.Future[Any]) -> Any:  # noqa: ANN401
            future.value()  # Raises the error of the work.
            self._write()
            # Gloo's are lists of tensors, and lists of those if there are several.
            if isinstance(self._result, torch.Tensor):
                return [self._result]
            is_one = len(self._result) == 1 and isinstance(self._result[0], list)
            return self._result[0] if is_one else self._result

        return self._work.get_future().then(then)


class HostWorks(dist.Work):
    """Work that was started together."""

    def __init__(self, works: Iterable[HostWork]) -> None:
        super().__init__()
        self._works = [*works]

    def wait(self, timeout: timedelta = timedelta(0)) -> bool:
        """Wait for all of it."""
        done = [work.wait(timeout) for work in self._works]
        return all(done)

    def is_completed(self) -> bool:
        """Whether all of it is done."""
        done = [work.is_completed() for work in self._works]
        return all(done)


class HostProcessGroup(ProcessGroup):
    """Processes that exchange tensors of the device through the host."""

    def __init__(self, store: dist.Store, rank: int, size: int, timeout: timedelta) -> None:
        super().__init__(rank, size)
        self._gloo = dist.ProcessGroupGloo(store, rank, size, timeout)
        # A group of processes has names for collectives that Gloo alone does not have.
        self._host = ProcessGroup(store, rank, size)
        self._host._register_backend(torch.device("cpu"), ProcessGroup.BackendType.GLOO, self._gloo)
        self._name = ""
        self._pending: list[HostWork] = []
        self._together: list[HostWork] | None = None

    def getGroupName(self) -> str:  # noqa: N802
        """The name of the group, which C++ asks for."""
        return self._name

    def setGroupName(self, name: str) -> None:  # noqa: N802
        """Give the group a name."""
        self._name = name

    def getBackendName(self) -> str:  # noqa: N802
        """The name that C++ asks for."""
        return BACKEND

    # A group asks its backend for a device about these. This group is its own backend, and Gloo that for the CPU.
    supports_splitting = False
    supports_coalescing = False
    _device_types = (torch.device("acme"), torch.device("cpu"))

    def _get_backend(self, device: torch.device) -> dist.ProcessGroup | dist.Backend:
        return self if device.type == "acme" else self._gloo

    @property
    def options(self) -> dist.Backend.Options:
        """The options of Gloo."""
        return self._gloo.options

    def _set_default_timeout(self, timeout: timedelta) -> None:
        self._gloo._set_default_timeout(timeout)

    def monitored_barrier(self, timeout: timedelta, wait_all_ranks: bool = False) -> None:
        """Wait for all processes, and name those that did not come."""
        self._host.monitored_barrier(timeout, wait_all_ranks)

    def _start_coalescing(self, device: torch.device) -> None:  # noqa: ARG002
        """Begin calls for which a program waits together."""
        self._together = []

    def _end_coalescing(self, device: torch.device) -> dist.Work:  # noqa: ARG002
        works, self._together = self._together or [], None
        return HostWorks(works)

    def start(self, name: str, arguments: tuple[Any, ...], options: dict[str, Any]) -> HostWork:
        """Start what a method of Gloo's group does, on copies of the tensors of the device."""
        leaves, structure = tree_flatten((arguments, options))
        on_device = {place: leaf for place, leaf in enumerate(leaves) if _is_on_device(leaf)}
        self._finish_before(on_device.values())
        hosts = {place: tensor.cpu() for place, tensor in on_device.items()}
        shaped = {place: _flat(host) for place, host in hosts.items()} if name.endswith(FLAT) else hosts
        copies = [shaped.get(place, leaf) for place, leaf in enumerate(leaves)]
        host_arguments, host_options = tree_unflatten(copies, structure)
        count = len(tree_flatten(arguments[0])[0]) if arguments and name not in READERS else 0
        written = [Copy(tensor, hosts[place]) for place, tensor in on_device.items() if place < count]
        call = getattr(self._gloo, name, None) or getattr(self._host, name)
        work = call(*host_arguments, **host_options)
        result = arguments[0] if arguments and name != "barrier" else []
        started = HostWork(work, written, result, self._pending if name == "barrier" else ())
        if written and name not in UNORDERED:
            self._pending.append(started)
        if self._together is not None:
            self._together.append(started)
        return started

    def _finish_before(self, tensors: Iterable[torch.Tensor]) -> None:
        """Write what Gloo has done, and wait for collectives that write some tensors: they share memory one by one."""
        self._pending = [work for work in self._pending if not work.finish()]
        ranges = [_memory(tensor) for tensor in tensors]
        for work in [work for work in self._pending if work.overlaps(ranges)]:
            work.wait()


def _flat(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.view(-1) if tensor.is_contiguous() else tensor


def _is_on_device(value: object) -> bool:
    return isinstance(value, torch.Tensor) and value.device.type == "acme"


def _method(name: str) -> Callable[..., HostWork]:
    def call(group: HostProcessGroup, *arguments: Any, **options: Any) -> HostWork:  # noqa: ANN401
        return group.start(name, arguments, options)

    return call


for _name in COLLECTIVES.split():
    if hasattr(ProcessGroup, _name):
        setattr(HostProcessGroup, _name, _method(_name))


def _create(store: dist.Store, rank: int, size: int, timeout: timedelta) -> HostProcessGroup:
    return HostProcessGroup(store, rank, size, timeout)


dist.Backend.register_backend(BACKEND, _create, devices=["acme", "cpu"])
