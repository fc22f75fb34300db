"""A slow, obvious clusters run in exact arithmetic: one event after the other.

An event is the arrival of a batch, the end of a class's batch, or the end of a stage. Between
events every class works at its rate, and everything that is measured is a sum of rate times time.
"""

from fractions import Fraction
from math import inf, isinf


class Run:
    def __init__(self, times, tasks, seconds, memory, decide_seconds=0):
        self.times = [Fraction(float(t)) for t in times]
        self.tasks = [[Fraction(int(n)) for n in row] for row in tasks]
        self.seconds = [[Fraction(float(p)) for p in row] for row in seconds]
        self.memory = [[Fraction(float(d)) for d in row] for row in memory]
        self.classes = len(self.tasks[0])
        self.decide_seconds = Fraction(decide_seconds)
        self.now = Fraction(0)
        self.arrived = 0  # batches
        self.left = [list(row) for row in self.tasks]  # tasks
        self.finish = [[None] * self.classes for _ in self.tasks]
        self.memory_of, self.tasks_of, self.busy_of = (
            [Fraction(0)] * self.classes for _ in range(3)
        )
        self.stages = []

    def play(self, plans):
        """Takes (shares, length, evaluations) one after the other; returns how many it took."""
        taken = 0
        if self.decide_seconds == 0:
            for shares, length, _ in plans:
                taken += 1
                if self.stage(shares, length, 0):
                    break
            return taken
        plans = iter(plans)
        shares, length, _ = next(plans)
        taken += 1
        while True:
            if isinf(length):
                self.stage(shares, inf, 0)
                return taken
            next_shares, next_length, evaluations = next(plans)
            taken += 1
            thinking = evaluations * self.decide_seconds
            if self.stage(shares, max(length, thinking), thinking):
                return taken
            shares, length = next_shares, next_length

    def stage(self, shares, length, thinking):
        begin = self.now
        end = inf if isinf(length) else begin + Fraction(length)
        while self.now < end and not self.done():
            self.step(shares, end)
        self.stages.append((begin, self.now, min(thinking, self.now - begin)))
        return self.done()

    def done(self):
        return all(n == 0 for row in self.left for n in row)

    def head(self, c):
        """The batch that class c works on now, or None."""
        return next((b for b in range(self.arrived) if self.left[b][c] > 0), None)

    def holds(self, c):
        """The memory of a VM of class c."""
        b = self.head(c)
        if b is None:
            b = max(self.arrived - 1, 0)
        return self.memory[b][c]

    def step(self, shares, end):
        while self.arrived < len(self.times) and self.times[self.arrived] <= self.now:
            for c in range(self.classes):
                if self.tasks[self.arrived][c] == 0:
                    self.finish[self.arrived][c] = self.now
            self.arrived += 1
        events = [end]
        if self.arrived < len(self.times):
            events.append(self.times[self.arrived])
        heads = [self.head(c) for c in range(self.classes)]
        for c, b in enumerate(heads):
            if b is not None:
                events.append(self.now + self.left[b][c] * self.seconds[b][c] / shares[c])
        until = min(events)
        step = until - self.now
        for c, b in enumerate(heads):
            waiting = sum((row[c] for row in self.left[: self.arrived]), Fraction(0))
            self.tasks_of[c] += waiting * step
            self.memory_of[c] += shares[c] * self.holds(c) * step
            if b is not None:
                done = shares[c] * step / self.seconds[b][c]
                self.tasks_of[c] -= done * step / 2
                self.busy_of[c] += shares[c] * step
        for c, b in enumerate(heads):
            if b is not None:
                self.left[b][c] -= shares[c] * step / self.seconds[b][c]
                if self.left[b][c] == 0:
                    self.finish[b][c] = until
        self.now = until


def makespan_task_by_task(tasks, seconds, shares):
    """When the last task ends if tasks are whole: a VM takes one after the other."""
    last = 0.0
    for count, time, vms in zip(tasks, seconds, shares, strict=True):
        free = [0.0] * vms
        for _ in range(count):
            vm = free.index(min(free))
            free[vm] += time
        last = max(last, *free)
    return last
