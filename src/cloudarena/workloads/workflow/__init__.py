"""Sources of workflows: DAGs of functions that arrive over time."""
