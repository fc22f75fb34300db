"""Where runs are run: any ``concurrent.futures.Executor``.

``local`` is the pool of this package. A cluster is reached by its address: Dask (``dask://HOST:PORT``,
``tcp://HOST:PORT``, ``local-dask``), Ray (``ray://HOST:PORT``, ``ray``, ``local-ray``), Slurm by
dask-jobqueue (``slurm``, ``slurm:queue=main:cores=8:memory=16GB:count=10``), MPI (``mpi``).
``--executor MODULE:FACTORY`` is any other.
"""

from __future__ import annotations

import contextlib
import importlib
import inspect
import logging
import re
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from pathlib import Path
from typing import Any

from cloudarena.base.errors import CloudarenaError
from cloudarena.base.parallel import LocalExecutor, check_workers, worker_count
from cloudarena.policies.parse import settings_of

CLUSTERS = (
    "dask://HOST:PORT, local-dask, ray://HOST:PORT, ray, local-ray, slurm[:KEY=VALUE...] or mpi"
)
PATIENCE_S = 30
"""How long a cluster is waited for."""
JOB_KEYS = ["queue", "project", "account", "cores", "processes", "memory", "walltime", "count"]
"""What may be said of Slurm's jobs; ``count`` is how many."""
NEXT_KEY = re.compile(r":(?=\w+=)")
"""Where a key of Slurm's jobs begins; a time has such a sign within it."""


@contextlib.contextmanager
def opened(
    workers: int = -1, cluster: str | None = None, executor: str | Executor | None = None
) -> Iterator[Executor]:
    """The executor that a user names, closed at the end if it was opened here.

    Args:
        workers: processes of this machine, or of a cluster that is started here; -1 is all cores.
        cluster: the address of a cluster.
        executor: ``MODULE:FACTORY`` or ``FILE.py:FACTORY``, or an executor, which is left open.
    """
    check_workers(workers)
    if cluster is not None and executor is not None:
        raise CloudarenaError("--cluster and --executor are not allowed together")
    if isinstance(executor, Executor):
        yield executor
    elif executor not in (None, "local"):
        with _closed(_from_factory(str(executor), workers)) as made:
            yield made
    elif cluster is not None:
        with _cluster(cluster, workers) as made:
            yield made
    else:
        with _closed(LocalExecutor(workers)) as made:
            yield made


@contextlib.contextmanager
def _closed(executor: Executor) -> Iterator[Executor]:
    """Shuts an executor down; after an error without waiting for what it is at."""
    ended_well = False
    try:
        yield executor
        ended_well = True
    finally:
        executor.shutdown(wait=ended_well, cancel_futures=True)


def _cluster(address: str, workers: int) -> Any:
    scheme, _, rest = address.partition(":")
    if address == "local-dask":
        return _local_dask(workers)
    if scheme in ("dask", "tcp", "tls") and rest.startswith("//"):
        return _dask(address.replace("dask://", "tcp://"))
    if address in ("ray", "local-ray") or (scheme == "ray" and rest.startswith("//")):
        return _ray(address, workers)
    if scheme == "slurm":
        return _slurm(rest, workers)
    if address == "mpi":
        return _mpi(workers)
    raise CloudarenaError(f"--cluster: {address!r} is not allowed: {CLUSTERS}")


@contextlib.contextmanager
def _local_dask(workers: int) -> Iterator[Executor]:
    """A Dask cluster on this machine, for a try and for tests."""
    distributed = needed("distributed", "dask")
    with (
        _silent_dask(),
        distributed.LocalCluster(
            n_workers=worker_count(workers),
            threads_per_worker=1,
            processes=True,
            dashboard_address=":0",
            silence_logs=logging.CRITICAL,
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield _of_dask(client)


@contextlib.contextmanager
def _dask(address: str) -> Iterator[Executor]:
    """A Dask cluster that someone has started."""
    distributed = needed("distributed", "dask")
    with _silent_dask():
        try:
            client = distributed.Client(address, timeout=PATIENCE_S)
            client.wait_for_workers(1, timeout=PATIENCE_S)
        except (OSError, TimeoutError, ValueError) as error:
            what = str(error).splitlines()[0] if str(error) else "no answer"
            raise CloudarenaError(
                f"--cluster: {address} cannot be reached: {what}. Start it with: dask scheduler; "
                "dask worker tcp://HOST:PORT"
            ) from None
        try:
            yield _of_dask(client)
        finally:
            with contextlib.suppress(Exception):
                client.close(timeout=2)


def _of_dask(client: Any) -> Executor:
    """The executor of a client. Every call is another one, even with the same arguments."""
    executor: Any = client.get_executor(pure=False, retries=0)
    executor.slots = max(1, sum(client.nthreads().values()))
    # When the scheduler is lost, the client tries to reach it for a while, and then closes.
    executor.is_alive = lambda: client.status in ("running", "connecting", "newly-created")
    found: Executor = executor
    return found


@contextlib.contextmanager
def _silent_dask() -> Iterator[None]:
    """Keeps the logs of Dask to errors that we do not tell ourselves."""
    log = logging.getLogger("distributed")
    before = log.level
    log.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        log.setLevel(before)


@contextlib.contextmanager
def _ray(address: str, workers: int) -> Iterator[Executor]:
    """A Ray cluster, that of this machine (``ray start --head``), or one of its own."""
    needed("ray", "ray")
    from cloudarena.experiments.sweep.ray_executor import RayExecutor

    with _closed(RayExecutor(address, workers)) as executor:
        yield executor


@contextlib.contextmanager
def _slurm(words: str, workers: int) -> Iterator[Executor]:
    """Jobs of Slurm with Dask workers in them; what is not said comes from Dask's configuration."""
    distributed = needed("distributed", "dask")
    jobqueue = needed("dask_jobqueue", "slurm")
    parts = [one for one in NEXT_KEY.split(words) if one]
    settings = settings_of("slurm", parts, JOB_KEYS)
    count = int(settings.pop("count", 0)) or (workers if workers > 0 else 1)
    with (
        _silent_dask(),
        jobqueue.SLURMCluster(**settings) as cluster,
        distributed.Client(cluster) as client,
    ):
        cluster.scale(jobs=count)
        client.wait_for_workers(1)
        yield _of_dask(client)


@contextlib.contextmanager
def _mpi(workers: int) -> Iterator[Executor]:
    """The other ranks: ``mpiexec -n 9 python -m mpi4py.futures -m cloudarena sweep ...``."""
    futures = needed("mpi4py.futures", "mpi")
    executor: Any = futures.MPIPoolExecutor(max_workers=workers if workers > 0 else None)
    with _closed(executor):
        executor.bootup(wait=True)
        executor.slots = int(executor.num_workers) or 1
        yield executor


def needed(module: str, extra: str) -> Any:
    """A module of an extra, or a line that says how to install it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise CloudarenaError(
            f"{module} is needed and cannot be imported ({error}): "
            f"pip install 'cloudarena[{extra}]'"
        ) from None


def _from_factory(words: str, workers: int) -> Executor:
    """The executor that a function of a user's makes; it may take the number of workers."""
    path, separator, name = words.rpartition(":")
    if not separator or not path or not name:
        raise CloudarenaError(f"--executor: {words!r} is not allowed: local, or MODULE:FACTORY")
    factory = _factory(path, name, words)
    try:
        takes_workers = "workers" in inspect.signature(factory).parameters
    except (TypeError, ValueError):
        takes_workers = False
    made = factory(workers=workers) if takes_workers else factory()
    if not callable(getattr(made, "submit", None)):
        raise CloudarenaError(
            f"--executor: {words!r} is not allowed: it gives a {type(made).__name__}, not a "
            "concurrent.futures.Executor"
        )
    found: Executor = made
    return found


def _factory(path: str, name: str, words: str) -> Callable[..., Any]:
    if path.endswith(".py"):
        from cloudarena.policies.parse import load_function

        found: Callable[..., Any] = load_function(Path(path), name)
        return found
    if str(Path.cwd()) not in sys.path:
        sys.path.append(str(Path.cwd()))
    try:
        found = getattr(importlib.import_module(path), name)
    except (ImportError, AttributeError) as error:
        raise CloudarenaError(f"--executor: {words!r} is not allowed: {error}") from None
    return found
