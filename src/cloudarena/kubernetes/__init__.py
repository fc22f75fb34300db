"""What-if on a snapshot of a Kubernetes cluster: headroom, drain, the cheapest mix of nodes."""

from cloudarena.base.lazy import exports

__getattr__ = exports(
    __name__,
    read_snapshot="snapshot",
    find_pod="find",
    headroom="headroom",
    drain="drain",
    cheapest_mix="mix",
)
