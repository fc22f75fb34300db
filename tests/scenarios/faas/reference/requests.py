"""The way of requests, from their arrival to their end."""

from __future__ import annotations

from cloudarena.engine.hashing import make_key, uniform
from cloudarena.engine.variates import draw, make_distributions
from cloudarena.scenarios.faas.kernel.calls import call_number

from .parts import Act, Replica, Request, Timer


class Requests:
    """The way of requests, from their arrival to their end."""

    def send(self, request: Request, replica: Replica) -> None:
        """A request goes to its replica."""
        request.replica = replica
        replica.ends = None
        self.reach(request)

    def reach(self, request: Request) -> None:
        """A request is at its replica."""
        if len(request.replica.running) < (self.spec.functions[request.function].workers or 1):
            self.take_up(request, request.replica)
        else:
            request.state = "queued"
            request.replica.queue.append(request)

    def take_up(self, request: Request, replica: Replica) -> None:
        """A worker takes up a request."""
        request.start = self.now
        replica.served += 1
        self.uses[request.function] += 1
        replica.running.append(request)
        self.fetch(request)

    def fetch(self, request: Request) -> None:
        """Data comes before a request executes."""
        request.state = "fetching"
        size = self.spec.functions[request.function].image.input_mb
        then = lambda: self.execute(request)  # noqa: E731
        self.move_data(False, request.function, request.replica.node, size, request, then)

    def execute(self, request: Request) -> None:
        """A request executes."""
        request.state = "running"
        entry = self.differs(request.function, request.replica.node)
        time = self.spec.functions[request.function].image.execution
        if entry is not None and entry.execution is not None:
            time = entry.execution
        distribution = make_distributions([time.made()])
        key = make_key(self.seed, "execution")
        share = uniform(key, self.keys[request.function], request.number)
        if time.distribution == "recorded":
            share = (request.number % len(time.seconds) + 0.5) / len(time.seconds)
        request.left = self.lasts("execution", request.replica, draw(distribution, 0, share))

    def arrive(self) -> None:
        """A request arrives: it waits for a replica, or is routed."""
        time, f = self.coming.pop(0)
        self.own[f] += 1
        self.enter(Request(f, self.own[f] - 1, time))

    def enter(self, request: Request) -> None:
        """A request comes in."""
        f = request.function
        self.arrived[f] += 1
        self.requests.append(request)
        members, function = self.members[f], self.spec.functions[f]
        workers = function.workers or 1
        if function.scaling.by == "per-request":
            if (function.scaling.keep or self.spec.keep) == "hybrid-histogram":
                self.count_gap(f)
            free = [r for r in members if r.work() < workers] if not self.waiting[f] else []
            room = (function.scaling.maximum - len(members)) * workers
            if free:
                self.send(request, max(free, key=self.placed[f].index))
            elif len(self.waiting[f]) >= room:
                self.finish(request, "rejected")
            else:
                self.waiting[f].append(request)
            return
        if not members or self.waiting[f]:
            self.waiting[f].append(request)
            if self.wanted[f] == 0:
                self.wanted[f], self.changed[f] = 1, self.now
            return
        place = self.turn[f] % len(members)
        self.turn[f] = place + 1
        if self.spec.router == "least-loaded":
            place = min(range(len(members)), key=lambda k: members[k].work())
        elif self.own_router is not None:
            place = int(self.own_router(self.choices(members, workers)))
        limit = function.queue_limit
        if limit is not None and members[place].work() - workers >= limit:
            self.finish(request, "rejected")
        else:
            self.send(request, members[place])

    def finish(self, request: Request, outcome: str) -> None:
        """A request ends."""
        request.outcome, request.finish, request.state = outcome, self.now, "gone"
        caller = request.caller
        if caller is not None:
            caller.open -= 1
            caller.broken |= outcome != "completed"
            if caller.open == 0 and not caller.calls:
                self.soon(caller, lambda: self.store(caller))

    def soon(self, request: Request, act: Act) -> None:
        """Something happens to a request at this instant, after what happens now."""
        number = self.requests.index(request)
        self.timers.append(Timer(self.now, 2, number, request, act))

    def call(self, request: Request) -> None:
        """A request makes its next call."""
        function = self.spec.functions[request.function]
        total = sum(call.count for call in function.calls)
        call = request.calls.pop(0)
        which = total - len(request.calls) - 1
        key = self.keys[request.function]
        number = call_number(key, request.number, which, request.tries)
        names = [one.name for one in self.spec.functions]
        made = Request(names.index(call.function), number, self.now)
        if call.wait:
            made.caller = request
            request.open += 1
        made.came_first = request.came_first
        made.again = request.again or which in request.made
        request.made.add(which)
        if request.calls:
            self.soon(request, lambda: self.call(request))
        elif request.open == 0:
            self.soon(request, lambda: self.store(request))
        self.enter(made)

    def complete(self, request: Request) -> None:
        """A request has executed, and what it has made is stored, unless it fails."""
        f, replica = request.function, request.replica
        key = make_key(self.seed, "failure")
        if (
            uniform(key, self.keys[f] + request.tries, request.number)
            < self.spec.functions[f].failure_share
        ):
            self.fail(request)
            self.serve(replica)
            self.serve_members(f)
            return
        request.state = "storing"
        size = self.spec.functions[request.function].image.output_mb
        then = lambda: self.store(request)  # noqa: E731
        self.move_data(True, request.function, request.replica.node, size, request, then)

    def store(self, request: Request) -> None:
        """A request is done with its worker once it has made its calls and has the answers."""
        if request.calls is None:
            calls = self.spec.functions[request.function].calls
            request.calls = [call for call in calls for _ in range(call.count)]
            if request.calls:
                request.state = "calling"
                self.soon(request, lambda: self.call(request))
                return
        request.replica.running.remove(request)
        if request.broken:
            self.finish(request, "failed")
        else:
            self.respond(request)
        self.serve(request.replica)

    def respond(self, request: Request) -> None:
        """The response gets there."""
        self.finish(request, "completed")

    def give_up(self, request: Request) -> None:
        """A request has taken too long."""
        self.take_away(request)
        self.finish(request, "timed_out")
        if request.replica:
            self.serve(request.replica)

    def take_away(self, request: Request) -> None:
        """A request is taken from where it is; what moved for it is given up with it."""
        self.forget(request)
        for other in self.requests:
            if other.caller is request:
                other.caller = None
        for line in (
            self.waiting[request.function],
            *(
                (request.replica.queue, request.replica.running, request.replica.coming)
                if request.replica
                else ()
            ),
        ):
            if request in line:
                line.remove(request)
