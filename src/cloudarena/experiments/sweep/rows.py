"""The rows of finished runs as Arrow tables: one form, whoever makes them and in whichever order.

Columns: ``key``, ``cell`` (the hash of what its runs have in common), ``scenario``, ``case``,
``policy``; then what was varied, by name; then ``seed`` and the metrics of the kind, null where
there is no value; ``at_least`` names the metrics that are only lower bounds. Each column says in
its metadata what it is, so that tables of one kind can be joined.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from cloudarena.base.arrow import pa, pc
from cloudarena.base.measures import AtLeast

TOLD = ("cell", "scenario", "case", "policy")
FIXED = ("key", *TOLD, "seed", "at_least")
ROLE, ORDER = b"cloudarena", b"order"
SETTING, METRIC = b"setting", b"metric"


def table_of(
    runs: Sequence[tuple[str, Mapping[str, Any], int, Mapping[str, float]]],
) -> pa.Table:
    """The table of some runs of one kind.

    Args:
        runs: of each its key, what its cell says of it, its seed, and its metrics.
    """
    metrics = list(dict.fromkeys(name for run in runs for name in run[3]))
    taken = {*FIXED, *metrics}
    settings = sorted({key for run in runs for key in run[1] if key not in TOLD})
    columns: dict[str, pa.Array] = {
        "key": pa.array([run[0] for run in runs], pa.string()),
        **{name: pa.array([run[1][name] for run in runs], pa.string()) for name in TOLD},
    }
    fields = [pa.field(name, pa.string()) for name in columns]
    for key in settings:
        name = f"set.{key}" if key in taken else key
        columns[name] = _column([run[1].get(key) for run in runs])
        fields.append(pa.field(name, columns[name].type, metadata={ROLE: SETTING}))
    columns["seed"] = pa.array([run[2] for run in runs], pa.int64())
    fields.append(pa.field("seed", pa.int64()))
    for place, name in enumerate(metrics):
        values = [run[3].get(name) for run in runs]
        columns[name] = pa.array(values, pa.float64(), from_pandas=True)
        mark = {ROLE: METRIC, ORDER: str(place).encode()}
        fields.append(pa.field(name, pa.float64(), metadata=mark))
    bounds = [
        ",".join(name for name, value in run[3].items() if isinstance(value, AtLeast))
        for run in runs
    ]
    columns["at_least"] = pa.array(bounds, pa.string())
    fields.append(pa.field("at_least", pa.string()))
    return pa.Table.from_arrays(list(columns.values()), schema=pa.schema(fields))


def part_name(kind: str, keys: Iterable[str], is_merged: bool = False) -> str:
    """The name of the file with the rows of some runs: the same runs, the same name.

    That of merged ones is ``KIND-HASH.parquet``, that of a worker's ``KIND+HASH.parquet``.
    """
    digest = hashlib.blake2b("".join(keys).encode(), digest_size=8).hexdigest()
    return f"{kind}{'-' if is_merged else '+'}{digest}.parquet"


def kind_of(part: str) -> str:
    """The kind of scenario whose rows are in a file."""
    return part[: -len("+0123456789abcdef.parquet")]


def is_merged(part: str) -> bool:
    """Whether a file is one of the large, sorted ones."""
    return part[-len("+0123456789abcdef.parquet")] == "-"


def joined(tables: Sequence[pa.Table]) -> pa.Table:
    """All rows of tables of one kind, each run once, in an order that depends on the rows alone."""
    fields = _fields([table.schema for table in tables])
    cast = [_cast(table, fields) for table in tables]
    together = pa.concat_tables(cast).combine_chunks()
    settings = [field.name for field in fields if is_setting(field)]
    order = ["scenario", "case", "policy", *settings, "cell", "seed", "key"]
    together = together.sort_by([(name, "ascending") for name in order])
    if together.num_rows > 1:
        keys = together["key"].combine_chunks()
        is_new = pc.not_equal(keys.slice(1), keys.slice(0, len(keys) - 1))
        if not pc.all(is_new).as_py():
            together = together.filter(pa.concat_arrays([pa.array([True]), is_new]))
    return together.combine_chunks()


def is_setting(field: pa.Field) -> bool:
    """Whether a column is something that was varied."""
    return (field.metadata or {}).get(ROLE) == SETTING


def is_metric(field: pa.Field) -> bool:
    """Whether a column is a metric."""
    return (field.metadata or {}).get(ROLE) == METRIC


def _fields(schemas: Sequence[pa.Schema]) -> list[pa.Field]:
    """The columns of all tables together, in their order."""
    found: dict[str, list[pa.Field]] = {}
    for schema in schemas:
        for field in schema:
            found.setdefault(field.name, []).append(field)
    settings = sorted(name for name, some in found.items() if is_setting(some[0]))
    places = {
        name: min(int(one.metadata[ORDER]) for one in some)
        for name, some in found.items()
        if is_metric(some[0])
    }
    metrics = sorted(places, key=lambda name: (places[name], name))
    marked: dict[str, dict[bytes, bytes]] = {name: {ROLE: SETTING} for name in settings}
    for place, name in enumerate(metrics):
        marked[name] = {ROLE: METRIC, ORDER: str(place).encode()}
    names = ["key", *TOLD, *settings, "seed", *metrics, "at_least"]
    return [
        pa.field(name, _joint_type([one.type for one in found[name]]), metadata=marked.get(name))
        for name in names
    ]


def _joint_type(types: Sequence[Any]) -> Any:
    """The type that holds the values of all: whole numbers, numbers, else text."""
    kinds = {one for one in types if one != pa.null()}
    if not kinds:
        return pa.null()
    if len(kinds) == 1:
        return kinds.pop()
    if kinds == {pa.int64(), pa.float64()}:
        return pa.float64()
    return pa.string()


def _cast(table: pa.Table, fields: Sequence[pa.Field]) -> pa.Table:
    columns = []
    for field in fields:
        if field.name not in table.column_names:
            columns.append(pa.nulls(table.num_rows, field.type))
            continue
        column = table[field.name]
        columns.append(column if column.type == field.type else _as(column, field.type))
    return pa.Table.from_arrays(columns, schema=pa.schema(list(fields)))


def _as(column: pa.ChunkedArray, type_: Any) -> pa.ChunkedArray:
    """A column as another type; numbers become the text that JSON has for them."""
    if type_ == pa.string():
        texts = [None if value is None else _text(value) for value in column.to_pylist()]
        return pa.chunked_array([pa.array(texts, pa.string())])
    return column.cast(type_)


def _column(values: Sequence[Any]) -> pa.Array:
    """The values of a key: numbers as numbers, all else as text."""
    there = [value for value in values if value is not None]
    if all(isinstance(value, int) and not isinstance(value, bool) for value in there):
        return pa.array(values, pa.int64() if there else pa.null())
    if all(isinstance(value, int | float) and not isinstance(value, bool) for value in there):
        return pa.array(values, pa.float64())
    return pa.array([None if value is None else _text(value) for value in values], pa.string())


def _text(value: Any) -> str:
    if isinstance(value, float) and value.is_integer():
        value = int(value)  # whether other rows made the column one of numbers must not matter
    return value if isinstance(value, str) else json.dumps(value, sort_keys=True)
