"""The phases of replicas, from their placement to their end."""

from __future__ import annotations

import statistics
from typing import Any

from cloudarena.engine.hashing import make_key, uniform
from cloudarena.engine.variates import draw, make_distributions
from cloudarena.scenarios.faas.state import Step
from cloudarena.workloads.faas.functions import start_time
from cloudarena.workloads.faas.topology import mbit

from .parts import Act, Node, Replica


class Replicas:
    """The phases of replicas, from their placement to their end."""

    def drawn(self, what: str, replica: Replica) -> float | None:
        """The drawn start or set-up of a replica, by its device or function; or None."""
        function, entry = (
            self.spec.functions[replica.function],
            self.differs(replica.function, replica.node),
        )
        time = getattr(entry, what, None) or getattr(function, what)
        if time is None:
            return None
        share = uniform(make_key(self.seed, what), self.keys[replica.function], replica.order)
        return draw(make_distributions([time.made()]), 0, share)

    def become_idle(self, replica: Replica) -> None:
        """A replica has nothing to do: until when it stays."""
        f = replica.function
        function = self.spec.functions[f]
        rule = function.scaling
        if rule.by != "per-request":
            return
        replica.rank = self.now
        if self.spec.evict == "greedy-dual":
            value = self.uses[f] * (replica.ready_s - replica.placed_s) / function.image.memory_mb
            replica.rank = replica.node.aged + value
        keep = rule.keep or self.spec.keep
        replica.idle_from = self.now
        if self.own_keep is not None and rule.keep is None:
            replica.ends = self.now + self.own_keep(self.idle(replica))
            return
        if keep == "forever":
            return
        if keep == "fixed":
            replica.ends = self.now + rule.expiry_s
            return
        begin, until = self.warm_window(f)
        if self.waiting[f] or any(r.work() for r in self.members[f]):
            replica.ends = self.now + until
        elif not replica.served:
            replica.ends = max(self.now, self.keep_until[f])
        else:
            self.idle_from[f], self.keep_until[f] = self.now, self.now + until
            if begin > 0:
                self.ahead_at[f] = self.now + begin
            for member in self.members[f]:
                member.ends = self.now if begin > 0 else self.keep_until[f]

    def warm_window(self, f: int) -> tuple[float, float]:
        """From when to when after its last invocation a function should have a replica."""
        rule = self.spec.functions[f].scaling.idle_times
        known = sorted(b for b in (int(gap / rule.bin_s) for gap in self.gaps[f]) if b < rule.bins)
        counts = [known.count(b) for b in range(rule.bins)]
        if not known or len(self.gaps[f]) > 2 * len(known):
            return 0.0, rule.bins * rule.bin_s
        if statistics.pstdev(counts) < rule.least_variation * statistics.fmean(counts):
            return 0.0, rule.bins * rule.bin_s
        head, tail = (
            next(b for k, b in enumerate(known, 1) if k >= share * len(known))
            for share in (rule.head, rule.tail)
        )
        begin = head * rule.bin_s * (1 - rule.margin)
        return begin, (tail + 1) * rule.bin_s * (1 + rule.margin)

    def start_ahead(self, f: int) -> None:
        """A replica is started before the next request comes."""
        self.ahead_at[f], self.ahead[f] = None, 1

    def count_gap(self, f: int) -> None:
        """The idle time of a function is over."""
        if self.idle_from[f] is not None:
            self.gaps[f].append(self.now - self.idle_from[f])
        self.idle_from[f], self.ahead_at[f], self.ahead[f] = None, None, 0

    def schedule(self, replica: Replica) -> None:
        """A replica is placed: it begins once the scheduler is done and its node is on."""
        node, ready = replica.node, self.now + self.spec.scheduler.delay_s
        if node.state == "off":
            node.state, node.changes = "booting", self.now + self.spec.power.boot_s
        elif node.state == "on":
            node.changes = None
        if node.state == "booting":
            ready = max(ready, node.changes)

        def begin() -> None:
            replica.phase = "pulling"
            self.begin(replica)

        self.after(ready - self.now, 1, replica.slot, replica, begin)

    def begin(self, replica: Replica) -> None:
        """A replica begins: its image is pulled, once for a node."""
        function, node = self.spec.functions[replica.function], replica.node
        if function.name not in node.images:
            replica.pulls = True
            seconds = self.moves(function.image.image_mb)
            node.images[function.name] = self.now + seconds
            if seconds > 0:
                node.transfers.append((function.name, replica.function))
        seconds = node.images[function.name] - self.now
        self.after(seconds, 1, replica.slot, replica, lambda: self.pulled(replica))

    def pulled(self, replica: Replica) -> None:
        """The image of a replica is there."""
        name = self.spec.functions[replica.function].name
        node = replica.node
        node.transfers = [moves for moves in node.transfers if moves[0] != name]
        self.starts(replica)

    def moves(self, megabytes: float) -> float:
        """How long bytes take."""
        return float(megabytes * 1e6 / mbit(self.spec.network.bandwidth_mbps))

    def starts(self, replica: Replica) -> None:
        """A container starts, then fetches what it needs first, then is set up."""
        function = self.spec.functions[replica.function]
        replica.phase, replica.pulls = "starting", False
        seconds = self.drawn("start", replica)
        if seconds is None:
            seconds = function.start_s
        if seconds is None:
            share = uniform(
                make_key(self.seed, "start"), self.keys[replica.function], replica.order
            )
            seconds = draw(make_distributions([start_time(replica.node.device.name)]), 0, share)
        seconds = self.lasts("start", replica, seconds)

        def set_up() -> None:
            replica.phase = "setting up"
            size = function.image.setup_mb
            self.move_data(False, replica.function, replica.node, size, replica, fetched)

        def fetched() -> None:
            ready = lambda: self.make_ready(replica)  # noqa: E731
            seconds = self.drawn("setup", replica)
            seconds = function.setup_s if seconds is None else seconds
            seconds = self.lasts("setup", replica, seconds)
            self.after(seconds, 1, replica.slot, replica, ready)

        self.after(seconds, 1, replica.slot, replica, set_up)

    def lasts(self, what: str, replica: Replica, seconds: float) -> float:
        """How long a step takes: as drawn, or as a function of the user's says."""
        rule, node = self.lifecycle[what], replica.node
        if rule is None:
            return seconds
        step = Step(
            now_s=self.now,
            drawn_s=seconds,
            function=replica.function,
            node=self.nodes.index(node),
            cores=node.device.cores,
            load=self.load(node),
            replicas=len(node.replicas),
            served=replica.served,
        )
        return float(rule(step))

    def move_data(
        self, stores: bool, f: int, node: Node, megabytes: float, owner: Any, then: Act
    ) -> None:
        """Data of a function moves to or from a node, by itself."""
        if megabytes == 0:
            then()
            return
        moves = (owner, f)
        node.transfers.append(moves)
        is_replica = isinstance(owner, Replica)
        number = owner.slot if is_replica else self.requests.index(owner)

        def moved() -> None:
            node.transfers.remove(moves)
            then()

        self.after(self.moves(megabytes), 1 if is_replica else 2, number, owner, moved)

    def make_ready(self, replica: Replica) -> None:
        """A replica serves, those that waited first."""
        replica.phase, replica.ready_s = "running", self.now
        self.members[replica.function].append(replica)
        self.serve(replica)

    def serve(self, replica: Replica) -> None:
        """Free workers take up the next requests."""
        workers = self.spec.functions[replica.function].workers or 1
        while replica.queue and len(replica.running) < workers:
            self.take_up(replica.queue.pop(0), replica)
        line = self.waiting[replica.function]
        while line and not replica.drains and replica.work() < workers:
            self.send(line.pop(0), replica)
        if replica.drains:
            self.stop_if_empty(replica)
        elif replica.serves and replica.work() == 0:
            self.become_idle(replica)

    def stop_if_empty(self, replica: Replica) -> None:
        """A replica that drains ends with its last request; one that is not ready at once."""
        if not replica.serves:
            self.forget(replica)
        if replica.work() == 0:
            replica.node.replicas.remove(replica)
            if not replica.node.replicas and replica.node.state == "on":
                self.stays_empty(replica.node)
            self.spare.append(replica.slot)
            if replica.pulls:
                self.hand_over_pull(replica)

    def hand_over_pull(self, replica: Replica) -> None:
        """A pull goes on for the next that waits for it, or is given up."""
        name, node = self.spec.functions[replica.function].name, replica.node
        heirs = [
            r for r in node.replicas if r.phase == "pulling" and r.function == replica.function
        ]
        if heirs:
            heirs[0].pulls = True
        else:
            del node.images[name]
            self.forget_pull(node, name)

    def forget_pull(self, node: Node, name: str) -> None:
        """Nobody waits for an image any more."""
        node.transfers = [moves for moves in node.transfers if moves[0] != name]

    def expire(self, replica: Replica) -> None:
        """A replica beyond the minimum has been idle for too long."""
        replica.ends = None
        if (
            len(self.placed[replica.function])
            > self.spec.functions[replica.function].scaling.minimum
        ):
            self.remove(replica)

    def remove(self, replica: Replica) -> None:
        """A replica takes no more requests, and ends when it has none."""
        f = replica.function
        self.placed[f].remove(replica)
        if not self.placed[f]:
            self.uses[f] = 0
        if replica in self.members[f]:
            place = self.members[f].index(replica)
            self.members[f].remove(replica)
            self.turn[f] -= self.turn[f] > place
        replica.drains = True
        self.stop_if_empty(replica)

    def all_of(self, f: int) -> list[Replica]:
        """All replicas of a function that are there, those that drain too."""
        return [r for node in self.nodes for r in node.replicas if r.function == f]
