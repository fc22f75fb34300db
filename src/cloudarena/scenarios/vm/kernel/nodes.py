"""The NUMA nodes of machines: which have room for a VM, and what VMs hold of them.

A run has nodes, or None: Numba then leaves out what stands behind ``nodes is not None``, so that
runs of machines with one node compile none of this.

An action says a machine and, if the policy wants to choose it, a node: ``machine`` alone leaves the
node to the kernel, which takes the one with the most free cores that has room, the first of equals;
``machine + machines * (1 + node)`` says both.
"""

from __future__ import annotations

from cloudarena.base.arrays import MICRO
from cloudarena.engine.compiled import jit_call, jit_inline
from cloudarena.scenarios.vm.state import Nodes, World


@jit_inline
def part_of(nodes: Nodes, vm: int, size: int) -> int:
    """What a VM takes of a node that it is on: all, or an even part, rounded up."""
    count = nodes.held_cores.shape[1]
    return -(-size // count) if nodes.is_split[vm] else size


@jit_inline
def node_has_room(world: World, nodes: Nodes, vm: int, machine: int, node: int) -> bool:
    """Whether a node can take what a VM, or its part of a VM, needs."""
    cores = part_of(nodes, vm, world.demand.cores[vm])
    memory = part_of(nodes, vm, world.demand.memory[vm])
    return (
        nodes.held_cores[machine, node] + cores <= nodes.cores[machine]
        and nodes.held_memory[machine, node] + memory <= nodes.memory[machine]
    )


@jit_call
def find_node(world: World, nodes: Nodes, vm: int, machine: int) -> int:
    """The node with the most free cores that has room for a VM; -1 if the VM does not fit.

    Of a VM that is split it is the first, if all have room.
    """
    best = -1
    for node in range(nodes.held_cores.shape[1]):
        has_room = node_has_room(world, nodes, vm, machine, node)
        if nodes.is_split[vm]:
            if not has_room:
                return -1
            best = 0
        elif has_room and (
            best < 0 or nodes.held_cores[machine, node] < nodes.held_cores[machine, best]
        ):
            best = node
    return best


@jit_inline
def mark_nodes(world: World, nodes: Nodes | None, vm: int) -> None:
    """Unmarks the valid machines of which no node has room for a VM, and counts them again."""
    if nodes is not None:
        valid = world.machines.valid
        for m in range(len(valid)):
            if valid[m] and find_node(world, nodes, vm, m) < 0:
                valid[m] = False
                world.clock[0].valid_count -= 1


@jit_inline
def choose_node(world: World, nodes: Nodes | None, vm: int, action: int) -> bool:
    """Takes note of the node that an action says, or leaves to the kernel, if it has room."""
    if nodes is not None:
        machines = len(world.fleet.cores)
        machine, node = action % machines, action // machines - 1
        best = find_node(world, nodes, vm, machine)
        if best < 0 or (node >= 0 and not node_has_room(world, nodes, vm, machine, node)):
            return False
        nodes.of_vm[vm] = node if node >= 0 else best
    return True


@jit_inline
def hold(world: World, nodes: Nodes | None, vm: int, sign: int) -> None:
    """Lets a VM take its cores and memory of its node, or of all nodes, or give them back."""
    if nodes is not None:
        machine = world.vms.machine[vm]
        shown = world.machines
        for node in range(nodes.held_cores.shape[1]):
            if nodes.is_split[vm] or node == nodes.of_vm[vm]:
                cores = part_of(nodes, vm, world.demand.cores[vm])
                memory = part_of(nodes, vm, world.demand.memory[vm])
                nodes.held_cores[machine, node] += sign * cores
                nodes.held_memory[machine, node] += sign * memory
                free_cores = nodes.cores[machine] - nodes.held_cores[machine, node]
                free_memory = nodes.memory[machine] - nodes.held_memory[machine, node]
                shown.node_free_cores[machine, node] = free_cores / MICRO
                shown.node_free_memory_gb[machine, node] = free_memory / MICRO


@jit_inline
def splits(nodes: Nodes | None, vm: int) -> bool:
    """Whether a VM is spread over all nodes of its machine."""
    if nodes is not None:
        return nodes.is_split[vm]
    return False
