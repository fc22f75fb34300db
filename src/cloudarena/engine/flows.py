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

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cloudarena.base.errors import SpecError
from cloudarena.engine.alarms import Alarms, first_ring, first_ringing, make_alarms, set_alarm
from cloudarena.engine.compiled import lean, separate

NONE = -1
USED_UP = 1.0 - 1e-9
"""A link that carries this share of its capacity may be the bottleneck of a flow."""
TOO_MUCH = 1.0 + 1e-12
"""More than this share of a capacity is more than rounding."""
FREE_SLOTS, SEARCH, LINKS, ROUTES = range(4)

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
        ("first", np.int64),  # the flow that finishes first; NONE
        ("last", np.int64),
        ("search", np.int64),  # the last search that found it,
        ("share", np.float64),  # and what it got
    ]
)

VISIT = np.dtype(
    [
        ("link", np.int64),
        ("route", np.int64),
        ("next", np.int64),  # the next on the same link; NONE
        ("before", np.int64),
    ]
)

SLOT = np.dtype(
    [
        ("route", np.int64),  # NONE for a free one
        ("bytes", np.float64),  # asked for
        ("target", np.float64),  # finished when its route has served so much
        ("next", np.int64),  # the next of the route, in order of targets; NONE
        ("before", np.int64),
    ]
)


class Flows(NamedTuple):
    """Links, routes, the visits of routes to links, and flows in slots that are used again."""

    links: NDArray[np.void]  # of LINK
    routes: NDArray[np.void]  # of ROUTE
    visits: NDArray[np.void]  # of VISIT
    slots: NDArray[np.void]  # of SLOT
    finishes: Alarms  # (routes): when the first flow finishes
    free_slots: NDArray[np.int64]  # (slots,): a stack
    counters: NDArray[np.int64]
    """FREE_SLOTS, the number of the last SEARCH, and the LINKS and ROUTES that it found."""
    # For searches:
    found_links: NDArray[np.int64]
    found_routes: NDArray[np.int64]
    shares: Alarms  # (links): the share of each link, smallest first


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
        finishes=make_alarms(len(routes)),
        free_slots=np.arange(slots)[::-1].copy(),
        counters=np.array([slots, 0, 0, 0]),
        found_links=np.zeros(len(links), np.int64),
        found_routes=np.zeros(len(routes), np.int64),
        shares=make_alarms(len(links)),
    )


def _free_slots(count: int) -> NDArray[np.void]:
    slots = np.zeros(count, SLOT)
    slots["route"] = slots["next"] = slots["before"] = NONE
    return slots


def with_slots(flows: Flows, slots: int) -> Flows:
    """The same with room for more flows; slots in use keep their numbers."""
    old, more = len(flows.slots), _free_slots(slots)
    more[:old] = flows.slots
    free = flows.counters[FREE_SLOTS]
    stack = np.zeros(slots, np.int64)
    stack[: slots - old] = np.arange(old, slots)[::-1]
    stack[slots - old : slots - old + free] = flows.free_slots[:free]
    flows.counters[FREE_SLOTS] = slots - old + free
    return flows._replace(slots=more, free_slots=stack)


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
    flows.slots[slot].route, flows.slots[slot].bytes = route, amount
    flows.slots[slot].target = flows.routes[route].served + amount
    _queue(flows, route, slot)
    _search_from(flows, route)
    flows.routes[route].flows += 1
    if flows.routes[route].flows == 1:
        _appear(flows, route)
    if flows.routes[route].begin == flows.routes[route].end:
        flows.routes[route].rate = np.inf
    elif flows.counters[LINKS] == 0:
        _open_narrowest(flows, route)
    _share(flows, time)
    _forecast(flows, route)
    return slot


@lean
def leave(flows: Flows, slot: int, time: float) -> float:
    """Ends a flow, finished or not; returns the bytes that were left. Its slot is free again."""
    route = flows.slots[slot].route
    _serve(flows, route, time)
    left = max(0.0, flows.slots[slot].target - flows.routes[route].served)
    _unqueue(flows, route, slot)
    flows.slots[slot].route = NONE
    flows.free_slots[flows.counters[FREE_SLOTS]] = slot
    flows.counters[FREE_SLOTS] += 1
    _search_from(flows, route)
    flows.routes[route].flows -= 1
    if flows.routes[route].flows == 0:
        _disappear(flows, route, time)
    elif flows.counters[LINKS] == 0 and flows.routes[route].rate < np.inf:
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
    """The slot of the flow that finishes next.

    Of several that of the lowest route, and on that the one that joined first.
    """
    return flows.routes[first_ringing(flows.finishes)].first


@lean
def rate_of(flows: Flows, slot: int) -> float:
    """The rate of a flow, in bytes a second."""
    return flows.routes[flows.slots[slot].route].rate


@lean
def left_of(flows: Flows, slot: int, time: float) -> float:
    """The bytes of a flow that are not delivered by a time, if nothing changes until then."""
    route = flows.slots[slot].route
    if flows.routes[route].rate == np.inf:
        return 0.0
    served = flows.routes[route].rate * (time - flows.routes[route].clock)
    return max(0.0, flows.slots[slot].target - flows.routes[route].served - served)


@lean
def bytes_through(flows: Flows, link: int, time: float) -> float:
    """The bytes that a link has carried by a time, if nothing changes until then."""
    return flows.links[link].bytes + flows.links[link].rate * (time - flows.links[link].clock)


@separate
def _serve(flows: Flows, route: int, time: float) -> None:
    """Brings what a route has served up to a time."""
    if flows.routes[route].flows > 0 and flows.routes[route].rate < np.inf:
        since = time - flows.routes[route].clock
        flows.routes[route].served += flows.routes[route].rate * since
    flows.routes[route].clock = time


@separate
def _carry(flows: Flows, link: int, time: float) -> None:
    """Brings what a link has carried up to a time."""
    flows.links[link].bytes += flows.links[link].rate * (time - flows.links[link].clock)
    flows.links[link].clock = time


@separate
def _forecast(flows: Flows, route: int) -> None:
    """Sets the alarm of a route to when its first flow finishes."""
    first, finish = flows.routes[route].first, np.inf
    if first != NONE:
        left = max(0.0, flows.slots[first].target - flows.routes[route].served)
        finish = flows.routes[route].clock + left / flows.routes[route].rate
    set_alarm(flows.finishes, route, finish)


@separate
def _queue(flows: Flows, route: int, slot: int) -> None:
    """Puts a flow among those of its route, in order of targets; the last is the likely place."""
    before = flows.routes[route].last
    while before != NONE and flows.slots[before].target > flows.slots[slot].target:
        before = flows.slots[before].before
    after = flows.routes[route].first if before == NONE else flows.slots[before].next
    flows.slots[slot].before, flows.slots[slot].next = before, after
    if before == NONE:
        flows.routes[route].first = slot
    else:
        flows.slots[before].next = slot
    if after == NONE:
        flows.routes[route].last = slot
    else:
        flows.slots[after].before = slot


@separate
def _unqueue(flows: Flows, route: int, slot: int) -> None:
    """Takes a flow out of those of its route."""
    before, after = flows.slots[slot].before, flows.slots[slot].next
    if before == NONE:
        flows.routes[route].first = after
    else:
        flows.slots[before].next = after
    if after == NONE:
        flows.routes[route].last = before
    else:
        flows.slots[after].before = before


@separate
def _appear(flows: Flows, route: int) -> None:
    """Enters a route that has its first flow at its links."""
    for visit in range(flows.routes[route].begin, flows.routes[route].end):
        link = flows.visits[visit].link
        after = flows.links[link].head
        flows.visits[visit].next, flows.visits[visit].before = after, NONE
        if after != NONE:
            flows.visits[after].before = visit
        flows.links[link].head = visit


@separate
def _disappear(flows: Flows, route: int, time: float) -> None:
    """Takes a route without flows out of its links, and what they carried for it."""
    for visit in range(flows.routes[route].begin, flows.routes[route].end):
        link = flows.visits[visit].link
        before, after = flows.visits[visit].before, flows.visits[visit].next
        if before == NONE:
            flows.links[link].head = after
        else:
            flows.visits[before].next = after
        if after != NONE:
            flows.visits[after].before = before
        _carry(flows, link, time)
        flows.links[link].rate -= flows.routes[route].load
        if flows.links[link].head == NONE:
            flows.links[link].rate = 0.0
    flows.routes[route].rate = 0.0
    flows.routes[route].load = 0.0
    flows.routes[route].served = 0.0


@separate
def _open(flows: Flows, link: int) -> None:
    """Takes a link into the search."""
    flows.links[link].search = flows.counters[SEARCH]
    flows.found_links[flows.counters[LINKS]] = link
    flows.counters[LINKS] += 1


@separate
def _open_used_up(flows: Flows, route: int) -> None:
    """Takes the links of a route that are used up into the search."""
    for visit in range(flows.routes[route].begin, flows.routes[route].end):
        link = flows.visits[visit].link
        if flows.links[link].search != flows.counters[SEARCH] and (
            flows.links[link].rate >= USED_UP * flows.links[link].capacity
        ):
            _open(flows, link)


@separate
def _search_from(flows: Flows, route: int) -> None:
    """Begins a search with the links of a route that are used up."""
    flows.counters[SEARCH] += 1
    flows.counters[LINKS] = flows.counters[ROUTES] = 0
    _open_used_up(flows, route)


@separate
def _open_narrowest(flows: Flows, route: int) -> None:
    """Takes the link of a route that has the least capacity left into the search."""
    narrowest, least = flows.visits[flows.routes[route].begin].link, np.inf
    for visit in range(flows.routes[route].begin, flows.routes[route].end):
        link = flows.visits[visit].link
        left = flows.links[link].capacity - flows.links[link].rate
        if left < least:
            narrowest, least = link, left
    _open(flows, narrowest)


@separate
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
        flows.links[link].rate = flows.links[link].capacity - flows.links[link].left


@separate
def _gather(flows: Flows, link: int) -> None:
    """Takes the routes on a link into the search, and the links of theirs that are used up."""
    visit = flows.links[link].head
    while visit != NONE:
        route = flows.visits[visit].route
        if flows.routes[route].search != flows.counters[SEARCH]:
            flows.routes[route].search = flows.counters[SEARCH]
            flows.found_routes[flows.counters[ROUTES]] = route
            flows.counters[ROUTES] += 1
            _open_used_up(flows, route)
        visit = flows.visits[visit].next


@separate
def _fill(flows: Flows) -> None:
    """Progressive filling: the smallest share of a link is the rate of all flows on it."""
    for k in range(flows.counters[ROUTES]):
        flows.routes[flows.found_routes[k]].share = np.inf
    for k in range(flows.counters[LINKS]):
        link = flows.found_links[k]
        sharers, visit = 0, flows.links[link].head
        while visit != NONE:
            sharers += flows.routes[flows.visits[visit].route].flows
            visit = flows.visits[visit].next
        flows.links[link].left, flows.links[link].sharers = flows.links[link].capacity, sharers
        if sharers > 0:
            set_alarm(flows.shares, link, flows.links[link].capacity / sharers)
    while first_ring(flows.shares) < np.inf:
        link = first_ringing(flows.shares)
        share = np.inf
        if flows.links[link].sharers > 0:
            share = flows.links[link].left / flows.links[link].sharers
        if share > first_ring(flows.shares):  # slower flows have left more for the others
            set_alarm(flows.shares, link, share)
            continue
        set_alarm(flows.shares, link, np.inf)
        visit = flows.links[link].head
        while visit != NONE:
            route = flows.visits[visit].route
            if flows.routes[route].share == np.inf:
                flows.routes[route].share = share
                _take_from_links(flows, route, share)
            visit = flows.visits[visit].next


@separate
def _take_from_links(flows: Flows, route: int, share: float) -> None:
    """Takes the share of a route's flows from its links in the search."""
    number = flows.routes[route].flows
    for visit in range(flows.routes[route].begin, flows.routes[route].end):
        link = flows.visits[visit].link
        if flows.links[link].search == flows.counters[SEARCH]:
            flows.links[link].sharers -= number
            left = flows.links[link].left - number * share
            flows.links[link].left = max(0.0, left)


@separate
def _open_overloaded(flows: Flows) -> None:
    """Takes in the links that are not in the search and would carry too much."""
    for k in range(flows.counters[ROUTES]):
        route = flows.found_routes[k]
        for visit in range(flows.routes[route].begin, flows.routes[route].end):
            link = flows.visits[visit].link
            if flows.links[link].search != flows.counters[SEARCH]:
                flows.links[link].left = (
                    flows.links[link].capacity * TOO_MUCH - flows.links[link].rate
                )
    for k in range(flows.counters[ROUTES]):
        route = flows.found_routes[k]
        more = flows.routes[route].share * flows.routes[route].flows - flows.routes[route].load
        for visit in range(flows.routes[route].begin, flows.routes[route].end):
            link = flows.visits[visit].link
            if flows.links[link].search != flows.counters[SEARCH]:
                flows.links[link].left -= more
    for k in range(flows.counters[ROUTES]):
        route = flows.found_routes[k]
        for visit in range(flows.routes[route].begin, flows.routes[route].end):
            link = flows.visits[visit].link
            if flows.links[link].search != flows.counters[SEARCH] and flows.links[link].left < 0.0:
                _open(flows, link)


@separate
def _take_share(flows: Flows, route: int, time: float) -> None:
    """Gives the flows of a route their new rate, and counts it at the links."""
    share = flows.routes[route].share
    load = share * flows.routes[route].flows
    more = load - flows.routes[route].load
    if more != 0.0:
        for visit in range(flows.routes[route].begin, flows.routes[route].end):
            link = flows.visits[visit].link
            if flows.links[link].search != flows.counters[SEARCH]:
                _carry(flows, link, time)
                flows.links[link].rate = max(0.0, flows.links[link].rate + more)
        flows.routes[route].load = load
    if share != flows.routes[route].rate:
        _serve(flows, route, time)
        flows.routes[route].rate = share
        _forecast(flows, route)
