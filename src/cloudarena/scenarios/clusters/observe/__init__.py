"""A clusters run as learners see it: candidates with features, or one flat vector."""

from cloudarena.scenarios.clusters.observe.candidates import CANDIDATES as CANDIDATES
from cloudarena.scenarios.clusters.observe.earnings import EARNINGS as EARNINGS
from cloudarena.scenarios.clusters.observe.flat import ClustersObserver as ClustersObserver
from cloudarena.scenarios.clusters.observe.flat import picture as picture
