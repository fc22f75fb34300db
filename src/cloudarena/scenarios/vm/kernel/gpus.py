"""The GPUs of machines as devices: which machines have some for a VM, and what VMs hold of them.

A VM asks for a share of one GPU, in thousandths, or for one or more whole ones, of a model that it
allows. A run has GPUs, or None where no VM asks for any: Numba then leaves out what stands behind
``gpus is not None``.

An action says a machine and, if the policy wants to choose it, the device of a share: ``machine``
alone leaves it to the kernel, which takes the fullest device with room, the first of equals;
``machine + machines * (1 + device)`` says both. Whole GPUs are the first that nobody shares.
"""

from __future__ import annotations

from cloudarena.engine.compiled import jit_call, jit_inline
from cloudarena.engine.gpu_scores import WHOLE, kind_of
from cloudarena.scenarios.vm.state import Gpus, Nodes, World


@jit_call
def has_gpus(world: World, gpus: Gpus, vm: int, machine: int) -> bool:
    """Whether a machine has the devices that a VM asks for."""
    if gpus.wanted[vm] == 0:
        return True
    shown = world.machines
    if gpus.models[vm] >> shown.gpu_model[machine] & 1 == 0:
        return False
    enough = 0
    for device in range(shown.gpus[machine]):
        enough += shown.gpu_free[machine, device] >= gpus.milli[vm]
    return enough >= gpus.wanted[vm]


@jit_inline
def mark_gpus(world: World, gpus: Gpus | None, vm: int) -> None:
    """Unmarks the valid machines that have no GPUs for a VM, and counts them again."""
    if gpus is not None:
        valid = world.machines.valid
        for m in range(len(valid)):
            if valid[m] and not has_gpus(world, gpus, vm, m):
                valid[m] = False
                world.clock[0].valid_count -= 1


@jit_inline
def places_of(world: World, nodes: Nodes | None, gpus: Gpus | None) -> int:
    """How many parts of a machine an action can say: its nodes, or its devices."""
    if nodes is not None:
        return nodes.held_cores.shape[1]
    if gpus is not None:
        return world.machines.gpu_free.shape[1]
    return 0


@jit_inline
def machine_of(world: World, nodes: Nodes | None, gpus: Gpus | None, action: int) -> int:
    """The machine that an action says."""
    machines = len(world.fleet.cores)
    if machines <= action < machines * (1 + places_of(world, nodes, gpus)):
        return action % machines
    return action


@jit_inline
def choose_device(world: World, gpus: Gpus | None, vm: int, action: int) -> bool:
    """Takes note of the device that an action says, or leaves to the kernel, if there is room."""
    if gpus is not None:
        free, machines = world.machines.gpu_free, len(world.fleet.cores)
        machine, device = action % machines, action // machines - 1
        if not has_gpus(world, gpus, vm, machine):
            return False
        if device >= 0:
            if gpus.wanted[vm] > 0 and free[machine, device] < gpus.milli[vm]:
                return False
        else:
            for d in range(free.shape[1]):
                if free[machine, d] >= gpus.milli[vm] and (
                    device < 0 or free[machine, d] < free[machine, device]
                ):
                    device = d
        gpus.device[vm] = device
    return True


@jit_inline
def hold_gpus(world: World, gpus: Gpus | None, vm: int, sign: int) -> None:
    """Lets a VM take its devices, or gives them back."""
    if gpus is not None and gpus.wanted[vm] > 0:
        machine = world.vms.machine[vm]
        free, milli, left = world.machines.gpu_free, gpus.milli[vm], gpus.wanted[vm]
        world.machines.gpu_kinds[machine, kind_of(left, milli)] += sign
        if milli < WHOLE:
            free[machine, gpus.device[vm]] -= sign * milli
            return
        for d in range(free.shape[1]):
            if sign > 0 and left > 0 and free[machine, d] >= WHOLE:
                free[machine, d] -= WHOLE
                gpus.held[vm] |= 1 << d
                left -= 1
            elif sign < 0 and gpus.held[vm] >> d & 1:
                free[machine, d] += WHOLE
        if sign < 0:
            gpus.held[vm] = 0


@jit_inline
def gpus_of(gpus: Gpus | None, vm: int) -> int:
    """How many GPUs a VM asks for."""
    if gpus is not None:
        return gpus.wanted[vm]
    return 0


@jit_inline
def milli_of(gpus: Gpus | None, vm: int) -> int:
    """How many thousandths of each GPU a VM asks for."""
    if gpus is not None:
        return gpus.milli[vm]
    return 1000


@jit_inline
def models_of(gpus: Gpus | None, vm: int) -> int:
    """The models that a VM allows, a bit each."""
    if gpus is not None:
        return gpus.models[vm]
    return -1
