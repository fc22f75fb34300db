"""Where a kernel stands when it comes back."""

ENDED, DECIDE, FULL = range(3)
"""The run has ended; something is to be decided; something must grow before it can go on.

Kernels number the reasons for which an action is not allowed from ``FIRST_REASON`` on.
"""
FIRST_REASON = 3
