"""A scenario of one's own: the queue in `admission/`, where the best policy is known.

Customers pay when they are served, and waiting costs. Naor (1969) showed that it is best to accept
while fewer than n customers are in the system, and which n. `cloudarena new scenario NAME` writes
such a folder for you.
"""

import yaml
from admission import KIND
from admission.policies import naor_threshold


def main() -> None:
    """Finds the threshold by simulation and by theory."""
    spec = yaml.safe_load((KIND.entries / "naor.yaml").read_text())
    scenario = KIND.scenario.parse(spec, "admission/naor")
    profits = {}
    for n in (1, 3, 5, 6, 7, 9, 15):
        run = scenario.start(seed=0, record="none")
        run.play(KIND.policies.resolve(f"at-most:n={n}"))
        profits[n] = run.metrics()["profit_usd"]
        print(f"at most {n:2}: {profits[n]:9,.0f} $")
    print(f"best here: {max(profits, key=profits.get)}, by theory: {naor_threshold(0.9, 20.0)}")


if __name__ == "__main__":
    main()
