"""Draws the figures of the documentation: ``python docs/figures.py``."""

from pathlib import Path

from drawing import Bar, Lane, Steps, draw_timeline

import cloudarena

MEMORY = (512, 1536, 1024, 1536)
IMAGES = Path(__file__).parent / "images"


def sharing_example() -> str:
    """The containers of workflow/sharing-example and the utilisation of their node."""

    def place(decision):
        return 0, MEMORY[decision.function.workflow]

    tables = cloudarena.simulate("workflow/sharing-example", place).tables
    lanes = []
    for row, memory in zip(tables["functions"].to_pylist(), MEMORY, strict=True):
        name = f"{'ABCD'[row['workflow']]}, {memory} MB"
        lanes.append(Lane(name, [Bar(row["start"], row["completion"], "")]))
    nodes = tables["nodes"].to_pydict()
    shares = nodes["cpu_utilisation"]
    utilisation = Steps(
        "CPU", nodes["start"], shares, [f"{100 * share:g} %" for share in shares], nodes["end"][-1]
    )
    return draw_timeline("Four containers on four cores", lanes, [utilisation], "seconds")


if __name__ == "__main__":
    (IMAGES / "sharing-example.svg").write_text(sharing_example(), encoding="utf-8")
