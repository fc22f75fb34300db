"""Published tables of the field, run again by one command, with ours beside them."""

from __future__ import annotations

from importlib import import_module

from cloudarena.base.errors import check_choice
from cloudarena.reproduce.entry import Entry

NAMES = (
    "theory",
    "azure-rows",
    "rlscheduler",
    "braun",
    "deepjs",
    "numa",
    "spane",
    "fgd",
    "thesis",
    "simfaas",
    "faas-energy",
    "lets-wait-awhile",
    "maro",
)
"""The entries, in the order of the page; each is the module of that name."""


def entry_of(name: str) -> Entry:
    """The entry of a name."""
    check_choice("NAME", name, NAMES)
    module = import_module(f"cloudarena.reproduce.{name.replace('-', '_')}")
    entry: Entry = module.ENTRY
    return entry
