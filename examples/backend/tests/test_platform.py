"""What PyTorch builds around a device: compiled code, processes, DLPack, and errors for what there is not."""

from __future__ import annotations

import copy
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import multiprocessing, nn


def test_compiled_function() -> None:
    """A function that Inductor compiles has the results of one that is not compiled, for dynamic sizes too."""

    def function(values: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
        return (values.sin() * scale + 1).relu().sum(1)

    compiled = torch.compile(function, fullgraph=True, dynamic=True)
    for rows in (2, 3, 5):
        values, scale = torch.randn(rows, 4, device="acme"), torch.randn(4, device="acme")
        torch.testing.assert_close(compiled(values, scale), function(values, scale))


def test_compiled_padding() -> None:
    """Values that only some elements have, such as those of padding, are compiled as for the CPU."""
    compiled = torch.compile(lambda values: torch.nn.functional.pad(values, (0, 1), value=-100)[..., 1:].contiguous())
    for values in (torch.arange(6).reshape(2, 3), torch.randn(2, 3)):
        expected = torch.nn.functional.pad(values, (0, 1), value=-100)[..., 1:]
        assert torch.equal(compiled(values.to("acme")).cpu(), expected)


def test_compiled_training() -> None:
    """A network that Inductor compiles is trained with the losses of the CPU."""
    torch.manual_seed(0)
    network = nn.Sequential(nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.Linear(64, 3))
    batch = torch.randn(4, 1, 6, 6)
    losses = []
    for device in ("cpu", "acme"):
        trained = copy.deepcopy(network).to(device)
        step = trained if device == "cpu" else torch.compile(trained)
        optimizer = torch.optim.SGD(trained.parameters(), lr=0.05)
        for _ in range(3):
            optimizer.zero_grad()
            loss = step(batch.to(device)).square().mean()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    torch.testing.assert_close(losses[3:], losses[:3], rtol=1e-3, atol=1e-4)


PROCESS = """
import sys
import torch
import torch.distributed as dist
from torch.distributed.fsdp import fully_shard

rank, place = int(sys.argv[1]), dict(init_method=f"file://{sys.argv[2]}", world_size=2)
dist.init_process_group(rank=rank, device_id=torch.device("acme:0") if sys.argv[3] else None, **place)
assert dist.get_backend() == ("acme_host" if sys.argv[3] else "undefined")
assert dist.get_default_backend_for_device("acme") == "acme_host"
values = torch.full((3,), rank + 1.0, device="acme")
dist.all_reduce(values)
gathered = torch.empty(6, device="acme")
dist.all_gather_into_tensor(gathered, values + rank)
scattered = torch.empty(3, device="acme")
dist.reduce_scatter_tensor(scattered, gathered)
torch.manual_seed(0)
parallel = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(3, 2).to("acme"))
parallel(torch.full((1, 3), float(rank), device="acme")).sum().backward()
mesh = dist.device_mesh.init_device_mesh("acme", (2,))
sharded = fully_shard(torch.nn.Linear(4, 2).to("acme"), mesh=mesh)
optimizer = torch.optim.SGD(sharded.parameters(), lr=0.01)
losses = []
for _ in range(2):
    losses.append(sharded(torch.ones(2, 4, device="acme")).square().sum())
    losses[-1].backward()
    optimizer.step()
added = [torch.ones(1, device="acme"), torch.ones(2, device="acme")]
with dist._coalescing_manager(device=torch.device("acme:0")):
    for each in added:
        dist.all_reduce(each)
assert [each.tolist() for each in added] == [[2], [2, 2]]
print(values.tolist(), gathered.tolist(), scattered.tolist(), parallel.module.weight.grad.tolist())
print((losses[1] < losses[0]).item())
dist.destroy_process_group()
"""


@pytest.mark.parametrize("names_device", ["", "yes"])
def test_two_processes(tmp_path: Path, names_device: str) -> None:
    """Two processes exchange tensors, and train with DistributedDataParallel and with FSDP. They name no backend."""
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", PROCESS, str(rank), str(tmp_path / "store"), names_device],
            stdout=subprocess.PIPE,
            text=True,
        )
        for rank in range(2)
    ]
    outputs = [process.communicate()[0].splitlines() for process in processes]
    for rank, output in enumerate(outputs):
        scattered = [6.0 + 2 * rank] * 3
        gathered = [3.0] * 3 + [4.0] * 3
        assert output == [f"{[3.0] * 3} {gathered} {scattered} {[[0.5] * 3] * 2}", "True"]


def doubled(taken: multiprocessing.Queue[torch.Tensor], given: multiprocessing.Queue[torch.Tensor]) -> None:
    """Give twice what the first queue has, until there is a tensor without elements."""
    while (tensor := taken.get()).numel():
        given.put(tensor.detach() * 2)


def test_queues() -> None:
    """Tensors pass between processes as copies, with their devices."""
    taken, given = multiprocessing.Queue(), multiprocessing.Queue()
    process = multiprocessing.Process(target=doubled, args=(taken, given), daemon=True)
    process.start()
    for tensor in (torch.arange(3.0, device="acme:1"), torch.nn.Parameter(torch.ones(2, device="acme"))):
        taken.put(tensor)
        result = given.get(timeout=60)
        assert result.device == tensor.device
        assert result.equal(tensor.detach() * 2)
    taken.put(torch.empty(0))
    process.join(60)
    assert process.exitcode == 0
    with pytest.raises(RuntimeError, match="non-leaf tensor which requires_grad"):
        multiprocessing.SimpleQueue().put(tensor * 2)


@pytest.mark.parametrize("device", ["acme", "cpu"])
def test_workers(device: str) -> None:
    """The workers of a data loader read tensors of the device, and give batches on it."""
    rows = torch.utils.data.TensorDataset(torch.arange(6.0, device=device))
    loader = torch.utils.data.DataLoader(rows, batch_size=3, num_workers=2, timeout=60)
    batches = [batch for (batch,) in loader]
    assert [batch.tolist() for batch in batches] == [[0, 1, 2], [3, 4, 5]]
    assert {batch.device.type for batch in batches} == {device}


def test_dlpack() -> None:
    """Tensors are exchanged without a copy, both ways."""
    values = torch.arange(6.0, device="acme").reshape(2, 3)
    same = torch.from_dlpack(values)
    assert same.device == values.device
    same[0, 0] = 9
    assert values.tolist() == [[9, 1, 2], [3, 4, 5]]
    transposed = torch.utils.dlpack.from_dlpack(torch.utils.dlpack.to_dlpack(values.t()))
    assert transposed.data_ptr() == values.data_ptr()
    assert transposed.tolist() == values.t().tolist()
    assert torch.from_dlpack(torch.ones(2)).device.type == "cpu"


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda: torch.ones(2, 2, device="acme").to_mkldnn(), "Unsupported device type for mkldnn layout"),
        (
            lambda: multiprocessing.SimpleQueue().put(torch.ones(2, device="acme").untyped_storage()),
            "only available on CPU",
        ),
        (
            lambda: torch.compile(torch.sin, options={"cpp_wrapper": True})(torch.ones(2, device="acme")),
            "leave out `cpp_wrapper`",
        ),
        (lambda: torch.ones(2, device="acme").numpy(), "copy the tensor to host memory first"),
    ],
)
def test_what_there_is_not(function: Callable[[], object], message: str) -> None:
    """What the device does not have is an error that says so."""
    with pytest.raises(Exception, match=message):
        function()
