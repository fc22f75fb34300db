"""How many replicas there are to be."""

from __future__ import annotations

import math


class Scaling:
    """How many replicas there are to be."""

    def concurrency(self, f: int, intervals: int) -> float:
        """The requests in the system over the last intervals, on average."""
        past = self.insides[f]
        span = min(len(past) - 1, intervals)
        interval_s = self.spec.functions[f].scaling.interval_s
        return (past[-1] - past[-1 - span]) / (span * interval_s)

    def by_concurrency(self, f: int) -> int:
        """As many replicas as Knative gives."""
        rule, ready = self.spec.functions[f].scaling, max(1, len(self.members[f]))
        least, most = ready // rule.most_down, math.ceil(ready * rule.most_up)
        calm, surge = (
            math.ceil(self.concurrency(f, window) / rule.threshold - 1e-9)
            for window in (rule.window, rule.panic_window)
        )
        count, urgent = (int(min(max(one, least), most)) for one in (calm, surge))
        panic = self.panic[f]
        if surge / ready >= rule.panic_threshold:
            self.panic[f] = self.now
        elif panic is not None and self.now - panic > rule.window * rule.interval_s:
            self.panic[f], self.panic_most[f] = None, 0
        if self.panic[f] is not None:
            count = self.panic_most[f] = max(count, urgent, self.panic_most[f])
        return count

    def scale(self, f: int) -> None:
        """By average requests over the last intervals, or by those in the system."""
        rule = self.spec.functions[f].scaling
        self.ticks[f] += 1
        self.counts[f].append(self.arrived[f])
        self.insides[f].append(self.inside_s[f])
        before = self.counts[f][max(0, len(self.counts[f]) - 1 - rule.window)]
        span = min(self.ticks[f], rule.window) * rule.interval_s
        rate, wanted = (self.arrived[f] - before) / span, self.wanted[f]
        count = wanted
        if wanted > 0 and abs(rate / (wanted * rule.threshold) - 1.0) > rule.tolerance:
            count = math.ceil(rate / rule.threshold - 1e-9)
        if rule.by == "concurrency":
            count = self.by_concurrency(f)
        self.suggested[f].append(count)
        if count < wanted:
            count = min(wanted, max(self.suggested[f][-1 - rule.stabilisation :]))
        if count < wanted and self.now - self.changed[f] < rule.cooldown_s:
            count = wanted
        busy = self.waiting[f] or any(r.running for r in self.all_of(f))
        if count == 0 and busy:
            count = 1
        count = min(max(count, rule.minimum), rule.maximum)
        if count != wanted:
            self.wanted[f], self.changed[f] = count, self.now
        while len(self.placed[f]) > count:
            idle = [r for r in self.placed[f] if not r.serves]
            self.remove((idle or self.placed[f])[-1])
