"""How time moves in a multi-tier service: compiled functions on arrays.

``requests`` lets requests arrive, be served and go on; ``fleet`` rents and releases the VMs;
``periods`` takes decisions and measures what happens until the next one.
"""

from cloudarena.scenarios.tiers.kernel.periods import act, rented_s

__all__ = ["act", "rented_s"]
