"""The command line: one file per command."""

from __future__ import annotations

import sys


def main() -> None:
    """Runs the command line. Bad input is one line on standard error and exit code 2."""
    import typer

    from cloudarena.cli.app import app
    from cloudarena.cli.usage import UsageError, usage_line
    from cloudarena.errors import CloudarenaError

    try:
        sys.exit(app(standalone_mode=False))
    except CloudarenaError as error:
        _stop(str(error))
    except UsageError as error:
        if type(error).__name__ == "NoArgsIsHelpError":
            error.show()
            sys.exit(error.exit_code)
        _stop(usage_line(error, sys.argv[1:]))
    except typer.Abort:  # interrupted
        sys.exit(130)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(141)


def _stop(message: str) -> None:
    for line in message.splitlines():
        print(f"error: {line}", file=sys.stderr)
    sys.exit(2)
