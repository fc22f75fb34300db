"""Problems for tests."""

from __future__ import annotations

from cloudarena.optimizers import synthetic


class NormalProblem(synthetic.NormalProblem):
    """Means with normal noise; counts its evaluations."""

    calls = 0

    def simulate(self, designs, replications):
        self.calls += len(designs) * len(replications)
        return super().simulate(designs, replications)
