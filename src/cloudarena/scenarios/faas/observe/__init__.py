"""A run of functions as learners see it: candidates with features, or one flat vector."""

from cloudarena.scenarios.faas.observe.earnings import EARNINGS as EARNINGS
from cloudarena.scenarios.faas.observe.flat import FaasObserver as FaasObserver
from cloudarena.scenarios.faas.observe.flat import picture as picture
from cloudarena.scenarios.faas.observe.placing import PLACING
from cloudarena.scenarios.faas.observe.scaling import SCALING

CANDIDATES = {one.decides: one for one in (PLACING, SCALING)}
