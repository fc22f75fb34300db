"""A vm run as learners see it: candidates with features, or all machines in one flat vector."""

from cloudarena.scenarios.vm.observe.candidates import CANDIDATES as CANDIDATES
from cloudarena.scenarios.vm.observe.earnings import EARNINGS as EARNINGS
from cloudarena.scenarios.vm.observe.flat import VmObserver as VmObserver
from cloudarena.scenarios.vm.observe.flat import picture as picture
