"""How time moves in a multi-tier service: compiled functions on arrays.

``requests`` lets requests arrive, be served and go on; ``fleet`` rents and releases the VMs.
"""

from cloudarena.scenarios.tiers.kernel.fleet import release, rent
from cloudarena.scenarios.tiers.kernel.requests import run_until

__all__ = ["release", "rent", "run_until"]
