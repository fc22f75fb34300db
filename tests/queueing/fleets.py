"""Chains and offers that tests share."""

import numpy as np
from hypothesis import strategies as st

from cloudarena.queueing import Offer, TierChain
from cloudarena.queueing.chain import BALANCES
from cloudarena.queueing.routing import ROUTINGS

RATES = [[220, 120], [36, 20], [80, 40]]
FORWARD = [0.8, 0.6]
PRICES = [0.0287, 0.0127]
MOST = [[1, 1], [2, 4], [1, 0]]


def rubis(routing="depth", balance="weighted", room=200):
    """Web, application and database tiers, with fat and thin VMs."""
    return TierChain(RATES, FORWARD, room, routing, balance)


def thesis_offer(**limits):
    """The fleet of the thesis: 3 x 14 x 1 = 42 configurations."""
    return Offer(PRICES, MOST, **limits)


@st.composite
def chains(draw, most_tiers=4, most_sizes=3, most_room=60):
    """Any chain."""
    tiers = draw(st.integers(1, most_tiers))
    sizes = draw(st.integers(1, most_sizes))
    routing = draw(st.sampled_from(ROUTINGS))
    rate = st.floats(0.5, 100)
    rows = st.lists(rate, min_size=sizes, max_size=sizes)
    return TierChain(
        rates=draw(st.lists(rows, min_size=tiers, max_size=tiers)),
        forward=draw(st.lists(st.floats(0, 0.9), min_size=tiers - 1, max_size=tiers - 1)),
        room=draw(st.lists(st.integers(1, most_room), min_size=tiers, max_size=tiers)),
        routing=routing,
        balance=draw(st.sampled_from(BALANCES)),
    )


@st.composite
def configured(draw, **bounds):
    """A chain, an arrival rate, and two configurations of it."""
    chain = draw(chains(**bounds))
    tiers, sizes = chain.rates.shape
    numbers = st.lists(st.integers(0, 3), min_size=2 * tiers * sizes, max_size=2 * tiers * sizes)
    counts = np.array(draw(numbers)).reshape(2, tiers, sizes)
    counts[..., 0] += counts.sum(axis=-1) == 0
    return chain, draw(st.floats(0, 300)), counts
