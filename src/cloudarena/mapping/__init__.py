"""Independent tasks onto heterogeneous machines, from expected times to compute (ETC)."""

from cloudarena.mapping.etc import CLASSES, Etc, generate_etc, read_etc, write_etc
from cloudarena.mapping.solve import HEURISTICS, Mapping, lower_bound, map_tasks

__all__ = [
    "CLASSES",
    "HEURISTICS",
    "Etc",
    "Mapping",
    "generate_etc",
    "lower_bound",
    "map_tasks",
    "read_etc",
    "write_etc",
]
