"""``python -m cloudarena`` is the command line."""

from cloudarena.cli import main

if __name__ == "__main__":
    main()
