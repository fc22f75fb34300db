"""Queueing theory: what a queue, a network or a chain of tiers does in the long run."""

from cloudarena.queueing.chain import ChainMeasures, TierChain, evaluate
from cloudarena.queueing.closed import ClosedClasses, ClosedNetwork, closed, closed_classes
from cloudarena.queueing.general_arrivals import gg1, ggc
from cloudarena.queueing.general_service import md1, mg1, mg1_ps
from cloudarena.queueing.layered import LayeredNetwork, layered
from cloudarena.queueing.literal import departure_n_over_ast
from cloudarena.queueing.many_servers import erlang_b, erlang_c, mmc, mmck
from cloudarena.queueing.networks import JacksonNetwork, jackson, traffic
from cloudarena.queueing.offers import Offer, Sla, configurations
from cloudarena.queueing.provision import Choice, cheapest
from cloudarena.queueing.response import response_quantile, response_tail
from cloudarena.queueing.routing import forward_probabilities, reach, visits
from cloudarena.queueing.single_server import Station, mm1, mm1c
from cloudarena.queueing.sojourn import (
    mm1_quantile,
    mm1_tail,
    mm1c_quantile,
    mm1c_tail,
    mmc_quantile,
    mmc_tail,
)

__all__ = [
    "ChainMeasures",
    "Choice",
    "ClosedClasses",
    "ClosedNetwork",
    "JacksonNetwork",
    "LayeredNetwork",
    "Offer",
    "Sla",
    "Station",
    "TierChain",
    "cheapest",
    "closed",
    "closed_classes",
    "configurations",
    "departure_n_over_ast",
    "erlang_b",
    "erlang_c",
    "evaluate",
    "forward_probabilities",
    "gg1",
    "ggc",
    "jackson",
    "layered",
    "md1",
    "mg1",
    "mg1_ps",
    "mm1",
    "mm1_quantile",
    "mm1_tail",
    "mm1c",
    "mm1c_quantile",
    "mm1c_tail",
    "mmc",
    "mmc_quantile",
    "mmc_tail",
    "mmck",
    "reach",
    "response_quantile",
    "response_tail",
    "traffic",
    "visits",
]
