"""The device as a module, `torch.acme`: devices, streams, random numbers, memory.

PyTorch calls some of these functions: to save and load tensors, to seed generators, for autocast.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any, NamedTuple

import torch

__all__ = [
    "Event",
    "Stream",
    "current_device",
    "current_stream",
    "default_generator",
    "default_stream",
    "device",
    "device_count",
    "device_of",
    "empty_cache",
    "get_amp_supported_dtype",
    "get_device_capability",
    "get_device_name",
    "get_device_properties",
    "get_rng_state",
    "get_rng_state_all",
    "initial_seed",
    "is_available",
    "is_bf16_supported",
    "is_initialized",
    "manual_seed",
    "manual_seed_all",
    "max_memory_allocated",
    "max_memory_reserved",
    "mem_get_info",
    "memory_access",
    "memory_allocated",
    "memory_reserved",
    "memory_stats",
    "memory_summary",
    "reset_accumulated_memory_stats",
    "reset_peak_memory_stats",
    "seed",
    "seed_all",
    "set_device",
    "set_rng_state",
    "set_rng_state_all",
    "set_stream",
    "stream",
    "synchronize",
]

Device = torch.device | str | int | None


def _index(device: Device) -> int:
    """The index of a device, which is the current one if `device` names none."""
    if isinstance(device, str):
        device = torch.device(device)
    if isinstance(device, torch.device):
        if device.type != "acme":
            raise ValueError(f"expected a device of type acme, but got {device}")
        device = device.index
    return current_device() if device is None or device < 0 else device


def _device(device: Device) -> torch.device:
    return torch.device("acme", _index(device))


# Devices.


def is_available() -> bool:
    """Whether tensors can be made on the device."""
    return True


# Checkpoints keep the state of the generators of a device that says it is ready.
_initialized = True


def is_initialized() -> bool:
    """Whether the device is ready. There is nothing to initialize."""
    return True


def _lazy_init() -> None:
    """PyTorch calls this before it makes tensors on the device."""


def _is_in_bad_fork() -> bool:
    """Whether this process cannot use the device because its parent does. Processes can share these devices."""
    return False


def device_count() -> int:
    """How many devices there are."""
    return int(torch.ops.acme._device_count())


def current_device() -> int:
    """The index of the device that gets work that names none."""
    return torch._C._accelerator_getDeviceIndex()


def set_device(device: Device) -> None:
    """Make a device current."""
    torch._C._accelerator_setDeviceIndex(_index(device))


def get_device_name(device: Device = None) -> str:
    """The name of a device."""
    return f"Acme {_index(device)}"


class DeviceProperties(NamedTuple):
    """What code generators ask of a device."""

    name: str
    total_memory: int
    major: int
    minor: int
    multi_processor_count: int


def get_device_capability(device: Device = None) -> tuple[int, int]:
    """The version of a device's architecture."""
    _index(device)
    return (1, 0)


def get_device_properties(device: Device = None) -> DeviceProperties:
    """The properties of a device."""
    return DeviceProperties(get_device_name(device), mem_get_info(device)[1], *get_device_capability(device), 1)


class device:  # noqa: N801
    """A context in which a device is current. `None` and an index below 0 change nothing."""

    def __init__(self, device: Device) -> None:
        self.idx = _index(device)
        self.prev_idx = -1

    def __enter__(self) -> None:
        self.prev_idx = torch._C._accelerator_exchangeDevice(self.idx)

    def __exit__(self, *error: object) -> None:
        torch._C._accelerator_maybeExchangeDevice(self.prev_idx)


class device_of(device):  # noqa: N801
    """A context in which the device of a tensor is current."""

    def __init__(self, tensor: torch.Tensor) -> None:
        super().__init__(tensor.device.index if tensor.device.type == "acme" else None)


# Streams and events.


# PyTorch's classes make streams and events of the accelerator that a process has, which is this device.
Stream = torch.Stream
Event = torch.Event


def current_stream(device: Device = None) -> torch.Stream:
    """The stream that gets the work of this thread."""
    return torch.accelerator.current_stream(_index(device))


def default_stream(device: Device = None) -> torch.Stream:
    """The stream that gets work if a program chooses none."""
    kind = torch._C._autograd.DeviceType.PrivateUse1.value
    return torch.Stream(stream_id=0, device_index=_index(device), device_type=kind)


def set_stream(stream: torch.Stream) -> None:
    """Let a stream get the work of this thread."""
    torch.accelerator.set_stream(stream)


@contextmanager
def stream(stream: torch.Stream | None) -> Iterator[None]:
    """Let a stream get the work of a block."""
    if stream is None:
        yield
        return
    with stream:
        yield


def synchronize(device: Device = None) -> None:
    """Wait until a device has done its work."""
    torch.accelerator.synchronize(_index(device))


# Random numbers.


def default_generator(device: Device = None) -> torch.Generator:
    """The generator of a device."""
    return torch.ops.acme._default_generator(_index(device))


def manual_seed(seed: int) -> None:
    """Seed the generator of the current device."""
    default_generator().manual_seed(int(seed))


def manual_seed_all(seed: int) -> None:
    """Seed the generators of all devices."""
    for index in range(device_count()):
        default_generator(index).manual_seed(int(seed))


def seed() -> None:
    """Seed the generator of the current device with a random number."""
    default_generator().seed()


def seed_all() -> None:
    """Seed the generators of all devices with one random number."""
    manual_seed_all(default_generator(0).seed())


def initial_seed() -> int:
    """The seed of the generator of the current device."""
    return default_generator().initial_seed()


def get_rng_state(device: Device = None) -> torch.Tensor:
    """The state of the generator of a device."""
    return default_generator(device).get_state()


def set_rng_state(new_state: torch.Tensor, device: Device = None) -> None:
    """Set the state of the generator of a device."""
    default_generator(device).set_state(new_state)


def get_rng_state_all() -> list[torch.Tensor]:
    """The states of the generators of all devices."""
    return [get_rng_state(index) for index in range(device_count())]


def set_rng_state_all(new_states: list[torch.Tensor]) -> None:
    """Set the states of the generators of all devices."""
    for index, state in enumerate(new_states):
        set_rng_state(state, index)


# Memory: PyTorch has these functions for every device whose allocator keeps statistics.


def empty_cache() -> None:
    """Give memory that no tensor uses back to the host."""
    torch.accelerator.empty_cache()


def memory_stats(device: Device = None) -> dict[str, Any]:
    """The statistics of the memory of a device."""
    return torch.accelerator.memory_stats(_index(device))


def memory_summary(device: Device = None, *, abbreviated: bool = False) -> str:
    """A table of the statistics of the memory of a device, with the numbers of blocks unless it is abbreviated."""
    stats = memory_stats(device)
    kinds = ["allocated_bytes", "requested_bytes", "active_bytes", "reserved_bytes"]
    kinds += [] if abbreviated else ["allocation", "active", "segment"]
    columns = ["current", "peak", "allocated", "freed"]
    lines = ["".join([f"{word:>18}" for word in (get_device_name(device), *columns)])]
    for kind in kinds:
        numbers = [f"{stats[f'{kind}.all.{column}']:>18,}" for column in columns]
        lines.append(f"{kind:>18}{''.join(numbers)}")
    return "\n".join([*lines, f"out of memory: {stats['num_ooms']}"])


def memory_allocated(device: Device = None) -> int:
    """How many bytes tensors use."""
    return torch.accelerator.memory_allocated(_index(device))


def max_memory_allocated(device: Device = None) -> int:
    """How many bytes tensors have used at most."""
    return torch.accelerator.max_memory_allocated(_index(device))


def memory_reserved(device: Device = None) -> int:
    """How many bytes of the host's memory the device keeps."""
    return torch.accelerator.memory_reserved(_index(device))


def max_memory_reserved(device: Device = None) -> int:
    """How many bytes of the host's memory the device has kept at most."""
    return torch.accelerator.max_memory_reserved(_index(device))


def reset_accumulated_memory_stats(device: Device = None) -> None:
    """Set the counters of memory that was allocated and freed to zero."""
    torch.accelerator.reset_accumulated_memory_stats(_index(device))


def reset_peak_memory_stats(device: Device = None) -> None:
    """Forget the largest values, such as `max_memory_allocated`."""
    torch.accelerator.reset_peak_memory_stats(_index(device))


@contextmanager
def memory_access() -> Iterator[None]:
    """Let the code of a block touch the memory of the devices, as compiled kernels do."""
    access = torch.ops.acme._open_memory()
    try:
        yield
    finally:
        torch.ops.acme._close_memory(access)


def mem_get_info(device: Device = None) -> tuple[int, int]:
    """How many bytes are free, and how many there are."""
    return torch.accelerator.get_memory_info(_index(device))


# Autocast.


def get_amp_supported_dtype() -> list[torch.dtype]:
    """The types to which `torch.autocast("acme")` can convert."""
    return [torch.float16, torch.bfloat16]


def is_bf16_supported() -> bool:
    """Whether the device computes with bfloat16."""
    return True


# The types that PyTorch had before tensors had a dtype and a device, such as `torch.acme.FloatTensor`.


class _TensorType(type):
    """The class of such a type: it makes tensors from what PyTorch's type of the same name takes."""

    def __call__(cls, *values: Any, device: Device = None) -> torch.Tensor:  # noqa: ANN401
        return getattr(torch, cls.__name__)(*values).to(_device(device))

    def __instancecheck__(cls, value: object) -> bool:
        return isinstance(value, torch.Tensor) and value.type() == f"torch.acme.{cls.__name__}"


for _name in ("BFloat16", "Bool", "Byte", "Char", "Double", "Float", "Half", "Int", "Long", "Short"):
    globals()[f"{_name}Tensor"] = _TensorType(f"{_name}Tensor", (), {"__module__": "torch.acme"})


# Compilation: Inductor asks the module of a device for its code generator, when it compiles for the first time. PyTorch
# and libraries ask for the generators of all devices, as `torch.cuda` has them.


def __getattr__(name: str) -> Any:  # noqa: ANN401
    if name == "default_generators":
        return tuple(map(default_generator, range(device_count())))
    if name in ("Scheduling", "PythonWrapperCodegen", "CppWrapperCodegen", "WrapperFxCodegen"):
        return getattr(import_module("torch_acme.compile"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
