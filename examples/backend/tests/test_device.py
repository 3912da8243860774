"""The device: its memory, streams, random numbers, and what PyTorch does with devices in general."""

from __future__ import annotations

import copy
import gc
import io
import os
import re
import subprocess
import sys
import warnings

import pytest
import torch


def test_import() -> None:
    """PyTorch imports the device itself."""
    code = "import torch; print(torch.ones(2, device='acme').device)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "acme:0\n"


def test_tensors() -> None:
    """Tensors are made on the device, and copied from and to it."""
    values = torch.arange(6.0, device="acme").reshape(2, 3)
    assert values.is_acme
    assert values.device == torch.device("acme:0")
    assert values.cpu().tolist() == [[0, 1, 2], [3, 4, 5]]
    assert torch.arange(6.0).acme().equal(values.flatten())
    assert values.to("cpu", torch.int64).tolist() == [[0, 1, 2], [3, 4, 5]]
    assert repr(values[0]) == "tensor([0., 1., 2.], device='acme:0')"
    assert values[1, 2].item() == 5


@pytest.mark.parametrize("dtype", [torch.float16, torch.int64, torch.bool, torch.complex64])
def test_copies(dtype: torch.dtype) -> None:
    """Copies convert, and have the strides of their target."""
    source = torch.tensor([[0, 1], [2, 3]])
    target = torch.empty(2, 2, dtype=dtype, device="acme").t()
    target.copy_(source)
    assert target.cpu().equal(source.to(dtype))
    assert target.clone().stride() == (1, 2)
    back = torch.empty(2, 2, dtype=torch.float64).t()
    back.copy_(target.real)
    assert back.equal(source.to(dtype).real.double())


def test_lazy_conjugates() -> None:
    """Tensors that are conjugated or negated lazily are copied right."""
    values = torch.tensor([1 + 2j, 3j])
    on_device = values.to("acme")
    assert on_device.conj().is_conj()
    assert on_device.conj().cpu().equal(values.conj())
    assert on_device.conj().imag.cpu().equal(values.conj().imag)
    assert (on_device.conj() + 1).cpu().equal(values.conj() + 1)
    on_device.conj().copy_(torch.tensor([1j, 1j]))
    assert on_device.cpu().tolist() == [-1j, -1j]


@pytest.mark.parametrize("device", ["cpu", "acme"])
def test_views(device: str) -> None:
    """Views share the memory of their tensor."""
    values = torch.zeros(4, 4, device=device)
    values[1:3].fill_(1)
    values.view(16)[0] = 2
    values.t()[3].fill_(3)
    values.unfold(0, 2, 2)[1, :, 1] = 4
    values.diagonal()[2] = 5
    torch.as_strided(values, (2,), (5,), 10).add_(10)
    assert values.tolist() == [[2, 0, 0, 3], [1, 1, 1, 3], [1, 1, 15, 3], [4, 4, 4, 14]]
    complex_values = torch.zeros(2, dtype=torch.complex64, device=device)
    torch.view_as_real(complex_values)[:, 1] = 1
    torch.view_as_complex(torch.view_as_real(complex_values))[0] = 2
    assert complex_values.tolist() == [2, 1j]


def test_resize() -> None:
    """A tensor keeps its elements when it gets larger."""
    values = torch.arange(4.0, device="acme")
    values.resize_(2, 3)
    assert values.flatten()[:4].tolist() == [0, 1, 2, 3]
    values.untyped_storage().resize_(4000)
    assert values.untyped_storage().nbytes() == 4000
    assert values.flatten()[:4].tolist() == [0, 1, 2, 3]
    assert (
        torch.ones(1, 2, 2, 2, device="acme")
        .resize_(2, 3, 2, 2, memory_format=torch.channels_last)
        .is_contiguous(memory_format=torch.channels_last)
    )


def test_set() -> None:
    """A tensor can take the memory of another one."""
    source = torch.arange(6.0, device="acme")
    values = torch.empty(0, device="acme")
    values.set_(source)
    values[0] = 7
    assert source[0].item() == 7
    values.set_(source.untyped_storage(), 2, (2, 2), (2, 1))
    assert values.tolist() == [[2, 3], [4, 5]]
    values.set_(source.untyped_storage(), 4, (8,), (1,))
    assert source.untyped_storage().nbytes() == 48
    assert values.set_().numel() == 0
    assert values.device.type == "acme"


def test_strides_of_the_fallback() -> None:
    """What the CPU computes for the device has the strides that it has on the CPU, in place and in `out` too."""
    for make in (lambda values: values.permute(1, 0, 2), lambda values: values[:, :, ::2], lambda values: values[1]):
        host = make(torch.arange(48.0).reshape(3, 4, 4))
        values = make(torch.arange(48.0, device="acme").reshape(3, 4, 4))
        for function in (torch.cos, torch.isnan, lambda values: torch.ne(values, 2), lambda values: values.cumsum(0)):
            assert function(values).stride() == function(host).stride()
            assert function(values).tolist() == function(host).tolist()
        out = torch.empty(0, dtype=torch.bool, device="acme")
        assert torch.ne(values, values, out=out).stride() == torch.ne(host, host).stride()
        assert values.cumsum_(0).tolist() == host.cumsum_(0).tolist()


def test_overlaps_in_the_fallback() -> None:
    """What the CPU computes for the device writes to memory that tensors share as it does on the CPU, or refuses it."""
    for device in ("cpu", "acme"):
        mask = torch.tensor([True, False, True], device=device)
        one = torch.ones(1, device=device)
        with pytest.warns(UserWarning, match="expanded tensors"):
            one.expand(3).masked_fill_(mask, 5)
        assert one.tolist() == [5]
        with pytest.raises(RuntimeError, match="unsupported operation: some elements of the input"):
            mask[1:].masked_fill_(mask[:-1], value=False)
        with pytest.raises(RuntimeError, match="unsupported operation: more than one element"):
            one.expand(3).cos_()
        with pytest.raises(RuntimeError, match="unsupported operation: some elements of the input"):
            mask[1:].copy_(mask[:-1])
        places = torch.tensor([0, 1, 1], device=device)
        with pytest.raises(RuntimeError, match="unsupported operation: some elements of the input"):
            places.index_put_((places,), torch.arange(3, device=device))
        with pytest.raises(RuntimeError, match="unsupported operation: some elements of the input"):
            torch.cat([places[:2], places[:1]], out=places)
        assert places.index_put_((places.clone(),), places.clone()).tolist() == [0, 1, 1]
        halves = torch.tensor([0.0, 1.0, 2.0, 3.0], device=device)
        torch.sign(halves[:2], out=halves[2:])
        assert halves.tolist() == [0, 1, 0, 1]


def test_default_kernels() -> None:
    """The CPU computes what PyTorch's default kernels do otherwise: warnings and strides are equal."""
    images = torch.arange(64.0).reshape(2, 4, 2, 4).to(memory_format=torch.channels_last)
    mask = torch.tensor([1, 0], dtype=torch.uint8)
    results = []
    for device in ("cpu", "acme"):
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            picked = images.to(device)[mask.to(device)]
            torch.logical_xor(mask.to(device), mask.to(device), out=torch.ones(1, dtype=torch.bool, device=device))
        count = len([warning for warning in warned if re.search("uint8|was resized", str(warning.message))])
        mode = (torch.empty(0, device=device), torch.empty(0, dtype=torch.int64, device=device))
        torch.mode(images.to(device), 0, out=mode)
        normed = torch.nn.GroupNorm(2, 4, device=device)(images.to(device))
        results.append((count, picked.tolist(), mode[0].tolist(), mode[1].tolist(), normed.stride()))
        torch.testing.assert_close(normed.cpu(), torch.nn.GroupNorm(2, 4)(images.contiguous()))
    assert results[0] == results[1]


def test_devices_of_indices() -> None:
    """Indices are on the CPU or on the device of what they index."""
    indices = torch.tensor([1, 0], device="acme")
    for values in (torch.ones(2), torch.ones(2, device="acme:1")):
        with pytest.raises(RuntimeError, match=rf"indices should be either on cpu .* \({values.device}\)"):
            values[indices]
        with pytest.raises(RuntimeError, match=rf"indices should be either on cpu .* \({values.device}\)"):
            values.index_put_((indices,), values)
    assert torch.arange(2, device="acme")[indices.cpu()].tolist() == [1, 0]


def test_memory_statistics() -> None:
    """The allocator counts what tensors use, what they have used at most, and what the device keeps."""
    # Errors that other tests expect keep tensors until then.
    gc.collect()
    torch.acme.empty_cache()
    torch.acme.reset_peak_memory_stats()
    before, other = torch.acme.memory_allocated(), torch.acme.memory_allocated(1)
    free, size = torch.acme.mem_get_info()
    values = torch.empty(1000, device="acme")
    assert torch.acme.memory_allocated() == before + 4096
    assert torch.acme.memory_allocated(1) == other
    assert torch.acme.mem_get_info() == (free - 4096, size)
    assert torch.acme.memory_stats()["requested_bytes.all.current"] >= 4000
    del values
    assert torch.acme.memory_allocated() == before
    assert torch.acme.max_memory_allocated() == before + 4096
    assert torch.acme.memory_reserved() >= before
    torch.acme.reset_accumulated_memory_stats()
    assert torch.acme.memory_stats()["allocation.all.allocated"] == 0
    assert torch.accelerator.memory_allocated() == torch.acme.memory_allocated()
    peak = torch.acme.max_memory_allocated()
    row = next(line for line in torch.acme.memory_summary().splitlines() if "allocated_bytes" in line)
    assert row.split()[:3] == ["allocated_bytes", f"{before:,}", f"{peak:,}"]


def test_memory_is_reused() -> None:
    """Memory that is freed is used again, and blocks that were neighbours are one block again."""
    gc.collect()
    torch.acme.empty_cache()
    kept = torch.acme.memory_reserved(1)
    tensors = [torch.empty(1 << 20, device="acme:1") for _ in range(8)]
    reserved = torch.acme.memory_reserved(1)
    del tensors[1::2]
    del tensors
    larger = torch.empty(8 << 20, device="acme:1")
    assert torch.acme.memory_reserved(1) == reserved
    del larger
    torch.acme.empty_cache()
    assert torch.acme.memory_reserved(1) == kept


def test_out_of_memory() -> None:
    """A device has only so much memory."""
    with pytest.raises(torch.OutOfMemoryError, match="acme:0 is out of memory"):
        torch.empty(8 << 30, device="acme")


def test_deterministic_memory() -> None:
    """Where the user asks for deterministic results, new memory has the values that it has on the CPU."""
    torch.use_deterministic_algorithms(True)
    try:
        for dtype in (torch.float32, torch.int64, torch.bool, torch.complex64):
            for device in ("cpu", "acme"):
                tensors = [torch.empty(3, 2, dtype=dtype, device=device)]
                tensors.append(torch.empty_strided((2, 3), (1, 4), dtype=dtype, device=device))
                tensors.append(torch.zeros(2, dtype=dtype, device=device).resize_(5))
                if device == "cpu":
                    expected = tensors
            for tensor, value in zip(tensors, expected, strict=True):
                torch.testing.assert_close(tensor.cpu(), value, equal_nan=True)
    finally:
        torch.use_deterministic_algorithms(False)


def test_memory_is_protected() -> None:
    """Code of the host that reads the memory of a device crashes."""
    code = "import ctypes, torch; print(ctypes.c_float.from_address(torch.ones(2, device='acme').data_ptr()).value)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, check=False).returncode == -11


def test_pinned_memory() -> None:
    """Memory of the host can be pinned for the device."""
    pinned = torch.arange(4.0).pin_memory()
    assert pinned.is_pinned()
    assert pinned[1:].is_pinned()
    assert not torch.ones(2).is_pinned()
    assert pinned.to("acme", non_blocking=True).tolist() == [0, 1, 2, 3]
    assert torch.empty(2, pin_memory=True).is_pinned()
    batches = torch.utils.data.DataLoader(torch.arange(4.0), batch_size=2, pin_memory=True)
    assert all(batch.is_pinned() for batch in batches)


def test_two_devices() -> None:
    """Each of the devices has memory of its own, and one is current."""
    assert torch.acme.device_count() == 2
    assert torch.acme.current_device() == 0
    with torch.acme.device(1):
        second = torch.ones(2, device="acme")
        assert torch.acme.current_device() == 1
    assert second.device == torch.device("acme:1")
    assert torch.acme.current_device() == 0
    assert (second + second).device.index == 1
    assert second.to("acme:0").device.index == 0
    with torch.acme.device_of(second):
        assert torch.accelerator.current_device_index() == 1
    torch.acme.set_device(1)
    assert torch.empty(1, device="acme").get_device() == 1
    torch.acme.set_device("acme:0")
    with pytest.raises(RuntimeError, match="Expected all tensors to be on the same device"):
        second + torch.ones(2, device="acme:0")
    with pytest.raises(RuntimeError, match="acme has no device 2"):
        torch.empty(1, device="acme:2")


def test_default_device() -> None:
    """The device can be the default of a block."""
    with torch.device("acme"):
        assert torch.ones(2).device.type == "acme"
        assert torch.nn.Linear(2, 2).weight.device.type == "acme"


def test_streams() -> None:
    """A stream can be current, and events measure time."""
    stream = torch.acme.Stream()
    assert stream.device == torch.device("acme:0")
    default = torch.acme.current_stream()
    assert default == torch.acme.default_stream()
    start, end = (torch.acme.Event(enable_timing=True) for _ in range(2))
    with torch.acme.stream(stream):
        assert torch.acme.current_stream() == stream
        start.record()
        values = torch.ones(100, 100, device="acme") * 2
        values.record_stream(stream)
        end.record()
    assert torch.acme.current_stream() == default
    default.wait_stream(stream)
    default.wait_event(end)
    stream.synchronize()
    end.synchronize()
    torch.acme.synchronize()
    assert stream.query()
    assert end.query()
    assert start.elapsed_time(end) > 0
    assert torch.acme.Stream("acme:1").device.index == 1


def test_generators() -> None:
    """A seed gives the numbers that it gives on the CPU, on each device and with generators of programs."""
    assert [generator.device.index for generator in torch.acme.default_generators] == [0, 1]
    torch.manual_seed(5)
    expected = torch.rand(4)
    for index in range(2):
        torch.manual_seed(5)
        assert torch.rand(4, device=f"acme:{index}").cpu().equal(expected)
    generator = torch.Generator(device="acme:1").manual_seed(5)
    assert generator.device == torch.device("acme:1")
    assert torch.rand(4, device="acme:1", generator=generator).cpu().equal(expected)
    torch.acme.manual_seed(5)
    assert torch.acme.initial_seed() == 5
    state = torch.acme.get_rng_state()
    first = torch.randn(4, device="acme")
    torch.acme.set_rng_state(state)
    assert torch.randn(4, device="acme").equal(first)
    with pytest.raises(RuntimeError, match="Expected a 'acme' device type for generator but found 'cpu'"):
        torch.rand(4, device="acme", generator=torch.Generator())


def test_fork_rng() -> None:
    """The state of the generators can be kept."""
    torch.acme.manual_seed_all(1)
    with torch.random.fork_rng(devices=[0, 1], device_type="acme"):
        first = torch.rand(2, device="acme")
    assert torch.rand(2, device="acme").equal(first)


def test_dropout() -> None:
    """Operators that draw random numbers for their own use draw them from the device."""
    values = torch.ones(100)
    torch.manual_seed(2)
    expected = torch.nn.functional.dropout(values)
    torch.manual_seed(2)
    assert torch.nn.functional.dropout(values.to("acme")).cpu().equal(expected)


def test_serialization() -> None:
    """Tensors are saved with their device, and loaded there or elsewhere."""
    values = {"first": torch.arange(3.0, device="acme"), "second": torch.ones(2, device="acme:1")}
    values["view"] = values["first"][1:]
    file = io.BytesIO()
    torch.save(values, file)
    loaded = torch.load(io.BytesIO(file.getvalue()))
    assert [str(value.device) for value in loaded.values()] == ["acme:0", "acme:1", "acme:0"]
    assert all(loaded[name].equal(value) for name, value in values.items())
    loaded["view"][0] = 9
    assert loaded["first"].tolist() == [0, 9, 2]
    assert torch.load(io.BytesIO(file.getvalue()), map_location="cpu")["second"].device.type == "cpu"
    assert torch.load(io.BytesIO(file.getvalue()), map_location="acme:1")["first"].device.index == 1
    with torch.serialization.safe_globals([]):
        assert torch.load(io.BytesIO(file.getvalue()), weights_only=True)["first"].tolist() == [0, 1, 2]


def test_copies_of_objects() -> None:
    """Modules and tensors are copied with their memory."""
    values = torch.ones(2, device="acme")
    copied = copy.deepcopy(values)
    copied.zero_()
    assert values.tolist() == [1, 1]
    module = torch.nn.Linear(3, 2).acme()
    assert module.weight.is_acme
    assert copy.deepcopy(module).weight.equal(module.weight)


def test_storage() -> None:
    """Storages move between devices."""
    storage = torch.arange(3.0).untyped_storage()
    assert storage.acme().is_acme
    assert storage.acme().cpu().tolist() == storage.tolist()


def test_accelerator() -> None:
    """The functions of PyTorch for the accelerator of a process use the device."""
    assert torch.accelerator.current_accelerator() == torch.device("acme")
    assert torch.accelerator.is_available()
    assert torch.accelerator.device_count() == 2
    assert torch.get_device_module("acme") is torch.acme
    assert torch.accelerator.get_device_capability("acme:1")["supported_dtypes"] >= {torch.bfloat16, torch.qint8}
    with torch.accelerator.device_index(1):
        assert torch.acme.current_device() == 1


UNPROTECTED = """
import torch

values = torch.arange(6.0, device="acme").reshape(2, 3)
address, sums = values.data_ptr(), torch.cumsum(values, 1)
assert sums.device.type == "acme" and sums.tolist() == [[0, 1, 3], [3, 7, 12]]
values.t().cumprod_(0)
assert values.data_ptr() == address and values.tolist() == [[0, 0, 0], [3, 12, 60]]
out = torch.empty(0, device="acme")
assert torch.cumsum(values, 1, out=out) is out and out.tolist() == [[0, 0, 0], [3, 15, 75]]
smaller = torch.empty(8, device="acme")
torch.cumsum(values[1], 0, out=smaller)
assert smaller.tolist() == [3, 15, 75]
strided = torch.zeros(3, 4, device="acme").t()[1:]
torch.cumsum(values.expand(3, 2, 3)[:, 0], 1, out=strided.t())
shared = values.view(-1)
torch.nn.functional.hardtanh_(shared[2:5], 0, 10)
assert values.tolist() == [[0, 0, 0], [3, 10, 60]]
try:
    torch.cumprod(shared[:4], 0, out=shared[1:5])
except RuntimeError as error:
    assert "memory" in str(error)
else:
    raise AssertionError("the CPU refuses overlaps")
kept = torch.special.expit(values)
del values, shared
torch.full((6,), 7.0, device="acme")
assert kept[1, 2].item() == 1 and kept[0, 0].item() == 0.5
"""


def test_fallback_without_protection() -> None:
    """Where the CPU can touch the device's memory, it computes there: with the results and the errors of copies."""
    for name in ("", "PROTECT_DEVICE_MEMORY"):
        environment = {key: value for key, value in os.environ.items() if key != "PROTECT_DEVICE_MEMORY"}
        environment.update({name: "1"} if name else {})
        subprocess.run([sys.executable, "-W", "ignore", "-c", UNPROTECTED], check=True, env=environment)
