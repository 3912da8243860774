"""Processes that exchange tensors of the device one by one, as Gloo lets them: no call waits for the other process."""

from __future__ import annotations

import os
import time
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.distributed as dist
from torch import multiprocessing, nn

#: What the processes find, in the order of the calls, for a device.
Found = list[Any]


def full(value: float, device: str, size: int = 3) -> torch.Tensor:
    """A tensor of one number."""
    return torch.full((size,), float(value), device=device)


def exchanged(rank: int, device: str) -> Found:
    """What two processes receive from each other, in every order."""
    other, found = 1 - rank, []
    taken = full(0, device)
    receipt, sent = dist.irecv(taken, other), dist.isend(full(rank + 1, device), other)
    found.append([receipt.wait(), sent.wait(), receipt.is_completed(), taken.tolist()])
    taken = full(0, device)
    sent, receipt = dist.isend(full(rank + 10, device), other), dist.irecv(taken, other)
    found.append([sent.wait(), receipt.wait(), receipt.wait.__name__, taken.tolist()])
    taken = full(0, device)
    calls = [dist.P2POp(dist.isend, full(rank + 20, device), other), dist.P2POp(dist.irecv, taken, other)]
    found.append([[work.wait() for work in dist.batch_isend_irecv(calls)], taken.tolist()])
    # From any process.
    taken = full(0, device)
    found.append(dist.send(full(5, device), 0) if rank else [dist.recv(taken), taken.tolist()])
    # By tags, in another order.
    first, second = full(0, device), full(0, device)
    if rank:
        works = [dist.irecv(second, 0, tag=2), dist.irecv(first, 0, tag=1)]
    else:
        works = [dist.isend(full(1, device), 1, tag=1), dist.isend(full(2, device), 1, tag=2)]
    found.append([[work.wait() for work in works], first.tolist(), second.tolist()])
    # Into a view, and numbers with an imaginary part.
    table = torch.zeros(3, 2, device=device)
    column = table[:, 1] if device != "cpu" else torch.zeros(3)
    works = [dist.irecv(column, other), dist.isend(full(7, device), other)]
    found.append([[work.wait() for work in works], column.tolist()])
    pair = torch.zeros(2, dtype=torch.complex64, device=device)
    works = [dist.irecv(pair, other), dist.isend(torch.full((2,), 1 + 2j, device=device), other)]
    found.append([[work.wait() for work in works], pair.tolist()])
    return found


def collected(rank: int, device: str) -> Found:
    """What collectives give that a process starts, and for which it waits later."""
    found = []
    values = full(rank + 1, device)
    work = dist.all_reduce(values, async_op=True)
    future = work.get_future()
    future.wait()
    found.append([values.tolist(), [value.tolist() for value in future.value()]])
    taken = [[full(0, device), full(0, device)]]
    future = dist.distributed_c10d._get_default_group().allgather(taken, [full(rank, device)]).get_future()
    future.wait()
    found.append([value.tolist() for value in future.value()])
    # Whatever was started before a barrier has ended after it.
    values = full(rank + 3, device)
    dist.all_reduce(values, async_op=True)
    dist.barrier()
    found.append(values.tolist())
    # Each process starts those of two groups in an order of its own.
    values = [full(1, device), full(2, device)]
    groups = [dist.new_group([0, 1]), dist.new_group([0, 1])]
    works = [dist.all_reduce(values[n], group=groups[n], async_op=True) for n in ((0, 1) if rank else (1, 0))]
    found.append([[work.wait() for work in works], [value.tolist() for value in values]])
    # One process starts a collective before it receives, and the other sends first.
    values, taken = full(rank, device), full(0, device)
    if rank:
        work = dist.all_reduce(values, async_op=True)
        dist.recv(taken, 0)
    else:
        dist.send(full(9, device), 1)
        work = dist.all_reduce(values, async_op=True)
    found.append([work.wait(), values.tolist(), taken.tolist()])
    # A program asks until the work is done.
    values = full(1, device)
    work = dist.all_reduce(values, async_op=True)
    while not work.is_completed():
        time.sleep(0.01)
    found.append(values.tolist())
    gathered = torch.zeros(1, 4, device=device).view(-1) if device == "cpu" else torch.zeros(1, 4, device=device)
    dist.all_gather_into_tensor(gathered, full(rank, device, 2))
    found.append(gathered.flatten().tolist())
    values = torch.sparse_coo_tensor([[rank]], full(rank + 3, device, 1), (2,))
    dist.all_reduce(values)
    found.append(values.to_dense().tolist())
    return found


def normalized(rank: int) -> None:
    """Check batch normalization over two processes against that of the whole batch on the CPU."""
    for affine, tracks in ((True, True), (False, True), (True, False)):
        torch.manual_seed(0)
        batch, grad = torch.randn(7, 4, 3), torch.randn(7, 4, 3)
        part = slice(0, 3) if rank == 0 else slice(3, 7)
        plain = nn.BatchNorm1d(4, affine=affine, track_running_stats=tracks)
        synced = nn.SyncBatchNorm(4, affine=affine, track_running_stats=tracks).acme()
        whole, own = batch.clone().requires_grad_(), batch[part].acme().requires_grad_()
        plain(whole).backward(grad)
        synced(own).backward(grad[part].acme())
        torch.testing.assert_close(own.grad.cpu(), whole.grad[part], rtol=1e-4, atol=1e-5)
        for mine, right in zip(synced.parameters(), plain.parameters(), strict=True):
            dist.all_reduce(mine.grad)
            torch.testing.assert_close(mine.grad.cpu(), right.grad, rtol=1e-4, atol=1e-5)
        torch.testing.assert_close({**synced.cpu().state_dict()}, {**plain.state_dict()}, rtol=1e-4, atol=1e-5)


def timed(rank: int) -> None:
    """Train with DistributedDataParallel, which says how long its steps took."""
    model = nn.parallel.DistributedDataParallel(nn.Linear(100, 100).acme())
    model._set_ddp_runtime_logging_sample_rate(1)
    for _ in range(3):
        model(torch.ones(50, 100, device="acme")).sum().backward()
    times = {name: value for name, value in model._get_ddp_logging_data().items() if name.endswith("_time")}
    assert times["forward_compute_time"] > 0, (rank, times)
    assert times["backward_compute_time"] > 0, (rank, times)
    assert times["backward_comm_time"] > 0, (rank, times)


def sharded(rank: int) -> None:
    """Train with FullyShardedDataParallel, which moves a module to the device itself."""
    from torch.distributed.fsdp import FullyShardedDataParallel

    torch.manual_seed(0)
    model = FullyShardedDataParallel(nn.Linear(4, 2), device_id=torch.device("acme", 0))
    optimizer = torch.optim.SGD(model.parameters(), 0.02)
    losses = []
    for _ in range(3):
        optimizer.zero_grad()
        loss = model(torch.ones(2, 4, device="acme")).square().sum()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[2] < losses[1] < losses[0], (rank, losses)


def managed(folder: str) -> None:
    """Use what a group has beside collectives: its timeout, a barrier that watches, and a save beside training."""
    from torch.distributed import checkpoint

    group = dist.distributed_c10d._get_default_group()
    assert group.options._timeout == timedelta(seconds=60)
    dist.distributed_c10d._set_pg_timeout(timedelta(seconds=50))
    assert group.options._timeout == timedelta(seconds=50)
    with pytest.raises(RuntimeError, match="invalid root tensor"):
        group.broadcast([], dist.BroadcastOptions())
    group.monitored_barrier(timedelta(seconds=20))
    weight = full(3, "acme")
    checkpoint.async_save({"weight": weight}, checkpoint_id=f"{folder}/saved").result()
    read = {"weight": torch.zeros_like(weight)}
    checkpoint.load(read, checkpoint_id=f"{folder}/saved")
    assert read["weight"].equal(weight)


def work(rank: int, folder: str) -> None:
    """What each process does."""
    os.environ["OPWRIGHT_FALLBACK_WARNINGS"] = "never"
    torch.set_num_threads(1)
    store = dist.FileStore(f"{folder}/store", 2)
    dist.init_process_group(store=store, rank=rank, world_size=2, timeout=timedelta(seconds=60))
    assert exchanged(rank, "acme") == exchanged(rank, "cpu")
    assert collected(rank, "acme") == collected(rank, "cpu")
    # Collectives on one tensor run in turn.
    values = full(rank + 1, "acme")
    works = [dist.all_reduce(values, async_op=True), dist.all_reduce(values, async_op=True)]
    assert [work.wait() for work in works] == [True, True]
    assert values.tolist() == [6] * 3
    normalized(rank)
    timed(rank)
    sharded(rank)
    managed(folder)
    dist.barrier()
    dist.destroy_process_group()


def test_processes(tmp_path: Path) -> None:
    """Two processes give each other what they would with tensors of the CPU, and none waits where Gloo would not."""
    if not dist.is_available():
        pytest.skip("PyTorch has no processes")
    multiprocessing.spawn(work, (str(tmp_path),), nprocs=2)
