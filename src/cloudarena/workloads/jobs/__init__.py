"""Sources of jobs, of their tasks and of the order among tasks."""
