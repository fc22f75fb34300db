"""What policies of users may call: the kernel's own questions, with their indices checked."""

from __future__ import annotations

from cloudarena.engine.checked import checked_helper
from cloudarena.scenarios.jobs.kernel import queue

can_start = checked_helper(queue.can_start)
copies_that_fit = checked_helper(queue.copies_that_fit)
first_machine = checked_helper(queue.first_machine)
fits = checked_helper(queue.fits)
gang_fits = checked_helper(queue.gang_fits)
