"""A walk through a run, as one would do it in a notebook."""

import cloudarena

# %% A scenario is a description: from the catalogue, a YAML file, or a dict.
scenario = cloudarena.load("vm/toy")
print(scenario.name, "-", scenario.kind.description)

# %% A run is a sequence of decisions.
run = scenario.start(seed=0)
decision = run.decision
print("asked at", decision.now, "s: which machine takes", decision.request.cores, "cores?")
print("valid machines:", decision.valid.nonzero()[0].tolist())

# %% Any callable from a decision to an action is a policy.
run.apply(int(decision.valid.argmax()))
policy = scenario.kind.policies.resolve("best-fit")
while (decision := run.decision) is not None:
    run.apply(policy(decision))

# %% The result has metrics and tables.
result = run.result()
for name in ("unserved_share", "energy_kwh", "profit_usd"):
    metric = scenario.kind.metric[name]
    print(f"{metric.label}: {result.metrics[name]:.3f} ({metric.better} is better)")
print(result.tables["vms"].select(["vm", "arrival", "machine", "outcome"]).to_pylist())
