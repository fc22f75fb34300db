"""A workflow run as learners see it: candidates with features, or one flat vector."""

from cloudarena.scenarios.workflow.observe.candidates import CANDIDATES as CANDIDATES
from cloudarena.scenarios.workflow.observe.earnings import EARNINGS as EARNINGS
from cloudarena.scenarios.workflow.observe.flat import WorkflowObserver as WorkflowObserver
from cloudarena.scenarios.workflow.observe.flat import picture as picture
