"""A window of a list of jobs: so many in a row, or those of so many hours."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from cloudarena.base.errors import SpecError
from cloudarena.base.numpy import np
from cloudarena.contract.spec import Spec
from cloudarena.contract.window import HOURS, SECONDS_PER_HOUR, end_of_window, whole_windows
from cloudarena.engine.streams import stream
from cloudarena.workloads.jobs.columns import LONGEST_TIME, MOST_JOBS, JobWorkload, slice_jobs

if TYPE_CHECKING:
    from numpy.typing import NDArray

LONGEST_HOURS = LONGEST_TIME / SECONDS_PER_HOUR


class Window(Spec):
    """A number of ``jobs`` from number ``first`` on, or the ``hours`` from ``start_h`` on.

    Without a beginning the seed draws one, from a stream of its own, so that replications see
    different windows and all policies the same: any job from which on the window is whole.
    """

    first: int | None = Field(None, ge=0, le=2**62)
    jobs: int | None = Field(None, ge=1, le=MOST_JOBS)
    start_h: float | None = Field(None, ge=0, le=LONGEST_HOURS)
    """The hour at which it begins, from the first submission on."""
    hours: float | None = Field(None, gt=0, le=LONGEST_HOURS)

    @model_validator(mode="after")
    def _jobs_or_hours(self) -> Window:
        by_jobs, by_hours = self.jobs is not None, self.hours is not None
        if (
            by_jobs == by_hours
            or (by_jobs and self.start_h is not None)
            or (by_hours and self.first is not None)
        ):
            raise PydanticCustomError(
                "not_allowed",
                "is not allowed: either jobs, and first, or hours, and start_h; without first or "
                "start_h the seed draws it",
            )
        return self

    @property
    def is_drawn(self) -> bool:
        """Whether the seed draws where it begins."""
        return self.first is None and self.start_h is None

    def of(self, workload: JobWorkload, seed: int) -> JobWorkload:
        """The jobs of the window under a seed, with times from the first of them."""
        submit, by_hours = workload.submit, self.hours is not None
        unit, length = (HOURS, self.hours or 0.0) if by_hours else ("jobs", float(self.jobs or 0))
        first, whole = self.first, whole_windows(submit, unit, length)
        if self.start_h is not None:
            return self._from_hour(workload, self.start_h * SECONDS_PER_HOUR)
        if whole == 0:
            raise SpecError(self._too_long(submit))
        if first is None:
            first = int(stream(seed, "window").integers(0, whole))
        elif first >= whole:
            raise SpecError(
                f"workload.window.first: {first} is not allowed: from 0 to {whole - 1}, since "
                f"there are {len(submit)} jobs"
            )
        end = end_of_window(submit, first, unit, length)
        if by_hours:  # with all that are submitted at that moment
            first = int(np.searchsorted(submit, submit[first]))
        return slice_jobs(workload, first, end - first)

    def _from_hour(self, workload: JobWorkload, start: float) -> JobWorkload:
        """The jobs from a time on, which need not be that of a job."""
        times = [start, start + (self.hours or 0.0) * SECONDS_PER_HOUR]
        begin, end = (int(place) for place in np.searchsorted(workload.submit, times))
        if begin == end:
            raise SpecError(
                f"workload.window.start_h: {self.start_h:g} is not allowed: no job is submitted in "
                f"the {self.hours:g} hours from then on"
            )
        return slice_jobs(workload, begin, end - begin)

    def _too_long(self, submit: NDArray[np.float64]) -> str:
        """Why there is no such window."""
        if self.hours is None:
            return (
                f"workload.window.jobs: {self.jobs} is not allowed: at most {len(submit)}, since "
                "there are no more jobs"
            )
        return (
            f"workload.window.hours: {self.hours:g} is not allowed: at most "
            f"{submit[-1] / SECONDS_PER_HOUR:g}, from the first submission to the last"
        )
