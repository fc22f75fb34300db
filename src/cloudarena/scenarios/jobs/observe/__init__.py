"""A jobs run as learners see it: candidates with features, or one flat vector."""

from cloudarena.scenarios.jobs.observe.candidates import CANDIDATES as CANDIDATES
from cloudarena.scenarios.jobs.observe.earnings import EARNINGS as EARNINGS
from cloudarena.scenarios.jobs.observe.flat import JobsObserver as JobsObserver
from cloudarena.scenarios.jobs.observe.flat import picture as picture
from cloudarena.scenarios.jobs.observe.queue import RANKINGS as RANKINGS
