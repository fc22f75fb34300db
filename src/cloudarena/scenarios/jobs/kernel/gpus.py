"""GPUs as devices: a share of a GPU lies on one device, and whole GPUs are devices that are free.

A machine with 2 GPUs has room for two tasks of 0.6 GPU each, not for three. A share takes the
fullest device with room for it, whole GPUs the first that are free; who asks for 1.5 takes a whole
one and then half of another. While all ask for whole GPUs, sums tell the same: then no device is
kept, and ``gpu_free`` has no columns.
"""

from __future__ import annotations

from cloudarena.base.arrays import MICRO, Ints
from cloudarena.engine.compiled import jit_inline, jit_uncounted
from cloudarena.scenarios.jobs.state import Machines, Resource, Tasks, World

GPU = int(Resource.GPU)


@jit_inline
def allows_model(tasks: Tasks, machines: Machines, task: int, machine: int) -> bool:
    """Whether the model of a machine's GPUs is one that a task may run on."""
    return tasks.gpu_models[task] >> machines.gpu_model[machine] & 1 == 1


@jit_uncounted
def gpu_copies(gpu_free: Ints, machine: int, wanted: int) -> int:
    """Counts the instances that ask for so much of GPUs that a machine has devices for.

    It is no part of what calls it, since it is large: tuples would have to be written to memory for
    it, at each question, also where no devices are kept.
    """
    whole, share = wanted // MICRO, wanted % MICRO
    full, shares = 0, 0
    for d in range(gpu_free.shape[1]):
        free = gpu_free[machine, d]
        if free >= MICRO:
            full += 1
        elif share > 0:
            shares += free // share
    if whole == 0:
        return shares + full * (MICRO // share)
    copies = full // whole
    if share > 0:
        while copies > 0 and shares + (full - copies * whole) * (MICRO // share) < copies:
            copies -= 1
    return copies


@jit_uncounted
def has_gpus(tasks: Tasks, machines: Machines, task: int, machine: int) -> bool:
    """Whether a machine has devices for an instance of a task, as far as devices are kept."""
    if machines.gpu_free.shape[1] == 0 or tasks.demand[task, GPU] == 0:
        return True
    if not allows_model(tasks, machines, task, machine):
        return False
    return gpu_copies(machines.gpu_free, machine, tasks.demand[task, GPU]) > 0


@jit_inline
def take_gpus(world: World, index: int, task: int, machine: int, count: int) -> None:
    """Gives the instances of a new row their devices; there must be room."""
    free, held = world.machines.gpu_free, world.row_gpus
    wanted = world.tasks.demand[task, GPU]
    if free.shape[1] == 0 or wanted == 0:
        return
    for _ in range(count):
        left, share = wanted // MICRO, wanted % MICRO
        for d in range(free.shape[1]):
            if left > 0 and free[machine, d] >= MICRO:
                free[machine, d] -= MICRO
                held[index, d] += MICRO
                left -= 1
        if share > 0:
            fullest = -1
            for d in range(free.shape[1]):
                if free[machine, d] >= share and (
                    fullest < 0 or free[machine, d] < free[machine, fullest]
                ):
                    fullest = d
            free[machine, fullest] -= share
            held[index, fullest] += share


@jit_inline
def give_gpus(world: World, index: int, machine: int) -> None:
    """Takes the devices of a row back."""
    free, held = world.machines.gpu_free, world.row_gpus
    for d in range(free.shape[1]):
        free[machine, d] += held[index, d]
        held[index, d] = 0
