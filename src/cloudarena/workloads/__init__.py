"""Where work comes from: readers of public traces, calibrated generators."""
