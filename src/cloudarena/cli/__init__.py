"""The command line: one file per command."""

from __future__ import annotations

import sys


def main() -> None:
    """Runs the command line. Bad input is one line on standard error and exit code 2."""
    from cloudarena.cli.app import app
    from cloudarena.errors import CloudarenaError

    try:
        app()
    except CloudarenaError as error:
        for line in str(error).splitlines():
            print(f"error: {line}", file=sys.stderr)
        sys.exit(2)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(141)
