"""Network flows that share links max-min fairly.

Links have a capacity in bytes a second; routes are lists of links, written down once; a flow takes
a route. Rates are max-min fair: each flow has a bottleneck, a link that is used up and on which no
other flow is faster (Bertsekas and Gallager, "Data Networks", section 6.5.2). All flows of a route
have the same rate, so a route counts what it has served to each of its flows, and a flow finishes
when that reaches its target.

Rates change when a flow joins or leaves, and only as far as that is felt. A flow outside can only
feel it through its bottleneck, so the links that are used up and the routes on them are gathered,
from the links of the route that changed; progressive filling shares out these links, the flow with
the smallest share first; a link that was left out and would now carry too much is taken in, and the
filling done again.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cloudarena.engine.alarms import Alarms, first_ring, first_ringing, make_alarms, set_alarm
from cloudarena.engine.compiled import inner, lean
from cloudarena.errors import SpecError

NONE = -1
USED_UP = 1.0 - 1e-9
"""A link that carries this share of its capacity may be the bottleneck of a flow."""
TOO_MUCH = 1.0 + 1e-12
"""More than this share of a capacity is more than rounding."""
FREE_SLOTS, SEARCH, LINKS, ROUTES = range(4)


class Flows(NamedTuple):
    """Links, routes, the visits of routes to links, and flows in slots that are used again."""

    capacity: NDArray[np.float64]  # (links,): bytes a second
    link_rate: NDArray[np.float64]  # (links,): bytes a second that it carries
    link_bytes: NDArray[np.float64]  # (links,): carried up to its clock
    link_clock: NDArray[np.float64]
    link_head: NDArray[np.int64]  # (links,): the first visit of a route with flows; NONE
    route_begin: NDArray[np.int64]  # (routes + 1,): its visits
    route_flows: NDArray[np.int64]  # (routes,): how many flows take it
    route_rate: NDArray[np.float64]  # (routes,): of each of its flows
    route_load: NDArray[np.float64]  # (routes,): what its links count for it
    route_served: NDArray[np.float64]  # (routes,): bytes for each flow up to its clock
    route_clock: NDArray[np.float64]
    route_first: NDArray[np.int64]  # (routes,): the flow that finishes first; NONE
    route_last: NDArray[np.int64]
    visit_link: NDArray[np.int64]  # (visits,)
    visit_route: NDArray[np.int64]
    visit_next: NDArray[np.int64]  # (visits,): the next on the same link; NONE
    visit_before: NDArray[np.int64]
    finishes: Alarms  # (routes): when the first flow finishes
    slot_route: NDArray[np.int64]  # (slots,): NONE for a free one
    slot_bytes: NDArray[np.float64]  # (slots,): asked for
    slot_target: NDArray[np.float64]  # (slots,): finished when its route has served so much
    slot_next: NDArray[np.int64]  # (slots,): the next of the route, in order of targets; NONE
    slot_before: NDArray[np.int64]
    free_slots: NDArray[np.int64]  # (slots,): a stack
    counters: NDArray[np.int64]
    """FREE_SLOTS, the number of the last SEARCH, and the LINKS and ROUTES that it found."""
    # For searches:
    link_search: NDArray[np.int64]  # (links,): the search that found it
    link_left: NDArray[np.float64]  # (links,): capacity that is not shared out
    link_sharers: NDArray[np.int64]  # (links,): flows without a rate
    route_search: NDArray[np.int64]
    route_share: NDArray[np.float64]
    found_links: NDArray[np.int64]
    found_routes: NDArray[np.int64]
    shares: Alarms  # (links): the share of each link; smallest first


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
    links, routes, visits = len(capacity), len(begin) - 1, len(visit_link)
    return Flows(
        capacity=capacity,
        link_rate=np.zeros(links),
        link_bytes=np.zeros(links),
        link_clock=np.zeros(links),
        link_head=np.full(links, NONE),
        route_begin=begin,
        route_flows=np.zeros(routes, np.int64),
        route_rate=np.zeros(routes),
        route_load=np.zeros(routes),
        route_served=np.zeros(routes),
        route_clock=np.zeros(routes),
        route_first=np.full(routes, NONE),
        route_last=np.full(routes, NONE),
        visit_link=visit_link,
        visit_route=np.repeat(np.arange(routes), np.diff(begin)),
        visit_next=np.full(visits, NONE),
        visit_before=np.full(visits, NONE),
        finishes=make_alarms(routes),
        slot_route=np.full(slots, NONE),
        slot_bytes=np.zeros(slots),
        slot_target=np.zeros(slots),
        slot_next=np.full(slots, NONE),
        slot_before=np.full(slots, NONE),
        free_slots=np.arange(slots)[::-1].copy(),
        counters=np.array([slots, 0, 0, 0]),
        link_search=np.zeros(links, np.int64),
        link_left=np.zeros(links),
        link_sharers=np.zeros(links, np.int64),
        route_search=np.zeros(routes, np.int64),
        route_share=np.zeros(routes),
        found_links=np.zeros(links, np.int64),
        found_routes=np.zeros(routes, np.int64),
        shares=make_alarms(links),
    )


def with_slots(flows: Flows, slots: int) -> Flows:
    """The same with room for more flows; slots in use keep their numbers."""
    old = len(flows.slot_route)
    grown: dict[str, Any] = {}
    for name in ("slot_route", "slot_bytes", "slot_target", "slot_next", "slot_before"):
        values = getattr(flows, name)
        more = np.full(slots, NONE, values.dtype)
        more[:old] = values
        grown[name] = more
    free = flows.counters[FREE_SLOTS]
    stack = np.zeros(slots, np.int64)
    stack[: slots - old] = np.arange(old, slots)[::-1]
    stack[slots - old : slots - old + free] = flows.free_slots[:free]
    flows.counters[FREE_SLOTS] = slots - old + free
    return flows._replace(**grown, free_slots=stack)


@lean
def join(flows: Flows, route: int, amount: float, time: float) -> int:
    """Starts a flow of so many bytes; returns its slot, or NONE when all are in use.

    A flow whose route has no links finishes at once.
    """
    free = flows.counters[FREE_SLOTS]
    if free == 0:
        return NONE
    flows.counters[FREE_SLOTS] = free - 1
    slot = flows.free_slots[free - 1]
    _serve(flows, route, time)
    flows.slot_route[slot], flows.slot_bytes[slot] = route, amount
    flows.slot_target[slot] = flows.route_served[route] + amount
    _queue(flows, route, slot)
    _search_from(flows, route)
    flows.route_flows[route] += 1
    if flows.route_flows[route] == 1:
        _appear(flows, route)
    if flows.route_begin[route] == flows.route_begin[route + 1]:
        flows.route_rate[route] = np.inf
    elif flows.counters[LINKS] == 0:
        _open_narrowest(flows, route)
    _share(flows, time)
    _forecast(flows, route)
    return slot


@lean
def leave(flows: Flows, slot: int, time: float) -> float:
    """Ends a flow, finished or not; returns the bytes that were left. Its slot is free again."""
    route = flows.slot_route[slot]
    _serve(flows, route, time)
    left = max(0.0, flows.slot_target[slot] - flows.route_served[route])
    _unqueue(flows, route, slot)
    flows.slot_route[slot] = NONE
    flows.free_slots[flows.counters[FREE_SLOTS]] = slot
    flows.counters[FREE_SLOTS] += 1
    _search_from(flows, route)
    flows.route_flows[route] -= 1
    if flows.route_flows[route] == 0:
        _disappear(flows, route, time)
    elif flows.counters[LINKS] == 0 and flows.route_rate[route] < np.inf:
        _open_narrowest(flows, route)  # rounding has hidden its bottleneck
    _share(flows, time)
    _forecast(flows, route)
    return left


@lean
def next_finish(flows: Flows) -> float:
    """When the next flow finishes; infinity if none does."""
    return first_ring(flows.finishes)


@lean
def finishing(flows: Flows) -> int:
    """The slot of the flow that finishes next; of several that of the lowest route, then the
    one that joined first."""
    return flows.route_first[first_ringing(flows.finishes)]


@lean
def rate_of(flows: Flows, slot: int) -> float:
    """The rate of a flow, in bytes a second."""
    return flows.route_rate[flows.slot_route[slot]]


@lean
def left_of(flows: Flows, slot: int, time: float) -> float:
    """The bytes of a flow that are not delivered by a time, if nothing changes until then."""
    route = flows.slot_route[slot]
    if flows.route_rate[route] == np.inf:
        return 0.0
    served = flows.route_rate[route] * (time - flows.route_clock[route])
    return max(0.0, flows.slot_target[slot] - flows.route_served[route] - served)


@lean
def bytes_through(flows: Flows, link: int, time: float) -> float:
    """The bytes that a link has carried by a time, if nothing changes until then."""
    return flows.link_bytes[link] + flows.link_rate[link] * (time - flows.link_clock[link])


@inner
def _serve(flows: Flows, route: int, time: float) -> None:
    """Brings what a route has served up to a time."""
    if flows.route_flows[route] > 0 and flows.route_rate[route] < np.inf:
        since = time - flows.route_clock[route]
        flows.route_served[route] += flows.route_rate[route] * since
    flows.route_clock[route] = time


@inner
def _carry(flows: Flows, link: int, time: float) -> None:
    """Brings what a link has carried up to a time."""
    flows.link_bytes[link] += flows.link_rate[link] * (time - flows.link_clock[link])
    flows.link_clock[link] = time


@inner
def _forecast(flows: Flows, route: int) -> None:
    """Sets the alarm of a route to when its first flow finishes."""
    first, finish = flows.route_first[route], np.inf
    if first != NONE:
        left = max(0.0, flows.slot_target[first] - flows.route_served[route])
        finish = flows.route_clock[route] + left / flows.route_rate[route]
    set_alarm(flows.finishes, route, finish)


@inner
def _queue(flows: Flows, route: int, slot: int) -> None:
    """Puts a flow among those of its route, in order of targets; the last is the likely place."""
    before = flows.route_last[route]
    while before != NONE and flows.slot_target[before] > flows.slot_target[slot]:
        before = flows.slot_before[before]
    after = flows.route_first[route] if before == NONE else flows.slot_next[before]
    flows.slot_before[slot], flows.slot_next[slot] = before, after
    if before == NONE:
        flows.route_first[route] = slot
    else:
        flows.slot_next[before] = slot
    if after == NONE:
        flows.route_last[route] = slot
    else:
        flows.slot_before[after] = slot


@inner
def _unqueue(flows: Flows, route: int, slot: int) -> None:
    """Takes a flow out of those of its route."""
    before, after = flows.slot_before[slot], flows.slot_next[slot]
    if before == NONE:
        flows.route_first[route] = after
    else:
        flows.slot_next[before] = after
    if after == NONE:
        flows.route_last[route] = before
    else:
        flows.slot_before[after] = before


@inner
def _appear(flows: Flows, route: int) -> None:
    """Enters a route that has its first flow at its links."""
    for visit in range(flows.route_begin[route], flows.route_begin[route + 1]):
        link = flows.visit_link[visit]
        after = flows.link_head[link]
        flows.visit_next[visit], flows.visit_before[visit] = after, NONE
        if after != NONE:
            flows.visit_before[after] = visit
        flows.link_head[link] = visit


@inner
def _disappear(flows: Flows, route: int, time: float) -> None:
    """Takes a route without flows out of its links, and what they carried for it."""
    for visit in range(flows.route_begin[route], flows.route_begin[route + 1]):
        link = flows.visit_link[visit]
        before, after = flows.visit_before[visit], flows.visit_next[visit]
        if before == NONE:
            flows.link_head[link] = after
        else:
            flows.visit_next[before] = after
        if after != NONE:
            flows.visit_before[after] = before
        _carry(flows, link, time)
        flows.link_rate[link] -= flows.route_load[route]
        if flows.link_head[link] == NONE:
            flows.link_rate[link] = 0.0
    flows.route_rate[route] = flows.route_load[route] = flows.route_served[route] = 0.0


@inner
def _open(flows: Flows, link: int) -> None:
    """Takes a link into the search."""
    flows.link_search[link] = flows.counters[SEARCH]
    flows.found_links[flows.counters[LINKS]] = link
    flows.counters[LINKS] += 1


@inner
def _open_used_up(flows: Flows, route: int) -> None:
    """Takes the links of a route that are used up into the search."""
    for visit in range(flows.route_begin[route], flows.route_begin[route + 1]):
        link = flows.visit_link[visit]
        if flows.link_search[link] != flows.counters[SEARCH] and (
            flows.link_rate[link] >= USED_UP * flows.capacity[link]
        ):
            _open(flows, link)


@inner
def _search_from(flows: Flows, route: int) -> None:
    """Begins a search with the links of a route that are used up."""
    flows.counters[SEARCH] += 1
    flows.counters[LINKS] = flows.counters[ROUTES] = 0
    _open_used_up(flows, route)


@inner
def _open_narrowest(flows: Flows, route: int) -> None:
    """Takes the link of a route that has the least capacity left into the search."""
    narrowest, least = flows.visit_link[flows.route_begin[route]], np.inf
    for visit in range(flows.route_begin[route], flows.route_begin[route + 1]):
        link = flows.visit_link[visit]
        left = flows.capacity[link] - flows.link_rate[link]
        if left < least:
            narrowest, least = link, left
    _open(flows, narrowest)


@inner
def _share(flows: Flows, time: float) -> None:
    """Shares out the links of the search and all that feel it, and sets the new rates."""
    gathered = 0
    while gathered < flows.counters[LINKS]:
        while gathered < flows.counters[LINKS]:
            _gather(flows, flows.found_links[gathered])
            gathered += 1
        _fill(flows)
        _open_overloaded(flows)
    for k in range(flows.counters[ROUTES]):
        _take_share(flows, flows.found_routes[k], time)
    for k in range(flows.counters[LINKS]):
        link = flows.found_links[k]
        _carry(flows, link, time)
        flows.link_rate[link] = flows.capacity[link] - flows.link_left[link]


@inner
def _gather(flows: Flows, link: int) -> None:
    """Takes the routes on a link into the search, and the links of theirs that are used up."""
    visit = flows.link_head[link]
    while visit != NONE:
        route = flows.visit_route[visit]
        if flows.route_search[route] != flows.counters[SEARCH]:
            flows.route_search[route] = flows.counters[SEARCH]
            flows.found_routes[flows.counters[ROUTES]] = route
            flows.counters[ROUTES] += 1
            _open_used_up(flows, route)
        visit = flows.visit_next[visit]


@inner
def _fill(flows: Flows) -> None:
    """Progressive filling: the smallest share of a link is the rate of all flows on it."""
    for k in range(flows.counters[ROUTES]):
        flows.route_share[flows.found_routes[k]] = np.inf
    for k in range(flows.counters[LINKS]):
        link = flows.found_links[k]
        sharers, visit = 0, flows.link_head[link]
        while visit != NONE:
            sharers += flows.route_flows[flows.visit_route[visit]]
            visit = flows.visit_next[visit]
        flows.link_left[link], flows.link_sharers[link] = flows.capacity[link], sharers
        if sharers > 0:
            set_alarm(flows.shares, link, flows.capacity[link] / sharers)
    while first_ring(flows.shares) < np.inf:
        link = first_ringing(flows.shares)
        share = np.inf
        if flows.link_sharers[link] > 0:
            share = flows.link_left[link] / flows.link_sharers[link]
        if share > first_ring(flows.shares):  # slower flows have left more for the others
            set_alarm(flows.shares, link, share)
            continue
        set_alarm(flows.shares, link, np.inf)
        visit = flows.link_head[link]
        while visit != NONE:
            route = flows.visit_route[visit]
            if flows.route_share[route] == np.inf:
                flows.route_share[route] = share
                _take_from_links(flows, route, share)
            visit = flows.visit_next[visit]


@inner
def _take_from_links(flows: Flows, route: int, share: float) -> None:
    """Takes the share of a route's flows from its links in the search."""
    number = flows.route_flows[route]
    for visit in range(flows.route_begin[route], flows.route_begin[route + 1]):
        link = flows.visit_link[visit]
        if flows.link_search[link] == flows.counters[SEARCH]:
            flows.link_sharers[link] -= number
            left = flows.link_left[link] - number * share
            flows.link_left[link] = max(0.0, left)


@inner
def _open_overloaded(flows: Flows) -> None:
    """Takes in the links that are not in the search and would carry too much."""
    for k in range(flows.counters[ROUTES]):
        route = flows.found_routes[k]
        for visit in range(flows.route_begin[route], flows.route_begin[route + 1]):
            link = flows.visit_link[visit]
            if flows.link_search[link] != flows.counters[SEARCH]:
                flows.link_left[link] = flows.capacity[link] * TOO_MUCH - flows.link_rate[link]
    for k in range(flows.counters[ROUTES]):
        route = flows.found_routes[k]
        more = flows.route_share[route] * flows.route_flows[route] - flows.route_load[route]
        for visit in range(flows.route_begin[route], flows.route_begin[route + 1]):
            link = flows.visit_link[visit]
            if flows.link_search[link] != flows.counters[SEARCH]:
                flows.link_left[link] -= more
    for k in range(flows.counters[ROUTES]):
        route = flows.found_routes[k]
        for visit in range(flows.route_begin[route], flows.route_begin[route + 1]):
            link = flows.visit_link[visit]
            if flows.link_search[link] != flows.counters[SEARCH] and flows.link_left[link] < 0.0:
                _open(flows, link)


@inner
def _take_share(flows: Flows, route: int, time: float) -> None:
    """Gives the flows of a route their new rate, and counts it at the links."""
    share = flows.route_share[route]
    load = share * flows.route_flows[route]
    more = load - flows.route_load[route]
    if more != 0.0:
        for visit in range(flows.route_begin[route], flows.route_begin[route + 1]):
            link = flows.visit_link[visit]
            if flows.link_search[link] != flows.counters[SEARCH]:
                _carry(flows, link, time)
                flows.link_rate[link] = max(0.0, flows.link_rate[link] + more)
        flows.route_load[route] = load
    if share != flows.route_rate[route]:
        _serve(flows, route, time)
        flows.route_rate[route] = share
        _forecast(flows, route)
