"""Ray behind the face of ``concurrent.futures``; Ray has none of its own."""

from __future__ import annotations

import importlib
import logging
import os
from collections.abc import Callable
from concurrent.futures import Executor, Future
from typing import Any

from cloudarena.base.errors import CloudarenaError
from cloudarena.base.parallel import worker_count


class RayExecutor(Executor):
    """Calls as tasks of Ray.

    Args:
        address: ``ray://HOST:PORT``; ``ray`` for the cluster that this machine belongs to;
            ``local-ray`` for one that is started now and ends with the executor.
        workers: tasks at a time of a cluster that is started here; -1 is one for each core.
    """

    def __init__(self, address: str, workers: int = -1) -> None:
        os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
        ray: Any = importlib.import_module("ray")
        self._ray = ray
        options: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR}
        try:
            if address == "local-ray":
                ray.init(num_cpus=worker_count(workers), include_dashboard=False, **options)
            else:
                ray.init("auto" if address == "ray" else address, **options)
        except (ConnectionError, RuntimeError, ValueError) as error:
            raise CloudarenaError(
                f"--cluster: {address} cannot be reached: {str(error).splitlines()[0]}. "
                "Start it with: ray start --head"
            ) from None
        self.slots = max(1, int(ray.cluster_resources().get("CPU", 1)))
        # A task that takes its worker along is told us, who look for the run that did it.
        self._task = ray.remote(max_retries=0, num_cpus=1)(_call)
        self._futures: set[Future[Any]] = set()

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Has a task of Ray make a call."""
        reference = self._task.remote(fn, args, kwargs)
        future: Future[Any] = reference.future()
        self._futures.add(future)
        future.add_done_callback(self._futures.discard)
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Leaves the cluster; one that was started here ends."""
        if wait and not cancel_futures:
            for future in list(self._futures):
                future.exception()
        self._ray.shutdown()


def _call(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return function(*args, **kwargs)
