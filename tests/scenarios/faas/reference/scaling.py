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

    def by_utilisation(self, f: int, busy: float) -> int:
        """As many replicas as Kubernetes gives, where so many would be busy to the full.

        Those that are not ready count as idle, but never turn more replicas into fewer.
        """
        rule, wanted, ready = self.spec.functions[f].scaling, self.wanted[f], len(self.members[f])
        if ready == 0:
            return wanted
        needed = busy / rule.threshold
        grows = needed > ready
        ratio = needed / (wanted if grows else ready)
        if abs(ratio - 1.0) <= rule.tolerance or (grows and ratio < 1.0):
            return wanted
        return math.ceil(needed - 1e-9)

    def suggestion(self, f: int) -> int:
        """As many replicas as the rule gives at once."""
        rule, wanted = self.spec.functions[f].scaling, self.wanted[f]
        past = self.meters[f][-1 - rule.window :]
        span = (len(past) - 1) * rule.interval_s
        rate, waiting, used, asked = (
            (last - first) / span for first, last in zip(past[0], past[-1], strict=True)
        )
        if rule.by == "concurrency":
            return self.by_concurrency(f)
        if rule.by == "request-rate":
            lower = rule.threshold if rule.lower_threshold is None else rule.lower_threshold
            more = rate >= rule.threshold
            return wanted + max(rule.step, 1) * (more - (not more and rate < lower))
        if wanted == 0:
            return 0
        if rule.by == "cpu-utilisation":
            busy = used / asked * len(self.placed[f]) if asked else 0.0
            count = self.by_utilisation(f, busy)
        else:
            value = waiting if rule.by == "queue-length" else rate
            near = abs(value / (wanted * rule.threshold) - 1.0) <= rule.tolerance
            count = wanted if near else math.ceil(value / rule.threshold - 1e-9)
        step = rule.step or math.inf
        return int(min(max(count, wanted - step), wanted + step))

    def scale(self, f: int) -> None:
        """What the rule gives, within the time of stabilisation and the other limits."""
        rule, wanted = self.spec.functions[f].scaling, self.wanted[f]
        self.ticks[f] += 1
        self.meters[f].append([self.arrived[f], *self.metered[f]])
        self.insides[f].append(self.inside_s[f])
        count = self.suggestion(f)
        self.suggested[f].append(count)
        if count < wanted:
            count = min(wanted, max(self.suggested[f][-1 - rule.stabilisation :]))
        if rule.by == "cpu-utilisation":
            most = max(math.ceil(rule.most_up * wanted), wanted + rule.most_more)
            count = min(count, max(most, 1))
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
