"""The tables of one run of each policy, as one table for each name.

The first column is the policy. ``policies`` in the schema's metadata lists those that have the
table, also those of which it has no rows.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa

PREFIX = "sample_"
"""What the names of these tables begin with."""


def names_of(samples: Mapping[str, Mapping[str, pa.Table]]) -> list[str]:
    """The names of the tables that ``joined`` makes."""
    found = dict.fromkeys(name for tables in samples.values() for name in tables)
    return [f"{PREFIX}{name}" for name in found]


def joined(samples: Mapping[str, Mapping[str, pa.Table]]) -> dict[str, pa.Table]:
    """The tables of all policies below each other, by the name of the table."""
    import pyarrow as pa

    together = {}
    for full_name in names_of(samples):
        name = full_name.removeprefix(PREFIX)
        parts = {policy: tables[name] for policy, tables in samples.items() if name in tables}
        columns = [column for part in parts.values() for column in part.column_names]
        first = "policy" if "policy" not in columns else "of_policy"
        marked = [
            part.add_column(0, first, pa.array([policy] * part.num_rows, pa.string()))
            for policy, part in parts.items()
        ]
        table = pa.concat_tables(marked, promote_options="permissive")
        together[full_name] = table.replace_schema_metadata({"policies": json.dumps(list(parts))})
    return together


def separated(tables: Mapping[str, pa.Table]) -> dict[str, dict[str, pa.Table]]:
    """The tables of each policy by name, from those that ``joined`` made."""
    import pyarrow.compute as pc

    samples: dict[str, dict[str, pa.Table]] = {}
    for name, table in tables.items():
        if not name.startswith(PREFIX):
            continue
        for policy in json.loads(table.schema.metadata[b"policies"]):
            rows = table.filter(pc.equal(table.column(0), policy)).remove_column(0)
            own = samples.setdefault(policy, {})
            own[name.removeprefix(PREFIX)] = rows.replace_schema_metadata(None)
    return samples
