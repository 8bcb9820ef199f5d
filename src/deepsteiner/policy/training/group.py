"""The processes that train together: one alone, or those that `torchrun` started."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import torch
import torch.distributed as dist
from torch import Tensor


@dataclass(frozen=True)
class Group:
    """This process's place among `world` processes; a group of one needs no communication."""

    rank: int = 0
    world: int = 1

    @property
    def leads(self) -> bool:
        """Whether this process writes files and talks."""
        return self.rank == 0

    def share(self, batch: int) -> slice:
        """Return the rows of a global batch that belong to this process."""
        size = batch // self.world
        return slice(self.rank * size, (self.rank + 1) * size)

    def mean(self, value: Tensor) -> Tensor:
        """Return the mean of a tensor over the processes."""
        if self.world > 1:
            value = value.clone()
            dist.all_reduce(value)
            value /= self.world
        return value

    def agree(self, value: float, device: torch.device) -> float:
        """Return the first process's number in all of them."""
        if self.world == 1:
            return value
        shared = torch.tensor(value, dtype=torch.float64, device=device)
        dist.broadcast(shared, 0)
        return float(shared)


ALONE = Group()


class Place(NamedTuple):
    """Where a run happens: its folder, its device, and its place among the processes."""

    folder: Path
    device: torch.device
    group: Group


class SumOverProcesses(torch.autograd.Function):
    """The sum of a tensor over all processes; each one's gradient is the sum of all gradients.

    torch's own differentiable `all_reduce` is deprecated.
    """

    @staticmethod
    def forward(ctx: Any, value: Tensor) -> Tensor:
        """Return the sum of the processes' values."""
        total = value.clone()
        dist.all_reduce(total)
        return total

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Tensor:
        """Return the sum of the processes' gradients."""
        return SumOverProcesses.forward(ctx, gradients[0])


def join(device: torch.device) -> Group:
    """Join the group that `torchrun` announced in the environment, or form a group of one."""
    world = int(os.environ.get("WORLD_SIZE", "1"))
    if world == 1:
        return ALONE
    if not dist.is_initialized():
        dist.init_process_group("nccl" if device.type == "cuda" else "gloo")
    return Group(dist.get_rank(), world)


def leave(group: Group) -> None:
    """Part from the other processes, all at the same moment.

    Without the barrier a process that is still sending finds its partner gone, and aborts.
    """
    if group.world > 1:
        dist.barrier()
        dist.destroy_process_group()


def local_device(device: torch.device) -> torch.device:
    """Return the GPU of this process, where `torchrun` started one for each."""
    if str(device) == "cuda":
        return torch.device("cuda", int(os.environ.get("LOCAL_RANK", "0")))
    return device
