"""The command line: one file per command."""

from __future__ import annotations

import contextlib
import signal
import sys
import traceback
from typing import Any, NoReturn

INTERRUPTED = 130
"""The exit code after Ctrl-C: 128 and the number of the signal, as shells count."""
INSIST_S = 2.0
"""How long after a signal it is said again to a process that goes on as if nothing had been."""


def main() -> None:
    """Runs the command line. Bad input is one line on standard error and exit code 2."""
    try:
        _listen()
        _run()
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    finally:
        _insist_every(0.0)


def _run() -> None:
    """Runs a command and says what went wrong in one line."""
    import typer

    from cloudarena.base.errors import CloudarenaError
    from cloudarena.cli import options
    from cloudarena.cli.app import command
    from cloudarena.cli.usage import UsageError, usage_line

    try:
        sys.exit(command()(prog_name="cloudarena", standalone_mode=False))
    except CloudarenaError as error:
        if options.wants_traceback:
            print(getattr(error, "details", "") or traceback.format_exc(), file=sys.stderr, end="")
        _stop(str(error))
    except UsageError as error:
        _stop(usage_line(error, sys.argv[1:]))
    except MemoryError as error:
        _stop(
            f"memory does not suffice: {str(error) or 'it ran out'}. "
            "Take a smaller workload, a shorter run, record=none, or fewer --workers"
        )
    except OSError as error:
        if isinstance(error, BrokenPipeError):
            sys.stderr.close()
            sys.exit(141)
        _stop(f"{error.filename or 'a file'}: cannot be used: {error.strerror or error}")
    except typer.Abort:  # interrupted
        sys.exit(INTERRUPTED)


def _listen() -> None:
    """Lets the signals that ask a process to end do so in order: workers and drafts go first."""
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        with contextlib.suppress(ValueError):  # not in the main thread
            if number is not None and signal.getsignal(number) in (
                signal.SIG_DFL,
                signal.default_int_handler,
            ):
                signal.signal(number, _end)


def _end(number: int, frame: Any) -> NoReturn:
    """Raises what ends the command; again and again if it is lost.

    Python drops exceptions that come up in a callback or a finalizer, of which the compiler has
    many.
    """

    def end() -> NoReturn:
        from cloudarena.base.errors import Ended

        raise KeyboardInterrupt if number == signal.SIGINT else Ended(128 + number)

    def again(_: int, frame: Any) -> None:
        if not isinstance(sys.exc_info()[1], (SystemExit, KeyboardInterrupt)):
            end()  # else it is on its way, and what it meets is being cleared away

    if hasattr(signal, "SIGALRM"):
        signal.signal(signal.SIGALRM, again)
        _insist_every(INSIST_S)
    end()


def _insist_every(seconds: float) -> None:
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_REAL, seconds, seconds)


def _stop(message: str) -> NoReturn:
    from cloudarena.base.errors import elided

    for line in message.splitlines():
        print(f"error: {elided(line)}", file=sys.stderr)
    sys.exit(2)
