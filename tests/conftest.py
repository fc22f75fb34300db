"""Settings for all tests."""

from __future__ import annotations

import os
import signal
import sys

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # each core has a worker already

import pytest
from hypothesis import settings

from cloudarena import cli
from cloudarena.base import parallel

# Derandomised: a failure in CI is the same failure on every machine. To look further, run with
# --hypothesis-profile=explore.
settings.register_profile("default", max_examples=60, deadline=None, derandomize=True)
settings.register_profile("explore", max_examples=2000, deadline=None, print_blob=True)
settings.load_profile("default")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Starts each worker at another folder, so that no two compile the same kernels at once."""
    from xdist.scheduler import WorkStealingScheduling

    return WorkStealingScheduling(config, log)


@pytest.fixture(scope="session", autouse=True)
def one_core():
    """Lets ``workers=-1`` be one process: pytest has a worker on each core already.

    Tests of several processes say how many.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parallel, "core_count", lambda: 1)
        yield


@pytest.fixture
def cloudarena(monkeypatch, capsys):
    """Runs a command line and returns its exit code, standard output and standard error.

    What the command line did about signals is undone: pytest's workers are ended by one.
    """
    heard = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    def call(*arguments):
        monkeypatch.setattr(sys, "argv", ["cloudarena", *map(str, arguments)])
        code = 0
        try:
            cli.main()
        except SystemExit as stop:
            code = stop.code or 0
        out, err = capsys.readouterr()
        return code, out, err

    yield call
    for number, handler in heard.items():
        signal.signal(number, handler)
