"""A tiers run as learners see it: candidates with features, or one flat vector."""

from cloudarena.scenarios.tiers.observe.candidates import CANDIDATES as CANDIDATES
from cloudarena.scenarios.tiers.observe.earnings import EARNINGS as EARNINGS
from cloudarena.scenarios.tiers.observe.flat import TiersObserver as TiersObserver
from cloudarena.scenarios.tiers.observe.flat import picture as picture
