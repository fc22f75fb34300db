"""Rules of a user's own that take part in a run, as a spec names them."""

import os


def route(replicas):
    """The replica with the least work for a core, of several the one of the least power."""
    best = 0
    for k in range(1, len(replicas.work)):
        mine = (replicas.work[k] / replicas.cores[k], replicas.power_w[k], replicas.served[k])
        other = (
            replicas.work[best] / replicas.cores[best],
            replicas.power_w[best],
            replicas.served[best],
        )
        if mine < other:
            best = k
    return best


def first(replicas):
    """The oldest replica, whatever it has to do; it cannot be compiled."""
    return {"oldest": 0, "process": os.getpid()}["oldest"]


def slow(node, one):
    """A tenth more for every other invocation, and the square of what is overbooked."""
    return (1.0 + 0.1 * (node.running - 1.0)) * max(
        1.0, node.cpu
    ) ** 2 + one.memory_bound * node.bus


def stay(replica):
    """Longer what takes long to start and is used often."""
    return 2.0 + 10.0 * replica.cold_s + 0.5 * min(replica.uses, 10.0)


def rank(replica):
    """The largest goes first, of several the one that has been idle for longest."""
    return -replica.memory_mb - 1e-3 * replica.idle_s


def start(step):
    """Longer beside others, as images are unpacked one after the other."""
    return step.drawn_s * step.replicas + 0.3


def setup(step):
    """Longer on few cores."""
    return 4.0 / step.cores + step.drawn_s


def execution(step):
    """Longer for the first request of a replica, by the function, and beside other replicas."""
    more = 0.1 * step.function + 0.05 * step.replicas
    return step.drawn_s * (1.5 if step.served == 1 else 1.0) + more


def beyond(replicas):
    """No replica."""
    return len(replicas.work)


def wrong(replicas):
    """Looks where nothing is."""
    return int(replicas.work[99])


def negative(replica):
    """Less than no time."""
    return -1.0


def look(now):
    """The watts of the first node, and how many requests wait."""
    return {"watts": now.nodes.power_w[0], "waiting": now.functions.waiting.sum()}


def share_on(now):
    """A single number."""
    return now.nodes.on.mean()


def words(now):
    """No number."""
    return {"watts": "many"}


def under_load(step):
    """Longer the more of the node is claimed, by this request too."""
    return step.drawn_s + 4.0 * step.load
