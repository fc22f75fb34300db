"""A lower bound of the energy with which a set of requests can be completed, by an integer program.

Whoever places replicas as soon as asked, and completes these requests, draws at least

    sum over nodes of off D + (idle - off) T  +  sum over requests of the energy of their execution

with D the length of the run and T the time that a node is on: all of it where nodes are never
switched off or the node holds a replica that is always there, at least until it may be switched
off, and at least what its work takes with every resource fully used. The program chooses the nodes
of the replicas that functions always have (their minimum), whole numbers of them within CPU and
memory, and the type of node of each request, in parts if need be. An execution takes what it takes
alone, at the least watts for its claims that the device's curve has at any load. Cold starts,
transfers, boots and the order of requests are left out: they only add to it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cloudarena.base.errors import SpecError
from cloudarena.contract import Result
from cloudarena.engine.hashing import uniform
from cloudarena.engine.variates import draw
from cloudarena.scenarios.faas.build import build_world
from cloudarena.scenarios.faas.build.network import build_infrastructure
from cloudarena.scenarios.faas.spec import FaasScenario
from cloudarena.scenarios.faas.state import (
    NONE,
    POWERED,
    SLOWING,
    WHOLE,
    PowerModel,
    Predicate,
    Resource,
    World,
)

MOST_VARIABLES = 200_000
"""Requests times classes of nodes, and nodes times functions, together."""
LONGEST_S = 60.0
"""How long the program is searched."""


class EnergyBound(NamedTuple):
    """The least energy of a set of requests, in joules."""

    energy_j: float
    """What no policy is below; of a search that was cut short, what it has proven."""
    requests: int
    nodes_on: int
    """Nodes that hold a replica that is always there, in the solution that was found."""
    is_optimal: bool
    """Whether the program was solved to its end."""


class EnergyDistance(NamedTuple):
    """The energy of a run beside the least with which its requests can be completed."""

    policy: str
    completed: int
    unserved_share: float
    energy_j: float
    bound_j: float
    is_optimal: bool
    """Whether the integer program behind the bound was solved to its end."""

    @property
    def above(self) -> float:
        """The share by which the energy is above the bound."""
        return self.energy_j / self.bound_j - 1.0


def energy_distance(result: Result) -> EnergyDistance:
    """The distance of a run, recorded in full, from the bound for what it has completed."""
    scenario = result.spec
    if not isinstance(scenario, FaasScenario):
        raise SpecError(f"bound: {result.scenario} is not allowed: only faas has one")
    if "invocations" not in result.tables:
        raise SpecError("bound: is not allowed: the run has no table of invocations; record='full'")
    index = {function.name: k for k, function in enumerate(scenario.functions)}
    rows = result.tables["invocations"].select(["function", "request", "outcome"]).to_pylist()
    done = [(index[r["function"]], r["request"]) for r in rows if r["outcome"] == "completed"]
    bound = energy_bound(scenario, result.seed, np.array(done, np.int64).reshape(-1, 2))
    figures = result.metrics
    return EnergyDistance(
        result.policy,
        len(done),
        figures["unserved_share"],
        figures["energy_wh"] * 3600.0,
        bound.energy_j,
        bound.is_optimal,
    )


def energy_bound(
    scenario: FaasScenario, seed: int, completed: NDArray[np.int64] | None = None
) -> EnergyBound:
    """The least energy of requests: rows of (function, number), or all that come."""
    if scenario.has_extras or scenario.warmup_s > 0:
        raise SpecError(
            "bound: is not allowed with failures, calls, retries, supplies, grids or a warm-up"
        )
    drawn = scenario.requests_of(seed)
    world = build_world(scenario, build_infrastructure(scenario, seed), seed, "none", drawn)
    if world.clock[0]["windows"] > 0:
        raise SpecError("bound: is not allowed: there are too many requests")
    if completed is None:
        completed = _all_requests(world)
    joules, work = _executions(world, completed)
    variables = joules.size + len(world.nodes) * (len(world.functions) + 2)
    if variables > MOST_VARIABLES:
        raise SpecError(
            f"bound: {variables:,} variables are not allowed: at most {MOST_VARIABLES:,}; take "
            "fewer requests or nodes"
        )
    return _solve(scenario, world, joules, work)


def _all_requests(world: World) -> NDArray[np.int64]:
    """The requests that come: the function of each, and its number among those."""
    which = np.asarray(world.arriving, np.int64)
    numbers = np.zeros(len(which), np.int64)
    for function in np.unique(which):
        own = which == function
        numbers[own] = np.arange(own.sum())
    return np.column_stack((which, numbers))


def _executions(
    world: World, completed: NDArray[np.int64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The joules of requests on classes of nodes, and their work by resource.

    Work is the seconds for which an execution takes all of a resource. Both are infinite where a
    request cannot run.
    """
    classes = world.fits.shape[1]
    units = _least_units_w(world)
    joules = np.full((len(completed), classes), np.inf)
    work = np.full((len(completed), classes, SLOWING), np.inf)
    key = world.rules[0]["execution_key"]
    for k, (which, number) in enumerate(completed.tolist()):
        function = world.functions[which]
        share = uniform(key, int(function["key"]), number)
        for variant in range(function["first_variant"], function["end_variant"]):
            cold = int(world.variants["cold_distribution"][variant])
            for place in range(classes):
                fit = world.fits[variant, place]
                if fit["distribution"] == NONE:
                    continue
                time = draw(world.distributions, int(fit["distribution"]), share)
                if cold != NONE:
                    time = min(time, draw(world.distributions, cold, share))
                claims = fit["claim"][:POWERED] / WHOLE
                joules[k, place] = min(joules[k, place], float(units[place] @ claims) * time)
                busy = claims[:SLOWING] * time * world.rules[0]["contention"]
                work[k, place] = np.minimum(work[k, place], busy)
    if not np.isfinite(joules).any(axis=1).all():
        raise SpecError("bound: a request was completed that no node can run")
    return joules, work


def _least_units_w(world: World) -> NDArray[np.float64]:
    """The least watts for a full claim on each resource, (classes, resources)."""
    units = np.zeros((world.fits.shape[1], POWERED))
    for node in world.nodes:
        unit = node["coefficient_w"].copy()
        if node["model"] in (PowerModel.POINTS, PowerModel.LINES):
            at = np.linspace(0.0, 1.0, 11)
            levels = node["points"][:11]
            if node["model"] == PowerModel.LINES:
                at, levels = (
                    node[name][: node["segments"] + 1] for name in ("points_at", "points")
                )
            unit[Resource.CPU] = (levels[1:] / at[1:]).min()
        units[node["device_type"]] = unit  # of a curve that bends down, the least is at full use
    return units


def _solve(
    scenario: FaasScenario,
    world: World,
    joules: NDArray[np.float64],
    work: NDArray[np.float64],
) -> EnergyBound:
    """Solves the program: shares of requests, then replicas by function and node, then seconds on.

    Whether a node holds a replica for good stands between: 0 or 1.
    """
    from scipy.optimize import Bounds, LinearConstraint, milp
    from scipy.sparse import coo_array

    nodes, functions = world.nodes, world.functions
    length, count = scenario.duration_s, len(nodes)
    requests, classes = joules.shape
    off = np.minimum(nodes["off_w"], nodes["boot_w"])
    off_after = scenario.power.off_after_s
    least_on = length if off_after is None else min(off_after, length)
    shares = requests * classes
    first_held = shares
    first_kept = first_held + len(functions) * count
    first_on = first_kept + count
    size = first_on + count
    cost, upper, lower = np.zeros(size), np.ones(size), np.zeros(size)
    can = np.isfinite(joules)
    cost[:shares] = np.where(can, joules, 0.0).ravel()
    upper[:shares] = can.ravel()
    cost[first_on:] = nodes["idle_w"] - off
    lower[first_on:], upper[first_on:] = least_on, length
    rows: list[int] = []
    columns: list[int] = []
    values: list[float] = []
    low: list[float] = []
    high: list[float] = []

    def add(entries: list[tuple[int, float]], least: float, most: float) -> None:
        for column, value in entries:
            rows.append(len(low))
            columns.append(column)
            values.append(value)
        low.append(least)
        high.append(most)

    for k in range(requests):
        add([(k * classes + c, 1.0) for c in range(classes)], 1.0, 1.0)
    for place in range(classes):
        there = np.flatnonzero(nodes["device_type"] == place)
        on = [(first_on + int(n), -1.0) for n in there]
        for resource in range(SLOWING):
            takes = work[:, place, resource]
            busy = np.flatnonzero(can[:, place] & (takes > 0))
            add([*((int(k) * classes + place, float(takes[k])) for k in busy), *on], -np.inf, 0.0)
    needs = [_needs(world, f) for f in range(len(functions))]
    fits = bool(world.rules[0]["predicates"][Predicate.FITS_RESOURCES])
    for f, row in enumerate(functions):
        held = [first_held + f * count + n for n in range(count)]
        for n in range(count):
            need = needs[f][nodes["device_type"][n]]
            upper[held[n]] = 0.0 if need is None else row["minimum"]
            add([(held[n], 1.0), (first_kept + n, -float(max(row["minimum"], 1)))], -np.inf, 0.0)
        add([(column, 1.0) for column in held], float(row["minimum"]), np.inf)
    for n in range(count):
        add([(first_on + n, 1.0), (first_kept + n, -length)], 0.0, np.inf)
        for part, name in enumerate(("free_cpu", "free_memory") if fits else ()):
            used = [
                (first_held + f * count + n, needs[f][nodes["device_type"][n]])
                for f in range(len(functions))
            ]
            entries = [(column, float(need[part])) for column, need in used if need is not None]
            add(entries, -np.inf, float(nodes[name][n]))
    whole = np.zeros(size)
    whole[first_held:first_on] = 1
    matrix = coo_array((values, (rows, columns)), shape=(len(low), size)).tocsr()
    found = milp(
        cost,
        integrality=whole,
        bounds=Bounds(lower, upper),
        constraints=LinearConstraint(matrix, low, high),
        options={"time_limit": LONGEST_S, "mip_rel_gap": 1e-9},
    )
    if found.x is None:
        raise SpecError("bound: no placement of the functions' minimum replicas fits the nodes")
    least = found.mip_dual_bound if found.mip_dual_bound is not None else found.fun
    kept = round(float(found.x[first_kept:first_on].sum()))
    energy = float(least) + float((off * length).sum())
    return EnergyBound(energy, requests, kept, found.status == 0)


def _needs(world: World, which: int) -> list[tuple[int, int] | None]:
    """The least millicores and bytes of a replica of a function on each class; None: cannot run."""
    function = world.functions[which]
    found: list[tuple[int, int] | None] = []
    variants = range(function["first_variant"], function["end_variant"])
    for place in range(world.fits.shape[1]):
        can = [world.variants[v] for v in variants if world.fits["distribution"][v, place] != NONE]
        cpu, memory = (min((int(v[name]) for v in can), default=0) for name in ("cpu", "memory"))
        found.append((cpu, memory) if can else None)
    return found
