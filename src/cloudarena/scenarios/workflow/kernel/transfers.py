"""How long the data of a function takes to each node."""

from __future__ import annotations

from cloudarena.engine.compiled import jit_inline
from cloudarena.scenarios.workflow.state import (
    World,
)


@jit_inline
def show_transfers(world: World) -> None:
    """Finds how long the data of the pending function would take to each node, in seconds."""
    rules, nodes, demand, index = world.rules, world.nodes, world.demand, world.clock[0].pending
    if rules.parallel_transfer:
        for node in range(len(nodes.server)):
            nodes.transfer[node] = slowest_transfer(world, index, node)
        return
    # The bytes on each node and server are added up, so that parents and nodes are not multiplied.
    on_node, on_server, total = world.bytes_on_node, world.bytes_on_server, 0
    for k in range(demand.first_parent[index], demand.first_parent[index + 1]):
        node = world.progress.node[demand.parents[k]]
        on_node[node] += demand.parent_bytes[k]
        on_server[nodes.server[node]] += demand.parent_bytes[k]
        total += demand.parent_bytes[k]
    for server in range(len(world.servers.expiry)):
        near = on_server[server]
        by_network = (total - near) / rules.network_bandwidth
        for node in range(world.servers.first_node[server], world.servers.first_node[server + 1]):
            nodes.transfer[node] = by_network
            if near > 0:
                here = on_node[node]
                nodes.transfer[node] += (near - here) / rules.numa_bandwidth
                nodes.transfer[node] += here / rules.memory_bandwidth
    for k in range(demand.first_parent[index], demand.first_parent[index + 1]):
        node = world.progress.node[demand.parents[k]]
        on_node[node] = 0
        on_server[nodes.server[node]] = 0


@jit_inline
def slowest_transfer(world: World, index: int, node: int) -> float:
    """How long the slowest of a function's transfers to a node takes, all at once."""
    rules, nodes, demand = world.rules, world.nodes, world.demand
    slowest = 0.0
    for k in range(demand.first_parent[index], demand.first_parent[index + 1]):
        source = world.progress.node[demand.parents[k]]
        bandwidth = rules.network_bandwidth
        if source == node:
            bandwidth = rules.memory_bandwidth
        elif nodes.server[source] == nodes.server[node]:
            bandwidth = rules.numa_bandwidth
        slowest = max(slowest, demand.parent_bytes[k] / bandwidth)
    return slowest
