"""Workflows in the shape of LIGO Inspiral, which looks for gravitational waves.

As Bharathi et al. (WORKS 2008) and Juve et al. (FGCS 2013) describe it: for each stretch of data
a bank of templates is made (TmpltBank) and matched (Inspiral); the triggers of neighbouring
stretches are brought together (Thinca), from which smaller banks are made (TrigBank), matched
again (Inspiral) and brought together again (Thinca).

Mean run times and file sizes are those of Bharathi's generator (see ``shapes``). The
gallery's Inspiral_100 has 119 edges, 6 levels,
21,024 s of run time, a critical path of 1,333 s and 38.7 MB on edges; here, over seeds, 120, 6,
22,579 s, 1,354 s and 39.9 MB.
"""

from __future__ import annotations

from cloudarena.workloads.workflow.shapes.drawing import Drawing, groups

LEAST = 6
FUNCTIONS_PER_GROUP = 50


def draw_inspiral(drawing: Drawing, functions: int) -> None:
    """Draws a workflow of so many functions, or one less: their number is even."""
    teams = max(1, round(functions / FUNCTIONS_PER_GROUP))
    stretches = (functions // 2 - teams) // 2
    banks = functions // 2 - teams - stretches

    template_bank = drawing.add("TmpltBank", stretches, 18.1, 0.02)
    match = drawing.add("Inspiral", stretches, 460.0, 0.5)
    gather = drawing.add("Thinca", teams, 5.37, 0.05)
    trigger_bank = drawing.add("TrigBank", banks, 5.11, 0.06)
    match_again = drawing.add("Inspiral", banks, 460.0, 0.5)
    gather_again = drawing.add("Thinca", teams, 5.37, 0.05)

    team, team_again = groups(stretches, teams), groups(banks, teams)
    drawing.link(template_bank, match, drawing.around(0.987e6, 0.02, stretches))
    drawing.link(match, gather[team], drawing.around(0.313e6, 0.5, stretches))
    drawing.link(gather[team_again], trigger_bank, drawing.around(33.8e3, 0.5, banks))
    drawing.link(trigger_bank, match_again, drawing.around(12.8e3, 0.5, banks))
    drawing.link(match_again, gather_again[team_again], drawing.around(0.313e6, 0.5, banks))
