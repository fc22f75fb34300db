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

import numpy as np

from cloudarena.engine.compiled import jit_call, jit_uncounted
from cloudarena.engine.flows import FOUND_LINKS, FOUND_ROUTES, FREE_SLOTS, SEARCH, Flows
from cloudarena.engine.indexed_heap import (
    earliest_entry,
    earliest_time,
    set_time,
)
from cloudarena.engine.linked_list import (
    NONE,
    insert_between,
    put_first,
    take_out,
    without,
)

USED_UP = 1.0 - 1e-9
"""A link that carries this share of its capacity may be the bottleneck of a flow."""
TOO_MUCH = 1.0 + 1e-12
"""More than this share of a capacity is more than rounding."""


@jit_uncounted
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
    elif flows.counters[FOUND_LINKS] == 0:
        _open_narrowest(flows, route)
    _share(flows, time)
    _forecast(flows, route)
    return slot


@jit_uncounted
def leave(flows: Flows, slot: int, time: float) -> float:
    """Ends a flow, finished or not; returns the bytes that were left. Its slot is free again."""
    route = flows.slots[slot].route
    _serve(flows, route, time)
    left = max(0.0, flows.slots[slot].target - flows.routes[route].served)
    take_out(flows.slots, flows.routes[route], slot)
    flows.slots[slot].route = NONE
    flows.free_slots[flows.counters[FREE_SLOTS]] = slot
    flows.counters[FREE_SLOTS] += 1
    _search_from(flows, route)
    flows.routes[route].flows -= 1
    if flows.routes[route].flows == 0:
        _disappear(flows, route, time)
    elif flows.counters[FOUND_LINKS] == 0 and flows.routes[route].rate < np.inf:
        _open_narrowest(flows, route)  # rounding has hidden its bottleneck
    _share(flows, time)
    _forecast(flows, route)
    return left


@jit_uncounted
def set_capacity(flows: Flows, link: int, bytes_s: float, time: float) -> None:
    """Gives a link another capacity, more than 0; all that feel it get new rates."""
    flows.counters[SEARCH] += 1
    flows.counters[FOUND_LINKS] = flows.counters[FOUND_ROUTES] = 0
    _carry(flows, link, time)
    flows.links[link].capacity = bytes_s
    _open(flows, link)
    _share(flows, time)


@jit_uncounted
def next_finish(flows: Flows) -> float:
    """When the next flow finishes; infinity if none does."""
    return earliest_time(flows.finishes)


@jit_uncounted
def finishing(flows: Flows) -> int:
    """The slot of the flow that finishes next.

    Of several that of the lowest route, and on that the one that joined first.
    """
    return flows.routes[earliest_entry(flows.finishes)].first


@jit_uncounted
def rate_of(flows: Flows, slot: int) -> float:
    """The rate of a flow, in bytes a second."""
    return flows.routes[flows.slots[slot].route].rate


@jit_uncounted
def left_of(flows: Flows, slot: int, time: float) -> float:
    """The bytes of a flow that are not delivered by a time, if nothing changes until then."""
    route = flows.slots[slot].route
    if flows.routes[route].rate == np.inf:
        return 0.0
    served = flows.routes[route].rate * (time - flows.routes[route].clock)
    return max(0.0, flows.slots[slot].target - flows.routes[route].served - served)


@jit_uncounted
def bytes_through(flows: Flows, link: int, time: float) -> float:
    """The bytes that a link has carried by a time, if nothing changes until then."""
    return flows.links[link].bytes + flows.links[link].rate * (time - flows.links[link].clock)


@jit_call
def _serve(flows: Flows, route: int, time: float) -> None:
    """Brings what a route has served up to a time."""
    if flows.routes[route].flows > 0 and flows.routes[route].rate < np.inf:
        since = time - flows.routes[route].clock
        flows.routes[route].served += flows.routes[route].rate * since
    flows.routes[route].clock = time


@jit_call
def _carry(flows: Flows, link: int, time: float) -> None:
    """Brings what a link has carried up to a time."""
    flows.links[link].bytes += flows.links[link].rate * (time - flows.links[link].clock)
    flows.links[link].clock = time


@jit_call
def _forecast(flows: Flows, route: int) -> None:
    """Moves a route in the heap to when its first flow finishes."""
    first, finish = flows.routes[route].first, np.inf
    if first != NONE:
        left = max(0.0, flows.slots[first].target - flows.routes[route].served)
        finish = flows.routes[route].clock + left / flows.routes[route].rate
    set_time(flows.finishes, route, finish)


@jit_call
def _queue(flows: Flows, route: int, slot: int) -> None:
    """Puts a flow among those of its route, in order of targets; most often it is the last."""
    before = flows.routes[route].last
    while before != NONE and flows.slots[before].target > flows.slots[slot].target:
        before = flows.slots[before].before
    after = flows.routes[route].first if before == NONE else flows.slots[before].next
    insert_between(flows.slots, flows.routes[route], slot, before, after)


@jit_call
def _appear(flows: Flows, route: int) -> None:
    """Enters a route that has its first flow at its links."""
    for visit in range(flows.routes[route].begin, flows.routes[route].end):
        link = flows.visits[visit].link
        flows.links[link].head = put_first(flows.visits, flows.links[link].head, visit)


@jit_call
def _disappear(flows: Flows, route: int, time: float) -> None:
    """Takes a route without flows out of its links, and what they carried for it."""
    for visit in range(flows.routes[route].begin, flows.routes[route].end):
        link = flows.visits[visit].link
        flows.links[link].head = without(flows.visits, flows.links[link].head, visit)
        _carry(flows, link, time)
        flows.links[link].rate -= flows.routes[route].load
        if flows.links[link].head == NONE:
            flows.links[link].rate = 0.0
    flows.routes[route].rate = 0.0
    flows.routes[route].load = 0.0
    flows.routes[route].served = 0.0


@jit_call
def _open(flows: Flows, link: int) -> None:
    """Takes a link into the search."""
    flows.links[link].search = flows.counters[SEARCH]
    flows.found_links[flows.counters[FOUND_LINKS]] = link
    flows.counters[FOUND_LINKS] += 1


@jit_call
def _open_used_up(flows: Flows, route: int) -> None:
    """Takes the links of a route that are used up into the search."""
    for visit in range(flows.routes[route].begin, flows.routes[route].end):
        link = flows.visits[visit].link
        if flows.links[link].search != flows.counters[SEARCH] and (
            flows.links[link].rate >= USED_UP * flows.links[link].capacity
        ):
            _open(flows, link)


@jit_call
def _search_from(flows: Flows, route: int) -> None:
    """Begins a search with the links of a route that are used up."""
    flows.counters[SEARCH] += 1
    flows.counters[FOUND_LINKS] = flows.counters[FOUND_ROUTES] = 0
    _open_used_up(flows, route)


@jit_call
def _open_narrowest(flows: Flows, route: int) -> None:
    """Takes the link of a route that has the least capacity left into the search."""
    narrowest, least = flows.visits[flows.routes[route].begin].link, np.inf
    for visit in range(flows.routes[route].begin, flows.routes[route].end):
        link = flows.visits[visit].link
        left = flows.links[link].capacity - flows.links[link].rate
        if left < least:
            narrowest, least = link, left
    _open(flows, narrowest)


@jit_call
def _share(flows: Flows, time: float) -> None:
    """Shares out the links of the search and all that feel it, and sets the new rates."""
    gathered = 0
    while gathered < flows.counters[FOUND_LINKS]:
        while gathered < flows.counters[FOUND_LINKS]:
            _gather(flows, flows.found_links[gathered])
            gathered += 1
        _fill(flows)
        _open_overloaded(flows)
    for k in range(flows.counters[FOUND_ROUTES]):
        _take_share(flows, flows.found_routes[k], time)
    for k in range(flows.counters[FOUND_LINKS]):
        link = flows.found_links[k]
        _carry(flows, link, time)
        flows.links[link].rate = flows.links[link].capacity - flows.links[link].left


@jit_call
def _gather(flows: Flows, link: int) -> None:
    """Takes the routes on a link into the search, and the links of theirs that are used up."""
    visit = flows.links[link].head
    while visit != NONE:
        route = flows.visits[visit].route
        if flows.routes[route].search != flows.counters[SEARCH]:
            flows.routes[route].search = flows.counters[SEARCH]
            flows.found_routes[flows.counters[FOUND_ROUTES]] = route
            flows.counters[FOUND_ROUTES] += 1
            _open_used_up(flows, route)
        visit = flows.visits[visit].next


@jit_call
def _fill(flows: Flows) -> None:
    """Progressive filling: the smallest share of a link is the rate of all flows on it."""
    for k in range(flows.counters[FOUND_ROUTES]):
        flows.routes[flows.found_routes[k]].share = np.inf
    for k in range(flows.counters[FOUND_LINKS]):
        link = flows.found_links[k]
        sharers, visit = 0, flows.links[link].head
        while visit != NONE:
            sharers += flows.routes[flows.visits[visit].route].flows
            visit = flows.visits[visit].next
        flows.links[link].left, flows.links[link].sharers = flows.links[link].capacity, sharers
        if sharers > 0:
            set_time(flows.shares, link, flows.links[link].capacity / sharers)
    while earliest_time(flows.shares) < np.inf:
        link = earliest_entry(flows.shares)
        share = np.inf
        if flows.links[link].sharers > 0:
            share = flows.links[link].left / flows.links[link].sharers
        if share > earliest_time(flows.shares):  # slower flows have left more for the others
            set_time(flows.shares, link, share)
            continue
        set_time(flows.shares, link, np.inf)
        visit = flows.links[link].head
        while visit != NONE:
            route = flows.visits[visit].route
            if flows.routes[route].share == np.inf:
                flows.routes[route].share = share
                _take_from_links(flows, route, share)
            visit = flows.visits[visit].next


@jit_call
def _take_from_links(flows: Flows, route: int, share: float) -> None:
    """Takes the share of a route's flows from its links in the search."""
    number = flows.routes[route].flows
    for visit in range(flows.routes[route].begin, flows.routes[route].end):
        link = flows.visits[visit].link
        if flows.links[link].search == flows.counters[SEARCH]:
            flows.links[link].sharers -= number
            left = flows.links[link].left - number * share
            flows.links[link].left = max(0.0, left)


@jit_call
def _open_overloaded(flows: Flows) -> None:
    """Takes in the links that are not in the search and would carry too much."""
    for k in range(flows.counters[FOUND_ROUTES]):
        route = flows.found_routes[k]
        for visit in range(flows.routes[route].begin, flows.routes[route].end):
            link = flows.visits[visit].link
            if flows.links[link].search != flows.counters[SEARCH]:
                flows.links[link].left = (
                    flows.links[link].capacity * TOO_MUCH - flows.links[link].rate
                )
    for k in range(flows.counters[FOUND_ROUTES]):
        route = flows.found_routes[k]
        more = flows.routes[route].share * flows.routes[route].flows - flows.routes[route].load
        for visit in range(flows.routes[route].begin, flows.routes[route].end):
            link = flows.visits[visit].link
            if flows.links[link].search != flows.counters[SEARCH]:
                flows.links[link].left -= more
    for k in range(flows.counters[FOUND_ROUTES]):
        route = flows.found_routes[k]
        for visit in range(flows.routes[route].begin, flows.routes[route].end):
            link = flows.visits[visit].link
            if flows.links[link].search != flows.counters[SEARCH] and flows.links[link].left < 0.0:
                _open(flows, link)


@jit_call
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
