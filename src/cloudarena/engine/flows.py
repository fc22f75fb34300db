"""Links, routes and flows, which ``max_min`` gives their rates: all idle, or with room for more."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cloudarena.base.errors import SpecError
from cloudarena.engine.indexed_heap import (
    IndexedHeap,
    make_indexed_heap,
)
from cloudarena.engine.linked_list import (
    ENDS,
    LINKS,
    NONE,
)

FREE_SLOTS, SEARCH, FOUND_LINKS, FOUND_ROUTES = range(4)


LINK = np.dtype(
    [
        ("capacity", np.float64),  # bytes a second
        ("rate", np.float64),  # bytes a second that it carries
        ("bytes", np.float64),  # carried up to its clock
        ("clock", np.float64),
        ("head", np.int64),  # the first visit of a route with flows; NONE
        ("search", np.int64),  # the last search that found it,
        ("left", np.float64),  # the capacity that it has not shared out,
        ("sharers", np.int64),  # and the flows without a rate
    ]
)


ROUTE = np.dtype(
    [
        ("begin", np.int64),  # its visits
        ("end", np.int64),
        ("flows", np.int64),  # how many take it
        ("rate", np.float64),  # of each of its flows
        ("load", np.float64),  # what its links count for it
        ("served", np.float64),  # bytes for each flow up to its clock
        ("clock", np.float64),
        *ENDS,  # its flows, the one that finishes first before the others
        ("search", np.int64),  # the last search that found it,
        ("share", np.float64),  # and what it got
    ]
)


VISIT = np.dtype(
    [
        ("link", np.int64),
        ("route", np.int64),
        *LINKS,  # with the other visits of the same link
    ]
)


SLOT = np.dtype(
    [
        ("route", np.int64),  # NONE for a free one
        ("bytes", np.float64),  # asked for
        ("target", np.float64),  # finished when its route has served so much
        *LINKS,  # with the others of the route, in order of targets
    ]
)


class Flows(NamedTuple):
    """Links, routes, the visits of routes to links, and flows in slots that are used again."""

    links: NDArray[np.void]  # of LINK
    routes: NDArray[np.void]  # of ROUTE
    visits: NDArray[np.void]  # of VISIT
    slots: NDArray[np.void]  # of SLOT
    finishes: IndexedHeap  # (routes): when the first flow finishes
    free_slots: NDArray[np.int64]  # (slots,): a stack
    counters: NDArray[np.int64]
    """FREE_SLOTS, the number of the last SEARCH, FOUND_LINKS and FOUND_ROUTES of it."""
    # For searches:
    found_links: NDArray[np.int64]
    found_routes: NDArray[np.int64]
    shares: IndexedHeap  # (links): the share of each link, smallest first


def make_flows(
    capacity: ArrayLike, route_begin: ArrayLike, route_links: ArrayLike, slots: int
) -> Flows:
    """Links without flows.

    Args:
        capacity: of each link, in bytes a second.
        route_begin: (routes + 1,), where the links of each route begin.
        route_links: the links of all routes, one route after the other; none twice in a route.
        slots: how many flows there may be at a time.
    """
    capacity = np.array(capacity, np.float64)
    begin, visit_link = np.array(route_begin, np.int64), np.array(route_links, np.int64)
    if not (np.isfinite(capacity) & (capacity > 0)).all():
        raise SpecError("links: a capacity must be a number more than 0")
    links = np.zeros(len(capacity), LINK)
    links["capacity"], links["head"] = capacity, NONE
    routes = np.zeros(len(begin) - 1, ROUTE)
    routes["begin"], routes["end"] = begin[:-1], begin[1:]
    routes["first"] = routes["last"] = NONE
    visits = np.zeros(len(visit_link), VISIT)
    visits["link"] = visit_link
    visits["route"] = np.repeat(np.arange(len(routes)), np.diff(begin))
    visits["next"] = visits["before"] = NONE
    return Flows(
        links=links,
        routes=routes,
        visits=visits,
        slots=_free_slots(slots),
        finishes=make_indexed_heap(len(routes)),
        free_slots=np.arange(slots)[::-1].copy(),
        counters=np.array([slots, 0, 0, 0]),
        found_links=np.zeros(len(links), np.int64),
        found_routes=np.zeros(len(routes), np.int64),
        shares=make_indexed_heap(len(links)),
    )


def _free_slots(count: int) -> NDArray[np.void]:
    slots = np.zeros(count, SLOT)
    slots["route"] = slots["next"] = slots["before"] = NONE
    return slots


def with_slots(flows: Flows, slots: int) -> Flows:
    """Returns the same with room for more flows; slots in use keep their indices."""
    old, more = len(flows.slots), _free_slots(slots)
    more[:old] = flows.slots
    free = flows.counters[FREE_SLOTS]
    stack = np.zeros(slots, np.int64)
    stack[: slots - old] = np.arange(old, slots)[::-1]
    stack[slots - old : slots - old + free] = flows.free_slots[:free]
    flows.counters[FREE_SLOTS] = slots - old + free
    return flows._replace(slots=more, free_slots=stack)
